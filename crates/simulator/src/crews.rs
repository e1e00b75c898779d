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
//! A fiber that moves leaves its crew and enters another one, to which it belongs from then on. What the move costs besides:
//! the fiber adds itself to the queue of the other core, and is taken out of it there. That is an atomic operation of each
//! core on the queue's line. The part of its stack that is in use follows: [`STACK_BYTES`] that the first core has written and
//! the second one reads and writes.

use crate::{
    line::SimLine,
    queue::{Tournament, key},
};
use machine::{Arena, Fibers, OutOfMemory, Place, Shared, Word, Zeroed, cold::Arc};
use std::{
    cell::{Cell, RefCell},
    collections::VecDeque,
};

/// Number of cycles of a switch to another fiber: it saves and loads the registers, and the branch predictor misses
/// (a switch takes 5 to 10 ns natively: `cargo bench -p kilocore-machine --bench fibers`).
pub(crate) const SWITCH_CYCLES: u64 = 20;

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
}

impl Crews {
    /// Divides `workers` cores into crews. Returns none if a crew has one fiber, which stays there.
    pub(crate) fn of(
        workers: usize,
        fibers: Fibers,
        arena: &Arc<Arena>,
    ) -> Result<Option<Crews>, OutOfMemory> {
        if fibers.count() == 1 && !fibers.can_move() {
            return Ok(None);
        }
        let cores = workers.div_ceil(fibers.count());
        let moves = || {
            Ok(Moves {
                queues: (0..cores).map(|_| arena.place(Place::Any)).collect::<Result<_, _>>()?,
                stacks: (0..workers).map(|_| arena.place(Place::Any)).collect::<Result<_, _>>()?,
            })
        };
        Ok(Some(Crews {
            fibers: fibers.count(),
            of_worker: (0..workers).map(|id| Cell::new(id / fibers.count())).collect(),
            crews: (0..cores).map(|_| Crew::default()).collect(),
            moves: if fibers.can_move() { Some(moves()?) } else { None },
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
        crew.holder.set(Some(id));
        Some(now.max(crew.idle_since.get() + SWITCH_CYCLES))
    }

    /// Notes that `id` does not need the modelled core from `now` on. Returns the key of the next holder, if there is one.
    pub(crate) fn leave(&self, id: usize, now: u64, queue: &Tournament) -> Option<u64> {
        let crew = self.of_core(id).filter(|crew| crew.holder.get() == Some(id))?;
        crew.idle_since.set(now);
        let next = crew.ready.borrow_mut().pop_front();
        crew.holder.set(next);
        let next = next?;
        let key = key(now + SWITCH_CYCLES, next);
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
    use crate::queue::IDLE;
    use machine::ArenaOptions;

    fn crews(workers: usize, fibers: usize) -> Option<Crews> {
        let arena = ArenaOptions { reserve_bytes: 1 << 20, ..ArenaOptions::default() };
        let arena = Arc::new(Arena::new(&arena).expect("an arena"));
        Crews::of(workers, Fibers::of_core(fibers), &arena).expect("nothing is allocated")
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
