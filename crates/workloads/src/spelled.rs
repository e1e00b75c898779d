//! Wraps a workload so that its keys are bytes: the same procedures run against tables with keys of bytes.
//!
//! This wrapper serves tests and the explorer. The laws and procedures of a workload hold for any form of
//! keys. The keys are in the order of their numbers. Neighboring keys differ in length, from 1 byte to 63,
//! share prefixes longer than a word, and can end in zeros.

use std::ops::ControlFlow;
use txn::{
    Abort, Access, Action, ByteRange, Client, ColumnSet, Conservation, Direction, IndexKind,
    Intent, Key, Keys, Loader, MAX_KEY_BYTES, RowLayout, Schema, TableId, TableSchema, Visit,
    Workload,
};

/// A workload with keys of bytes. In secondary indexes the wrapped workload must search only by values, never
/// by parts of keys. In tables with secondary indexes its keys must be small numbers.
#[derive(Clone, Debug)]
pub struct Spelled<W>(pub W);

/// Suffixes that follow the common prefix of eight neighboring keys, in order. Lengths go up and down, and
/// some suffixes differ only in their trailing zeros.
const TAILS: [&[u8]; 8] =
    [b"", b"\0", &[0; 9], &[0; 54], &[1; 40], &[0x7F; 8], b"\x80", &[0xFF; 54]];

/// Encodes a key. Eight consecutive keys share a prefix: their number divided by eight in as few digits as
/// possible, preceded by the number of digits. A tail distinguishes the eight keys.
fn spell_number(key: u64, buffer: &mut [u8; MAX_KEY_BYTES]) -> &[u8] {
    let (eighth, tail) = (key / 8, TAILS[(key % 8) as usize]);
    let digits = eighth.to_be_bytes();
    let digits = &digits[eighth.leading_zeros() as usize / 8..];
    let (front, rest) = buffer.split_at_mut(1 + digits.len());
    front[0] = digits.len() as u8;
    front[1..].copy_from_slice(digits);
    rest[..tail.len()].copy_from_slice(tail);
    &buffer[..1 + digits.len() + tail.len()]
}

/// Encodes a key that is a number. Keys of bytes stay unchanged.
fn spell<'k>(key: Key<'k>, buffer: &'k mut [u8; MAX_KEY_BYTES]) -> Key<'k> {
    match key {
        Key::Number(number) => Key::Bytes(spell_number(number, buffer)),
        Key::Bytes(_) => key,
    }
}

/// Returns a buffer for an encoded key.
fn room() -> [u8; MAX_KEY_BYTES] {
    [0; MAX_KEY_BYTES]
}

/// Returns a visitor that passes encoded keys to `visit` as the numbers they stand for.
fn numbering(visit: &mut Visit<'_>) -> impl FnMut(Key<'_>, &[u8]) -> ControlFlow<()> {
    move |key, row| visit(number(key.bytes()).into(), row)
}

/// Decodes a key.
fn number(spelled: &[u8]) -> u64 {
    let (digits, tail) = spelled[1..].split_at(spelled[0].into());
    let eighth = digits.iter().fold(0, |number, digit| number << 8 | u64::from(*digit));
    let tail = TAILS.iter().position(|other| *other == tail).expect("one of the tails");
    eighth * 8 + tail as u64
}

/// Largest length in bytes of a key in a table with secondary indexes. Entries must contain the key beside
/// their columns.
const INDEXED_KEY_BYTES: usize = 58;

/// Form of the entries of an index, by numbers and by bytes.
#[derive(Clone, Copy, Debug)]
struct EntryForm {
    column_bits: u32,
    /// Bits of the row's key when it was a number.
    key_bits: u32,
    /// Largest length in bytes of an encoded entry.
    spelled_bytes: usize,
}

impl EntryForm {
    fn of(table: &TableSchema, spelled: &TableSchema) -> Option<EntryForm> {
        let (index, spelled) = (table.index_of.as_ref()?, spelled.index_of.as_ref()?);
        Some(EntryForm {
            column_bits: index.columns.iter().map(|column| column.bits).sum(),
            key_bits: index.key_bits.unwrap_or(0),
            spelled_bytes: spelled.entry_bytes(),
        })
    }

    /// Returns an end of a range of entries: the columns' bits, followed by bytes that sort before or after
    /// every key.
    fn end(&self, entry: u64, fill: u8) -> Vec<u8> {
        let whole = if fill == 0 { 0 } else { (1 << self.key_bits) - 1 };
        assert_eq!(entry & ((1 << self.key_bits) - 1), whole, "a range of values");
        let columns = (entry >> self.key_bits) << (64 - self.column_bits);
        let mut end = columns.to_be_bytes()[..self.column_bits.div_ceil(8) as usize].to_vec();
        end.resize(if fill == 0 { end.len() } else { self.spelled_bytes }, fill);
        end
    }
}

struct SpelledAccess<'a, A: ?Sized> {
    access: &'a mut A,
    /// Entry form of each table that is an index.
    entries: &'a [Option<EntryForm>],
}

impl<A: Access + ?Sized> Access for SpelledAccess<'_, A> {
    fn read_with(
        &mut self,
        table: TableId,
        key: Key<'_>,
        columns: ColumnSet,
        intent: Intent,
        out: &mut [u8],
    ) -> Result<bool, Abort> {
        self.access.read_with(table, spell(key, &mut room()), columns, intent, out)
    }

    fn fetch(
        &mut self,
        table: TableId,
        key: Key<'_>,
        columns: ColumnSet,
        intent: Intent,
        out: &mut Vec<u8>,
    ) -> Result<bool, Abort> {
        self.access.fetch(table, spell(key, &mut room()), columns, intent, out)
    }

    fn update(
        &mut self,
        table: TableId,
        key: Key<'_>,
        columns: ColumnSet,
        values: &[u8],
    ) -> Result<bool, Abort> {
        self.access.update(table, spell(key, &mut room()), columns, values)
    }

    fn add(
        &mut self,
        table: TableId,
        key: Key<'_>,
        columns: ColumnSet,
        deltas: &[u8],
    ) -> Result<bool, Abort> {
        self.access.add(table, spell(key, &mut room()), columns, deltas)
    }

    fn adds_at_commit(&self) -> bool {
        self.access.adds_at_commit()
    }

    fn insert(&mut self, table: TableId, key: Key<'_>, row: &[u8]) -> Result<bool, Abort> {
        self.access.insert(table, spell(key, &mut room()), row)
    }

    fn delete(&mut self, table: TableId, key: Key<'_>) -> Result<bool, Abort> {
        self.access.delete(table, spell(key, &mut room()))
    }

    fn scan(
        &mut self,
        table: TableId,
        range: Keys<'_>,
        direction: Direction,
        columns: ColumnSet,
        visit: &mut Visit<'_>,
    ) -> Result<(), Abort> {
        let Keys::Numbers(range) = range else {
            return self.access.scan(table, range, direction, columns, visit);
        };
        let mut rooms = [room(); 2];
        let [first, last] = &mut rooms;
        let ends = (spell_number(range.first(), first), spell_number(range.last(), last));
        let range = ByteRange::new(ends.0, ends.1).expect("spellings are in numbers' order");
        self.access.scan(table, range.into(), direction, columns, &mut numbering(visit))
    }

    fn scan_index(
        &mut self,
        index: TableId,
        range: Keys<'_>,
        direction: Direction,
        columns: ColumnSet,
        visit: &mut Visit<'_>,
    ) -> Result<(), Abort> {
        let Keys::Numbers(range) = range else {
            return self.access.scan_index(index, range, direction, columns, visit);
        };
        let form = self.entries[index.0 as usize].expect("the table is an index");
        let (first, last) = (form.end(range.first(), 0), form.end(range.last(), u8::MAX));
        let range = ByteRange::new(&first, &last).expect("the order of the numbers");
        self.access.scan_index(index, range.into(), direction, columns, &mut numbering(visit))
    }

    fn refused_by(&self) -> Option<TableId> {
        self.access.refused_by()
    }

    // A prefetch hint names numbers. Keys of bytes have no hints.
    fn prefetch(&mut self, _: TableId, _: &[(u64, ColumnSet)]) {}

    fn append(&mut self, row: &[u8]) -> Result<(), Abort> {
        self.access.append(row)
    }

    fn allocate_timestamp(&mut self) -> u64 {
        self.access.allocate_timestamp()
    }

    fn compute(&mut self, cycles: u64) {
        self.access.compute(cycles);
    }

    fn splits(&self) -> bool {
        // Actions would reach the tables without the spelling.
        false
    }

    fn run_actions(&mut self, _: &mut [Action<'_>]) -> Result<(), Abort> {
        unreachable!("the access does not split")
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
            self.load(table, key.into(), &buffer);
        }
    }

    fn load_many(&mut self, table: TableId, count: u64, row: &(dyn Fn(u64, &mut Vec<u8>) + Sync)) {
        let mut buffer = Vec::new();
        for key in 0..count {
            buffer.clear();
            row(key, &mut buffer);
            self.load(table, key.into(), &buffer);
        }
    }

    fn load(&mut self, table: TableId, key: Key<'_>, row: &[u8]) {
        self.loader.load(table, spell(key, &mut room()), row);
    }
}

/// One worker's stream of procedures.
#[derive(Clone, Debug)]
pub struct SpelledClient<C> {
    client: C,
    entries: Vec<Option<EntryForm>>,
}

impl<C: Client> Client for SpelledClient<C> {
    fn next(&mut self) {
        self.client.next();
    }

    fn run<A: Access + ?Sized>(&mut self, access: &mut A) -> Result<(), Abort> {
        self.client.run(&mut SpelledAccess { access, entries: &self.entries })
    }

    // A plan names keys by numbers, so this client has none.
    // Partitions are chosen by digests of keys, which are not known beforehand. So this client declares none.
    fn partitions(&self, _: &mut Vec<u64>) {}

    fn read_only(&self) -> bool {
        self.client.read_only()
    }

    fn kind(&self) -> usize {
        self.client.kind()
    }
}

impl<W: Workload> Spelled<W> {
    fn entries(&self) -> Vec<Option<EntryForm>> {
        let (tables, spelled) = (self.0.schema().tables, self.schema().tables);
        tables.iter().zip(&spelled).map(|(table, spelled)| EntryForm::of(table, spelled)).collect()
    }
}

impl<W: Workload> Workload for Spelled<W> {
    type Client = SpelledClient<W::Client>;
    // The frames of this wrapper hold only buffers of their own and references.
    const MOVABLE: Option<txn::Movable> = W::MOVABLE;
    const COMPILED: bool = false;

    fn schema(&self) -> Schema {
        let mut tables = self.0.schema().tables;
        for table in tables.iter_mut().filter(|table| table.index_of.is_none()) {
            let index = if table.index.is_ordered() { table.index } else { IndexKind::Hash };
            let most = if table.indexes.is_empty() { MAX_KEY_BYTES } else { INDEXED_KEY_BYTES };
            *table = table.clone().indexed(index).keyed_by_bytes(most);
        }
        let spelled = |table: &TableSchema| {
            let Some(index) = &table.index_of else { return table.clone() };
            let base = &tables[index.table.0 as usize];
            let columns = index.columns.iter().map(|c| (&*base.columns[c.column].name, c.bits));
            let columns: Vec<(&str, u32)> = columns.collect();
            let of = (index.table, base);
            let spelled = TableSchema::index_of(&*table.name, of, &columns, index.key_bits);
            spelled.partitioned(table.partitioning)
        };
        Schema { tables: tables.iter().map(spelled).collect() }
    }

    fn rows(&self, table: TableId) -> u64 {
        self.0.rows(table)
    }

    fn load(&self, loader: &mut dyn Loader) {
        let bytes = |table: &TableSchema| RowLayout::of(table).bytes();
        let row_bytes = self.0.schema().tables.iter().map(bytes).collect();
        self.0.load(&mut SpelledLoader { loader, row_bytes });
    }

    fn client(&self, worker: usize, workers: usize, seed: u64) -> Self::Client {
        let client = self.0.client(worker, workers, seed);
        SpelledClient { client, entries: self.entries() }
    }

    fn kinds(&self) -> &'static [&'static str] {
        self.0.kinds()
    }

    fn grows(&self) -> bool {
        self.0.grows()
    }

    // Records with keys of bytes have no number that gives their position in a locking order.
    fn in_key_order(&self) -> bool {
        false
    }

    fn conservation(&self) -> Option<Conservation> {
        let law = self.0.conservation()?;
        let entries = self.entries();
        Some(Box::new(move |access, committed| {
            law(&mut SpelledAccess { access, entries: &entries }, committed)
        }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn keys_are_in_the_order_of_their_spellings() {
        let (mut before, mut lengths) = (None, BTreeSet::new());
        let longer = (1..8).flat_map(|digits| (1 << (8 * digits + 3)..).take(8));
        let middle = u64::MAX / 2 - 500..u64::MAX / 2;
        let keys = (0..1000).chain(longer).chain(middle).chain(u64::MAX - 1000..=u64::MAX);
        for key in keys {
            let spelled = spell_number(key, &mut room()).to_vec();
            assert_eq!(number(&spelled), key);
            lengths.insert(spelled.len());
            assert!(before.is_none_or(|before| before < spelled), "{key}");
            before = Some(spelled);
        }
        assert!(lengths.contains(&1) && lengths.contains(&63) && lengths.len() > 20);
    }
}
