//! The interface of a site: the operations that one owner of data executes for one transaction.
//!
//! A [`Site`] is a protocol, its per-transaction state, and one owner's store. It finds and makes records,
//! reads and writes them, protects scanned ranges, prepares, commits and aborts. The layer above
//! ([`crate::rows`]) defines what a row is and what is recorded. The architecture chooses the site that
//! executes an access.

mod alone;
mod announced;
mod fetch;
mod locate;
mod owned;
mod ranges;
mod scan;
mod special;

pub(crate) use special::time_look_up;

use crate::{
    bound_protocol::{BoundProtocol, SessionProtocol},
    owner::Owner,
    record_copy::RecordCopy,
};
use announced::Announced;
use machine::{Category, Core, Machine};
use protocols::{
    Change, CommitLog, Images, Prepared, Protocol, Txn, faults,
    mechanisms::timestamp_allocator::{TimestampAllocator, TimestampSource},
};
use storage::{
    ByteKey, Epochs, Heap, LEAF_ENTRIES, Leaf, LeafPath, LeafRows, Piece, Record, RowHead,
    RowState, Space, Store, SystemMemory, Table, ValueSpace, Values,
};
use txn::{Abort, AbortReason, ColumnSet, Intent, Key, KeyRange, TableId, TableSchema};

/// The data to find a record again: its key, or the digest that stands for the key.
#[derive(Clone, PartialEq, Eq)]
pub(crate) enum Name {
    /// An integer key, or the digest of a byte key in a hash index.
    Number(u64),
    /// A byte key of a table in key order. It is boxed so that names of the other kind are short.
    Bytes(Box<ByteKey>),
}

/// A record that a site has found or made.
pub(crate) struct Located<'s, M: Machine> {
    pub record: Record<'s, M>,
    /// Data to find the record again.
    pub name: Name,
    /// Set if the record was just made for an absent key. It can be retired later.
    pub made: bool,
}

impl<'s, M: Machine> Located<'s, M> {
    /// Returns the record of an integer key, which was just made.
    pub fn made(record: Record<'s, M>, key: u64) -> Self {
        Located { record, name: Name::Number(key), made: true }
    }
}

/// The access that the caller of a look-up is going to make to the record.
#[derive(Clone, Copy)]
pub(crate) struct NextAccess {
    pub columns: ColumnSet,
    pub intent: Intent,
    /// Set if the access reads the columns.
    pub reads: bool,
}

/// The operations that one owner of data executes for one transaction. After an error the transaction cannot commit, and
/// all its sites abort.
pub(crate) trait Site<'s, M: Machine> {
    /// Begins an attempt.
    fn begin(&mut self, txn: Txn<'_>);

    /// Returns the timestamp that the attempt has at this site. It must have the same at all sites:
    /// [`Protocol::age`].
    fn age(&self) -> Option<u64>;

    /// Returns the longest back-off before the next attempt, in ticks, if the protocol sets one:
    /// [`Protocol::longest_back_off`].
    fn longest_back_off(&self) -> Option<u64>;

    /// Makes sure that the attempt can commit here, and returns the timestamps that it can commit with:
    /// [`Protocol::prepare`].
    fn prepare(&mut self) -> Result<Prepared, Abort>;

    /// Confirms `timestamp`, after all sites are prepared and have agreed on it: [`Protocol::confirm`].
    fn confirm(&mut self, timestamp: u64) -> Result<(), Abort>;

    /// Passes everything that will be installed to a log: [`Protocol::images`].
    fn images(&mut self, log: &mut Images<'_, 's, M>);

    /// Installs all writes with the agreed timestamp. Must follow a successful [`Site::prepare`].
    fn commit(&mut self, timestamp: u64, log: &mut CommitLog<'_>);

    /// Undoes all writes.
    fn abort(&mut self);

    /// Leaves the epoch in which the attempt began. Must follow commit or abort.
    fn leave(&mut self);

    /// Returns the transaction's priority, if the protocol decides conflicts by age.
    fn priority(&self) -> Option<u64>;

    /// Returns true if the protocol locks partitions.
    fn locks_partitions(&self) -> bool;

    /// Returns true if the protocol plans accesses: [`Protocol::PLANS`].
    fn plans(&self) -> bool;

    /// Announces an access that the transaction is going to make: [`Protocol::plan`].
    fn plan(&mut self, record: Record<'s, M>, intent: Intent);

    /// Prepares the announced accesses: [`Protocol::follow_plan`].
    fn follow_plan(&mut self) -> Result<(), Abort>;

    /// Returns true if additions are kept until commit and read nothing.
    fn adds_at_commit(&self) -> bool;

    /// Returns what the owner has of a table.
    fn table(&self, table: TableId) -> &'s Table<M>;

    /// Returns the record of `key`. Makes it if there is none, because an absent key is read and locked like a
    /// row. An owner that has to be asked prepares the next access too, if the caller says which it is.
    fn locate(
        &mut self,
        table: TableId,
        key: Key<'_>,
        next: Option<NextAccess>,
    ) -> Result<Located<'s, M>, Abort>;

    /// Returns the record with this name, if there is one. Does not protect the absence of a record.
    fn find(&self, table: TableId, name: &Name) -> Option<Record<'s, M>>;

    /// Reads `columns` of the record's row. Fails if the record is being retired.
    fn read(
        &mut self,
        record: Record<'s, M>,
        columns: ColumnSet,
        intent: Intent,
        out: &mut [u8],
    ) -> Result<RowHead, Abort>;

    /// Writes the record's row. Returns false if an update finds the row absent.
    fn write(&mut self, record: Record<'s, M>, change: Change<'_>) -> Result<bool, Abort>;

    /// Adds to integers of the record's row, if the protocol [adds at commit](Site::adds_at_commit). Returns
    /// false if the row is absent.
    fn add(
        &mut self,
        record: Record<'s, M>,
        columns: ColumnSet,
        deltas: &[u8],
    ) -> Result<bool, Abort>;

    /// Announces a scan of `keys` that is about to begin.
    fn approach(&mut self, table: &TableSchema, keys: KeyRange) -> Result<(), Abort>;

    /// Announces the leaf of integer key `at` and reads its rows. `path` has led to the leaf before.
    fn leaf_of_number(
        &mut self,
        table: TableId,
        at: u64,
        path: &mut LeafPath,
    ) -> Result<LeafRows<'s, M, u64>, Abort>;

    /// Announces the leaf of byte key `at` and reads its rows. `path` has led to the leaf before.
    fn leaf_of_bytes(
        &mut self,
        table: TableId,
        at: ByteKey,
        path: &mut LeafPath,
    ) -> Result<LeafRows<'s, M, ByteKey>, Abort>;

    /// Visits the records in a piece of a table. Returns the next piece, if there is one. See [`Table::walk`].
    fn walk(
        &self,
        table: TableId,
        piece: &Piece,
        visit: &mut dyn FnMut(Key<'_>, Record<'s, M>),
    ) -> Option<Piece>;

    /// Removes a retired record from its index. Returns true if a leaf is empty afterwards, which
    /// [`Site::drop_leaf`] can remove. The transaction that retired the record must have ended.
    fn unlink(&mut self, table: TableId, name: &Name, record: Record<'s, M>) -> bool;

    /// Removes the leaf of a key from the index if the leaf is empty, within an attempt that does nothing else.
    /// Returns false if other threads prevented it.
    fn drop_leaf(&mut self, table: TableId, name: &Name) -> Result<bool, Abort>;

    /// Makes slots usable again that no transaction can reach any more. Keeps `keep` free slots of each table
    /// in this session.
    fn give_back(&mut self, keep: usize);

    /// Advances the epoch if that is possible.
    fn advance(&mut self);

    /// Draws the next number of the owner's timestamp allocator.
    fn draw_timestamp(&mut self) -> u64;

    /// Returns the owner's values outside records.
    fn values(&self) -> &'s Values<M>;

    /// Returns the session's slots for values.
    fn value_space(&mut self) -> &mut ValueSpace;

    /// Retires a value that no transaction can find any more: [`Values::retire`].
    fn retire_value(&mut self, word: u64);

    /// Forgets what the session has kept of a table that is being dropped: its slots, and what
    /// [`Protocol::forget_table`] names.
    fn forget_table(&mut self, table: TableId);

    /// Forbids transactions to begin with an earlier timestamp: [`Protocol::forbid_beginning_before`].
    fn forbid_beginning_before(&self, timestamp: u64);
}

pub(crate) use owned::{OwnedSite, Way};

/// A site whose data this core accesses directly.
pub(crate) struct LocalSite<'s, M: Machine, P: Protocol<M>> {
    data: SiteData<'s, M>,
    protocol: BoundProtocol<'s, M, P>,
    /// Copy of the record that the attempt has last read for update, where accesses copy whole records.
    copy: RecordCopy,
    /// Memory of versions, where it is the system's.
    heap: Heap,
    announced: Announced<'s, M>,
    /// Buffer for a row in held form.
    held: Vec<u8>,
    /// Buffer for a row in packed form.
    packed: Vec<u8>,
    /// Buffer for rows that are planned.
    planned: Vec<(u64, ColumnSet)>,
}

/// The owner's data, and the session's share of it.
struct SiteData<'s, M: Machine> {
    core: &'s M::Core,
    store: &'s Store<M>,
    allocator: &'s TimestampAllocator<M>,
    source: TimestampSource,
    /// Number under which the session pins epochs of the owner.
    pin: usize,
    /// The session's slots of each table, by table number.
    spaces: Vec<Option<Space>>,
    /// The session's slots for values outside records.
    value_space: ValueSpace,
    /// Leaves in which the session has last found or made records of tables in key order, by their places ([`ranges`]).
    kept_leaves: Vec<Option<Leaf<'s, M>>>,
}

impl<'s, M: Machine> SiteData<'s, M> {
    #[inline(always)]
    fn table(&self, table: TableId) -> &'s Table<M> {
        self.store.table(table)
    }

    /// Returns the record of integer key `key` in `home`, if there is one.
    #[inline(always)]
    fn find_number(&mut self, home: &'s Table<M>, key: u64) -> Option<Record<'s, M>> {
        match home.is_ordered() {
            true => self.find_in_order(home, key),
            false => home.find(self.core, key),
        }
    }

    #[inline]
    fn space(&mut self, table: TableId) -> &mut Space {
        let at = table.0 as usize;
        if !matches!(self.spaces.get(at), Some(Some(_))) {
            self.take_space(table);
        }
        self.spaces[at].as_mut().expect("it was taken")
    }

    #[cold]
    fn take_space(&mut self, table: TableId) {
        let at = table.0 as usize;
        if self.spaces.len() <= at {
            self.spaces.resize_with(at + 1, || None);
        }
        self.spaces[at] = Some(self.store.table(table).take_space());
    }

    fn return_spaces(&mut self) {
        for (at, space) in self.spaces.drain(..).enumerate() {
            if let Some(space) = space {
                self.store.table(TableId(at as u16)).return_space(space);
            }
        }
        self.store.values().leave(std::mem::take(&mut self.value_space));
    }

    fn give_back(&mut self, keep: usize) {
        let now = self.store.epochs().try_advance(self.core);
        let early = self.core.is_planted(faults::MEMORY_USED_AGAIN_EARLY);
        let is_past = |epoch, now| early || Epochs::<M>::is_past(epoch, now);
        for (at, space) in self.spaces.iter_mut().enumerate() {
            if let Some(space) = space {
                let table = self.store.table(TableId(at as u16));
                table.reclaim(space, now, is_past, keep);
            }
        }
        let early = self.core.is_planted(faults::VALUES_USED_AGAIN_EARLY);
        let is_past = |epoch, now| early || Epochs::<M>::is_past(epoch, now);
        self.store.values().reclaim(&mut self.value_space, now, is_past, keep);
    }
}

impl<'s, M: Machine, P: Protocol<M>> LocalSite<'s, M, P> {
    /// Makes the site of `owner` for session number `session`, which `core` uses.
    pub fn new(owner: &'s Owner<M, P>, core: &'s M::Core, session: usize) -> Self {
        LocalSite::pinning(owner, core, session, session)
    }

    /// Makes a site as [`LocalSite::new`] does. The session pins epochs of the owner under the number `pin`, while no
    /// other session does.
    pub fn pinning(owner: &'s Owner<M, P>, core: &'s M::Core, session: usize, pin: usize) -> Self {
        let data = SiteData {
            core,
            store: owner.store(),
            allocator: owner.allocator(),
            source: TimestampSource::new(session),
            pin,
            spaces: Vec::new(),
            value_space: ValueSpace::default(),
            kept_leaves: Vec::new(),
        };
        LocalSite {
            data,
            protocol: BoundProtocol::new(owner, core, session),
            copy: RecordCopy::default(),
            heap: Heap::default(),
            announced: Announced::default(),
            held: Vec::new(),
            packed: Vec::new(),
            planned: Vec::new(),
        }
    }

    /// Implements [`Site::begin`].
    #[inline(always)]
    pub fn begin_directly(&mut self, txn: Txn<'_>) {
        self.data.store.epochs().pin(self.data.core, self.data.pin);
        self.copy.forget();
        self.announced.begin(self.data.core);
        self.protocol.begin(txn);
    }

    /// Implements [`Site::leave`].
    #[inline(always)]
    pub fn leave_directly(&mut self) {
        self.data.store.epochs().unpin(self.data.core, self.data.pin);
    }

    /// Returns the protocol, for [`BoundProtocol::prepare`] and [`BoundProtocol::commit`].
    #[inline(always)]
    pub fn protocol(&mut self) -> &mut BoundProtocol<'s, M, P> {
        &mut self.protocol
    }

    /// Does `work` on `core`, which is not the session's own.
    pub(super) fn on_core<R>(&mut self, core: &M::Core, work: impl FnOnce(&mut Self) -> R) -> R {
        /// Gives the site back to its own core, after a panic too.
        struct Lent<'l, 's, M: Machine, P: Protocol<M>> {
            site: &'l mut LocalSite<'s, M, P>,
            own: &'s M::Core,
        }
        impl<M: Machine, P: Protocol<M>> Drop for Lent<'_, '_, M, P> {
            fn drop(&mut self) {
                self.site.use_core(self.own);
            }
        }
        let own = self.data.core;
        // SAFETY: the core is in use for the duration of this call, and `Lent` takes it out of the site at its end.
        let core: &'s M::Core = unsafe { &*std::ptr::from_ref(core) };
        self.use_core(core);
        let lent = Lent { site: self, own };
        work(lent.site)
    }

    pub(super) fn use_core(&mut self, core: &'s M::Core) {
        self.data.core = core;
        self.protocol.use_core(core);
    }

    /// Protects an access to `record`: [`Protocol::protect`].
    pub(super) fn protect(&mut self, record: Record<'s, M>, intent: Intent) -> Result<(), Abort> {
        self.data.core.account(Category::ConcurrencyControl);
        self.protocol.protect(record, intent)
    }

    /// Returns true if an access to `record` is protected: [`Protocol::is_protected`].
    pub(super) fn is_protected(&self, record: Record<'s, M>, intent: Intent) -> bool {
        self.protocol.is_protected(record, intent)
    }

    /// Returns true if preparing works on metadata: [`Protocol::prepares_metadata`].
    pub(super) fn prepares_metadata(&self) -> bool {
        self.protocol.prepares_metadata()
    }

    /// Waits for what the last call needs, if it failed because it has to wait: [`Protocol::await_owner`].
    pub(super) fn await_owner(&mut self) -> Result<bool, Abort> {
        self.protocol.await_owner()
    }

    /// Installs the writes of the attempt: [`Protocol::install`].
    pub(super) fn install(&mut self, timestamp: u64, log: &mut CommitLog<'_>) {
        self.protocol.install(timestamp, log);
    }

    /// Returns the record of integer key `key` in `home` if rows are whole there and it exists.
    #[inline(always)]
    fn find_whole(&mut self, home: &'s Table<M>, key: u64) -> Result<Option<Record<'s, M>>, Abort> {
        if !home.has_whole_rows() {
            return Ok(None);
        }
        self.protocol.approach_directly(home.schema(), key)?;
        Ok(match self.announced.find(self.data.core, home, key) {
            Some(record) => Some(record),
            None => self.data.find_number(home, key),
        })
    }

    /// Reads the row of integer key `key` if that is possible at once: the row must have no hot columns, its record must
    /// exist and hold all values, and the access must not be special. Otherwise returns `None`, has
    /// done nothing, and leaves the access to [`LocalSite::read_specially`] and [`crate::rows`].
    #[inline(always)]
    pub fn read_number(
        &mut self,
        table: TableId,
        key: u64,
        columns: ColumnSet,
        intent: Intent,
        out: &mut [u8],
    ) -> Result<Option<bool>, Abort> {
        let home = self.data.table(table);
        if home.unreadable_columns().intersects(columns) {
            return Ok(None);
        }
        let Some(record) = self.find_whole(home, key)? else { return Ok(None) };
        // SAFETY: the record was found in the owner's store.
        let read = unsafe { self.protocol.read_directly(record, columns, intent, out) };
        presence(read).map(Some)
    }

    /// Returns whether rows of `table` can be inserted at once, by [`LocalSite::locate_number`] and [`LocalSite::insert_in`].
    #[inline(always)]
    pub fn has_plain_inserts(&self, table: TableId) -> bool {
        self.data.table(table).has_plain_inserts()
    }

    /// Returns the record of integer key `key`, for [`LocalSite::insert_in`].
    #[inline(always)]
    pub fn locate_number(&mut self, table: TableId, key: u64) -> Result<Located<'s, M>, Abort> {
        self.data.locate(&mut self.protocol, &self.announced, table, Key::Number(key))
    }

    /// Makes records of absent rows with the integer keys of `rows`, and adds them to `made`. Ends before the first key that is not
    /// in the same leaf as the key `before`, whose record the attempt has located last. It can always end at once: then
    /// [`LocalSite::locate_number`] makes the record. The records of `made` are made after an error, too.
    pub fn make_run(
        &mut self,
        table: TableId,
        before: u64,
        rows: &[(u64, &[u8])],
        made: &mut Vec<Record<'s, M>>,
    ) -> Result<(), Abort> {
        let home = self.data.table(table);
        if !home.is_ordered() {
            return Ok(());
        }
        let keys = rows.iter().take(LEAF_ENTRIES).map(|(key, _)| *key);
        self.data.make_run(&mut self.protocol, home, before, keys, made)
    }

    /// Stands for the storing of a value outside a record whose table has none.
    fn no_value_outside(_: &[u8]) -> Result<u64, std::convert::Infallible> {
        unreachable!("plain inserts store no values outside records")
    }

    /// Inserts the packed row `row` in a record that [`LocalSite::locate_number`] has returned. Returns false if the record has a row.
    #[inline(always)]
    pub fn insert_in(&mut self, record: Record<'s, M>, row: &[u8]) -> Result<bool, Abort> {
        let layout = record.table().layout();
        let (columns, mut values) = (layout.all(), row);
        if !layout.variable().is_empty() {
            self.held.clear();
            let (held, none) = (&mut self.held, Self::no_value_outside);
            let Ok(()) = match record.table().runs_of(columns) {
                Some(runs) => runs.packing().hold(row, held, none),
                None => layout.hold(columns, row, held, none),
            };
            values = &self.held;
        }
        let change = Change { columns, values, state: Some(RowState::PRESENT) };
        // SAFETY: the record was found in the owner's store.
        let found = unsafe { self.protocol.write_absent(record, change) };
        Ok(!presence(found)?)
    }

    /// Updates the row of integer key `key` at once, as [`LocalSite::read_number`] reads it, if no column is
    /// indexed.
    #[inline(always)]
    pub fn update_number(
        &mut self,
        table: TableId,
        key: u64,
        columns: ColumnSet,
        values: &[u8],
    ) -> Result<Option<bool>, Abort> {
        let home = self.data.table(table);
        if home.involved_columns().intersects(columns) {
            return Ok(None);
        }
        let Some(record) = self.find_whole(home, key)? else { return Ok(None) };
        let change = Change { columns, values, state: None };
        // SAFETY: the record was found in the owner's store.
        let written = unsafe { self.protocol.write_directly(record, change) }?;
        // If the row is absent, [`crate::rows`] must read it to learn whether it is absent or retired.
        Ok(written.then_some(true))
    }

    /// Adds to the row of integer key `key` at once, as [`LocalSite::update_number`] updates it.
    #[inline(always)]
    pub fn add_number(
        &mut self,
        table: TableId,
        key: u64,
        columns: ColumnSet,
        deltas: &[u8],
    ) -> Result<Option<bool>, Abort> {
        if !SessionProtocol::adds_at_commit(&self.protocol) {
            return Ok(None);
        }
        let home = self.data.table(table);
        let integers = home.row_layout().integers().contains(columns);
        if !integers || home.involved_columns().intersects(columns) {
            return Ok(None);
        }
        let Some(record) = self.find_whole(home, key)? else { return Ok(None) };
        // SAFETY: the record was found in the owner's store.
        let added = unsafe { self.protocol.add_directly(record, columns, deltas) }?;
        Ok(added.then_some(true))
    }
}

/// Returns true if the row that was read is present. Fails as [`refuse_retired`] does.
#[inline(always)]
fn presence(read: Result<RowHead, Abort>) -> Result<bool, Abort> {
    match read?.state {
        RowState::PRESENT => Ok(true),
        RowState::RETIRED => Err(Abort::because(AbortReason::RecordRetired)),
        _ => Ok(false),
    }
}

#[inline(always)]
fn refuse_retired(read: Result<RowHead, Abort>) -> Result<RowHead, Abort> {
    match read {
        Ok(head) if head.state == RowState::RETIRED => {
            Err(Abort::because(AbortReason::RecordRetired))
        }
        read => read,
    }
}

impl<'s, M: Machine, P: Protocol<M>> Site<'s, M> for LocalSite<'s, M, P> {
    fn begin(&mut self, txn: Txn<'_>) {
        self.begin_directly(txn);
    }

    fn age(&self) -> Option<u64> {
        SessionProtocol::age(&self.protocol)
    }

    fn longest_back_off(&self) -> Option<u64> {
        SessionProtocol::longest_back_off(&self.protocol)
    }

    fn prepare(&mut self) -> Result<Prepared, Abort> {
        self.protocol.prepare()
    }

    fn confirm(&mut self, timestamp: u64) -> Result<(), Abort> {
        SessionProtocol::confirm(&mut self.protocol, timestamp)
    }

    fn images(&mut self, log: &mut Images<'_, 's, M>) {
        SessionProtocol::images(&mut self.protocol, log);
    }

    fn commit(&mut self, timestamp: u64, log: &mut CommitLog<'_>) {
        // The measured program gives entries back before it releases what it has locked.
        SystemMemory::<M>::give_back_entries(self.data.core, &mut self.heap);
        self.protocol.commit(timestamp, log);
    }

    fn abort(&mut self) {
        SystemMemory::<M>::give_back_entries(self.data.core, &mut self.heap);
        SessionProtocol::abort(&mut self.protocol);
    }

    fn leave(&mut self) {
        self.leave_directly();
    }

    fn priority(&self) -> Option<u64> {
        SessionProtocol::priority(&self.protocol)
    }

    fn locks_partitions(&self) -> bool {
        SessionProtocol::locks_partitions(&self.protocol)
    }

    fn plans(&self) -> bool {
        SessionProtocol::plans(&self.protocol)
    }

    fn plan(&mut self, record: Record<'s, M>, intent: Intent) {
        SessionProtocol::plan(&mut self.protocol, record, intent);
    }

    fn follow_plan(&mut self) -> Result<(), Abort> {
        self.data.core.account(Category::ConcurrencyControl);
        SessionProtocol::follow_plan(&mut self.protocol)
    }

    fn adds_at_commit(&self) -> bool {
        SessionProtocol::adds_at_commit(&self.protocol)
    }

    fn table(&self, table: TableId) -> &'s Table<M> {
        self.data.table(table)
    }

    fn locate(
        &mut self,
        table: TableId,
        key: Key<'_>,
        _: Option<NextAccess>,
    ) -> Result<Located<'s, M>, Abort> {
        self.data.locate(&mut self.protocol, &self.announced, table, key)
    }

    fn find(&self, table: TableId, name: &Name) -> Option<Record<'s, M>> {
        self.data.find(table, name)
    }

    fn read(
        &mut self,
        record: Record<'s, M>,
        columns: ColumnSet,
        intent: Intent,
        out: &mut [u8],
    ) -> Result<RowHead, Abort> {
        if record.table().is_special() {
            return self.read_special_record(record, columns, intent, out);
        }
        self.data.core.account(Category::ConcurrencyControl);
        let read = SessionProtocol::read(&mut self.protocol, record, columns, intent, out);
        refuse_retired(read)
    }

    fn write(&mut self, record: Record<'s, M>, change: Change<'_>) -> Result<bool, Abort> {
        if record.table().is_special() {
            return self.write_special_record(record, change);
        }
        self.data.core.account(Category::ConcurrencyControl);
        SessionProtocol::write(&mut self.protocol, record, change)
    }

    fn add(
        &mut self,
        record: Record<'s, M>,
        columns: ColumnSet,
        deltas: &[u8],
    ) -> Result<bool, Abort> {
        self.copy.forget();
        if record.table().is_special() {
            record.table().look_up(self.data.core, columns);
        }
        self.data.core.account(Category::ConcurrencyControl);
        SessionProtocol::add(&mut self.protocol, record, columns, deltas)
    }

    fn approach(&mut self, table: &TableSchema, keys: KeyRange) -> Result<(), Abort> {
        SessionProtocol::approach(&mut self.protocol, table, keys)
    }

    fn leaf_of_number(
        &mut self,
        table: TableId,
        at: u64,
        path: &mut LeafPath,
    ) -> Result<LeafRows<'s, M, u64>, Abort> {
        self.data.leaf(&mut self.protocol, table, at, path)
    }

    fn leaf_of_bytes(
        &mut self,
        table: TableId,
        at: ByteKey,
        path: &mut LeafPath,
    ) -> Result<LeafRows<'s, M, ByteKey>, Abort> {
        self.data.leaf(&mut self.protocol, table, at, path)
    }

    fn walk(
        &self,
        table: TableId,
        piece: &Piece,
        visit: &mut dyn FnMut(Key<'_>, Record<'s, M>),
    ) -> Option<Piece> {
        self.data.table(table).walk(self.data.core, piece, visit)
    }

    fn unlink(&mut self, table: TableId, name: &Name, record: Record<'s, M>) -> bool {
        self.data.unlink(&mut self.protocol, table, name, record)
    }

    fn drop_leaf(&mut self, table: TableId, name: &Name) -> Result<bool, Abort> {
        self.data.drop_leaf_of(&mut self.protocol, table, name)
    }

    fn give_back(&mut self, keep: usize) {
        self.data.give_back(keep);
    }

    fn advance(&mut self) {
        self.data.store.epochs().try_advance(self.data.core);
    }

    fn draw_timestamp(&mut self) -> u64 {
        self.data.allocator.draw(self.data.core, &mut self.data.source)
    }

    fn values(&self) -> &'s Values<M> {
        self.data.store.values()
    }

    fn value_space(&mut self) -> &mut ValueSpace {
        &mut self.data.value_space
    }

    fn retire_value(&mut self, word: u64) {
        let epoch = self.data.store.epochs().current(self.data.core);
        self.data.store.values().retire(&mut self.data.value_space, word, epoch);
    }

    fn forget_table(&mut self, table: TableId) {
        if let Some(space) = self.data.spaces.get_mut(usize::from(table.0)) {
            *space = None;
        }
        self.data.kept_leaves.clear();
        SessionProtocol::forget_table(&mut self.protocol, table);
    }

    fn forbid_beginning_before(&self, timestamp: u64) {
        SessionProtocol::forbid_beginning_before(&self.protocol, timestamp);
    }
}

impl<M: Machine, P: Protocol<M>> Drop for LocalSite<'_, M, P> {
    fn drop(&mut self) {
        self.data.return_spaces();
    }
}
