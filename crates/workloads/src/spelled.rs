//! A workload whose keys are spelled out: the same procedures, against tables with keys of bytes.
//!
//! Made for tests and for the explorer: laws and procedures of a workload hold whatever keys look like. Keys of
//! neighbours differ in length, from 1 byte to 64, and share their beginnings.

use txn::{
    Abort, Access, Client, ColumnSet, Conservation, Direction, IndexKind, Intent, KeyRange, Loader,
    MAX_KEY_BYTES, Schema, TableId, TableSchema, Visit, Workload,
};

/// `workload`, with keys of bytes. Its procedures neither scan nor use secondary indexes.
#[derive(Clone, Debug)]
pub struct Spelled<W>(pub W);

/// The number in decimal, behind so many zeros that it is as long as no neighbour's.
fn spell(key: u64, buffer: &mut [u8; MAX_KEY_BYTES]) -> &[u8] {
    let digits = key.checked_ilog10().map_or(1, |log| log as usize + 1);
    let length = digits.max(1 + (key.wrapping_mul(13) % MAX_KEY_BYTES as u64) as usize);
    let mut rest = key;
    for place in buffer[..length].iter_mut().rev() {
        *place = b'0' + (rest % 10) as u8;
        rest /= 10;
    }
    &buffer[..length]
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
        self.0.scan(table, range, direction, columns, visit)
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
            table.indexed(IndexKind::Hash).keyed_by_bytes(MAX_KEY_BYTES)
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
    fn every_key_has_its_own_spelling() {
        let (mut spelled, mut lengths) = (BTreeSet::new(), BTreeSet::new());
        for key in (0..1000).chain(u64::MAX - 1000..=u64::MAX) {
            let mut buffer = [0; MAX_KEY_BYTES];
            let text = spell(key, &mut buffer).to_vec();
            assert_eq!(std::str::from_utf8(&text).unwrap().parse(), Ok(key));
            lengths.insert(text.len());
            assert!(spelled.insert(text), "{key}");
        }
        assert!(lengths.contains(&1) && lengths.contains(&64) && lengths.len() > 50);
    }
}
