//! Options of accesses: how much of a record an access copies, how it finds a column, whether it reads constant columns
//! through the protocol, where it gets memory, and how often it reads the clock.
//!
//! Source: The Full Story of 1000 Cores (Bang et al., 2022), section 3.3.1. Its ladder of optimisations switches these
//! one after the other. The defaults are those of this engine, and cost nothing.

use machine::{Core, Machine};
use std::hint::black_box;
use txn::{ColumnSet, Intent, TableSchema};

/// Cost of a comparison of two short names, in cycles: a call, a load of each name, and a branch.
const COMPARISON_CYCLES: u64 = 6;

/// Options by which a store executes accesses.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct AccessOptions {
    /// Way in which constant columns are read.
    pub constants: ConstantReads,
    /// Part of a record that an access copies.
    pub copies: Copies,
    /// Way in which an access finds the columns that it names.
    pub columns: ColumnLookup,
    /// Source of memory for appended rows, copies and versions of records.
    pub rows: Allocator,
    /// Source of memory for the protocol's entries for records.
    pub entries: Allocator,
    /// Number of times that an access reads the clock.
    pub timing: Timing,
    /// Treatment of rows that a procedure announces.
    pub announcements: Announcements,
    /// Place of the pointers to indexes.
    pub pointers: IndexPointers,
    /// Part of an access that a server does for a transaction, under delegation.
    pub shipping: Shipping,
    /// Line on which the protocol's words of a record lie.
    pub state: StateLine,
}

/// Line on which the protocol's words of a record lie. The key, the row's state and what leads to the columns lie on the front
/// line, which an access needs in any case. Only modelled machines have a line of their own for the words. There, an announcement
/// fetches the front line, and not this one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum StateLine {
    /// The front line.
    #[default]
    Front,
    /// A line of their own.
    Own,
}

/// Part of an access to another core's data that is shipped to the server there, under delegation. It has an effect with
/// protocols that leave all work on metadata to the owner.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Shipping {
    /// The look-up and the lock. The reply names the record, which the session then reads and writes itself (Trireme 3.4).
    #[default]
    LookUps,
    /// The whole operation. The reply has what was read, and the message at the end of the transaction brings what is to be
    /// written.
    Operations,
}

/// Treatment of rows that a procedure announces before it accesses them (the fifth optimisation).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Announcements {
    /// Their index entries and records are prefetched together, so that cache misses overlap.
    #[default]
    Prefetched,
    /// Nothing: each access fetches what it needs when it needs it.
    Ignored,
}

/// Place of the pointers to indexes (section 4.3.2).
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

/// Parts of an access whose time a program measures that measures itself. The clock is read at both ends of each part. What it
/// measures contains one of the two readings, and the other one lies outside.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Timing {
    /// None.
    #[default]
    Off,
    /// The look-up in the index, as the code of 2022 does under HSTORE.
    LookUps,
    /// The look-up, and the access through the protocol, as that code does to tell the time of concurrency control.
    Accesses,
    /// The same, and within the access each visit of a version history. That code does so under MVCC: it reads the clock five
    /// times in an access, and three times more if the access leads to a new version.
    Versions,
}

impl Timing {
    /// Returns the number of readings that belong to the index in an access.
    pub fn reads_in_look_up(self) -> u64 {
        u64::from(self != Timing::Off)
    }

    /// Returns the number of readings that belong to concurrency control in an access through the protocol. `updates` tells whether
    /// it leads to a new version.
    pub fn reads_in_protocol(self, updates: bool) -> u64 {
        match (self, updates) {
            (Timing::Off | Timing::LookUps, _) => 0,
            (Timing::Accesses, _) => 1,
            (Timing::Versions, false) => 4,
            (Timing::Versions, true) => 7,
        }
    }

    /// Returns the number of readings outside of what is measured, in an access through the protocol. The one of a look-up is not
    /// counted: processors execute it beside the instructions that follow.
    pub fn reads_outside(self) -> u64 {
        u64::from(matches!(self, Timing::Accesses | Timing::Versions))
    }
}

/// Reads the clock `reads` times.
#[inline(never)]
pub fn read_clock<M: Machine>(core: &M::Core, reads: u64) {
    match M::MODELLED {
        true => core.compute_clock_reads(reads),
        false => (0..reads).for_each(|_| _ = black_box(nanoseconds(core.now(), black_box(2.5)))),
    }
}

/// Returns `ticks` in nanoseconds, by a conversion to floating point and a division, as the code of 2022 converts them.
pub fn nanoseconds(ticks: u64, ticks_per_ns: f64) -> u64 {
    (ticks as f64 / ticks_per_ns) as u64
}

/// Source of memory (the first optimisation).
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
        let found = self.columns != ColumnLookup::Compiled
            || self.pointers != IndexPointers::Private
            || self.timing != Timing::Off;
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

/// Way in which constant columns are read (the eighth optimisation). No transaction changes them, so no protocol is needed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum ConstantReads {
    /// Through the protocol, as all other columns.
    #[default]
    Controlled,
    /// From the record, without the protocol. Histories do not contain such reads.
    Bypass,
}

/// Part of a record that an access copies.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Copies {
    /// The columns that the access names.
    #[default]
    Columns,
    /// A read for update reads the whole record, and the update writes the columns that it names. Other reads copy columns. The
    /// code of the study does so under two-phase locking, where an update keeps an image of the record from before.
    BeforeImages,
    /// A read for update reads the whole record, and the update writes all of it. Other reads copy columns. The code of the study
    /// does so under MVCC, where an update makes a version.
    Updates,
    /// The whole record, as the code of the study does under optimistic schemes. A session keeps its copy of the record that it has last read
    /// for update. A record that holds names of values elsewhere is copied by columns nevertheless, because a copy of
    /// such a name would count as another value.
    Records,
}

impl Copies {
    /// Returns true if a read with `intent` copies the whole record.
    pub(crate) fn read_records(self, intent: Intent) -> bool {
        match self {
            Copies::Columns => false,
            Copies::BeforeImages | Copies::Updates => intent == Intent::Update,
            Copies::Records => true,
        }
    }

    /// Returns true if an update writes the whole record.
    pub(crate) fn write_records(self) -> bool {
        matches!(self, Copies::Updates | Copies::Records)
    }
}

/// Way in which an access finds the columns that it names (the sixth optimisation).
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
