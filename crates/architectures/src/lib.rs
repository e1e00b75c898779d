//! Who executes an access, and how cores are synchronised physically.
//!
//! An [`Architecture`] hands out [`Session`]s; a session is what a stored procedure runs against. So far:
//! [`SharedEverything`], where every core touches every record itself.

mod architecture;
mod history;
mod purge;
mod shared_everything;

pub use architecture::{Architecture, Dataset, EngineError, EngineOptions, Session};
pub use shared_everything::{SharedEverything, SharedEverythingSession};
