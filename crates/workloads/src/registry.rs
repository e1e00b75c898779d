//! Lists the workloads. This is the only place, besides a workload's own folder, that contains its name.
//!
//! A workload is a type, chosen once per run: [`with_workload`] turns a name into a call with that type. Its
//! self-description is data: [`declarations`] contains everything that a command line needs.

use crate::options::{AnyOption, Bundle, OptionError, Options};
use crate::variation::{Explored, Explorer, Form};
use std::any::Any;
use txn::Workload;

/// A workload that can be selected by name.
pub trait Listed: Workload + Sized {
    /// Options of the workload.
    type Options: Options;
    /// Name on the command line and in records.
    const NAME: &'static str;
    /// Description in one line.
    const SUMMARY: &'static str;
    /// Source of the description: paper and section.
    const SOURCE: &'static str;
    /// Example options for useful runs, including options of the command.
    const EXAMPLES: &'static [&'static str];
    /// Option that sets the number of partitions, if the workload can be partitioned.
    const PARTITIONED_BY: Option<&'static str> = None;
    /// Description of its exploration, if it can be explored.
    const EXPLORED: Option<Explored> = None;

    /// Creates the workload with `options`. Returns an error that names a wrong option.
    fn with(options: Self::Options) -> Result<Self, OptionError>;

    /// Calls `explorer` with the function that creates the workload for a seed, in `form` or in the usual
    /// form. Returns the explorer if the workload has no such form.
    fn explore<E: Explorer>(form: Option<Form>, explorer: E) -> Result<E::Output, E> {
        let _ = form;
        Err(explorer)
    }
}

/// Self-description of a workload, for listings and for a command line.
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
    /// See [`Listed::PARTITIONED_BY`].
    pub partitioned_by: Option<&'static str>,
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
            partitioned_by: W::PARTITIONED_BY,
            explored: W::EXPLORED,
        }
    }
}

/// Returns the declaration of the workload `name`.
pub fn declaration(name: &str) -> Option<Declaration> {
    declarations().into_iter().find(|declared| declared.name == name)
}

/// An operation on a workload that is known by name only at run time.
pub trait Visitor {
    /// Result of the operation.
    type Output;
    /// Runs the operation with `W`.
    fn visit<W: Listed>(self) -> Self::Output;
}

/// An operation on a workload whose type is known only at run time.
pub trait TypeVisitor<'w> {
    /// Result of the operation.
    type Output;
    /// Runs the operation with `workload`.
    fn visit<W: Listed>(self, workload: &'w W) -> Self::Output;
}

macro_rules! registry {
    ($($workload:ty),* $(,)?) => {
        /// Returns the declarations of all workloads, in the order of listings.
        pub fn declarations() -> Vec<Declaration> {
            vec![$(Declaration::of::<$workload>()),*]
        }

        /// Calls `visitor` with the workload `name`. Returns the visitor if there is no workload with that
        /// name.
        pub fn with_workload<V: Visitor>(name: &str, visitor: V) -> Result<V::Output, V> {
            match name {
                $(<$workload as Listed>::NAME => Ok(visitor.visit::<$workload>()),)*
                _ => Err(visitor),
            }
        }

        /// Calls `visitor` with `workload` as a value of its own type. Returns none if its type is not listed.
        pub fn with_type_of<'w, V: TypeVisitor<'w>>(
            workload: &'w dyn Any,
            visitor: V,
        ) -> Option<V::Output> {
            $(
                if let Some(workload) = workload.downcast_ref::<$workload>() {
                    return Some(visitor.visit(workload));
                }
            )*
            None
        }

        /// Calls [`Listed::explore`] of the workload `name`.
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
    crate::micro::notes::Notes,
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
