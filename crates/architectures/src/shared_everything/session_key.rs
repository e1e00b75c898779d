//! Kinds of keys: what a session does differently where keys are bytes.

use crate::{history::Recorder, purge::Waiting};
use machine::{Machine, Zeroed};
use storage::{ByteKey, OrderedKey, RecordRef, Sought, Table};
use txn::{Direction, KeyRange};

/// What a protocol may keep in a record.
pub(super) trait Words: Zeroed + Send + Sync + 'static {}

impl<C: Zeroed + Send + Sync + 'static> Words for C {}

/// A kind of key, and what a session does differently for it.
pub(super) trait SessionKey: OrderedKey + Waiting {
    /// True when `home` is in order of such keys.
    fn is_order_of<M: Machine, C: Words>(home: &Table<M, C>) -> bool;

    /// The record of this key, if the table's index, ordered or not, has one.
    fn find<'s, M: Machine, C: Words>(
        self,
        core: &M::Core,
        home: &'s Table<M, C>,
    ) -> Option<RecordRef<'s, M, C>>;

    /// The partition of this key; none where it is in all of them.
    fn partition<M: Machine, C: Words>(self, core: &M::Core, home: &Table<M, C>) -> Option<u64>;

    /// A range whose partitions are those of the keys between `ends`.
    fn approached(ends: (Self, Self)) -> KeyRange;

    /// A scan is about to read the record of this key.
    fn met<M: Machine, C: Words>(
        self,
        core: &M::Core,
        record: RecordRef<'_, M, C>,
        recorder: &mut Option<Recorder>,
    );

    /// A scan of `home` has covered what lies between `ends`.
    fn covered<M: Machine, C: Words>(
        home: &Table<M, C>,
        ends: (Self, Self),
        direction: Direction,
        recorder: &mut Recorder,
    );
}

impl SessionKey for u64 {
    #[inline(always)]
    fn is_order_of<M: Machine, C: Words>(home: &Table<M, C>) -> bool {
        home.is_ordered()
    }

    #[inline(always)]
    fn find<'s, M: Machine, C: Words>(
        self,
        core: &M::Core,
        home: &'s Table<M, C>,
    ) -> Option<RecordRef<'s, M, C>> {
        home.find(core, self)
    }

    #[inline(always)]
    fn partition<M: Machine, C: Words>(self, _: &M::Core, home: &Table<M, C>) -> Option<u64> {
        home.schema().partitioning.of(self)
    }

    #[inline(always)]
    fn approached(ends: (u64, u64)) -> KeyRange {
        KeyRange::new(ends.0, ends.1).expect("a range has its first key first")
    }

    #[inline(always)]
    fn met<M: Machine, C: Words>(
        self,
        _: &M::Core,
        _: RecordRef<'_, M, C>,
        _: &mut Option<Recorder>,
    ) {
    }

    fn covered<M: Machine, C: Words>(
        home: &Table<M, C>,
        ends: (u64, u64),
        direction: Direction,
        recorder: &mut Recorder,
    ) {
        recorder.end_scan(home.id(), Self::approached(ends), direction);
    }
}

impl SessionKey for ByteKey {
    fn is_order_of<M: Machine, C: Words>(home: &Table<M, C>) -> bool {
        home.orders_bytes()
    }

    fn find<'s, M: Machine, C: Words>(
        self,
        core: &M::Core,
        home: &'s Table<M, C>,
    ) -> Option<RecordRef<'s, M, C>> {
        match home.seek(core, self) {
            Sought::Found(record) => Some(record),
            Sought::Absent(_) => None,
        }
    }

    fn partition<M: Machine, C: Words>(self, core: &M::Core, home: &Table<M, C>) -> Option<u64> {
        home.schema().partitioning.of(self.number::<M>(core, home.width::<ByteKey>()))
    }

    /// Partitions go by digests, which are anywhere.
    fn approached(_: (ByteKey, ByteKey)) -> KeyRange {
        KeyRange::ALL
    }

    fn met<M: Machine, C: Words>(
        self,
        core: &M::Core,
        record: RecordRef<'_, M, C>,
        recorder: &mut Option<Recorder>,
    ) {
        if let Some(recorder) = recorder {
            let mut buffer = Table::<M, C>::key_buffer();
            let key = record.table().bytes_of(self, &mut buffer);
            recorder.spelled(record.table().id(), record.history_key(core), key);
        }
    }

    fn covered<M: Machine, C: Words>(
        home: &Table<M, C>,
        ends: (ByteKey, ByteKey),
        direction: Direction,
        recorder: &mut Recorder,
    ) {
        let mut buffers = [Table::<M, C>::key_buffer(); 2];
        let [first, last] = &mut buffers;
        let ends = (home.bytes_of(ends.0, first), home.bytes_of(ends.1, last));
        recorder.end_byte_scan(home.id(), ends, direction);
    }
}
