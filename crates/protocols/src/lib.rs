//! Concurrency-control protocols: which transaction may commit.
//!
//! One file per protocol, its paper cited at the top and its deviations listed; what several share is
//! in [`parts`]. [`registry`] is the only other place that names them.

pub mod bamboo;
pub mod cicada;
pub mod dl_detect;
pub mod faults;
pub mod hekaton;
pub mod hstore;
pub mod mocc;
pub mod mvcc;
pub mod no_cc;
pub mod no_wait;
pub mod occ;
mod options;
pub mod parts;
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

pub use options::{
    CommitLocks, Deadlocks, KNOBS, Knob, KnobError, LockForm, LockPlacement, OlderAtPartition,
    ProtocolOptions, Readers, Validation, WaitsForGraph, WriteLocks,
};
pub use protocol::{
    Change, CommitLog, Declaration, Image, Images, Isolation, IsolationError, Prepared, Protocol,
    TimestampAllocation, Txn,
};
