//! Parses numbers in the forms that people use.

use crate::failure::Failure;

/// Parses a whole number: `1000000`, `1_000_000`, `1e6`, `1M`, `64Ki`.
pub fn whole(text: &str) -> Result<u64, String> {
    workloads::whole(text).map_err(|allowed| format!("allowed: {allowed}"))
}

/// Checks that `count` seeds from `first` on exist, where `option` gives the count.
pub fn check_seeds(first: u64, (option, count): (&str, u64)) -> Result<(), Failure> {
    let most = u64::MAX - count.saturating_sub(1);
    match first <= most {
        true => Ok(()),
        false => Err(Failure::refused(format!(
            "--seed is {first}; allowed: 0 to {most}, because seeds count up ({option} {count})"
        ))),
    }
}

/// Parses a count that can't be zero.
pub fn count(text: &str) -> Result<u64, String> {
    match whole(text) {
        Ok(n) if n > 0 => Ok(n),
        _ => Err("allowed: whole numbers from 1".into()),
    }
}

/// Parses a number of fibers of a core.
pub fn fibers(text: &str) -> Result<u64, String> {
    match whole(text) {
        Ok(n) if (1..=MOST_FIBERS).contains(&n) => Ok(n),
        _ => Err(format!("allowed: whole numbers from 1 to {MOST_FIBERS}")),
    }
}

/// Parses a length of time in seconds that can't be zero.
pub fn seconds(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(s) if s > 0.0 && s <= MOST_SECONDS => Ok(s),
        _ => Err(format!("allowed: more than 0, at most {MOST_SECONDS} seconds")),
    }
}

/// Parses a length of time in seconds.
pub fn seconds_or_none(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(s) if (0.0..=MOST_SECONDS).contains(&s) => Ok(s),
        _ => Err(format!("allowed: 0 to {MOST_SECONDS} seconds")),
    }
}

/// Parses a rate per second: `1.5`, `200k`.
pub fn rate(text: &str) -> Result<f64, String> {
    let (digits, factor) = workloads::suffix(text);
    match digits.parse::<f64>().map(|number| number * factor as f64) {
        Ok(rate) if (1e-3..=1e12).contains(&rate) => Ok(rate),
        _ => Err("allowed: 0.001 to 1e12 a second, such as 200k".into()),
    }
}

/// Maximum number of fibers of a core. Each has a stack, and a session in every epoch's list.
const MOST_FIBERS: u64 = 256;

/// Maximum length of time, eleven days. A longer one is most likely a typing error.
const MOST_SECONDS: f64 = 1e6;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_are_whole_numbers_from_one() {
        assert_eq!((whole("0"), count("1k")), (Ok(0), Ok(1000)));
        assert!(count("0").is_err() && count("-1").is_err());
    }

    #[test]
    fn rates_may_have_units_and_fractions() {
        assert_eq!((rate("200k"), rate("1.5M"), rate("0.5")), (Ok(2e5), Ok(1.5e6), Ok(0.5)));
        for bad in ["0", "-1", "inf", "NaN", "k", "", "2e12", "2T", "fast"] {
            assert!(rate(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn times_are_finite_and_not_negative() {
        for bad in ["0", "-1", "inf", "NaN", "1e9", "soon"] {
            assert!(seconds(bad).is_err(), "{bad}");
        }
        assert_eq!(seconds_or_none("0"), Ok(0.0));
        assert_eq!(seconds("0.001"), Ok(0.001));
    }
}
