//! Intervals between the looks of a spinning thread, which grow: 1, 3, 7 and then always 15 PAUSE instructions.
//!
//! Source: the code of The Full Story of 1000 Cores (Bang et al., 2022).

use machine::Core;

/// Number of PAUSE instructions of the longest interval.
const LONGEST: u32 = 15;

/// The intervals of one wait.
pub struct Pauses {
    /// Number of PAUSE instructions of the next interval.
    next: u32,
    /// Number of PAUSE instructions of all intervals before.
    made: u32,
}

impl Default for Pauses {
    fn default() -> Self {
        Pauses { next: 1, made: 0 }
    }
}

impl Pauses {
    /// Waits for the next interval. Returns false and does not wait if the wait has lasted for `most` PAUSE instructions.
    pub fn wait<C: Core>(&mut self, core: &C, most: Option<u32>) -> bool {
        let left = most.map_or(LONGEST, |most| most.saturating_sub(self.made));
        let interval = self.next.min(left);
        if interval == 0 {
            return false;
        }
        core.back_off(u64::from(interval) * core.pause_ticks());
        // A wait without an end does not need the sum.
        self.made = self.made.saturating_add(interval);
        self.next = (2 * self.next + 1).min(LONGEST);
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use machine::{Native, NativeOptions};

    #[test]
    fn a_wait_of_26_pauses_has_four_intervals() {
        let machine = Native::new(NativeOptions::default()).unwrap();
        let core = machine.core(0);
        let looks = |most| {
            let mut pauses = Pauses::default();
            std::iter::from_fn(|| pauses.wait(&core, Some(most)).then_some(())).count()
        };
        assert_eq!((looks(0), looks(1), looks(4), looks(26), looks(27)), (0, 1, 2, 4, 5));
    }
}
