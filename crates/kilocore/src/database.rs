//! The database: a catalogue of tables, and transactions that run as closures.
//!
//! [`Database::transact`] and its variants all end in `Database::run`. It works in these steps:
//!
//! 1. The calling thread acquires a session (see the `session_pool` module).
//! 2. The session begins a transaction and `body` runs.
//! 3. The session commits, or it rolls back if `body` returned an error.
//! 4. After a conflict the thread backs off without holding any lock, and the loop starts again at step 2.
//!
//! An error that `body` returns is passed on only if the reads of that attempt were consistent. Otherwise the
//! error can stem from a state that never existed, so the attempt counts as a conflict.

use crate::{
    AsKey, Error, Options, ReadTransaction, Table, TableBuilder, TableChange, Transaction, alter,
    back_off,
    background::Background,
    index::IndexSpec,
    options, rehearsal,
    seats::{self, Opened},
    session_pool::{SessionPool, Turn},
    table::Definition,
    term::{Limit, Term},
};
use engine::{Engine, Start};
use machine::{
    Core, Machine, Native, Word,
    cold::{Arc, Mutex},
};
use std::fmt;
use txn::{Abort, AbortReason, Column, Partitioning, TableId, TableSchema};

/// A handle of an open database.
///
/// A clone is another handle of the same database. Any thread can use a handle. When the last handle is
/// dropped, the database closes and its rows are gone.
#[derive(Clone)]
pub struct Database(Arc<Inner>);

struct Inner {
    // Fields are dropped in this order. The background thread must end before anything that it uses is dropped.
    background: Background,
    sessions: SessionPool,
    catalogue: Catalogue,
    engine: Arc<dyn Engine<Native>>,
    machine: Arc<Native>,
    options: Options,
    /// Time limit of its transactions.
    limit: Option<Limit>,
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
    /// Tables in order of their numbers: the table at position `i` has the number `FIRST_TABLE + i`. Each is the latest
    /// version.
    tables: Mutex<Vec<Table>>,
    /// By table number: the least version of a handle that can be used. [`DROPPED`] if the table has been dropped.
    least_versions: Box<[Word]>,
}

/// Least version of handles of a table that has been dropped.
const DROPPED: u64 = u64::MAX;

impl Catalogue {
    /// Makes the catalogue of a database without tables.
    fn new(database: u64) -> Catalogue {
        let least_versions = (0..storage::MAX_TABLES).map(|_| Word::new(0)).collect();
        Catalogue { database, tables: Mutex::new(Vec::new()), least_versions }
    }

    /// Checks that handles of this version can be used: the table has not been dropped, and no column of it since.
    #[inline]
    pub fn check_version(&self, id: TableId, version: u64) -> Result<(), Error> {
        match self.least_versions[usize::from(id.0)].peek() {
            least if least <= version => Ok(()),
            least => Err(Self::outdated(self.name_of(id), least)),
        }
    }

    /// Checks as [`Catalogue::check_version`] does, while the catalogue is locked.
    fn check_usable(&self, tables: &[Table], id: TableId, version: u64) -> Result<(), Error> {
        let least = self.least_versions[usize::from(id.0)].peek();
        if least <= version {
            return Ok(());
        }
        Err(Self::outdated(tables[usize::from(id.0 - FIRST_TABLE)].name().into(), least))
    }

    #[cold]
    fn outdated(table: String, least: u64) -> Error {
        if least == DROPPED { Error::TableDropped { table } } else { Error::TableChanged { table } }
    }

    /// Returns true if table number `id` has been dropped.
    fn is_dropped(&self, id: TableId) -> bool {
        self.least_versions[usize::from(id.0)].peek() == DROPPED
    }

    /// Returns the name of table number `id`.
    #[cold]
    pub fn name_of(&self, id: TableId) -> String {
        self.table(id).name().into()
    }

    /// Returns table number `id`.
    #[cold]
    pub fn table(&self, id: TableId) -> Table {
        self.tables.lock()[(id.0 - FIRST_TABLE) as usize].clone()
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
            background: Background::start(
                machine.clone(),
                engine.clone(),
                sessions,
                options.epoch_interval,
            )?,
            sessions: SessionPool::new(seats),
            catalogue: Catalogue::new(database),
            engine,
            machine,
            memory_bytes: options.memory_bytes(),
            partitions,
            limit: options.transaction_limit.map(|limit| Limit::new(limit, options.epoch_interval)),
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

    /// Begins the description of the table `name`, to create it or to open it. See [`TableBuilder`].
    ///
    /// ```
    /// # use kilocore::{ColumnType::I64, Database, Error, Options};
    /// # let db = Database::open(Options::default())?;
    /// let accounts = db.table("accounts").column("balance", I64).create()?;
    /// let again = db.table("accounts").open()?;
    /// assert_eq!(accounts.name(), again.name());
    /// # Ok::<(), Error>(())
    /// ```
    pub fn table(&self, name: &str) -> TableBuilder<'_> {
        TableBuilder::new(self, name)
    }

    /// Creates the table `schema` and its `indexes` under consecutive numbers, sized for `rows` rows. If
    /// `must_fit` is set, the rows must fit into what is left of the memory limit.
    pub(crate) fn create_table(
        &self,
        schema: TableSchema,
        indexes: &[IndexSpec],
        rows: u64,
        must_fit: bool,
    ) -> Result<Table, Error> {
        let partitioning = Partitioning::Hash { partitions: self.0.partitions };
        let mut schema = schema.partitioned(partitioning);
        let mut tables = self.0.catalogue.tables.lock();
        let is_there = |table: &Table| {
            !table.is_internal() && !self.0.catalogue.is_dropped(table.definition().id)
        };
        if tables.iter().any(|table| is_there(table) && table.name() == schema.name) {
            return Err(Error::TableExists { table: schema.name });
        }
        for (at, index) in indexes.iter().enumerate() {
            if indexes[..at].iter().any(|other| other.name == index.name) {
                let (table, index) = (schema.name, index.name.clone());
                return Err(Error::IndexExists { table, index });
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

    /// Drops a table with its indexes and rows, and gives their memory back. Its name can be used again.
    ///
    /// Waits for the transactions that run. Those that have used the table can still commit. From now on an access to the
    /// table fails with [`Error::TableDropped`], in these transactions too.
    ///
    /// Fails with [`Error::ForeignTable`], [`Error::TableDropped`] or [`Error::TableChanged`] if the handle cannot be used,
    /// and with [`Error::Nested`] inside a transaction's closure.
    ///
    /// ```
    /// # use kilocore::{ColumnType::U64, Database, Error, Options};
    /// # let db = Database::open(Options::default())?;
    /// let hits = db.table("hits").column("count", U64).create()?;
    /// db.drop_table(&hits)?;
    /// let gone = db.read_only(|tx| tx.get(&hits, 1).map(|row| row.is_some()));
    /// assert!(matches!(gone, Err(Error::TableDropped { .. })));
    /// # Ok::<(), Error>(())
    /// ```
    pub fn drop_table(&self, table: &Table) -> Result<(), Error> {
        let catalogue = &self.0.catalogue;
        let Definition { database, id, version, .. } = *table.definition();
        if database != catalogue.database {
            return Err(Error::ForeignTable { table: table.name().into() });
        }
        self.0.sessions.check_outside()?;
        let dropped: Vec<TableId> = {
            let tables = catalogue.tables.lock();
            catalogue.check_usable(&tables, id, version)?;
            let schemas = tables.iter().map(|table| table.definition());
            let of_it = schemas.filter(|other| other.belongs_to(id)).map(|other| other.id);
            let dropped: Vec<TableId> = of_it.chain([id]).collect();
            for table in &dropped {
                catalogue.least_versions[usize::from(table.0)].poke(DROPPED);
            }
            dropped
        };
        seats::drop_tables(&*self.0.engine, &self.0.sessions, &dropped)
    }

    /// Begins a change of the table's columns. See [`TableChange`].
    pub fn alter<'d>(&'d self, table: &'d Table) -> TableChange<'d> {
        TableChange::new(self, table)
    }

    /// Makes the next version of a table's definition: with the columns `added`, which have `defaults` in packed form, and
    /// without the columns named in `dropped`.
    pub(crate) fn change_table(
        &self,
        table: &Table,
        (added, defaults): (Vec<Column>, Vec<u8>),
        dropped: &[String],
    ) -> Result<Table, Error> {
        let catalogue = &self.0.catalogue;
        let Definition { database, id, version, .. } = *table.definition();
        if database != catalogue.database {
            return Err(Error::ForeignTable { table: table.name().into() });
        }
        let mut tables = catalogue.tables.lock();
        catalogue.check_usable(&tables, id, version)?;
        let at = usize::from(id.0 - FIRST_TABLE);
        let latest = tables[at].clone();
        let (schema, gone) = alter::changed(latest.definition(), &added, dropped)?;
        if !added.is_empty() {
            let number = TableId(FIRST_TABLE.saturating_add(tables.len() as u16));
            let side = TableSchema::added_to((id, &latest.definition().schema), added, defaults);
            seats::create_table(&*self.0.engine, number, std::slice::from_ref(&side), 0, u64::MAX)?;
            tables.push(Table::new(database, number, side, Vec::new()));
        }
        let changed = latest.changed(schema, gone);
        if !dropped.is_empty() {
            let least = changed.definition().version;
            catalogue.least_versions[usize::from(id.0)].poke(least);
        }
        tables[at] = changed.clone();
        Ok(changed)
    }

    /// Returns the table `name`. Fails with [`Error::UnknownTable`] if there is none.
    pub(crate) fn find_table(&self, name: &str) -> Result<Table, Error> {
        let tables = self.tables();
        tables.iter().find(|table| table.name() == name).cloned().ok_or_else(|| {
            let allowed = tables.iter().map(|table| table.name().into()).collect();
            Error::UnknownTable { given: name.into(), allowed }
        })
    }

    /// Returns all tables in the order of their creation, without the entry tables of indexes.
    pub fn tables(&self) -> Vec<Table> {
        let tables = self.0.catalogue.tables.lock();
        let is_there = |table: &&Table| {
            !table.is_internal() && !self.0.catalogue.is_dropped(table.definition().id)
        };
        tables.iter().filter(is_there).cloned().collect()
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
    /// let purse = db.table("purse").columns(&[("coins", ColumnType::U64)]).create()?;
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
    /// let hits = db.table("hits").columns(&[("count", ColumnType::U64)]).create()?;
    /// db.transact_on(&[(&hits, 7)], |tx| tx.put(&hits, 7, &[1u64.into()]))?;
    /// # Ok::<(), Error>(())
    /// ```
    pub fn transact_on<T, E: From<Error>>(
        &self,
        rows: &[(&Table, impl AsKey)],
        body: impl FnMut(&mut Transaction<'_>) -> Result<T, E>,
    ) -> Result<T, E> {
        let mut partitions = Vec::with_capacity(rows.len());
        for (table, key) in rows {
            let definition = table.definition();
            if definition.database != self.0.catalogue.database {
                return Err(Error::ForeignTable { table: table.name().into() }.into());
            }
            definition.check_key(key.as_key())?;
            let number = definition.number_of(key.as_key());
            partitions.extend(definition.schema.partitioning.of(number));
        }
        self.run(false, &partitions, body)
    }

    /// Runs `body` as [`Database::transact`] does, as a transaction that cannot write. Some protocols serve it without
    /// conflicts.
    pub fn read_only<T>(
        &self,
        mut body: impl FnMut(&mut ReadTransaction<'_>) -> Result<T, Error>,
    ) -> Result<T, Error> {
        self.run(true, &[], |tx| body(tx))
    }

    /// Runs `body` as [`Database::read_only`] does, with any error type that can be made from [`Error`].
    pub fn read_only_as<T, E: From<Error>>(
        &self,
        mut body: impl FnMut(&mut ReadTransaction<'_>) -> Result<T, E>,
    ) -> Result<T, E> {
        self.run(true, &[], |tx| body(tx))
    }

    /// Runs `read` with a session that runs no transaction meanwhile.
    #[inline]
    pub(crate) fn read_alone<T>(
        &self,
        read: impl FnOnce(&mut ReadTransaction<'_>) -> Result<T, Error>,
    ) -> Result<T, Error> {
        let mut turn = self.0.sessions.enter()?;
        let (session, buffer) = turn.seat.parts();
        read(&mut ReadTransaction::new(session, buffer, &self.0.catalogue, None))
    }

    /// Runs `body` until it commits, or until it fails for a reason that a retry cannot remove.
    #[inline]
    fn run<T, E: From<Error>>(
        &self,
        read_only: bool,
        partitions: &[u64],
        mut body: impl FnMut(&mut Transaction<'_>) -> Result<T, E>,
    ) -> Result<T, E> {
        let mut turn = self.0.sessions.enter()?;
        let mut attempt = 0;
        let mut squeezed = false;
        loop {
            let (session, buffer) = turn.seat.parts();
            session.begin(Start { attempt, read_only, partitions, ..Start::default() });
            let term = self.0.limit.map(|limit| Term::start(limit, self.0.background.ticks()));
            let reading = ReadTransaction::new(session, buffer, &self.0.catalogue, term);
            let mut tx = Transaction::new(reading);
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
            self.0.sessions.reclaim();
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
