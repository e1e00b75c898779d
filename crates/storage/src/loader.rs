//! Loading of tables before a run.

use crate::{Store, StoreError, Table, ValueSpace, key_digest};
use machine::{
    Body, Machine, OutOfMemory, SettledRange,
    cold::{Arc, Mutex},
};
use txn::{Key, Loader, Partitioning, Share, TableId};

/// Loads a workload's rows into stores. Each store gets the rows of its [share](Store::share). On native machines several
/// threads store the rows. On a modelled machine the loader keeps the rule that defines the rows instead of the rows
/// themselves (see `Table::make_dense`).
pub struct StoreLoader<'s, M: Machine> {
    /// All stores have everything, or each has the share of the owner with its number.
    stores: Vec<&'s Store<M>>,
    threads: usize,
    /// First error. The [`Loader`] trait cannot return it, so [`StoreLoader::finish`] does.
    error: Option<OutOfMemory>,
}

/// Function that defines the rows of a table, by key.
#[derive(Clone, Copy)]
enum Rule<'r> {
    /// For columns of fixed length: writes a row into a buffer of zeros.
    Fixed(&'r (dyn Fn(u64, &mut [u8]) + Sync)),
    /// For columns of any type: appends a row in packed form.
    Any(&'r (dyn Fn(u64, &mut Vec<u8>) + Sync)),
}

/// Buffers for one row, and slots for its values outside the record.
#[derive(Default)]
struct Room {
    packed: Vec<u8>,
    held: Vec<u8>,
    space: ValueSpace,
}

impl Rule<'_> {
    /// Writes the row `key` of `table` into the packed buffer.
    fn pack<M: Machine>(self, table: &Table<M>, key: u64, packed: &mut Vec<u8>) {
        packed.clear();
        match self {
            Rule::Fixed(row) => {
                packed.resize(table.row_layout().bytes(), 0);
                row(key, packed);
            }
            Rule::Any(row) => row(key, packed),
        }
    }

    /// Writes the row `key` of `table` into the buffer for held rows.
    fn hold<M: Machine>(
        self,
        store: &Store<M>,
        table: &Table<M>,
        key: u64,
        room: &mut Room,
    ) -> Result<(), OutOfMemory> {
        match self {
            Rule::Fixed(_) => {
                self.pack(table, key, &mut room.held);
                Ok(())
            }
            Rule::Any(_) => {
                self.pack(table, key, &mut room.packed);
                let packed = std::mem::take(&mut room.packed);
                let done = hold(store, table, &packed, room);
                room.packed = packed;
                done
            }
        }
    }
}

/// Writes a row, given in packed form, into the buffer for held rows.
fn hold<M: Machine>(
    store: &Store<M>,
    table: &Table<M>,
    packed: &[u8],
    Room { held, space, .. }: &mut Room,
) -> Result<(), OutOfMemory> {
    held.clear();
    let (layout, values) = (table.row_layout(), store.values());
    layout.hold(layout.all(), packed, held, |value| values.store_alone(space, value))
}

/// Returns the number by which a key is assigned to a partition.
fn number_of(key: Key<'_>) -> u64 {
    match key {
        Key::Number(number) => number,
        Key::Bytes(bytes) => key_digest(bytes),
    }
}

/// Adds one row, given in held form, without its entries in secondary indexes.
fn load_alone<M: Machine>(table: &Table<M>, key: Key<'_>, row: &[u8]) -> Result<(), OutOfMemory> {
    match key {
        Key::Number(key) => table.load_alone(key, row),
        Key::Bytes(key) => table.load_bytes_alone(key, row),
    }
}

/// Lets the rows `0..count` of `table`, whose slots begin at `first`, lie on the nodes of their partitions, and the
/// copies of a replicated table on the nodes of the same numbers. The words of a direct-addressed index lie with the
/// rows, as they do where the thread that loads a row is the first to touch its word. Does nothing if the arena has no
/// nodes for partitions, or if a partition's rows do not follow each other.
fn settle<M: Machine>(table: &Table<M>, share: Share, first: u64, count: u64) {
    let (arena, rule) = (table.arena(), table.schema().partitioning);
    if !share.is_whole() {
        return settle_share(table, share, first, count);
    }
    let (Some(nodes), Some(unit)) = (arena.partition_nodes(), rule.unit_of(count)) else { return };
    let nodes: Arc<[u16]> = match rule {
        Partitioning::Replicated { copies } if copies <= u64::from(arena.nodes()) => {
            (0..copies as u16).collect()
        }
        Partitioning::Replicated { .. } => return,
        _ if nodes.len() as u64 == rule.partitions() => nodes.clone(),
        _ => return,
    };
    if let Some(words) = table.settled_words(count, unit, &nodes) {
        arena.settle(words, !M::MODELLED);
    }
    let range = SettledRange { first, unit_bytes: unit * table.stride(), nodes };
    arena.settle(range, !M::MODELLED);
}

/// Lets the rows of a share among `0..count` lie on the nodes of their partitions, as [`settle`] does with all rows.
fn settle_share<M: Machine>(table: &Table<M>, share: Share, first: u64, count: u64) {
    let (arena, rule) = (table.arena(), table.schema().partitioning);
    let (Some(nodes), Some((unit, partitions))) =
        (arena.partition_nodes(), share.units(rule, count))
    else {
        return;
    };
    let of_each: Option<Arc<[u16]>> =
        partitions.into_iter().map(|partition| nodes.get(partition as usize).copied()).collect();
    if let Some(nodes) = of_each {
        let range = SettledRange { first, unit_bytes: unit * table.stride(), nodes };
        arena.settle(range, !M::MODELLED);
    }
}

impl<'s, M: Machine> StoreLoader<'s, M> {
    /// Makes a loader of one store, with `threads` threads.
    pub fn new(store: &'s Store<M>, threads: usize) -> Self {
        StoreLoader::of_stores(vec![store], threads)
    }

    /// Makes a loader of several stores. All of them must have everything, or store number `i` the share of owner `i`.
    pub fn of_stores(stores: Vec<&'s Store<M>>, threads: usize) -> Self {
        let owners = stores.len();
        let is_share = |(owner, store): (usize, &&Store<M>)| {
            store.share().is_whole() || store.share() == Share::of(owner, owners)
        };
        assert!(stores.iter().enumerate().all(is_share), "each store has its share");
        StoreLoader { stores, threads: threads.max(1), error: None }
    }

    /// Returns any of the stores. All of them have the same tables.
    fn store(&self) -> &'s Store<M> {
        self.stores[0]
    }

    /// Returns the stores that have the row `key` of `table`.
    fn homes(&self, table: &Table<M>, key: Key<'_>) -> &[&'s Store<M>] {
        let share = self.store().share();
        let owner = share.owner_of(table.schema().partitioning, number_of(key));
        match owner.filter(|_| !share.is_whole()) {
            Some(owner) => &self.stores[owner..=owner],
            None => &self.stores,
        }
    }

    /// Ends loading. Builds the ordered indexes and reports whether all rows found room.
    pub fn finish(self) -> Result<(), StoreError> {
        if let Some(error) = self.error {
            return Err(StoreError::OutOfMemory(error));
        }
        for table in self.stores.iter().flat_map(|store| store.tables()) {
            table.finish_loading()?;
        }
        Ok(())
    }

    /// Adds the entries of a row to the secondary indexes of its table.
    fn load_entries(&self, table: TableId, key: Key<'_>, row: &[u8]) -> Result<(), OutOfMemory> {
        let table = self.store().table(table);
        for &id in &table.schema().indexes {
            let home = self.store().table(id);
            let index = home.schema().index_of.as_ref().expect("an index says of what");
            let (layout, all) = (table.layout(), table.layout().all());
            let entry = index.entry(key, |column| layout.field(all, row, column));
            let name = &home.schema().name;
            let entry = entry.unwrap_or_else(|| panic!("{name:?} has no place for row {key}"));
            let row = index.entry_row(key);
            for store in self.homes(home, entry.as_key()) {
                load_alone(store.table(id), entry.as_key(), &row)?;
            }
        }
        Ok(())
    }

    fn load_by_rule(
        store: &Store<M>,
        table: TableId,
        count: u64,
        rule: Rule<'_>,
    ) -> Result<(), OutOfMemory> {
        let (table, mut room) = (store.table(table), Room::default());
        let (share, partitioning) = (store.share(), table.schema().partitioning);
        let slots = share.slots(partitioning, count);
        let mut own = share.keys(partitioning, count, 0..slots).map(|(_, key)| key);
        let done = match table.is_ordered() {
            // An ordered index must hold an entry for every row.
            true => own.try_for_each(|key| {
                rule.hold(store, table, key, &mut room)?;
                table.load_alone(key, &room.held)
            }),
            false => table.make_dense(share, count).and_then(|first| {
                settle(table, share, first, count);
                if !table.keeps_columns() {
                    return Ok(());
                }
                own.try_for_each(|key| {
                    rule.hold(store, table, key, &mut room)?;
                    table.fill_dense(key, &room.held);
                    Ok(())
                })
            }),
        };
        store.values().leave(room.space);
        done
    }

    fn load_rows(
        &self,
        store: &Store<M>,
        table: TableId,
        count: u64,
        rule: Rule<'_>,
    ) -> Result<(), OutOfMemory> {
        let table = store.table(table);
        let (share, partitioning) = (store.share(), table.schema().partitioning);
        let slots = share.slots(partitioning, count);
        let first = table.take_extent(slots)?;
        settle(table, share, first, count);
        let threads = self.threads as u64;
        let failed = Mutex::new(None);
        let bodies = (0..threads)
            .map(|t| -> Body<'_, M> {
                let failed = &failed;
                Box::new(move |core| {
                    let mut room = Room::default();
                    let lot = slots * t / threads..slots * (t + 1) / threads;
                    let mut own = share.keys(partitioning, count, lot);
                    let done = own.try_for_each(|(slot, key)| {
                        rule.hold(store, table, key, &mut room)?;
                        table.load_at(core, first + slot * table.stride(), key, &room.held)
                    });
                    if let Err(error) = done {
                        *failed.lock() = Some(error);
                    }
                    store.values().leave(room.space);
                })
            })
            .collect();
        // Loading cannot deadlock and does not ask for too many cores. The only possible error is that the system
        // refuses threads.
        store.machine().run(bodies, vec![]).map_err(|_| OutOfMemory { asked: 0, left: 0 })?;
        failed.into_inner().map_or(Ok(()), Err)?;
        if table.is_ordered() && share.is_whole() && count > 0 {
            table.note_loaded(0, first, count);
        } else if table.is_ordered() {
            for (slot, key) in share.keys(partitioning, count, 0..slots) {
                table.note_loaded(key, first + slot * table.stride(), 1);
            }
        }
        Ok(())
    }

    /// Loads the rows `0..count`, and their entries in secondary indexes.
    fn load_all(&mut self, table: TableId, count: u64, rule: Rule<'_>) {
        for &store in &self.stores {
            let done = match M::MODELLED {
                true => Self::load_by_rule(store, table, count, rule),
                false => self.load_rows(store, table, count, rule),
            };
            self.error = self.error.or(done.err());
        }
        let home = self.store().table(table);
        if !home.schema().indexes.is_empty() {
            let mut packed = Vec::new();
            for key in 0..count {
                rule.pack(home, key, &mut packed);
                let done = self.load_entries(table, Key::Number(key), &packed);
                self.error = self.error.or(done.err());
            }
        }
    }

    /// Adds one row without its entries in secondary indexes.
    fn load_row(
        store: &Store<M>,
        table: TableId,
        key: Key<'_>,
        packed: &[u8],
    ) -> Result<(), OutOfMemory> {
        let home = store.table(table);
        if home.row_layout().variable().is_empty() {
            return load_alone(home, key, packed);
        }
        let mut room = Room::default();
        let done = hold(store, home, packed, &mut room);
        let done = done.and_then(|()| load_alone(home, key, &room.held));
        store.values().leave(room.space);
        done
    }
}

impl<M: Machine> Loader for StoreLoader<'_, M> {
    fn load_dense(&mut self, table: TableId, count: u64, row: &(dyn Fn(u64, &mut [u8]) + Sync)) {
        self.load_all(table, count, Rule::Fixed(row));
    }

    fn load_many(&mut self, table: TableId, count: u64, row: &(dyn Fn(u64, &mut Vec<u8>) + Sync)) {
        self.load_all(table, count, Rule::Any(row));
    }

    fn load(&mut self, table: TableId, key: Key<'_>, row: &[u8]) {
        let homes = self.homes(self.store().table(table), key);
        let done = homes.iter().try_for_each(|store| Self::load_row(store, table, key, row));
        let done = done.and_then(|()| self.load_entries(table, key, row));
        self.error = self.error.or(done.err());
    }
}
