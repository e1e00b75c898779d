//! The list of workloads: the one place, besides a workload's own folder, where its name stands.
//!
//! A workload is a type, chosen once per run: [`with_workload`] turns a name into a call with that type. What
//! it says of itself is data: [`declarations`] is all that a command line has to know.

use crate::options::{AnyOption, Bundle, OptionError, Options};
use crate::variation::{Explored, Explorer, Form};
use txn::Workload;

/// A workload that can be asked for by name.
pub trait Listed: Workload + Sized {
    /// What can be set.
    type Options: Options;
    /// The name on the command line and in records.
    const NAME: &'static str;
    /// What it is, in one line.
    const SUMMARY: &'static str;
    /// Where it is described: paper and section.
    const SOURCE: &'static str;
    /// Options with which it is worth running, those of the command too.
    const EXAMPLES: &'static [&'static str];
    /// How it is explored, if it is.
    const EXPLORED: Option<Explored> = None;

    /// The workload with `options`, or which of them is wrong.
    fn with(options: Self::Options) -> Result<Self, OptionError>;

    /// Calls `explorer` with what makes the workload of a seed, in `form` or the usual one; gives the explorer back
    /// if there is no such thing.
    fn explore<E: Explorer>(form: Option<Form>, explorer: E) -> Result<E::Output, E> {
        let _ = form;
        Err(explorer)
    }
}

/// What a workload says of itself, for listings and for a command line.
#[derive(Clone)]
pub struct Declaration {
    /// See [`Listed::NAME`].
    pub name: &'static str,
    /// See [`Listed::SUMMARY`].
    pub summary: &'static str,
    /// See [`Listed::SOURCE`].
    pub source: &'static str,
    /// See [`Listed::EXAMPLES`].
    pub examples: &'static [&'static str],
    /// See [`Options::OPTIONS`].
    pub options: Vec<&'static dyn AnyOption>,
    /// See [`Options::PRESETS`].
    pub presets: &'static [Bundle],
    /// See [`Options::SWITCHES`].
    pub switches: &'static [Bundle],
    /// See [`Listed::EXPLORED`].
    pub explored: Option<Explored>,
}

impl Declaration {
    fn of<W: Listed>() -> Declaration {
        Declaration {
            name: W::NAME,
            summary: W::SUMMARY,
            source: W::SOURCE,
            examples: W::EXAMPLES,
            options: W::Options::OPTIONS.iter().map(|option| option as _).collect(),
            presets: W::Options::PRESETS,
            switches: W::Options::SWITCHES,
            explored: W::EXPLORED,
        }
    }
}

/// The declaration of the workload `name`.
pub fn declaration(name: &str) -> Option<Declaration> {
    declarations().into_iter().find(|declared| declared.name == name)
}

/// Something to do with a workload that is known by name only at run time.
pub trait Visitor {
    /// What comes of it.
    type Output;
    /// Does it with `W`.
    fn visit<W: Listed>(self) -> Self::Output;
}

macro_rules! registry {
    ($($workload:ty),* $(,)?) => {
        /// Declarations of all workloads, in the order of listings.
        pub fn declarations() -> Vec<Declaration> {
            vec![$(Declaration::of::<$workload>()),*]
        }

        /// Calls `visitor` with the workload `name`; gives the visitor back if there is none.
        pub fn with_workload<V: Visitor>(name: &str, visitor: V) -> Result<V::Output, V> {
            match name {
                $(<$workload as Listed>::NAME => Ok(visitor.visit::<$workload>()),)*
                _ => Err(visitor),
            }
        }

        /// [`Listed::explore`] of the workload `name`.
        pub fn explore<E: Explorer>(
            name: &str,
            form: Option<Form>,
            explorer: E,
        ) -> Result<E::Output, E> {
            match name {
                $(<$workload as Listed>::NAME => <$workload>::explore(form, explorer),)*
                _ => Err(explorer),
            }
        }
    };
}

// One line per workload.
registry! {
    crate::ycsb::Ycsb,
    crate::micro::counters::Counters,
    crate::micro::ranges::Ranges,
    crate::micro::rooms::Rooms,
    crate::micro::timestamps::Timestamps,
    crate::tpcc::Tpcc,
    crate::tpcc_accesses::TpccAccesses,
    crate::smallbank::SmallBank,
    crate::micro::hot_cold::HotCold,
    crate::micro::sites::Sites,
    crate::micro::key_value::KeyValue,
    crate::micro::long_reader::LongReader,
    crate::tatp::Tatp,
    crate::tpcb::Tpcb,
}
