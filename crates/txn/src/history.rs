//! The history of a run: the evidence from which a certificate is made.

use crate::{Direction, KeyRange, Spellings, TableId};

/// Identity of an attempt of a transaction. It is unique over the run, aborted attempts included. 0 is the loader.
///
/// The upper bits are the worker's number plus one, and the lower bits the worker's attempt number. So each worker
/// counts its attempts without conflicts with other workers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Default)]
pub struct TxnId(pub u64);

impl TxnId {
    /// The loader, which wrote everything that existed before the run.
    pub const LOADER: TxnId = TxnId(0);
    const SEQUENCE_BITS: u32 = 40;

    /// Returns the identity of attempt number `sequence` of `worker`.
    #[inline]
    pub const fn new(worker: usize, sequence: u64) -> TxnId {
        TxnId(((worker as u64 + 1) << Self::SEQUENCE_BITS) | sequence)
    }

    /// Returns the worker that ran the attempt; none for the loader.
    pub fn worker(self) -> Option<usize> {
        (self.0 >> Self::SEQUENCE_BITS).checked_sub(1).map(|w| w as usize)
    }

    /// Returns the worker's attempt number.
    pub const fn sequence(self) -> u64 {
        self.0 & ((1 << Self::SEQUENCE_BITS) - 1)
    }
}

impl std::fmt::Display for TxnId {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.worker() {
            None => f.write_str("loader"),
            Some(w) => write!(f, "T{w}.{}", self.sequence()),
        }
    }
}

/// Identity of one version of a record: its writer, and which of the writer's writes to that record it is. The
/// latter distinguishes an intermediate value that another transaction has read from the last value. A recorded
/// table keeps this word beside each row.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Default)]
pub struct Version(pub u64);

impl Version {
    /// The version that the loader left.
    pub const INITIAL: Version = Version(0);

    /// Returns the version of the `nth` write (1 and up, saturating) of `writer` to a record.
    #[inline]
    pub const fn new(writer: TxnId, nth: u8) -> Version {
        Version((writer.0 << 8) | nth as u64)
    }

    /// Returns the writer of the version.
    #[inline]
    pub const fn writer(self) -> TxnId {
        TxnId(self.0 >> 8)
    }

    /// Returns which of the writer's writes to that record it is.
    #[inline]
    pub const fn nth(self) -> u8 {
        self.0 as u8
    }
}

/// Digest of a row's values. Equal rows have equal digests, and different rows have different ones almost always.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Digest(u64);

impl Digest {
    /// The values were not read, or there are none.
    pub const UNKNOWN: Digest = Digest(0);
    /// Digest of the first version: the values that were loaded.
    pub const LOADED: Digest = Digest(1);

    /// Returns the digest of a row, all columns packed. A row that the loader left has the digest
    /// [`Digest::LOADED`] instead.
    pub fn of(row: &[u8]) -> Digest {
        let mut words = row.chunks_exact(8);
        let mut hash = words.by_ref().fold(row.len() as u64, |hash, word| {
            stirred(hash ^ u64::from_le_bytes(word.try_into().expect("eight bytes")))
        });
        let mut last = [0; 8];
        last[..words.remainder().len()].copy_from_slice(words.remainder());
        hash = stirred(hash ^ u64::from_le_bytes(last));
        Digest(hash | 1 << 63)
    }

    /// Returns the digest as a word, to be stored.
    pub const fn to_word(self) -> u64 {
        self.0
    }

    /// Returns false if both digests are known and differ.
    pub fn agrees_with(self, other: Digest) -> bool {
        self == other || self == Digest::UNKNOWN || other == Digest::UNKNOWN
    }
}

/// Performs a step of a hash: each bit of the argument affects the whole word.
fn stirred(word: u64) -> u64 {
    let folded = (word ^ word >> 32).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    (folded ^ folded >> 29).wrapping_mul(0xBF58_476D_1CE4_E5B9).rotate_left(17)
}

/// One read of one record by a committed transaction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Read {
    /// Table of the record.
    pub table: TableId,
    /// Key of the record. If keys are bytes, a number that stands for the key.
    pub key: u64,
    /// The version that was read. The version of an absence is that of the delete, or the initial one.
    pub version: Version,
    /// False if the row was absent.
    pub present: bool,
    /// Digest of the values that the reader received.
    pub values: Digest,
}

/// Effect of a write on its row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WriteKind {
    /// Overwrote columns of a present row.
    Update,
    /// Made an absent row present.
    Insert,
    /// Made a present row absent.
    Delete,
}

/// One installed write of one record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Write {
    /// Table of the record.
    pub table: TableId,
    /// Key of the record.
    pub key: u64,
    /// The version installed.
    pub version: Version,
    /// The previous version in the record's version order.
    pub overwritten: Version,
    /// Effect of the write.
    pub kind: WriteKind,
    /// Digest of the row after the write.
    pub values: Digest,
}

/// A write of a committed transaction that was requested and not installed, or installed and not requested.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Unmatched {
    /// The transaction.
    pub id: TxnId,
    /// Table of the record.
    pub table: TableId,
    /// Key of the record.
    pub key: u64,
    /// True if the write was installed and never requested.
    pub installed: bool,
}

/// One scan of a committed transaction. The rows and absences that the scan met in its range, own writes included,
/// are consecutive reads of the transaction. Keys of the range that are not among them count as read and never
/// present.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Scan {
    /// Table that was scanned.
    pub table: TableId,
    /// The keys that were covered, up to the point where the scan broke off, if it did. If keys are bytes, the
    /// range covers all keys until the history is finished (see [`ByteScan`]).
    pub range: KeyRange,
    /// Order in which the keys were visited.
    pub direction: Direction,
    /// Position of the scan's first read in [`WorkerHistory::reads`].
    pub first_read: usize,
    /// Number of the scan's reads.
    pub reads: usize,
}

/// The range of a scan of a table whose keys are bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ByteScan {
    /// Position of the scan in [`WorkerHistory::scans`].
    pub scan: usize,
    /// The first key that was covered.
    pub first: Vec<u8>,
    /// The last key that was covered.
    pub last: Vec<u8>,
}

/// A committed transaction. Its reads, writes and scans are ranges of its worker's lists.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Transaction {
    /// The attempt that committed.
    pub id: TxnId,
    /// Clock at the begin of the attempt that committed, in machine ticks.
    pub begin: u64,
    /// Clock at the acknowledgement of the commit, in machine ticks.
    pub end: u64,
    /// Commit timestamp or epoch, as the protocol defines it; 0 if it has none.
    pub commit_timestamp: u64,
    /// Position of its first entry in [`WorkerHistory::reads`]. Its last entry is before the next transaction's
    /// first.
    pub first_read: usize,
    /// Position of its first entry in [`WorkerHistory::writes`].
    pub first_write: usize,
    /// Position of its first entry in [`WorkerHistory::scans`].
    pub first_scan: usize,
}

/// Actions of one worker's committed transactions, in commit order.
#[derive(Clone, Debug, Default)]
pub struct WorkerHistory {
    /// Committed transactions.
    pub transactions: Vec<Transaction>,
    /// Their reads, transaction after transaction. Reads of own writes are left out, unless a scan met them. In
    /// that case the reader itself is the version's writer.
    pub reads: Vec<Read>,
    /// Their writes, transaction after transaction, in order of installation.
    pub writes: Vec<Write>,
    /// Their scans, transaction after transaction, in order of execution.
    pub scans: Vec<Scan>,
    /// Writes that were requested and not installed, or the reverse.
    pub unmatched: Vec<Unmatched>,
    /// The keys that numbers stand for, in tables whose keys are bytes.
    pub spelled: Spellings,
    /// Ranges of the scans of tables whose keys are bytes, in the order of the scans.
    pub byte_scans: Vec<ByteScan>,
}

impl WorkerHistory {
    /// Returns the reads of transaction number `index`.
    pub fn reads_of(&self, index: usize) -> &[Read] {
        let end = self.transactions.get(index + 1).map_or(self.reads.len(), |t| t.first_read);
        &self.reads[self.transactions[index].first_read..end]
    }

    /// Returns the writes of transaction number `index`.
    pub fn writes_of(&self, index: usize) -> &[Write] {
        let end = self.transactions.get(index + 1).map_or(self.writes.len(), |t| t.first_write);
        &self.writes[self.transactions[index].first_write..end]
    }

    /// Returns the scans of transaction number `index`.
    pub fn scans_of(&self, index: usize) -> &[Scan] {
        let end = self.transactions.get(index + 1).map_or(self.scans.len(), |t| t.first_scan);
        &self.scans[self.transactions[index].first_scan..end]
    }

    /// Returns what `scan` met, in the order in which it met it.
    pub fn reads_in(&self, scan: &Scan) -> &[Read] {
        &self.reads[scan.first_read..scan.first_read + scan.reads]
    }
}

/// All rows of one table that existed before a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LoadedTable {
    /// The table.
    pub table: TableId,
    /// Keys of the rows, as ascending extents apart from each other. Every key from the first to the last of an
    /// extent had a row.
    pub extents: Vec<(u64, u64)>,
    /// Keys of the rows if they are bytes, until the history is finished.
    pub spelled: Vec<Vec<u8>>,
}

impl LoadedTable {
    /// Adds the rows of another part of the same table. Rows that both parts have count once.
    pub fn add(&mut self, other: LoadedTable) {
        self.extents.extend(other.extents);
        self.extents.sort_unstable();
        let extents = std::mem::take(&mut self.extents);
        for (first, last) in extents {
            match self.extents.last_mut() {
                Some(before) if first <= before.1.saturating_add(1) => {
                    before.1 = before.1.max(last)
                }
                _ => self.extents.push((first, last)),
            }
        }
        self.spelled.extend(other.spelled);
        self.spelled.sort_unstable();
        self.spelled.dedup();
    }

    /// Returns true if `key` had a row.
    pub fn contains(&self, key: u64) -> bool {
        let behind = self.extents.partition_point(|(first, _)| *first <= key);
        behind > 0 && key <= self.extents[behind - 1].1
    }

    /// Returns the keys within `range` that had a row, ascending.
    pub fn within(&self, range: KeyRange) -> impl Iterator<Item = u64> {
        let from = self.extents.partition_point(|(_, last)| *last < range.first());
        let extents = self.extents[from..].iter();
        extents
            .take_while(move |(first, _)| *first <= range.last())
            .flat_map(move |(first, last)| *first.max(&range.first())..=*last.min(&range.last()))
    }
}

/// The history of a run. `begin` and `end` of all workers come from one clock.
#[derive(Clone, Debug, Default)]
pub struct History {
    /// One entry per worker.
    pub workers: Vec<WorkerHistory>,
    /// The keys that numbers stand for, in tables whose keys are bytes. The numbers are ranks.
    pub spelled: Spellings,
    /// The rows that existed before the run, in order of the tables. Nothing is known of tables that are not
    /// listed.
    pub loaded: Vec<LoadedTable>,
}

impl History {
    /// Returns the number of committed transactions.
    pub fn len(&self) -> usize {
        self.workers.iter().map(|w| w.transactions.len()).sum()
    }

    /// Returns the rows of `table` that existed before the run, if they are known.
    pub fn loaded_of(&self, table: TableId) -> Option<&LoadedTable> {
        let at = self.loaded.binary_search_by_key(&table, |loaded| loaded.table).ok()?;
        Some(&self.loaded[at])
    }

    /// Returns true if nothing was committed.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn loaded_rows_are_found_in_their_extents() {
        let extents = vec![(2, 4), (7, 7), (u64::MAX - 1, u64::MAX)];
        let loaded = LoadedTable { table: TableId(0), extents, spelled: Vec::new() };
        let there = [2, 3, 4, 7, u64::MAX - 1, u64::MAX];
        let asked = [0, 1, 2, 3, 4, 5, 6, 7, 8, u64::MAX - 2, u64::MAX - 1, u64::MAX];
        for key in asked {
            assert_eq!(loaded.contains(key), there.contains(&key), "{key}");
        }
        for (first, last) in [(0, u64::MAX), (3, 7), (5, 6), (4, 4), (8, u64::MAX - 1)] {
            let range = KeyRange::new(first, last).unwrap();
            let expected = there.into_iter().filter(|key| range.contains(*key));
            assert!(loaded.within(range).eq(expected), "{first} to {last}");
        }
    }

    #[test]
    fn parts_of_a_table_add_up() {
        let part = |extents: &[(u64, u64)], spelled: &[&str]| LoadedTable {
            table: TableId(0),
            extents: extents.to_vec(),
            spelled: spelled.iter().map(|key| key.as_bytes().to_vec()).collect(),
        };
        let mut whole = part(&[(0, 0), (4, 4), (9, u64::MAX)], &["b", "d"]);
        whole.add(part(&[(1, 1), (3, 5), (8, 8)], &["a", "d"]));
        let expected = part(&[(0, 1), (3, 5), (8, u64::MAX)], &["a", "b", "d"]);
        assert_eq!(whole, expected);
    }

    #[test]
    fn digests_tell_rows_apart() {
        let rows: [&[u8]; 8] =
            [b"", b"\0", b"\0\0", b"abcdefgh", b"abcdefgi", b"abcdefgh\0", b"hgfedcba", &[0; 8]];
        for (at, row) in rows.iter().enumerate() {
            for (other_at, other) in rows.iter().enumerate() {
                assert_eq!(Digest::of(row) == Digest::of(other), at == other_at);
            }
            assert!(![Digest::UNKNOWN, Digest::LOADED].contains(&Digest::of(row)));
            assert!(Digest::of(row).agrees_with(Digest::UNKNOWN));
        }
        assert!(!Digest::of(b"a").agrees_with(Digest::of(b"b")));
    }

    #[test]
    fn identities_take_apart_what_they_were_made_of() {
        let id = TxnId::new(4095, 77);
        assert_eq!((id.worker(), id.sequence()), (Some(4095), 77));
        assert_eq!(TxnId::LOADER.worker(), None);
        let version = Version::new(id, 3);
        assert_eq!((version.writer(), version.nth()), (id, 3));
        assert_eq!(Version::INITIAL.writer(), TxnId::LOADER);
    }
}
