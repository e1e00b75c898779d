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

/// Parses a whole number in one of the forms `1000000`, `1_000_000`, `1e6`, `1.5M` and `64Ki`. See [`suffix`] for
/// the suffixes. On failure it returns the allowed values.
pub fn whole(text: &str) -> Result<u64, String> {
    let plain = text.replace('_', "");
    let (number, factor) = suffix(&plain);
    let allowed = "whole numbers from 0, such as 1000000, 1e6, 1M or 64Ki";
    times(number, factor).ok_or_else(|| allowed.into())
}

/// Splits a number from its suffix and returns the factor that the suffix stands for. `k`, `M`, `G` and `T` are
/// powers of 1000 in either case. `Ki`, `Mi`, `Gi` and `Ti` are powers of 1024. Without a suffix the factor is 1.
pub fn suffix(text: &str) -> (&str, u64) {
    let (rest, base) = match text.strip_suffix('i') {
        Some(rest) => (rest, 1024_u64),
        None => (text, 1000),
    };
    let power = rest.chars().last().and_then(|last| "kmgt".find(last.to_ascii_lowercase()));
    match power {
        Some(power) => (&rest[..rest.len() - 1], base.pow(power as u32 + 1)),
        None => (text, 1),
    }
}

/// Returns the decimal number `number`, which can have a fraction and an exponent, times `factor`. The arithmetic is
/// exact. Returns none if `number` is not a number, or if the product is not a whole number of 64 bits.
fn times(number: &str, factor: u64) -> Option<u64> {
    let (mantissa, exponent) = match number.split_once(['e', 'E']) {
        Some((mantissa, exponent)) => (mantissa, exponent.parse::<i32>().ok()?),
        None => (number, 0),
    };
    let (before, after) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let digits = format!("{before}{after}");
    let is_number = !before.is_empty() && digits.bytes().all(|digit| digit.is_ascii_digit());
    let value = is_number.then(|| digits.parse::<u128>().ok())??.checked_mul(factor.into())?;
    let shift = exponent.checked_sub(i32::try_from(after.len()).ok()?)?;
    let power = 10_u128.checked_pow(shift.unsigned_abs())?;
    let product = match shift >= 0 {
        true => value.checked_mul(power)?,
        false => (value % power == 0).then_some(value / power)?,
    };
    product.try_into().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whole_numbers_may_have_units() {
        assert_eq!(whole("10M"), Ok(10_000_000));
        assert_eq!(whole("1_000"), Ok(1000));
        assert_eq!(
            (whole("1e6"), whole("1.5M"), whole("2.5e3")),
            (Ok(1_000_000), Ok(1_500_000), Ok(2500))
        );
        assert_eq!(
            (whole("64Ki"), whole("1gi"), whole("0.5Mi")),
            (Ok(65_536), Ok(1 << 30), Ok(1 << 19))
        );
        assert_eq!(
            (whole("2T"), whole("18446744073709551615")),
            (Ok(2_000_000_000_000), Ok(u64::MAX))
        );
        for bad in [
            "",
            "M",
            "-1",
            "+1",
            "1.5",
            "99999999999G",
            "ten",
            "1e",
            "e6",
            ".5M",
            "1.2.3",
            "1e-1",
            "1e20",
            "1.0005k",
            "1i",
            "i",
            "Ki",
            "1e999999999999",
            "1.1Ki",
            "18446744073709551616",
            "1 k",
            "\u{663}",
        ] {
            assert!(whole(bad).is_err(), "{bad}");
        }
    }
}
