//! The trait that every protocol implements.

use crate::ProtocolOptions;
use machine::{Arena, Machine, OutOfMemory, Zeroed, cold::Arc};
use std::{fmt, str::FromStr};
use storage::{Epochs, GuardRef, Record, RecordRef, RowHead, RowState};
use txn::{Abort, ColumnSet, Intent, KeyRange, TableSchema, TxnId, Version, Write, WriteKind};

/// What a committed history is promised to look like, the strongest first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Isolation {
    /// Equivalent to some serial order.
    Serializable,
    /// Everybody reads from a snapshot, and of two concurrent writers of a record one aborts (Berenson et al.
    /// 1995).
    Snapshot,
    /// Nobody reads or overwrites what is not committed (Adya's PL-2). A key is inserted once all the same, and
    /// what is read for update stays as it was read.
    ReadCommitted,
    /// Nothing.
    None,
}

impl Isolation {
    /// The levels that can be asked for.
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

/// A protocol was asked for a level of isolation that it cannot give.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IsolationError {
    /// The protocol.
    pub protocol: &'static str,
    /// The level asked for.
    pub asked: Isolation,
    /// The levels that it gives.
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

/// What a protocol says of itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Declaration {
    /// Its name, as the papers spell it.
    pub name: &'static str,
    /// One line.
    pub summary: &'static str,
    /// Paper and section.
    pub source: &'static str,
    /// The isolation that it promises.
    pub isolation: Isolation,
    /// True when the serial order also keeps real-time order (strict serializability); under snapshot isolation
    /// when a snapshot has all that was committed at the begin (strong snapshot isolation).
    pub strict: bool,
    /// Why a transaction cannot have several sites, each with data and a protocol of its own, if it cannot.
    pub one_site: Option<&'static str>,
}

impl Declaration {
    /// The same protocol when `options` ask it for less than serializability.
    pub fn at_level_of(self, options: &ProtocolOptions) -> Declaration {
        match options.isolation {
            None | Some(Isolation::Serializable) => self,
            Some(isolation) => Declaration { isolation, strict: false, ..self },
        }
    }
}

/// Where timestamps come from (Abyss 4.3).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum TimestampAllocation {
    /// A counter under a latch.
    Mutex,
    /// An atomic addition to one counter.
    #[default]
    Atomic,
    /// An atomic addition that takes this many at a time. Not strict: a worker uses its batch late.
    Batched(u32),
    /// The core's clock joined with its number.
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

/// An attempt of a transaction, as all the sites that it touches know it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Txn<'a> {
    /// Its identity. Another attempt has another one.
    pub id: TxnId,
    /// The timestamp by which all its sites decide who is older, if one of them has drawn it already: see
    /// [`Protocol::age`]. None where it begins: the protocol draws one then, if it needs any, unless a retry keeps that
    /// of the attempt before.
    pub age: Option<u64>,
    /// 0 for new work, then 1, 2, ... for its retries.
    pub attempt: u32,
    /// Declared to write nothing.
    pub read_only: bool,
    /// The partitions of all keys that it may access, in any order and repeated at will; none for any. Only
    /// protocols that [lock partitions](Protocol::locks_partitions) look at them.
    pub partitions: &'a [u64],
}

impl Txn<'_> {
    /// The version of what it writes.
    #[inline(always)]
    pub fn version(&self) -> Version {
        Version::new(self.id, 1)
    }
}

/// What an attempt that has been prepared at a site can accept there, whatever others do: any commit timestamp from
/// `least` to `through`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Prepared {
    /// The least commit timestamp, 0 for protocols that have none.
    pub least: u64,
    /// The greatest. None where what was read may be overwritten as soon as it has been validated: then the site must
    /// [confirm](Protocol::confirm) whatever is agreed on, once all sites are prepared.
    pub through: Option<u64>,
}

impl Prepared {
    /// Any timestamp will do: everything is locked.
    pub const ANY: Prepared = Prepared::from(0);

    /// Any from `least` on.
    #[inline(always)]
    pub const fn from(least: u64) -> Prepared {
        Prepared { least, through: Some(u64::MAX) }
    }

    /// This one and no other.
    #[inline(always)]
    pub const fn at(timestamp: u64) -> Prepared {
        Prepared { least: timestamp, through: Some(timestamp) }
    }

    /// One from `least` on that is to be confirmed.
    #[inline(always)]
    pub const fn unconfirmed(least: u64) -> Prepared {
        Prepared { least, through: None }
    }

    /// Whether a commit at `timestamp` has to be confirmed first, if other sites were prepared later.
    pub fn needs_confirmation(&self, timestamp: u64) -> bool {
        self.through.is_none_or(|through| through < timestamp)
    }
}

/// What a write does to a row.
#[derive(Clone, Copy, Debug)]
pub struct Change<'a> {
    /// Columns to overwrite.
    pub columns: ColumnSet,
    /// Their values, packed.
    pub values: &'a [u8],
    /// The row's state from then on; none for an update, which needs a row that is there.
    pub state: Option<RowState>,
}

/// What a prepared attempt is about to do to a record: what a log needs to know of it.
///
/// A row in two parts is two records, and an insert or a delete of it two images.
pub struct Image<'a, 's, M: Machine> {
    /// The record.
    pub record: Record<'s, M>,
    /// What happens to its row.
    pub kind: WriteKind,
    /// The columns that change: all of the record's in an insert or a delete.
    pub columns: ColumnSet,
    /// Their values before, packed; none before an insert.
    pub before: &'a [u8],
    /// Their values afterwards, packed; none after a delete.
    pub after: &'a [u8],
}

/// Who is told of images.
pub type Images<'a, 's, M> = dyn FnMut(Image<'_, 's, M>) + 'a;

/// Receives every installed write before its locks are released. Recorded histories are made from it. A redo log receives its
/// images earlier: see [`Protocol::images`].
pub struct CommitLog<'a> {
    /// Identity of the versions that this transaction installs.
    pub version: Version,
    /// The history's list of writes, on recorded runs.
    pub writes: Option<&'a mut Vec<Write>>,
}

/// A concurrency-control protocol on machine `M`.
///
/// The architecture looks keys up and hands records over; inserts and deletes arrive as writes that change
/// a row's state, and an absent key as a record whose row is absent, so a protocol protects absences
/// as it protects rows. After an `Err` the caller calls [`Protocol::abort`] exactly once.
/// Lifetimes: `'s` is the store's and the protocol's own.
pub trait Protocol<M: Machine>: Sized + Send + Sync + 'static {
    /// Natively one copy of the loop serves all workloads, which then make virtual calls: a form of a protocol
    /// that is there to be compared. Each copy costs the build seconds.
    const ONE_COPY: bool = false;

    /// What it keeps in each record. Zeros are a record that nobody has touched.
    type Record: Zeroed + Send + Sync + 'static;
    /// What it keeps per session: read set, write set, locks. Survives retries.
    type Worker<'s>: Send
    where
        M: 's;

    /// What it says of itself with these options.
    fn declare(options: &ProtocolOptions) -> Declaration;

    /// Whether `options` ask for it, where the registry lists it as a form of another.
    fn is_asked_for(options: &ProtocolOptions) -> bool {
        let _ = options;
        false
    }

    /// The knobs in [`crate::KNOBS`] that it heeds, by name.
    fn knobs() -> &'static [&'static str] {
        &[]
    }

    /// `options` with what is usual under it in place of what they leave open.
    fn settled(options: ProtocolOptions) -> ProtocolOptions {
        options
    }

    /// The levels of isolation that it can give, its own first. One of the others is given when
    /// [`ProtocolOptions::isolation`] asks for it.
    fn levels() -> &'static [Isolation] {
        &[Isolation::Serializable]
    }

    /// Whether it can give the level that `options` ask for.
    fn check_isolation(options: &ProtocolOptions) -> Result<(), IsolationError> {
        match options.isolation {
            Some(asked) if !Self::levels().contains(&asked) => {
                let protocol = Self::declare(options).name;
                Err(IsolationError { protocol, asked, gives: Self::levels() })
            }
            _ => Ok(()),
        }
    }

    /// The protocol's shared state, for `sessions` sessions. `options` ask for no level of isolation that it
    /// cannot give.
    fn create(
        arena: &Arc<Arena>,
        options: &ProtocolOptions,
        sessions: usize,
    ) -> Result<Self, OutOfMemory>;

    /// State for session number `slot`.
    fn worker<'s>(&'s self, epochs: &'s Epochs<M>, slot: usize) -> Self::Worker<'s>;

    /// Begins an attempt.
    fn begin<'s>(&'s self, core: &M::Core, worker: &mut Self::Worker<'s>, txn: Txn<'_>);

    /// The timestamp that the running attempt has drawn at its begin, or was given, or has kept from the attempt
    /// before, if the protocol decides by one. All sites of a transaction must have the same.
    fn age<'s>(&'s self, worker: &Self::Worker<'s>) -> Option<u64> {
        self.priority(worker)
    }

    /// Whether it locks partitions, and wants to know at the begin of a transaction which.
    fn locks_partitions(&self) -> bool {
        false
    }

    /// Hears of every access before its key is looked up, and of every scan before its first leaf is.
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

    /// Reads `columns` of the record's row into `out` (untouched if the row is absent).
    fn read<'s>(
        &'s self,
        core: &M::Core,
        worker: &mut Self::Worker<'s>,
        record: RecordRef<'s, M, Self::Record>,
        columns: ColumnSet,
        intent: Intent,
        out: &mut [u8],
    ) -> Result<RowHead, Abort>;

    /// Writes the record's row. False, having read the absence, when an update meets an absent row.
    fn write<'s>(
        &'s self,
        core: &M::Core,
        worker: &mut Self::Worker<'s>,
        record: RecordRef<'s, M, Self::Record>,
        change: Change<'_>,
    ) -> Result<bool, Abort>;

    /// Whether [`Protocol::add`] may be called.
    #[inline(always)]
    fn adds_at_commit(&self) -> bool {
        false
    }

    /// Adds `deltas` to `columns`, integers all, when the record's write is installed; until then nothing of the
    /// row is read, unless by [`Protocol::read`]. False as for [`Protocol::write`]. Only called if
    /// [`Protocol::adds_at_commit`].
    fn add<'s>(
        &'s self,
        core: &M::Core,
        worker: &mut Self::Worker<'s>,
        record: RecordRef<'s, M, Self::Record>,
        columns: ColumnSet,
        deltas: &[u8],
    ) -> Result<bool, Abort> {
        let _ = (core, worker, record, columns, deltas);
        unreachable!("the protocol does not add at commit")
    }

    /// Makes sure that the transaction can commit, with one of the timestamps that it returns. Where the transaction has
    /// other sites it must wait for [`Protocol::confirm`] if [`Prepared::needs_confirmation`].
    fn prepare<'s>(
        &'s self,
        core: &M::Core,
        worker: &mut Self::Worker<'s>,
    ) -> Result<Prepared, Abort>;

    /// All sites of the transaction are prepared, and have agreed on `timestamp`: makes sure that it can commit with
    /// that one, and keeps it so. Only after a [`Protocol::prepare`] that did not promise as much.
    fn confirm<'s>(
        &'s self,
        core: &M::Core,
        worker: &mut Self::Worker<'s>,
        timestamp: u64,
    ) -> Result<(), Abort> {
        let _ = (core, worker);
        unreachable!("{timestamp} was not to be confirmed");
    }

    /// Tells a log what [`Protocol::commit`] will install, which comes next and cannot fail. Only called where a log is
    /// kept.
    ///
    /// A record that is to be written is the attempt's own from before this call until it is installed: nobody else
    /// installs anything there in between, nor is prepared to. So its row is what will be overwritten, and whoever
    /// overwrites it later is prepared later.
    fn images<'s>(
        &'s self,
        core: &M::Core,
        worker: &mut Self::Worker<'s>,
        log: &mut Images<'_, 's, M>,
    );

    /// Installs everything with the agreed commit timestamp, and lets go.
    fn commit<'s>(
        &'s self,
        core: &M::Core,
        worker: &mut Self::Worker<'s>,
        timestamp: u64,
        log: &mut CommitLog<'_>,
    );

    /// Undoes everything and lets go. After a failed call, a failed prepare, or a change of mind.
    fn abort<'s>(&'s self, core: &M::Core, worker: &mut Self::Worker<'s>);

    /// A scan is about to read the records of a leaf that overlaps its range, whether there are any or not;
    /// it reads them, absent rows too, by [`Protocol::read`] afterwards. From here until the transaction has
    /// ended, or until it validates, no record may be made in the leaf's range unnoticed. May wait: no
    /// latch is held. A leaf may be announced in vain, or twice.
    ///
    /// A record that is made where nobody has scanned needs no more than [`Protocol::prepare_record`]; what
    /// else a protocol has to know of ranges it is told by the methods that follow.
    fn scan<'s>(
        &'s self,
        core: &M::Core,
        worker: &mut Self::Worker<'s>,
        guard: GuardRef<'s, M, Self::Record>,
    ) -> Result<(), Abort>;

    /// The transaction is about to make a record for an absent key in the range of `guard`: to read the
    /// absence, or to insert. May wait: no latch is held.
    fn begin_insertion<'s>(
        &'s self,
        core: &M::Core,
        worker: &mut Self::Worker<'s>,
        guard: GuardRef<'s, M, Self::Record>,
    ) -> Result<(), Abort> {
        let _ = (core, worker, guard);
        Ok(())
    }

    /// Between the two, once for each record: `record` was made for an absent key in the range of `guard`,
    /// which had counted `counted` insertions before and has counted this one; nobody can find the record
    /// yet. Sets up its words. A transaction that has scanned the range itself has seen that there was
    /// no row: from here on it must protect that absence as if it had read the record. Called under
    /// a latch: must not wait. If it refuses, the record is not made.
    fn insert<'s>(
        &'s self,
        core: &M::Core,
        worker: &mut Self::Worker<'s>,
        guard: GuardRef<'s, M, Self::Record>,
        record: RecordRef<'s, M, Self::Record>,
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
        guard: GuardRef<'s, M, Self::Record>,
    ) {
        let _ = (core, worker, guard);
    }

    /// Between the two: the upper part of the range passes from `guard`, which had counted `counted`
    /// insertions before and has counted one more, to `right`, which nobody can reach yet. What it keeps for
    /// the range must hold of both. Called under latches: must not wait.
    fn split<'s>(
        &'s self,
        core: &M::Core,
        worker: &mut Self::Worker<'s>,
        guard: GuardRef<'s, M, Self::Record>,
        right: GuardRef<'s, M, Self::Record>,
        counted: u64,
    ) -> Result<(), Abort> {
        let _ = (core, worker, guard, right, counted);
        Ok(())
    }

    /// The range of `gone`, in which there is no record, becomes part of `heir`'s; in a transaction that has
    /// begun an insertion there. `gone` has counted an insertion. Called under latches: must not wait.
    fn merge(
        &self,
        core: &M::Core,
        gone: GuardRef<'_, M, Self::Record>,
        heir: GuardRef<'_, M, Self::Record>,
    ) {
        let _ = (core, gone, heir);
    }

    /// Sets up its words of a record that was made for an absent key and that nobody can find yet. The
    /// slot may have been another record's; and the key may have had a record before, whose last words
    /// [`Protocol::retire`] has seen. In an ordered table [`Protocol::insert`] calls it, and `guard` guards the
    /// key's range and has counted the insertion: who scans the range from here on will find the record.
    fn prepare_record(
        &self,
        core: &M::Core,
        record: &RecordRef<'_, M, Self::Record>,
        guard: Option<GuardRef<'_, M, Self::Record>>,
    ) {
        let _ = (core, record, guard);
    }

    /// Remembers what it must of a retired record's words, before the record leaves its index. In an ordered
    /// table `guard` guards the key's range: who scans it from here on may not find the record.
    fn retire(
        &self,
        core: &M::Core,
        record: &RecordRef<'_, M, Self::Record>,
        guard: Option<GuardRef<'_, M, Self::Record>>,
    ) {
        let _ = (core, record, guard);
    }

    /// The epoch in a commit timestamp, where commits are told apart by epochs: then no transaction bears a
    /// later epoch than one that must come after it, and a log may be cut between epochs (SILO 4.9).
    fn epoch_of(commit_timestamp: u64) -> Option<u64> {
        let _ = commit_timestamp;
        None
    }

    /// How long, in ticks, a transaction shall back off at most before it is attempted again; none where that is left to
    /// whoever does it. The wait is to be drawn evenly from nothing to this.
    fn longest_back_off<'s>(&'s self, core: &M::Core, worker: &Self::Worker<'s>) -> Option<u64> {
        let _ = (core, worker);
        None
    }

    /// The age by which it decides who gives way (smaller is older), if it does: for invariants.
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
