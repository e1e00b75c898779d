//! The time limit of transactions.
//!
//! Reading the clock of the system at every access would cost a point read a quarter of its time. So a long limit is
//! counted in ticks of the background thread, which reads the clock anyway. A short limit is measured by the clock.

use crate::Error;
use machine::Word;
use std::time::{Duration, Instant};

/// Number of ticks from which on a limit is counted in ticks. The error is then a few percent.
const MANY_TICKS: u128 = 50;

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
    /// Begins a term now if there is a limit. `ticks` counts intervals of length `interval`.
    #[inline]
    pub(crate) fn start(
        limit: Option<Duration>,
        ticks: &'t Word,
        interval: Duration,
    ) -> Option<Term<'t>> {
        let limit = limit?;
        let count = limit.as_nanos() / interval.as_nanos().max(1);
        let end = match count < MANY_TICKS {
            true => End::Clock(Instant::now()),
            // The tick that is running counts as well as the last one, so that a term is never too short.
            false => {
                let count = u64::try_from(count).unwrap_or(u64::MAX);
                End::Ticks(ticks, ticks.peek().saturating_add(count).saturating_add(2))
            }
        };
        Some(Term { limit, end })
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
        let term = Term::start(Some(Duration::from_secs(1)), &ticks, interval).unwrap();
        ticks.poke(7 + 101);
        assert!(term.check().is_ok());
        ticks.poke(7 + 102);
        assert!(matches!(term.check(), Err(Error::TransactionTooLong { .. })));
        let short = Term::start(Some(Duration::from_millis(20)), &ticks, interval).unwrap();
        ticks.poke(1_000_000);
        assert!(matches!(short.end, End::Clock(_)));
        std::thread::sleep(Duration::from_millis(30));
        assert!(short.check().is_err());
        assert!(Term::start(None, &ticks, interval).is_none());
    }
}
