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
//! - Whoever waits enters the record's queue, in the order of timestamps ([`super::turns`]).
//! - Who decides a prewrite lets the readers in front of the queue go on, and the first writer, and makes `pending`
//!   that writer's timestamp. This is the writer's prewrite, announced on its behalf. All others meet it
//!   as they meet any other.
//! - A writer that finds its own timestamp in `pending` goes on. If it then writes nothing, it passes
//!   the turn on.
//!
//! **Invariant.** All of this happens under the latch, and a record with a queue has a pending
//! prewrite. So nobody is forgotten: the pending prewrite is decided, and that passes the turn on.
//! Nobody leaves the queue without being told. So `pending` never names a transaction that is gone.
//!
//! With the option `waiting-writers=no-queue` a writer is refused if it finds the record latched
//! ([`super::announcement::Announcer::latch_for_write`] says what queues do).

use super::{
    announced_writes::Announces,
    queue_latch::{LatchNodes, Latcher},
    range_times::Timed,
    turns::{Turn, Turns},
};
use crate::{WaitingWriters, faults};
use machine::{Arena, Core, Machine, OutOfMemory, Word, cold::Arc};
use storage::RecordRef;
use txn::{Abort, AbortReason};

/// A record that carries announced writes.
pub trait Prewritten: Timed {
    /// Returns the latch over its timestamps.
    fn latch_word(&self) -> &Word;
    /// Returns the timestamp of the write that is announced and not decided; 0 if there is none.
    fn pending(&self) -> &Word;
    /// Returns the first node of the queue for that decision; 0 if nobody queues ([`super::turns`]).
    fn queue(&self) -> &Word;
}

/// A session's timestamp and its access to the latches.
pub struct Prewriter<M: Machine> {
    /// Timestamp of the running transaction.
    pub timestamp: u64,
    /// Acquires and releases latches. Public for other words under latches of this kind.
    pub latcher: Latcher<M>,
    /// Set if a writer is refused where it finds the record latched.
    refuses_latched: bool,
    /// The way into the queues of records; none where all that wait try again after each decision.
    turn: Option<Turn<M>>,
}

/// The sessions share this state. It says how they wait for a prewrite, as the option `waiting-writers` asks.
pub struct Waiting<M: Machine> {
    refuses_latched: bool,
    turns: Option<Turns<M>>,
}

impl<M: Machine> Waiting<M> {
    /// Creates what `sessions` sessions need for waiting as `writers` says.
    pub fn new(
        arena: &Arc<Arena>,
        writers: WaitingWriters,
        sessions: usize,
    ) -> Result<Self, OutOfMemory> {
        let in_turn = writers == WaitingWriters::InTurn;
        let turns = in_turn.then(|| Turns::new(arena, sessions)).transpose()?;
        Ok(Waiting { refuses_latched: writers == WaitingWriters::NoQueue, turns })
    }

    /// Returns the way of waiting in which all try again after each decision.
    pub fn racing() -> Self {
        Waiting { refuses_latched: false, turns: None }
    }
}

/// A session's means to decide prewrites.
pub struct Decider<'a, M: Machine> {
    /// Acquires and releases latches.
    pub latcher: &'a Latcher<M>,
    turn: Option<&'a Turn<M>>,
}

impl<'a, M: Machine> From<&'a Latcher<M>> for Decider<'a, M> {
    /// Returns the means for records at which nobody queues.
    fn from(latcher: &'a Latcher<M>) -> Self {
        Decider { latcher, turn: None }
    }
}

impl<M: Machine> Decider<'_, M> {
    /// Removes the pending prewrite. If somebody queues, the first writer's prewrite is then the pending one. Called with the record
    /// latched by a session that then wakes those who wait for `pending`.
    pub fn decide<C: Prewritten>(&self, core: &M::Core, record: &RecordRef<'_, M, C>) {
        let (line, words) = (record.line(), record.cc());
        let next = self.turn.map_or(0, |turn| turn.pass(core, line, words.queue()));
        core.store(line, words.pending(), next);
    }
}

/// Returns the abort of an operation that comes too late for its timestamp.
pub fn too_late() -> Abort {
    Abort::because(AbortReason::TimestampOrder)
}

impl<M: Machine> Prewriter<M> {
    /// Creates the prewriter of session number `session`, with no timestamp yet.
    pub fn new(latches: &LatchNodes, session: usize, waiting: &Waiting<M>) -> Prewriter<M> {
        Prewriter {
            timestamp: 0,
            latcher: latches.latcher(session),
            refuses_latched: waiting.refuses_latched,
            turn: waiting.turns.as_ref().map(|turns| turns.of(session)),
        }
    }

    /// Returns the session's means to decide prewrites.
    pub fn decider(&self) -> Decider<'_, M> {
        Decider { latcher: &self.latcher, turn: self.turn.as_ref() }
    }

    /// Acquires the record's latch.
    pub fn latch<C: Prewritten>(&self, core: &M::Core, record: &RecordRef<'_, M, C>) {
        self.latcher.latch(core, record.line(), record.cc().latch_word());
    }

    /// Waits until no earlier transaction's prewrite is undecided, and returns with the record
    /// latched. Returns the timestamp of the prewrite that is there: 0 for none, the session's own,
    /// or a later one.
    #[inline(always)]
    pub fn latch_decided<C: Prewritten>(
        &self,
        core: &M::Core,
        record: &RecordRef<'_, M, C>,
    ) -> u64 {
        self.latch(core, record);
        let pending = core.load_relaxed(record.line(), record.cc().pending());
        if pending == 0 || pending >= self.timestamp {
            return pending;
        }
        self.latch_after(core, *record, pending)
    }

    /// Releases the latch, waits until the prewrite at `pending` and all others before this transaction are decided, and returns with
    /// the record latched again.
    #[inline(never)]
    fn latch_after<C: Prewritten>(
        &self,
        core: &M::Core,
        record: RecordRef<'_, M, C>,
        mut pending: u64,
    ) -> u64 {
        loop {
            self.await_decision(core, &record, pending, false);
            self.latch(core, &record);
            pending = core.load_relaxed(record.line(), record.cc().pending());
            if pending == 0 || pending >= self.timestamp {
                return pending;
            }
        }
    }

    /// Releases the latch, and waits until the prewrite of the transaction at `pending` has been decided. In a queue it waits until it
    /// is told.
    fn await_decision<C: Prewritten>(
        &self,
        core: &M::Core,
        record: &RecordRef<'_, M, C>,
        pending: u64,
        writes: bool,
    ) {
        let (line, words) = (record.line(), record.cc());
        if let Some(turn) = &self.turn {
            turn.enter(core, line, words.queue(), self.timestamp, writes);
            self.unlatch(core, record);
            turn.wait(core);
        } else {
            self.unlatch(core, record);
            core.wait_while(line, words.pending(), |now| now == pending);
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
        if !self.refuses_latched {
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
            self.await_decision(core, record, pending, true);
            self.latch(core, record);
        }
    }

    /// Passes the turn on, if the session has it. Called with the record latched by a writer that does not write.
    fn give_up_turn<C: Prewritten>(&self, core: &M::Core, record: &RecordRef<'_, M, C>) {
        let has_turn = self.turn.is_some()
            && core.load_relaxed(record.line(), record.cc().pending()) == self.timestamp;
        if has_turn {
            self.hand_over(core, record);
        }
    }

    /// Removes the session's prewrite, and lets those go on that wait for that. Called with the record latched.
    pub fn hand_over<C: Prewritten>(&self, core: &M::Core, record: &RecordRef<'_, M, C>) {
        self.decider().decide(core, record);
        core.wake(record.line(), record.cc().pending());
    }

    /// Removes the prewrite from a record at which nobody queues. Needs no latch.
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
        if self.turn.is_none() || core.is_planted(faults::PREWRITE_FORGETS_QUEUE) {
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
