//! The store: all tables of one database on one machine.

use crate::{
    AccessOptions, Allocator, Epochs, Piece, ProtocolWords, Record, SystemMemory, Table,
    ValueSpace, Values, shape::Extras,
};
use machine::{
    Machine, OutOfMemory, Word, available_memory,
    cold::{Arc, OnceLock},
};
use std::fmt;
use txn::{
    ColumnSet, Key, Partitioning, Payload, Schema, SchemaError, Share, TableId, TableSchema,
    check_tables, indexed_columns,
};

/// Largest number of tables of a store, also of tables that have been dropped since.
pub const MAX_TABLES: usize = 4096;

/// Options with which a store is made.
#[derive(Clone, Debug)]
pub struct StoreOptions {
    /// Number of sessions that can exist at the same time, services included.
    pub sessions: usize,
    /// Set if the store keeps the identity of every version beside its row, so that histories can be recorded.
    pub keep_versions: bool,
    /// Set if the store keeps the digest of every loaded row beside the row, so that histories can contain values.
    pub keep_digests: bool,
    /// Words that the protocol keeps in each record.
    pub words: ProtocolWords,
    /// Options by which accesses are executed.
    pub access: AccessOptions,
}

impl StoreOptions {
    pub(crate) fn extras(&self) -> Extras {
        let StoreOptions { keep_versions, keep_digests, access, .. } = *self;
        Extras { words: self.words.clone(), keep_versions, keep_digests, access }
    }
}

/// Reason why a table cannot be made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum StoreError {
    /// The schema is wrong.
    Schema(SchemaError),
    /// The rows would not fit into memory. This is reported before anything is allocated.
    TooLarge {
        /// Name of the table.
        table: String,
        /// Number of rows that were requested.
        rows: u64,
        /// Bytes that the rows need.
        needed: u64,
        /// Bytes that the system has available.
        available: u64,
    },
    /// The arena is full.
    OutOfMemory(OutOfMemory),
}

impl From<OutOfMemory> for StoreError {
    fn from(error: OutOfMemory) -> Self {
        StoreError::OutOfMemory(error)
    }
}

impl fmt::Display for StoreError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            StoreError::Schema(error) => error.fmt(f),
            StoreError::TooLarge { table, rows, needed, available } => write!(
                f,
                "table {table:?} with {rows} rows needs {:.1} GB of memory, {:.1} GB are available",
                *needed as f64 / 1e9,
                *available as f64 / 1e9
            ),
            StoreError::OutOfMemory(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for StoreError {}

/// Bytes of tables below which the system is not asked how much memory it has. An explorer makes thousands of small
/// stores a second.
const ALWAYS_FITS: u64 = 64 << 20;

/// Cell for a table. The address of a table stays the same when other tables are made.
type TableCell<M> = OnceLock<Place<M>>;

/// A table, and a word that is 1 if it has been dropped.
struct Place<M: Machine> {
    table: Box<Table<M>>,
    dropped: Word,
}

/// The tables, their memory and their epochs.
pub struct Store<M: Machine> {
    machine: Arc<M>,
    /// Tables by their numbers. A cell is set at most once and never changes afterwards.
    tables: Box<[TableCell<M>]>,
    epochs: Epochs<M>,
    values: Values<M>,
    /// Memory that is taken block by block. None if all memory is the arena's.
    system_memory: Option<SystemMemory<M>>,
    options: StoreOptions,
    /// The keys that the store has.
    share: Share,
}

impl<M: Machine> Store<M> {
    /// Makes a store without tables.
    pub fn new(machine: Arc<M>, options: StoreOptions) -> Result<Self, StoreError> {
        let epochs = Epochs::new(machine.arena(), options.sessions)?;
        let tables = (0..MAX_TABLES).map(|_| OnceLock::new()).collect();
        let values = Values::new(machine.arena());
        let system_memory = match options.access.rows {
            Allocator::Arena => None,
            Allocator::Malloc => Some(SystemMemory::new(machine.arena(), options.words.bytes())?),
        };
        let share = Share::WHOLE;
        Ok(Store { machine, tables, epochs, values, system_memory, options, share })
    }

    /// Returns the same store, without tables so far, for a share of the keys. Its tables are sized for the share and
    /// loaded with it. Tables that are in all partitions become constant, because each owner has a copy of them.
    pub fn with_share(self, share: Share) -> Self {
        assert!(self.tables().next().is_none(), "a store gets its share before its tables");
        Store { share, ..self }
    }

    /// Returns the keys that the store has.
    pub fn share(&self) -> Share {
        self.share
    }

    /// Returns the bytes that the store's share of `rows` rows of `schema` needs, index included.
    pub fn bytes_for(&self, schema: &TableSchema, rows: u64) -> u64 {
        let rows = self.share.rows(schema.partitioning, rows);
        Table::<M>::bytes_for(schema, rows, &self.options.extras())
    }

    /// Makes the tables of `schema`. Each table is sized for the store's share of the number of rows that `rows` returns
    /// for it. If the tables are too large, this function returns an error before it allocates anything.
    pub fn create_tables(
        &self,
        schema: &Schema,
        rows: impl Fn(TableId) -> u64,
    ) -> Result<(), StoreError> {
        schema.check().map_err(StoreError::Schema)?;
        let mut needed = 0u64;
        for (i, table) in schema.tables.iter().enumerate() {
            let rows = rows(TableId(i as u16));
            // On a modelled machine a row whose values are not kept costs memory only when it is touched.
            if !M::MODELLED || table.payload == Payload::Stored {
                needed = needed.saturating_add(self.bytes_for(table, rows));
            }
            if needed > ALWAYS_FITS
                && let Some(available) = available_memory()
                && needed > available
            {
                let table = table.name.clone();
                return Err(StoreError::TooLarge { table, rows, needed, available });
            }
        }
        for (i, table) in schema.tables.iter().enumerate() {
            let id = TableId(i as u16);
            self.make_table(id, table.clone(), rows(id), indexed_columns(&schema.tables, id))?;
        }
        Ok(())
    }

    /// Makes a table and its secondary indexes, with the table numbers from `first` on, sized for `rows` rows. The
    /// caller must use every table number only once.
    pub fn create_table(
        &self,
        first: TableId,
        tables: &[TableSchema],
        rows: u64,
    ) -> Result<(), StoreError> {
        check_tables(first, tables).map_err(StoreError::Schema)?;
        // The base table is made last, so a session that finds it also finds its indexes.
        for (at, table) in tables.iter().enumerate().rev() {
            let id = TableId(first.0.saturating_add(at as u16));
            self.make_table(id, table.clone(), rows, indexed_columns(tables, id))?;
        }
        Ok(())
    }

    fn make_table(
        &self,
        id: TableId,
        mut schema: TableSchema,
        rows: u64,
        indexed: ColumnSet,
    ) -> Result<(), StoreError> {
        let rows = self.share.rows(schema.partitioning, rows);
        let is_replicated = matches!(schema.partitioning, Partitioning::Replicated { .. });
        if is_replicated && !self.share.is_whole() {
            schema.constant = ColumnSet::first(schema.columns.len());
        }
        let Some(cell) = self.tables.get(id.0 as usize) else {
            let message = format!(
                "table {:?}: at most {MAX_TABLES} tables, dropped ones included",
                schema.name
            );
            return Err(StoreError::Schema(SchemaError(message)));
        };
        let table = Table::new(self.machine.arena(), id, schema, rows, &self.options.extras())?;
        let table = table.with_indexed_columns(indexed);
        let count = table.schema().columns.len();
        let added_to = table.schema().added_to.as_ref().map(|added| added.table);
        let place = Place { table: Box::new(table), dropped: Word::new(0) };
        if cell.set(place).is_err() {
            panic!("table number {} was made twice", id.0);
        }
        if let Some(base) = added_to {
            self.table(base).add_columns(id, count);
        }
        Ok(())
    }

    /// Returns table number `id`. Panics if there is none: table numbers come from the schema.
    #[inline(always)]
    pub fn table(&self, id: TableId) -> &Table<M> {
        match self.tables[id.0 as usize].get() {
            Some(place) => &place.table,
            None => panic!("there is no table number {}", id.0),
        }
    }

    /// Returns all tables that were made and not dropped, in order of their numbers.
    pub fn tables(&self) -> impl Iterator<Item = &Table<M>> {
        let made = self.tables.iter().filter_map(OnceLock::get);
        made.filter(|place| place.dropped.peek() == 0).map(|place| &*place.table)
    }

    /// Drops table number `id`: retires its values and gives its memory back. Returns the number of bytes.
    ///
    /// # Safety
    /// No session uses the table from now on, and no session has kept anything of it.
    pub unsafe fn drop_table(&self, core: &M::Core, id: TableId) -> u64 {
        let Some(place) = self.tables[usize::from(id.0)].get() else { return 0 };
        place.dropped.poke(1);
        let (mut words, mut piece) = (Vec::new(), Some(Piece::default()));
        while let Some(at) = piece {
            let meet = &mut |_: Key<'_>, record: Record<'_, M>| {
                words.extend(record.kept_values());
                words.extend(record.second().iter().flat_map(Record::kept_values));
            };
            piece = place.table.walk(core, &at, meet);
        }
        let (mut space, epoch) = (ValueSpace::default(), self.epochs.current(core));
        for word in words {
            if self.values.replace(core, word) {
                self.values.retire(&mut space, word, epoch);
            }
        }
        self.values.leave(space);
        // SAFETY: the caller promises that no session uses the table or has kept anything of it.
        unsafe { place.table.release() }
    }

    /// Returns the store's epochs.
    #[inline(always)]
    pub fn epochs(&self) -> &Epochs<M> {
        &self.epochs
    }

    /// Returns the values of variable length.
    #[inline(always)]
    pub fn values(&self) -> &Values<M> {
        &self.values
    }

    /// Returns the memory that rows, copies and versions are taken from block by block, if they are.
    #[inline]
    pub fn system_memory(&self) -> Option<&SystemMemory<M>> {
        self.system_memory.as_ref()
    }

    /// Checks that every value outside the records is in exactly one place. No session may exist.
    pub fn audit_values(&self, core: &M::Core) -> Result<(), String> {
        let mut live = Vec::new();
        for table in self.tables() {
            let mut piece = Some(Piece::default());
            while let Some(at) = piece {
                piece = table.walk(core, &at, &mut |_, record| {
                    live.extend(record.kept_values());
                    live.extend(record.second().iter().flat_map(Record::kept_values));
                });
            }
        }
        self.values.audit(live.into_iter())
    }

    /// Returns the machine on which the store lives.
    pub fn machine(&self) -> &Arc<M> {
        &self.machine
    }

    /// Returns the options with which the store was made.
    pub fn options(&self) -> &StoreOptions {
        &self.options
    }
}
