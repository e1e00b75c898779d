//! The operations that a stored procedure can perform on the database.

use crate::{Abort, Action, ColumnSet, Direction, Key, Keys, MAX_COLUMNS, TableId};
use std::ops::ControlFlow;

/// Size of a buffer for as many columns as are commonly added to at a time.
const FEW_BYTES: usize = 32;

/// Use that the caller will make of what it reads. A locking protocol acquires the stronger lock at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Intent {
    /// Only read.
    Read,
    /// Read now, and update the same row later in the same transaction.
    Update,
}

/// Receives each row of a scan: its key, and the requested columns, packed.
pub type Visit<'v> = dyn FnMut(Key<'_>, &[u8]) -> ControlFlow<()> + 'v;

/// Adds packed 64-bit integers to others, wrapping. Both slices are whole words.
#[inline]
pub fn add_words(sums: &mut [u8], deltas: &[u8]) {
    let (sums, rest) = sums.as_chunks_mut::<8>();
    let (deltas, other_rest) = deltas.as_chunks::<8>();
    assert!(
        rest.is_empty() && other_rest.is_empty() && sums.len() == deltas.len(),
        "as many integers as there are columns"
    );
    for (sum, delta) in sums.iter_mut().zip(deltas) {
        *sum = u64::from_le_bytes(*sum).wrapping_add(u64::from_le_bytes(*delta)).to_le_bytes();
    }
}

/// The operations that a stored procedure can perform on the database, by table and key, never by pointer.
///
/// The architecture supplies the implementation, locally or by message, so a procedure is written only once. Values
/// travel in packed form ([`crate::Column`]), in column order without padding (numbers little-endian), except where a method says
/// otherwise. Every method fails with an [`Abort`] that the procedure returns with `?`. After that the attempt
/// has ended, and none of its effects remain.
///
/// A table's keys are of one kind, numbers or bytes. A key of the other kind panics. So does a key longer than the
/// table's keys, also at an end of a range.
///
/// A method with a body here is composed of the other methods, and means the same in every implementation. All
/// methods that an implementation may answer in its own way are required. So a wrapper around another `Access`
/// cannot forget to forward one.
pub trait Access {
    /// Copies `columns` of the row `key` into `out`. Returns false and leaves `out` unchanged if there is no such
    /// row. The absence then counts as read by the transaction.
    ///
    /// The columns come in held form, in which each has a fixed place ([`crate::Column`]). For columns of fixed length it is the packed
    /// form, and [`crate::held_value`] returns a value of variable length. `out` must be exactly as long as the columns are together
    /// ([`crate::RowLayout::held_bytes`]). A column whose values lie outside the record panics: [`Access::fetch`] reads it.
    #[inline(always)]
    fn read(
        &mut self,
        table: TableId,
        key: Key<'_>,
        columns: ColumnSet,
        out: &mut [u8],
    ) -> Result<bool, Abort> {
        self.read_with(table, key, columns, Intent::Read, out)
    }

    /// Does the same as [`Access::read`], for a row that the transaction is going to update.
    #[inline(always)]
    fn read_for_update(
        &mut self,
        table: TableId,
        key: Key<'_>,
        columns: ColumnSet,
        out: &mut [u8],
    ) -> Result<bool, Abort> {
        self.read_with(table, key, columns, Intent::Update, out)
    }

    /// Does the same as [`Access::read`], with the given intent.
    fn read_with(
        &mut self,
        table: TableId,
        key: Key<'_>,
        columns: ColumnSet,
        intent: Intent,
        out: &mut [u8],
    ) -> Result<bool, Abort>;

    /// Does the same as [`Access::read_with`] for columns of any type, in packed form. Replaces the content of `out`.
    fn fetch(
        &mut self,
        table: TableId,
        key: Key<'_>,
        columns: ColumnSet,
        intent: Intent,
        out: &mut Vec<u8>,
    ) -> Result<bool, Abort>;

    /// Overwrites `columns` of the row `key` with `values`. Returns false and changes nothing if there is no such
    /// row, or if a unique index refuses the update (see [`Access::refused_by`]).
    fn update(
        &mut self,
        table: TableId,
        key: Key<'_>,
        columns: ColumnSet,
        values: &[u8],
    ) -> Result<bool, Abort>;

    /// Adds `deltas` to `columns` of the row `key`, which must all hold integers. Sums wrap at 64 bits. Returns
    /// false and changes nothing if there is no such row, or if a unique index refuses the addition (see
    /// [`Access::refused_by`]).
    ///
    /// If [`Access::adds_at_commit`] returns true, the addition reads nothing, so others can change the row until
    /// this transaction commits. Otherwise it is a read for update and an update, with the same outcome. A column
    /// that does not hold integers panics, as an unknown column does.
    fn add(
        &mut self,
        table: TableId,
        key: Key<'_>,
        columns: ColumnSet,
        deltas: &[u8],
    ) -> Result<bool, Abort>;

    /// Performs [`Access::add`] for implementations that do not add at commit: a read for update, and an update.
    fn add_to_what_is_read(
        &mut self,
        table: TableId,
        key: Key<'_>,
        columns: ColumnSet,
        deltas: &[u8],
    ) -> Result<bool, Abort> {
        let (mut few, mut many);
        let sums = match deltas.len() {
            bytes @ ..=FEW_BYTES => {
                few = [0; FEW_BYTES];
                &mut few[..bytes]
            }
            bytes => {
                many = [0; MAX_COLUMNS * 8];
                &mut many[..bytes]
            }
        };
        if !self.read_for_update(table, key, columns, sums)? {
            return Ok(false);
        }
        add_words(sums, deltas);
        self.update(table, key, columns, sums)
    }

    /// Returns true if the protocol defers additions by [`Access::add`] to the commit and reads nothing for them. A
    /// procedure that reads the row anyway should call [`Access::add`] only in that case, and otherwise update.
    fn adds_at_commit(&self) -> bool;

    /// Adds the row `key` with all its columns. Returns false and changes nothing if the row exists, or if a unique
    /// index refuses it (see [`Access::refused_by`]).
    fn insert(&mut self, table: TableId, key: Key<'_>, row: &[u8]) -> Result<bool, Abort>;

    /// Adds rows with integer keys, each with all its columns, in this order. Returns the number of rows that were added: all, or
    /// those before the first one that [`Access::insert`] would have refused. Rows that follow one another in key order take less
    /// work than as many calls of [`Access::insert`].
    fn insert_many(&mut self, table: TableId, rows: &[(u64, &[u8])]) -> Result<usize, Abort> {
        for (at, (key, row)) in rows.iter().enumerate() {
            if !self.insert(table, Key::Number(*key), row)? {
                return Ok(at);
            }
        }
        Ok(rows.len())
    }

    /// Removes the row `key`. Returns false if there is no such row.
    fn delete(&mut self, table: TableId, key: Key<'_>) -> Result<bool, Abort>;

    /// Passes the rows of `table` whose keys are in `range` to `visit`, in key order, each with its `columns`. The
    /// transaction's own inserts, updates and deletes are visible like all others. The absence of further rows in
    /// the range counts as read by the transaction.
    ///
    /// If `visit` breaks off, the range ends with the key just visited, and nothing beyond it counts as read. Only
    /// tables with an ordered index can be scanned. Any other table panics, as an unknown table does.
    fn scan(
        &mut self,
        table: TableId,
        range: Keys<'_>,
        direction: Direction,
        columns: ColumnSet,
        visit: &mut Visit<'_>,
    ) -> Result<(), Abort>;

    /// Scans the entries of `index`, a secondary index, as [`Access::scan`] does. Passes the rows of the base table
    /// to `visit`, each with its key and its `columns`, in the order of the entries.
    /// [`SecondaryIndex`](crate::SecondaryIndex) makes ranges of entries. Their keys are bytes if
    /// [`SecondaryIndex::is_wide`](crate::SecondaryIndex::is_wide) returns true. A table that is not an index
    /// panics.
    fn scan_index(
        &mut self,
        index: TableId,
        range: Keys<'_>,
        direction: Direction,
        columns: ColumnSet,
        visit: &mut Visit<'_>,
    ) -> Result<(), Abort>;

    /// Returns the unique index that made the last insert or update return false: the index has an entry of another
    /// row with the same values. None if the row's own key was the reason.
    fn refused_by(&self) -> Option<TableId>;

    /// Announces rows that are about to be accessed: their keys and the columns of each. This affects only time: independent
    /// cache misses overlap instead of following one another, and a record is found only once. The keys are numbers only,
    /// because the prefetch computes hash buckets ahead, and byte keys would have to be read for that.
    fn prefetch(&mut self, table: TableId, rows: &[(u64, ColumnSet)]);

    /// Appends a row to memory of the session. No key leads to it and nobody reads it, so no protocol is asked. A row
    /// of an attempt that aborts stays there until it is overwritten. For workloads that measure the traffic of inserts
    /// without that of indexes.
    fn append(&mut self, row: &[u8]) -> Result<(), Abort>;

    /// Returns the next number of the run's timestamp allocator, for workloads that measure it.
    fn allocate_timestamp(&mut self) -> u64;

    /// Accounts for work of the procedure itself, in cycles. It costs time on a simulated machine and nothing
    /// natively.
    fn compute(&mut self, cycles: u64);

    /// Returns true if [`Access::run_actions`] runs actions at the same time. A procedure that can be split into actions
    /// should be split then, and only then.
    fn splits(&self) -> bool;

    /// Runs the actions of one stage, which do not depend on each other, and returns when all have ended. If one fails, the
    /// others still end, and the stage fails.
    ///
    /// Panics if [`Access::splits`] returns false.
    fn run_actions(&mut self, actions: &mut [Action<'_>]) -> Result<(), Abort>;
}
