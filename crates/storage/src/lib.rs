//! Where data lies: records with their metadata inline, tables, the hash index, epochs.
//!
//! Everything is generic over the machine `M` and over `C`, the words of concurrency-control metadata
//! that a protocol keeps in each record. A record is named by table and arena offset, and is reached
//! through a [`RecordRef`]. The only place that copies row bytes which others may be writing is
//! [`record`].

mod byte_keys;
mod guard;
pub mod index;
mod loader;
mod ordered_rows;
mod reclaim;
pub mod record;
mod slots;
mod split;
mod store;
mod table;

pub use guard::GuardRef;
pub use index::ByteKey;
pub use loader::StoreLoader;
pub use ordered_rows::{Leaf, LeafRows, OrderedKey, Placed, Sought};
pub use reclaim::{Epochs, Pin};
pub use record::{Header, RecordName, RecordRef, RowHead, RowState};
pub use slots::Slots;
pub use split::Split;
pub use store::{Store, StoreError, StoreOptions};
pub use table::{Found, Space, Table};
