//! The time limit of transactions.
//!
//! Reading the clock of the system at every access would cost a point read a quarter of its time. So a long limit is
//! counted in ticks of the background thread, which reads the clock anyway. A short limit is measured by the clock.

use crate::Error;
use machine::Word;
use std::time::{Duration, Instant};

/// Number of ticks from which on a limit is counted in ticks. The error is then a few percent.
const MANY_TICKS: u128 = 50;

/// The time limit of the transactions of a database.
#[derive(Clone, Copy)]
pub(crate) struct Limit {
    limit: Duration,
    /// The number of ticks that the limit has. None if there are so few that the clock is read instead.
    ticks: Option<u64>,
}

impl Limit {
    /// Makes a limit that is counted in ticks of length `interval`, if it has many of them.
    pub fn new(limit: Duration, interval: Duration) -> Limit {
        let count = limit.as_nanos() / interval.as_nanos().max(1);
        // The tick that is running counts as well as the last one, so that a term is never too short.
        let ticks = u64::try_from(count).unwrap_or(u64::MAX).saturating_add(2);
        Limit { limit, ticks: (count >= MANY_TICKS).then_some(ticks) }
    }
}

/// The time limit of an open transaction.
#[derive(Clone, Copy)]
pub(crate) struct Term<'t> {
    limit: Duration,
    end: End<'t>,
}

/// End of a term.
#[derive(Clone, Copy)]
enum End<'t> {
    /// The time at which the attempt began.
    Clock(Instant),
    /// The number of ticks so far, and the number at which the term ends.
    Ticks(&'t Word, u64),
}

impl<'t> Term<'t> {
    /// Begins a term now. `ticks` counts the intervals of the limit.
    #[inline]
    pub(crate) fn start(Limit { limit, ticks: count }: Limit, ticks: &'t Word) -> Term<'t> {
        let end = match count {
            None => End::Clock(Instant::now()),
            Some(count) => End::Ticks(ticks, ticks.peek().saturating_add(count)),
        };
        Term { limit, end }
    }

    /// Fails with [`Error::TransactionTooLong`] if the limit has passed.
    #[inline]
    pub(crate) fn check(self) -> Result<(), Error> {
        let has_passed = match self.end {
            End::Clock(since) => since.elapsed() > self.limit,
            End::Ticks(ticks, end) => ticks.peek() >= end,
        };
        match has_passed {
            true => Err(Error::TransactionTooLong { limit: self.limit }),
            false => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_term_ends_after_its_ticks_and_a_short_one_by_the_clock() {
        let (ticks, interval) = (Word::new(7), Duration::from_millis(10));
        let term = Term::start(Limit::new(Duration::from_secs(1), interval), &ticks);
        ticks.poke(7 + 101);
        assert!(term.check().is_ok());
        ticks.poke(7 + 102);
        assert!(matches!(term.check(), Err(Error::TransactionTooLong { .. })));
        let short = Term::start(Limit::new(Duration::from_millis(20), interval), &ticks);
        ticks.poke(1_000_000);
        assert!(matches!(short.end, End::Clock(_)));
        std::thread::sleep(Duration::from_millis(30));
        assert!(short.check().is_err());
    }
}
