//! Options of accesses: how much of a record an access copies, how it finds a column, whether it reads constant columns
//! through the protocol, and where it gets memory.
//!
//! Source: The Full Story of 1000 Cores (Bang et al., 2022), section 3.3.1. Its ladder of optimisations switches these
//! one after the other. The defaults are those of this engine, and cost nothing.

use machine::{Core, Machine};
use std::hint::black_box;
use txn::{ColumnSet, TableSchema};

/// Cost of a comparison of two short names, in cycles: a call, a load of each name, and a branch.
const COMPARISON_CYCLES: u64 = 6;

/// How a store executes accesses.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct AccessOptions {
    /// How constant columns are read.
    pub constants: ConstantReads,
    /// How much of a record an access copies.
    pub copies: Copies,
    /// How an access finds the columns that it names.
    pub columns: ColumnLookup,
    /// Where appended rows, copies and versions of records get their memory.
    pub rows: Allocator,
    /// Where the protocol's entries for records get their memory.
    pub entries: Allocator,
    /// What happens to rows that a procedure announces.
    pub announcements: Announcements,
    /// Where the pointers to indexes lie.
    pub pointers: IndexPointers,
}

/// What happens to rows that a procedure announces before it accesses them (the fifth optimisation).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Announcements {
    /// Their index entries and records are prefetched together, so that cache misses overlap.
    #[default]
    Prefetched,
    /// Nothing: each access fetches what it needs when it needs it.
    Ignored,
}

/// Where the pointers to indexes lie (section 4.3.2).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum IndexPointers {
    /// In private memory of each session, which costs nothing.
    #[default]
    Private,
    /// In one place of shared memory.
    Shared,
    /// In the memory of each socket. Without sockets that sessions belong to, in one place.
    PerSocket,
}

/// Where memory comes from (the first optimisation).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Allocator {
    /// From chunks of the arena, which the session has taken in advance.
    #[default]
    Arena,
    /// From the system's allocator, one block at a time: [`crate::SystemMemory`].
    Malloc,
}

impl AccessOptions {
    /// Returns true if an access needs more than a call of the protocol with the columns that it names.
    pub(crate) fn are_special(self) -> bool {
        let memory = self.rows != Allocator::Arena || self.entries != Allocator::Arena;
        let found =
            self.columns != ColumnLookup::Compiled || self.pointers != IndexPointers::Private;
        self.copies != Copies::Columns || found || memory
    }

    /// Returns those of `columns` that are read without the protocol.
    pub(crate) fn uncontrolled(self, schema: &TableSchema, columns: ColumnSet) -> ColumnSet {
        match self.constants {
            ConstantReads::Controlled => ColumnSet::NONE,
            ConstantReads::Bypass => schema.constant.and(columns),
        }
    }
}

/// How constant columns are read (the eighth optimisation). No transaction changes them, so no protocol is needed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum ConstantReads {
    /// Through the protocol, as all other columns.
    #[default]
    Controlled,
    /// From the record, without the protocol. Histories do not contain such reads.
    Bypass,
}

/// How much of a record an access copies.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Copies {
    /// The columns that the access names.
    #[default]
    Columns,
    /// The whole record, as the code of the study does. A session keeps its copy of the record that it has last read
    /// for update. A record that holds names of values elsewhere is copied by columns nevertheless, because a copy of
    /// such a name would count as another value.
    Records,
}

/// How an access finds the columns that it names (the sixth optimisation).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum ColumnLookup {
    /// By their numbers, which are compiled into the procedure.
    #[default]
    Compiled,
    /// By their names: the names in the table's catalogue are compared one after the other.
    Catalogue,
}

/// Finds each of `columns` in the catalogue by its name, and charges for the comparisons.
#[inline(never)]
pub(crate) fn look_up<M: Machine>(core: &M::Core, schema: &TableSchema, columns: ColumnSet) {
    for column in columns.iter() {
        // Columns that were added to the table are in the catalogue of another table, which is searched when they are
        // accessed there.
        let Some(named) = schema.columns.get(column) else { continue };
        let found = black_box(schema.column(black_box(&named.name)));
        core.compute(COMPARISON_CYCLES * (found.unwrap_or(0) as u64 + 1));
    }
}
