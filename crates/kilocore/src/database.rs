//! The database: tables by name, transactions by closure.

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

/// Rows that a table is meant for when nothing is said.
const DEFAULT_ROWS: u64 = 1 << 20;
/// Bytes of index for each row that a table is meant for.
const INDEX_BYTES_PER_ROW: u64 = 16;

/// A handle of an open database. Clones are handles of the same one; any thread may use them. The
/// database is closed, and what it holds is gone, when the last handle drops.
#[derive(Clone)]
pub struct Database(Arc<Inner>);

struct Inner {
    // Dropped in this order: the thread ends before anything else goes.
    _background: Background,
    slots: Slots,
    catalogue: Catalogue,
    engine: Arc<dyn Engine<Native>>,
    machine: Arc<Native>,
    options: Options,
    memory_bytes: u64,
    /// Partitions of every table.
    partitions: u64,
}

/// Number of the first table that users make.
const FIRST_TABLE: u16 = rehearsal::TABLE.0 + 1;

/// The tables of a database, in order of their numbers, indexes among them.
pub(crate) struct Catalogue {
    /// The database's number, unique in the process.
    pub database: u64,
    tables: Mutex<Vec<Table>>,
}

impl Catalogue {
    /// The name of table number `id`.
    #[cold]
    pub fn name_of(&self, id: TableId) -> String {
        self.tables.lock()[(id.0 - FIRST_TABLE) as usize].name().into()
    }
}

/// Databases opened so far by this process.
static OPENED: Word = Word::new(0);

impl Database {
    /// Opens an empty database. It has one thread in the background, which moves its epochs on.
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

    /// The names of all protocols, for [`Options::protocol`].
    pub fn protocols() -> Vec<&'static str> {
        options::protocol_names()
    }

    /// The options with which it was opened.
    pub fn options(&self) -> &Options {
        &self.0.options
    }

    /// Makes a table of 64-bit keys and the columns given (name and type), for about a million rows. More
    /// will do, at the price of slower look-ups: its index has a fixed number of buckets.
    ///
    /// Any thread may do so at any time, inside a closure too; it belongs to no transaction.
    pub fn create_table(&self, name: &str, columns: &[(&str, ColumnType)]) -> Result<Table, Error> {
        let affordable = self.0.memory_bytes / 16 / INDEX_BYTES_PER_ROW;
        self.make_table(name, columns, DEFAULT_ROWS.min(affordable), false, IndexKind::Hash, &[])
    }

    /// As [`Database::create_table`], with secondary indexes: rows are found by the values of their columns, too, and
    /// stay so whatever a transaction does to them. See [`Transaction::find`] and [`Transaction::scan_index`].
    ///
    /// The columns of an index come with the number of bits that their values need; unless the index is unique, the
    /// keys of rows take some as well. All together are 64 bytes at most; up to 64 bits are the quickest. Rows that need more are refused with
    /// [`Error::KeyOutsideIndex`].
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
        let affordable = self.0.memory_bytes / 16 / INDEX_BYTES_PER_ROW;
        self.make_table(
            name,
            columns,
            DEFAULT_ROWS.min(affordable),
            false,
            IndexKind::Hash,
            indexes,
        )
    }

    /// As [`Database::create_table`], with rows in key order, so that [`Transaction::scan`] can visit ranges of
    /// them. A look-up of one key takes a little longer than without order; the index grows with its rows.
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

    /// As [`Database::create_table`], with keys of bytes, text for example, `most` bytes long at most (64 at
    /// most).
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
        let affordable = self.0.memory_bytes / 16 / INDEX_BYTES_PER_ROW;
        let (rows, keys) =
            (DEFAULT_ROWS.min(affordable), KeyKind::Bytes { most: most.min(255) as u8 });
        self.make_keyed_table(name, columns, (keys, rows), false, IndexKind::Hash, &[])
    }

    /// As [`Database::create_byte_keyed_table`], with secondary indexes as [`Database::create_indexed_table`] makes them.
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
        let affordable = self.0.memory_bytes / 16 / INDEX_BYTES_PER_ROW;
        let (rows, keys) =
            (DEFAULT_ROWS.min(affordable), KeyKind::Bytes { most: most.min(255) as u8 });
        self.make_keyed_table(name, columns, (keys, rows), false, IndexKind::Hash, indexes)
    }

    /// As [`Database::create_byte_keyed_table`], with rows in the order of their keys, byte by byte, so that
    /// [`Transaction::scan`] can visit ranges of them.
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

    /// As [`Database::create_table`], with rows in two parts: the columns named in `often`, which change often, and
    /// the others. A transaction that writes columns of one part does not conflict with one that accesses the other
    /// part of the same row. At least one column must be in each part.
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
            // A schema with too many columns is refused below.
            split = split.with(ColumnSet(1u64.checked_shl(column as u32).unwrap_or(0)));
        }
        let affordable = self.0.memory_bytes / 16 / INDEX_BYTES_PER_ROW;
        self.make_table_of(schema.split(split), DEFAULT_ROWS.min(affordable), false, &[])
    }

    /// As [`Database::create_table`], for the keys `0..keys` and no others: the quickest way to find a row. An
    /// access to another key fails with [`Error::KeyOutsideIndex`].
    pub fn create_dense_table(
        &self,
        name: &str,
        columns: &[(&str, ColumnType)],
        keys: u64,
    ) -> Result<Table, Error> {
        self.make_table(name, columns, 0, true, IndexKind::Perfect { keys }, &[])
    }

    /// As [`Database::create_table`], meant for `rows` rows. Says so before it allocates anything when that
    /// many would not fit into memory.
    pub fn create_table_with(
        &self,
        name: &str,
        columns: &[(&str, ColumnType)],
        rows: u64,
    ) -> Result<Table, Error> {
        self.make_table(name, columns, rows, true, IndexKind::Hash, &[])
    }

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
        // The table knows the handles of its indexes, and they know where they belong.
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

    /// The table `name`.
    pub fn table(&self, name: &str) -> Result<Table, Error> {
        let tables = self.tables();
        tables.iter().find(|table| table.name() == name).cloned().ok_or_else(|| {
            let allowed = tables.iter().map(|table| table.name().into()).collect();
            Error::UnknownTable { given: name.into(), allowed }
        })
    }

    /// All tables, in the order in which they were made.
    pub fn tables(&self) -> Vec<Table> {
        let tables = self.0.catalogue.tables.lock();
        tables.iter().filter(|table| !table.is_index()).cloned().collect()
    }

    /// Bytes that tables, indexes and locks have taken so far. What is deleted is used again, not given back.
    pub fn memory_used_bytes(&self) -> u64 {
        self.0.machine.arena().used()
    }

    /// Runs `body` as one transaction: all of it happens at one moment, or none of it.
    ///
    /// When `body` returns `Ok`, its writes are committed. When it returns an error, or panics, nothing of it
    /// remains. When it loses against another transaction it **runs again**, after a short wait in which it
    /// holds nothing: so it should do nothing but access the database and compute.
    ///
    /// An own error is made with [`Error::user`], or with `?` and `into()` from text; see
    /// [`Database::transact_as`] for error types of your own. An error is returned only if what `body` has read
    /// was true at one moment; otherwise it runs again.
    ///
    /// Optimistic protocols (SILO, TICTOC, and NO_CC) find out at the end whether what `body` has read was
    /// consistent. Before that, it may see rows of different moments: it must not loop for ever or panic
    /// because of them. A panic always goes on up.
    ///
    /// While `body` runs, memory that other transactions free is not used again, so it should not take long.
    ///
    /// A transaction inside a transaction of the same database and thread is refused with [`Error::Nested`].
    /// Inside a closure, don't wait for another thread's transaction: this one may be what that one waits for.
    pub fn transact<T>(
        &self,
        body: impl FnMut(&mut Transaction<'_>) -> Result<T, Error>,
    ) -> Result<T, Error> {
        self.run(false, &[], body)
    }

    /// As [`Database::transact`], with any error type that the database's own errors can be turned into.
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

    /// As [`Database::transact`], declared to access no rows but those of `rows` (and such as share their
    /// partitions, which depends on the option "partitions" of the protocol; tables are divided by a hash of the key).
    /// A protocol that locks partitions before a transaction starts, HSTORE, can run others beside it then: to a
    /// transaction that declares nothing it gives the whole database. Other protocols need no declaration
    /// and ignore it. An access beyond what is declared fails with [`Error::UndeclaredPartition`].
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

    /// As [`Database::transact`], declared to write nothing; writes are refused with [`Error::ReadOnly`].
    pub fn read_only<T>(
        &self,
        body: impl FnMut(&mut Transaction<'_>) -> Result<T, Error>,
    ) -> Result<T, Error> {
        self.run(true, &[], body)
    }

    /// As [`Database::read_only`], with any error type that the database's own errors can be turned into.
    pub fn read_only_as<T, E: From<Error>>(
        &self,
        body: impl FnMut(&mut Transaction<'_>) -> Result<T, E>,
    ) -> Result<T, E> {
        self.run(true, &[], body)
    }

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

    /// After attempt number `attempt` (from 0) was rolled back: none, having waited, to run the closure again;
    /// otherwise what to say.
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
