//! An embeddable, serializable, multi-writer in-memory transaction engine.
//!
//! ```
//! use kilocore::{ColumnType::I64, Database, Error, Options, Value};
//!
//! let db = Database::open(Options::default())?;
//! let accounts = db.create_table("accounts", &[("balance", I64)])?;
//! db.transact(|tx| {
//!     tx.insert(&accounts, 1, &[Value::I64(100)])?;
//!     tx.insert(&accounts, 2, &[Value::I64(0)])
//! })?;
//! db.transact(|tx| {
//!     let from: i64 = tx.get_for_update(&accounts, 1)?.ok_or("no such account")?.get("balance")?;
//!     let to: i64 = tx.get_for_update(&accounts, 2)?.ok_or("no such account")?.get("balance")?;
//!     if from < 30 {
//!         return Err("insufficient funds".into()); // rolls back
//!     }
//!     tx.update(&accounts, 1, &[("balance", Value::I64(from - 30))])?;
//!     tx.update(&accounts, 2, &[("balance", Value::I64(to + 30))])
//! })?; // from any thread; runs again when it loses against another transaction
//! # let balance = |key| db.read_only(|tx| tx.get(&accounts, key)?.ok_or("none")?.get::<i64>("balance"));
//! # assert_eq!((balance(1)?, balance(2)?), (70, 30));
//! # Ok::<(), Error>(())
//! ```
//!
//! - [`Database`]: opened with [`Options`]. The options also name the concurrency-control protocol.
//! - [`Table`], [`Field`]: handles of tables and of typed columns. A table's keys are 64-bit integers or bytes.
//! - [`Key`]: the primary key of a row. Every method takes any type that implements [`AsKey`]: `7`, `"seven"`,
//!   `[7, 0, 7]`.
//! - [`Index`]: a handle of a secondary index, which is created together with its table.
//! - [`Transaction`]: get, insert, put, update, add, delete, scan. It reads a [`Row`] and writes a [`Value`].
//! - [`Error`]: every failure that the API reports, with the value given and the values allowed.
//!
//! Rows live in memory only. They are gone when the last handle of their database is dropped.

mod back_off;
mod background;
mod database;
mod error;
mod index;
mod keys;
mod options;
mod rehearsal;
mod row;
mod seats;
mod slots;
mod suggestion;
mod table;
mod transaction;
mod value;

pub use database::Database;
pub use error::Error;
pub use index::{Index, IndexOptions};
pub use keys::{AsKey, KeyBounds};
pub use options::Options;
pub use row::Row;
pub use table::{Field, Table};
pub use transaction::Transaction;
pub use txn::{AbortReason, ColumnType, Key, OwnedKey};
pub use value::{ColumnValue, FixedValue, IntegerValue, Value};
