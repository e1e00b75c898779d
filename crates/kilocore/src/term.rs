//! The time limit of transactions.

use crate::Error;
use std::time::{Duration, Instant};

/// The time limit of an open transaction.
#[derive(Clone, Copy)]
pub(crate) struct Term {
    /// Time at which the attempt began.
    since: Instant,
    limit: Duration,
}

impl Term {
    /// Starts the clock now if there is a limit.
    #[inline]
    pub(crate) fn start(limit: Option<Duration>) -> Option<Term> {
        limit.map(|limit| Term { since: Instant::now(), limit })
    }

    /// Fails with [`Error::TransactionTooLong`] if the limit has passed.
    pub(crate) fn check(self) -> Result<(), Error> {
        match self.since.elapsed() > self.limit {
            true => Err(Error::TransactionTooLong { limit: self.limit }),
            false => Ok(()),
        }
    }
}
