//! The rule for a transaction that was aborted: its worker waits, or puts it aside.

use protocols::duration;
use std::fmt;
use std::str::FromStr;

/// Rule for the time between two attempts of a transaction. The time is always drawn evenly between zero and a bound.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BackOff {
    /// The worker waits, and then attempts the same transaction again. The bound doubles with each attempt.
    Wait {
        /// Bound after the first failure, in nanoseconds of the machine's time, or 0 for no back-off.
        first_ns: u64,
        /// Largest bound, in nanoseconds.
        cap_ns: u64,
    },
    /// The worker puts the transaction aside and attempts another one meanwhile, as DBx1000 does. The worker waits only
    /// if it has put aside as many as it may. A transaction that is attempted again begins anew: it has a new age.
    Aside {
        /// Largest number of transactions put aside by a worker. At least 1.
        most: usize,
        /// Bound, in nanoseconds of the machine's time.
        bound_ns: u64,
    },
}

impl Default for BackOff {
    fn default() -> Self {
        BackOff::Wait { first_ns: 500, cap_ns: 50_000 }
    }
}

impl BackOff {
    /// The rule of DBx1000 (Bang et al., "The Full Story of 1000 Cores", VLDB Journal 2022): at most 10 transactions
    /// are put aside, each for up to 100 microseconds.
    pub const DBX1000: BackOff = BackOff::Aside { most: 10, bound_ns: 100_000 };

    /// Largest number of transactions that a worker can put aside.
    pub const MOST_ASIDE: usize = 1000;

    /// Largest bound, in nanoseconds.
    pub const MOST_NS: u64 = 1_000_000_000;

    /// Returns a time in ticks for the random number `bits`, after the failure of attempt number `attempt`, counted from
    /// zero.
    pub(crate) fn ticks(&self, attempt: u32, bits: u64, ticks_per_second: u64) -> u64 {
        let bound_ns = match *self {
            BackOff::Wait { first_ns, cap_ns } => (first_ns << attempt.min(20)).min(cap_ns),
            BackOff::Aside { bound_ns, .. } => bound_ns,
        };
        let bound = u128::from(bound_ns) * u128::from(ticks_per_second) / 1_000_000_000;
        ((u128::from(bits) * bound) >> 64) as u64
    }

    /// Returns true if a worker has more than one transaction at a time.
    pub fn puts_aside(&self) -> bool {
        matches!(self, BackOff::Aside { .. })
    }
}

impl fmt::Display for BackOff {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            BackOff::Wait { first_ns, cap_ns } => {
                write!(f, "wait:{}:{}", duration::shown(*first_ns), duration::shown(*cap_ns))
            }
            BackOff::Aside { most, bound_ns } => {
                write!(f, "aside:{most}:{}", duration::shown(*bound_ns))
            }
        }
    }
}

/// Reason why a text is not a rule.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NotABackOff;

impl fmt::Display for NotABackOff {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "allowed: wait, wait:FIRST:CAP, aside, aside:MOST:BOUND, with times such as 500ns, 50us or 1ms, up to 1s, and \
             MOST from 1 to {}",
            BackOff::MOST_ASIDE
        )
    }
}

impl std::error::Error for NotABackOff {}

impl FromStr for BackOff {
    type Err = NotABackOff;

    fn from_str(text: &str) -> Result<Self, NotABackOff> {
        let parts: Vec<&str> = text.split(':').collect();
        let ns = |text: &str| {
            duration::parse(text).filter(|ns| *ns <= BackOff::MOST_NS).ok_or(NotABackOff)
        };
        match parts[..] {
            ["wait"] => Ok(BackOff::default()),
            ["aside"] => Ok(BackOff::DBX1000),
            ["wait", first, cap] => Ok(BackOff::Wait { first_ns: ns(first)?, cap_ns: ns(cap)? }),
            ["aside", most, bound] => {
                let allowed = |most: &usize| (1..=BackOff::MOST_ASIDE).contains(most);
                let most = most.parse().ok().filter(allowed).ok_or(NotABackOff)?;
                Ok(BackOff::Aside { most, bound_ns: ns(bound)? })
            }
            _ => Err(NotABackOff),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn back_off_stays_within_its_bound_and_doubles() {
        let back_off = BackOff::Wait { first_ns: 100, cap_ns: 1000 };
        assert_eq!(back_off.ticks(0, u64::MAX, 1_000_000_000), 99);
        assert_eq!(back_off.ticks(2, u64::MAX, 1_000_000_000), 399);
        assert_eq!(back_off.ticks(30, u64::MAX, 1_000_000_000), 999);
        assert_eq!(back_off.ticks(3, 0, 1_000_000_000), 0);
        let none = BackOff::Wait { first_ns: 0, cap_ns: 9 };
        assert_eq!(none.ticks(5, u64::MAX, 1_000_000_000), 0);
        assert_eq!(BackOff::DBX1000.ticks(7, u64::MAX, 1_000_000_000), 99_999);
    }

    #[test]
    fn rules_print_as_they_parse() {
        for rule in [BackOff::default(), BackOff::DBX1000] {
            assert_eq!(rule.to_string().parse(), Ok(rule));
        }
        assert_eq!("aside".parse(), Ok(BackOff::DBX1000));
        assert_eq!("aside:3:1ms".parse(), Ok(BackOff::Aside { most: 3, bound_ns: 1_000_000 }));
        assert_eq!("wait:0ns:0ns".parse(), Ok(BackOff::Wait { first_ns: 0, cap_ns: 0 }));
        for text in
            ["", "wait:", "wait:1us", "aside:0:1us", "aside:1001:1us", "aside:1:2s", "aside:1:-1us"]
        {
            assert_eq!(text.parse::<BackOff>(), Err(NotABackOff), "{text:?}");
        }
    }
}
