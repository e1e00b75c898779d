//! Executes a stored procedure's accesses on records. This crate defines what a row is and who executes an
//! access.
//!
//! - [`Session`] is the interface that a stored procedure uses.
//! - `rows/` implements rows once for all protocols: keys of both kinds, secondary indexes, hot and
//!   cold columns, scans, retirement of absent records, recording of histories, logging.
//! - `site/` implements what one owner does for one transaction on its own data. A site is a protocol on a
//!   store.
//! - An architecture decides which site executes an access. Each has its own module, and [`registry`] lists
//!   them.

pub mod admission;
mod architecture;
mod assignment;
mod bound_protocol;
mod data_oriented;
mod delegation;
mod engine;
mod executors;
mod handed;
mod log;
mod options;
mod owned_sites;
mod owner;
mod pair;
mod partitioned_serial;
mod record_copy;
pub mod registry;
mod rows;
mod session;
mod several_sites;
mod shared_everything;
mod site;
mod stores;

pub use architecture::{ArchitectureDeclaration, OwnersWork};
pub use engine::{
    Dataset, Engine, EngineError, EngineOptions, MovingOptions, TableOwners, TypedEngine,
};
pub use log::{Commit, CommitSink, LoggedWrite, SinkError, Ticket};
pub use options::ACCESS_KNOBS;
pub use pair::{pair, with_executors};
pub use session::{RowVisit, Session, Start, Walk};
pub use storage::{
    AccessOptions, Allocator, Announcements, ColumnLookup, ConstantReads, Copies, IndexPointers,
    Shipping, StateLine, Timing,
};
