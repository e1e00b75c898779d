//! A latch whose waiters queue, each waiting on a cache line of its own.
//!
//! Source: Mellor-Crummey and Scott, TOCS 1991 (MCS).
//!
//! **Why waiters queue.** If waiters wait on the latch word itself, each release wakes all of them,
//! and all but one fetch the line for nothing. With a hundred cores at one record the holder then
//! hardly gets access to the words behind its own latch. (This was measured: WAIT_DIE fell from
//! millions of transactions a second to thousands between 64 and 128 simulated cores on four
//! counters.) With a queue a release tells one successor, and a hand-over costs the same whatever
//! the number of waiters.
//!
//! A queued latch has these states. The latch word names the last node in the queue, or is 0 if the
//! latch is free. The first node belongs to the holder. Each other node is linked from its
//! predecessor's `next`, and its session waits until the predecessor clears `waits`.
//!
//! **Where waiters do not queue.** A queue is right where a core continues as soon as it is told.
//! On some machines a session can be preempted while it waits ([`Core::overtakes`]). A latch that
//! is handed to a preempted session is unused for as long as that session is gone, and all running
//! sessions wait for it. So on these machines the latch is released, one of the sessions that sleep
//! for it is woken, and the first session to come acquires it. That is mostly a running session.
//! Waiters look at the word only for a moment and then sleep, so few sessions ever fetch its line
//! at the same time.
//!
//! **Other kinds of latches** ([`LatchKind`]) exist for comparison (The Full Story of 1000 Cores, 3.3.1,
//! opt3): a mutex, a spin latch with back-off, the queue on every machine, a queue whose sessions look at intervals, and a latch that
//! hardware elides.

use super::{elided_latch, pauses::Pauses};
use crate::LatchKind;
use machine::{Arena, Core, Machine, OutOfMemory, Word, Zeroed, cold::Arc};
use std::{any::TypeId, marker::PhantomData};

/// Value of a latch that is held, where waiters do not queue.
const TAKEN: u64 = 1;

/// A session's place in a queue. A session waits for or holds at most one latch at a time, so it
/// needs one node.
#[repr(C, align(64))]
struct Node<M: Machine> {
    line: M::Line,
    /// Offset of the successor's node; 0 if none is linked yet.
    next: Word,
    /// 1 until the predecessor hands the latch over.
    waits: Word,
    /// 1 while a latcher with this node exists.
    taken: Word,
}

// SAFETY: a line and words, valid as zeros.
unsafe impl<M: Machine> Zeroed for Node<M> {}

/// The nodes of all sessions.
pub struct LatchNodes {
    arena: Arc<Arena>,
    first: u64,
    count: usize,
    kind: LatchKind,
    /// Type of the machine that the nodes were made for. Nodes differ from machine to machine.
    machine: TypeId,
}

impl LatchNodes {
    /// Allocates nodes for `sessions` sessions on machine `M`, for latches of the usual kind.
    pub fn new<M: Machine>(arena: &Arc<Arena>, sessions: usize) -> Result<LatchNodes, OutOfMemory> {
        LatchNodes::of_kind::<M>(arena, sessions, LatchKind::Usual)
    }

    /// Allocates nodes for `sessions` sessions on machine `M`, for latches of `kind`.
    pub fn of_kind<M: Machine>(
        arena: &Arc<Arena>,
        sessions: usize,
        kind: LatchKind,
    ) -> Result<LatchNodes, OutOfMemory> {
        let count = sessions.max(1);
        let first = arena.allocate_for_sessions(size_of::<Node<M>>() as u64, count)?;
        Ok(LatchNodes { arena: arena.clone(), first, count, kind, machine: TypeId::of::<M>() })
    }

    /// Creates the latcher of session number `session`. Panics if that session has a latcher already: two
    /// latchers that queue with one node would both acquire the latch.
    pub fn latcher<M: Machine>(&self, session: usize) -> Latcher<M> {
        assert!(session < self.count, "session {session} of {}", self.count);
        assert_eq!(self.machine, TypeId::of::<M>(), "nodes of another machine");
        let node = self.first + (session * size_of::<Node<M>>()) as u64;
        // SAFETY: `new` has placed `count` nodes of this machine, and `session` is below `count`.
        let taken = unsafe { self.arena.at::<Node<M>>(node) }.taken.take();
        assert!(taken, "session {session} has a latcher already");
        Latcher { arena: self.arena.clone(), node, kind: Some(self.kind), machine: PhantomData }
    }
}

/// One session's means to acquire latches, one at a time.
pub struct Latcher<M: Machine> {
    arena: Arc<Arena>,
    node: u64,
    /// None if one core alone touches what the latches protect. Then nothing is latched.
    kind: Option<LatchKind>,
    machine: PhantomData<fn() -> M>,
}

impl<M: Machine> Latcher<M> {
    /// Creates a latcher for data that one core alone touches ([`super::physical`]). It latches nothing.
    pub fn unneeded(arena: &Arc<Arena>) -> Latcher<M> {
        Latcher { arena: arena.clone(), node: 0, kind: None, machine: PhantomData }
    }

    #[inline(always)]
    fn at(&self, node: u64) -> &Node<M> {
        // SAFETY: offsets in latch words and in `next` come from `LatchNodes`, which placed nodes
        // there.
        unsafe { self.arena.at::<Node<M>>(node) }
    }

    /// Acquires the latch `tail`. The word holds 0 when the latch is free, and the last node in the
    /// queue otherwise.
    #[inline(always)]
    pub fn latch(&self, core: &M::Core, line: &M::Line, tail: &Word) {
        // Natively the latch is nearly always free. So this is tried without a call.
        let taken = self.is_plain(core) && core.cas(line, tail, 0, TAKEN).is_ok();
        if !taken {
            self.latch_otherwise(core, line, tail);
        }
    }

    /// Acquires a latch of any kind.
    #[inline(never)]
    fn latch_otherwise(&self, core: &M::Core, line: &M::Line, tail: &Word) {
        if !self.queues(core) {
            return match self.elides() {
                true => elided_latch::begin::<M>(core, line, tail),
                false if self.kind.is_none() => {}
                false => self.take(core, line, tail),
            };
        }
        let own = self.at(self.node);
        core.store_relaxed(&own.line, &own.next, 0);
        core.store_relaxed(&own.line, &own.waits, 1);
        // Releases the node's words to the successor, and acquires the last holder's writes.
        let before = core.swap(line, tail, self.node);
        if before != 0 {
            let before = self.at(before);
            core.store(&before.line, &before.next, self.node);
            core.wake(&before.line, &before.next);
            if self.kind == Some(LatchKind::Yielding) {
                core.wait_yielding(&own.line, &own.waits, |waits| waits != 0);
                return core.notice_turn();
            }
            core.wait_while(&own.line, &own.waits, |waits| waits != 0);
        }
    }

    /// Acquires the latch if nobody holds it, and returns whether it did. It waits only where hardware elides the latch.
    #[inline]
    pub fn try_latch(&self, core: &M::Core, line: &M::Line, tail: &Word) -> bool {
        if !self.queues(core) {
            if self.kind.is_some() && !self.elides() {
                return core.cas(line, tail, 0, TAKEN).is_ok();
            }
            self.latch(core, line, tail);
            return true;
        }
        let own = self.at(self.node);
        core.store_relaxed(&own.line, &own.next, 0);
        core.cas(line, tail, 0, self.node).is_ok()
    }

    /// Releases the latch, and hands it to the successor if there is one.
    #[inline(always)]
    pub fn unlatch(&self, core: &M::Core, line: &M::Line, tail: &Word) {
        if !self.is_plain(core) {
            return self.unlatch_otherwise(core, line, tail);
        }
        core.store(line, tail, 0);
        core.wake(line, tail);
    }

    /// Releases a latch of any kind.
    #[inline(never)]
    fn unlatch_otherwise(&self, core: &M::Core, line: &M::Line, tail: &Word) {
        if !self.queues(core) {
            if self.elides() {
                return elided_latch::end::<M>(core, line, tail);
            }
            if self.kind.is_none() {
                return;
            }
            core.store(line, tail, 0);
            core.wake(line, tail);
            return;
        }
        let own = self.at(self.node);
        if core.load(&own.line, &own.next) == 0 {
            if core.cas(line, tail, self.node, 0).is_ok() {
                return;
            }
            // A successor has swapped itself into `tail` and is about to link itself.
            core.wait_while(&own.line, &own.next, |next| next == 0);
        }
        let next = self.at(core.load(&own.line, &own.next));
        core.store(&next.line, &next.waits, 0);
        core.wake(&next.line, &next.waits);
    }

    /// Releases the latch, and wakes the sessions that wait for `word`. That word is on the same
    /// line and was changed under the latch. Where waking takes a while, it happens after the latch
    /// is free.
    #[inline]
    pub fn unlatch_and_wake(&self, core: &M::Core, line: &M::Line, tail: &Word, word: &Word) {
        if !self.queues(core) && !self.elides() && self.kind.is_some() {
            core.store(line, tail, 0);
            core.wake_each([(line, tail), (line, word)].into_iter());
        } else {
            // Wake first: `unlatch` can have to wait for the successor in a queue.
            core.wake(line, word);
            self.unlatch(core, line, tail);
        }
    }

    /// Acquires a latch without a queue.
    #[inline(always)]
    fn take(&self, core: &M::Core, line: &M::Line, latch: &Word) {
        let mut pauses = Pauses::default();
        // Try before looking, because the latch is nearly always free.
        while core.cas(line, latch, 0, TAKEN).is_err() {
            match self.kind {
                // The next look is an attempt, too, as in the code of 2022. So it takes the line from the latch's owner.
                Some(LatchKind::Spin) => _ = pauses.wait(core, None),
                _ => _ = core.wait_to_take(line, latch, |holder| holder != 0),
            }
        }
    }

    /// Returns true if the latch is the usual one of a native machine.
    #[inline(always)]
    fn is_plain(&self, core: &M::Core) -> bool {
        !M::MODELLED && self.kind == Some(LatchKind::Usual) && core.overtakes()
    }

    /// Returns true if waiters queue.
    #[inline(always)]
    fn queues(&self, core: &M::Core) -> bool {
        match self.kind {
            Some(LatchKind::Usual) => !core.overtakes(),
            Some(LatchKind::Queue | LatchKind::Yielding) => true,
            None | Some(LatchKind::Mutex | LatchKind::Spin | LatchKind::Elided) => false,
        }
    }

    /// Returns true if the latch is elided.
    #[inline(always)]
    fn elides(&self) -> bool {
        M::MODELLED && self.kind == Some(LatchKind::Elided)
    }
}

impl<M: Machine> Drop for Latcher<M> {
    fn drop(&mut self) {
        if self.kind.is_some() {
            self.at(self.node).taken.give_back();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use machine::{Body, Native, NativeOptions};

    #[test]
    fn a_session_has_one_latcher_at_a_time() {
        let machine = Native::new(NativeOptions::default()).unwrap();
        let nodes = LatchNodes::new::<Native>(machine.arena(), 2).unwrap();
        let latcher = |session| {
            let made = || nodes.latcher::<Native>(session);
            std::panic::catch_unwind(std::panic::AssertUnwindSafe(made))
        };
        let (first, second) = (latcher(0), latcher(1));
        assert!(first.is_ok() && second.is_ok() && latcher(0).is_err() && latcher(2).is_err());
        drop(first);
        assert!(latcher(0).is_ok() && latcher(1).is_err());
    }

    #[test]
    fn one_at_a_time() {
        use LatchKind::{Elided, Mutex, Queue, Spin, Usual};
        for kind in [Usual, Mutex, Spin, Queue, Elided] {
            is_exclusive(kind);
        }
    }

    fn is_exclusive(kind: LatchKind) {
        let machine = Native::new(NativeOptions::default()).unwrap();
        let nodes = LatchNodes::of_kind::<Native>(machine.arena(), 4, kind).unwrap();
        let (tail, counter) = (Word::new(0), Word::new(0));
        let bodies = (0..4)
            .map(|session| -> Body<'_, Native> {
                let (tail, counter) = (&tail, &counter);
                let latcher = nodes.latcher::<Native>(session);
                Box::new(move |core| {
                    for _ in 0..5000 {
                        latcher.latch(core, &(), tail);
                        counter.poke(counter.peek() + 1);
                        latcher.unlatch(core, &(), tail);
                    }
                })
            })
            .collect();
        machine.run(bodies, vec![]).unwrap();
        assert_eq!((counter.peek(), tail.peek()), (20_000, 0));
    }
}
