//! Shared everything: a transaction stays on its core, and that core touches all records itself,
//! synchronised by atomics (Trireme 3.1; the architecture of DBx1000).

mod byte_keys;
mod ordered;
mod parts;
mod secondary;
mod session_key;

use self::session_key::SessionKey;
use crate::{
    Architecture, Dataset, EngineError, EngineOptions, Session,
    architecture::{no_memory, store_options},
    history::Recorder,
    purge::PurgeQueue,
};
use machine::{Category, Core, Machine, Service, Zeroed, cold::Arc};
use protocols::{
    Change, CommitLog, Protocol, Start, faults,
    parts::timestamp_allocator::{TimestampAllocator, TimestampSource},
};
use storage::{
    ByteKey, Epochs, Found, RecordRef, RowHead, RowState, Space, Store, StoreLoader, Table,
};
use txn::{
    Abort, AbortReason, Access, ByteRange, ByteVisit, ColumnSet, Direction, EntryVisit, Intent,
    KeyRange, RowKey, TableId, TxnId, Version, Visit, WorkerHistory,
};

/// Free slots of a table that a session keeps to itself: more are for sessions that insert what this one
/// deletes.
const KEPT_SLOTS: usize = 128;

/// The engine.
pub struct SharedEverything<M: Machine, P: Protocol<M>> {
    store: Store<M, P::Record>,
    protocol: P,
    allocator: TimestampAllocator<M>,
    options: EngineOptions,
}

impl<M: Machine, P: Protocol<M>> SharedEverything<M, P> {
    /// Its tables.
    pub fn store(&self) -> &Store<M, P::Record> {
        &self.store
    }
}

impl<M: Machine, P: Protocol<M>> Architecture<M> for SharedEverything<M, P> {
    type Session<'s> = SharedEverythingSession<'s, M, P>;
    const NAME: &'static str = "shared_everything";

    fn create(machine: Arc<M>, options: &EngineOptions) -> Result<Self, EngineError> {
        let arena = machine.arena().clone();
        Ok(SharedEverything {
            protocol: P::create(&arena, &options.protocol, options.sessions)?,
            allocator: TimestampAllocator::new(
                &arena,
                options.protocol.timestamps,
                options.sessions,
            )?,
            store: Store::new(machine, store_options(options))?,
            options: options.clone(),
        })
    }

    fn load(&self, data: &dyn Dataset, threads: usize) -> Result<(), EngineError> {
        self.store.create_tables(&data.schema(), |table| data.rows(table))?;
        let mut loader = StoreLoader::new(&self.store, threads);
        data.load(&mut loader);
        loader.finish()
    }

    fn session<'s>(&'s self, core: &'s M::Core, slot: usize) -> Self::Session<'s> {
        SharedEverythingSession {
            engine: self,
            core,
            slot,
            worker: self.protocol.worker(self.store.epochs(), slot),
            source: TimestampSource::new(slot),
            spaces: Vec::new(),
            scanned: Vec::new(),
            part: Vec::new(),
            recorder: self.options.record_history.then(Recorder::default),
            purge: PurgeQueue::new(self.options.purge_batch),
            attempts: 0,
            open: false,
            doomed: None,
            refused_by: None,
        }
    }

    fn services(&self) -> Vec<Service<'_, M>> {
        vec![Service {
            name: "epochs",
            interval_ticks: self.options.epoch_interval_ticks,
            tick: Box::new(|core| {
                self.store.epochs().try_advance(core);
            }),
        }]
    }
}

/// One worker's session.
pub struct SharedEverythingSession<'s, M: Machine, P: Protocol<M>> {
    engine: &'s SharedEverything<M, P>,
    core: &'s M::Core,
    slot: usize,
    worker: P::Worker<'s>,
    source: TimestampSource,
    spaces: Vec<Option<Space>>,
    /// The row that a scan is at.
    scanned: Vec<u8>,
    /// Values of a part of a row.
    part: Vec<u8>,
    recorder: Option<Recorder>,
    purge: PurgeQueue,
    attempts: u64,
    open: bool,
    doomed: Option<Abort>,
    /// The unique index that has refused the last insert or update.
    refused_by: Option<TableId>,
}

/// A session's slots of `table`.
fn space_of<'a, M: Machine, C: Zeroed + Send + Sync + 'static>(
    spaces: &'a mut Vec<Option<Space>>,
    table: &Table<M, C>,
) -> &'a mut Space {
    let at = table.id().0 as usize;
    if spaces.len() <= at {
        spaces.resize_with(at + 1, || None);
    }
    spaces[at].get_or_insert_with(|| table.take_space())
}

type Record<'s, M, P> = RecordRef<'s, M, <P as Protocol<M>>::Record>;

impl<'s, M: Machine, P: Protocol<M>> SharedEverythingSession<'s, M, P> {
    #[inline(always)]
    fn table(&self, table: TableId) -> &'s Table<M, P::Record> {
        self.engine.store.table(table)
    }

    fn space(&mut self, table: TableId) -> &mut Space {
        space_of(&mut self.spaces, self.engine.store.table(table))
    }

    /// The record of `key`, made if need be: an absent key is read and locked like a row.
    #[inline(always)]
    fn record(&mut self, table: TableId, key: u64) -> Result<Record<'s, M, P>, Abort> {
        let (engine, home) = (self.engine, self.table(table));
        if P::LOCKS_PARTITIONS {
            engine.protocol.approach(self.core, &mut self.worker, home.schema(), key)?;
        }
        self.core.account(Category::Index);
        if home.is_ordered() {
            return self.ordered_record(table, key);
        }
        match home.find(self.core, key) {
            Some(record) => Ok(record),
            None => self.make_record(table, key),
        }
    }

    #[cold]
    fn make_record(&mut self, table: TableId, key: u64) -> Result<Record<'s, M, P>, Abort> {
        let (core, home) = (self.core, self.table(table));
        assert!(!home.has_byte_keys(), "table {:?} has keys of bytes", home.schema().name);
        if !home.has_place_for(key) {
            return Err(Abort::because(AbortReason::KeyOutsideIndex));
        }
        let protocol = &self.engine.protocol;
        let prepare = |record: &RecordRef<'_, M, P::Record>| {
            protocol.prepare_record(core, record, None);
            if let Some(second) = record.second() {
                protocol.prepare_record(core, &second, None);
            }
        };
        let found = home.find_or_make(core, self.space(table), key, prepare);
        match found.map_err(no_memory)? {
            Found::Existing(record) => Ok(record),
            Found::Made(record) => {
                self.purge_later(table, key);
                Ok(record)
            }
        }
    }

    fn purge_later<K: SessionKey>(&mut self, table: TableId, key: K) {
        // On a recorded run the version of an absence is evidence, so its record stays.
        if self.recorder.is_none() {
            self.purge.add(table, key);
        }
    }

    #[inline(always)]
    fn protocol_read(
        &mut self,
        record: Record<'s, M, P>,
        columns: ColumnSet,
        intent: Intent,
        out: &mut [u8],
    ) -> Result<RowHead, Abort> {
        self.core.account(Category::ConcurrencyControl);
        let engine = self.engine;
        let head =
            engine.protocol.read(self.core, &mut self.worker, record, columns, intent, out)?;
        if head.state == RowState::RETIRED {
            return Err(Abort::because(AbortReason::RecordRetired));
        }
        if let Some(recorder) = &mut self.recorder {
            recorder.read(record.table().id(), record.history_key(self.core), head);
        }
        Ok(head)
    }

    #[inline(always)]
    fn protocol_write(
        &mut self,
        record: Record<'s, M, P>,
        change: Change<'_>,
    ) -> Result<bool, Abort> {
        self.core.account(Category::ConcurrencyControl);
        let engine = self.engine;
        if engine.protocol.write(self.core, &mut self.worker, record, change)? {
            return Ok(true);
        }
        // The protocol has seen an absence; reading it says what kind, and puts it on record.
        self.protocol_read(record, ColumnSet::NONE, Intent::Read, &mut [])?;
        Ok(false)
    }

    #[inline(always)]
    fn protocol_add(
        &mut self,
        record: Record<'s, M, P>,
        columns: ColumnSet,
        deltas: &[u8],
    ) -> Result<bool, Abort> {
        self.core.account(Category::ConcurrencyControl);
        let engine = self.engine;
        if engine.protocol.add(self.core, &mut self.worker, record, columns, deltas)? {
            return Ok(true);
        }
        // As for any other write.
        self.protocol_read(record, ColumnSet::NONE, Intent::Read, &mut [])?;
        Ok(false)
    }

    /// Whether an addition to `columns`, which hold integers, is the protocol's business. To move entries of an
    /// index one must know the values.
    #[inline(always)]
    fn adds_blindly(&self, table: TableId, columns: ColumnSet) -> bool {
        let home = self.table(table);
        assert!(
            home.row_layout().integers().contains(columns),
            "columns {columns:?} of table {:?} do not all hold integers",
            home.schema().name
        );
        self.engine.protocol.adds_at_commit() && !home.indexed_columns().intersects(columns)
    }

    /// Runs one access of an attempt that is still alive; a failure dooms the attempt.
    #[inline(always)]
    fn access<T>(
        &mut self,
        access: impl FnOnce(&mut Self) -> Result<T, Abort>,
    ) -> Result<T, Abort> {
        if let Some(abort) = self.doomed {
            return Err(abort);
        }
        assert!(self.open, "an access outside a transaction");
        let result = access(self);
        self.core.account(Category::Useful);
        if let Err(abort) = &result {
            self.doomed = Some(*abort);
        }
        result
    }

    fn end_attempt(&mut self) {
        self.engine.store.epochs().unpin(self.core, self.slot);
        self.open = false;
        self.doomed = None;
    }

    fn abort_attempt(&mut self) {
        self.engine.protocol.abort(self.core, &mut self.worker);
        if let Some(recorder) = &mut self.recorder {
            recorder.rolled_back();
        }
        self.purge.rolled_back();
        self.end_attempt();
        let breakdown = self.core.breakdown();
        if breakdown.enabled() {
            breakdown.attempt_aborted(self.core.now());
        }
    }

    /// Retires the record of an absent row, in a transaction of its own. False when others are at it.
    fn retire<K: SessionKey>(&mut self, table: TableId, key: K) -> Result<(), Abort> {
        let home = self.table(table);
        let is_ordered = K::is_order_of(home);
        let partition = key.partition(self.core, home);
        let partitions = partition.as_slice();
        self.begin(Start { attempt: 0, read_only: false, partitions });
        let retired = (|| {
            // Found again by key and under the pin: its slot can't have become another record's.
            let Some(record) = key.find(self.core, home).filter(|r| home.is_unlinkable(r)) else {
                return Ok(None);
            };
            let head = self.protocol_read(record, ColumnSet::NONE, Intent::Update, &mut [])?;
            if head.state != RowState::ABSENT {
                return Ok(None);
            }
            let state = Some(RowState::RETIRED);
            let change = Change { columns: ColumnSet::NONE, values: &[], state };
            self.protocol_write(record, change)?;
            self.end_second(record, RowState::RETIRED)?;
            Ok(Some(record))
        })();
        match retired {
            Ok(Some(record)) => {
                self.commit()?;
                if is_ordered {
                    return self.unlink_ordered(table, key, record);
                }
                self.engine.protocol.retire(self.core, &record, None);
                if let Some(second) = record.second() {
                    self.engine.protocol.retire(self.core, &second, None);
                }
                if home.unlink(self.core, &record) {
                    // Read after the unlinking: who still found the record was pinned by then.
                    let epoch = self.engine.store.epochs().current(self.core);
                    let offset = record.name().offset;
                    self.space(table).records.retire(epoch, offset);
                }
                Ok(())
            }
            Ok(None) => {
                self.rollback();
                // Its leaf may still be there, empty, from an earlier turn.
                if is_ordered { self.drop_empty_leaf(table, key) } else { Ok(()) }
            }
            Err(abort) => {
                self.rollback();
                Err(abort)
            }
        }
    }
}

impl<M: Machine, P: Protocol<M>> Access for SharedEverythingSession<'_, M, P> {
    #[inline]
    fn read_with(
        &mut self,
        table: TableId,
        key: u64,
        columns: ColumnSet,
        intent: Intent,
        out: &mut [u8],
    ) -> Result<bool, Abort> {
        self.access(|s| {
            let record = s.record(table, key)?;
            if let Some(split) = s.table(table).split() {
                return s.read_parts(record, split, columns, intent, out);
            }
            Ok(s.protocol_read(record, columns, intent, out)?.state.is_present())
        })
    }

    #[inline]
    fn update(
        &mut self,
        table: TableId,
        key: u64,
        columns: ColumnSet,
        values: &[u8],
    ) -> Result<bool, Abort> {
        self.access(|s| {
            if s.table(table).indexed_columns().intersects(columns) {
                return s.update_indexed(table, RowKey::Number(key), columns, values);
            }
            let record = s.record(table, key)?;
            let change = Change { columns, values, state: None };
            if let Some(split) = s.table(table).split() {
                return s.write_parts(record, split, change);
            }
            s.protocol_write(record, change)
        })
    }

    #[inline]
    fn add(
        &mut self,
        table: TableId,
        key: u64,
        columns: ColumnSet,
        deltas: &[u8],
    ) -> Result<bool, Abort> {
        if !self.adds_blindly(table, columns) {
            return self.add_to_what_is_read(table, key, columns, deltas);
        }
        self.access(|s| {
            let record = s.record(table, key)?;
            if let Some(split) = s.table(table).split() {
                return s.add_to_parts(record, split, columns, deltas);
            }
            s.protocol_add(record, columns, deltas)
        })
    }

    #[inline]
    fn adds_at_commit(&self) -> bool {
        self.engine.protocol.adds_at_commit()
    }

    fn insert(&mut self, table: TableId, key: u64, row: &[u8]) -> Result<bool, Abort> {
        self.access(|s| s.insert_row(table, key, row))
    }

    fn delete(&mut self, table: TableId, key: u64) -> Result<bool, Abort> {
        self.access(|s| s.delete_row(table, key))
    }

    fn read_bytes_with(
        &mut self,
        table: TableId,
        key: &[u8],
        columns: ColumnSet,
        intent: Intent,
        out: &mut [u8],
    ) -> Result<bool, Abort> {
        self.access(|s| {
            let (record, _) = s.byte_record(table, key)?;
            Ok(s.protocol_read(record, columns, intent, out)?.state.is_present())
        })
    }

    fn update_bytes(
        &mut self,
        table: TableId,
        key: &[u8],
        columns: ColumnSet,
        values: &[u8],
    ) -> Result<bool, Abort> {
        self.access(|s| {
            if s.table(table).indexed_columns().intersects(columns) {
                return s.update_indexed(table, RowKey::Bytes(key), columns, values);
            }
            let (record, _) = s.byte_record(table, key)?;
            s.protocol_write(record, Change { columns, values, state: None })
        })
    }

    fn add_bytes(
        &mut self,
        table: TableId,
        key: &[u8],
        columns: ColumnSet,
        deltas: &[u8],
    ) -> Result<bool, Abort> {
        if !self.adds_blindly(table, columns) {
            return self.add_bytes_to_what_is_read(table, key, columns, deltas);
        }
        self.access(|s| {
            let (record, _) = s.byte_record(table, key)?;
            s.protocol_add(record, columns, deltas)
        })
    }

    fn insert_bytes(&mut self, table: TableId, key: &[u8], row: &[u8]) -> Result<bool, Abort> {
        self.access(|s| s.insert_by_bytes(table, key, row))
    }

    fn delete_bytes(&mut self, table: TableId, key: &[u8]) -> Result<bool, Abort> {
        self.access(|s| s.delete_by_bytes(table, key))
    }

    fn scan(
        &mut self,
        table: TableId,
        range: KeyRange,
        direction: Direction,
        columns: ColumnSet,
        visit: &mut Visit<'_>,
    ) -> Result<(), Abort> {
        self.access(|s| {
            let ends = (range.first(), range.last());
            s.scan_rows(table, ends, direction, columns, |_, key, row| Ok(visit(key, row)))
        })
    }

    fn scan_bytes(
        &mut self,
        table: TableId,
        range: ByteRange<'_>,
        direction: Direction,
        columns: ColumnSet,
        visit: &mut ByteVisit<'_>,
    ) -> Result<(), Abort> {
        self.access(|s| s.scan_by_bytes(table, range, direction, columns, visit))
    }

    fn scan_index(
        &mut self,
        index: TableId,
        range: KeyRange,
        direction: Direction,
        columns: ColumnSet,
        visit: &mut Visit<'_>,
    ) -> Result<(), Abort> {
        self.access(|s| s.scan_entries(index, range, direction, columns, visit))
    }

    fn scan_wide_index(
        &mut self,
        index: TableId,
        range: ByteRange<'_>,
        direction: Direction,
        columns: ColumnSet,
        visit: &mut EntryVisit<'_>,
    ) -> Result<(), Abort> {
        self.access(|s| s.scan_wide_entries(index, range, direction, columns, visit))
    }

    fn refused_by(&self) -> Option<TableId> {
        self.refused_by
    }

    #[inline]
    fn prefetch(&mut self, table: TableId, keys: &[u64], columns: ColumnSet) {
        if M::MODELLED {
            return;
        }
        let table = self.table(table);
        // Buckets first, all of them, then what they point to. A single key was part of a list before.
        if keys.len() > 1 {
            for key in keys {
                table.prefetch_bucket(self.core, *key);
            }
        }
        for key in keys {
            let Some(record) = table.guess(self.core, *key) else { continue };
            let Some(split) = table.split() else {
                record.prefetch(self.core, columns);
                continue;
            };
            let often = split.columns();
            if columns.is_empty() || !often.contains(columns) {
                record.prefetch(self.core, columns.without(often));
            }
            if columns.intersects(often) {
                split.second(&record).prefetch(self.core, columns.without(columns.without(often)));
            }
        }
    }

    fn allocate_timestamp(&mut self) -> u64 {
        self.engine.allocator.draw(self.core, &mut self.source)
    }

    #[inline]
    fn compute(&mut self, cycles: u64) {
        self.core.compute(cycles);
    }
}

impl<M: Machine, P: Protocol<M>> Session for SharedEverythingSession<'_, M, P> {
    #[inline]
    fn begin(&mut self, start: Start<'_>) {
        assert!(!self.open, "begin inside a transaction");
        let breakdown = self.core.breakdown();
        if breakdown.enabled() {
            breakdown.attempt_begins(self.core.now());
        }
        self.open = true;
        self.attempts += 1;
        if let Some(recorder) = &mut self.recorder {
            recorder.begin(self.core);
        }
        self.engine.store.epochs().pin(self.core, self.slot);
        self.engine.protocol.begin(self.core, &mut self.worker, start);
        let id = TxnId::new(self.slot, self.attempts);
        self.engine.protocol.identify(&mut self.worker, Version::new(id, 1));
    }

    #[inline]
    fn commit(&mut self) -> Result<(), Abort> {
        assert!(self.open, "commit outside a transaction");
        if let Some(abort) = self.doomed {
            self.abort_attempt();
            return Err(abort);
        }
        let (engine, core) = (self.engine, self.core);
        core.account(Category::Commit);
        let timestamp = match engine.protocol.prepare(core, &mut self.worker) {
            Ok(timestamp) => timestamp,
            Err(abort) => {
                self.abort_attempt();
                return Err(abort);
            }
        };
        let id = TxnId::new(self.slot, self.attempts);
        let writes = self.recorder.as_mut().map(Recorder::writes);
        let mut log = CommitLog { version: Version::new(id, 1), writes };
        engine.protocol.commit(core, &mut self.worker, timestamp, &mut log);
        if let Some(recorder) = &mut self.recorder {
            recorder.committed(core, id, timestamp);
        }
        self.purge.committed();
        self.end_attempt();
        core.account(Category::Useful);
        Ok(())
    }

    fn rollback(&mut self) {
        assert!(self.open, "rollback outside a transaction");
        self.abort_attempt();
    }

    fn check_and_rollback(&mut self) -> Result<(), Abort> {
        assert!(self.open, "rollback outside a transaction");
        let checked = match self.doomed {
            Some(abort) => Err(abort),
            None => self.engine.protocol.prepare(self.core, &mut self.worker).map(|_| ()),
        };
        self.abort_attempt();
        checked
    }

    fn locks_partitions(&self) -> bool {
        P::LOCKS_PARTITIONS
    }

    fn in_transaction(&self) -> bool {
        self.open
    }

    fn priority(&self) -> Option<u64> {
        self.engine.protocol.priority(&self.worker)
    }

    fn take_history(&mut self) -> WorkerHistory {
        self.recorder.as_mut().map(Recorder::take).unwrap_or_default()
    }

    #[inline]
    fn maintain(&mut self) {
        if self.purge.is_due() {
            self.purge_some();
        }
    }

    fn reclaim(&mut self) {
        self.purge_some();
        // Two more epochs, and what was retired just now is out of everybody's reach.
        self.engine.store.epochs().try_advance(self.core);
        self.give_back(0);
    }
}

impl<M: Machine, P: Protocol<M>> SharedEverythingSession<'_, M, P> {
    #[cold]
    fn purge_some(&mut self) {
        self.purge_some_of::<u64>();
        self.purge_some_of::<ByteKey>();
        self.give_back(KEPT_SLOTS);
    }

    fn purge_some_of<K: SessionKey>(&mut self) {
        for _ in 0..self.purge.len::<K>() {
            let Some((table, key)) = self.purge.pop::<K>() else { break };
            if self.retire(table, key).is_err() {
                // Somebody is using the record; it gets another turn.
                self.purge.add(table, key);
            }
        }
    }

    /// Makes slots usable again that nobody can see any more; of each table `keep` stay with this session.
    fn give_back(&mut self, keep: usize) {
        let now = self.engine.store.epochs().try_advance(self.core);
        let early = self.core.is_planted(faults::MEMORY_USED_AGAIN_EARLY);
        for (at, space) in self.spaces.iter_mut().enumerate() {
            if let Some(space) = space {
                let table = self.engine.store.table(TableId(at as u16));
                let is_past = |epoch, now| early || Epochs::<M>::is_past(epoch, now);
                table.reclaim(space, now, is_past, keep);
            }
        }
    }
}

impl<M: Machine, P: Protocol<M>> Drop for SharedEverythingSession<'_, M, P> {
    fn drop(&mut self) {
        // A panic in a procedure comes through here: nothing may stay locked.
        if self.open {
            self.abort_attempt();
        }
        for (at, space) in self.spaces.drain(..).enumerate() {
            if let Some(space) = space {
                self.engine.store.table(TableId(at as u16)).return_space(space);
            }
        }
    }
}
