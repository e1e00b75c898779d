//! Concurrency-control protocols. A protocol decides which transactions may commit.
//!
//! Each protocol has one file. The header of the file cites the paper and lists the deviations from it. Code that
//! several protocols share is in [`mechanisms`]. Outside a protocol's own file, only [`registry`] and the planted bugs
//! in [`faults`] name protocols.

pub mod aria;
pub mod bamboo;
pub mod cicada;
pub mod dl_detect;
pub mod faults;
pub mod hekaton;
pub mod hstore;
pub mod mechanisms;
pub mod mocc;
pub mod mvcc;
pub mod no_cc;
pub mod no_wait;
pub mod occ;
mod options;
pub mod ordered_2pl;
pub mod plor;
mod protocol;
pub mod registry;
pub mod silo;
pub mod snapshot;
pub mod ssn;
pub mod tictoc;
pub mod timestamp;
pub mod two_version_no_wait;
pub mod wait_die;
pub mod wound_wait;

pub use options::commit_locks::{CommitLocks, MAX_PAUSES};
pub use options::duration;
pub use options::{
    Deadlocks, KNOBS, KeptVersions, Knob, KnobError, LatchKind, LockForm, LockPlacement,
    OlderAtPartition, ProtocolOptions, Readers, Validation, WaitingWriters, WaitsForGraph,
    WriteLocks,
};
pub use protocol::{
    Change, CommitLog, Declaration, Delegated, Image, Images, Isolation, IsolationError, Prepared,
    Protocol, TimestampAllocation, Txn,
};
