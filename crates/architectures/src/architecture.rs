//! The trait that every architecture implements.

use machine::{Machine, OutOfMemory, Service, cold::Arc};
use protocols::{ProtocolOptions, Start};
use storage::{StoreError, StoreOptions};
use txn::{Abort, Access, Loader, Schema, TableId, WorkerHistory, Workload};

/// One worker's way into the database: begin, access, then commit or roll back. Any number of times.
pub trait Session: Access {
    /// Begins an attempt. The one before must have ended.
    fn begin(&mut self, start: Start<'_>);

    /// True when the protocol locks partitions, so that [`Start::partitions`] makes a difference.
    fn locks_partitions(&self) -> bool;

    /// Commits the attempt; on failure it is rolled back and the reason returned.
    fn commit(&mut self) -> Result<(), Abort>;

    /// Ends the attempt as if it had never been.
    fn rollback(&mut self);

    /// As [`Session::rollback`], and says whether all that the attempt has read could have been committed:
    /// only then may an error that a procedure computed from it be believed.
    fn check_and_rollback(&mut self) -> Result<(), Abort>;

    /// True between begin and the end of the attempt.
    fn in_transaction(&self) -> bool;

    /// The age by which the protocol decides who gives way, if it does.
    fn priority(&self) -> Option<u64>;

    /// What the session's committed transactions did so far, if that is recorded.
    fn take_history(&mut self) -> WorkerHistory;

    /// Takes absent rows out of their indexes and their memory back. Between transactions, now and then.
    fn maintain(&mut self);

    /// As [`Session::maintain`], at once, and leaves the memory to whoever needs it: when there is none left.
    fn reclaim(&mut self);
}

/// How an engine is made.
#[derive(Clone, Debug)]
pub struct EngineOptions {
    /// The protocol's knobs.
    pub protocol: ProtocolOptions,
    /// Sessions at a time, services included.
    pub sessions: usize,
    /// Record histories, for certificates.
    pub record_history: bool,
    /// Absent rows that a session lets gather before it takes them out of their indexes.
    pub purge_batch: usize,
    /// Ticks between two attempts to advance the epoch.
    pub epoch_interval_ticks: u64,
}

/// An engine that can't be made.
pub type EngineError = StoreError;

/// What of a workload an engine is made and loaded from: its data, without its clients. So the making of an
/// engine is compiled once for each protocol and not once more for each workload.
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

/// An engine: tables, a protocol, and a way to execute accesses.
pub trait Architecture<M: Machine>: Sized + Send + Sync {
    /// What a worker uses.
    type Session<'s>: Session
    where
        Self: 's;

    /// Its name on the command line.
    const NAME: &'static str;

    /// An engine without tables.
    fn create(machine: Arc<M>, options: &EngineOptions) -> Result<Self, EngineError>;

    /// Makes and loads the tables of `data`, natively with `threads` threads.
    fn load(&self, data: &dyn Dataset, threads: usize) -> Result<(), EngineError>;

    /// Session number `slot`, to be used by `core`. A slot is used by one session at a time.
    fn session<'s>(&'s self, core: &'s M::Core, slot: usize) -> Self::Session<'s>;

    /// Background work that a run should do on service cores.
    fn services(&self) -> Vec<Service<'_, M>>;
}

/// Options of the store behind an engine.
pub(crate) fn store_options(options: &EngineOptions) -> StoreOptions {
    StoreOptions { sessions: options.sessions, keep_versions: options.record_history }
}

/// The abort that a full arena turns into.
pub(crate) fn no_memory(_: OutOfMemory) -> Abort {
    Abort::because(txn::AbortReason::OutOfMemory)
}
