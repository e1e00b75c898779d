//! The rule that sets the limit of an admission.

use protocols::duration;
use std::fmt;
use std::str::FromStr;

/// Rule for the number of transactions that may run at the same time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum AdmissionPolicy {
    /// There is no limit.
    #[default]
    Off,
    /// The limit is this number, and at least 1.
    Fixed(usize),
    /// The limit is regulated by its effect on throughput ([`super::Regulator`]).
    Adaptive {
        /// Nanoseconds of the machine's time between two looks at the rate of commits. None for 10 ms natively, and 100 µs
        /// where time is modelled, because runs are short there.
        interval_ns: Option<u64>,
    },
}

impl AdmissionPolicy {
    /// The adaptive limit with the usual interval.
    pub const ADAPTIVE: AdmissionPolicy = AdmissionPolicy::Adaptive { interval_ns: None };

    /// Largest interval, in nanoseconds.
    const MOST_NS: u64 = 10_000_000_000;
}

impl fmt::Display for AdmissionPolicy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            AdmissionPolicy::Off => f.write_str("off"),
            AdmissionPolicy::Fixed(limit) => write!(f, "{limit}"),
            AdmissionPolicy::Adaptive { interval_ns: None } => f.write_str("adaptive"),
            AdmissionPolicy::Adaptive { interval_ns: Some(ns) } => {
                write!(f, "adaptive:{}", duration::shown(*ns))
            }
        }
    }
}

/// Reason why a text is not a rule.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NotAnAdmission;

impl fmt::Display for NotAnAdmission {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(
            "allowed: off, a number of transactions from 1, adaptive, adaptive:INTERVAL with a time such as 50us or 10ms, up to \
             10s",
        )
    }
}

impl std::error::Error for NotAnAdmission {}

impl FromStr for AdmissionPolicy {
    type Err = NotAnAdmission;

    fn from_str(text: &str) -> Result<Self, NotAnAdmission> {
        match text {
            "off" => return Ok(AdmissionPolicy::Off),
            "adaptive" => return Ok(AdmissionPolicy::ADAPTIVE),
            _ => {}
        }
        if let Some(interval) = text.strip_prefix("adaptive:") {
            let allowed = |ns: &u64| (1..=AdmissionPolicy::MOST_NS).contains(ns);
            let ns = duration::parse(interval).filter(allowed).ok_or(NotAnAdmission)?;
            return Ok(AdmissionPolicy::Adaptive { interval_ns: Some(ns) });
        }
        let limit = text.parse().ok().filter(|limit| *limit > 0).ok_or(NotAnAdmission)?;
        Ok(AdmissionPolicy::Fixed(limit))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rules_print_as_they_parse() {
        for text in ["off", "1", "640", "adaptive", "adaptive:50us"] {
            assert_eq!(text.parse::<AdmissionPolicy>().unwrap().to_string(), text);
        }
        for text in ["", "on", "0", "-1", "1.5", "4x2", "adaptive:", "adaptive:0ns", "adaptive:11s"]
        {
            assert_eq!(text.parse::<AdmissionPolicy>(), Err(NotAnAdmission), "{text:?}");
        }
    }
}
