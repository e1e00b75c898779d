//! Announced writes (prewrites) of timestamp ordering, and the operations that come too late.
//!
//! Source: Bernstein and Goodman 1981; Abyss 2.2. A record carries at most one write that is
//! announced and not decided (`pending`), under a latch. A later transaction waits until that write
//! is decided. An earlier transaction is refused an operation that would change what later ones
//! have seen. Waits go from later to earlier timestamps only, so they form no deadlock cycle.
//!
//! # Writers take turns by timestamp
//!
//! Several writers can wait for the same decision. If all of them try again and the latest goes
//! first, it refuses all others. With the option `waiting-writers=in-turn` the earliest one goes
//! first, as in the papers' code. Then fewer attempts abort, but a transaction waits for longer and
//! keeps others waiting meanwhile:
//!
//! - A writer that waits enters its timestamp as the record's `successor`, if no earlier one is there.
//! - Who decides a prewrite makes `pending` the successor's timestamp. This is the successor's prewrite,
//!   announced on its behalf. All others meet it as they meet any other.
//! - A writer that finds its own timestamp in `pending` goes on. If it then writes nothing, it passes
//!   the turn on.
//! - A writer that is not the successor looks again after each decision, and enters itself then.
//!
//! **Invariant.** All of this happens under the latch, and a record with a successor has a pending
//! prewrite. So a successor is not forgotten: the pending prewrite is decided, and that hands over.
//! A writer never leaves while it is the successor. So `pending` never names a transaction that is gone.
//!
//! With the option `waiting-writers=no-queue` a writer is refused if it finds the record latched
//! ([`super::announcement::Announcer::latch_for_write`] says what queues do).

use super::{
    announced_writes::Announces,
    queue_latch::{LatchNodes, Latcher},
    range_times::Timed,
};
use crate::{WaitingWriters, faults};
use machine::{Core, Machine, Word};
use storage::RecordRef;
use txn::{Abort, AbortReason};

/// A record that carries announced writes.
pub trait Prewritten: Timed {
    /// Returns the latch over its timestamps.
    fn latch_word(&self) -> &Word;
    /// Returns the timestamp of the write that is announced and not decided; 0 if there is none.
    fn pending(&self) -> &Word;
    /// Returns the timestamp of the earliest writer that waits for that decision; 0 if there is none.
    fn successor(&self) -> &Word;
}

/// A session's timestamp and its access to the latches.
pub struct Prewriter<M: Machine> {
    /// Timestamp of the running transaction.
    pub timestamp: u64,
    /// Acquires and releases latches. Public for other words under latches of this kind.
    pub latcher: Latcher<M>,
    /// Behaviour of writers that wait.
    waiting: WaitingWriters,
}

/// Returns the abort of an operation that comes too late for its timestamp.
pub fn too_late() -> Abort {
    Abort::because(AbortReason::TimestampOrder)
}

impl<M: Machine> Prewriter<M> {
    /// Creates the prewriter of session number `session`, with no timestamp yet.
    pub fn new(latches: &LatchNodes, session: usize, waiting: WaitingWriters) -> Prewriter<M> {
        Prewriter { timestamp: 0, latcher: latches.latcher(session), waiting }
    }

    /// Acquires the record's latch.
    pub fn latch<C: Prewritten>(&self, core: &M::Core, record: &RecordRef<'_, M, C>) {
        self.latcher.latch(core, record.line(), record.cc().latch_word());
    }

    /// Waits until no earlier transaction's prewrite is undecided, and returns with the record
    /// latched. Returns the timestamp of the prewrite that is there: 0 for none, the session's own,
    /// or a later one.
    pub fn latch_decided<C: Prewritten>(
        &self,
        core: &M::Core,
        record: &RecordRef<'_, M, C>,
    ) -> u64 {
        let (line, announced) = (record.line(), record.cc().pending());
        loop {
            self.latch(core, record);
            let pending = core.load_relaxed(line, announced);
            if pending == 0 || pending >= self.timestamp {
                return pending;
            }
            self.unlatch(core, record);
            core.wait_while(line, announced, |now| now == pending);
        }
    }

    /// Waits for the session's turn to write, and returns with the record latched. Returns an error
    /// without the latch if the write comes too late.
    pub fn latch_for_write<C: Prewritten>(
        &self,
        core: &M::Core,
        record: &RecordRef<'_, M, C>,
    ) -> Result<(), Abort> {
        let (line, words) = (record.line(), record.cc());
        if self.waiting != WaitingWriters::NoQueue {
            self.latch(core, record);
        } else if !self.latcher.try_latch(core, line, words.latch_word()) {
            return Err(Abort::because(AbortReason::LockConflict));
        }
        loop {
            let pending = core.load_relaxed(line, words.pending());
            let late = pending > self.timestamp
                || core.load_relaxed(line, words.rts()) > self.timestamp
                || core.load_relaxed(line, words.wts()) > self.timestamp;
            if late {
                self.give_up_turn(core, record);
                self.unlatch(core, record);
                return Err(too_late());
            }
            if pending == 0 || pending == self.timestamp {
                return Ok(());
            }
            if self.waiting == WaitingWriters::InTurn {
                self.queue_up(core, record);
            }
            self.unlatch(core, record);
            core.wait_while(line, words.pending(), |now| now == pending);
            self.latch(core, record);
        }
    }

    /// Makes the session the record's successor, unless an earlier writer is. Called with the record
    /// latched.
    fn queue_up<C: Prewritten>(&self, core: &M::Core, record: &RecordRef<'_, M, C>) {
        let (line, successor) = (record.line(), record.cc().successor());
        let first = core.load_relaxed(line, successor);
        let earlier = first != 0 && first < self.timestamp;
        if !earlier {
            core.store_relaxed(line, successor, self.timestamp);
        }
    }

    /// Takes back what the session has entered in the record, if it has. Called with the record
    /// latched by a writer that does not write. Does nothing if writers take no turns.
    fn give_up_turn<C: Prewritten>(&self, core: &M::Core, record: &RecordRef<'_, M, C>) {
        if self.waiting != WaitingWriters::InTurn {
            return;
        }
        let (line, words) = (record.line(), record.cc());
        if core.load_relaxed(line, words.successor()) == self.timestamp {
            core.store_relaxed(line, words.successor(), 0);
        }
        let has_turn = core.load_relaxed(line, words.pending()) == self.timestamp;
        if has_turn {
            self.hand_over(core, record);
        }
    }

    /// Hands the record over to its successor, after the pending prewrite is decided. Called with the
    /// record latched.
    pub fn hand_over<C: Prewritten>(&self, core: &M::Core, record: &RecordRef<'_, M, C>) {
        name_successor(core, record);
        core.wake(record.line(), record.cc().pending());
    }

    /// Removes the prewrite from a record that has no successor, because nobody waits in
    /// [`Prewriter::latch_for_write`]. Needs no latch.
    pub fn clear<C: Prewritten>(&self, core: &M::Core, record: &RecordRef<'_, M, C>) {
        let (line, pending) = (record.line(), record.cc().pending());
        core.store(line, pending, 0);
        core.wake(line, pending);
    }

    /// Raises the record's `rts` to the transaction's timestamp. Called with the record latched.
    pub fn mark_read<C: Prewritten>(&self, core: &M::Core, record: &RecordRef<'_, M, C>) {
        let (line, rts) = (record.line(), record.cc().rts());
        if core.load_relaxed(line, rts) < self.timestamp {
            core.store_relaxed(line, rts, self.timestamp);
        }
    }
}

impl<M: Machine, C: Prewritten> Announces<M, C> for Prewriter<M> {
    fn announce(&self, core: &M::Core, record: &RecordRef<'_, M, C>) {
        core.store_relaxed(record.line(), record.cc().pending(), self.timestamp);
    }

    fn withdraw(&self, core: &M::Core, record: &RecordRef<'_, M, C>) {
        if self.waiting != WaitingWriters::InTurn
            || core.is_planted(faults::PREWRITE_FORGETS_SUCCESSOR)
        {
            return self.clear(core, record);
        }
        self.latch(core, record);
        self.hand_over(core, record);
        self.unlatch(core, record);
    }

    fn miss(&self, core: &M::Core, record: &RecordRef<'_, M, C>) {
        self.mark_read(core, record);
        self.give_up_turn(core, record);
    }

    fn unlatch(&self, core: &M::Core, record: &RecordRef<'_, M, C>) {
        self.latcher.unlatch(core, record.line(), record.cc().latch_word());
    }
}

/// Makes the successor's prewrite the pending one, or none if nobody waits. Called with the record latched by a
/// session that then wakes those who wait.
pub fn name_successor<M: Machine, C: Prewritten>(core: &M::Core, record: &RecordRef<'_, M, C>) {
    let (line, words) = (record.line(), record.cc());
    let successor = core.load_relaxed(line, words.successor());
    if successor != 0 && !core.is_planted(faults::PREWRITE_NAMES_TWICE) {
        core.store_relaxed(line, words.successor(), 0);
    }
    core.store(line, words.pending(), successor);
}
