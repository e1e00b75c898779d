//! Where data lies: records with their metadata inline, tables, the hash index, epochs.
//!
//! Everything is generic over the machine `M` and over `C`, the words of concurrency-control metadata
//! that a protocol keeps in each record. A record is named by table and arena offset, and is reached
//! through a [`RecordRef`]. The only place that copies row bytes which others may be writing is
//! [`record`].

pub mod index;
mod loader;
mod reclaim;
pub mod record;
mod store;
mod table;

pub use loader::StoreLoader;
pub use reclaim::{Epochs, Pin};
pub use record::{Header, RecordName, RecordRef, RowHead, RowState};
pub use store::{Store, StoreError, StoreOptions};
pub use table::{Found, Space, Table};
