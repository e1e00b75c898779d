//! Known bugs, planted one by one, to prove that they are found. Never part of a real run.
//!
//! Each is a point in the text that does one thing wrong when it is switched on, and only the explored machine can be
//! made so ([`machine::Core::is_planted`]); or it is a promise that a protocol does not give. They stand by family of
//! protocols, in one table each. A row names the detector that must catch the bug.

mod engine;
mod locking;
mod optimistic;
mod snapshots;
mod timestamps;

pub use engine::*;
pub use locking::*;
pub use optimistic::*;
pub use snapshots::*;
pub use timestamps::*;

use crate::ProtocolOptions;
use machine::Fault;

/// What must notice a planted bug.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Detector {
    /// The checker refuses a certificate.
    Certificate,
    /// The checker refuses a certificate; or a law is broken, on a schedule that runs unrecorded.
    CertificateOrLaw,
    /// The workload's conservation law is broken.
    Conservation,
    /// The checker, or a law, where procedures are rolled back half way.
    Rollback,
    /// The oldest transaction died.
    OldestNeverDies,
    /// The same; or the run comes to no end.
    OldestOrProgress,
    /// A transaction comes before another in the serial order, and bears a later epoch.
    EpochOrder,
    /// A deadlock was found where none can be.
    NoFalseDeadlock,
    /// The run comes to no end.
    Progress,
    /// The protocol itself finds that something cannot be.
    Assertion,
}

impl Detector {
    /// The names under which a report tells that it was this one who found something.
    pub const fn names(self) -> &'static [&'static str] {
        match self {
            Detector::CertificateOrLaw | Detector::Rollback => &["certificate", "conservation law"],
            Detector::Certificate => &["certificate"],
            Detector::Conservation => &["conservation law"],
            Detector::EpochOrder => &["epoch order"],
            Detector::OldestNeverDies => &["the oldest never dies"],
            Detector::OldestOrProgress => &["the oldest never dies", "progress"],
            Detector::NoFalseDeadlock => &["no false deadlock"],
            Detector::Progress => &["progress"],
            Detector::Assertion => &["panic"],
        }
    }
}

/// A planted bug, and what is known of how it is found.
#[derive(Debug)]
pub struct Planted {
    /// Name on the command line.
    pub name: &'static str,
    /// What was done, and where it was seen before.
    pub story: &'static str,
    /// The protocol in which it is planted.
    pub protocol: &'static str,
    /// The architecture under which it shows.
    pub architecture: &'static str,
    /// The workload in which it shows.
    pub workload: &'static str,
    /// The least number of workers, and of procedures of each, with which it shows before long.
    pub least: (usize, u64),
    /// Who must catch it.
    pub detector: Detector,
    /// The options that it needs, over those asked for.
    pub options: fn(ProtocolOptions) -> ProtocolOptions,
    /// The protocol is judged as if it promised to keep real-time order.
    pub strict: bool,
}

impl Planted {
    /// What a machine is made with to switch it on.
    pub fn fault(&self) -> Fault {
        Fault(self.name)
    }
}

/// A table of planted bugs: the point in the text that it has, if it has one; its name, where, with how many workers and
/// procedures, and by whom it is noticed, its story, and the options that it needs. It makes `PLANTED` of them, and a constant of each point.
macro_rules! planted {
    ($(
        $($point:ident =)? $name:literal in $protocol:literal $(under $architecture:literal)?
        on $workload:literal $(by $least:expr)?, $detector:ident $(, called $strict:ident)?: $story:literal
        $(, given { $($option:ident: $value:expr),+ })?;
    )*) => {
        $($(
            #[doc = $story]
            pub const $point: machine::Fault = machine::Fault($name);
        )?)*

        pub(super) const PLANTED: &[super::Planted] = &[$(super::Planted {
            name: $name,
            story: $story,
            protocol: $protocol,
            architecture: [$($architecture,)? "shared_everything"][0],
            workload: $workload,
            least: [$($least,)? (0, 0)][0],
            detector: super::Detector::$detector,
            options: |options| crate::ProtocolOptions { $($($option: $value,)+)? ..options },
            strict: super::planted!(@ $($strict)?),
        }),*];
    };
    (@) => { false };
    (@ strict) => { true };
}
use planted;

/// Old versions are collected up to the oldest transaction, and there it stops: so do the papers' codes. Nothing is
/// wrong about it but the memory that it takes.
pub const COLLECTS_UP_TO_THE_OLDEST: Fault = Fault("collects_up_to_the_oldest");

/// What is read for update is not validated at read committed, which its definition does not ask for.
pub const UPDATES_UNVALIDATED: Fault = Fault("updates_unvalidated");

/// A transaction gets its number in the log when it has let go of what it wrote: others may have overwritten it by
/// then, and have a smaller one. Only who replays the log can tell.
pub const NUMBERED_AFTER_RELEASE: Fault = Fault("numbered_after_release");

/// SSN's scan does not follow the transactions that have deleted rows of its range, once their records have retired. Three
/// transactions have to interleave in one of few ways for it, so a script catches it, not the explorer.
pub const SSN_IGNORES_ABSENCES: Fault = Fault("ssn_ignores_absences");

/// All planted bugs.
pub fn all() -> impl Iterator<Item = &'static Planted> {
    let families = [
        engine::PLANTED,
        locking::PLANTED,
        timestamps::PLANTED,
        snapshots::PLANTED,
        optimistic::PLANTED,
    ];
    families.into_iter().flatten()
}

/// The planted bug `name`.
pub fn named(name: &str) -> Option<&'static Planted> {
    all().find(|planted| planted.name == name)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::registry::declarations;
    use machine::Native;
    use std::collections::BTreeSet;

    #[test]
    fn each_has_a_name_of_its_own_and_a_protocol_that_there_is() {
        let mut names = BTreeSet::from([
            COLLECTS_UP_TO_THE_OLDEST.0,
            UPDATES_UNVALIDATED.0,
            NUMBERED_AFTER_RELEASE.0,
            SSN_IGNORES_ABSENCES.0,
        ]);
        let declared = declarations::<Native>(&ProtocolOptions::default());
        for planted in all() {
            assert!(names.insert(planted.name), "{}: twice", planted.name);
            let known = declared.iter().any(|declaration| declaration.name == planted.protocol);
            assert!(known, "{}: no protocol {}", planted.name, planted.protocol);
        }
    }
}
