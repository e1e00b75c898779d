//! A workload whose keys are spelled out: the same procedures, against tables with keys of bytes.
//!
//! Made for tests and for the explorer: laws and procedures of a workload hold whatever keys look like. Keys of
//! neighbours are in the order of their numbers, differ in length, from 1 byte to 63, share their beginnings beyond a
//! word, and end in zeros.

use txn::{
    Abort, Access, ByteRange, ByteVisit, Client, ColumnSet, Conservation, Direction, IndexKind,
    Intent, KeyRange, Loader, MAX_KEY_BYTES, Schema, TableId, TableSchema, Visit, Workload,
};

/// `workload`, with keys of bytes. Its procedures use no secondary indexes.
#[derive(Clone, Debug)]
pub struct Spelled<W>(pub W);

/// What follows the common beginning of eight neighbours, in order: lengths go up and down, and zeros at an end are
/// all that tells some from others.
const TAILS: [&[u8]; 8] =
    [b"", b"\0", &[0; 9], &[0; 54], &[1; 40], &[0x7F; 8], b"\x80", &[0xFF; 54]];

/// The number in as few digits as it needs, behind their count, for every eighth key; a tail tells it from the
/// seven that follow.
fn spell(key: u64, buffer: &mut [u8; MAX_KEY_BYTES]) -> &[u8] {
    let (eighth, tail) = (key / 8, TAILS[(key % 8) as usize]);
    let digits = eighth.to_be_bytes();
    let digits = &digits[eighth.leading_zeros() as usize / 8..];
    let (front, rest) = buffer.split_at_mut(1 + digits.len());
    front[0] = digits.len() as u8;
    front[1..].copy_from_slice(digits);
    rest[..tail.len()].copy_from_slice(tail);
    &buffer[..1 + digits.len() + tail.len()]
}

/// The number whose spelling this is.
fn number(spelled: &[u8]) -> u64 {
    let (digits, tail) = spelled[1..].split_at(spelled[0].into());
    let eighth = digits.iter().fold(0, |number, digit| number << 8 | u64::from(*digit));
    let tail = TAILS.iter().position(|other| *other == tail).expect("one of the tails");
    eighth * 8 + tail as u64
}

struct SpelledAccess<'a, A: ?Sized>(&'a mut A);

impl<A: Access + ?Sized> Access for SpelledAccess<'_, A> {
    fn read_with(
        &mut self,
        table: TableId,
        key: u64,
        columns: ColumnSet,
        intent: Intent,
        out: &mut [u8],
    ) -> Result<bool, Abort> {
        let mut buffer = [0; MAX_KEY_BYTES];
        self.0.read_bytes_with(table, spell(key, &mut buffer), columns, intent, out)
    }

    fn update(
        &mut self,
        table: TableId,
        key: u64,
        columns: ColumnSet,
        values: &[u8],
    ) -> Result<bool, Abort> {
        let mut buffer = [0; MAX_KEY_BYTES];
        self.0.update_bytes(table, spell(key, &mut buffer), columns, values)
    }

    fn insert(&mut self, table: TableId, key: u64, row: &[u8]) -> Result<bool, Abort> {
        let mut buffer = [0; MAX_KEY_BYTES];
        self.0.insert_bytes(table, spell(key, &mut buffer), row)
    }

    fn delete(&mut self, table: TableId, key: u64) -> Result<bool, Abort> {
        let mut buffer = [0; MAX_KEY_BYTES];
        self.0.delete_bytes(table, spell(key, &mut buffer))
    }

    fn read_bytes_with(
        &mut self,
        table: TableId,
        key: &[u8],
        columns: ColumnSet,
        intent: Intent,
        out: &mut [u8],
    ) -> Result<bool, Abort> {
        self.0.read_bytes_with(table, key, columns, intent, out)
    }

    fn update_bytes(
        &mut self,
        table: TableId,
        key: &[u8],
        columns: ColumnSet,
        values: &[u8],
    ) -> Result<bool, Abort> {
        self.0.update_bytes(table, key, columns, values)
    }

    fn insert_bytes(&mut self, table: TableId, key: &[u8], row: &[u8]) -> Result<bool, Abort> {
        self.0.insert_bytes(table, key, row)
    }

    fn delete_bytes(&mut self, table: TableId, key: &[u8]) -> Result<bool, Abort> {
        self.0.delete_bytes(table, key)
    }

    fn scan(
        &mut self,
        table: TableId,
        range: KeyRange,
        direction: Direction,
        columns: ColumnSet,
        visit: &mut Visit<'_>,
    ) -> Result<(), Abort> {
        let mut buffers = [[0; MAX_KEY_BYTES]; 2];
        let [first, last] = &mut buffers;
        let range = ByteRange::new(spell(range.first(), first), spell(range.last(), last));
        let range = range.expect("spellings are in the order of the numbers");
        let visit = &mut |key: &[u8], row: &[u8]| visit(number(key), row);
        self.0.scan_bytes(table, range, direction, columns, visit)
    }

    fn scan_bytes(
        &mut self,
        table: TableId,
        range: ByteRange<'_>,
        direction: Direction,
        columns: ColumnSet,
        visit: &mut ByteVisit<'_>,
    ) -> Result<(), Abort> {
        self.0.scan_bytes(table, range, direction, columns, visit)
    }

    fn scan_index(
        &mut self,
        index: TableId,
        range: KeyRange,
        direction: Direction,
        columns: ColumnSet,
        visit: &mut Visit<'_>,
    ) -> Result<(), Abort> {
        self.0.scan_index(index, range, direction, columns, visit)
    }

    fn refused_by(&self) -> Option<TableId> {
        self.0.refused_by()
    }

    fn allocate_timestamp(&mut self) -> u64 {
        self.0.allocate_timestamp()
    }

    fn compute(&mut self, cycles: u64) {
        self.0.compute(cycles);
    }
}

struct SpelledLoader<'l> {
    loader: &'l mut dyn Loader,
    row_bytes: Vec<usize>,
}

impl Loader for SpelledLoader<'_> {
    fn load_dense(&mut self, table: TableId, count: u64, row: &(dyn Fn(u64, &mut [u8]) + Sync)) {
        let mut buffer = vec![0; self.row_bytes[table.0 as usize]];
        for key in 0..count {
            buffer.fill(0);
            row(key, &mut buffer);
            self.load(table, key, &buffer);
        }
    }

    fn load(&mut self, table: TableId, key: u64, row: &[u8]) {
        let mut buffer = [0; MAX_KEY_BYTES];
        self.loader.load_bytes(table, spell(key, &mut buffer), row);
    }

    fn load_bytes(&mut self, table: TableId, key: &[u8], row: &[u8]) {
        self.loader.load_bytes(table, key, row);
    }
}

/// One worker's stream of procedures.
#[derive(Clone, Debug)]
pub struct SpelledClient<C>(C);

impl<C: Client> Client for SpelledClient<C> {
    fn next(&mut self) {
        self.0.next();
    }

    fn run<A: Access + ?Sized>(&mut self, access: &mut A) -> Result<(), Abort> {
        self.0.run(&mut SpelledAccess(access))
    }

    // Partitions go by digests of keys, which nobody knows beforehand: declares nothing.

    fn read_only(&self) -> bool {
        self.0.read_only()
    }

    fn kind(&self) -> usize {
        self.0.kind()
    }
}

impl<W: Workload> Workload for Spelled<W> {
    type Client = SpelledClient<W::Client>;
    const COMPILED: bool = false;

    fn schema(&self) -> Schema {
        let spelled = |table: TableSchema| {
            assert!(table.indexes.is_empty(), "secondary indexes name rows by numbers");
            let index = if table.index.is_ordered() { table.index } else { IndexKind::Hash };
            table.indexed(index).keyed_by_bytes(MAX_KEY_BYTES)
        };
        Schema { tables: self.0.schema().tables.into_iter().map(spelled).collect() }
    }

    fn rows(&self, table: TableId) -> u64 {
        self.0.rows(table)
    }

    fn load(&self, loader: &mut dyn Loader) {
        let bytes = |table: &TableSchema| table.columns.iter().map(|c| c.kind.bytes()).sum();
        let row_bytes = self.0.schema().tables.iter().map(bytes).collect();
        self.0.load(&mut SpelledLoader { loader, row_bytes });
    }

    fn client(&self, worker: usize, workers: usize, seed: u64) -> Self::Client {
        SpelledClient(self.0.client(worker, workers, seed))
    }

    fn kinds(&self) -> &'static [&'static str] {
        self.0.kinds()
    }

    fn grows(&self) -> bool {
        self.0.grows()
    }

    fn conservation(&self) -> Option<Conservation> {
        let law = self.0.conservation()?;
        Some(Box::new(move |access, committed| law(&mut SpelledAccess(access), committed)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn keys_are_in_the_order_of_their_spellings() {
        let (mut before, mut lengths) = (None, BTreeSet::new());
        let keys =
            (0..1000).chain(u64::MAX / 2 - 500..u64::MAX / 2).chain(u64::MAX - 1000..=u64::MAX);
        for key in keys {
            let mut buffer = [0; MAX_KEY_BYTES];
            let spelled = spell(key, &mut buffer).to_vec();
            assert_eq!(number(&spelled), key);
            lengths.insert(spelled.len());
            assert!(before.is_none_or(|before| before < spelled), "{key}");
            before = Some(spelled);
        }
        assert!(lengths.contains(&1) && lengths.contains(&63) && lengths.len() > 20);
    }
}
