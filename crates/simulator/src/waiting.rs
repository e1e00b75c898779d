//! Parked cores: each waits until another core writes a line.
//!
//! The waiters of a line form a list, the latest first, linked through their seats. A line is in `latest` if and only
//! if it has waiters. A core is in at most one list, and is in a list if and only if its seat is `parked`.

use crate::queue::{IDLE, Tournament, key, time_of};
use std::{
    cell::{Cell, RefCell},
    collections::BTreeMap,
};

const NONE: u32 = u32::MAX;

/// Waiters of all lines, and sleeping services.
pub(crate) struct Waiting {
    /// The latest waiter of each line that has waiters, by the line's offset.
    latest: RefCell<BTreeMap<u64, u32>>,
    /// Seats by core number.
    seats: Box<[Seat]>,
}

#[derive(Clone)]
/// State of one core's wait.
struct Seat {
    /// Waiter that parked on the same line before this one, or [`NONE`].
    before: Cell<u32>,
    /// Offset of the line on which the core is or was parked last.
    line: Cell<u64>,
    /// Time at which the core parked.
    since: Cell<u64>,
    /// Set while the core is in the list of `line`.
    parked: Cell<bool>,
    /// Set while the core, a service, sleeps until its next round.
    asleep: Cell<bool>,
    /// Time at which the core joined a queue that it has not left yet.
    queued: Cell<Option<u64>>,
}

impl Waiting {
    /// Bytes of the host that a core takes here.
    pub(crate) const BYTES_PER_CORE: usize = size_of::<Seat>();

    pub(crate) fn new(cores: usize) -> Waiting {
        let seat = Seat {
            before: Cell::new(NONE),
            line: Cell::new(0),
            since: Cell::new(0),
            parked: Cell::new(false),
            asleep: Cell::new(false),
            queued: Cell::new(None),
        };
        Waiting { latest: RefCell::default(), seats: vec![seat; cores].into_boxed_slice() }
    }

    /// Parks `core` on the line at `line`, from `now` on.
    pub(crate) fn park(&self, core: usize, line: u64, now: u64) {
        let before = self.latest.borrow_mut().insert(line, core as u32);
        let seat = &self.seats[core];
        seat.before.set(before.unwrap_or(NONE));
        seat.line.set(line);
        seat.since.set(now);
        seat.parked.set(true);
    }

    /// Ends the wait of `core` at its deadline, unless the core has been woken already. Returns whether it was still
    /// parked.
    pub(crate) fn give_up(&self, core: usize) -> bool {
        let seat = &self.seats[core];
        if !seat.parked.replace(false) {
            return false;
        }
        let mut latest = self.latest.borrow_mut();
        let first = latest[&seat.line.get()];
        if first == core as u32 {
            match seat.before.get() {
                NONE => latest.remove(&seat.line.get()),
                before => latest.insert(seat.line.get(), before),
            };
            return true;
        }
        let mut at = first;
        while self.seats[at as usize].before.get() != core as u32 {
            at = self.seats[at as usize].before.get();
        }
        self.seats[at as usize].before.set(seat.before.get());
        true
    }

    /// Notes that `core` is in a queue, and returns since when: `now` if it was in none.
    pub(crate) fn queue(&self, core: usize, now: u64) -> u64 {
        let queued = &self.seats[core].queued;
        let since = queued.get().unwrap_or(now);
        queued.set(Some(since));
        since
    }

    /// Notes that `core` has left the queue, and returns when it had joined it. Returns `None` if it was in none.
    pub(crate) fn leave_queue(&self, core: usize) -> Option<u64> {
        self.seats[core].queued.take()
    }

    /// Notes that `core`, a service, sleeps until its key comes.
    pub(crate) fn sleep(&self, core: usize) {
        self.seats[core].asleep.set(true);
    }

    /// Notes that `core` has woken up.
    pub(crate) fn woke_up(&self, core: usize) {
        self.seats[core].asleep.set(false);
    }

    /// Returns true while `core` sleeps.
    pub(crate) fn is_asleep(&self, core: usize) -> bool {
        self.seats[core].asleep.get()
    }

    /// Wakes all cores that wait on the line: each goes on at `time`, or at its deadline if that is earlier. Returns
    /// the earliest of their keys.
    pub(crate) fn wake(&self, line: u64, time: u64, queue: &Tournament) -> u64 {
        let mut earliest = IDLE;
        let mut at = self.latest.borrow_mut().remove(&line).unwrap_or(NONE);
        while at != NONE {
            let seat = &self.seats[at as usize];
            seat.parked.set(false);
            let core = at as usize;
            let woken = key(time.max(seat.since.get()), core).min(queue.key_of(core));
            queue.set(core, woken);
            earliest = earliest.min(woken);
            at = seat.before.get();
        }
        earliest
    }

    /// Returns true if `core` is parked and no deadline will end its wait.
    pub(crate) fn is_stuck(&self, core: usize, queue: &Tournament) -> bool {
        self.seats[core].parked.get() && queue.key_of(core) == IDLE
    }

    /// Describes in words what `core` waits for.
    pub(crate) fn explain(&self, core: usize, queue: &Tournament) -> String {
        let seat = &self.seats[core];
        let deadline = match queue.key_of(core) {
            IDLE => String::new(),
            key => format!(", until cycle {}", time_of(key)),
        };
        format!(
            "core {core} waits for the line at offset {:#x} since cycle {}{deadline}",
            seat.line.get(),
            seat.since.get()
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waiters_are_woken_together_unless_they_gave_up() {
        let queue = Tournament::new(4);
        let waiting = Waiting::new(4);
        for core in 0..4 {
            waiting.park(core, 64, 10 * core as u64);
        }
        for gone in [1, 3] {
            assert!(waiting.give_up(gone));
            assert!(!waiting.give_up(gone));
        }
        assert!(waiting.is_stuck(2, &queue));
        assert!(waiting.explain(2, &queue).contains("core 2 waits for the line at offset 0x40"));
        assert_eq!(waiting.wake(64, 5, &queue), key(5, 0));
        assert_eq!((queue.key_of(1), queue.key_of(2)), (IDLE, key(20, 2)));
        assert_eq!(waiting.wake(64, 5, &queue), IDLE);
    }
}
