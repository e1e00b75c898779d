//! Workloads as the engine sees them: a schema, a loader, and clients that draw procedures.

use crate::{Abort, Access, Key, Planned, Schema, TableId};

/// Fills tables before a run. Nothing else runs at that time, so nothing is locked.
pub trait Loader {
    /// Adds the rows `0..count` of `table`, whose columns all have a fixed length. `row` writes the packed values of
    /// a key into a buffer of zeros. A simulated machine may keep this function instead of the rows.
    fn load_dense(&mut self, table: TableId, count: u64, row: &(dyn Fn(u64, &mut [u8]) + Sync));

    /// Adds the rows `0..count` of `table`, whose columns can be of any type. `row` appends the packed values of a key
    /// to an empty buffer.
    fn load_many(&mut self, table: TableId, count: u64, row: &(dyn Fn(u64, &mut Vec<u8>) + Sync));

    /// Adds one row.
    fn load(&mut self, table: TableId, key: Key<'_>, row: &[u8]);
}

/// A benchmark: its data and the clients that use it. All options are plain values that are fixed at creation.
pub trait Workload: Send + Sync + 'static {
    /// Draws and runs this workload's procedures for one worker.
    type Client: Client;

    /// True if the native loop is compiled separately for each protocol, as for a benchmark. Then there is no
    /// indirection between a procedure and its protocol. Otherwise each access costs a virtual call, and the build
    /// needs no copy of the loop for each protocol. A workload that is not listed by name has no such loop.
    const COMPILED: bool = true;

    /// Promise that the clients can move between threads while they run a procedure. It is none unless the workload
    /// [says so](MayMove). Without it the workload does not run where transactions move (data-oriented execution).
    const MOVABLE: Option<Movable> = None;

    /// Returns the tables, in the order of their numbers.
    fn schema(&self) -> Schema;

    /// Returns the number of rows that a table will hold after loading. It is used to size indexes and to check
    /// memory.
    fn rows(&self, table: TableId) -> u64;

    /// Loads the initial database.
    fn load(&self, loader: &mut dyn Loader);

    /// Returns the client of worker `worker` of `workers`. The same seed gives the same procedures.
    fn client(&self, worker: usize, workers: usize, seed: u64) -> Self::Client;

    /// Returns a law that must hold for the database after any serializable run, if the workload has one.
    fn conservation(&self) -> Option<Conservation> {
        None
    }

    /// Returns the names of the kinds of procedures, in the order of [`Client::kind`]; none if there is only one
    /// kind.
    fn kinds(&self) -> &'static [&'static str] {
        &[]
    }

    /// Returns true if clients number the rows that they insert, starting from the first. Another client of the
    /// same worker must not meet those rows, so every repetition of a run gets its own database.
    fn grows(&self) -> bool {
        false
    }

    /// Returns true if every procedure accesses its rows in ascending order of table and key, and says at the first
    /// access to a row whether it will write it. Locks then cannot form a deadlock.
    fn in_key_order(&self) -> bool {
        false
    }
}

/// Says that the procedures of a workload can move between threads.
///
/// Under data-oriented execution a procedure can be on another thread after each access than before it. [`Send`] is not
/// enough: it speaks of what a client holds between procedures, and not of what lies on the stack during an access.
///
/// # Safety
/// While [`Client::run`] calls its [`Access`], the frames of `run` and of what it calls hold nothing that is bound to a thread: no
/// guard of a lock that its thread must release, no reference to a thread-local variable, and no value that others on the
/// same thread share without synchronisation.
pub unsafe trait MayMove: Workload {}

/// Proof that a workload [may move](MayMove). For [`Workload::MOVABLE`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Movable(());

impl Movable {
    /// Returns the proof for `W`.
    pub const fn of<W: MayMove>() -> Movable {
        Movable(())
    }
}

/// Checks a law of the workload in one transaction, given the number of committed procedures. `Ok(Err(..))` is a
/// broken law and says what is broken. `Err(..)` is an abort, after which the caller tries again.
pub type Conservation =
    Box<dyn Fn(&mut dyn Access, u64) -> Result<Result<(), String>, Abort> + Send + Sync>;

/// One worker's stream of stored procedures.
///
/// A copy of a client keeps the drawn procedure. A harness runs it later while the client draws others. What `run` leaves
/// in a copy for the next draw is lost.
pub trait Client: Clone + Send {
    /// Draws the next procedure and its inputs. Retries of the procedure keep them.
    fn next(&mut self);

    /// Runs the drawn procedure once. It must be repeatable, because the engine calls it again after an abort.
    fn run<A: Access + ?Sized>(&mut self, access: &mut A) -> Result<(), Abort>;

    /// Adds the partitions (see [`crate::Partitioning`]) of all keys that the drawn procedure may access to `out`,
    /// in any order. Adds nothing if the procedure may access any partition. This is asked only where the protocol
    /// or the architecture locks partitions. A transaction that accesses another partition aborts there.
    fn partitions(&self, out: &mut Vec<u64>) {
        let _ = out;
    }

    /// Adds the accesses of the drawn procedure that are known before it runs to `out`, in any order and with
    /// repetitions. A procedure can make further accesses, and need not make these. Adds nothing if no access is known.
    /// This is asked only where the protocol plans accesses. Retries keep the plan.
    fn plan(&self, out: &mut Vec<Planned>) {
        let _ = out;
    }

    /// Returns true if the drawn procedure only reads. This is declared at begin.
    fn read_only(&self) -> bool {
        false
    }

    /// Returns the number of the drawn procedure's kind, below 8, for reports by procedure.
    fn kind(&self) -> usize {
        0
    }
}
