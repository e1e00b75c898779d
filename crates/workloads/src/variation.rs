//! Workloads for exploration: tiny, so that workers meet, and a little different for every seed.
//!
//! Each workload's own folder says how it varies, so a seed means the same schedule to every caller. The kind of
//! schedule follows from the seed as well (its last two bits): what varies must not follow those, or some
//! combinations would never be tried.

use std::fmt;
use txn::Workload;

/// Another form of a workload than its usual one, which the command line asks for by an option.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Form {
    /// The option, without dashes.
    pub option: &'static str,
    /// The option's values where it has any: that of the usual form, and that of this one.
    pub values: Option<[&'static str; 2]>,
    /// What it does.
    pub help: &'static str,
}

/// Rows are accessed in order: who finds a deadlock is mistaken.
pub const KEY_ORDER: Form = Form {
    option: "key-order",
    values: None,
    help: "Rows are accessed in the order of their keys, so that no deadlock can be",
};

/// Procedures are rolled back.
pub const ROLLBACKS: Form = Form {
    option: "rollbacks",
    values: None,
    help: "A fifth of the procedures that write are rolled back half way",
};

/// Tables grow.
pub const GROWING: Form = Form {
    option: "growing",
    values: None,
    help: "With scans and inserts beside reads and updates",
};

/// Keys are [spelled out](crate::spelled).
pub const BYTE_KEYS: Form = Form {
    option: "keys",
    values: Some(["numbers", "bytes"]),
    help: "What keys look like: numbers or bytes",
};

/// As on the command line.
impl fmt::Display for Form {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "--{}", self.option)?;
        self.values.map_or(Ok(()), |[_, this]| write!(f, " {this}"))
    }
}

/// What a workload that is explored says of itself.
#[derive(Clone, Copy, Debug)]
pub struct Explored {
    /// What it is like when it is explored, and by what it is judged.
    pub summary: &'static str,
    /// Options of the command with which it is worth exploring.
    pub example: &'static str,
    /// The forms beside the usual one.
    pub forms: &'static [Form],
}

/// Something to do with the workloads that vary with a seed.
pub trait Explorer {
    /// What comes of it.
    type Output;
    /// Does it with the workload that `of_seed` makes of a seed.
    fn explore<W: Workload>(self, of_seed: &(dyn Fn(u64) -> W + Sync)) -> Self::Output;
}

/// In `impl Listed`: how the workload is explored. Its summary, an example, and what makes it of a seed, in its usual
/// form and in others.
macro_rules! explored {
    ($summary:expr, $example:literal, $usual:path $(, $form:ident: $of_seed:path)* $(,)?) => {
        const EXPLORED: Option<$crate::variation::Explored> = Some($crate::variation::Explored {
            summary: $summary,
            example: $example,
            forms: &[$($crate::variation::$form),*],
        });

        fn explore<E: $crate::variation::Explorer>(
            form: Option<$crate::variation::Form>,
            explorer: E,
        ) -> Result<E::Output, E> {
            match form {
                None => Ok(explorer.explore(&$usual)),
                $(Some($crate::variation::$form) => Ok(explorer.explore(&$of_seed)),)*
                Some(_) => Err(explorer),
            }
        }
    };
}

pub(crate) use explored;
