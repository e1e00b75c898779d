//! Byte keys in histories: each key gets its rank among the keys of its table as its number.
//!
//! A running session does not know the keys of other sessions. So it gives each key a number by a rule that is the
//! same in all sessions, and records which key the number stands for. When the history is finished, ranks replace
//! those numbers. A reader of the history then sees numbers in the order of the keys, and a dictionary from numbers
//! to keys. The ends of scanned ranges are ranked among the keys. So the numbers between those of a range's ends
//! are those of the keys in the range, and no others.

use crate::{ByteScan, History, KeyRange, LoadedTable, TableId, WorkerHistory};
use std::collections::BTreeMap;

/// Dictionary from numbers to keys, for the tables whose keys are bytes.
pub type Spellings = BTreeMap<(TableId, u64), Vec<u8>>;

impl History {
    /// Returns the history of `workers` on the tables `loaded`. Ranks replace the numbers that the workers gave to
    /// byte keys.
    pub fn of(mut workers: Vec<WorkerHistory>, mut loaded: Vec<LoadedTable>) -> History {
        let mut noted = Spellings::new();
        for worker in &mut workers {
            noted.append(&mut worker.spelled);
        }
        let mut keys: Vec<(TableId, &[u8])> =
            noted.iter().map(|((table, _), key)| (*table, &key[..])).collect();
        for worker in &workers {
            for scan in &worker.byte_scans {
                let table = worker.scans[scan.scan].table;
                keys.extend([(table, &scan.first[..]), (table, &scan.last[..])]);
            }
        }
        for table in &loaded {
            keys.extend(table.spelled.iter().map(|key| (table.table, &key[..])));
        }
        keys.sort_unstable();
        keys.dedup();
        let (mut ranks, mut spelled) = (BTreeMap::new(), Spellings::new());
        for same_table in keys.chunk_by(|a, b| a.0 == b.0) {
            for (rank, (table, key)) in same_table.iter().enumerate() {
                ranks.insert((*table, key.to_vec()), rank as u64);
                spelled.insert((*table, rank as u64), key.to_vec());
            }
        }
        if !ranks.is_empty() {
            let rank = |table: TableId, key: &[u8]| ranks[&(table, key.to_vec())];
            let numbers: BTreeMap<(TableId, u64), u64> =
                noted.iter().map(|(at, key)| (*at, rank(at.0, key))).collect();
            let number =
                |table: TableId, key: u64| numbers.get(&(table, key)).copied().unwrap_or(key);
            for LoadedTable { table, extents, spelled } in &mut loaded {
                let mut loaded: Vec<u64> = spelled.iter().map(|key| rank(*table, key)).collect();
                loaded.sort_unstable();
                extents.extend(loaded.chunk_by(|a, b| a + 1 == *b).map(|run| {
                    let (first, last) = (run.first(), run.last());
                    (*first.expect("not empty"), *last.expect("not empty"))
                }));
                spelled.clear();
            }
            for worker in &mut workers {
                worker.reads.iter_mut().for_each(|r| r.key = number(r.table, r.key));
                worker.writes.iter_mut().for_each(|w| w.key = number(w.table, w.key));
                worker.unmatched.iter_mut().for_each(|w| w.key = number(w.table, w.key));
                for ByteScan { scan, first, last } in std::mem::take(&mut worker.byte_scans) {
                    let scan = &mut worker.scans[scan];
                    let ends = (rank(scan.table, &first), rank(scan.table, &last));
                    scan.range =
                        KeyRange::new(ends.0, ends.1).expect("a range has its first key first");
                }
            }
        }
        loaded.sort_unstable_by_key(|table| table.table);
        History { workers, spelled, loaded }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Digest, Direction, Read, Scan, TxnId, Version, Write, WriteKind};

    #[test]
    fn numbers_become_ranks() {
        let (words, numbers) = (TableId(3), TableId(4));
        let read = |table, key| Read {
            table,
            key,
            version: Version::INITIAL,
            present: true,
            values: Digest::UNKNOWN,
        };
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
            values: Digest::UNKNOWN,
        });
        let second = worker(vec![read(words, 900), read(words, 128)], &[(128, "a"), (900, "b")]);
        let history = History::of(vec![first, second], vec![]);
        let keys = |worker: usize| history.workers[worker].reads.iter().map(|r| r.key);
        assert!(keys(0).eq([1, 900]) && keys(1).eq([1, 0]));
        assert_eq!(history.workers[0].writes[0].key, 2);
        let spelled: Vec<_> = history.spelled.values().map(|key| &key[..]).collect();
        assert_eq!(spelled, [&b"a"[..], b"b", b"ba"]);
        assert_eq!(history.spelled[&(words, 1)], b"b");
    }

    #[test]
    fn scanned_ranges_become_ranks_too() {
        let table = TableId(2);
        let range = KeyRange::ALL;
        let scan = Scan { table, range, direction: Direction::Forward, first_read: 0, reads: 0 };
        let of = |at: usize, first: &str, last: &str| ByteScan {
            scan: at,
            first: first.into(),
            last: last.into(),
        };
        let other = Scan { table: TableId(0), range: KeyRange::new(3, 4).unwrap(), ..scan };
        let scanner = WorkerHistory {
            scans: vec![scan, other, scan],
            byte_scans: vec![of(0, "b", "d"), of(2, "", "a")],
            ..WorkerHistory::default()
        };
        let spelled = ["a", "c", "e"].iter().zip(64..);
        let spelled = spelled.map(|(key, number)| ((table, number), key.as_bytes().to_vec()));
        let reader = WorkerHistory { spelled: spelled.collect(), ..WorkerHistory::default() };
        let loaded = ["e", "", "d"].map(|key| key.into()).to_vec();
        let loaded = LoadedTable { table, extents: Vec::new(), spelled: loaded };
        let history = History::of(vec![scanner, reader], vec![loaded]);
        // The ranks are those in "", "a", "b", "c", "d", "e".
        assert_eq!(history.loaded_of(table).unwrap().extents, [(0, 0), (4, 5)]);
        let scans = &history.workers[0].scans;
        let among = |range: KeyRange| {
            let spelled = history.spelled.iter().filter(move |((of, _), _)| *of == table);
            let within = spelled.filter(move |((_, rank), _)| range.contains(*rank));
            within.map(|(_, key)| String::from_utf8(key.clone()).unwrap()).collect::<Vec<_>>()
        };
        assert_eq!(among(scans[0].range), ["b", "c", "d"]);
        assert_eq!(among(scans[2].range), ["", "a"]);
        assert_eq!(scans[1], other);
    }
}
