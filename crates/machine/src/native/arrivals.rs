//! Arrivals: the way of a fiber from the crew of one thread to that of another.
//!
//! Each thread has a *queue*: a list of the fibers that have moved to it and that it has not taken in yet. Any thread adds to
//! it, at its head, with a compare-and-swap. The thread itself takes the whole list with one swap. A fiber is therefore at one
//! place at any time: in a crew, in one list, or on the way between them in the hands of one thread.
//!
//! What the fiber has done on the first thread happens before what it does on the second: the compare-and-swap releases, and
//! the swap acquires. A later addition to the list is a read-modify-write, so it does not come between the two.
//!
//! A thread without work sleeps until its queue or the count of fibers that have not ended changes ([`super::parking`]). Who
//! changes one of them wakes it.

use super::{crew::Member, parking};
use crate::Word;
use std::{
    ptr,
    sync::atomic::Ordering::{AcqRel, Acquire, Relaxed},
};

/// A fiber on its way to another thread.
pub(super) struct Arrival(pub Box<Member>);

impl Arrival {
    /// # Safety
    /// The fiber is suspended, nobody else refers to it, and its stack holds nothing that is bound to a thread.
    pub unsafe fn new(member: Box<Member>) -> Arrival {
        Arrival(member)
    }
}

// SAFETY: `Arrival::new` demands it.
unsafe impl Send for Arrival {}

/// The head of a thread's queue, on a cache line of its own: the address of the fiber that was added last, or 0. Each fiber
/// names the one that was added before it.
#[repr(align(64))]
struct Queue(Word);

/// The queues of the threads of a run whose fibers can move.
pub(super) struct Arrivals {
    queues: Box<[Queue]>,
    /// Number of fibers of the run that have not ended.
    left: Queue,
}

impl Arrivals {
    /// Makes the queues of `threads` threads, for a run of `fibers` fibers.
    pub fn new(threads: usize, fibers: usize) -> Arrivals {
        let queues = (0..threads).map(|_| Queue(Word::new(0))).collect();
        Arrivals { queues, left: Queue(Word::new(fibers as u64)) }
    }

    /// Hands a fiber to thread number `to`.
    pub fn add(&self, to: usize, arrival: Arrival) {
        let Queue(head) = &self.queues[to];
        let Arrival(member) = arrival;
        let member = Box::into_raw(member);
        let address = member.expose_provenance() as u64;
        let mut before = head.peek();
        loop {
            // SAFETY: the fiber is not in the list yet, so it belongs to this thread.
            unsafe { (*member).before = before };
            match head.atomic().compare_exchange_weak(before, address, AcqRel, Relaxed) {
                Ok(_) => break,
                Err(other) => before = other,
            }
        }
        parking::wake(head);
    }

    /// Takes the fibers that have been handed to thread number `thread`. Passes them to `each` in the order in which they came.
    /// Returns true if there was one.
    #[inline]
    pub fn take(&self, thread: usize, mut each: impl FnMut(Arrival)) -> bool {
        let Queue(head) = &self.queues[thread];
        if head.peek() == 0 {
            return false;
        }
        let mut at = head.atomic().swap(0, AcqRel);
        // The list begins with the fiber that came last, so it is turned round.
        let mut later = 0;
        while at != 0 {
            let member = ptr::with_exposed_provenance_mut::<Member>(at as usize);
            // SAFETY: the swap has taken the whole list, so its members belong to this thread.
            let before = unsafe { std::mem::replace(&mut (*member).before, later) };
            (later, at) = (at, before);
        }
        while later != 0 {
            let member = ptr::with_exposed_provenance_mut::<Member>(later as usize);
            // SAFETY: the member is from a box, which `add` has given up to the list.
            let member = unsafe { Box::from_raw(member) };
            later = member.before;
            each(Arrival(member));
        }
        true
    }

    /// Notes that a fiber has ended. The last one wakes all threads.
    pub fn one_ended(&self) {
        let Queue(left) = &self.left;
        if left.atomic().fetch_sub(1, AcqRel) == 1 {
            parking::wake(left);
        }
    }

    /// Returns true if all fibers of the run have ended.
    pub fn all_ended(&self) -> bool {
        self.left.0.atomic().load(Acquire) == 0
    }

    /// Returns the words for which an idle thread waits, with the values for which it has nothing to do.
    pub fn awaited(&self, thread: usize) -> [(*const Word, u64); 2] {
        let left = &self.left.0;
        [(&raw const self.queues[thread].0, 0), (left, left.peek().max(1))]
    }
}

impl Drop for Arrivals {
    fn drop(&mut self) {
        for thread in 0..self.queues.len() {
            self.take(thread, drop);
        }
    }
}
