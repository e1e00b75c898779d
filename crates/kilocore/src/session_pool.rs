//! Assigns sessions to threads, for one turn each.
//!
//! A thread's turn begins when it locks a session and ends when its [`Turn`] drops. The thread looks for a session in
//! this order:
//!
//! 1. Its home session, which a hash of the thread's identity selects. Threads therefore seldom meet at a session.
//! 2. Any free session, if the home session is taken. The thread is then called a stray, and `Queue::strays` counts
//!    it.
//! 3. If all sessions are taken, it waits until another thread ends its turn.
//!
//! A session is free again when its [`Turn`] drops. The drop rolls back a transaction that is still open. A panic
//! unwinds through the same drop.
//!
//! A thread must not begin a second turn while it has one. While no thread is a stray, checking the home session
//! is enough to detect that. Otherwise the thread checks the owner of every session.

use crate::{Error, seats::Seat};
use machine::{
    Core, Word,
    cold::{Condvar, Mutex},
};
use parking_lot::{MutexGuard, RawThreadId, lock_api::GetThreadId};
use std::time::Duration;

/// A waiting thread looks again after this time, even if no thread has woken it.
const LOOK_AGAIN: Duration = Duration::from_millis(1);

/// One session, aligned to 128 bytes. Cache lines are fetched in pairs, so it shares no fetched pair with another
/// session.
#[repr(align(128))]
struct PooledSession {
    /// Identity of the thread whose turn it is, or 0 if there is none. A thread compares it only with its own
    /// identity, so no memory ordering is needed.
    owner: Word,
    /// The session. Locked for the whole turn.
    seat: Mutex<Seat>,
}

/// All sessions of a database.
pub(crate) struct SessionPool {
    sessions: Box<[PooledSession]>,
    queue: Queue,
}

/// Threads that wait for a session.
#[repr(align(128))]
struct Queue {
    /// Number of current turns in a session other than the home session. If it is 0, a thread's own turn can only be
    /// in its home session.
    strays: Word,
    /// Number of threads that wait for a session. Changed only while `door` is held.
    waiting: Word,
    door: Mutex<()>,
    /// Notified when a session becomes free and threads wait.
    opened: Condvar,
}

/// Returns the identity of the calling thread. It is not 0, and no other living thread has the same one.
#[inline]
fn own_identity() -> u64 {
    RawThreadId::INIT.nonzero_thread_id().get() as u64
}

impl SessionPool {
    pub fn new(seats: Vec<Seat>) -> SessionPool {
        let session = |seat| PooledSession { owner: Word::new(0), seat: Mutex::new(seat) };
        SessionPool {
            sessions: seats.into_iter().map(session).collect(),
            queue: Queue {
                strays: Word::new(0),
                waiting: Word::new(0),
                door: Mutex::new(()),
                opened: Condvar::new(),
            },
        }
    }

    /// Begins a turn for the calling thread, which waits for a free session if it must. Fails with
    /// [`Error::Nested`] if the thread already has a turn.
    #[inline]
    pub fn enter(&self) -> Result<Turn<'_>, Error> {
        let me = own_identity();
        let spread = me.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 32;
        let home = ((spread * self.sessions.len() as u64) >> 32) as usize;
        if self.sessions[home].owner.peek() != me
            && self.queue.strays.peek() == 0
            && let Some(turn) = self.try_session(home, me)
        {
            return Ok(turn);
        }
        self.enter_slowly(me, home)
    }

    #[cold]
    fn enter_slowly(&self, me: u64, home: usize) -> Result<Turn<'_>, Error> {
        if self.sessions.iter().any(|session| session.owner.peek() == me) {
            return Err(Error::Nested);
        }
        if let Some(turn) = self.try_all(me, home) {
            return Ok(turn);
        }
        let queue = &self.queue;
        let mut door = queue.door.lock();
        queue.waiting.poke(queue.waiting.peek() + 1);
        // A thread that ends its turn can have read `waiting` before it was incremented. Such a thread wakes no
        // waiter. This is why each wait is limited.
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
        let count = self.sessions.len();
        if let Some(turn) = self.try_session(home, me) {
            return Some(turn);
        }
        let mut turn = (1..count).find_map(|i| self.try_session((home + i) % count, me))?;
        turn.seat.core().fetch_add(&(), &self.queue.strays, 1);
        turn.strayed = true;
        Some(turn)
    }

    #[inline]
    fn try_session(&self, at: usize, me: u64) -> Option<Turn<'_>> {
        let session = &self.sessions[at];
        let seat = session.seat.try_lock()?;
        session.owner.poke(me);
        Some(Turn {
            seat,
            owner: &session.owner,
            strayed: false,
            bell: Bell { queue: &self.queue },
        })
    }

    /// Fails with [`Error::Nested`] if the calling thread runs a transaction.
    pub fn check_outside(&self) -> Result<(), Error> {
        let me = own_identity();
        match self.sessions.iter().any(|session| session.owner.peek() == me) {
            true => Err(Error::Nested),
            false => Ok(()),
        }
    }

    /// Calls `visit` for every session, between transactions. Waits for the transactions that run. Fails with
    /// [`Error::Nested`] if the calling thread runs one.
    pub fn visit_all(&self, mut visit: impl FnMut(&mut Seat)) -> Result<(), Error> {
        self.check_outside()?;
        self.sessions.iter().for_each(|session| visit(&mut session.seat.lock()));
        Ok(())
    }

    /// Makes the memory that idle sessions hold available to all sessions.
    pub fn reclaim(&self) {
        for session in &self.sessions {
            if let Some(mut seat) = session.seat.try_lock() {
                seat.session().reclaim();
            }
        }
    }
}

/// One turn of a thread with a session.
pub(crate) struct Turn<'a> {
    // Fields drop in this order: the session is unlocked before the bell wakes a waiter.
    pub seat: MutexGuard<'a, Seat>,
    owner: &'a Word,
    /// Set if the session is not the thread's home session.
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

/// Wakes one waiting thread when it drops, if any thread waits.
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
