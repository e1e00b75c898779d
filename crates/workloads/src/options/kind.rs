//! Defines the kinds of values that options have.

use super::OptionValue;

/// A kind of value: how it is parsed, printed and recorded.
pub trait OptionKind {
    /// Returns the placeholder for a value in help texts. Returns `None` for a switch, which is set by its
    /// name alone.
    fn placeholder(&self) -> Option<&'static str>;

    /// Returns the value, for a run's record. Its text is valid input for [`OptionKind::set`].
    fn value(&self) -> OptionValue;

    /// Returns the allowed words, if the value is one of a few words.
    fn choices(&self) -> &'static [&'static str] {
        &[]
    }

    /// Sets the value from `text`. On failure it returns the allowed values, as a phrase that continues
    /// "allowed: ".
    fn set(&mut self, text: &str) -> Result<(), String>;
}

impl OptionKind for u64 {
    fn placeholder(&self) -> Option<&'static str> {
        Some("N")
    }

    fn value(&self) -> OptionValue {
        OptionValue::Integer(*self)
    }

    fn set(&mut self, text: &str) -> Result<(), String> {
        *self = whole(text)?;
        Ok(())
    }
}

impl OptionKind for f64 {
    fn placeholder(&self) -> Option<&'static str> {
        Some("X")
    }

    fn value(&self) -> OptionValue {
        OptionValue::Number(*self)
    }

    fn set(&mut self, text: &str) -> Result<(), String> {
        *self = text.parse().map_err(|_| "numbers, such as 0.6")?;
        Ok(())
    }
}

impl OptionKind for bool {
    fn placeholder(&self) -> Option<&'static str> {
        None
    }

    fn value(&self) -> OptionValue {
        OptionValue::Flag(*self)
    }

    fn set(&mut self, text: &str) -> Result<(), String> {
        *self = text.parse().map_err(|_| "true, false")?;
        Ok(())
    }
}

/// Parses a whole number in the form `1000000`, `1_000_000` or `1M`. On failure it returns the allowed
/// values.
pub fn whole(text: &str) -> Result<u64, String> {
    let plain = text.replace('_', "");
    let (digits, unit) = match plain.chars().last() {
        Some('k' | 'K') => (&plain[..plain.len() - 1], 1_000),
        Some('m' | 'M') => (&plain[..plain.len() - 1], 1_000_000),
        Some('g' | 'G') => (&plain[..plain.len() - 1], 1_000_000_000),
        _ => (&plain[..], 1),
    };
    let number = digits.parse::<u64>().ok().filter(|_| !digits.starts_with('+'));
    let allowed = "whole numbers from 0, such as 1000000 or 1M";
    number.and_then(|n| n.checked_mul(unit)).ok_or_else(|| allowed.into())
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
    }
}
