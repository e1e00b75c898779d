//! Operations of an engine on whole stores: loading, creating tables, and reports. They depend neither on the protocol nor on the
//! architecture, so the compiler makes them once for each machine.

use crate::engine::{Dataset, EngineError};
use machine::Machine;
use storage::{Place, Store, StoreLoader, Table};
use txn::{LoadedTable, TableId, TableSchema};

/// Creates the tables of `data` in all stores and loads them with `threads` threads.
pub fn load<M: Machine>(
    stores: &[&Store<M>],
    data: &dyn Dataset,
    threads: usize,
) -> Result<(), EngineError> {
    for store in stores {
        store.create_tables(&data.schema(), |table| data.rows(table))?;
    }
    let mut loader = StoreLoader::of_stores(stores.to_vec(), threads);
    data.load(&mut loader);
    Ok(loader.finish()?)
}

/// Creates tables in all stores ([`crate::Engine::create_table`]).
pub fn create_table<M: Machine>(
    stores: &[&Store<M>],
    first: TableId,
    tables: &[TableSchema],
    rows: u64,
) -> Result<(), EngineError> {
    for store in stores {
        store.create_table(first, tables, rows)?;
    }
    Ok(())
}

/// Returns the bytes that `rows` rows take in all stores ([`crate::Engine::bytes_for`]).
pub fn bytes_for<M: Machine>(stores: &[&Store<M>], schema: &TableSchema, rows: u64) -> u64 {
    stores.iter().map(|store| store.bytes_for(schema, rows)).sum()
}

/// Returns the tables with their numbers.
pub fn tables<M: Machine>(store: &Store<M>) -> Vec<(TableId, &TableSchema)> {
    store.tables().map(|table| (table.id(), table.schema())).collect()
}

/// Returns the numbers and names of all tables, also of those that share the records of another one.
pub fn table_names<M: Machine>(store: &Store<M>) -> Vec<(TableId, String)> {
    store.tables().flat_map(Table::names).collect()
}

/// Returns the tables as they were loaded.
pub fn loaded<M: Machine>(stores: &[&Store<M>]) -> Vec<LoadedTable> {
    let tables = |store: &Store<M>| -> Vec<LoadedTable> {
        store.tables().filter_map(Table::loaded).collect()
    };
    let mut all = tables(stores[0]);
    // Owners of a share have different rows. Otherwise every owner is loaded with all rows.
    for store in stores[1..].iter().filter(|store| !store.share().is_whole()) {
        for (whole, share) in all.iter_mut().zip(tables(store)) {
            whole.add(share);
        }
    }
    all
}

/// Checks the values outside the rows ([`crate::Engine::audit_values`]).
pub fn audit_values<M: Machine>(stores: &[&Store<M>], core: &M::Core) -> Result<(), String> {
    stores.iter().try_for_each(|store| store.audit_values(core))
}

/// Returns the places of a row in all stores ([`crate::Engine::places`]).
pub fn places<M: Machine>(
    stores: &[&Store<M>],
    core: &M::Core,
    table: TableId,
    key: u64,
) -> Vec<Place> {
    let named = |home: &&Table<M>| home.names().iter().any(|(number, _)| *number == table);
    let homes = stores.iter().flat_map(|store| store.tables());
    let places = homes.filter(named).flat_map(|home| home.places(core, key));
    places.filter(|place| place.table == table).collect()
}
