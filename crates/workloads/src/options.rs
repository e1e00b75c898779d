//! Defines what the options of all workloads share: their declaration, the error for a bad option, and their
//! list in a record.

mod declared;
mod kind;

pub use declared::{AnyOption, Bundle, OptionOf, Options, bundle, option};
pub use kind::{OptionKind, suffix, whole};

use std::fmt;

/// An option whose value a workload does not accept.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OptionError {
    /// Name of the option, as on the command line without the dashes: `read-ratio`.
    pub option: &'static str,
    /// The given value.
    pub given: String,
    /// The allowed values, as a phrase that continues "allowed: ".
    pub allowed: String,
}

impl fmt::Display for OptionError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} is {}; allowed: {}", self.option, self.given, self.allowed)
    }
}

impl std::error::Error for OptionError {}

/// The value of an option, for a run's record.
#[derive(Clone, Debug, PartialEq)]
pub enum OptionValue {
    /// A count.
    Integer(u64),
    /// A ratio or a parameter of a distribution.
    Number(f64),
    /// A switch.
    Flag(bool),
    /// One of several words.
    Name(&'static str),
    /// A text that is built when the option is set.
    Text(String),
}

impl fmt::Display for OptionValue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            OptionValue::Integer(n) => write!(f, "{n}"),
            OptionValue::Number(x) => write!(f, "{x}"),
            OptionValue::Flag(on) => write!(f, "{on}"),
            OptionValue::Name(name) => f.write_str(name),
            OptionValue::Text(text) => f.write_str(text),
        }
    }
}

/// Largest number of rows of a workload's table. Below it, keys stay exact in the draws' arithmetic.
pub(crate) const MAX_ROWS: u64 = 1 << 40;

/// Largest number of accesses of one transaction.
pub(crate) const MAX_ACCESSES: u64 = 4096;

/// Checks that `value` lies in `least..=most`.
pub(crate) fn integer(
    option: &'static str,
    value: u64,
    least: u64,
    most: u64,
) -> Result<(), OptionError> {
    if (least..=most).contains(&value) {
        return Ok(());
    }
    Err(OptionError { option, given: value.to_string(), allowed: format!("{least} to {most}") })
}

/// Checks that `value` lies in `least..=most`, where the option `limit` has the value `most`.
pub(crate) fn at_most(
    option: &'static str,
    value: u64,
    least: u64,
    (limit, most): (&'static str, u64),
) -> Result<(), OptionError> {
    if (least..=most).contains(&value) {
        return Ok(());
    }
    let allowed = format!("{least} to {limit} ({most})");
    Err(OptionError { option, given: value.to_string(), allowed })
}

/// Checks that `value` lies in [0, 1].
pub(crate) fn ratio(option: &'static str, value: f64) -> Result<(), OptionError> {
    if (0.0..=1.0).contains(&value) {
        return Ok(());
    }
    Err(OptionError { option, given: value.to_string(), allowed: "0 to 1".into() })
}

/// Checks that `value` lies in [0, 1), the range that Gray's generator supports.
pub(crate) fn theta(value: f64) -> Result<(), OptionError> {
    skew("theta", value)
}

/// Like [`theta`], for an option with another name.
pub(crate) fn skew(option: &'static str, value: f64) -> Result<(), OptionError> {
    if (0.0..1.0).contains(&value) {
        return Ok(());
    }
    Err(OptionError {
        option,
        given: value.to_string(),
        allowed: "at least 0 and less than 1".into(),
    })
}

/// Checks that a transaction's `accesses` can all be distinct rows. `rows` is the number of rows, given by
/// the option `rows_option`.
pub(crate) fn enough_rows(
    accesses: u64,
    rows: u64,
    rows_option: &'static str,
) -> Result<(), OptionError> {
    if accesses <= rows {
        return Ok(());
    }
    Err(OptionError {
        option: "accesses",
        given: accesses.to_string(),
        allowed: format!("1 to {rows_option} ({rows}) while a transaction's keys are distinct"),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_names_option_value_and_what_is_allowed() {
        let text = theta(1.5).unwrap_err().to_string();
        assert_eq!(text, "theta is 1.5; allowed: at least 0 and less than 1");
        assert!(theta(f64::NAN).is_err() && theta(-0.1).is_err() && theta(1.0).is_err());
        assert!(theta(0.0).is_ok() && theta(0.999).is_ok());
        assert!(ratio("read-ratio", f64::NAN).is_err() && ratio("read-ratio", 1.0).is_ok());
        let text = integer("records", 0, 1, 9).unwrap_err().to_string();
        assert_eq!(text, "records is 0; allowed: 1 to 9");
    }
}
