//! Implements the transaction of several micro-benchmarks: a number of rows of one table, each read or
//! incremented.
//!
//! An update reads a row's counter and writes it back incremented by one. So every update leaves a trace: the
//! sum of all counters is the number of updates that have committed.

use crate::cell::cell;
use txn::{Abort, Access, ColumnSet, Intent, Planned, TableId};

/// The only table of these benchmarks.
pub(super) const TABLE: TableId = TableId(0);

/// The table's first column, which counts.
const COUNTER: ColumnSet = ColumnSet::one(0);

/// The rows of one worker's transaction.
#[derive(Clone, Debug)]
pub(super) struct RowSet {
    /// Keys of the rows, in access order.
    pub keys: Vec<u64>,
    updates: bool,
    columns: ColumnSet,
    row: Vec<u8>,
    checksum: u64,
}

impl RowSet {
    /// Creates an empty set. A read copies the first `columns` columns, which are `bytes` long together. An
    /// update reads and writes them. The first 8 bytes of the first column are the counter.
    pub(super) fn new(updates: bool, columns: usize, bytes: usize) -> RowSet {
        let columns = ColumnSet::first(columns);
        RowSet { keys: Vec::new(), updates, columns, row: vec![0; bytes], checksum: 0 }
    }

    /// Returns a digest of everything read so far, including aborted attempts. It exists so that the compiler
    /// keeps the reads.
    pub(super) fn checksum(&self) -> u64 {
        self.checksum
    }

    /// Replaces the rows by `count` distinct rows that `draw` returns. `draw` receives the number of the row
    /// to draw, and is called again if the row is already present.
    pub(super) fn draw(&mut self, count: usize, mut draw: impl FnMut(usize) -> u64) {
        self.keys.clear();
        while self.keys.len() < count {
            let key = draw(self.keys.len());
            if !self.keys.contains(&key) {
                self.keys.push(key);
            }
        }
    }

    /// Adds the accesses to `out`.
    pub(super) fn plan(&self, out: &mut Vec<Planned>) {
        let intent = if self.updates { Intent::Update } else { Intent::Read };
        let columns = self.columns;
        out.extend(self.keys.iter().map(|&key| Planned { table: TABLE, key, columns, intent }));
    }

    /// Accesses the rows.
    pub(super) fn run<A: Access + ?Sized>(&mut self, access: &mut A) -> Result<(), Abort> {
        for &key in &self.keys {
            let row = &mut self.row[..];
            let intent = if self.updates { Intent::Update } else { Intent::Read };
            let found = access.read_with(TABLE, key.into(), self.columns, intent, row)?;
            assert!(found, "row {key} was loaded and never deleted, yet is not found");
            let (words, rest) = row.as_chunks_mut::<8>();
            for word in words.iter() {
                self.checksum = self.checksum.rotate_left(5) ^ u64::from_le_bytes(*word);
            }
            if self.updates {
                let count = u64::from_le_bytes(words[0]).wrapping_add(1);
                // The bytes after the counter change too, because a string is written as a whole.
                words.iter_mut().for_each(|word| *word = count.to_le_bytes());
                rest.iter_mut().for_each(|byte| *byte = count as u8);
                access.update(TABLE, key.into(), self.columns, row)?;
            }
        }
        Ok(())
    }
}

/// Checks that the sum of the counters of all `rows` rows is `expected`. `bytes` is the length of the first
/// column.
pub(super) fn law(
    access: &mut dyn Access,
    rows: u64,
    bytes: usize,
    expected: u64,
) -> Result<Result<(), String>, Abort> {
    let (mut found, mut row) = (0u64, vec![0; bytes]);
    for key in 0..rows {
        if bytes == 8 {
            found += cell(access, TABLE, key, COUNTER, Intent::Read)? as u64;
            continue;
        }
        access.read(TABLE, key.into(), COUNTER, &mut row)?;
        let count = row.first_chunk::<8>().map_or(0, |word| u64::from_le_bytes(*word));
        let (words, rest) = row.as_chunks::<8>();
        let whole = words.iter().all(|word| u64::from_le_bytes(*word) == count);
        if !whole || rest.iter().any(|byte| *byte != count as u8) {
            return Ok(Err(format!("row {key} is a mixture of two updates")));
        }
        found += count;
    }
    Ok(match found == expected {
        true => Ok(()),
        false => Err(format!("{found} updates are in the rows, {expected} have committed")),
    })
}
