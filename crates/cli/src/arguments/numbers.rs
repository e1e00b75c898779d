//! Numbers as people write them.

/// A whole number: `1000000`, `1_000_000`, `1M`.
pub fn whole(text: &str) -> Result<u64, String> {
    let plain = text.replace('_', "");
    let (digits, unit) = match plain.chars().last() {
        Some('k' | 'K') => (&plain[..plain.len() - 1], 1_000),
        Some('m' | 'M') => (&plain[..plain.len() - 1], 1_000_000),
        Some('g' | 'G') => (&plain[..plain.len() - 1], 1_000_000_000),
        _ => (&plain[..], 1),
    };
    let number = digits.parse::<u64>().ok().filter(|_| !digits.starts_with('+'));
    let allowed = "allowed: whole numbers from 0, such as 1000000 or 1M";
    number.and_then(|n| n.checked_mul(unit)).ok_or_else(|| allowed.into())
}

/// A count that can't be zero.
pub fn count(text: &str) -> Result<u64, String> {
    match whole(text) {
        Ok(n) if n > 0 => Ok(n),
        _ => Err("allowed: whole numbers from 1".into()),
    }
}

/// A length of time that can't be zero, in seconds.
pub fn seconds(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(s) if s > 0.0 && s <= MOST_SECONDS => Ok(s),
        _ => Err(format!("allowed: more than 0, at most {MOST_SECONDS} seconds")),
    }
}

/// A length of time, in seconds.
pub fn seconds_or_none(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(s) if (0.0..=MOST_SECONDS).contains(&s) => Ok(s),
        _ => Err(format!("allowed: 0 to {MOST_SECONDS} seconds")),
    }
}

/// Eleven days: beyond that somebody has mistyped.
const MOST_SECONDS: f64 = 1e6;

/// A number; what it may be is the workload's to say.
pub fn real(text: &str) -> Result<f64, String> {
    text.parse::<f64>().map_err(|_| "allowed: numbers, such as 0.6".into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whole_numbers_may_have_units() {
        assert_eq!(whole("10M"), Ok(10_000_000));
        assert_eq!(whole("1_000"), Ok(1000));
        for bad in ["", "M", "-1", "+1", "1.5", "99999999999G", "ten"] {
            assert!(whole(bad).is_err(), "{bad}");
        }
        assert!(count("0").is_err() && count("3").is_ok());
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
