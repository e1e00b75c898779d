//! Defines the frequency of each transaction.

use crate::options::{OptionError, OptionKind, OptionValue};
use crate::stream::Stream;
use std::fmt;

/// Names of the transactions, in the order of [`txn::Client::kind`].
pub const KIND_NAMES: [&str; 5] =
    ["new_order", "payment", "order_status", "delivery", "stock_level"];

/// Largest weight. It is small enough that a sum of weights does not overflow.
const MOST_WEIGHT: u64 = 1_000_000;

/// The weights of the five transactions, in the order of [`KIND_NAMES`]. Each transaction is drawn
/// independently, in proportion to its weight, without a deck of cards (clause 5.2.4.2 allows both).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Mix(pub [u64; 5]);

/// Named mixes.
const NAMED: [(&str, Mix); 4] = [
    ("full", Mix::FULL),
    ("narrow", Mix::NARROW),
    ("new-order", Mix::ORDERS),
    ("payment", Mix::PAYMENT),
];

impl Mix {
    /// The specification's mix, with the minimum of each transaction that has a minimum (clause 5.2.3).
    pub const FULL: Mix = Mix([45, 43, 4, 4, 4]);

    /// The two transactions of the papers' narrow mix, with equal shares (Abyss 5.6).
    pub const NARROW: Mix = Mix([50, 50, 0, 0, 0]);

    /// Only New-Order.
    pub const ORDERS: Mix = Mix([1, 0, 0, 0, 0]);

    /// Only Payment.
    pub const PAYMENT: Mix = Mix([0, 1, 0, 0, 0]);

    /// Returns an error if the weights are invalid.
    pub(super) fn validate(&self) -> Result<(), OptionError> {
        let sum: u64 = self.0.iter().fold(0, |sum, weight| sum.saturating_add(*weight));
        if sum > 0 && self.0.iter().all(|weight| *weight <= MOST_WEIGHT) {
            return Ok(());
        }
        let allowed = format!("weights from 0 to {MOST_WEIGHT}, not all of them 0");
        Err(OptionError { option: "mix", given: self.to_string(), allowed })
    }

    /// Draws the kind of a transaction.
    #[inline]
    pub(super) fn draw(&self, stream: &mut Stream) -> usize {
        let mut dice = stream.below(self.0.iter().sum());
        for (kind, weight) in self.0.iter().enumerate() {
            if dice < *weight {
                return kind;
            }
            dice -= weight;
        }
        unreachable!("the dice is below the sum of the weights")
    }
}

impl fmt::Display for Mix {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some((name, _)) = NAMED.iter().find(|(_, mix)| mix == self) {
            return f.write_str(name);
        }
        let [a, b, c, d, e] = self.0;
        write!(f, "{a}:{b}:{c}:{d}:{e}")
    }
}

impl OptionKind for Mix {
    fn placeholder(&self) -> Option<&'static str> {
        Some("MIX")
    }

    fn value(&self) -> OptionValue {
        OptionValue::Text(self.to_string())
    }

    fn set(&mut self, text: &str) -> Result<(), String> {
        if let Some((_, mix)) = NAMED.iter().find(|(name, _)| *name == text) {
            *self = *mix;
            return Ok(());
        }
        let weights: Option<Vec<u64>> = text.split(':').map(|part| part.parse().ok()).collect();
        let weights = weights.and_then(|weights| weights.try_into().ok());
        *self = weights.map(Mix).ok_or(
            "full, narrow, new-order, payment, or five weights such as 45:43:4:4:4 (New-Order, \
             Payment, Order-Status, Delivery, Stock-Level)",
        )?;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mix_is_written_as_it_is_read() {
        let mut mix = Mix::PAYMENT;
        for text in ["full", "narrow", "new-order", "payment", "1:2:3:4:5", "0:0:0:0:1"] {
            assert_eq!((mix.set(text), mix.to_string()), (Ok(()), text.to_owned()));
        }
        assert_eq!((mix.set("45:43:4:4:4"), mix), (Ok(()), Mix::FULL));
        for bad in ["", "fulll", "1:2:3:4", "1:2:3:4:5:6", "1:2:3:4:-5"] {
            assert!(mix.set(bad).unwrap_err().contains("full, narrow"), "{bad}");
        }
        let none = Mix([0; 5]).validate().unwrap_err().to_string();
        assert_eq!(none, "mix is 0:0:0:0:0; allowed: weights from 0 to 1000000, not all of them 0");
        assert!(Mix([u64::MAX; 5]).validate().is_err());
    }

    #[test]
    fn kinds_come_in_proportion_to_their_weights() {
        let mut counts = [0u32; 5];
        let mut stream = Stream::of_worker(1, 0);
        (0..100_000).for_each(|_| counts[Mix::FULL.draw(&mut stream)] += 1);
        for (count, weight) in counts.iter().zip(Mix::FULL.0) {
            let expected = 1000.0 * weight as f64;
            assert!((f64::from(*count) - expected).abs() < 600.0, "{counts:?}");
        }
        assert_eq!(Mix([0, 0, 0, 7, 0]).draw(&mut stream), 3);
    }
}
