//! Where data lies: records with their metadata inline, tables, the hash index, epochs.
//!
//! Everything is generic over the machine `M` and nothing else. A record is named by table and arena offset, and is
//! reached through a [`Record`]; the words of concurrency-control metadata in it are seen through a protocol's
//! view of it, [`RecordRef`]. The only place that copies row bytes which others may be writing is [`record`].

mod aside;
mod byte_keys;
mod guard;
pub mod index;
mod key_layout;
mod loader;
mod ordered_rows;
mod place;
mod reclaim;
pub mod record;
mod shape;
mod slots;
mod split;
mod store;
mod table;
mod view;

pub use aside::Absence;
pub use guard::Guard;
pub use index::ByteKey;
pub use loader::StoreLoader;
pub use ordered_rows::{Leaf, LeafRows, Placed, Sought};
pub use place::Place;
pub use reclaim::{Epochs, Pin};
pub use record::{Record, RecordName, RowHead, RowState};
pub use shape::{ProtocolWords, Shape};
pub use slots::{Slots, Space};
pub use split::Split;
pub use store::{Store, StoreError, StoreOptions};
pub use table::{Found, OrderedKey, Piece, Table};
pub use view::{GuardRef, RecordRef};
