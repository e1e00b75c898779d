//! An engine is an architecture under a protocol on a machine. [`Engine`] hides these types, [`TypedEngine`]
//! does not.

use crate::{
    architecture::{Architecture, OwnersWork},
    log::{CommitSink, Log, SinkError},
    pair::pair,
    rows::Rows,
    session::{Session, SessionOf},
    stores,
};
use machine::{
    Machine, Service,
    cold::{Arc, OnceLock},
    mailbox::Mailboxes,
};
use protocols::{
    Declaration, Isolation, IsolationError, Protocol, ProtocolOptions,
    mechanisms::commit_order::CommitOrder,
};
use std::{any::Any, fmt};
use storage::{AccessOptions, Place, Store, StoreError};
use txn::{LoadedTable, Loader, Schema, TableId, TableSchema, Workload};

/// Options of an architecture whose transactions move. The default asks for nothing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct MovingOptions {
    /// Number of executors of each session, which run actions of its transactions at the same time ([`txn::Action`]). Only under
    /// protocols whose transactions can wait at several owners at once ([`Protocol::WAITS_ONCE`]).
    pub executors: usize,
    /// Owners of tables, or none if the owner of a partition has all tables of it.
    pub table_owners: Option<TableOwners>,
}

/// Each table of a partition has an owner of its own, as in DORA (Pandis et al., PVLDB 2010).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TableOwners {
    /// Number of tables, secondary indexes included. An index belongs to the owner of its table.
    pub tables: usize,
    /// Number of cores.
    pub cores: usize,
    /// Set if the tables of a partition are spread over the cores. Otherwise the core of a partition has the owners of all its
    /// tables.
    pub apart: bool,
}

impl MovingOptions {
    /// Returns the number of owners that the tables of a partition have.
    pub fn owners_of_partition(&self) -> usize {
        self.table_owners.map_or(1, |owners| owners.tables)
    }
}

/// Options of an engine.
#[derive(Clone, Debug)]
pub struct EngineOptions {
    /// Options of the protocol.
    pub protocol: ProtocolOptions,
    /// Options by which accesses are executed.
    pub access: AccessOptions,
    /// Number of concurrent sessions, services included.
    pub sessions: usize,
    /// Number of owners of data, for an architecture that stores partitions apart: partition `p` of a table belongs to
    /// owner `p mod partitions`. At least 1.
    pub partitions: u64,
    /// Number of sessions on each core: sessions 0 to `fibers - 1` are on the first core, and so on. At least 1. Only an
    /// architecture that delegates work needs to know it.
    pub fibers: usize,
    /// Set if an architecture that delegates work has cores that only serve, and no session is on them.
    pub dedicated_servers: bool,
    /// Options of an architecture whose transactions move.
    pub moving: MovingOptions,
    /// Set to record histories, for certificates.
    pub record_history: bool,
    /// Set to record the values of rows in histories too. Every recorded read then reads all columns.
    pub record_values: bool,
    /// Number of absent rows that a session collects before it removes them from their indexes.
    pub purge_batch: usize,
    /// Number of ticks between two attempts to advance the epoch.
    pub epoch_interval_ticks: u64,
}

impl EngineOptions {
    /// Returns options for `sessions` sessions, one on each core: with one owner of data, without histories, and with the
    /// default options of protocol and accesses. Epochs advance whenever a service looks.
    pub fn for_sessions(sessions: usize) -> EngineOptions {
        EngineOptions {
            protocol: ProtocolOptions::default(),
            access: AccessOptions::default(),
            sessions,
            partitions: 1,
            fibers: 1,
            dedicated_servers: false,
            moving: MovingOptions::default(),
            record_history: false,
            record_values: false,
            purge_batch: 64,
            epoch_interval_ticks: 0,
        }
    }
}

/// The reason why an engine or its tables cannot be made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum EngineError {
    /// No protocol has this name.
    UnknownProtocol(String),
    /// No architecture has this name.
    UnknownArchitecture(String),
    /// The protocol cannot give this isolation level.
    Isolation(IsolationError),
    /// The architecture gives transactions several sites, and the protocol supports only one.
    OneSite {
        /// Name of the protocol.
        protocol: &'static str,
        /// Reason why it supports only one site.
        reason: &'static str,
    },
    /// The architecture isolates transactions itself, and so does the protocol.
    Isolates {
        /// Name of the architecture.
        architecture: &'static str,
        /// Name of the protocol.
        protocol: &'static str,
        /// Names of the protocols that the architecture supports.
        supported: Vec<&'static str>,
    },
    /// The core of an owner works on its metadata, and the protocol, with the options that were given, does not leave that work
    /// to it.
    NotDelegated {
        /// Name of the architecture.
        architecture: &'static str,
        /// Name of the protocol.
        protocol: &'static str,
        /// Names of the protocols that the architecture supports.
        supported: Vec<&'static str>,
    },
    /// Transactions move between cores, and nobody has promised that the workload's procedures can.
    NotMovable {
        /// Name of the architecture.
        architecture: &'static str,
    },
    /// A core of this architecture does one job at a time, so its workers cannot be threads that interrupt each other.
    Interrupted {
        /// Name of the architecture.
        architecture: &'static str,
    },
    /// Sessions are to have executors, and a transaction of the protocol can wait at one place only.
    WaitsOnce {
        /// Name of the protocol.
        protocol: &'static str,
        /// Names of the protocols whose sessions can have executors.
        supported: Vec<&'static str>,
    },
    /// The architecture does not move sessions, and has options for one that does.
    DoesNotMove {
        /// Name of the architecture.
        architecture: &'static str,
    },
    /// The number of partitions is not possible.
    Partitions {
        /// The given number.
        given: u64,
        /// The largest possible number.
        most: u64,
    },
    /// An error of a table.
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
            EngineError::Isolates { architecture, protocol, supported } => {
                let supported = supported.join(", ");
                write!(
                    f,
                    "{protocol} cannot run under {architecture}, which isolates transactions itself; \
                     supported there: {supported}"
                )
            }
            EngineError::NotDelegated { architecture, protocol, supported } => {
                let of = match supported.contains(protocol) {
                    true => " with these options",
                    false => "",
                };
                write!(
                    f,
                    "{protocol}{of} cannot run under {architecture}, where the core that owns a record works on its metadata; \
                     supported there: {}, with the usual place, form and time of their locks",
                    supported.join(", ")
                )
            }
            EngineError::NotMovable { architecture } => {
                write!(
                    f,
                    "{architecture} moves procedures between threads, and this workload does not say that its own can move; \
                     allowed: workloads with Workload::MOVABLE"
                )
            }
            EngineError::Interrupted { architecture } => {
                write!(
                    f,
                    "{architecture} lets a core do one job at a time, so the workers of a core cannot be threads; allowed: fibers"
                )
            }
            EngineError::WaitsOnce { protocol, supported } => {
                write!(
                    f,
                    "{protocol} knows one wait of each transaction, so executors cannot run parts of it at the same time; \
                     allowed with executors: {}",
                    supported.join(", ")
                )
            }
            EngineError::DoesNotMove { architecture } => {
                write!(
                    f,
                    "{architecture} has no executors and no owners of tables; allowed with data_oriented"
                )
            }
            EngineError::Partitions { given, most } => {
                write!(f, "partitions is {given}; allowed: 1 to {most}")
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

/// The part of a workload that an engine is loaded from: its data, without its clients.
pub trait Dataset: Send + Sync {
    /// See [`Workload::schema`].
    fn schema(&self) -> Schema;

    /// See [`Workload::rows`].
    fn rows(&self, table: TableId) -> u64;

    /// See [`Workload::load`].
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
    /// Creates and loads the tables of `data`. On a native machine `threads` threads load them.
    fn load(&self, data: &dyn Dataset, threads: usize) -> Result<(), EngineError>;

    /// Creates a table and its secondary indexes, under consecutive numbers from `first` on, sized for `rows`
    /// rows. The caller must use every number only once.
    fn create_table(
        &self,
        first: TableId,
        tables: &[TableSchema],
        rows: u64,
    ) -> Result<(), EngineError>;

    /// Drops table number `id` and gives its memory back. Returns the number of bytes. The number is not used again.
    ///
    /// # Safety
    /// Every session has [forgotten](Session::forget_table) the table, and none uses it from now on.
    unsafe fn drop_table(&self, core: &M::Core, id: TableId) -> u64;

    /// Returns the number of bytes that `rows` rows of `schema` need, index included.
    fn bytes_for(&self, schema: &TableSchema, rows: u64) -> u64;

    /// Returns all tables created so far, in order of their numbers. Secondary indexes are the tables with an
    /// [`index_of`](TableSchema::index_of). [`Session::walk`] reads their rows.
    fn tables(&self) -> Vec<(TableId, &TableSchema)>;

    /// Returns the loaded rows of the tables whose ranges can be scanned, if the run is recorded. They are
    /// evidence of what scans must have seen.
    fn loaded(&self) -> Vec<LoadedTable>;

    /// Checks that every value outside the records is in exactly one place. No session may exist. Returns what is
    /// wrong: values that were lost, or used twice.
    fn audit_values(&self, core: &M::Core) -> Result<(), String>;

    /// Returns the names of everything that histories identify by a table number: the tables, and the second
    /// parts of rows.
    fn table_names(&self) -> Vec<(TableId, String)>;

    /// Returns where the records of a key lie. `table` is the number that histories use for the table. There is
    /// one place for each owner that has the key, and none if the table's keys are bytes. Meant for reading the
    /// trace of an explored run after the run.
    fn places(&self, core: &M::Core, table: TableId, key: u64) -> Vec<Place>;

    /// Attaches a log. This is possible once. Sessions made from now on report their commits to `sink`. Tickets
    /// continue after the one that `sink` has acknowledged by now, which must be the state that the tables
    /// hold.
    fn log_to(&self, sink: Arc<dyn CommitSink>) -> Result<(), SinkError>;

    /// Makes session number `session`, to be used by `core`. Two sessions must not use the same session at the same
    /// time.
    fn session<'s>(&'s self, core: &'s M::Core, session: usize) -> Box<dyn Session + 's>;

    /// Returns the background work that a run should do on service cores.
    fn services(&self) -> Vec<Service<'_, M>>;

    /// Returns true if sessions move to the cores that own what they access. A run of several sessions must then be one in which
    /// fibers [move](machine::Sharing::moving_fibers), and the procedures must be [allowed to](txn::Movable).
    fn moves_sessions(&self) -> bool;

    /// Gives owner number `owner` to core number `to` of the run, if sessions move. The other sessions go on meanwhile. To be called
    /// by a fiber that can move and has no transaction. It stays on the core that had the owner.
    fn reassign(&self, core: &M::Core, owner: usize, to: usize);

    /// Returns the mailboxes of the servers, if the architecture delegates work. A run of several sessions must then have
    /// their [servers](Mailboxes::serve).
    fn mailboxes(&self) -> Option<&Mailboxes<M>>;

    /// Returns the mailboxes of each session's executors, by the number of the session. A run of several sessions must have a
    /// [server](Mailboxes::serve) for each of them, on the core of the session.
    fn executors(&self) -> &[Mailboxes<M>];

    /// Returns the guarantees of the protocol.
    fn declaration(&self) -> Declaration;

    /// Returns the epoch in a commit timestamp, if the protocol puts epochs into them: see
    /// [`Protocol::epoch_of`].
    fn epoch_of(&self, commit_timestamp: u64) -> Option<u64>;
}

/// An engine whose sessions have a known type, for loops that are compiled for that type.
pub trait TypedEngine<M: Machine>: Engine<M> {
    /// False if one compiled copy of a loop serves all workloads. That is so for a variant of a protocol, and
    /// if no part of an access is compiled for the protocol anyway.
    const LOOPS: bool;

    /// Type of its sessions.
    type Session<'s>: Session
    where
        Self: 's;

    /// See [`Engine::session`].
    fn typed_session<'s>(&'s self, core: &'s M::Core, session: usize) -> Self::Session<'s>;
}

/// An architecture `A` under protocol `P`.
pub struct EngineOf<M: Machine, P: Protocol<M>, A: Architecture<M, P>> {
    architecture: A,
    options: EngineOptions,
    log: OnceLock<Log<M>>,
    protocol: std::marker::PhantomData<fn() -> (M, P)>,
}

impl<M: Machine, P: Protocol<M>, A: Architecture<M, P>> EngineOf<M, P, A> {
    /// Makes an engine without tables. Fails if `options` ask for something that the protocol cannot give.
    pub(crate) fn create(machine: &Arc<M>, options: &EngineOptions) -> Result<Self, EngineError> {
        P::check_isolation(&options.protocol)?;
        pair(A::DECLARED, P::declare(&options.protocol))?;
        if options.moving != MovingOptions::default() && A::DECLARED.work != OwnersWork::Visited {
            return Err(EngineError::DoesNotMove { architecture: A::DECLARED.name });
        }
        let architecture = A::create(machine, options)?;
        let (options, protocol) = (options.clone(), std::marker::PhantomData);
        Ok(EngineOf { architecture, options, log: OnceLock::new(), protocol })
    }

    /// See [`Engine::epoch_of`].
    fn epoch_in(commit_timestamp: u64) -> Option<u64> {
        // With several sites each site has its own epochs, so a timestamp has no common epoch.
        P::epoch_of(commit_timestamp).filter(|_| A::DECLARED.sites == Some(1))
    }

    /// Returns the store of the first owner.
    fn store(&self) -> &Store<M> {
        self.architecture.stores().next().expect("there is an owner")
    }

    fn stores(&self) -> Vec<&Store<M>> {
        self.architecture.stores().collect()
    }
}

impl<M: Machine, P: Protocol<M>, A: Architecture<M, P>> Engine<M> for EngineOf<M, P, A> {
    fn load(&self, data: &dyn Dataset, threads: usize) -> Result<(), EngineError> {
        stores::load(&self.stores(), data, threads)
    }

    fn create_table(
        &self,
        first: TableId,
        tables: &[TableSchema],
        rows: u64,
    ) -> Result<(), EngineError> {
        stores::create_table(&self.stores(), first, tables, rows)
    }

    // SAFETY: the contract of the trait's method is passed on to every store.
    unsafe fn drop_table(&self, core: &M::Core, id: TableId) -> u64 {
        let stores = self.stores().into_iter();
        // SAFETY: the caller promises that no session uses the table or has kept anything of it.
        stores.map(|store| unsafe { store.drop_table(core, id) }).sum()
    }

    fn bytes_for(&self, schema: &TableSchema, rows: u64) -> u64 {
        stores::bytes_for(&self.stores(), schema, rows)
    }

    fn tables(&self) -> Vec<(TableId, &TableSchema)> {
        stores::tables(self.store())
    }

    fn loaded(&self) -> Vec<LoadedTable> {
        stores::loaded(&self.stores())
    }

    fn table_names(&self) -> Vec<(TableId, String)> {
        stores::table_names(self.store())
    }

    fn audit_values(&self, core: &M::Core) -> Result<(), String> {
        stores::audit_values(&self.stores(), core)
    }

    fn places(&self, core: &M::Core, table: TableId, key: u64) -> Vec<Place> {
        stores::places(&self.stores(), core, table, key)
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

    fn session<'s>(&'s self, core: &'s M::Core, session: usize) -> Box<dyn Session + 's> {
        Box::new(self.typed_session(core, session))
    }

    fn services(&self) -> Vec<Service<'_, M>> {
        let mut services = self.architecture.services();
        if !M::MODELLED {
            services.push(Service {
                name: "memory",
                interval_ticks: self.options.epoch_interval_ticks,
                tick: Box::new(|_| self.store().machine().arena().populate_ahead()),
            });
        }
        services
    }

    fn moves_sessions(&self) -> bool {
        A::DECLARED.work == OwnersWork::Visited
    }

    fn reassign(&self, core: &M::Core, owner: usize, to: usize) {
        if let Some(assignment) = self.architecture.assignment() {
            assignment.reassign(core, owner, to);
        }
    }

    fn mailboxes(&self) -> Option<&Mailboxes<M>> {
        self.architecture.mailboxes()
    }

    fn executors(&self) -> &[Mailboxes<M>] {
        self.architecture.executors()
    }

    fn declaration(&self) -> Declaration {
        let declared = P::declare(&self.options.protocol);
        pair(A::DECLARED, declared).expect("the pair was checked when the engine was made")
    }

    fn epoch_of(&self, commit_timestamp: u64) -> Option<u64> {
        Self::epoch_in(commit_timestamp)
    }
}

impl<M: Machine, P: Protocol<M>, A: Architecture<M, P>> TypedEngine<M> for EngineOf<M, P, A> {
    // Builds with debug assertions use one loop for all protocols. Tests are built often and need not be fast.
    // CI runs the loops of the release build.
    const LOOPS: bool = !P::ONE_COPY && A::DIRECT && !cfg!(debug_assertions);
    type Session<'s> = SessionOf<'s, M, P, A>;

    fn typed_session<'s>(&'s self, core: &'s M::Core, session: usize) -> SessionOf<'s, M, P, A> {
        let rows = Rows::new(core, self.store(), session, &self.options, self.log.get());
        SessionOf::new(rows, self.architecture.sites(core, session))
    }
}
