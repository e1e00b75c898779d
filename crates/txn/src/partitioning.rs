//! The partition to which a key belongs.

use crate::KeyRange;

/// Rule that divides the keys of a table into partitions, numbered from 0. Tables of a schema share partitions by
/// sharing their numbers: for example, a warehouse and its stock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Partitioning {
    /// Key modulo the number of partitions. Adjacent keys are in different partitions.
    Modulo {
        /// Number of partitions, at least 1.
        partitions: u64,
    },
    /// A hash of the key modulo the number of partitions.
    Hash {
        /// Number of partitions, at least 1.
        partitions: u64,
    },
    /// The keys `0..keys` in equal ranges. Larger keys belong to the last range.
    Ranges {
        /// Number of partitions, at least 1.
        partitions: u64,
        /// Number of keys, at least 1.
        keys: u64,
    },
    /// Key divided by a number, for keys composed of a partition's number and a number within the partition.
    Quotient {
        /// The divisor, at least 1.
        divisor: u64,
        /// Number of partitions, at least 1; the quotient is taken modulo it.
        partitions: u64,
    },
    /// Every key in every partition, for a small table that is hardly ever written. A transaction that has any
    /// partition may read the table. A transaction that writes it needs all partitions. Where partitions are stored
    /// apart, each has a copy of the table, and the table is constant.
    Replicated {
        /// Number of copies of the rows, at least 1. They follow each other, and each is read by an equal share of the
        /// workers.
        copies: u64,
    },
}

impl Partitioning {
    /// All keys in partition 0.
    pub const ONE: Partitioning = Partitioning::Modulo { partitions: 1 };

    /// Returns the number of partitions of this rule.
    pub const fn partitions(&self) -> u64 {
        match *self {
            Partitioning::Modulo { partitions }
            | Partitioning::Hash { partitions }
            | Partitioning::Ranges { partitions, .. }
            | Partitioning::Quotient { partitions, .. } => partitions,
            Partitioning::Replicated { .. } => 1,
        }
    }

    /// Returns true if the rule can be computed: no number in it is zero.
    pub(crate) const fn is_sound(&self) -> bool {
        match *self {
            Partitioning::Modulo { partitions } | Partitioning::Hash { partitions } => {
                partitions > 0
            }
            Partitioning::Ranges { partitions, keys } => partitions > 0 && keys > 0,
            Partitioning::Quotient { divisor, partitions } => partitions > 0 && divisor > 0,
            Partitioning::Replicated { copies } => copies > 0,
        }
    }

    /// Returns the units of consecutive keys of a table with the keys `0..rows`: the number of keys of each unit, if all
    /// units have equally many. A unit is a partition or a copy of a replicated table.
    pub fn unit_of(&self, rows: u64) -> Option<u64> {
        let unit = match *self {
            Partitioning::Quotient { divisor, partitions } => {
                (rows == divisor * partitions).then_some(divisor)?
            }
            Partitioning::Ranges { partitions, keys } => {
                (rows == keys && keys.is_multiple_of(partitions)).then(|| keys / partitions)?
            }
            Partitioning::Replicated { copies } => {
                rows.is_multiple_of(copies).then(|| rows / copies)?
            }
            Partitioning::Modulo { .. } | Partitioning::Hash { .. } => return None,
        };
        (unit > 0).then_some(unit)
    }

    /// Returns the partition of `key`; none if the key is in all partitions.
    #[inline]
    pub fn of(&self, key: u64) -> Option<u64> {
        Some(match *self {
            Partitioning::Modulo { partitions } => key % partitions,
            Partitioning::Hash { partitions } => {
                // Fibonacci hashing: the high bits of the product are scaled to the number of partitions.
                let spread = key.wrapping_mul(0x9E37_79B9_7F4A_7C15);
                ((u128::from(spread) * u128::from(partitions)) >> 64) as u64
            }
            Partitioning::Ranges { partitions, keys } => {
                let scaled = u128::from(key.min(keys - 1)) * u128::from(partitions);
                (scaled / u128::from(keys)) as u64
            }
            Partitioning::Quotient { divisor, partitions } => key / divisor % partitions,
            Partitioning::Replicated { .. } => return None,
        })
    }

    /// Returns true if `holds` is true for every partition to which a key of `range` can belong.
    pub fn all_of_range(&self, range: KeyRange, mut holds: impl FnMut(u64) -> bool) -> bool {
        let (first, last) = (range.first(), range.last());
        match *self {
            Partitioning::Replicated { .. } => true,
            Partitioning::Ranges { .. } => {
                let of = |key| self.of(key).expect("not replicated");
                (of(first)..=of(last)).all(holds)
            }
            Partitioning::Quotient { divisor, partitions } => {
                let (from, to) = (first / divisor, last / divisor);
                let to = to.min(from.saturating_add(partitions - 1));
                (from..=to).all(|quotient| holds(quotient % partitions))
            }
            Partitioning::Modulo { partitions } => {
                let last = last.min(first.saturating_add(partitions - 1));
                (first..=last).all(|key| holds(key % partitions))
            }
            Partitioning::Hash { partitions } => {
                // A longer range almost certainly has keys in all partitions.
                if last - first < partitions.saturating_mul(4) {
                    (first..=last).all(|key| holds(self.of(key).expect("not replicated")))
                } else {
                    (0..partitions).all(holds)
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn units_are_partitions_or_copies_of_equal_length() {
        let quotient = Partitioning::Quotient { divisor: 10, partitions: 7 };
        assert_eq!((quotient.unit_of(70), quotient.unit_of(71)), (Some(10), None));
        let ranges = |keys| Partitioning::Ranges { partitions: 7, keys }.unit_of(keys);
        assert_eq!((ranges(70), ranges(72)), (Some(10), None));
        let copies = Partitioning::Replicated { copies: 3 };
        assert_eq!(
            (copies.unit_of(30), copies.unit_of(31), copies.unit_of(0)),
            (Some(10), None, None)
        );
        assert_eq!(Partitioning::Modulo { partitions: 7 }.unit_of(70), None);
    }

    #[test]
    fn a_range_meets_the_partitions_of_its_keys() {
        for rule in [
            Partitioning::Modulo { partitions: 7 },
            Partitioning::Hash { partitions: 7 },
            Partitioning::Ranges { partitions: 7, keys: 100 },
            Partitioning::Quotient { divisor: 10, partitions: 7 },
        ] {
            for (first, last) in [(0, 0), (3, 4), (9, 31), (0, 99), (55, 120), (98, u64::MAX)] {
                let range = KeyRange::new(first, last).unwrap();
                let mut met = [false; 7];
                assert!(rule.all_of_range(range, |partition| {
                    met[partition as usize] = true;
                    true
                }));
                let mut needed = [false; 7];
                (first..=last.min(first + 200))
                    .for_each(|key| needed[rule.of(key).unwrap() as usize] = true);
                assert!((0..7).all(|p| met[p] || !needed[p]), "{rule:?} {first} {last}");
                assert!(!rule.all_of_range(range, |partition| Some(partition) != rule.of(last)));
            }
        }
        let everywhere = Partitioning::Replicated { copies: 1 };
        assert!(everywhere.all_of_range(KeyRange::ALL, |_| false));
    }

    #[test]
    fn every_rule_reaches_every_partition_and_no_other() {
        for rule in [
            Partitioning::Modulo { partitions: 7 },
            Partitioning::Hash { partitions: 7 },
            Partitioning::Ranges { partitions: 7, keys: 100 },
            Partitioning::Quotient { divisor: 10, partitions: 7 },
        ] {
            let mut counts = [0; 7];
            for key in 0..100 {
                counts[rule.of(key).unwrap() as usize] += 1;
            }
            assert_eq!(rule.partitions(), 7);
            assert!(counts.iter().all(|count| (7..=25).contains(count)), "{rule:?}: {counts:?}");
            for key in [u64::MAX, u64::MAX - 1, 1 << 63, 100] {
                assert!(rule.of(key) < Some(7), "{rule:?}");
            }
        }
        assert_eq!(Partitioning::ONE.of(u64::MAX), Some(0));
        assert_eq!(Partitioning::Replicated { copies: 1 }.of(3), None);
    }
}
