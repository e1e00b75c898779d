//! From a stored procedure's accesses to records: what a row is, and who executes an access.
//!
//! - [`Session`] is what a stored procedure runs against;
//! - `rows/` says what a row is, once for all: keys of both kinds, secondary indexes, rows in two parts, scans,
//!   retirement, recording, logging;
//! - `site/` is what one owner can do for one transaction on its own data: a protocol on a store;
//! - an architecture says which site executes an access: a module each, listed in [`registry`].

mod architecture;
mod engine;
mod log;
mod owner;
mod part;
pub mod registry;
mod rows;
mod session;
mod several_sites;
mod shared_everything;
mod site;

pub use architecture::ArchitectureDeclaration;
pub use engine::{Dataset, Engine, EngineError, EngineOptions, TypedEngine};
pub use log::{Commit, CommitSink, LoggedWrite, SinkError, Ticket};
pub use session::{RowVisit, Session, Start, Walk};
