//! Defines how workloads vary for exploration: tiny, so that workers conflict, and slightly different for
//! every seed.
//!
//! Each workload's own folder defines its variation, so a seed means the same schedule to every caller. The
//! kind of schedule depends on the seed as well, on its last two bits. Variations must not depend on those
//! bits, otherwise some combinations would never be tried.

use std::fmt;
use txn::Workload;

/// An alternative form of a workload, which the command line selects by an option.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Form {
    /// Name of the option, without dashes.
    pub option: &'static str,
    /// Values of the option, if it takes any: that of the usual form, and that of this form.
    pub values: Option<[&'static str; 2]>,
    /// Help text of the option.
    pub help: &'static str,
}

/// Rows are accessed in order. A protocol that reports a deadlock is wrong.
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

/// Prints the form as on the command line.
impl fmt::Display for Form {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "--{}", self.option)?;
        self.values.map_or(Ok(()), |[_, this]| write!(f, " {this}"))
    }
}

/// Description of a workload that is explored.
#[derive(Clone, Copy, Debug)]
pub struct Explored {
    /// Summary of the explored form, and of how it is judged.
    pub summary: &'static str,
    /// Example of useful command options for its exploration.
    pub example: &'static str,
    /// Forms besides the usual form.
    pub forms: &'static [Form],
}

/// An operation on the workloads that vary with a seed.
pub trait Explorer {
    /// Result of the operation.
    type Output;
    /// Runs the operation with the workload that `of_seed` creates for a seed.
    fn explore<W: Workload>(self, of_seed: &(dyn Fn(u64) -> W + Sync)) -> Self::Output;
}

/// Defines, in `impl Listed`, how the workload is explored. The arguments are its summary, an example, and
/// the functions that create it for a seed, in its usual form and in others.
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
