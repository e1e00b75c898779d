//! Workloads as the engine sees them: a schema, a loader, and clients that draw procedures.

use crate::{Abort, Access, Key, Schema, TableId};

/// Fills tables before a run. Nothing else is running, so nothing is locked.
pub trait Loader {
    /// Adds the rows `0..count` of `table`. `row` writes the packed values of a key into a buffer
    /// that holds zeros. A simulated machine may keep the rule instead of the rows.
    fn load_dense(&mut self, table: TableId, count: u64, row: &(dyn Fn(u64, &mut [u8]) + Sync));

    /// Adds one row.
    fn load(&mut self, table: TableId, key: Key<'_>, row: &[u8]);
}

/// A benchmark: what it stores and who uses it. All options are plain values fixed at creation.
pub trait Workload: Send + Sync + 'static {
    /// Draws and runs this workload's procedures for one worker.
    type Client: Client;

    /// True when the native loop is to be compiled anew for each protocol, as a benchmark's: nothing then
    /// stands between a procedure and its protocol. Otherwise an access costs a virtual call, and the build does
    /// without a copy of the loop for each protocol.
    const COMPILED: bool = true;

    /// Tables, in the order of their numbers.
    fn schema(&self) -> Schema;

    /// Rows that each table will hold after loading, for sizing indexes and checking memory.
    fn rows(&self, table: TableId) -> u64;

    /// Loads the initial database.
    fn load(&self, loader: &mut dyn Loader);

    /// The client of worker `worker` of `workers`; the same seed gives the same procedures.
    fn client(&self, worker: usize, workers: usize, seed: u64) -> Self::Client;

    /// A law that must hold of the database after any serializable run, if the workload has one.
    fn conservation(&self) -> Option<Conservation> {
        None
    }

    /// Names of the kinds of procedures, in the order of [`Client::kind`]; none where there is only one kind.
    fn kinds(&self) -> &'static [&'static str] {
        &[]
    }

    /// True when clients number the rows that they insert from the first: another client of the same worker must
    /// not meet them, so every repetition of a run gets a database of its own.
    fn grows(&self) -> bool {
        false
    }

    /// True when every procedure accesses its rows in ascending order of table and key, and says at the
    /// first access to a row whether it will write it. Locks then cannot form a deadlock.
    fn in_key_order(&self) -> bool {
        false
    }
}

/// Checks a law of the workload in one transaction, given how many procedures committed.
/// Says what is broken; `Ok(Err(..))` is a broken law, `Err(..)` an abort (try again).
pub type Conservation =
    Box<dyn Fn(&mut dyn Access, u64) -> Result<Result<(), String>, Abort> + Send + Sync>;

/// One worker's stream of stored procedures.
pub trait Client: Send {
    /// Draws the next procedure and its inputs. Retries of the same procedure keep them.
    fn next(&mut self);

    /// Runs the drawn procedure once. Must be repeatable: an abort makes the engine call it again.
    fn run<A: Access + ?Sized>(&mut self, access: &mut A) -> Result<(), Abort>;

    /// Adds the partitions (see [`crate::Partitioning`]) of all keys that the drawn procedure may access to
    /// `out`, in any order; adds nothing where it may access any. Asked only by protocols that lock
    /// partitions, and held to it by them.
    fn partitions(&self, out: &mut Vec<u64>) {
        let _ = out;
    }

    /// True when the drawn procedure only reads; declared at begin.
    fn read_only(&self) -> bool {
        false
    }

    /// Number of the drawn procedure's kind, for reports by procedure; below 8.
    fn kind(&self) -> usize {
        0
    }
}
