//! All that a stored procedure may do to the database.

use crate::{Abort, ColumnSet, Direction, Key, Keys, MAX_COLUMNS, TableId};
use std::ops::ControlFlow;

/// As many columns as are commonly added to at a time.
const FEW_BYTES: usize = 32;

/// What the caller will do with what it reads; a locking protocol takes the stronger lock at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Intent {
    /// Only read.
    Read,
    /// Read now, update the same row later in the same transaction.
    Update,
}

/// What a scan hands each row to: its key, and the columns asked for, packed.
pub type Visit<'v> = dyn FnMut(Key<'_>, &[u8]) -> ControlFlow<()> + 'v;

/// Adds packed 64-bit integers to others, wrapping. Both are whole words.
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

/// All that a stored procedure may do: by table and key, never by pointer.
///
/// The architecture supplies the implementation, locally or by message, so a procedure is written
/// once. Values travel as the bytes of the chosen columns, packed in column order without padding
/// (integers and floats little-endian). Every method fails with an [`Abort`] that the procedure
/// hands up with `?`; after that the attempt is over and nothing of it remains.
///
/// A table's keys are of one kind, numbers or bytes. A key of the other kind panics, and so does one longer than the
/// table's, at an end of a range as well.
///
/// What has a body here is made of the other methods and means the same whoever implements those; all that
/// somebody may answer in a way of its own is required, so that what stands before another `Access` cannot
/// forget to hand it on.
pub trait Access {
    /// Copies `columns` of the row `key` into `out`. Returns false, leaving `out` alone, when there
    /// is no such row; that absence is then part of what the transaction has read.
    ///
    /// `out` must be exactly as long as the columns are together.
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

    /// As [`Access::read`], for a row that the transaction is going to update.
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

    /// As [`Access::read`], with the intent said.
    fn read_with(
        &mut self,
        table: TableId,
        key: Key<'_>,
        columns: ColumnSet,
        intent: Intent,
        out: &mut [u8],
    ) -> Result<bool, Abort>;

    /// Overwrites `columns` of the row `key` with `values`. Returns false, changing nothing, when there is no
    /// such row, or when a unique index refuses: [`Access::refused_by`] tells.
    fn update(
        &mut self,
        table: TableId,
        key: Key<'_>,
        columns: ColumnSet,
        values: &[u8],
    ) -> Result<bool, Abort>;

    /// Adds `deltas` to `columns` of the row `key`, integers all, wrapping at 64 bits. Returns false, changing
    /// nothing, when there is no such row, or when a unique index refuses: [`Access::refused_by`] tells.
    ///
    /// Where [`Access::adds_at_commit`] says so, nothing is read for it, so others may change the row until this
    /// transaction commits; else it is a read for update and an update, with the same outcome. A column that
    /// does not hold integers panics, as an unknown one does.
    fn add(
        &mut self,
        table: TableId,
        key: Key<'_>,
        columns: ColumnSet,
        deltas: &[u8],
    ) -> Result<bool, Abort>;

    /// [`Access::add`] for those who do not add at commit: a read for update, and an update.
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

    /// True when the protocol keeps what [`Access::add`] adds until it commits, and reads nothing for it. A
    /// procedure that reads the row anyway does better to add only then, and else to update.
    fn adds_at_commit(&self) -> bool;

    /// Adds the row `key` with all its columns. Returns false, changing nothing, when it exists, or when a unique
    /// index refuses: [`Access::refused_by`] tells.
    fn insert(&mut self, table: TableId, key: Key<'_>, row: &[u8]) -> Result<bool, Abort>;

    /// Removes the row `key`. Returns false when there is no such row.
    fn delete(&mut self, table: TableId, key: Key<'_>) -> Result<bool, Abort>;

    /// Hands the rows of `table` whose keys are in `range` to `visit`, in key order, each with its `columns`;
    /// the transaction's own inserts, updates and deletes are seen like any others. That there are no
    /// further rows in the range is then part of what the transaction has read.
    ///
    /// When `visit` breaks off, the range ends with the key just visited: nothing beyond has been read.
    /// Only tables with an ordered index can be scanned; any other panics, as an unknown table does.
    fn scan(
        &mut self,
        table: TableId,
        range: Keys<'_>,
        direction: Direction,
        columns: ColumnSet,
        visit: &mut Visit<'_>,
    ) -> Result<(), Abort>;

    /// As [`Access::scan`], over the entries of `index`, a secondary index: hands the rows that they are about to
    /// `visit`, each with its key and its `columns`, in the order of the entries.
    /// [`SecondaryIndex`](crate::SecondaryIndex) makes ranges of entries, whose keys are bytes where
    /// [`SecondaryIndex::is_wide`](crate::SecondaryIndex::is_wide) says so. A table that is no index panics.
    fn scan_index(
        &mut self,
        index: TableId,
        range: Keys<'_>,
        direction: Direction,
        columns: ColumnSet,
        visit: &mut Visit<'_>,
    ) -> Result<(), Abort>;

    /// The unique index because of which the last insert or update has returned false: it has an entry of another
    /// row with the same values. None if the row's own key was the reason.
    fn refused_by(&self) -> Option<TableId>;

    /// A hint that `columns` of these rows are about to be accessed. Changes nothing but time:
    /// independent cache misses then overlap instead of following one another. Of numbers alone: it computes hash
    /// buckets ahead, and bytes would have to be read for that.
    fn prefetch(&mut self, table: TableId, keys: &[u64], columns: ColumnSet);

    /// The next number of the run's timestamp allocator, for workloads that measure it.
    fn allocate_timestamp(&mut self) -> u64;

    /// Work of the procedure itself, in cycles; costs time on a simulated machine and nothing natively.
    fn compute(&mut self, cycles: u64);
}
