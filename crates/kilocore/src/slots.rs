//! Turns: which thread uses which session.
//!
//! A thread has a home slot, found by its identity, so threads seldom meet; when the home is taken it strays
//! to any free slot, and when all are taken it waits. A slot is free again when its [`Turn`] drops, which
//! rolls back what is still open: a panic takes the same way out.

use crate::{Error, seats::Seat};
use machine::{
    Core, Word,
    cold::{Condvar, Mutex},
};
use parking_lot::{MutexGuard, RawThreadId, lock_api::GetThreadId};
use std::time::Duration;

/// A waiting thread looks again after this time even if nobody has called it.
const LOOK_AGAIN: Duration = Duration::from_millis(1);

/// One session, on cache lines of its own (two, as they are fetched in pairs).
#[repr(align(128))]
struct Slot {
    /// The thread whose turn it is; 0 when there is none. Only ever compared with the reader's own identity,
    /// so no order is needed.
    owner: Word,
    seat: Mutex<Seat>,
}

/// All sessions of a database.
pub(crate) struct Slots {
    slots: Box<[Slot]>,
    queue: Queue,
}

#[repr(align(128))]
struct Queue {
    /// Turns in progress away from home: only then can a thread's own turn be anywhere but at its home.
    strays: Word,
    /// Threads that wait for any slot. Changed under the door's latch.
    waiting: Word,
    door: Mutex<()>,
    opened: Condvar,
}

/// A thread's identity: not 0, and no other living thread's.
#[inline]
fn own_identity() -> u64 {
    RawThreadId::INIT.nonzero_thread_id().get() as u64
}

impl Slots {
    pub fn new(seats: Vec<Seat>) -> Slots {
        let slot = |seat| Slot { owner: Word::new(0), seat: Mutex::new(seat) };
        Slots {
            slots: seats.into_iter().map(slot).collect(),
            queue: Queue {
                strays: Word::new(0),
                waiting: Word::new(0),
                door: Mutex::new(()),
                opened: Condvar::new(),
            },
        }
    }

    /// A turn for the calling thread, which waits for it if need be. An error if it is having one.
    #[inline]
    pub fn enter(&self) -> Result<Turn<'_>, Error> {
        let me = own_identity();
        let spread = me.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 32;
        let home = ((spread * self.slots.len() as u64) >> 32) as usize;
        if self.slots[home].owner.peek() != me
            && self.queue.strays.peek() == 0
            && let Some(turn) = self.try_slot(home, me)
        {
            return Ok(turn);
        }
        self.enter_slowly(me, home)
    }

    #[cold]
    fn enter_slowly(&self, me: u64, home: usize) -> Result<Turn<'_>, Error> {
        if self.slots.iter().any(|slot| slot.owner.peek() == me) {
            return Err(Error::Nested);
        }
        if let Some(turn) = self.try_all(me, home) {
            return Ok(turn);
        }
        let queue = &self.queue;
        let mut door = queue.door.lock();
        queue.waiting.poke(queue.waiting.peek() + 1);
        // Who leaves may have looked at `waiting` before it was counted up: hence the limit on each wait.
        let turn = loop {
            if let Some(turn) = self.try_all(me, home) {
                break turn;
            }
            queue.opened.wait_for(&mut door, LOOK_AGAIN);
        };
        queue.waiting.poke(queue.waiting.peek() - 1);
        Ok(turn)
    }

    fn try_all(&self, me: u64, home: usize) -> Option<Turn<'_>> {
        let count = self.slots.len();
        if let Some(turn) = self.try_slot(home, me) {
            return Some(turn);
        }
        let mut turn = (1..count).find_map(|i| self.try_slot((home + i) % count, me))?;
        turn.seat.core().fetch_add(&(), &self.queue.strays, 1);
        turn.strayed = true;
        Some(turn)
    }

    #[inline]
    fn try_slot(&self, at: usize, me: u64) -> Option<Turn<'_>> {
        let slot = &self.slots[at];
        let seat = slot.seat.try_lock()?;
        slot.owner.poke(me);
        Some(Turn { seat, owner: &slot.owner, strayed: false, bell: Bell { queue: &self.queue } })
    }

    /// Makes what free sessions have left over available to all.
    pub fn reclaim(&self) {
        for slot in &self.slots {
            if let Some(mut seat) = slot.seat.try_lock() {
                seat.session().reclaim();
            }
        }
    }
}

/// A thread's turn with a session.
pub(crate) struct Turn<'a> {
    // Fields drop in this order: the seat is free before the bell rings.
    pub seat: MutexGuard<'a, Seat>,
    owner: &'a Word,
    strayed: bool,
    bell: Bell<'a>,
}

impl Drop for Turn<'_> {
    #[inline]
    fn drop(&mut self) {
        if self.seat.session().in_transaction() {
            self.seat.session().rollback();
        }
        self.owner.poke(0);
        if self.strayed {
            self.seat.core().fetch_add(&(), &self.bell.queue.strays, u64::MAX);
        }
    }
}

/// Calls one of the waiting when it drops.
struct Bell<'a> {
    queue: &'a Queue,
}

impl Drop for Bell<'_> {
    #[inline]
    fn drop(&mut self) {
        if self.queue.waiting.peek() != 0 {
            self.ring();
        }
    }
}

impl Bell<'_> {
    #[cold]
    fn ring(&self) {
        let _door = self.queue.door.lock();
        self.queue.opened.notify_one();
    }
}
