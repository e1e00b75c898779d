//! Where a core's time went, in the categories of the papers.

use std::cell::Cell;

/// What a core is doing (Abyss 3.2, with commit and back-off apart as in the 2022 paper). Exclusive.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[repr(u8)]
pub enum Category {
    /// The procedure's own logic, and moving the data that it asked for.
    Useful,
    /// Index probes.
    Index,
    /// Concurrency-control metadata: locks, timestamps of records, read and write sets.
    ConcurrencyControl,
    /// Drawing timestamps.
    TimestampAllocation,
    /// Waiting for a lock or for another transaction's decision.
    Wait,
    /// Attempts that were aborted, as a whole, and undoing them.
    Abort,
    /// Waiting before another attempt.
    BackOff,
    /// Validating and installing.
    Commit,
    /// Nothing to do: in an open loop no transaction has arrived.
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

    /// The name used in records, for example `timestamp_allocation`.
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

/// Ticks spent in each category, in the order of [`Category::ALL`].
pub type Spent = [u64; Category::ALL.len()];

/// One core's stopwatch. Switching to a category ends the one before, so the sum is the total.
#[derive(Debug)]
pub struct Breakdown {
    spent: [Cell<u64>; Category::ALL.len()],
    attempt: [Cell<u64>; Category::ALL.len()],
    current: Cell<Category>,
    since: Cell<u64>,
    enabled: Cell<bool>,
}

impl Breakdown {
    /// A stopwatch that runs, or one that ignores every call.
    pub fn new(enabled: bool) -> Breakdown {
        Breakdown {
            spent: Default::default(),
            attempt: Default::default(),
            current: Cell::new(Category::Useful),
            since: Cell::new(0),
            enabled: Cell::new(enabled),
        }
    }

    /// True when it runs. Natively it is off unless asked for: reading the clock costs.
    #[inline(always)]
    pub fn enabled(&self) -> bool {
        self.enabled.get()
    }

    /// Forgets what was measured and starts at `now`, in [`Category::Useful`].
    pub fn restart(&self, now: u64) {
        for cell in self.spent.iter().chain(&self.attempt) {
            cell.set(0);
        }
        self.current.set(Category::Useful);
        self.since.set(now);
    }

    /// From `now` on time belongs to `category`. Returns the category that ended.
    #[inline]
    pub fn switch(&self, now: u64, category: Category) -> Category {
        let before = self.current.replace(category);
        let cell = &self.spent[before as usize];
        cell.set(cell.get() + now.saturating_sub(self.since.replace(now)));
        before
    }

    /// An attempt of a transaction begins at `now`.
    #[inline]
    pub fn attempt_begins(&self, now: u64) {
        self.switch(now, Category::Useful);
        for (mark, spent) in self.attempt.iter().zip(&self.spent) {
            mark.set(spent.get());
        }
    }

    /// The attempt was rolled back at `now`: all that it spent, but for waiting, was spent on an abort.
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
    }

    /// Ticks spent so far, the running category up to `now` included.
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
        let spent = b.read(250);
        assert_eq!(spent.iter().sum::<u64>(), 150);
        assert_eq!(spent[Category::Wait as usize], 30);
        assert_eq!(spent[Category::Abort as usize], 20 + 5 + 5);
        assert_eq!(spent[Category::BackOff as usize], 29);
        assert_eq!(spent[Category::Index as usize], 0);
        assert_eq!(spent[Category::Useful as usize], 10 + 1 + 50);
    }
}
