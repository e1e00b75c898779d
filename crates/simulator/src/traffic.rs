//! Counts the lines that are moved in a run.

use machine::{LinesMoved, Movement};
use std::cell::Cell;

/// Number of lines moved so far, by kind of movement.
#[derive(Default)]
pub(crate) struct Traffic {
    counts: [Cell<u64>; Movement::ALL.len()],
}

impl Traffic {
    /// Counts a line that is moved in the way `near`, or in the way `far` if it leaves its socket.
    #[inline(always)]
    pub(crate) fn count(&self, (near, far): (Movement, Movement), leaves: bool) {
        let count = &self.counts[if leaves { far } else { near } as usize];
        count.set(count.get() + 1);
    }

    /// Returns the numbers of lines.
    pub(crate) fn lines_moved(&self) -> LinesMoved {
        std::array::from_fn(|at| self.counts[at].get()).into()
    }
}
