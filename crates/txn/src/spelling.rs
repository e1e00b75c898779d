//! Keys of bytes in histories: each gets its rank among its table's keys as its number.
//!
//! A running session knows nothing of other sessions' keys, so it gives each key a number of its own choosing, the
//! same for all, and notes what the number means. When the history is finished those numbers give way to ranks:
//! who reads it sees numbers in the order of the keys, and a dictionary tells what they stand for.

use crate::{History, TableId, WorkerHistory};
use std::collections::BTreeMap;

/// What the numbers of keys stand for, in the tables whose keys are bytes.
pub type Spellings = BTreeMap<(TableId, u64), Vec<u8>>;

impl History {
    /// The history of `workers`, with ranks in place of the numbers that they gave to keys of bytes.
    pub fn of(mut workers: Vec<WorkerHistory>) -> History {
        let mut noted = Spellings::new();
        for worker in &mut workers {
            noted.append(&mut worker.spelled);
        }
        let mut keys: Vec<(TableId, &[u8], u64)> =
            noted.iter().map(|((table, number), key)| (*table, &key[..], *number)).collect();
        keys.sort_unstable();
        let (mut ranks, mut spelled) = (BTreeMap::new(), Spellings::new());
        for same_table in keys.chunk_by(|a, b| a.0 == b.0) {
            for (rank, (table, key, number)) in same_table.iter().enumerate() {
                ranks.insert((*table, *number), rank as u64);
                spelled.insert((*table, rank as u64), key.to_vec());
            }
        }
        if !ranks.is_empty() {
            let number =
                |table: TableId, key: u64| ranks.get(&(table, key)).copied().unwrap_or(key);
            for worker in &mut workers {
                worker.reads.iter_mut().for_each(|r| r.key = number(r.table, r.key));
                worker.writes.iter_mut().for_each(|w| w.key = number(w.table, w.key));
            }
        }
        History { workers, spelled }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Read, TxnId, Version, Write, WriteKind};

    #[test]
    fn numbers_become_ranks() {
        let (words, numbers) = (TableId(3), TableId(4));
        let read = |table, key| Read { table, key, version: Version::INITIAL, present: true };
        let worker = |reads: Vec<Read>, spelled: &[(u64, &str)]| WorkerHistory {
            reads,
            spelled: spelled
                .iter()
                .map(|(n, key)| ((words, *n), key.as_bytes().to_vec()))
                .collect(),
            ..WorkerHistory::default()
        };
        let mut first =
            worker(vec![read(words, 900), read(numbers, 900)], &[(900, "b"), (64, "ba")]);
        let version = Version::new(TxnId::new(0, 1), 1);
        first.writes.push(Write {
            table: words,
            key: 64,
            version,
            overwritten: Version::INITIAL,
            kind: WriteKind::Update,
        });
        let second = worker(vec![read(words, 900), read(words, 128)], &[(128, "a"), (900, "b")]);
        let history = History::of(vec![first, second]);
        let keys = |worker: usize| history.workers[worker].reads.iter().map(|r| r.key);
        assert!(keys(0).eq([1, 900]) && keys(1).eq([1, 0]));
        assert_eq!(history.workers[0].writes[0].key, 2);
        let spelled: Vec<_> = history.spelled.values().map(|key| &key[..]).collect();
        assert_eq!(spelled, [&b"a"[..], b"b", b"ba"]);
        assert_eq!(history.spelled[&(words, 1)], b"b");
    }
}
