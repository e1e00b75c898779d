//! Crews: the fibers that share a modelled core.
//!
//! Each fiber is a core of the scheduler, with a clock and a key of its own. A crew has one holder, the fiber that the
//! modelled core executes. The other fibers are parked, or they are ready and wait for their turn without a key.
//!
//! - A fiber that parks, pauses or ends *leaves*: the fiber that has been ready for the longest time becomes the holder,
//!   and gets a key after the cost of a switch. If none is ready, the modelled core is idle from then on.
//! - A fiber that is woken, or whose pause is over, *enters*: it becomes the holder if the modelled core is idle.
//!   Otherwise it becomes ready.
//!
//! So the clocks of a crew's fibers never overlap while they hold it. A fiber's wait for its turn counts as waiting.
//!
//! The members of a crew can also be threads, which the operating system interrupts. Each keeps the core for one time slice at most,
//! while others are ready. Then it goes to the end of the queue, wherever its code is. Threads run in turn: one that is woken does
//! not interrupt the one that runs. A switch from one to another takes [`THREAD_SWITCH_NS`].
//!
//! A fiber that moves leaves its crew and enters another one, to which it belongs from then on. What the move costs besides:
//! the fiber adds itself to the queue of the other core, and is taken out of it there. That is an atomic operation of each
//! core on the queue's line. The part of its stack that is in use follows: [`STACK_BYTES`] that the first core has written and
//! the second one reads and writes.

use crate::{
    core::LATEST,
    line::SimLine,
    queue::{IDLE, Tournament, key},
};
use machine::{Arena, OutOfMemory, Place, Shared, Sharing, Word, Zeroed, cold::Arc};
use std::{
    cell::{Cell, RefCell},
    collections::VecDeque,
};

/// Number of cycles of a switch to another fiber: it saves and loads the registers, and the branch predictor misses
/// (a switch takes 5 to 10 ns natively: `cargo bench -p kilocore-machine --bench fibers`).
pub(crate) const SWITCH_CYCLES: u64 = 20;

/// Time of a switch to another thread, in nanoseconds. Li, Ding and Shen (Quantifying the cost of context switch, ExpCS 2007)
/// measure 3.8 us with pipes on a Xeon of 2 GHz; later measurements of the switch alone are 1 to 2 us. What the other thread does to the
/// caches comes on top, and is modelled.
const THREAD_SWITCH_NS: u64 = 1500;

/// Longest pause in which a thread spins, in nanoseconds. Longer ones sleep, as on the native machine if there are more threads than
/// processors.
const SPIN_NS: u64 = 10_000;

/// Bytes of a fiber's stack that are in use when it moves: the saved registers, and the frames of the loop, the procedure and
/// the access under way. With the line's own bytes these are eight lines of 64 bytes. What lies deeper is not used until the
/// procedure ends.
const STACK_BYTES: usize = 8 * 64 - crate::core::HEADER_BYTES;

/// The queue of the fibers that have moved to a core.
#[repr(C, align(64))]
pub(crate) struct Queue {
    pub line: SimLine,
    /// Number of fibers that have come.
    pub head: Word,
}

/// The part of a fiber's stack that moves with it.
#[repr(C, align(64))]
pub(crate) struct StackTop {
    pub line: SimLine,
    bytes: [u64; STACK_BYTES / 8],
}

// SAFETY: a line and a word, which are valid as zeros.
unsafe impl Zeroed for Queue {}
// SAFETY: a line and integers, which are valid as zeros.
unsafe impl Zeroed for StackTop {}

impl StackTop {
    /// Length of the part, without the line's own bytes.
    pub(crate) const BYTES: usize = STACK_BYTES;
}

/// What moves need: a queue of each core and the stack of each fiber.
struct Moves {
    queues: Box<[Shared<Queue>]>,
    stacks: Box<[Shared<StackTop>]>,
}

/// A modelled core with several fibers.
#[derive(Default)]
struct Crew {
    /// The fiber that is executed.
    holder: Cell<Option<usize>>,
    /// Fibers that can go on, the longest ready first.
    ready: RefCell<VecDeque<usize>>,
    /// Time from which on the modelled core is idle. It counts only if there is no holder.
    idle_since: Cell<u64>,
    /// Time at which the holder's slice ends, if members are threads.
    slice_ends: Cell<u64>,
    /// The member that held the core last.
    last: Cell<Option<usize>>,
}

impl Crew {
    /// Makes `id` the holder, which goes on at `time`.
    fn give_to(&self, id: usize, time: u64, slice_ticks: u64) {
        self.holder.set(Some(id));
        self.last.set(Some(id));
        self.slice_ends.set(time.saturating_add(slice_ticks));
    }
}

/// All crews of a run.
pub(crate) struct Crews {
    /// Number of workers that begin on each core.
    fibers: usize,
    /// Number of the crew of each worker.
    of_worker: Box<[Cell<usize>]>,
    crews: Box<[Crew]>,
    /// None if fibers stay where they are.
    moves: Option<Moves>,
    /// Length of a slice, if members are threads that are interrupted.
    slice_ticks: Option<u64>,
    /// Set if members are threads.
    threads: bool,
    /// Cycles of a switch to another member.
    switch_cycles: u64,
    /// Shortest pause, in ticks, for which a thread sleeps.
    spins: u64,
    /// Set for a thread that was interrupted and has not gone on since.
    interrupted: Box<[Cell<bool>]>,
}

impl Crews {
    /// Divides `workers` cores into crews. Returns none if a crew has one fiber, which stays there.
    pub(crate) fn of(
        workers: usize,
        sharing: Sharing,
        arena: &Arc<Arena>,
        ticks_per_second: u64,
    ) -> Result<Option<Crews>, OutOfMemory> {
        if sharing.count() == 1 && !sharing.can_move() {
            return Ok(None);
        }
        let cores = workers.div_ceil(sharing.count());
        let moves = || {
            Ok(Moves {
                queues: (0..cores).map(|_| arena.place(Place::Any)).collect::<Result<_, _>>()?,
                stacks: (0..workers).map(|_| arena.place(Place::Any)).collect::<Result<_, _>>()?,
            })
        };
        Ok(Some(Crews {
            fibers: sharing.count(),
            of_worker: (0..workers).map(|id| Cell::new(id / sharing.count())).collect(),
            crews: (0..cores).map(|_| Crew::default()).collect(),
            switch_cycles: match sharing.switches_threads() {
                false => SWITCH_CYCLES,
                true => THREAD_SWITCH_NS * ticks_per_second / 1_000_000_000,
            },
            threads: sharing.switches_threads(),
            slice_ticks: sharing.slice_ticks(),
            spins: SPIN_NS * ticks_per_second / 1_000_000_000,
            interrupted: (0..workers).map(|_| Cell::new(false)).collect(),
            moves: if sharing.can_move() { Some(moves()?) } else { None },
        }))
    }

    /// Returns the crew of core `id`. Services have none.
    fn of_core(&self, id: usize) -> Option<&Crew> {
        self.of_worker.get(id).map(|crew| &self.crews[crew.get()])
    }

    /// Returns the number of the crew of worker `id`, if fibers can move.
    pub(crate) fn host(&self, id: usize) -> Option<usize> {
        self.of_worker.get(id).filter(|_| self.moves.is_some()).map(Cell::get)
    }

    /// Returns the first of the workers that begin on core `core`.
    pub(crate) fn first_of(&self, core: usize) -> usize {
        core * self.fibers
    }

    /// Makes worker `id`, which has left its crew, belong to crew `to`.
    pub(crate) fn belong_to(&self, id: usize, to: usize) {
        self.of_worker[id].set(to);
    }

    /// Returns the queue of core `to` and the stack of fiber `id`, if fibers can move.
    pub(crate) fn way(&self, id: usize, to: usize) -> Option<(&Queue, &StackTop)> {
        let moves = self.moves.as_ref()?;
        Some((&*moves.queues[to], &*moves.stacks[id]))
    }

    /// Lets `id` go on at `now`. Returns the time at which it can, or none if it has to wait for its turn.
    pub(crate) fn enter(&self, id: usize, now: u64) -> Option<u64> {
        let Some(crew) = self.of_core(id) else { return Some(now) };
        if crew.holder.get().is_some_and(|holder| holder != id) {
            crew.ready.borrow_mut().push_back(id);
            return None;
        }
        // A thread that nobody has followed goes on without a switch.
        let switched = !self.threads || crew.last.get() != Some(id);
        let switch = if switched { self.switch_cycles } else { 0 };
        let time = now.max(crew.idle_since.get() + switch);
        crew.give_to(id, time, self.slice());
        Some(time)
    }

    /// Returns the length of a slice.
    fn slice(&self) -> u64 {
        self.slice_ticks.unwrap_or(u64::MAX)
    }

    /// Returns true if a member that pauses for `ticks` keeps the core. A thread spins for a short time, as natively in a crowd.
    pub(crate) fn keeps_for(&self, ticks: u64) -> bool {
        self.slice_ticks.is_some() && ticks < self.spins
    }

    /// Returns true if members of crews are interrupted.
    pub(crate) fn interrupt(&self) -> bool {
        self.slice_ticks.is_some()
    }

    /// Returns the key at which `id` is to be interrupted, if it runs as a member of a crew in which others are ready.
    pub(crate) fn end_of_slice(&self, id: usize) -> Option<u64> {
        let crew = self.of_core(id).filter(|crew| crew.holder.get() == Some(id))?;
        let others = !crew.ready.borrow().is_empty();
        others.then(|| key(crew.slice_ends.get().min(LATEST), id))
    }

    /// Interrupts `id`, whose next operation is at `now`: another member becomes the holder, and `id` becomes ready.
    pub(crate) fn interrupt_at(&self, id: usize, now: u64, queue: &Tournament) {
        let crew = self.of_core(id).expect("services are never interrupted");
        self.interrupted[id].set(true);
        queue.set(id, IDLE);
        crew.ready.borrow_mut().push_back(id);
        self.leave(id, now, queue);
    }

    /// Returns true if `id` was interrupted and goes on now.
    pub(crate) fn takes_up(&self, id: usize) -> bool {
        self.interrupted.get(id).is_some_and(|interrupted| interrupted.replace(false))
    }

    /// Notes that `id` does not need the modelled core from `now` on. Returns the key of the next holder, if there is one.
    pub(crate) fn leave(&self, id: usize, now: u64, queue: &Tournament) -> Option<u64> {
        let crew = self.of_core(id).filter(|crew| crew.holder.get() == Some(id))?;
        crew.idle_since.set(now);
        crew.holder.set(None);
        let next = crew.ready.borrow_mut().pop_front()?;
        let time = now + self.switch_cycles;
        crew.give_to(next, time, self.slice());
        let key = key(time, next);
        queue.set(next, key);
        Some(key)
    }

    /// Returns true if another fiber of the crew of `id` waits for its turn.
    pub(crate) fn others_are_ready(&self, id: usize) -> bool {
        self.of_core(id).is_some_and(|crew| !crew.ready.borrow().is_empty())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use machine::ArenaOptions;

    fn crews(workers: usize, fibers: usize) -> Option<Crews> {
        let arena = ArenaOptions { reserve_bytes: 1 << 20, ..ArenaOptions::default() };
        let arena = Arc::new(Arena::new(&arena).expect("an arena"));
        Crews::of(workers, Sharing::fibers(fibers), &arena, 1_000_000_000)
            .expect("nothing is allocated")
    }

    #[test]
    fn one_fiber_of_a_crew_goes_on_at_a_time() {
        let queue = Tournament::new(5);
        let crews = crews(4, 2).expect("crews of two");
        assert_eq!(crews.enter(0, 100), Some(100));
        assert_eq!(crews.enter(1, 100), None);
        assert_eq!(crews.enter(2, 100), Some(100), "another crew");
        assert_eq!(crews.enter(4, 100), Some(100), "a service");
        assert!(crews.others_are_ready(0) && !crews.others_are_ready(2));
        assert_eq!(crews.leave(1, 150, &queue), None, "it does not hold the crew");
        assert_eq!(crews.leave(0, 200, &queue), Some(key(200 + SWITCH_CYCLES, 1)));
        assert_eq!((queue.key_of(1), queue.key_of(0)), (key(200 + SWITCH_CYCLES, 1), IDLE));
        assert_eq!(crews.leave(1, 300, &queue), None, "none is ready");
        assert_eq!(crews.enter(0, 250), Some(300 + SWITCH_CYCLES), "the core was busy until 300");
    }

    #[test]
    fn cores_with_one_fiber_have_no_crews() {
        assert!(crews(4, 1).is_none());
    }
}
