//! Known bugs, planted one at a time to prove that they are found. A real run never has one.
//!
//! Most of them are a point in the code that does one thing wrong while it is switched on. Only the explored
//! machine can switch one on ([`machine::Core::is_planted`]). The others have no such point: the protocol is judged
//! by a promise that it does not give. There is one table for each family of protocols. A row names the detector
//! that must catch the bug.

mod delegation;
mod engine;
mod locking;
mod optimistic;
mod snapshots;
mod timestamps;

pub use delegation::*;
pub use engine::*;
pub use locking::*;
pub use optimistic::*;
pub use snapshots::*;
pub use timestamps::*;

use crate::ProtocolOptions;
use machine::Fault;

/// The check that must notice a planted bug.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Detector {
    /// The checker refuses a certificate.
    Certificate,
    /// The checker refuses a certificate, or a conservation law is broken on a schedule that runs unrecorded.
    CertificateOrLaw,
    /// The workload's conservation law is broken.
    Conservation,
    /// The checker refuses a certificate, or a conservation law is broken, where procedures are rolled back half
    /// way.
    Rollback,
    /// The oldest transaction died, which must never happen.
    OldestNeverDies,
    /// The oldest transaction died, or the run does not end.
    OldestOrProgress,
    /// A transaction precedes another in the serial order but has a later epoch.
    EpochOrder,
    /// A deadlock was reported where none can exist.
    NoFalseDeadlock,
    /// The run does not end.
    Progress,
    /// An assertion of the protocol itself fails.
    Assertion,
    /// At the end a value outside the records has been lost, or is in two places.
    Memory,
    /// More transactions were admitted than the limit allows.
    Admission,
    /// Any check. The bug destroys metadata of records, and what happens then depends on the values that are left.
    Any,
}

impl Detector {
    /// Returns the names under which a report says that this detector found something.
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
            Detector::Memory => &["memory"],
            Detector::Admission => &["admission"],
            Detector::Any => &["certificate", "conservation law", "progress", "panic"],
        }
    }
}

/// A planted bug, and how it is detected.
#[derive(Debug)]
pub struct Planted {
    /// Name on the command line.
    pub name: &'static str,
    /// Description of the bug, and the place where it was seen before.
    pub story: &'static str,
    /// The protocol that contains the bug.
    pub protocol: &'static str,
    /// The architecture under which the bug shows.
    pub architecture: &'static str,
    /// The workload on which the bug shows.
    pub workload: &'static str,
    /// The least number of workers, and of procedures of each worker, with which the bug shows before long.
    pub least: (usize, u64),
    /// The detector that must catch the bug.
    pub detector: Detector,
    /// Adds the options that the bug needs to the given ones.
    pub options: fn(ProtocolOptions) -> ProtocolOptions,
    /// Set if the protocol is judged as if it promised to keep real-time order.
    pub strict: bool,
}

impl Planted {
    /// Returns the fault that a machine is created with to switch the bug on.
    pub fn fault(&self) -> Fault {
        Fault(self.name)
    }
}

/// Defines a table of planted bugs. A row gives the constant of the point in the code (if the bug has one), the
/// name, the protocol, the architecture, the workload, the least numbers of workers and procedures, the detector,
/// the story, and the options that the bug needs. The macro expands to `PLANTED` and to one constant for each
/// point.
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

/// Old versions are collected only up to the oldest transaction, as in the papers' code. The only thing wrong is
/// the amount of memory in use.
pub const COLLECTS_UP_TO_THE_OLDEST: Fault = Fault("collects_up_to_the_oldest");

/// Reads for update are not validated at read committed. The definition of that level does not ask for it.
pub const UPDATES_UNVALIDATED: Fault = Fault("updates_unvalidated");

/// A transaction gets its number in the log after it has released what it wrote. By then another transaction may
/// have overwritten the row and have a smaller number. Only replaying the log shows this.
pub const NUMBERED_AFTER_RELEASE: Fault = Fault("numbered_after_release");

/// SSN's scan is not ordered after the transactions that deleted rows of its range, once their records have
/// retired. Three transactions must interleave in one of few ways to show this, so a script catches it, and the
/// explorer does not.
pub const SSN_IGNORES_ABSENCES: Fault = Fault("ssn_ignores_absences");

/// Returns all planted bugs.
pub fn all() -> impl Iterator<Item = &'static Planted> {
    let families = [
        engine::PLANTED,
        delegation::PLANTED,
        locking::PLANTED,
        timestamps::PLANTED,
        snapshots::PLANTED,
        optimistic::PLANTED,
    ];
    families.into_iter().flatten()
}

/// Returns the planted bug `name`.
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
