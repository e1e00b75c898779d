//! The database: a catalogue of tables, and transactions that run as closures.
//!
//! [`Database::transact`] and its variants all end in `Database::run`. It works in these steps:
//!
//! 1. The calling thread acquires a session (see the `slots` module).
//! 2. The session begins a transaction and `body` runs.
//! 3. The session commits, or it rolls back if `body` returned an error.
//! 4. After a conflict the thread backs off without holding any lock, and the loop starts again at step 2.
//!
//! An error that `body` returns is passed on only if the reads of that attempt were consistent. Otherwise the
//! error can stem from a state that never existed, so the attempt counts as a conflict.

use crate::{
    ColumnType, Error, IndexOptions, Options, Table, Transaction, back_off,
    background::Background,
    options, rehearsal,
    seats::{self, Opened},
    slots::{Slots, Turn},
    transaction::Term,
};
use engine::{Engine, Start};
use machine::{
    Core, Machine, Native, Word,
    cold::{Arc, Mutex},
};
use std::fmt;
use txn::{
    Abort, AbortReason, Column, ColumnSet, IndexKind, Key, KeyKind, Partitioning, TableId,
    TableSchema,
};

/// Number of rows for which a table has room in its index at first, if the caller gives no number. The index grows with
/// the rows.
const FIRST_ROWS: u64 = 64;

/// A handle of an open database.
///
/// A clone is another handle of the same database. Any thread can use a handle. When the last handle is
/// dropped, the database closes and its rows are gone.
#[derive(Clone)]
pub struct Database(Arc<Inner>);

struct Inner {
    // Fields are dropped in this order. The background thread must end before anything that it uses is dropped.
    _background: Background,
    slots: Slots,
    catalogue: Catalogue,
    engine: Arc<dyn Engine<Native>>,
    machine: Arc<Native>,
    options: Options,
    /// Upper bound of the arena's size, in bytes.
    memory_bytes: u64,
    /// Number of partitions of every table.
    partitions: u64,
}

/// Number of the first table that a user creates. Smaller numbers belong to internal tables.
const FIRST_TABLE: u16 = rehearsal::TABLE.0 + 1;

/// The tables of a database, including the entry tables of secondary indexes.
pub(crate) struct Catalogue {
    /// Number of the database, unique in the process. Handles carry it, so that a foreign handle is recognized.
    pub database: u64,
    /// Tables in order of their numbers: the table at position `i` has the number `FIRST_TABLE + i`.
    tables: Mutex<Vec<Table>>,
}

impl Catalogue {
    /// Returns the name of table number `id`.
    #[cold]
    pub fn name_of(&self, id: TableId) -> String {
        self.tables.lock()[(id.0 - FIRST_TABLE) as usize].name().into()
    }
}

/// Number of databases that this process has opened so far.
static OPENED: Word = Word::new(0);

impl Database {
    /// Opens an empty database and starts one background thread, which advances the epoch.
    ///
    /// Fails if an option has a value that is not allowed ([`Error::InvalidOption`],
    /// [`Error::UnknownProtocol`], [`Error::UnknownProtocolOption`], [`Error::UnsupportedIsolation`]). Also
    /// fails if the memory limit is too small ([`Error::OutOfMemory`]) or if the system refuses the thread
    /// ([`Error::System`]).
    pub fn open(options: Options) -> Result<Database, Error> {
        let Opened { machine, engine, seats, partitions } = seats::open(&options)?;
        let sessions = options.max_sessions;
        let database = machine.core(sessions).fetch_add(&(), &OPENED, 1);
        Ok(Database(Arc::new(Inner {
            _background: Background::start(
                machine.clone(),
                engine.clone(),
                sessions,
                options.epoch_interval,
            )?,
            slots: Slots::new(seats),
            catalogue: Catalogue { database, tables: Mutex::new(Vec::new()) },
            engine,
            machine,
            memory_bytes: options.memory_bytes(),
            partitions,
            options,
        })))
    }

    /// Returns the names of all protocols, for [`Options::protocol`].
    pub fn protocols() -> Vec<&'static str> {
        options::protocol_names()
    }

    /// Returns the options that the database was opened with.
    pub fn options(&self) -> &Options {
        &self.0.options
    }

    /// Creates a table with 64-bit integer keys and the given columns (name and type).
    ///
    /// An empty table takes a few kilobytes. Its hash index grows with the number of rows, a little at each
    /// insert, so lookups take the same time in small and in large tables. If the number of rows is known
    /// before, [`Database::create_table_with`] saves this work and the memory of the smaller indexes.
    ///
    /// Any thread can call this at any time, also inside a transaction's closure. The new table is not part of
    /// a transaction: it stays if the transaction rolls back.
    ///
    /// Fails with [`Error::TableExists`] if the name is taken, with [`Error::InvalidTable`] if no table can
    /// have this name or these columns, and with [`Error::TooLarge`] or [`Error::OutOfMemory`] if the memory
    /// does not suffice.
    pub fn create_table(&self, name: &str, columns: &[(&str, ColumnType)]) -> Result<Table, Error> {
        self.make_table(name, columns, FIRST_ROWS, false, IndexKind::Hash, &[])
    }

    /// Creates a table as [`Database::create_table`] does, with secondary indexes. They find rows by the values
    /// of their columns, and every write of a transaction updates them. See [`Transaction::find`] and
    /// [`Transaction::scan_index`].
    ///
    /// Each column of an index is given with the number of bits that its values need. Unless the index is
    /// unique, its entries also contain the key of the row, which takes bits too. An entry has at most 64
    /// bytes. Entries of up to 64 bits are the fastest. A write whose values need more bits than the index has
    /// fails with [`Error::KeyOutsideIndex`].
    ///
    /// The names of indexes share one namespace with the names of tables: see [`Error::TableExists`]. An index
    /// over a column that the table does not have fails with [`Error::UnknownColumn`].
    ///
    /// ```
    /// # use kilocore::{ColumnType::U64, Database, Error, IndexOptions, Options, Value};
    /// # use std::ops::ControlFlow;
    /// # let db = Database::open(Options::default())?;
    /// let people = db.create_indexed_table(
    ///     "people",
    ///     &[("room", U64), ("badge", U64)],
    ///     &[
    ///         IndexOptions { name: "by_room", columns: &[("room", 16)], key_bits: Some(32) },
    ///         IndexOptions { name: "by_badge", columns: &[("badge", 64)], key_bits: None },
    ///     ],
    /// )?;
    /// db.transact(|tx| {
    ///     tx.insert(&people, 7, &[Value::U64(3), Value::U64(1007)])?;
    ///     let again = tx.insert(&people, 8, &[Value::U64(3), Value::U64(1007)]);
    ///     assert!(matches!(again, Err(Error::NotUnique { .. })));
    ///     tx.insert(&people, 8, &[Value::U64(3), Value::U64(1008)])
    /// })?;
    /// let by_room = people.index("by_room")?;
    /// let mut found = Vec::new();
    /// db.transact(|tx| {
    ///     found.clear();
    ///     tx.find(&by_room, &[Value::U64(3)], |key, _| {
    ///         found.push(key.number());
    ///         ControlFlow::Continue(())
    ///     })
    /// })?;
    /// assert_eq!(found, [7, 8]);
    /// # Ok::<(), Error>(())
    /// ```
    pub fn create_indexed_table(
        &self,
        name: &str,
        columns: &[(&str, ColumnType)],
        indexes: &[IndexOptions<'_>],
    ) -> Result<Table, Error> {
        self.make_table(name, columns, FIRST_ROWS, false, IndexKind::Hash, indexes)
    }

    /// Creates a table as [`Database::create_table`] does, with rows in key order, so that
    /// [`Transaction::scan`] can visit ranges of keys.
    ///
    /// A lookup of one key takes a little longer than in a table without order. The index grows with the number
    /// of rows.
    ///
    /// ```
    /// # use kilocore::{ColumnType, Database, Error, Options, Value};
    /// # use std::ops::ControlFlow;
    /// # let db = Database::open(Options::default())?;
    /// let orders = db.create_ordered_table("orders", &[("amount", ColumnType::I64)])?;
    /// db.transact(|tx| (10..20).try_for_each(|key| tx.insert(&orders, key, &[Value::I64(5)])))?;
    /// let sum = db.read_only(|tx| {
    ///     let mut sum = 0;
    ///     tx.scan(&orders, 12..=14, |_, row| {
    ///         sum += row.get::<i64>("amount").unwrap_or(0);
    ///         ControlFlow::Continue(())
    ///     })?;
    ///     Ok(sum)
    /// })?;
    /// assert_eq!(sum, 15);
    /// # Ok::<(), Error>(())
    /// ```
    pub fn create_ordered_table(
        &self,
        name: &str,
        columns: &[(&str, ColumnType)],
    ) -> Result<Table, Error> {
        self.make_table(name, columns, 0, false, IndexKind::Ordered, &[])
    }

    /// Creates a table as [`Database::create_table`] does, with keys that are bytes, for example text. A key
    /// has at most `most` bytes. The largest `most` allowed is 64.
    ///
    /// ```
    /// # use kilocore::{ColumnType, Database, Error, Options, Value};
    /// # let db = Database::open(Options::default())?;
    /// let words = db.create_byte_keyed_table("words", &[("seen", ColumnType::U64)], 32)?;
    /// db.transact(|tx| tx.insert(&words, "kilocore", &[Value::U64(1)]))?;
    /// let seen = db.transact(|tx| tx.get(&words, "kilocore")?.map(|row| row.get("seen")).transpose())?;
    /// assert_eq!(seen, Some(1u64));
    /// # Ok::<(), Error>(())
    /// ```
    pub fn create_byte_keyed_table(
        &self,
        name: &str,
        columns: &[(&str, ColumnType)],
        most: usize,
    ) -> Result<Table, Error> {
        let (rows, keys) = (FIRST_ROWS, KeyKind::Bytes { most: most.min(255) as u8 });
        self.make_keyed_table(name, columns, (keys, rows), false, IndexKind::Hash, &[])
    }

    /// Creates a table as [`Database::create_byte_keyed_table`] does, with secondary indexes as
    /// [`Database::create_indexed_table`] creates them.
    ///
    /// ```
    /// # use kilocore::{ColumnType::{Bytes, U64}, Database, Error, IndexOptions, Options, Value};
    /// # use std::ops::ControlFlow;
    /// # let db = Database::open(Options::default())?;
    /// let people = db.create_indexed_byte_keyed_table(
    ///     "people",
    ///     &[("town", Bytes(16)), ("age", U64)],
    ///     32,
    ///     &[IndexOptions { name: "by_town", columns: &[("town", 128), ("age", 8)], key_bits: Some(0) }],
    /// )?;
    /// db.transact(|tx| tx.insert(&people, "ada@example.org", &["London".into(), Value::U64(36)]))?;
    /// let by_town = people.index("by_town")?;
    /// let mut found = None;
    /// db.transact(|tx| {
    ///     tx.find(&by_town, &["London".into()], |key, _| {
    ///         found = Some(key.bytes().to_vec());
    ///         ControlFlow::Break(())
    ///     })
    /// })?;
    /// assert_eq!(found.as_deref(), Some(&b"ada@example.org"[..]));
    /// # Ok::<(), Error>(())
    /// ```
    pub fn create_indexed_byte_keyed_table(
        &self,
        name: &str,
        columns: &[(&str, ColumnType)],
        most: usize,
        indexes: &[IndexOptions<'_>],
    ) -> Result<Table, Error> {
        let (rows, keys) = (FIRST_ROWS, KeyKind::Bytes { most: most.min(255) as u8 });
        self.make_keyed_table(name, columns, (keys, rows), false, IndexKind::Hash, indexes)
    }

    /// Creates a table as [`Database::create_byte_keyed_table`] does, with rows in key order, so that
    /// [`Transaction::scan`] can visit ranges of keys. Keys are compared byte by byte.
    ///
    /// ```
    /// # use kilocore::{ColumnType, Database, Error, Options, Value};
    /// # use std::ops::ControlFlow;
    /// # let db = Database::open(Options::default())?;
    /// let words = db.create_ordered_byte_keyed_table("words", &[("seen", ColumnType::U64)], 32)?;
    /// let keys = ["key", "kilo", "kilocore", "kind"];
    /// db.transact(|tx| keys.iter().try_for_each(|key| tx.insert(&words, key, &[Value::U64(1)])))?;
    /// let mut found = Vec::new();
    /// db.read_only(|tx| {
    ///     found.clear();
    ///     tx.scan(&words, "ki".."kj", |key, _| {
    ///         found.push(String::from_utf8_lossy(key.bytes()).into_owned());
    ///         ControlFlow::Continue(())
    ///     })
    /// })?;
    /// assert_eq!(found, ["kilo", "kilocore", "kind"]);
    /// # Ok::<(), Error>(())
    /// ```
    pub fn create_ordered_byte_keyed_table(
        &self,
        name: &str,
        columns: &[(&str, ColumnType)],
        most: usize,
    ) -> Result<Table, Error> {
        let keys = KeyKind::Bytes { most: most.min(255) as u8 };
        self.make_keyed_table(name, columns, (keys, 0), false, IndexKind::Ordered, &[])
    }

    /// Creates a table as [`Database::create_table`] does, with rows that are split into hot and cold columns.
    ///
    /// `often` names the hot columns, which change often. All other columns are cold. A transaction that writes
    /// only columns of one part does not conflict with a transaction that accesses only the other part of the
    /// same row. Each part must have at least one column.
    ///
    /// Fails with [`Error::UnknownColumn`] if `often` names a column that is not among `columns`.
    ///
    /// ```
    /// # use kilocore::{ColumnType::{Bytes, I64}, Database, Error, Options, Value};
    /// # let db = Database::open(Options::default())?;
    /// let columns = [("name", Bytes(20)), ("takings", I64)];
    /// let shops = db.create_split_table("shops", &columns, &["takings"])?;
    /// db.transact(|tx| tx.insert(&shops, 1, &["The Corner".into(), Value::I64(0)]))?;
    /// db.transact(|tx| tx.add(&shops, 1, &[("takings", 12)]))?; // does not disturb who reads names
    /// # Ok::<(), Error>(())
    /// ```
    pub fn create_split_table(
        &self,
        name: &str,
        columns: &[(&str, ColumnType)],
        often: &[&str],
    ) -> Result<Table, Error> {
        let all = columns.iter().map(|(name, kind)| Column::new(*name, *kind)).collect();
        let schema = TableSchema::new(name, all);
        let mut split = ColumnSet::NONE;
        for given in often {
            let Some(column) = schema.column(given) else {
                let allowed = columns.iter().map(|(name, _)| (*name).into()).collect();
                let (table, given) = (name.into(), (*given).into());
                return Err(Error::UnknownColumn { table, given, allowed });
            };
            // A column number of 64 or more shifts out of range here. `make_table_of` rejects a schema with
            // that many columns.
            split = split.with(ColumnSet(1u64.checked_shl(column as u32).unwrap_or(0)));
        }
        self.make_table_of(schema.split(split), FIRST_ROWS, false, &[])
    }

    /// Creates a table as [`Database::create_table`] does, for the keys `0..keys` only. Its index finds a row
    /// faster than every other index.
    ///
    /// An access to any other key fails with [`Error::KeyOutsideIndex`]. If the table does not fit into memory,
    /// this fails with [`Error::TooLarge`] before it allocates anything.
    pub fn create_dense_table(
        &self,
        name: &str,
        columns: &[(&str, ColumnType)],
        keys: u64,
    ) -> Result<Table, Error> {
        self.make_table(name, columns, 0, true, IndexKind::Perfect { keys }, &[])
    }

    /// Creates a table as [`Database::create_table`] does, with an index that is sized for `rows` rows from the
    /// start. If that many rows do not fit into memory, this fails with [`Error::TooLarge`] before it allocates
    /// anything.
    ///
    /// The table can hold more rows than that: the index then grows as any other.
    pub fn create_table_with(
        &self,
        name: &str,
        columns: &[(&str, ColumnType)],
        rows: u64,
    ) -> Result<Table, Error> {
        self.make_table(name, columns, rows, true, IndexKind::Hash, &[])
    }

    /// Creates a table with integer keys. See `make_table_of`.
    fn make_table(
        &self,
        name: &str,
        columns: &[(&str, ColumnType)],
        rows: u64,
        must_fit: bool,
        index: IndexKind,
        indexes: &[IndexOptions<'_>],
    ) -> Result<Table, Error> {
        let keys = (KeyKind::Integer, rows);
        self.make_keyed_table(name, columns, keys, must_fit, index, indexes)
    }

    /// Creates a table whose keys are of the given kind. See `make_table_of`.
    fn make_keyed_table(
        &self,
        name: &str,
        columns: &[(&str, ColumnType)],
        (key, rows): (KeyKind, u64),
        must_fit: bool,
        index: IndexKind,
        indexes: &[IndexOptions<'_>],
    ) -> Result<Table, Error> {
        let columns = columns.iter().map(|(name, kind)| Column::new(*name, *kind)).collect();
        let schema = TableSchema { key, index, ..TableSchema::new(name, columns) };
        self.make_table_of(schema, rows, must_fit, indexes)
    }

    /// Creates the table `schema` and its `indexes` under consecutive numbers, sized for `rows` rows. If
    /// `must_fit` is set, the rows must fit into what is left of the memory limit.
    fn make_table_of(
        &self,
        schema: TableSchema,
        rows: u64,
        must_fit: bool,
        indexes: &[IndexOptions<'_>],
    ) -> Result<Table, Error> {
        let partitioning = Partitioning::Hash { partitions: self.0.partitions };
        let mut schema = schema.partitioned(partitioning);
        let name = &*schema.name.clone();
        let mut tables = self.0.catalogue.tables.lock();
        let names = indexes.iter().map(|index| index.name).chain([name]);
        for (at, name) in names.clone().enumerate() {
            let taken = tables.iter().any(|table| table.name() == name);
            if taken || names.clone().take(at).any(|other| other == name) {
                return Err(Error::TableExists { table: name.into() });
            }
        }
        let number = |at| TableId(FIRST_TABLE.saturating_add((tables.len() + at) as u16));
        let id = number(0);
        schema.indexes = (1..=indexes.len()).map(number).collect();
        let mut together = vec![schema.clone()];
        for index in indexes {
            together.push(index.schema(id, &schema)?.partitioned(partitioning));
        }
        let left = self.0.memory_bytes.saturating_sub(self.memory_used_bytes());
        let available = if must_fit { left } else { u64::MAX };
        seats::create_table(&*self.0.engine, id, &together, rows, available)?;
        let database = self.0.catalogue.database;
        // The table holds the handles of its entry tables, and an `Index` refers back to its table.
        let of = |at, schema| Table::new(database, at, schema, Vec::new());
        let entries = together.split_off(1);
        let entries =
            entries.into_iter().enumerate().map(|(at, schema)| of(number(at + 1), schema));
        let entries: Vec<Table> = entries.collect();
        let table = Table::new(database, id, schema, entries.clone());
        tables.push(table.clone());
        tables.extend(entries);
        Ok(table)
    }

    /// Returns the table `name`. Fails with [`Error::UnknownTable`] if there is none.
    pub fn table(&self, name: &str) -> Result<Table, Error> {
        let tables = self.tables();
        tables.iter().find(|table| table.name() == name).cloned().ok_or_else(|| {
            let allowed = tables.iter().map(|table| table.name().into()).collect();
            Error::UnknownTable { given: name.into(), allowed }
        })
    }

    /// Returns all tables in the order of their creation, without the entry tables of indexes.
    pub fn tables(&self) -> Vec<Table> {
        let tables = self.0.catalogue.tables.lock();
        tables.iter().filter(|table| !table.is_index()).cloned().collect()
    }

    /// Returns the number of bytes that tables, indexes and locks have taken so far. Memory of deleted rows is
    /// used again by the database. It is not returned to the system, so the number does not fall.
    pub fn memory_used_bytes(&self) -> u64 {
        self.0.machine.arena().used()
    }

    /// Runs `body` as one transaction: all its accesses take effect at one serialization point, or none of them
    /// do.
    ///
    /// When `body` returns `Ok`, its writes are committed. When it returns an error or panics, the transaction
    /// rolls back and its writes are gone. When the transaction conflicts with another one, it is aborted and
    /// `body` **runs again** after a short back-off. The transaction holds no lock during the back-off. Because
    /// it can run again, `body` should only access the database and compute.
    ///
    /// To roll back with an error of your own, use [`Error::user`], or `?` and `into()` from text.
    /// [`Database::transact_as`] allows your own error types. An error of `body` is returned only if everything
    /// that `body` has read was valid at one moment. Otherwise `body` runs again.
    ///
    /// Optimistic protocols (for example SILO and TICTOC) validate only at the end whether the reads of `body` were
    /// consistent. NO_CC does not validate at all. With these protocols `body` can see rows of different moments. It
    /// must not loop for ever or panic because of them. A panic always propagates to the caller.
    ///
    /// While `body` runs, memory that other transactions free is not reused, so `body` should be short.
    ///
    /// Fails with [`Error::Nested`] if the thread already runs a transaction of the same database. Do not wait
    /// inside `body` for a transaction of another thread: that transaction can be waiting for this one, which
    /// is a deadlock.
    ///
    /// Fails with [`Error::TooManyRetries`] and [`Error::TransactionTooLong`] if the database has such limits.
    /// Fails with [`Error::OutOfMemory`], [`Error::KeyOutsideIndex`] or [`Error::UndeclaredPartition`] if an
    /// access ends that way.
    pub fn transact<T>(
        &self,
        body: impl FnMut(&mut Transaction<'_>) -> Result<T, Error>,
    ) -> Result<T, Error> {
        self.run(false, &[], body)
    }

    /// Runs `body` as [`Database::transact`] does, with any error type that can be made from [`Error`].
    ///
    /// ```
    /// # use kilocore::{ColumnType, Database, Error, Options};
    /// #[derive(Debug)]
    /// enum Refused { Broke, Database(Error) }
    /// impl From<Error> for Refused {
    ///     fn from(error: Error) -> Self { Refused::Database(error) }
    /// }
    /// # let db = Database::open(Options::default())?;
    /// let purse = db.create_table("purse", &[("coins", ColumnType::U64)])?;
    /// let paid = db.transact_as(|tx| {
    ///     let coins = tx.get(&purse, 1)?.map_or(Ok(0), |row| row.get::<u64>("coins"))?;
    ///     if coins == 0 { Err(Refused::Broke) } else { Ok(coins) }
    /// });
    /// assert!(matches!(paid, Err(Refused::Broke)));
    /// # Ok::<(), Error>(())
    /// ```
    pub fn transact_as<T, E: From<Error>>(
        &self,
        body: impl FnMut(&mut Transaction<'_>) -> Result<T, E>,
    ) -> Result<T, E> {
        self.run(false, &[], body)
    }

    /// Runs `body` as [`Database::transact`] does, and declares that it accesses only the rows in `rows`.
    ///
    /// Rows that share a partition with a declared row can also be accessed. A hash of the key assigns rows to
    /// partitions, and the protocol's option "partitions" sets their number.
    ///
    /// The declaration matters for HSTORE, a protocol that locks partitions before a transaction starts. Given
    /// a declaration, it can run transactions on other partitions at the same time. Without one, it locks the
    /// whole database. Other protocols ignore the declaration.
    ///
    /// An access to a partition that is not declared fails with [`Error::UndeclaredPartition`]. A table of
    /// another database fails with [`Error::ForeignTable`].
    ///
    /// ```
    /// # use kilocore::{ColumnType, Database, Error, Options};
    /// let db = Database::open(Options {
    ///     protocol: "HSTORE".into(),
    ///     protocol_options: vec![("partitions".into(), "16".into())],
    ///     ..Options::default()
    /// })?;
    /// let hits = db.create_table("hits", &[("count", ColumnType::U64)])?;
    /// db.transact_on(&[(&hits, 7)], |tx| tx.put(&hits, 7, &[1u64.into()]))?;
    /// # Ok::<(), Error>(())
    /// ```
    pub fn transact_on<T, E: From<Error>>(
        &self,
        rows: &[(&Table, u64)],
        body: impl FnMut(&mut Transaction<'_>) -> Result<T, E>,
    ) -> Result<T, E> {
        let mut partitions = Vec::with_capacity(rows.len());
        for (table, key) in rows {
            let definition = table.definition();
            if definition.database != self.0.catalogue.database {
                return Err(Error::ForeignTable { table: table.name().into() }.into());
            }
            definition.check_key(Key::Number(*key))?;
            partitions.extend(definition.schema.partitioning.of(*key));
        }
        self.run(false, &partitions, body)
    }

    /// Runs `body` as [`Database::transact`] does, and declares that it writes nothing. A write, and a read
    /// that is meant for a later write, fail with [`Error::ReadOnly`].
    pub fn read_only<T>(
        &self,
        body: impl FnMut(&mut Transaction<'_>) -> Result<T, Error>,
    ) -> Result<T, Error> {
        self.run(true, &[], body)
    }

    /// Runs `body` as [`Database::read_only`] does, with any error type that can be made from [`Error`].
    pub fn read_only_as<T, E: From<Error>>(
        &self,
        body: impl FnMut(&mut Transaction<'_>) -> Result<T, E>,
    ) -> Result<T, E> {
        self.run(true, &[], body)
    }

    /// Runs `body` until it commits, or until it fails for a reason that a retry cannot remove.
    #[inline]
    fn run<T, E: From<Error>>(
        &self,
        read_only: bool,
        partitions: &[u64],
        mut body: impl FnMut(&mut Transaction<'_>) -> Result<T, E>,
    ) -> Result<T, E> {
        let mut turn = self.0.slots.enter()?;
        let mut attempt = 0;
        let mut squeezed = false;
        loop {
            let (session, buffer) = turn.seat.parts();
            session.begin(Start { attempt, read_only, partitions });
            let term = Term::start(self.0.options.transaction_limit);
            let mut tx = Transaction::new(session, buffer, &self.0.catalogue, read_only, term);
            let result = body(&mut tx);
            let session = turn.seat.session();
            if let Some(late) = term.and_then(|term| term.check().err()) {
                let own = match result {
                    Ok(_) => {
                        session.rollback();
                        None
                    }
                    Err(own) => session.check_and_rollback().ok().map(|()| own),
                };
                session.maintain();
                return Err(own.unwrap_or_else(|| late.into()));
            }
            let (abort, error) = match result {
                Ok(value) => match session.commit() {
                    Ok(()) => {
                        session.maintain();
                        return Ok(value);
                    }
                    Err(abort) => (abort, None),
                },
                Err(error) => match session.check_and_rollback() {
                    Ok(()) => {
                        session.maintain();
                        return Err(error);
                    }
                    Err(abort) => (abort, Some(error)),
                },
            };
            if let Some(last) = self.after_failure(&mut turn, abort, attempt, &mut squeezed) {
                return Err(error.filter(|_| !abort.reason.is_retryable()).unwrap_or(last.into()));
            }
            attempt += 1;
        }
    }

    /// Decides what follows after attempt number `attempt` (counted from 0) was rolled back. Returns `None`
    /// after the back-off if the closure must run again. Otherwise returns the error for the caller.
    ///
    /// The first attempt that fails for lack of memory runs again at once, after the memory that idle sessions
    /// hold has become available to all. `squeezed` remembers that this has been done.
    #[cold]
    fn after_failure(
        &self,
        turn: &mut Turn<'_>,
        abort: Abort,
        attempt: u32,
        squeezed: &mut bool,
    ) -> Option<Error> {
        turn.seat.session().maintain();
        if abort.reason == AbortReason::OutOfMemory && !*squeezed {
            *squeezed = true;
            self.0.slots.reclaim();
            turn.seat.session().reclaim();
            return None;
        }
        if !abort.reason.is_retryable() {
            return Some(abort.into());
        }
        if self.0.options.retry_limit.is_some_and(|limit| attempt >= limit) {
            return Some(Error::TooManyRetries { attempts: attempt + 1, last: abort.reason });
        }
        let longest = turn.seat.session().longest_back_off();
        let hz = u128::from(self.0.machine.clock_hz().max(1));
        let nanos = |ticks: u64| (u128::from(ticks) * 1_000_000_000 / hz) as u64;
        back_off::wait(attempt + 1, longest.map(nanos), &mut turn.seat.random);
        None
    }
}

impl fmt::Debug for Database {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Database")
            .field("protocol", &self.0.options.protocol)
            .field("tables", &self.tables())
            .finish_non_exhaustive()
    }
}
