//! OCC: optimistic concurrency control with two timestamps per transaction, validated record by record.
//!
//! Source: Kung and Robinson 1981; Larson et al., VLDB 2011 (validation in parallel); Abyss 2.2, 4.3, 5.1.
//!
//! - An attempt draws a start timestamp when it begins. A read of a later version is refused. So, with one counter
//!   of timestamps, a transaction sees the rows as they were at its start, or aborts.
//! - At commit the records to be written are latched in name order, and an end timestamp is drawn. Every record
//!   read must still have the version that was read, and no other transaction's latch.
//! - Installed versions carry the end timestamp.
//!
//! Reading, writing and installing are those of [`Optimistic`]. At read committed, a read that is not validated is
//! not refused either.
//!
//! A transaction is serialized when it draws its end timestamp. A writer holds all of its latches by then. A
//! transaction that overwrites a record that another has read can latch it only after the reader has drawn its
//! timestamp and validated. With one counter this is the order of the end timestamps. Timestamps in batches or from
//! clocks only name versions: an old one causes needless refusals, never an anomaly. So OCC is always strict.
//!
//! Options:
//!
//! - `read-locks`, for comparison: a record is latched while it is copied, and a commit latches the records that were read
//!   together with those to be written, in one order (the program of *The Full Story of 1000 Cores*). Otherwise a reader's
//!   latch would look like a change to those that validate. With `latch=yielding` reads wait for latches in
//!   a queue. Other kinds of latches change nothing here.
//! - `validation=central`, for comparison: the whole commit runs in one critical section (Kung and Robinson,
//!   section 4, serial validation; Abyss 4.3 began with it). Then only readers find a record latched, and they wait
//!   until the row is complete.
//!
//! Deviations:
//!
//! - A record has one version. So a read of the past is refused instead of answered, as in the papers' simulation.
//! - Scanned ranges are validated as in SILO.
//! - By default only records to be written are latched, not those read.
//! - Serial validation compares the version of each record read. The paper compares the write set of every
//!   transaction since the start. The result is the same.
//! - A new record for an absent key carries no timestamp, so an absence can be later than the start. Validation
//!   still protects it.

use crate::{
    CommitLocks, Declaration, Isolation, LatchKind, ProtocolOptions, Txn, Validation, faults,
    mechanisms::{
        critical_section::{CriticalSection, Entrance},
        footprint::Footprint,
        optimistic::{End, Optimistic, Rules},
        tid_word::{ReadLocks, TidRecord},
        timestamp_allocator::{TimestampAllocator, TimestampSource},
    },
};
use machine::{Arena, Core, Machine, OutOfMemory, Word, Zeroed, cold::Arc};
use storage::Epochs;
use txn::{Abort, AbortReason};

/// The OCC protocol.
pub type Occ<M> = Optimistic<OccRules<M>>;

/// OCC's rules for validation.
pub struct OccRules<M: Machine> {
    allocator: TimestampAllocator<M>,
    section: Option<CriticalSection<M>>,
    commit_locks: CommitLocks,
    /// How a read waits for the record's latch, if it acquires one.
    read_locks: Option<ReadLocks>,
}

/// `| end timestamp of the version's writer: 63 bits | latched: 1 bit |`
#[repr(transparent)]
pub struct WriteTime(Word);

// SAFETY: a word, for which zero is a valid value.
unsafe impl Zeroed for WriteTime {}

impl TidRecord for WriteTime {
    #[inline(always)]
    fn word(&self) -> &Word {
        &self.0
    }
}

/// Returns the word of a version written at `timestamp`.
#[inline(always)]
fn written_at(timestamp: u64) -> u64 {
    timestamp << 1
}

/// Returns how reads wait for latches.
fn read_locks(commit_locks: CommitLocks, latch: LatchKind) -> ReadLocks {
    match commit_locks {
        _ if latch == LatchKind::Yielding => ReadLocks::InTurn,
        // Where commits give up a wait, reads do too. Otherwise a record under many reads would be locked by reads alone.
        CommitLocks::Bounded { .. } => ReadLocks::AsCommits(commit_locks),
        _ => ReadLocks::AsCommits(CommitLocks::Wait),
    }
}

/// State of a session.
pub struct Own<'s, M: Machine> {
    start: u64,
    source: TimestampSource,
    entrance: Option<Entrance<'s, M>>,
}

impl<M: Machine> Rules<M> for OccRules<M> {
    type Words = WriteTime;
    type Own<'s>
        = Own<'s, M>
    where
        M: 's;
    // Waiting keeps other transactions waiting. But an aborted attempt would have drawn its timestamps in vain,
    // and timestamps are the bottleneck on many cores.
    const COMMIT_LOCKS: CommitLocks = CommitLocks::Wait;
    // A copy of the record: its head and its columns.
    const ENTRY_BLOCKS: u64 = 2;

    fn declare() -> Declaration {
        Declaration {
            name: "OCC",
            summary: "optimistic; a timestamp at the start and one at the end, reads validated one by one",
            source: "Kung and Robinson 1981; Larson et al., VLDB 2011; Abyss 2.2, 4.3, 5.1",
            isolation: Isolation::Serializable,
            strict: true,
            one_site: None,
        }
    }

    fn knobs() -> &'static [&'static str] {
        &["validation", "commit-locks", "commit-updates", "read-locks", "latch"]
    }

    fn create(
        arena: &Arc<Arena>,
        options: &ProtocolOptions,
        sessions: usize,
    ) -> Result<Self, OutOfMemory> {
        let allocator = TimestampAllocator::new(arena, options.timestamps, sessions)?;
        let section = match options.validation {
            Validation::Parallel => None,
            Validation::Central => Some(CriticalSection::new(arena, sessions)?),
        };
        let commit_locks = options.commit_locks.unwrap_or(<Self as Rules<M>>::COMMIT_LOCKS);
        let read_locks = options.read_locks.then(|| read_locks(commit_locks, options.latch));
        Ok(OccRules { allocator, section, commit_locks, read_locks })
    }

    fn own<'s>(&'s self, _: &'s Epochs<M>, session: usize) -> Own<'s, M> {
        let entrance = self.section.as_ref().map(|section| section.entrance(session));
        Own { start: 0, source: TimestampSource::new(session), entrance }
    }

    #[inline(always)]
    fn read_locks(&self) -> Option<ReadLocks> {
        self.read_locks
    }

    #[inline]
    fn begin<'s>(&'s self, core: &M::Core, own: &mut Own<'s, M>, _: Txn<'_>) {
        own.start = self.allocator.draw(core, &mut own.source);
    }

    #[inline]
    fn admit(&self, own: &Own<'_, M>, version: u64) -> Result<(), Abort> {
        if version > written_at(own.start) {
            return Err(Abort::because(AbortReason::TimestampOrder));
        }
        Ok(())
    }

    #[inline]
    fn prepare<'s>(
        &'s self,
        core: &M::Core,
        own: &mut Own<'s, M>,
        sets: &mut Footprint<'s, M, WriteTime>,
    ) -> Result<u64, Abort> {
        if self.commit_locks.sorts() {
            sets.writes.sort();
        }
        let outside = core.is_planted(faults::OCC_VALIDATES_OUTSIDE);
        if outside {
            sets.validate(core)?;
        } else if let Some(entrance) = &mut own.entrance {
            entrance.enter(core);
        }
        match self.read_locks {
            None => sets.lock_writes(core, self.commit_locks, |_| ())?,
            Some(_) => sets.lock_all(core, self.commit_locks)?,
        }
        // The serialization point: after all latches are acquired, before anything is validated.
        core.fence();
        let end = self.allocator.draw(core, &mut own.source);
        core.fence();
        if !outside {
            sets.validate(core)?;
        }
        Ok(end)
    }

    #[inline(always)]
    fn version_at(end: u64) -> u64 {
        written_at(end)
    }

    #[inline]
    fn ended<'s>(
        &'s self,
        core: &M::Core,
        own: &mut Own<'s, M>,
        _: &Footprint<'s, M, WriteTime>,
        _: End,
    ) {
        if let Some(entrance) = &mut own.entrance {
            entrance.leave(core);
        }
    }
}
