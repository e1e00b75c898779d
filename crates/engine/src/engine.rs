//! An engine: an architecture under a protocol on a machine, with or without these types in its name.

use crate::{
    architecture::Architecture,
    log::{CommitSink, Log, SinkError},
    rows::Rows,
    session::{Session, SessionOf},
};
use machine::{
    Machine, Service,
    cold::{Arc, OnceLock},
};
use protocols::{
    Declaration, Isolation, IsolationError, Protocol, ProtocolOptions,
    parts::commit_order::CommitOrder,
};
use std::{any::Any, fmt};
use storage::{Place, Store, StoreError, StoreLoader, Table};
use txn::{LoadedTable, Loader, Schema, TableId, TableSchema, Workload};

/// How an engine is made.
#[derive(Clone, Debug)]
pub struct EngineOptions {
    /// The protocol's knobs.
    pub protocol: ProtocolOptions,
    /// Sessions at a time, services included.
    pub sessions: usize,
    /// Record histories, for certificates.
    pub record_history: bool,
    /// Note in histories what the values of rows come to as well. Then reads are of all columns.
    pub record_values: bool,
    /// Absent rows that a session lets gather before it takes them out of their indexes.
    pub purge_batch: usize,
    /// Ticks between two attempts to advance the epoch.
    pub epoch_interval_ticks: u64,
}

/// An engine that can't be made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum EngineError {
    /// No protocol of that name.
    UnknownProtocol(String),
    /// No architecture of that name.
    UnknownArchitecture(String),
    /// The protocol cannot give that level of isolation.
    Isolation(IsolationError),
    /// The architecture gives transactions several sites, and the protocol cannot.
    OneSite {
        /// The protocol.
        protocol: &'static str,
        /// Why it cannot.
        reason: &'static str,
    },
    /// Its tables.
    Store(StoreError),
}

impl fmt::Display for EngineError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            EngineError::UnknownProtocol(name) => write!(f, "unknown protocol {name:?}"),
            EngineError::UnknownArchitecture(name) => write!(f, "unknown architecture {name:?}"),
            EngineError::Isolation(error) => error.fmt(f),
            EngineError::OneSite { protocol, reason } => {
                write!(f, "{protocol} cannot have transactions on several sites: {reason}")
            }
            EngineError::Store(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for EngineError {}

impl From<StoreError> for EngineError {
    fn from(error: StoreError) -> Self {
        EngineError::Store(error)
    }
}

impl From<IsolationError> for EngineError {
    fn from(error: IsolationError) -> Self {
        EngineError::Isolation(error)
    }
}

/// What of a workload an engine is loaded from: its data, without its clients.
pub trait Dataset: Send + Sync {
    /// As [`Workload::schema`].
    fn schema(&self) -> Schema;

    /// As [`Workload::rows`].
    fn rows(&self, table: TableId) -> u64;

    /// As [`Workload::load`].
    fn load(&self, loader: &mut dyn Loader);
}

impl<W: Workload> Dataset for W {
    fn schema(&self) -> Schema {
        Workload::schema(self)
    }

    fn rows(&self, table: TableId) -> u64 {
        Workload::rows(self, table)
    }

    fn load(&self, loader: &mut dyn Loader) {
        Workload::load(self, loader);
    }
}

/// Tables, a protocol, and a way to execute accesses. Made by [`crate::registry`].
pub trait Engine<M: Machine>: Any + Send + Sync {
    /// Makes and loads the tables of `data`, natively with `threads` threads.
    fn load(&self, data: &dyn Dataset, threads: usize) -> Result<(), EngineError>;

    /// Makes a table and its secondary indexes, under the numbers from `first` on, meant for `rows` rows. The caller
    /// gives every number once.
    fn create_table(
        &self,
        first: TableId,
        tables: &[TableSchema],
        rows: u64,
    ) -> Result<(), EngineError>;

    /// Bytes that `rows` rows of `schema` need, index included.
    fn bytes_for(&self, schema: &TableSchema, rows: u64) -> u64;

    /// All tables made so far, in order of their numbers; secondary indexes are those with an
    /// [`index_of`](TableSchema::index_of). [`Session::walk`] reads their rows.
    fn tables(&self) -> Vec<(TableId, &TableSchema)>;

    /// In recorded runs the rows that were loaded, of the tables whose ranges can be scanned: evidence of what scans must
    /// have met.
    fn loaded(&self) -> Vec<LoadedTable>;

    /// What histories call a table by number is called so by people: the tables, and the second parts of rows.
    fn table_names(&self) -> Vec<(TableId, String)>;

    /// Where the records of a key lie, under the number that histories have for the table: for whoever reads a trace of
    /// an explored run, when the run is over. One for each owner that has it; none where keys are bytes.
    fn places(&self, core: &M::Core, table: TableId, key: u64) -> Vec<Place>;

    /// Gives the engine a log, once: sessions made from now on tell it of their commits. Tickets follow on what `sink` has
    /// acknowledged by now, which is what the tables hold.
    fn log_to(&self, sink: Arc<dyn CommitSink>) -> Result<(), SinkError>;

    /// Session number `slot`, to be used by `core`. A slot is used by one session at a time.
    fn session<'s>(&'s self, core: &'s M::Core, slot: usize) -> Box<dyn Session + 's>;

    /// Background work that a run should do on service cores.
    fn services(&self) -> Vec<Service<'_, M>>;

    /// What its transactions are promised.
    fn declaration(&self) -> Declaration;

    /// The epoch in a commit timestamp, where commits are told apart by epochs: see [`Protocol::epoch_of`].
    fn epoch_of(&self, commit_timestamp: u64) -> Option<u64>;
}

/// An engine whose sessions have a type: for loops that are compiled for it.
pub trait TypedEngine<M: Machine>: Engine<M> {
    /// False where one copy of a loop serves all workloads: for a form of a protocol, and where nothing of an access is
    /// compiled for the protocol anyway.
    const LOOPS: bool;

    /// Its sessions.
    type Session<'s>: Session
    where
        Self: 's;

    /// As [`Engine::session`].
    fn typed_session<'s>(&'s self, core: &'s M::Core, slot: usize) -> Self::Session<'s>;
}

/// An architecture `A` under protocol `P`.
pub struct EngineOf<M: Machine, P: Protocol<M>, A: Architecture<M, P>> {
    architecture: A,
    options: EngineOptions,
    log: OnceLock<Log<M>>,
    protocol: std::marker::PhantomData<fn() -> (M, P)>,
}

impl<M: Machine, P: Protocol<M>, A: Architecture<M, P>> EngineOf<M, P, A> {
    /// An engine without tables. Fails where `options` ask for what the protocol cannot give.
    pub(crate) fn create(machine: &Arc<M>, options: &EngineOptions) -> Result<Self, EngineError> {
        P::check_isolation(&options.protocol)?;
        let Declaration { name: protocol, one_site, .. } = P::declare(&options.protocol);
        if let Some(reason) = one_site.filter(|_| A::DECLARED.sites > 1) {
            return Err(EngineError::OneSite { protocol, reason });
        }
        let architecture = A::create(machine, options)?;
        let (options, protocol) = (options.clone(), std::marker::PhantomData);
        Ok(EngineOf { architecture, options, log: OnceLock::new(), protocol })
    }

    /// As [`Engine::epoch_of`].
    fn epoch_in(commit_timestamp: u64) -> Option<u64> {
        // Each site has epochs of its own.
        P::epoch_of(commit_timestamp).filter(|_| A::DECLARED.sites == 1)
    }

    /// The first owner's.
    fn store(&self) -> &Store<M> {
        self.architecture.stores().next().expect("there is an owner")
    }

    fn stores(&self) -> Vec<&Store<M>> {
        self.architecture.stores().collect()
    }
}

fn load<M: Machine>(
    stores: &[&Store<M>],
    data: &dyn Dataset,
    threads: usize,
) -> Result<(), EngineError> {
    for store in stores {
        store.create_tables(&data.schema(), |table| data.rows(table))?;
        let mut loader = StoreLoader::new(store, threads);
        data.load(&mut loader);
        loader.finish()?;
    }
    Ok(())
}

impl<M: Machine, P: Protocol<M>, A: Architecture<M, P>> Engine<M> for EngineOf<M, P, A> {
    fn load(&self, data: &dyn Dataset, threads: usize) -> Result<(), EngineError> {
        load(&self.stores(), data, threads)
    }

    fn create_table(
        &self,
        first: TableId,
        tables: &[TableSchema],
        rows: u64,
    ) -> Result<(), EngineError> {
        for store in self.stores() {
            store.create_table(first, tables, rows)?;
        }
        Ok(())
    }

    fn bytes_for(&self, schema: &TableSchema, rows: u64) -> u64 {
        self.stores().iter().map(|store| store.bytes_for(schema, rows)).sum()
    }

    fn tables(&self) -> Vec<(TableId, &TableSchema)> {
        self.store().tables().map(|table| (table.id(), table.schema())).collect()
    }

    fn loaded(&self) -> Vec<LoadedTable> {
        // All owners are loaded with all rows.
        self.store().tables().filter_map(Table::loaded).collect()
    }

    fn table_names(&self) -> Vec<(TableId, String)> {
        self.store().tables().flat_map(Table::names).collect()
    }

    fn places(&self, core: &M::Core, table: TableId, key: u64) -> Vec<Place> {
        let named = |home: &&Table<M>| home.names().iter().any(|(number, _)| *number == table);
        let homes = self.stores().into_iter().flat_map(|store| store.tables());
        let places = homes.filter(named).flat_map(|home| home.places(core, key));
        places.filter(|place| place.table == table).collect()
    }

    fn log_to(&self, sink: Arc<dyn CommitSink>) -> Result<(), SinkError> {
        let Declaration { name: protocol, isolation, .. } = self.declaration();
        if isolation == Isolation::None {
            return Err(SinkError::NoOrder { protocol });
        }
        let arena = self.store().machine().arena();
        let order = CommitOrder::after(arena, sink.acknowledged().0);
        let order = order.map_err(SinkError::OutOfMemory)?;
        let log = Log { sink, order, epoch_of: Self::epoch_in };
        self.log.set(log).map_err(|_| SinkError::Attached)
    }

    fn session<'s>(&'s self, core: &'s M::Core, slot: usize) -> Box<dyn Session + 's> {
        Box::new(self.typed_session(core, slot))
    }

    fn services(&self) -> Vec<Service<'_, M>> {
        self.architecture.services()
    }

    fn declaration(&self) -> Declaration {
        P::declare(&self.options.protocol)
    }

    fn epoch_of(&self, commit_timestamp: u64) -> Option<u64> {
        Self::epoch_in(commit_timestamp)
    }
}

impl<M: Machine, P: Protocol<M>, A: Architecture<M, P>> TypedEngine<M> for EngineOf<M, P, A> {
    // Tests, which are built often and are not in a hurry, run one loop for all: the release build's are run by CI.
    const LOOPS: bool = !P::ONE_COPY && A::DECLARED.sites == 1 && !cfg!(debug_assertions);
    type Session<'s> = SessionOf<'s, M, P, A>;

    fn typed_session<'s>(&'s self, core: &'s M::Core, slot: usize) -> SessionOf<'s, M, P, A> {
        let rows = Rows::new(core, self.store(), slot, &self.options, self.log.get());
        SessionOf::new(rows, self.architecture.sites(core, slot))
    }
}
