//! Makes a native thread wait for a word. A wait has three phases:
//!
//! 1. *Spin*: it reads the word a number of times.
//! 2. *Offer*: it yields its processor to other threads for up to a millisecond.
//! 3. *Sleep*: it parks until the word is changed.
//!
//! Spinning is right if the change comes soon, from a running thread. Sleeping is right if the change comes
//! late: because the other thread was preempted, by this thread or by another program, or because it has much
//! to do first. A thread cannot know which case it is in, so it adapts to its recent waits. Waits that ended
//! while the thread was spinning make it spin longer. So do waits that ended soon while no other thread took the
//! offered processor: the change came from another processor. Other waits make it spin shorter.
//!
//! Among threads of one database, offering costs less than sleeping and waking. That holds above all if a
//! processor would otherwise become idle, because an idle processor takes some fifty microseconds to come back.
//! But a program that never stops ([`strangers`]) takes an offered processor for its whole time slice, which is
//! milliseconds. A thread that meets such a program makes no offers for a while. This time doubles with each
//! further expensive offer.

use super::{
    NativeCore,
    clock::time_until,
    crew::{Awaited, Yielded},
    parking::{Aim, Sleeper},
    strangers,
};
use crate::{Category, Core, NEVER, TimedOut, Word};
use std::{
    cell::Cell,
    sync::atomic::Ordering,
    time::{Duration, Instant},
};

/// Smallest and largest number of looks while a thread spins. Between two looks a processor pauses for some 10
/// to 150 cycles. So the numbers correspond to about a microsecond and to some tens of microseconds.
const FEWEST_LOOKS: u32 = 64;
const MOST_LOOKS: u32 = 1024;

/// Time for which a thread offers its processor before it sleeps.
const OFFERED: Duration = Duration::from_millis(1);
/// Duration from which on an offer counts as expensive, if other programs are present. Such a long offer was
/// used by a thread that does not stop.
const DEAR: Duration = Duration::from_micros(500);
/// Duration from which on an offer was taken: another thread used the processor. A call that nobody takes is over
/// in less than a microsecond.
const TAKEN: Duration = Duration::from_micros(3);
/// Duration up to which a wait that ended in an offer that nobody took could have ended while spinning.
const SOON: Duration = Duration::from_micros(10);
/// Smallest and largest number of waits without an offer after an expensive one.
const FEWEST_WITHOUT: u32 = 64;
const MOST_WITHOUT: u32 = 1 << 14;

/// The lengths of the phases before a thread sleeps. They adapt to recent waits.
#[derive(Debug)]
pub(super) struct Patience {
    /// Number of looks while spinning. Always between `FEWEST_LOOKS` and `MOST_LOOKS`.
    looks: Cell<u32>,
    /// Number of the next waits that make no offer.
    without: Cell<u32>,
    /// Value that `without` gets at the next expensive offer.
    penalty: Cell<u32>,
}

impl Patience {
    /// Returns the initial state, when nothing is known yet.
    pub const fn at_first() -> Patience {
        Patience {
            looks: Cell::new(MOST_LOOKS / 4),
            without: Cell::new(0),
            penalty: Cell::new(FEWEST_WITHOUT),
        }
    }

    /// Adapts to a wait that ended at look number `looks`. Aims at twice as many looks, so that a slightly
    /// longer wait would still have ended while spinning.
    fn rewarded(&self, looks: u32) {
        let now = self.looks.get();
        let longer = (2 * looks).saturating_sub(now) / 4;
        self.looks.set((now + longer).min(MOST_LOOKS));
    }

    /// Adapts to a wait that ended soon after the thread had stopped spinning, while no other thread used its
    /// processor.
    fn stopped_early(&self) {
        self.looks.set((2 * self.looks.get()).min(MOST_LOOKS));
    }

    /// Adapts to a wait that did not end while spinning.
    fn disappointed(&self) {
        let now = self.looks.get();
        self.looks.set((now - now / 4).max(FEWEST_LOOKS));
    }

    /// Returns true if this wait should make an offer.
    fn offers(&self) -> bool {
        let without = self.without.get();
        self.without.set(without.saturating_sub(1));
        without == 0
    }

    /// Adapts to an offer. A thread that has slept much gets its processor back at once for a while, because
    /// the scheduler owes it time. So a cheap offer says little, and it lowers the penalty only slowly.
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

/// Parameters of one wait.
pub(super) struct Wait<'a> {
    pub word: &'a Word,
    pub deadline: u64,
    pub aim: Aim,
}

impl NativeCore {
    /// Waits while `condition` holds for the word. The caller has just seen that it holds. There is one copy of
    /// this function for all conditions, because a thread that gets here has time.
    #[cold]
    #[inline(never)]
    pub(super) fn wait(
        &self,
        wait: Wait<'_>,
        condition: &mut dyn FnMut(u64) -> bool,
    ) -> Result<u64, TimedOut> {
        let before = self.account(Category::Wait);
        if self.fiber.is_fiber() {
            let result = self.wait_as_fiber(&wait, condition);
            self.account(before);
            return result;
        }
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

    /// Reads the word up to `most` times, or until the deadline. If `condition` ceases to hold, returns the
    /// number of looks and the value.
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

    /// Offers the processor to other threads for a moment, if that has not been expensive lately.
    fn offer(
        &self,
        wait: &Wait<'_>,
        condition: &mut dyn FnMut(u64) -> bool,
    ) -> Result<u64, TimedOut> {
        if self.is_past(wait.deadline) {
            return Err(TimedOut);
        }
        if !self.patience.offers() {
            self.patience.disappointed();
            return Err(TimedOut);
        }
        let begun = Instant::now();
        let (mut before, mut taken) = (begun, false);
        loop {
            std::thread::yield_now();
            let now = Instant::now();
            taken |= now - before >= TAKEN;
            let dear = now - before >= DEAR && strangers::are_here();
            let value = wait.word.atomic().load(Ordering::Acquire);
            let over = !condition(value);
            if over || dear || now - begun >= OFFERED || self.is_past(wait.deadline) {
                match over && !taken && now - begun <= SOON {
                    true => self.patience.stopped_early(),
                    false => self.patience.disappointed(),
                }
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
            // The thread must be counted before the look that decides, so it looks again.
            let Some(sleeper) = &mut sleeper else {
                sleeper = Some(Sleeper::of(wait.word));
                continue;
            };
            let until = Instant::now() + sleeper.longest().min(time_until(wait.deadline));
            sleeper.sleep(value, wait.aim, Some(until));
            // Another thread can have overtaken a thread that was woken to acquire the word. That thread will
            // soon release it, so this one spins first.
            if let Ok((_, value)) = self.watch(wait, FEWEST_LOOKS, condition) {
                return Ok(value);
            }
        }
    }

    fn is_past(&self, deadline: u64) -> bool {
        deadline != NEVER && self.now() >= deadline
    }

    /// Lets the other fibers of the thread run until `condition` does not hold for the word any more.
    fn wait_as_fiber(
        &self,
        wait: &Wait<'_>,
        condition: &mut dyn FnMut(u64) -> bool,
    ) -> Result<u64, TimedOut> {
        loop {
            let value = wait.word.atomic().load(Ordering::Acquire);
            if !condition(value) {
                return Ok(value);
            }
            if self.is_past(wait.deadline) {
                return Err(TimedOut);
            }
            let word = Some((std::ptr::from_ref(wait.word), value));
            self.fiber.switch(Yielded::Waiting(Awaited { word, deadline: wait.deadline }));
        }
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
        // A wait that ended at once changes nothing. A wait that ended late makes the thread spin longer.
        patience.rewarded(3);
        assert_eq!(patience.looks.get(), FEWEST_LOOKS);
        (0..50).for_each(|_| patience.rewarded(patience.looks.get()));
        assert_eq!(patience.looks.get(), MOST_LOOKS);
        // A thread that stopped spinning a moment too early spins longer, however short it has become.
        (0..50).for_each(|_| patience.disappointed());
        (0..4).for_each(|_| patience.stopped_early());
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
