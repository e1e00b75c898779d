//! The two kinds of keys that tables can be ordered by, behind one trait for code that is the same for both.

use super::{Found, Work, recorder::Recorder};
use crate::site::{Name, Site};
use machine::Machine;
use storage::{ByteKey, LeafPath, LeafRows, OrderedKey, Table};
use txn::{Abort, Direction, KeyRange, TableId};

/// A kind of key that rows are scanned by.
pub(super) trait ScannedKey: OrderedKey {
    /// Announces the leaf of `at` to the protocol and reads its rows. `path` has led to the leaf before.
    fn leaf<'s, M: Machine>(
        site: &mut dyn Site<'s, M>,
        table: TableId,
        at: Self,
        path: &mut LeafPath,
    ) -> Result<LeafRows<'s, M, Self>, Abort>;

    /// Returns a range that has the same partitions as the keys between `ends`.
    fn approached(ends: (Self, Self)) -> KeyRange;

    /// Records that a scan of `home` has met the key. `number` stands for the key in histories.
    fn met<M: Machine>(self, home: &Table<M>, number: u64, recorder: &mut Recorder);

    /// Records that a scan of `home` has covered the range between `ends`.
    fn covered<M: Machine>(
        home: &Table<M>,
        ends: (Self, Self),
        direction: Direction,
        recorder: &mut Recorder,
    );
}

impl ScannedKey for u64 {
    fn leaf<'s, M: Machine>(
        site: &mut dyn Site<'s, M>,
        table: TableId,
        at: u64,
        path: &mut LeafPath,
    ) -> Result<LeafRows<'s, M, u64>, Abort> {
        site.leaf_of_number(table, at, path)
    }

    fn approached(ends: (u64, u64)) -> KeyRange {
        KeyRange::new(ends.0, ends.1).expect("a range has its first key first")
    }

    fn met<M: Machine>(self, _: &Table<M>, _: u64, _: &mut Recorder) {}

    fn covered<M: Machine>(
        home: &Table<M>,
        ends: (u64, u64),
        direction: Direction,
        recorder: &mut Recorder,
    ) {
        recorder.end_scan(home.id(), Self::approached(ends), direction);
    }
}

impl ScannedKey for ByteKey {
    fn leaf<'s, M: Machine>(
        site: &mut dyn Site<'s, M>,
        table: TableId,
        at: ByteKey,
        path: &mut LeafPath,
    ) -> Result<LeafRows<'s, M, ByteKey>, Abort> {
        site.leaf_of_bytes(table, at, path)
    }

    /// Returns all keys, because partitions of byte keys depend on digests, which can have any value.
    fn approached(_: (ByteKey, ByteKey)) -> KeyRange {
        KeyRange::ALL
    }

    fn met<M: Machine>(self, home: &Table<M>, number: u64, recorder: &mut Recorder) {
        let mut buffer = Table::<M>::key_buffer();
        let key = home.shape().bytes_of(self, &mut buffer);
        recorder.spelled(home.id(), number, key);
    }

    fn covered<M: Machine>(
        home: &Table<M>,
        ends: (ByteKey, ByteKey),
        direction: Direction,
        recorder: &mut Recorder,
    ) {
        let mut buffers = [Table::<M>::key_buffer(); 2];
        let [first, last] = &mut buffers;
        let shape = home.shape();
        let ends = (shape.bytes_of(ends.0, first), shape.bytes_of(ends.1, last));
        recorder.end_byte_scan(home.id(), ends, direction);
    }
}

impl<'s, M: Machine> Work<'_, 's, M> {
    /// Returns the partition of a row, or `None` if the row is in all partitions.
    pub(super) fn partition_of(&mut self, row: &Found) -> Option<u64> {
        let home = self.table(row.table);
        let number = match &row.name {
            Name::Number(number) => *number,
            Name::Bytes(key) => key.number::<M>(self.rows.core, home.width::<ByteKey>()),
        };
        home.schema().partitioning.of(number)
    }

    /// Returns true if the row is in a table in key order.
    pub(super) fn is_in_order(&mut self, row: &Found) -> bool {
        match row.name {
            Name::Number(_) => self.table(row.table).is_ordered(),
            Name::Bytes(_) => true,
        }
    }
}
