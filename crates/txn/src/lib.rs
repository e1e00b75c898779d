//! Kilocore's vocabulary: the types that stored procedures, protocols, machines and the checker share.
//!
//! Nothing here runs a transaction. The crate defines the common terms (schema, [`Access`], [`Abort`],
//! [`History`]), so that workloads, engine and checker can be written without knowing each other.

mod abort;
mod access;
mod action;
mod column;
mod entry;
mod history;
mod key;
mod layout;
mod packed;
mod partitioning;
mod plan;
mod procedure;
mod range;
mod schema;
mod secondary;
mod share;
mod spelling;

pub use abort::{Abort, AbortReason};
pub use access::{Access, Intent, Visit, add_words};
pub use action::{Action, ActionBody};
pub use column::{Column, ColumnType, MAX_VALUE_BYTES, NULL_LENGTH};
pub use history::{
    ByteScan, Digest, History, LoadedTable, Read, Scan, Transaction, TxnId, Unmatched, Version,
    WorkerHistory, Write, WriteKind,
};
pub use key::{Key, Keys, OwnedKey, OwnedKeys};
pub use layout::{ColumnSpan, RowLayout};
pub use packed::{Fields, Packing, held_value, push_variable, split_variable, variable};
pub use partitioning::Partitioning;
pub use plan::Planned;
pub use procedure::{Client, Conservation, Loader, MayMove, Movable, Workload};
pub use range::{
    ByteRange, Direction, KeyRange, ReversedByteRange, ReversedRange, byte_key_after,
    byte_key_before,
};
pub use schema::{
    AddedTo, ColumnSet, IndexKind, KeyKind, MAX_COLUMNS, MAX_KEY_BYTES, Payload, Schema,
    SchemaError, TableId, TableSchema,
};
pub use secondary::{ENTRY, IndexedColumn, SecondaryIndex, check_tables, indexed_columns};
pub use share::Share;
pub use spelling::Spellings;
