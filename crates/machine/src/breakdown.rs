//! Breakdown of a core's time, in the categories of the papers.

use std::cell::Cell;

/// Activity of a core (Abyss 3.2, with commit and back-off as separate categories, as in the 2022 paper). The
/// categories are exclusive.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[repr(u8)]
pub enum Category {
    /// The procedure's own logic, and copying the data that it asked for.
    Useful,
    /// Index lookups.
    Index,
    /// Concurrency-control metadata: locks, timestamps of records, read sets and write sets.
    ConcurrencyControl,
    /// Drawing timestamps.
    TimestampAllocation,
    /// Waiting for a lock or for the decision of another transaction.
    Wait,
    /// Aborted attempts as a whole, and rolling them back.
    Abort,
    /// Back-off before another attempt.
    BackOff,
    /// Validation and installation of writes.
    Commit,
    /// Nothing to do: in an open loop, no transaction has arrived.
    Idle,
}

impl Category {
    /// Every category, in the order of reports.
    pub const ALL: [Category; 9] = [
        Category::Useful,
        Category::Index,
        Category::ConcurrencyControl,
        Category::TimestampAllocation,
        Category::Wait,
        Category::Abort,
        Category::BackOff,
        Category::Commit,
        Category::Idle,
    ];

    /// Returns the name used in records, for example `timestamp_allocation`.
    pub const fn name(self) -> &'static str {
        match self {
            Category::Useful => "useful",
            Category::Index => "index",
            Category::ConcurrencyControl => "concurrency_control",
            Category::TimestampAllocation => "timestamp_allocation",
            Category::Wait => "wait",
            Category::Abort => "abort",
            Category::BackOff => "back_off",
            Category::Commit => "commit",
            Category::Idle => "idle",
        }
    }
}

/// Number of ticks spent in each category, in the order of [`Category::ALL`].
pub type Spent = [u64; Category::ALL.len()];

/// Stopwatch of one core. Switching to a category ends the previous one, so the sum of all categories is the
/// total time.
#[derive(Debug)]
#[repr(C)]
pub struct Breakdown {
    /// Time of the last switch, in ticks.
    since: Cell<u64>,
    current: Cell<Category>,
    enabled: Cell<bool>,
    /// Ticks spent in each category.
    spent: [Cell<u64>; Category::ALL.len()],
    /// Copy of `spent` at the begin of the running attempt.
    attempt: [Cell<u64>; Category::ALL.len()],
    /// Part of the time in [`Category::Wait`] that belongs to attempts that were rolled back.
    waited_in_vain: Cell<u64>,
}

impl Breakdown {
    /// Makes a stopwatch. If `enabled` is false, it is off, and `Core::account` does not use it.
    pub fn new(enabled: bool) -> Breakdown {
        Breakdown {
            spent: Default::default(),
            attempt: Default::default(),
            current: Cell::new(Category::Useful),
            since: Cell::new(0),
            enabled: Cell::new(enabled),
            waited_in_vain: Cell::new(0),
        }
    }

    /// Returns true if the stopwatch runs. On a native machine it is off unless asked for, because reading the
    /// clock costs time.
    #[inline(always)]
    pub fn enabled(&self) -> bool {
        self.enabled.get()
    }

    /// Clears all measurements and starts at `now`, in [`Category::Useful`].
    pub fn restart(&self, now: u64) {
        for cell in self.spent.iter().chain(&self.attempt) {
            cell.set(0);
        }
        self.waited_in_vain.set(0);
        self.current.set(Category::Useful);
        self.since.set(now);
    }

    /// Assigns the time from `now` on to `category`. Returns the category that ended.
    #[inline]
    pub fn switch(&self, now: u64, category: Category) -> Category {
        let before = self.current.replace(category);
        let cell = &self.spent[before as usize];
        cell.set(cell.get() + now.saturating_sub(self.since.replace(now)));
        before
    }

    /// Begins an attempt of a transaction at `now`.
    #[inline]
    pub fn attempt_begins(&self, now: u64) {
        self.switch(now, Category::Useful);
        for (mark, spent) in self.attempt.iter().zip(&self.spent) {
            mark.set(spent.get());
        }
    }

    /// Ends an attempt that was rolled back at `now`. Moves all its time to [`Category::Abort`], except for
    /// waiting and back-off.
    pub fn attempt_aborted(&self, now: u64) {
        self.switch(now, Category::Useful);
        let mut wasted = 0;
        for category in Category::ALL {
            if matches!(category, Category::Wait | Category::BackOff) {
                continue;
            }
            let i = category as usize;
            let since_mark = self.spent[i].get() - self.attempt[i].get();
            wasted += since_mark;
            self.spent[i].set(self.attempt[i].get());
        }
        let abort = &self.spent[Category::Abort as usize];
        abort.set(abort.get() + wasted);
        let wait = Category::Wait as usize;
        let waited = self.spent[wait].get() - self.attempt[wait].get();
        self.waited_in_vain.set(self.waited_in_vain.get() + waited);
    }

    /// Returns the part of the time in [`Category::Wait`] that belongs to attempts that were rolled back so far, in ticks.
    pub fn waited_in_vain(&self) -> u64 {
        self.waited_in_vain.get()
    }

    /// Returns the ticks spent so far. The running category is included up to `now`.
    pub fn read(&self, now: u64) -> Spent {
        self.switch(now, self.current.get());
        std::array::from_fn(|i| self.spent[i].get())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn categories_are_exclusive_and_sum_to_the_total() {
        let b = Breakdown::new(true);
        b.restart(100);
        b.attempt_begins(110);
        assert_eq!(b.switch(130, Category::Index), Category::Useful);
        b.switch(135, Category::Wait);
        b.switch(165, Category::Useful);
        b.attempt_aborted(170);
        b.switch(171, Category::BackOff);
        b.attempt_begins(200);
        b.switch(210, Category::Wait);
        b.switch(220, Category::Useful);
        assert_eq!(b.waited_in_vain(), 30, "the attempt that runs has not been rolled back");
        let spent = b.read(250);
        assert_eq!(spent.iter().sum::<u64>(), 150);
        assert_eq!(spent[Category::Wait as usize], 30 + 10);
        assert_eq!(spent[Category::Abort as usize], 20 + 5 + 5);
        assert_eq!(spent[Category::BackOff as usize], 29);
        assert_eq!(spent[Category::Index as usize], 0);
        assert_eq!(spent[Category::Useful as usize], 10 + 1 + 40);
    }
}
