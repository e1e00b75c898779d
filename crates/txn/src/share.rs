//! The keys of a table that one owner of partitions has, where partitions are stored apart from each other.

use crate::Partitioning;

/// The partitions of one owner of several: partition `p` belongs to owner `p mod owners`. Rows that are in all partitions
/// belong to every owner.
///
/// Rows that a loader numbers from 0 lie at consecutive slots of their owner. [`Share::slot`] and [`Share::key`] convert
/// between the key of such a row and the number of its slot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Share {
    owner: u64,
    owners: u64,
}

/// Blocks of consecutive keys: block `b` is partition `b mod partitions`.
struct Blocks {
    /// Number of keys of a block. Blocks of ranges can lack one key at their end.
    keys: u64,
    partitions: u64,
}

impl Share {
    /// The share of an owner that has everything.
    pub const WHOLE: Share = Share { owner: 0, owners: 1 };

    /// Returns the share of owner number `owner` of `owners`.
    pub const fn of(owner: usize, owners: usize) -> Share {
        assert!(owner < owners, "an owner is one of all");
        Share { owner: owner as u64, owners: owners as u64 }
    }

    /// Returns true if the owner has everything.
    pub const fn is_whole(&self) -> bool {
        self.owners == 1
    }

    /// Returns true if `key` of a table with this rule belongs to the owner.
    pub fn has(&self, rule: Partitioning, key: u64) -> bool {
        self.is_whole()
            || rule.of(key).is_none_or(|partition| partition % self.owners == self.owner)
    }

    /// Returns the number of the owner of `key`, of as many owners as there are with this one. Returns none if all owners
    /// have the key.
    pub fn owner_of(&self, rule: Partitioning, key: u64) -> Option<usize> {
        rule.of(key).map(|partition| (partition % self.owners) as usize)
    }

    /// Returns the owner's keys among `0..count`, each with the number of its slot, in the order of the slots. Only
    /// `slots` are considered.
    pub fn keys(
        self,
        rule: Partitioning,
        count: u64,
        slots: std::ops::Range<u64>,
    ) -> impl Iterator<Item = (u64, u64)> {
        let keys = slots.map(move |slot| (slot, self.key(rule, slot)));
        keys.filter(move |(_, key)| *key < count && self.has(rule, *key))
    }

    /// Returns the number of the owner's partitions.
    fn own_partitions(&self, partitions: u64) -> u64 {
        partitions.saturating_sub(self.owner).div_ceil(self.owners)
    }

    /// Returns how many of `rows` rows the owner has, if all partitions are equally large.
    pub fn rows(&self, rule: Partitioning, rows: u64) -> u64 {
        if self.is_whole() || matches!(rule, Partitioning::Replicated { .. }) {
            return rows;
        }
        let own = u128::from(self.own_partitions(rule.partitions()));
        (u128::from(rows) * own).div_ceil(u128::from(rule.partitions())) as u64
    }

    /// Returns the rule's blocks of keys; none if the owner's keys cannot be numbered in closed form, or if it has all
    /// keys. The number of a slot is then the key.
    fn blocks(&self, rule: Partitioning) -> Option<Blocks> {
        if self.is_whole() {
            return None;
        }
        match rule {
            Partitioning::Modulo { partitions } => Some(Blocks { keys: 1, partitions }),
            Partitioning::Quotient { divisor, partitions } => {
                Some(Blocks { keys: divisor, partitions })
            }
            Partitioning::Ranges { partitions, keys } => {
                Some(Blocks { keys: keys.div_ceil(partitions), partitions })
            }
            Partitioning::Hash { .. } | Partitioning::Replicated { .. } => None,
        }
    }

    /// Returns the number of slots for the owner's keys among `0..count`. Some can stay empty. Panics if a rule of ranges
    /// has fewer keys.
    pub fn slots(&self, rule: Partitioning, count: u64) -> u64 {
        let Some(Blocks { keys, partitions }) = self.blocks(rule) else { return count };
        let own = self.own_partitions(partitions);
        match rule {
            Partitioning::Ranges { keys: most, .. } => {
                assert!(count <= most, "{count} rows in ranges of {most} keys");
                own * keys
            }
            _ => count.div_ceil(keys).div_ceil(partitions) * own * keys,
        }
    }

    /// Returns the slot of `key`, which the owner has.
    pub fn slot(&self, rule: Partitioning, key: u64) -> u64 {
        let Some(Blocks { keys, partitions }) = self.blocks(rule) else { return key };
        if let Partitioning::Ranges { .. } = rule {
            let partition = rule.of(key).expect("not replicated");
            return partition / self.owners * keys + (key - first_of_range(rule, partition));
        }
        let (block, rest) = (key / keys, key % keys);
        let own = block / partitions * self.own_partitions(partitions);
        (own + block % partitions / self.owners) * keys + rest
    }

    /// Returns the key of a slot. The key of an empty slot is not the owner's, or was not loaded.
    pub fn key(&self, rule: Partitioning, slot: u64) -> u64 {
        let Some(Blocks { keys, partitions }) = self.blocks(rule) else { return slot };
        let (block, rest) = (slot / keys, slot % keys);
        if let Partitioning::Ranges { .. } = rule {
            return first_of_range(rule, block * self.owners + self.owner) + rest;
        }
        let own = self.own_partitions(partitions);
        let partition = block % own * self.owners + self.owner;
        (block / own * partitions + partition) * keys + rest
    }

    /// Returns the number of slots that each of the owner's partitions has, and the partitions in the order of their
    /// slots, for a table with the keys `0..count`. A copy of a replicated table counts as the owner's first partition.
    /// Returns none if the slots of a partition do not follow each other, or if the owner has everything.
    pub fn units(&self, rule: Partitioning, count: u64) -> Option<(u64, Vec<u64>)> {
        if let Partitioning::Replicated { .. } = rule
            && !self.is_whole()
        {
            return (count > 0).then(|| (count, vec![self.owner]));
        }
        let Blocks { keys, partitions } = self.blocks(rule)?;
        let own = (0..self.own_partitions(partitions)).map(|own| own * self.owners + self.owner);
        let once = count.div_ceil(keys) <= partitions;
        match (once, self.own_partitions(partitions)) {
            (_, 0) => None,
            (true, _) => Some((keys, own.collect())),
            (false, 1) => Some((self.slots(rule, count), own.collect())),
            (false, _) => None,
        }
    }
}

/// Returns the first key of a partition by ranges.
fn first_of_range(rule: Partitioning, partition: u64) -> u64 {
    let Partitioning::Ranges { partitions, keys } = rule else { unreachable!("ranges") };
    (u128::from(partition) * u128::from(keys)).div_ceil(u128::from(partitions)) as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    const RULES: [Partitioning; 7] = [
        Partitioning::ONE,
        Partitioning::Modulo { partitions: 7 },
        Partitioning::Hash { partitions: 7 },
        Partitioning::Ranges { partitions: 7, keys: 100 },
        Partitioning::Ranges { partitions: 3, keys: 101 },
        Partitioning::Quotient { divisor: 10, partitions: 7 },
        Partitioning::Replicated { copies: 1 },
    ];

    #[test]
    fn each_key_has_a_slot_of_its_own_at_its_owners() {
        for rule in RULES {
            for owners in 1..=8 {
                let mut met = vec![0; 100];
                for owner in 0..owners {
                    let share = Share::of(owner, owners);
                    let slots = share.slots(rule, 100);
                    let mut taken = vec![false; slots as usize];
                    for key in (0..100).filter(|key| share.has(rule, *key)) {
                        let slot = share.slot(rule, key);
                        assert!(!std::mem::replace(&mut taken[slot as usize], true), "{rule:?}");
                        assert_eq!(share.key(rule, slot), key, "{rule:?} {share:?}");
                        met[key as usize] += 1;
                    }
                    // An empty slot leads to no key of the owner that was loaded.
                    for slot in (0..slots).filter(|slot| !taken[*slot as usize]) {
                        let key = share.key(rule, slot);
                        assert!(key >= 100 || !share.has(rule, key), "{rule:?} {share:?} {key}");
                    }
                }
                let copies = if rule.of(0).is_none() { owners } else { 1 };
                assert!(met.iter().all(|count| *count == copies), "{rule:?} {owners}: {met:?}");
            }
        }
    }

    #[test]
    fn owners_of_equal_partitions_have_equally_many_rows() {
        let rule = Partitioning::Quotient { divisor: 10, partitions: 4 };
        let rows = |owner| Share::of(owner, 4).rows(rule, 100);
        assert_eq!([0, 1, 2, 3].map(rows), [25; 4]);
        assert_eq!([0, 1, 2].map(|owner| Share::of(owner, 3).rows(rule, 100)), [50, 25, 25]);
        assert_eq!(Share::of(1, 3).rows(Partitioning::ONE, 100), 0);
        assert_eq!(Share::of(1, 3).rows(Partitioning::Replicated { copies: 1 }, 100), 100);
        assert_eq!(Share::WHOLE.rows(rule, 100), 100);
    }

    #[test]
    fn units_are_partitions() {
        let quotient = Partitioning::Quotient { divisor: 10, partitions: 4 };
        assert_eq!(Share::of(1, 2).units(quotient, 40), Some((10, vec![1, 3])));
        assert_eq!(Share::of(1, 4).units(quotient, 80), Some((20, vec![1])));
        assert_eq!(Share::of(1, 2).units(quotient, 80), None);
        let modulo = Partitioning::Modulo { partitions: 4 };
        assert_eq!(Share::of(3, 4).units(modulo, 40), Some((10, vec![3])));
        assert_eq!(Share::of(1, 2).units(modulo, 40), None);
        assert_eq!(Share::WHOLE.units(quotient, 40), None);
        let copies = Partitioning::Replicated { copies: 1 };
        assert_eq!(Share::of(2, 4).units(copies, 40), Some((40, vec![2])));
        assert_eq!(Share::of(1, 2).units(Partitioning::ONE, 40), None);
    }
}
