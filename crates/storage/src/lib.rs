//! The storage layer: records with their metadata inline, tables, indexes and epochs.
//!
//! Everything in this crate is generic over the machine `M` and over nothing else. A record is named by its table and
//! its offset in the arena. Code reaches it through a [`Record`]. A protocol sees its own words of concurrency-control
//! metadata in a record through its view of the record, [`RecordRef`]. Row bytes that another thread can be writing at
//! the same time are copied in a single place only: the module [`record`].

mod access_options;
mod appended;
mod aside;
mod byte_keys;
mod column_runs;
pub mod faults;
mod guard;
mod hot_columns;
pub mod index;
mod index_pointers;
mod key_layout;
mod lines;
mod loader;
mod ordered_rows;
mod place;
mod reclaim;
pub mod record;
mod shape;
mod slots;
mod store;
mod system_memory;
mod table;
mod values;
mod view;

pub use access_options::{
    AccessOptions, Allocator, Announcements, ColumnLookup, ConstantReads, Copies, IndexPointers,
    Shipping, StateLine, Timing, nanoseconds, read_clock,
};
pub use appended::Appended;
pub use aside::Absence;
pub use column_runs::ColumnRuns;
pub use guard::Guard;
pub use hot_columns::HotColumns;
pub use index::{
    ByteKey,
    ordered::{LeafPath, MOST_ENTRIES as LEAF_ENTRIES},
};
pub use key_layout::digest as key_digest;
pub use lines::LineSet;
pub use loader::StoreLoader;
pub use ordered_rows::{Leaf, LeafRows, Placed, Sought};
pub use place::Place;
pub use reclaim::{Epochs, Pin};
pub use record::{Origin, Record, RecordName, RowHead, RowState};
pub use shape::{ProtocolWords, Shape};
pub use slots::{Slots, Space};
pub use store::{MAX_TABLES, Store, StoreError, StoreOptions};
pub use system_memory::{Heap, SystemMemory};
pub use table::{AddedColumns, Found, OrderedKey, Piece, Table};
pub use values::{ValueSpace, Values};
pub use view::{GuardRef, RecordRef};
