//! How a native thread waits for a word: it looks for a while, then it sleeps until the word is changed.
//!
//! Looking is right when the change comes soon, from a thread that runs. Sleeping is right when it comes late: because
//! the other one has lost its processor, to this thread or to some other program, or because there is much to be done
//! before. A thread can't know which it is, so it goes by what it has met lately: waits that ended while it looked let it
//! look longer, those that did not, shorter.

use super::{
    NativeCore,
    parking::{Aim, Sleeper},
};
use crate::{Category, Core, NEVER, TimedOut, Word};
use std::{
    cell::Cell,
    sync::atomic::Ordering,
    time::{Duration, Instant},
};

/// The fewest and the most looks before a thread sleeps. Between two of them a processor stands back for some 10 to 150
/// cycles, so these are about a microsecond and some tens of them.
const FEWEST_LOOKS: u32 = 64;
const MOST_LOOKS: u32 = 1024;

/// How often a thread looks before it sleeps.
#[derive(Debug)]
pub(super) struct Patience(Cell<u32>);

impl Patience {
    /// As long as nothing is known.
    pub const fn at_first() -> Patience {
        Patience(Cell::new(MOST_LOOKS / 4))
    }

    /// A wait ended at look number `looks`: twice as many would have done even if it had taken longer.
    fn rewarded(&self, looks: u32) {
        let now = self.0.get();
        let longer = (2 * looks).saturating_sub(now) / 4;
        self.0.set((now + longer).min(MOST_LOOKS));
    }

    fn disappointed(&self) {
        let now = self.0.get();
        self.0.set((now - now / 4).max(FEWEST_LOOKS));
    }
}

/// One wait.
pub(super) struct Wait<'a> {
    pub word: &'a Word,
    pub deadline: u64,
    pub aim: Aim,
}

impl NativeCore {
    /// Waits while `condition` holds of the word, which it has done just now. One copy of this for all conditions: who
    /// comes here has time.
    #[cold]
    #[inline(never)]
    pub(super) fn wait(
        &self,
        wait: Wait<'_>,
        condition: &mut dyn FnMut(u64) -> bool,
    ) -> Result<u64, TimedOut> {
        let before = self.account(Category::Wait);
        let patience = self.patience.0.get();
        let result = match self.watch(&wait, patience, condition) {
            Ok((looks, value)) => {
                self.patience.rewarded(looks);
                Ok(value)
            }
            Err(TimedOut) => self.sleep(&wait, condition),
        };
        self.account(before);
        result
    }

    /// Looks at the word up to `most` times, or until the deadline. How often, and what was found, if `condition`
    /// ceased to hold.
    fn watch(
        &self,
        wait: &Wait<'_>,
        most: u32,
        condition: &mut dyn FnMut(u64) -> bool,
    ) -> Result<(u32, u64), TimedOut> {
        for looks in 1..=most {
            let value = wait.word.atomic().load(Ordering::Acquire);
            if !condition(value) {
                return Ok((looks, value));
            }
            if self.is_past(wait.deadline) {
                break;
            }
            std::hint::spin_loop();
        }
        Err(TimedOut)
    }

    fn sleep(
        &self,
        wait: &Wait<'_>,
        condition: &mut dyn FnMut(u64) -> bool,
    ) -> Result<u64, TimedOut> {
        if !self.is_past(wait.deadline) {
            self.patience.disappointed();
        }
        let mut sleeper = None;
        loop {
            let value = wait.word.atomic().load(Ordering::Acquire);
            if !condition(value) {
                return Ok(value);
            }
            if self.is_past(wait.deadline) {
                return Err(TimedOut);
            }
            // Counted before the look that decides.
            let Some(sleeper) = &mut sleeper else {
                sleeper = Some(Sleeper::of(wait.word));
                continue;
            };
            let until = Instant::now() + sleeper.longest().min(self.time_left(wait.deadline));
            sleeper.sleep(value, wait.aim, Some(until));
            // Who was woken to take the word may have been overtaken just now, by somebody who is soon done with it.
            if let Ok((_, value)) = self.watch(wait, FEWEST_LOOKS, condition) {
                return Ok(value);
            }
        }
    }

    fn is_past(&self, deadline: u64) -> bool {
        deadline != NEVER && self.now() >= deadline
    }

    fn time_left(&self, deadline: u64) -> Duration {
        match deadline {
            NEVER => Duration::MAX,
            _ => self.time_of(deadline.saturating_sub(self.now())),
        }
    }

    /// How long `ticks` of the clock are.
    pub(super) fn time_of(&self, ticks: u64) -> Duration {
        let nanos = u128::from(ticks) * 1_000_000_000 / u128::from(self.ticks_per_second());
        Duration::from_nanos(u64::try_from(nanos).unwrap_or(u64::MAX))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patience_follows_what_waits_have_been_like() {
        let patience = Patience::at_first();
        (0..50).for_each(|_| patience.disappointed());
        assert_eq!(patience.0.get(), FEWEST_LOOKS);
        // A change that came at once teaches nothing, one that came late does.
        patience.rewarded(3);
        assert_eq!(patience.0.get(), FEWEST_LOOKS);
        (0..50).for_each(|_| patience.rewarded(patience.0.get()));
        assert_eq!(patience.0.get(), MOST_LOOKS);
    }
}
