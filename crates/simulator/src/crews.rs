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

use crate::queue::{Tournament, key};
use std::{
    cell::{Cell, RefCell},
    collections::VecDeque,
};

/// Number of cycles of a switch to another fiber: it saves and loads the registers, and the branch predictor misses
/// (a switch takes 5 to 10 ns natively: `cargo bench -p kilocore-machine --bench fibers`).
pub(crate) const SWITCH_CYCLES: u64 = 20;

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
    fibers: usize,
    crews: Box<[Crew]>,
}

impl Crews {
    /// Divides `workers` cores into crews of `fibers` each. Returns none if a crew has one fiber.
    pub(crate) fn of(workers: usize, fibers: usize) -> Option<Crews> {
        let crews = (0..workers.div_ceil(fibers)).map(|_| Crew::default()).collect();
        (fibers > 1).then_some(Crews { fibers, crews })
    }

    /// Returns the crew of core `id`. Services have none.
    fn of_core(&self, id: usize) -> Option<&Crew> {
        self.crews.get(id / self.fibers)
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

    #[test]
    fn one_fiber_of_a_crew_goes_on_at_a_time() {
        let queue = Tournament::new(5);
        let crews = Crews::of(4, 2).expect("crews of two");
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
        assert!(Crews::of(4, 1).is_none());
    }
}
