//! MOCC: optimistic concurrency control that locks hot records before it reads them.
//!
//! Source: Wang and Kimura, VLDB 2016. The limits are those of the authors' code.
//!
//! MOCC is [SILO](crate::silo) plus locks. A record on which many transactions have failed is *hot*; the measure is
//! its temperature. A hot record is locked before it is read, so that no other transaction overwrites it before the
//! reader commits. Locks only keep others away. Serializability comes from SILO's validation of every read, locked
//! or not. Reading, writing and installing are those of [`Optimistic`].
//!
//! - Locks have queues of readers and writers. A waiter can withdraw from a queue.
//! - Locks are acquired in the order of names wherever possible, and only then waited for.
//! - A failed attempt leaves a list of locks. The next attempt acquires them in that order from the start
//!   ([`crate::mechanisms::ordered_locks`]).
//! - At commit, records to be written are locked in order. Locks that violate that order are released first.
//!
//! Options:
//!
//! - `hot-threshold`: 0 locks every read, as the paper's PCC. 64 locks only what is on the list.
//! - `retrospective-locks=off`, as in the authors' code: there is no list. With a threshold of 64, nothing is
//!   locked before commit, as in their OCC.
//! - `commit-locks`: at commit, wait for the locks of the write set, as in the paper, or refuse, as SILO can.
//!
//! On many cores with conflicts, MOCC is slower than SILO even if nothing is hot, for two reasons. First, it waits
//! at commit, and a waiter keeps others waiting with all that it has locked (TicToc 5.1). SILO with waiting does
//! the same, and is slower than SILO that refuses. Second, it holds written records for longer, from the first lock
//! to the last release. A write acquires a lock of the queue and then the bit of the TID word, and releases both.
//! SILO's lock is one word.
//!
//! Deviations:
//!
//! - The temperature belongs to a record, not to a page, and cools down in the next window of epochs.
//! - Queues are under a latch. The paper's queues are latch-free.
//! - A writer sets a bit of the TID word before it validates, as SILO's writers do. So a transaction that validates
//!   without a lock sees the writer. A lock alone does not block reads.
//! - Natively, a running session can take a lock that was granted to a sleeping one ([`crate::mechanisms::overtaking`]).

use crate::{
    CommitLocks, Declaration, Isolation, ProtocolOptions, Txn, faults,
    mechanisms::{
        cancellable_queue::SharedSessions,
        footprint::Footprint,
        lock_queue::{LockQueue, Queued},
        optimistic::{End, Optimistic, Rules},
        ordered_locks::{OrderedLocks, OutOfOrder},
        temperature::{Temperature, window_of},
        tid_word::{self, TidRecord},
        two_phase_locking::Mode,
    },
};
use machine::{Arena, Core, Machine, OutOfMemory, Word, Zeroed, cold::Arc};
use storage::{Epochs, RecordRef};
use txn::{Abort, AbortReason, Intent};

/// The MOCC protocol.
pub type Mocc<M> = Optimistic<MoccRules<M>>;

/// MOCC's rules for locking and validation.
pub struct MoccRules<M: Machine> {
    sessions: SharedSessions<M>,
    threshold: u64,
    commit_locks: CommitLocks,
    recommends: bool,
}

/// SILO's TID word, a lock, and the record's temperature.
#[repr(C)]
pub struct Words {
    tid: Word,
    lock: LockQueue,
    temperature: Temperature,
}

// SAFETY: every field consists of words, for which zeros are a valid value, and nothing needs dropping.
unsafe impl Zeroed for Words {}

impl TidRecord for Words {
    #[inline(always)]
    fn word(&self) -> &Word {
        &self.tid
    }
}

impl Queued for Words {
    #[inline(always)]
    fn queue(&self) -> &LockQueue {
        &self.lock
    }
}

/// State of a session.
pub struct Own<'s, M: Machine> {
    epochs: &'s Epochs<M>,
    commit_locks: CommitLocks,
    locks: OrderedLocks<'s, M, Words>,
    /// Set if the attempt has failed to commit.
    failed: bool,
    /// The last TID that the session chose.
    last_tid: u64,
    window: u64,
    random: u64,
}

impl<M: Machine> MoccRules<M> {
    fn heat(core: &M::Core, record: &RecordRef<'_, M, Words>, window: u64) -> u64 {
        record.cc().temperature.get::<M>(core, record.line(), window)
    }

    fn validate(
        core: &M::Core,
        own: &mut Own<'_, M>,
        sets: &Footprint<'_, M, Words>,
    ) -> Result<(), Abort> {
        for read in &sets.reads {
            if core.is_planted(faults::MOCC_TRUSTS_LOCKS) && own.locks.holds(&read.record) {
                continue;
            }
            if !sets.is_current(core, read) {
                let (line, temperature) = (read.record.line(), &read.record.cc().temperature);
                temperature.raise::<M>(core, line, own.window, &mut own.random);
                return Err(Abort::because(AbortReason::Validation));
            }
        }
        sets.leaves.validate(core)
    }

    fn lock_and_validate<'s>(
        core: &M::Core,
        own: &mut Own<'s, M>,
        sets: &mut Footprint<'s, M, Words>,
    ) -> Result<u64, Abort> {
        sets.writes.sort();
        for record in sets.writes.records() {
            match own.commit_locks {
                CommitLocks::Wait => {
                    own.locks.lock(core, record, Mode::Exclusive, OutOfOrder::Restore)?;
                }
                bounded => {
                    let ticks = u64::from(bounded.pauses().unwrap_or(0)) * core.pause_ticks();
                    own.locks.lock_within(core, record, ticks)?;
                }
            }
        }
        let mut newest = own.last_tid;
        // No other transaction can have set the bit, because it would need the lock for that.
        sets.lock_writes(core, CommitLocks::Refuse, |tid| newest = newest.max(tid))?;
        // The serialization point, as in SILO.
        core.fence();
        let epoch = own.epochs.current(core);
        core.fence();
        Self::validate(core, own, sets)?;
        Ok(tid_word::next_tid(epoch, sets.newest_read(newest)))
    }

    /// Recommends locks for the next attempt: on the records to be written, and on those read that have changed or
    /// are nearly hot.
    fn recommend<'s>(&self, core: &M::Core, own: &mut Own<'s, M>, sets: &Footprint<'s, M, Words>) {
        let (threshold, window) = (self.threshold.saturating_sub(1), own.window);
        let written = sets.writes.records().map(|record| (record, Mode::Exclusive));
        let clobbered = sets.reads.iter().filter(|read| {
            let now = core.load_relaxed(read.record.line(), &read.record.cc().tid);
            now != read.word || Self::heat(core, &read.record, window) >= threshold
        });
        own.locks.recommend(written.chain(clobbered.map(|read| (read.record, Mode::Shared))));
    }
}

impl<M: Machine> Rules<M> for MoccRules<M> {
    type Words = Words;
    type Own<'s>
        = Own<'s, M>
    where
        M: 's;
    const COMMIT_LOCKS: CommitLocks = CommitLocks::Wait;

    fn declare() -> Declaration {
        Declaration {
            name: "MOCC",
            summary: "optimistic as SILO; locks a record before reading it once many transactions have failed on it",
            source: "Wang and Kimura, VLDB 2016",
            isolation: Isolation::Serializable,
            strict: true,
            one_site: Some(
                "locks are ordered within one site only, so transactions may wait for each other in a circle",
            ),
        }
    }

    fn knobs() -> &'static [&'static str] {
        &["hot-threshold", "retrospective-locks", "commit-locks", "commit-updates"]
    }

    fn levels() -> &'static [Isolation] {
        &[Isolation::Serializable]
    }

    fn create(
        arena: &Arc<Arena>,
        options: &ProtocolOptions,
        sessions: usize,
    ) -> Result<Self, OutOfMemory> {
        Ok(MoccRules {
            sessions: SharedSessions::new(arena, sessions)?,
            threshold: options.hot_threshold,
            commit_locks: options.commit_locks.unwrap_or(<Self as Rules<M>>::COMMIT_LOCKS),
            recommends: options.retrospective_locks,
        })
    }

    fn own<'s>(&'s self, epochs: &'s Epochs<M>, session: usize) -> Own<'s, M> {
        let locks = OrderedLocks::new(&self.sessions, session);
        let commit_locks = self.commit_locks;
        let random = session as u64 + 1;
        Own { epochs, commit_locks, locks, failed: false, last_tid: 0, window: 0, random }
    }

    #[inline]
    fn begin<'s>(&'s self, core: &M::Core, own: &mut Own<'s, M>, txn: Txn<'_>) {
        own.window = window_of(own.epochs.current(core));
        own.locks.begin(core, txn.attempt == 0);
    }

    #[inline]
    fn approach<'s>(
        &'s self,
        core: &M::Core,
        own: &mut Own<'s, M>,
        record: RecordRef<'s, M, Words>,
        intent: Intent,
    ) -> Result<(), Abort> {
        let recommended = own.locks.recommended(&record);
        let is_hot = Self::heat(core, &record, own.window) >= self.threshold;
        if !is_hot && recommended.is_none() {
            return Ok(());
        }
        let mode = if intent == Intent::Update { Mode::Exclusive } else { Mode::Shared };
        let mode = recommended.filter(|mode| *mode == Mode::Exclusive).unwrap_or(mode);
        own.locks.lock(core, record, mode, OutOfOrder::Try)
    }

    fn prepare<'s>(
        &'s self,
        core: &M::Core,
        own: &mut Own<'s, M>,
        sets: &mut Footprint<'s, M, Words>,
    ) -> Result<u64, Abort> {
        let prepared = Self::lock_and_validate(core, own, sets);
        own.failed = prepared.is_err();
        prepared
    }

    fn ended<'s>(
        &'s self,
        core: &M::Core,
        own: &mut Own<'s, M>,
        sets: &Footprint<'s, M, Words>,
        end: End,
    ) {
        match end {
            End::Committed(tid) if !sets.writes.is_empty() => own.last_tid = tid,
            End::Committed(_) => {}
            End::Aborted if own.failed && self.recommends => self.recommend(core, own, sets),
            End::Aborted => {}
        }
        own.failed = false;
        own.locks.release(core);
    }

    fn epoch_of(commit_timestamp: u64) -> Option<u64> {
        Some(tid_word::epoch_of(commit_timestamp))
    }
}
