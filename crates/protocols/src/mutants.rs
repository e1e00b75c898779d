//! Known bugs, planted one by one, to prove that they are found. Never part of a real run.
//!
//! Each mutant is the protocol's own text with one thing turned; it names the detector that must catch it. They stand
//! by family of protocols, in one table each.

mod engine;
mod keeps_shared;
mod locking;
mod optimistic;
mod snapshots;
mod timestamps;
mod twist;

use crate::registry::Visitor;
use machine::Machine;

/// What must notice a mutant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Detector {
    /// The checker refuses a certificate.
    Certificate,
    /// The checker refuses a certificate; or a law is broken, on a schedule that runs unrecorded.
    CertificateOrLaw,
    /// The workload's conservation law is broken.
    Conservation,
    /// The same, where procedures are rolled back half way.
    Rollback,
    /// The oldest transaction died.
    OldestNeverDies,
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
            Detector::CertificateOrLaw => &["certificate", "conservation law"],
            Detector::Certificate => &["certificate"],
            Detector::Conservation | Detector::Rollback => &["conservation law"],
            Detector::EpochOrder => &["epoch order"],
            Detector::OldestNeverDies => &["the oldest never dies"],
            Detector::NoFalseDeadlock => &["no false deadlock"],
            Detector::Progress => &["progress"],
            Detector::Assertion => &["panic"],
        }
    }
}

/// A planted bug.
#[derive(Clone, Copy, Debug)]
pub struct Mutant {
    /// Name on the command line.
    pub name: &'static str,
    /// What was done, and where it was seen before.
    pub story: &'static str,
    /// The workload in which it shows.
    pub workload: &'static str,
    /// Who must catch it.
    pub detector: Detector,
}

/// A table of mutants: each with its name, where and by whom it is noticed, its story, and the type that it is, with what
/// that type turns. It makes `MUTANTS` of them, and `with_mutant` as that of this module.
macro_rules! planted {
    ($machine:ident: $(
        $name:literal on $workload:literal, $detector:ident: $story:literal => $protocol:ty
        $(where $($turned:ident: $variant:path { $($turns:tt)* }),+)?;
    )*) => {
        pub(super) const MUTANTS: &[super::Mutant] = &[$(super::Mutant {
            name: $name,
            story: $story,
            workload: $workload,
            detector: super::Detector::$detector,
        }),*];

        pub(super) fn with_mutant<$machine: machine::Machine, V: crate::registry::Visitor<$machine>>(
            name: &str,
            visitor: V,
        ) -> Result<V::Output, V> {
            match name {
                $($name => {
                    $($(
                        struct $turned;
                        impl $variant for $turned { $($turns)* }
                    )+)?
                    Ok(visitor.visit::<$protocol>())
                })*
                _ => Err(visitor),
            }
        }
    };
}
use planted;

/// All mutants.
pub fn all() -> impl Iterator<Item = &'static Mutant> {
    let families = [
        engine::MUTANTS,
        locking::MUTANTS,
        timestamps::MUTANTS,
        snapshots::MUTANTS,
        optimistic::MUTANTS,
    ];
    families.into_iter().flatten()
}

/// Calls `visitor` with the mutant `name`; gives the visitor back if there is none.
pub fn with_mutant<M: Machine, V: Visitor<M>>(name: &str, visitor: V) -> Result<V::Output, V> {
    engine::with_mutant(name, visitor)
        .or_else(|visitor| locking::with_mutant(name, visitor))
        .or_else(|visitor| timestamps::with_mutant(name, visitor))
        .or_else(|visitor| snapshots::with_mutant(name, visitor))
        .or_else(|visitor| optimistic::with_mutant(name, visitor))
}
