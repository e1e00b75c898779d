//! A protocol bound to its state for one session, behind a trait object.
//!
//! The code for rows, lookups and range protection is the same for every protocol. It is compiled once per
//! machine and calls the protocol through [`SessionProtocol`]. On a native machine the fast paths for read, update, add
//! and commit call [`BoundProtocol`] directly, so that its methods are inlined there.

use crate::owner::Owner;
use machine::Machine;
use protocols::{Change, CommitLog, Images, Prepared, Protocol, Txn};
use storage::{Guard, GuardRef, ProtocolWords, Record, RecordRef, RowHead};
use txn::{Abort, ColumnSet, Intent, KeyRange, TableId, TableSchema};

/// A protocol in one session: [`Protocol`] together with the state that it works on.
///
/// Each method calls the method of [`Protocol`] with the same name, which is documented there. Records and
/// guards must belong to the owner's store. Others cause a panic.
pub(crate) trait SessionProtocol<'s, M: Machine> {
    fn locks_partitions(&self) -> bool;
    fn plans(&self) -> bool;
    fn plan(&mut self, record: Record<'s, M>, intent: Intent);
    fn follow_plan(&mut self) -> Result<(), Abort>;
    fn approach(&mut self, table: &TableSchema, keys: KeyRange) -> Result<(), Abort>;
    fn read(
        &mut self,
        record: Record<'s, M>,
        columns: ColumnSet,
        intent: Intent,
        out: &mut [u8],
    ) -> Result<RowHead, Abort>;
    fn write(&mut self, record: Record<'s, M>, change: Change<'_>) -> Result<bool, Abort>;
    fn adds_at_commit(&self) -> bool;
    fn add(
        &mut self,
        record: Record<'s, M>,
        columns: ColumnSet,
        deltas: &[u8],
    ) -> Result<bool, Abort>;
    fn scan(&mut self, guard: Guard<'s, M>) -> Result<(), Abort>;
    fn begin_insertion(&mut self, guard: Guard<'s, M>) -> Result<(), Abort>;
    fn insert(
        &mut self,
        guard: Guard<'s, M>,
        record: Record<'s, M>,
        counted: u64,
    ) -> Result<(), Abort>;
    fn end_insertion(&mut self, guard: Guard<'s, M>);
    fn split(
        &mut self,
        guard: Guard<'s, M>,
        right: Guard<'s, M>,
        counted: u64,
    ) -> Result<(), Abort>;
    fn merge(&self, gone: Guard<'_, M>, heir: Guard<'_, M>);
    fn prepare_record(&self, record: Record<'_, M>);
    fn retire(&self, record: Record<'_, M>, guard: Option<Guard<'_, M>>);
    fn confirm(&mut self, timestamp: u64) -> Result<(), Abort>;
    fn images(&mut self, log: &mut Images<'_, 's, M>);
    fn abort(&mut self);
    fn age(&self) -> Option<u64>;
    fn priority(&self) -> Option<u64>;
    fn longest_back_off(&self) -> Option<u64>;
    fn forbid_beginning_before(&self, timestamp: u64);
    fn forget_table(&mut self, table: TableId);
}

/// Protocol `P`, bound to its state in one session.
pub(crate) struct BoundProtocol<'s, M: Machine, P: Protocol<M>> {
    core: &'s M::Core,
    protocol: &'s P,
    worker: P::Worker<'s>,
    /// Layout of the protocol's words in the owner's store. Records of other stores have another one.
    words: &'s ProtocolWords,
}

impl<'s, M: Machine, P: Protocol<M>> BoundProtocol<'s, M, P> {
    /// Binds `owner`'s protocol to session number `session`, which `core` uses.
    pub fn new(owner: &'s Owner<M, P>, core: &'s M::Core, session: usize) -> Self {
        let protocol = owner.protocol();
        let (store, words) = (owner.store(), &owner.store().options().words);
        BoundProtocol { core, protocol, worker: protocol.worker(store.epochs(), session), words }
    }

    /// Returns the protocol's view of a record of the owner's store.
    #[inline(always)]
    fn own<'r>(&self, record: Record<'r, M>) -> RecordRef<'r, M, P::Words> {
        assert!(record.table().is_of(self.words), "a record of another store");
        // SAFETY: the owner's store was made for the protocol's words. The assertion has shown that the record
        // is of that store.
        unsafe { RecordRef::new(record) }
    }

    /// Returns the protocol's view of a guard of the owner's store.
    #[inline(always)]
    fn own_guard<'r>(&self, guard: Guard<'r, M>) -> GuardRef<'r, M, P::Words> {
        assert!(guard.record().table().is_of(self.words), "a guard of another store");
        // SAFETY: the owner's store was made for the protocol's words. The assertion has shown that the guard
        // is of that store.
        unsafe { GuardRef::new(guard) }
    }

    /// Replaces the core that uses the session.
    pub fn use_core(&mut self, core: &'s M::Core) {
        self.core = core;
    }

    /// Calls [`Protocol::protect`].
    pub fn protect(&mut self, record: Record<'s, M>, intent: Intent) -> Result<(), Abort> {
        let record = self.own(record);
        self.protocol.protect(self.core, &mut self.worker, record, intent)
    }

    /// Calls [`Protocol::is_protected`].
    pub fn is_protected(&self, record: Record<'s, M>, intent: Intent) -> bool {
        self.protocol.is_protected(&self.worker, self.own(record), intent)
    }

    /// Calls [`Protocol::prepares_metadata`].
    pub fn prepares_metadata(&self) -> bool {
        self.protocol.prepares_metadata(&self.worker)
    }

    /// Calls [`Protocol::await_owner`].
    pub fn await_owner(&mut self) -> Result<bool, Abort> {
        self.protocol.await_owner(self.core, &mut self.worker)
    }

    /// Calls [`Protocol::install`].
    pub fn install(&mut self, timestamp: u64, log: &mut CommitLog<'_>) {
        self.protocol.install(self.core, &mut self.worker, timestamp, log);
    }

    /// Calls [`Protocol::begin`].
    #[inline(always)]
    pub fn begin(&mut self, txn: Txn<'_>) {
        self.protocol.begin(self.core, &mut self.worker, txn);
    }

    /// Does the same as [`SessionProtocol::approach`], and is inlined.
    #[inline(always)]
    pub fn approach_directly(&mut self, table: &TableSchema, key: u64) -> Result<(), Abort> {
        self.approach_range_directly(table, KeyRange::one(key))
    }

    /// Does the same for a range of keys.
    #[inline(always)]
    pub fn approach_range_directly(
        &mut self,
        table: &TableSchema,
        keys: KeyRange,
    ) -> Result<(), Abort> {
        self.protocol.approach(self.core, &mut self.worker, table, keys)
    }

    /// Does the same as [`SessionProtocol::read`], and is inlined.
    ///
    /// # Safety
    /// The record must be of the store that the owner was made with.
    #[inline(always)]
    pub unsafe fn read_directly(
        &mut self,
        record: Record<'s, M>,
        columns: ColumnSet,
        intent: Intent,
        out: &mut [u8],
    ) -> Result<RowHead, Abort> {
        // SAFETY: the caller promises that the record is of the owner's store, which was made for the
        // protocol's words.
        let record = unsafe { RecordRef::new(record) };
        self.protocol.read(self.core, &mut self.worker, record, columns, intent, out)
    }

    /// Calls [`Protocol::read_alone`].
    ///
    /// # Safety
    /// The same condition as for [`BoundProtocol::read_directly`].
    #[inline(always)]
    pub unsafe fn read_alone(
        &self,
        record: Record<'s, M>,
        columns: ColumnSet,
        out: &mut [u8],
    ) -> Option<RowHead> {
        // SAFETY: the caller promises that the record is of the owner's store, which was made for the
        // protocol's words.
        let record = unsafe { RecordRef::new(record) };
        self.protocol.read_alone(self.core, record, columns, out)
    }

    /// Does the same as [`SessionProtocol::write`], and is inlined.
    ///
    /// # Safety
    /// The same condition as for [`BoundProtocol::read_directly`].
    #[inline(always)]
    pub unsafe fn write_directly(
        &mut self,
        record: Record<'s, M>,
        change: Change<'_>,
    ) -> Result<bool, Abort> {
        // SAFETY: the caller promises that the record is of the owner's store, which was made for the
        // protocol's words.
        let record = unsafe { RecordRef::new(record) };
        self.protocol.write(self.core, &mut self.worker, record, change)
    }

    /// Calls [`Protocol::write_absent`].
    ///
    /// # Safety
    /// The same condition as for [`BoundProtocol::read_directly`].
    #[inline(always)]
    pub unsafe fn write_absent(
        &mut self,
        record: Record<'s, M>,
        change: Change<'_>,
    ) -> Result<RowHead, Abort> {
        // SAFETY: the caller promises that the record is of the owner's store, which was made for the
        // protocol's words.
        let record = unsafe { RecordRef::new(record) };
        self.protocol.write_absent(self.core, &mut self.worker, record, change)
    }

    /// Does the same as [`SessionProtocol::add`], and is inlined.
    ///
    /// # Safety
    /// The same condition as for [`BoundProtocol::read_directly`].
    #[inline(always)]
    pub unsafe fn add_directly(
        &mut self,
        record: Record<'s, M>,
        columns: ColumnSet,
        deltas: &[u8],
    ) -> Result<bool, Abort> {
        // SAFETY: the caller promises that the record is of the owner's store, which was made for the
        // protocol's words.
        let record = unsafe { RecordRef::new(record) };
        self.protocol.add(self.core, &mut self.worker, record, columns, deltas)
    }

    /// Calls [`Protocol::prepare`].
    #[inline(always)]
    pub fn prepare(&mut self) -> Result<Prepared, Abort> {
        self.protocol.prepare(self.core, &mut self.worker)
    }

    /// Calls [`Protocol::commit`].
    #[inline(always)]
    pub fn commit(&mut self, timestamp: u64, log: &mut CommitLog<'_>) {
        self.protocol.commit(self.core, &mut self.worker, timestamp, log);
    }
}

impl<'s, M: Machine, P: Protocol<M>> SessionProtocol<'s, M> for BoundProtocol<'s, M, P> {
    fn locks_partitions(&self) -> bool {
        self.protocol.locks_partitions()
    }

    fn plans(&self) -> bool {
        P::PLANS
    }

    fn plan(&mut self, record: Record<'s, M>, intent: Intent) {
        let record = self.own(record);
        self.protocol.plan(self.core, &mut self.worker, record, intent);
    }

    fn follow_plan(&mut self) -> Result<(), Abort> {
        self.protocol.follow_plan(self.core, &mut self.worker)
    }

    fn approach(&mut self, table: &TableSchema, keys: KeyRange) -> Result<(), Abort> {
        self.protocol.approach(self.core, &mut self.worker, table, keys)
    }

    fn read(
        &mut self,
        record: Record<'s, M>,
        columns: ColumnSet,
        intent: Intent,
        out: &mut [u8],
    ) -> Result<RowHead, Abort> {
        let record = self.own(record);
        self.protocol.read(self.core, &mut self.worker, record, columns, intent, out)
    }

    fn write(&mut self, record: Record<'s, M>, change: Change<'_>) -> Result<bool, Abort> {
        let record = self.own(record);
        self.protocol.write(self.core, &mut self.worker, record, change)
    }

    fn adds_at_commit(&self) -> bool {
        self.protocol.adds_at_commit()
    }

    fn add(
        &mut self,
        record: Record<'s, M>,
        columns: ColumnSet,
        deltas: &[u8],
    ) -> Result<bool, Abort> {
        let record = self.own(record);
        self.protocol.add(self.core, &mut self.worker, record, columns, deltas)
    }

    fn scan(&mut self, guard: Guard<'s, M>) -> Result<(), Abort> {
        let guard = self.own_guard(guard);
        self.protocol.scan(self.core, &mut self.worker, guard)
    }

    fn begin_insertion(&mut self, guard: Guard<'s, M>) -> Result<(), Abort> {
        let guard = self.own_guard(guard);
        self.protocol.begin_insertion(self.core, &mut self.worker, guard)
    }

    fn insert(
        &mut self,
        guard: Guard<'s, M>,
        record: Record<'s, M>,
        counted: u64,
    ) -> Result<(), Abort> {
        let (guard, record) = (self.own_guard(guard), self.own(record));
        self.protocol.insert(self.core, &mut self.worker, guard, record, counted)
    }

    fn end_insertion(&mut self, guard: Guard<'s, M>) {
        let guard = self.own_guard(guard);
        self.protocol.end_insertion(self.core, &mut self.worker, guard);
    }

    fn split(
        &mut self,
        guard: Guard<'s, M>,
        right: Guard<'s, M>,
        counted: u64,
    ) -> Result<(), Abort> {
        let (guard, right) = (self.own_guard(guard), self.own_guard(right));
        self.protocol.split(self.core, &mut self.worker, guard, right, counted)
    }

    fn merge(&self, gone: Guard<'_, M>, heir: Guard<'_, M>) {
        self.protocol.merge(self.core, self.own_guard(gone), self.own_guard(heir));
    }

    fn prepare_record(&self, record: Record<'_, M>) {
        self.protocol.prepare_record(self.core, &self.own(record), None);
    }

    fn retire(&self, record: Record<'_, M>, guard: Option<Guard<'_, M>>) {
        self.protocol.retire(
            self.core,
            &self.own(record),
            guard.map(|guard| self.own_guard(guard)),
        );
    }

    fn confirm(&mut self, timestamp: u64) -> Result<(), Abort> {
        self.protocol.confirm(self.core, &mut self.worker, timestamp)
    }

    fn images(&mut self, log: &mut Images<'_, 's, M>) {
        self.protocol.images(self.core, &mut self.worker, log);
    }

    fn age(&self) -> Option<u64> {
        self.protocol.age(&self.worker)
    }

    fn abort(&mut self) {
        self.protocol.abort(self.core, &mut self.worker);
    }

    fn priority(&self) -> Option<u64> {
        self.protocol.priority(&self.worker)
    }

    fn longest_back_off(&self) -> Option<u64> {
        self.protocol.longest_back_off(self.core, &self.worker)
    }

    fn forget_table(&mut self, table: TableId) {
        self.protocol.forget_table(&mut self.worker, table);
    }

    fn forbid_beginning_before(&self, timestamp: u64) {
        self.protocol.forbid_beginning_before(self.core, timestamp);
    }
}
