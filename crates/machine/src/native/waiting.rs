//! How a native thread waits for a word: it looks for a while, then it sleeps until the word is changed.
//!
//! Looking is right when the change comes soon, from a thread that runs. Sleeping is right when it comes late: because
//! the other one has lost its processor, to this thread or to some other program, or because there is much to be done
//! before. A thread can't know which it is, so it goes by what it has met lately: waits that ended while it looked let it
//! look longer, those that did not, shorter.
//!
//! Between the two it offers its processor to others for up to a millisecond. Among threads of one database that is
//! cheaper than sleep and wake, above all where a processor would be idle otherwise, as one that has fallen idle takes
//! some fifty microseconds to come back. But if some other program is there that never stops ([`strangers`]), it takes the processor for its whole
//! time slice, which is milliseconds. A thread that meets one makes no offers for a while, which doubles each time.

use super::{
    NativeCore,
    parking::{Aim, Sleeper},
    strangers,
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

/// For how long a thread offers its processor before it sleeps.
const OFFERED: Duration = Duration::from_millis(1);
/// An offer that takes so long was taken by somebody who does not stop. If that is another program, it was dear.
const DEAR: Duration = Duration::from_micros(500);
/// The fewest and the most waits without an offer after a dear one.
const FEWEST_WITHOUT: u32 = 64;
const MOST_WITHOUT: u32 = 1 << 14;

/// How long a thread waits in which way before it sleeps.
#[derive(Debug)]
pub(super) struct Patience {
    /// How often it looks.
    looks: Cell<u32>,
    /// The next waits in which it makes no offer.
    without: Cell<u32>,
    /// How many these will be after the next dear offer.
    penalty: Cell<u32>,
}

impl Patience {
    /// As long as nothing is known.
    pub const fn at_first() -> Patience {
        Patience {
            looks: Cell::new(MOST_LOOKS / 4),
            without: Cell::new(0),
            penalty: Cell::new(FEWEST_WITHOUT),
        }
    }

    /// A wait ended at look number `looks`: twice as many would have done even if it had taken longer.
    fn rewarded(&self, looks: u32) {
        let now = self.looks.get();
        let longer = (2 * looks).saturating_sub(now) / 4;
        self.looks.set((now + longer).min(MOST_LOOKS));
    }

    fn disappointed(&self) {
        let now = self.looks.get();
        self.looks.set((now - now / 4).max(FEWEST_LOOKS));
    }

    /// Whether to make an offer in this wait.
    fn offers(&self) -> bool {
        let without = self.without.get();
        self.without.set(without.saturating_sub(1));
        without == 0
    }

    /// What an offer was like. A thread that has slept much is owed time, and gets its processor back at once for a while, so
    /// one that was cheap says little.
    fn offered(&self, dear: bool) {
        let penalty = self.penalty.get();
        if dear {
            self.without.set(penalty);
            self.penalty.set((2 * penalty).min(MOST_WITHOUT));
        } else {
            self.penalty.set((penalty - penalty / 16).max(FEWEST_WITHOUT));
        }
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
        let result = match self.watch(&wait, self.patience.looks.get(), condition) {
            Ok((looks, value)) => {
                self.patience.rewarded(looks);
                Ok(value)
            }
            Err(TimedOut) => {
                let offered = self.offer(&wait, condition);
                offered.or_else(|TimedOut| self.sleep(&wait, condition))
            }
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

    /// Offers the processor to others for a moment, if that has not been dear lately.
    fn offer(
        &self,
        wait: &Wait<'_>,
        condition: &mut dyn FnMut(u64) -> bool,
    ) -> Result<u64, TimedOut> {
        if self.is_past(wait.deadline) {
            return Err(TimedOut);
        }
        self.patience.disappointed();
        if !self.patience.offers() {
            return Err(TimedOut);
        }
        let begun = Instant::now();
        let mut before = begun;
        loop {
            std::thread::yield_now();
            let now = Instant::now();
            let dear = now - before >= DEAR && strangers::are_here();
            let value = wait.word.atomic().load(Ordering::Acquire);
            let over = !condition(value);
            if over || dear || now - begun >= OFFERED || self.is_past(wait.deadline) {
                self.patience.offered(dear);
                return if over { Ok(value) } else { Err(TimedOut) };
            }
            before = now;
        }
    }

    fn sleep(
        &self,
        wait: &Wait<'_>,
        condition: &mut dyn FnMut(u64) -> bool,
    ) -> Result<u64, TimedOut> {
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
        assert_eq!(patience.looks.get(), FEWEST_LOOKS);
        // A change that came at once teaches nothing, one that came late does.
        patience.rewarded(3);
        assert_eq!(patience.looks.get(), FEWEST_LOOKS);
        (0..50).for_each(|_| patience.rewarded(patience.looks.get()));
        assert_eq!(patience.looks.get(), MOST_LOOKS);
    }

    #[test]
    fn dear_offers_grow_rare_and_cheap_ones_make_up_for_them_slowly() {
        let patience = Patience::at_first();
        let without = || (0..).take_while(|_| !patience.offers()).count() as u32;
        assert_eq!(without(), 0);
        for penalty in [FEWEST_WITHOUT, 2 * FEWEST_WITHOUT, 4 * FEWEST_WITHOUT] {
            patience.offered(true);
            assert_eq!(without(), penalty);
        }
        (0..20).for_each(|_| patience.offered(true));
        assert_eq!(without(), MOST_WITHOUT);
        patience.offered(false);
        assert_eq!(without(), 0);
        patience.offered(true);
        assert!(without() > MOST_WITHOUT / 2);
        (0..200).for_each(|_| patience.offered(false));
        patience.offered(true);
        assert_eq!(without(), FEWEST_WITHOUT);
    }
}
