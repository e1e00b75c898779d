//! A latch whose waiters queue, each waiting on a line of its own.
//!
//! Source: Mellor-Crummey and Scott, TOCS 1991 (MCS). Whoever waits on the latch word itself is woken with all
//! others at each release, and all but one fetch the line for nothing: with a hundred cores at one record the
//! holder then hardly gets at the words behind its own latch. (So it was: WAIT_DIE fell from millions of
//! transactions a second to thousands between 64 and 128 simulated cores on four counters.) Here a
//! release tells one successor, and a hand-over costs the same whatever the number of waiters.
//!
//! That is right where a core goes on when it is told to. Where it may have lost its processor meanwhile
//! ([`Machine::PREEMPTS`]), a latch that is handed to one who does not run stands still for as long as that one is
//! gone, and with it everybody who runs. There nobody queues: the latch is given back, one of those who sleep for it is woken, and
//! the first to come takes it, who is mostly somebody that runs. Waiters look at the word for a moment only and then sleep, so few ever
//! fetch its line at once.

use machine::{Arena, Core, Machine, OutOfMemory, Place, Word, Zeroed, cold::Arc};
use std::{any::TypeId, marker::PhantomData};

/// What a latch holds that is taken, where nobody queues.
const TAKEN: u64 = 1;

/// A session's place in a queue. A session holds one latch at a time, so it needs one.
#[repr(C, align(64))]
struct Node<M: Machine> {
    line: M::Line,
    /// Offset of the successor's node; 0 for none yet.
    next: Word,
    /// 1 until the predecessor hands over.
    waits: Word,
    /// 1 while there is a latcher with this node.
    taken: Word,
}

// SAFETY: a line and words, valid as zeros.
unsafe impl<M: Machine> Zeroed for Node<M> {}

/// The nodes of all sessions.
pub struct LatchNodes {
    arena: Arc<Arena>,
    first: u64,
    count: usize,
    /// Nodes differ from machine to machine.
    machine: TypeId,
}

impl LatchNodes {
    /// Nodes for `sessions` sessions on machine `M`.
    pub fn new<M: Machine>(arena: &Arc<Arena>, sessions: usize) -> Result<LatchNodes, OutOfMemory> {
        let count = sessions.max(1);
        let first = arena.allocate((size_of::<Node<M>>() * count) as u64, 64, Place::Any)?;
        Ok(LatchNodes { arena: arena.clone(), first, count, machine: TypeId::of::<M>() })
    }

    /// The way in for session `slot`. There is one at a time: a second one panics, because two that
    /// queue with one node would both have the latch.
    pub fn latcher<M: Machine>(&self, slot: usize) -> Latcher<M> {
        assert!(slot < self.count, "session {slot} of {}", self.count);
        assert_eq!(self.machine, TypeId::of::<M>(), "nodes of another machine");
        let node = self.first + (slot * size_of::<Node<M>>()) as u64;
        // SAFETY: `new` has placed so many nodes of this machine.
        let taken = unsafe { self.arena.at::<Node<M>>(node) }.taken.take();
        assert!(taken, "session {slot} has a latcher already");
        Latcher { arena: self.arena.clone(), node, machine: PhantomData }
    }
}

/// One session's way to take latches, one at a time.
pub struct Latcher<M: Machine> {
    arena: Arc<Arena>,
    node: u64,
    machine: PhantomData<fn() -> M>,
}

impl<M: Machine> Latcher<M> {
    #[inline(always)]
    fn at(&self, node: u64) -> &Node<M> {
        // SAFETY: offsets in latch words and in `next` come from `LatchNodes`, which placed nodes there.
        unsafe { self.arena.at::<Node<M>>(node) }
    }

    /// Takes the latch `tail`, which holds 0 when it is free and the last in the queue otherwise.
    #[inline]
    pub fn latch(&self, core: &M::Core, line: &M::Line, tail: &Word) {
        if M::PREEMPTS {
            return self.take(core, line, tail);
        }
        let own = self.at(self.node);
        core.store_relaxed(&own.line, &own.next, 0);
        core.store_relaxed(&own.line, &own.waits, 1);
        // Releases the node's words to the successor, acquires what the last holder wrote.
        let before = core.swap(line, tail, self.node);
        if before != 0 {
            let before = self.at(before);
            core.store(&before.line, &before.next, self.node);
            core.wake(&before.line, &before.next);
            core.wait_while(&own.line, &own.waits, |waits| waits != 0);
        }
    }

    /// Gives the latch back, to the successor if there is one.
    #[inline]
    pub fn unlatch(&self, core: &M::Core, line: &M::Line, tail: &Word) {
        if M::PREEMPTS {
            core.store(line, tail, 0);
            core.wake(line, tail);
            return;
        }
        let own = self.at(self.node);
        if core.load(&own.line, &own.next) == 0 {
            if core.cas(line, tail, self.node, 0).is_ok() {
                return;
            }
            // Somebody is in the queue and about to say so.
            core.wait_while(&own.line, &own.next, |next| next == 0);
        }
        let next = self.at(core.load(&own.line, &own.next));
        core.store(&next.line, &next.waits, 0);
        core.wake(&next.line, &next.waits);
    }

    /// Gives the latch back, and wakes who waits for `word` on the same line, which has changed under it: where that takes
    /// a while, when nobody needs the latch for it any more.
    #[inline]
    pub fn unlatch_and_wake(&self, core: &M::Core, line: &M::Line, tail: &Word, word: &Word) {
        if M::PREEMPTS {
            core.store(line, tail, 0);
            core.wake_each([(line, tail), (line, word)].into_iter());
        } else {
            // In this order: to give a latch back may take a wait.
            core.wake(line, word);
            self.unlatch(core, line, tail);
        }
    }

    /// Takes a latch that nobody queues for.
    #[inline(always)]
    fn take(&self, core: &M::Core, line: &M::Line, latch: &Word) {
        // Tried before it is looked at: it is free nearly always.
        while core.cas(line, latch, 0, TAKEN).is_err() {
            core.wait_to_take(line, latch, |holder| holder != 0);
        }
    }
}

impl<M: Machine> Drop for Latcher<M> {
    fn drop(&mut self) {
        self.at(self.node).taken.give_back();
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
        let latcher = |slot| {
            let made = || nodes.latcher::<Native>(slot);
            std::panic::catch_unwind(std::panic::AssertUnwindSafe(made))
        };
        let (first, second) = (latcher(0), latcher(1));
        assert!(first.is_ok() && second.is_ok() && latcher(0).is_err() && latcher(2).is_err());
        drop(first);
        assert!(latcher(0).is_ok() && latcher(1).is_err());
    }

    #[test]
    fn one_at_a_time() {
        let machine = Native::new(NativeOptions::default()).unwrap();
        let nodes = LatchNodes::new::<Native>(machine.arena(), 4).unwrap();
        let (tail, counter) = (Word::new(0), Word::new(0));
        let bodies = (0..4)
            .map(|slot| -> Body<'_, Native> {
                let (tail, counter) = (&tail, &counter);
                let latcher = nodes.latcher::<Native>(slot);
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
