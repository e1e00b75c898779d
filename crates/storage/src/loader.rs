//! Loading of tables before a run.

use crate::{Store, StoreError, Table};
use machine::{Body, Machine, OutOfMemory, cold::Mutex};
use txn::{ColumnSet, Key, Loader, TableId};

/// Loads a workload's rows into a store. On native machines several threads store the rows. On a modelled machine the
/// loader keeps the rule that defines the rows instead of the rows themselves (see `Table::make_dense`).
pub struct StoreLoader<'s, M: Machine> {
    store: &'s Store<M>,
    threads: usize,
    /// First error. The [`Loader`] trait cannot return it, so [`StoreLoader::finish`] does.
    error: Option<OutOfMemory>,
}

/// Adds one row, without its entries in secondary indexes.
fn load_alone<M: Machine>(table: &Table<M>, key: Key<'_>, row: &[u8]) -> Result<(), OutOfMemory> {
    match key {
        Key::Number(key) => table.load_alone(key, row),
        Key::Bytes(key) => table.load_bytes_alone(key, row),
    }
}

impl<'s, M: Machine> StoreLoader<'s, M> {
    /// Makes a loader with `threads` threads.
    pub fn new(store: &'s Store<M>, threads: usize) -> Self {
        StoreLoader { store, threads: threads.max(1), error: None }
    }

    /// Ends loading. Builds the ordered indexes and reports whether all rows found room.
    pub fn finish(self) -> Result<(), StoreError> {
        if let Some(error) = self.error {
            return Err(StoreError::OutOfMemory(error));
        }
        for table in self.store.tables() {
            table.finish_loading()?;
        }
        Ok(())
    }

    /// Adds the entries of a row to the secondary indexes of its table.
    fn load_entries(&self, table: TableId, key: Key<'_>, row: &[u8]) -> Result<(), OutOfMemory> {
        let table = self.store.table(table);
        for &id in &table.schema().indexes {
            let home = self.store.table(id);
            let index = home.schema().index_of.as_ref().expect("an index says of what");
            let entry = index.entry(key, |column| {
                let start = table.layout().packed_bytes(ColumnSet::first(column));
                &row[start..start + table.layout().span(column).bytes as usize]
            });
            let name = &home.schema().name;
            let entry = entry.unwrap_or_else(|| panic!("{name:?} has no place for row {key}"));
            let row = index.entry_row(key);
            load_alone(home, entry.as_key(), &row)?;
        }
        Ok(())
    }

    fn load_by_rule(
        &self,
        table: TableId,
        count: u64,
        row: &(dyn Fn(u64, &mut [u8]) + Sync),
    ) -> Result<(), OutOfMemory> {
        let table = self.store.table(table);
        if table.is_ordered() {
            // An ordered index must hold an entry for every row.
            let mut buffer = vec![0; table.row_layout().bytes()];
            return (0..count).try_for_each(|key| {
                buffer.fill(0);
                row(key, &mut buffer);
                table.load_alone(key, &buffer)
            });
        }
        table.make_dense(count)?;
        if table.keeps_columns() {
            let mut buffer = vec![0; table.row_layout().bytes()];
            for key in 0..count {
                buffer.fill(0);
                row(key, &mut buffer);
                table.fill_dense(key, &buffer);
            }
        }
        Ok(())
    }

    fn load_rows(
        &self,
        table: TableId,
        count: u64,
        row: &(dyn Fn(u64, &mut [u8]) + Sync),
    ) -> Result<(), OutOfMemory> {
        let table = self.store.table(table);
        let first = table.take_extent(count)?;
        let threads = self.threads as u64;
        let failed = Mutex::new(None);
        let bodies = (0..threads)
            .map(|t| -> Body<'_, M> {
                let failed = &failed;
                Box::new(move |core| {
                    let mut buffer = vec![0; table.row_layout().bytes()];
                    for key in count * t / threads..count * (t + 1) / threads {
                        buffer.fill(0);
                        row(key, &mut buffer);
                        let offset = first + key * table.stride();
                        if let Err(error) = table.load_at(core, offset, key, &buffer) {
                            *failed.lock() = Some(error);
                            return;
                        }
                    }
                })
            })
            .collect();
        // Loading cannot deadlock and does not ask for too many cores. The only possible error is that the system
        // refuses threads.
        self.store.machine().run(bodies, vec![]).map_err(|_| OutOfMemory { asked: 0, left: 0 })?;
        failed.into_inner().map_or(Ok(()), Err)?;
        if table.is_ordered() && count > 0 {
            table.note_loaded(0, first, count);
        }
        Ok(())
    }
}

impl<M: Machine> Loader for StoreLoader<'_, M> {
    fn load_dense(&mut self, table: TableId, count: u64, row: &(dyn Fn(u64, &mut [u8]) + Sync)) {
        let done = match M::MODELLED {
            true => self.load_by_rule(table, count, row),
            false => self.load_rows(table, count, row),
        };
        self.error = self.error.or(done.err());
        let layout = self.store.table(table).row_layout();
        if !self.store.table(table).schema().indexes.is_empty() {
            let mut buffer = vec![0; layout.bytes()];
            for key in 0..count {
                buffer.fill(0);
                row(key, &mut buffer);
                self.error =
                    self.error.or(self.load_entries(table, Key::Number(key), &buffer).err());
            }
        }
    }

    fn load(&mut self, table: TableId, key: Key<'_>, row: &[u8]) {
        let home = self.store.table(table);
        let done = load_alone(home, key, row).and_then(|()| self.load_entries(table, key, row));
        self.error = self.error.or(done.err());
    }
}
