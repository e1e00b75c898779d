//! The trait that every protocol implements.

use crate::ProtocolOptions;
use machine::{Arena, Machine, OutOfMemory, Zeroed, cold::Arc};
use std::{fmt, str::FromStr};
use storage::{Epochs, GuardRef, Record, RecordRef, RowHead, RowState};
use txn::{
    Abort, ColumnSet, Intent, KeyRange, TableId, TableSchema, TxnId, Version, Write, WriteKind,
};

/// Isolation level that a protocol promises for its committed histories, the strongest first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Isolation {
    /// Equivalent to some serial order.
    Serializable,
    /// Every transaction reads from a snapshot, and of two concurrent writers of a record one aborts (Berenson et
    /// al. 1995).
    Snapshot,
    /// No transaction reads or overwrites uncommitted data (Adya's PL-2). In addition, a key is inserted only once,
    /// and a row that was read for update stays as it was read.
    ReadCommitted,
    /// No promise.
    None,
}

impl Isolation {
    /// Levels that an option can ask for.
    pub const ASKED: [Isolation; 3] =
        [Isolation::Serializable, Isolation::Snapshot, Isolation::ReadCommitted];
}

impl fmt::Display for Isolation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Isolation::Serializable => "serializable",
            Isolation::Snapshot => "snapshot",
            Isolation::ReadCommitted => "read-committed",
            Isolation::None => "none",
        })
    }
}

impl FromStr for Isolation {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let named = Isolation::ASKED.into_iter().find(|level| level.to_string() == text);
        named.ok_or_else(|| {
            format!(
                "unknown isolation {text:?}; allowed are serializable, snapshot, read-committed"
            )
        })
    }
}

/// Error: a protocol was asked for a level of isolation that it cannot give.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IsolationError {
    /// The protocol.
    pub protocol: &'static str,
    /// The level asked for.
    pub asked: Isolation,
    /// The levels that the protocol gives.
    pub gives: &'static [Isolation],
}

impl fmt::Display for IsolationError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let gives: Vec<String> = self.gives.iter().map(Isolation::to_string).collect();
        let (protocol, asked, gives) = (self.protocol, self.asked, gives.join(", "));
        write!(f, "{protocol} cannot give isolation {asked}; it gives: {gives}")
    }
}

impl std::error::Error for IsolationError {}

/// A protocol's declaration about itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Declaration {
    /// Name of the protocol, as the papers spell it.
    pub name: &'static str,
    /// Summary in one line.
    pub summary: &'static str,
    /// Paper and section.
    pub source: &'static str,
    /// Isolation level that the protocol promises.
    pub isolation: Isolation,
    /// True if the serial order also keeps real-time order (strict serializability). Under snapshot isolation, true
    /// if a snapshot contains everything that was committed when its transaction began (strong snapshot isolation).
    pub strict: bool,
    /// Reason why a transaction cannot have several sites, each with data and a protocol of its own; none if it
    /// can.
    pub one_site: Option<&'static str>,
}

impl Declaration {
    /// Returns the declaration of the same protocol at the level that `options` ask for.
    pub fn at_level_of(self, options: &ProtocolOptions) -> Declaration {
        match options.isolation {
            None | Some(Isolation::Serializable) => self,
            Some(isolation) => Declaration { isolation, strict: false, ..self },
        }
    }
}

/// The work that a protocol leaves to the core that owns a record, under an architecture in which each record's metadata
/// has one owner (delegation: Trireme 3.4).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Delegated {
    /// The protocol does not run under such an architecture.
    Nothing,
    /// All work on metadata: look-ups, [`Protocol::protect`], and the end of the transaction. The metadata needs no
    /// physical synchronisation. When the owner has protected an access, any core can make it.
    Metadata,
    /// The validation of transactions that write ([`Protocol::prepare`]). Any core reads, and installs what was validated.
    /// So metadata is synchronised as usual.
    Validation,
}

/// Source of timestamps (Abyss 4.3).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum TimestampAllocation {
    /// A counter under a latch.
    Mutex,
    /// An atomic addition to one counter.
    #[default]
    Atomic,
    /// An atomic addition that takes this many timestamps at a time. Not strict, because a worker uses its batch
    /// late.
    Batched(u32),
    /// The core's clock, joined with the core's number.
    Clock,
    /// A counter in hardware, on machines that have one.
    Hardware,
}

impl fmt::Display for TimestampAllocation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            TimestampAllocation::Mutex => f.write_str("mutex"),
            TimestampAllocation::Atomic => f.write_str("atomic"),
            TimestampAllocation::Batched(n) => write!(f, "batch{n}"),
            TimestampAllocation::Clock => f.write_str("clock"),
            TimestampAllocation::Hardware => f.write_str("hardware"),
        }
    }
}

impl FromStr for TimestampAllocation {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "mutex" => Ok(TimestampAllocation::Mutex),
            "atomic" => Ok(TimestampAllocation::Atomic),
            "clock" => Ok(TimestampAllocation::Clock),
            "hardware" => Ok(TimestampAllocation::Hardware),
            _ => text
                .strip_prefix("batch")
                .and_then(|n| n.parse().ok())
                .filter(|n| (1..=65_536).contains(n))
                .map(TimestampAllocation::Batched)
                .ok_or_else(|| {
                    format!(
                        "unknown timestamp allocation {text:?}; allowed are mutex, atomic, \
                         batchN (N from 1 to 65536), clock, hardware"
                    )
                }),
        }
    }
}

/// An attempt of a transaction, as known to all sites that the transaction touches.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Txn<'a> {
    /// Identity of the attempt. Each attempt has its own.
    pub id: TxnId,
    /// Timestamp by which all sites of the transaction decide who is older, if one of them has drawn it already
    /// (see [`Protocol::age`]). None at the site where the transaction begins. There the protocol draws one if it
    /// needs any, unless a retry keeps the timestamp of the attempt before.
    pub age: Option<u64>,
    /// 0 for a new transaction, then 1, 2, ... for its retries.
    pub attempt: u32,
    /// Set if the transaction is declared to write nothing.
    pub read_only: bool,
    /// Partitions of all keys that the transaction may access, in any order and with repetitions; empty for all
    /// partitions. Only protocols that [lock partitions](Protocol::locks_partitions), and architectures that do, use it.
    pub partitions: &'a [u64],
    /// Set if the transaction has declared accesses. A protocol that [plans](Protocol::PLANS) them is told of them next.
    pub planned: bool,
    /// Set if the transaction touches no other site. The protocol can then leave what begin would wait for to the first
    /// access.
    pub alone: bool,
}

impl Txn<'_> {
    /// Creates the first attempt of a transaction that declares nothing.
    pub const fn new(id: TxnId) -> Txn<'static> {
        Txn {
            id,
            age: None,
            attempt: 0,
            read_only: false,
            partitions: &[],
            planned: false,
            alone: false,
        }
    }

    /// Returns the version of everything that the attempt writes.
    #[inline(always)]
    pub fn version(&self) -> Version {
        Version::new(self.id, 1)
    }
}

/// Commit timestamps that an attempt prepared at a site can accept there, whatever other transactions do: all from
/// `least` to `through`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Prepared {
    /// The least commit timestamp; 0 for protocols that have none.
    pub least: u64,
    /// The greatest commit timestamp. None if what was read can be overwritten as soon as it has been validated.
    /// Then the site must [confirm](Protocol::confirm) the agreed timestamp once all sites are prepared.
    pub through: Option<u64>,
}

impl Prepared {
    /// Accepts any timestamp, because everything is locked.
    pub const ANY: Prepared = Prepared::from(0);

    /// Accepts any timestamp from `least` on.
    #[inline(always)]
    pub const fn from(least: u64) -> Prepared {
        Prepared { least, through: Some(u64::MAX) }
    }

    /// Accepts this timestamp only.
    #[inline(always)]
    pub const fn at(timestamp: u64) -> Prepared {
        Prepared { least: timestamp, through: Some(timestamp) }
    }

    /// Accepts a timestamp from `least` on, which must be confirmed.
    #[inline(always)]
    pub const fn unconfirmed(least: u64) -> Prepared {
        Prepared { least, through: None }
    }

    /// Returns true if a commit at `timestamp` must be confirmed first, in case other sites were prepared later.
    pub fn needs_confirmation(&self, timestamp: u64) -> bool {
        self.through.is_none_or(|through| through < timestamp)
    }
}

/// Change that a write makes to a row.
#[derive(Clone, Copy, Debug)]
pub struct Change<'a> {
    /// Columns to overwrite.
    pub columns: ColumnSet,
    /// Their values, packed.
    pub values: &'a [u8],
    /// State of the row after the write; none for an update, which needs a row that is present.
    pub state: Option<RowState>,
}

/// Change that a prepared attempt is about to make to a record, as a log needs to know it.
///
/// A row in two parts is two records, so its insert or delete has two images.
pub struct Image<'a, 's, M: Machine> {
    /// The record.
    pub record: Record<'s, M>,
    /// The kind of write: insert, update or delete.
    pub kind: WriteKind,
    /// The columns that change: in an insert or a delete, all columns of the record.
    pub columns: ColumnSet,
    /// Values of the columns before the write, packed; none before an insert.
    pub before: &'a [u8],
    /// Values of the columns after the write, packed; none after a delete.
    pub after: &'a [u8],
}

/// Receives images.
pub type Images<'a, 's, M> = dyn FnMut(Image<'_, 's, M>) + 'a;

/// Receives every installed write before its locks are released. Recorded histories are made from it. A redo log
/// receives its images earlier, see [`Protocol::images`].
pub struct CommitLog<'a> {
    /// Identity of the versions that this transaction installs.
    pub version: Version,
    /// The history's list of writes; none unless the run is recorded.
    pub writes: Option<&'a mut Vec<Write>>,
}

/// A concurrency-control protocol on machine `M`.
///
/// The architecture looks keys up and passes records to the protocol. Inserts and deletes arrive as writes that
/// change a row's state. An absent key arrives as a record whose row is absent, so a protocol protects absences in
/// the same way as rows. After an `Err` the caller calls [`Protocol::abort`] exactly once.
///
/// Lifetimes: `'s` is the lifetime of the store and of the protocol.
pub trait Protocol<M: Machine>: Sized + Send + Sync + 'static {
    /// True if natively one copy of the loop serves all workloads, which then make virtual calls. For forms of a
    /// protocol that exist for comparison, because each copy costs the build seconds.
    const ONE_COPY: bool = false;

    /// False if the protocol does nothing to isolate transactions. It then [promises](Declaration::isolation) nothing by
    /// itself, and transactions are isolated only under an architecture that isolates them.
    const ISOLATES: bool = true;

    /// Number of blocks of memory that the protocol needs for each record that a transaction accesses, and gives back at
    /// its end: an entry in the record's list of locks, or the head and the columns of a copy. Sessions have them ready;
    /// what they cost otherwise is charged where `storage::AccessOptions::entries` asks for it.
    const ENTRY_BLOCKS: u64 = 0;

    /// True if the protocol plans accesses: it wants to know the records that a transaction will access before the
    /// transaction runs ([`Protocol::plan`]).
    const PLANS: bool = false;

    /// True if calls of the owner can fail because they have to wait ([`Protocol::await_owner`]).
    const AWAITS: bool = false;

    /// True if a transaction can wait at one place only. Otherwise it can wait at several sites at the same time.
    const WAITS_ONCE: bool = false;

    /// The work that the owner of a record does for other cores, under an architecture that delegates work.
    const DELEGATED: Delegated = Delegated::Nothing;

    /// True if each write leaves the version before it in memory, so that an update needs memory that is kept.
    const KEEPS_VERSIONS: bool = false;

    /// The protocol's words in each record. Zeros stand for a record that no transaction has touched.
    type Words: Zeroed + Send + Sync + 'static;
    /// The protocol's state per session: read set, write set, locks. The state survives retries.
    type Worker<'s>: Send
    where
        M: 's;

    /// Returns the protocol's declaration under these options.
    fn declare(options: &ProtocolOptions) -> Declaration;

    /// Returns true if `options` ask for this type, where the registry lists it as a form of another protocol.
    fn is_asked_for(options: &ProtocolOptions) -> bool {
        let _ = options;
        false
    }

    /// Returns the names of the knobs in [`crate::KNOBS`] that the protocol uses.
    fn knobs() -> &'static [&'static str] {
        &[]
    }

    /// Returns `options` with the protocol's usual values in place of those left open.
    fn settled(options: ProtocolOptions) -> ProtocolOptions {
        options
    }

    /// Returns the levels of isolation that the protocol can give, its own level first. Another level is given if
    /// [`ProtocolOptions::isolation`] asks for it.
    fn levels() -> &'static [Isolation] {
        &[Isolation::Serializable]
    }

    /// Checks that the protocol can give the level that `options` ask for.
    fn check_isolation(options: &ProtocolOptions) -> Result<(), IsolationError> {
        match options.isolation {
            Some(asked) if !Self::levels().contains(&asked) => {
                let protocol = Self::declare(options).name;
                Err(IsolationError { protocol, asked, gives: Self::levels() })
            }
            _ => Ok(()),
        }
    }

    /// Creates the protocol's shared state for `sessions` sessions. `options` must ask for a level of isolation
    /// that the protocol can give.
    fn create(
        arena: &Arc<Arena>,
        options: &ProtocolOptions,
        sessions: usize,
    ) -> Result<Self, OutOfMemory>;

    /// Creates the shared state of a further owner of data, whose transactions are those of `first` too. The owners share
    /// what a protocol knows of transactions apart from records.
    fn beside(
        first: &Self,
        arena: &Arc<Arena>,
        options: &ProtocolOptions,
        sessions: usize,
    ) -> Result<Self, OutOfMemory> {
        let _ = first;
        Self::create(arena, options, sessions)
    }

    /// Creates the state of session number `session`.
    fn worker<'s>(&'s self, epochs: &'s Epochs<M>, session: usize) -> Self::Worker<'s>;

    /// Begins an attempt.
    fn begin<'s>(&'s self, core: &M::Core, worker: &mut Self::Worker<'s>, txn: Txn<'_>);

    /// Returns the timestamp of the running attempt, if the protocol decides by one. The attempt has drawn it at
    /// its begin, was given it, or has kept it from the attempt before. All sites of a transaction must have the
    /// same one.
    fn age<'s>(&'s self, worker: &Self::Worker<'s>) -> Option<u64> {
        self.priority(worker)
    }

    /// Returns true if the protocol locks partitions. Then it must know at a transaction's begin which partitions
    /// the transaction will access.
    fn locks_partitions(&self) -> bool {
        false
    }

    /// Announces that the transaction is going to access `record`. Called between [`Protocol::begin`] and
    /// [`Protocol::follow_plan`], in any order. A record can be announced more than once. The record can retire before the
    /// plan is followed. Called only if [`Protocol::PLANS`] is true.
    fn plan<'s>(
        &'s self,
        core: &M::Core,
        worker: &mut Self::Worker<'s>,
        record: RecordRef<'s, M, Self::Words>,
        intent: Intent,
    ) {
        let _ = (core, worker, record, intent);
    }

    /// Prepares the announced accesses, before the transaction runs. Called exactly if [`Txn::planned`] is set, unless
    /// looking up the records has failed.
    fn follow_plan<'s>(
        &'s self,
        core: &M::Core,
        worker: &mut Self::Worker<'s>,
    ) -> Result<(), Abort> {
        let _ = (core, worker);
        Ok(())
    }

    /// Does the part of an access to `record` that works on metadata, so that the access itself needs none. Called by the
    /// owner of the record, if [`Protocol::DELEGATED`] is [`Delegated::Metadata`]. The access follows unless this fails.
    fn protect<'s>(
        &'s self,
        core: &M::Core,
        worker: &mut Self::Worker<'s>,
        record: RecordRef<'s, M, Self::Words>,
        intent: Intent,
    ) -> Result<(), Abort> {
        let _ = (core, worker, record, intent);
        Ok(())
    }

    /// Waits for what the last call of the owner needs, if that call failed because it has to wait for another transaction. The
    /// owner does not wait itself: it keeps a request, which other transactions grant. When this has returned true, the
    /// call can be repeated. Returns false if the call has failed for good. Called by the session's own core.
    fn await_owner<'s>(
        &'s self,
        core: &M::Core,
        worker: &mut Self::Worker<'s>,
    ) -> Result<bool, Abort> {
        let _ = (core, worker);
        Ok(false)
    }

    /// Returns true if an access to `record` needs no metadata any more. Otherwise the owner must
    /// [protect](Protocol::protect) it before.
    fn is_protected<'s>(
        &'s self,
        worker: &Self::Worker<'s>,
        record: RecordRef<'s, M, Self::Words>,
        intent: Intent,
    ) -> bool {
        let _ = (worker, record, intent);
        true
    }

    /// Installs the writes of the attempt, which is prepared, where that needs no metadata. [`Protocol::commit`] follows, and
    /// has only metadata left to work on. Called by any core, if [`Protocol::DELEGATED`] is [`Delegated::Metadata`].
    fn install<'s>(
        &'s self,
        core: &M::Core,
        worker: &mut Self::Worker<'s>,
        timestamp: u64,
        log: &mut CommitLog<'_>,
    ) {
        let _ = (core, worker, timestamp, log);
    }

    /// Returns true if [`Protocol::prepare`] of the running attempt works on metadata, so that the owner must do it.
    fn prepares_metadata<'s>(&'s self, worker: &Self::Worker<'s>) -> bool {
        let _ = worker;
        true
    }

    /// Called before every access looks up its key, and before every scan looks up its first leaf.
    #[inline(always)]
    fn approach<'s>(
        &'s self,
        core: &M::Core,
        worker: &mut Self::Worker<'s>,
        table: &TableSchema,
        keys: KeyRange,
    ) -> Result<(), Abort> {
        let _ = (core, worker, table, keys);
        Ok(())
    }

    /// Reads `columns` of the record's row into `out`. Leaves `out` untouched if the row is absent.
    fn read<'s>(
        &'s self,
        core: &M::Core,
        worker: &mut Self::Worker<'s>,
        record: RecordRef<'s, M, Self::Words>,
        columns: ColumnSet,
        intent: Intent,
        out: &mut [u8],
    ) -> Result<RowHead, Abort>;

    /// Reads `columns` of the record's row into `out` as a transaction of its own, which accesses nothing else: the row is what it was
    /// at one moment of the call. Writes no shared memory. Called between attempts, in an epoch that is pinned. Returns `None`, and
    /// can have changed `out`, if the protocol has no such read. The caller then begins an attempt.
    fn read_alone(
        &self,
        core: &M::Core,
        record: RecordRef<'_, M, Self::Words>,
        columns: ColumnSet,
        out: &mut [u8],
    ) -> Option<RowHead> {
        let _ = (core, record, columns, out);
        None
    }

    /// Writes the record's row. Returns false if an update meets an absent row. The absence then counts as read.
    fn write<'s>(
        &'s self,
        core: &M::Core,
        worker: &mut Self::Worker<'s>,
        record: RecordRef<'s, M, Self::Words>,
        change: Change<'_>,
    ) -> Result<bool, Abort>;

    /// Writes `change`, which leaves a row, if the record's row is absent. Reads the state for update first, and returns it.
    #[inline(always)]
    fn write_absent<'s>(
        &'s self,
        core: &M::Core,
        worker: &mut Self::Worker<'s>,
        record: RecordRef<'s, M, Self::Words>,
        change: Change<'_>,
    ) -> Result<RowHead, Abort> {
        let (none, intent) = (ColumnSet::NONE, Intent::Update);
        let found = self.read(core, worker, record, none, intent, &mut [])?;
        if found.state == RowState::ABSENT {
            self.write(core, worker, record, change)?;
        }
        Ok(found)
    }

    /// Returns true if [`Protocol::add`] may be called.
    #[inline(always)]
    fn adds_at_commit(&self) -> bool {
        false
    }

    /// Adds `deltas` to `columns`, which must all hold integers, when the record's write is installed. Until then
    /// only [`Protocol::read`] reads the row. Returns false in the same case as [`Protocol::write`]. Called only if
    /// [`Protocol::adds_at_commit`] returns true.
    fn add<'s>(
        &'s self,
        core: &M::Core,
        worker: &mut Self::Worker<'s>,
        record: RecordRef<'s, M, Self::Words>,
        columns: ColumnSet,
        deltas: &[u8],
    ) -> Result<bool, Abort> {
        let _ = (core, worker, record, columns, deltas);
        unreachable!("the protocol does not add at commit")
    }

    /// Makes sure that the transaction can commit with one of the timestamps that it returns. If the transaction
    /// has other sites and [`Prepared::needs_confirmation`] returns true, it must wait for [`Protocol::confirm`].
    fn prepare<'s>(
        &'s self,
        core: &M::Core,
        worker: &mut Self::Worker<'s>,
    ) -> Result<Prepared, Abort>;

    /// Makes sure that the transaction can commit with `timestamp`, and that this stays so. Called when all sites
    /// of the transaction are prepared and have agreed on `timestamp`, and only after a [`Protocol::prepare`] that
    /// did not promise this already.
    fn confirm<'s>(
        &'s self,
        core: &M::Core,
        worker: &mut Self::Worker<'s>,
        timestamp: u64,
    ) -> Result<(), Abort> {
        let _ = (core, worker);
        unreachable!("{timestamp} was not to be confirmed");
    }

    /// Tells a log what [`Protocol::commit`] will install. The commit comes next and cannot fail. Called only if a
    /// log is kept.
    ///
    /// From before this call until it is installed, a record to be written belongs to the attempt: no other
    /// transaction installs anything in it, or is prepared to. So the record's current row is the one that will be
    /// overwritten, and a transaction that overwrites the new row is prepared later.
    fn images<'s>(
        &'s self,
        core: &M::Core,
        worker: &mut Self::Worker<'s>,
        log: &mut Images<'_, 's, M>,
    );

    /// Installs all writes at the agreed commit timestamp, and releases everything.
    fn commit<'s>(
        &'s self,
        core: &M::Core,
        worker: &mut Self::Worker<'s>,
        timestamp: u64,
        log: &mut CommitLog<'_>,
    );

    /// Undoes everything and releases everything. Called after a failed call, after a failed prepare, or for a
    /// rollback.
    fn abort<'s>(&'s self, core: &M::Core, worker: &mut Self::Worker<'s>);

    /// Announces that a scan is about to read the records of a leaf that overlaps its range, if there are any. The
    /// scan reads them by [`Protocol::read`] afterwards, absent rows too. From this call until the transaction has
    /// ended, or until it validates, no record may be made in the leaf's range unnoticed. This call can wait,
    /// because no latch is held. A leaf can be announced in vain, or twice.
    ///
    /// A record that is made where no transaction has scanned needs only [`Protocol::prepare_record`]. The methods
    /// that follow tell a protocol everything else that it must know about ranges.
    fn scan<'s>(
        &'s self,
        core: &M::Core,
        worker: &mut Self::Worker<'s>,
        guard: GuardRef<'s, M, Self::Words>,
    ) -> Result<(), Abort>;

    /// Announces that the transaction is about to make a record for an absent key in the range of `guard`, to read
    /// the absence or to insert a row. This call can wait, because no latch is held.
    fn begin_insertion<'s>(
        &'s self,
        core: &M::Core,
        worker: &mut Self::Worker<'s>,
        guard: GuardRef<'s, M, Self::Words>,
    ) -> Result<(), Abort> {
        let _ = (core, worker, guard);
        Ok(())
    }

    /// Sets up the protocol's words in `record`, which was made for an absent key in the range of `guard`. Called
    /// between [`Protocol::begin_insertion`] and [`Protocol::end_insertion`], once for each record. `guard` had
    /// counted `counted` insertions before and has counted this one. No other transaction can find the record yet.
    ///
    /// A transaction that has scanned the range itself has seen that there was no row. From here on it must protect
    /// that absence as if it had read the record. Called under a latch, so it must not wait. If it refuses, the
    /// record is not made.
    fn insert<'s>(
        &'s self,
        core: &M::Core,
        worker: &mut Self::Worker<'s>,
        guard: GuardRef<'s, M, Self::Words>,
        record: RecordRef<'s, M, Self::Words>,
        counted: u64,
    ) -> Result<(), Abort> {
        let _ = (worker, counted);
        self.prepare_record(core, &record, Some(guard));
        Ok(())
    }

    /// Called after every successful [`Protocol::begin_insertion`], whatever the outcome.
    fn end_insertion<'s>(
        &'s self,
        core: &M::Core,
        worker: &mut Self::Worker<'s>,
        guard: GuardRef<'s, M, Self::Words>,
    ) {
        let _ = (core, worker, guard);
    }

    /// Passes on what the protocol keeps for a range when its leaf splits. Called between
    /// [`Protocol::begin_insertion`] and [`Protocol::end_insertion`]. The upper part of the range passes from
    /// `guard` to `right`. `guard` had counted `counted` insertions before and has counted one more. No other
    /// transaction can reach `right` yet. What the protocol keeps for the range must hold for both guards. Called
    /// under latches, so it must not wait.
    fn split<'s>(
        &'s self,
        core: &M::Core,
        worker: &mut Self::Worker<'s>,
        guard: GuardRef<'s, M, Self::Words>,
        right: GuardRef<'s, M, Self::Words>,
        counted: u64,
    ) -> Result<(), Abort> {
        let _ = (core, worker, guard, right, counted);
        Ok(())
    }

    /// Passes on what the protocol keeps for a range when two leaves merge. The range of `gone`, in which there is
    /// no record, becomes part of `heir`'s. Called in a transaction that has begun an insertion there. `gone` has
    /// counted an insertion. Called under latches, so it must not wait.
    fn merge(
        &self,
        core: &M::Core,
        gone: GuardRef<'_, M, Self::Words>,
        heir: GuardRef<'_, M, Self::Words>,
    ) {
        let _ = (core, gone, heir);
    }

    /// Sets up the protocol's words in a record that was made for an absent key and that no transaction can find
    /// yet. The slot may have been another record's. The key may have had a record before, whose last words
    /// [`Protocol::retire`] has seen. In an ordered table [`Protocol::insert`] calls this method. Then `guard`
    /// guards the key's range and has counted the insertion, and a transaction that scans the range from here on
    /// will find the record.
    fn prepare_record(
        &self,
        core: &M::Core,
        record: &RecordRef<'_, M, Self::Words>,
        guard: Option<GuardRef<'_, M, Self::Words>>,
    ) {
        let _ = (core, record, guard);
    }

    /// Remembers what is needed of a retired record's words, before the record leaves its index. In an ordered
    /// table `guard` guards the key's range, and a transaction that scans the range from here on may not find the
    /// record.
    fn retire(
        &self,
        core: &M::Core,
        record: &RecordRef<'_, M, Self::Words>,
        guard: Option<GuardRef<'_, M, Self::Words>>,
    ) {
        let _ = (core, record, guard);
    }

    /// Returns the epoch in a commit timestamp, if the protocol's commits belong to epochs. Then no transaction has
    /// a later epoch than one that must come after it, and a log can be cut between epochs (SILO 4.9).
    fn epoch_of(commit_timestamp: u64) -> Option<u64> {
        let _ = commit_timestamp;
        None
    }

    /// Makes sure that a transaction that begins from now on reads no version that was overwritten at or before
    /// `timestamp`, the commit timestamp of a committed transaction. Needed by protocols that keep old versions, and
    /// where a transaction can begin with a timestamp that was drawn earlier.
    fn forbid_beginning_before(&self, core: &M::Core, timestamp: u64) {
        let _ = (core, timestamp);
    }

    /// Forgets everything of table number `table` that the session has kept from earlier transactions. The table is being
    /// dropped. Called between transactions.
    fn forget_table<'s>(&'s self, worker: &mut Self::Worker<'s>, table: TableId) {
        let _ = (worker, table);
    }

    /// Returns the longest time, in ticks, that a transaction must back off before its next attempt; none if the
    /// caller decides. The caller must draw the wait evenly from zero to this bound.
    fn longest_back_off<'s>(&'s self, core: &M::Core, worker: &Self::Worker<'s>) -> Option<u64> {
        let _ = (core, worker);
        None
    }

    /// Returns the age by which the protocol decides which transaction gives way, if it does. A smaller age is
    /// older. Used to check invariants.
    fn priority<'s>(&'s self, worker: &Self::Worker<'s>) -> Option<u64> {
        let _ = worker;
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn levels_print_as_they_parse() {
        for level in Isolation::ASKED {
            assert_eq!(level.to_string().parse(), Ok(level));
        }
        for text in ["none", "Serializable", "repeatable-read", ""] {
            let error = text.parse::<Isolation>().unwrap_err();
            assert!(error.contains(text) && error.contains("snapshot, read-committed"), "{error}");
        }
    }

    #[test]
    fn allocations_print_as_they_parse() {
        for text in ["mutex", "atomic", "batch16", "clock", "hardware"] {
            assert_eq!(text.parse::<TimestampAllocation>().unwrap().to_string(), text);
        }
        for text in ["batch0", "batch", "batch70000", "Atomic", ""] {
            assert!(text.parse::<TimestampAllocation>().is_err(), "{text}");
        }
    }
}
