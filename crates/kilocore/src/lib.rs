//! An embeddable, serializable, multi-writer in-memory transaction engine.
//!
//! ```
//! use kilocore::{ColumnType::TextUpTo, Database, Error, Options, Row};
//!
//! #[derive(Row)]
//! struct Account {
//!     owner: String,
//!     note: Option<String>, // NULL is None
//!     balance: i64,
//! }
//!
//! let db = Database::open(Options::default())?;
//! let accounts = db.table("accounts").key(TextUpTo(34)).row::<Account>().ordered().create()?;
//! db.transact(|tx| {
//!     tx.insert(&accounts, "CH01", &Account { owner: "Ada".into(), note: None, balance: 100 })?;
//!     tx.insert(&accounts, "CH02", &Account { owner: "Bob".into(), note: None, balance: 0 })
//! })?;
//! db.transact(|tx| {
//!     let from: Account = tx.get_as(&accounts, "CH01")?.ok_or("no such account")?;
//!     if from.balance < 30 {
//!         return Err("insufficient funds".into()); // rolls back
//!     }
//!     tx.add(&accounts, "CH01", &[("balance", -30)])?;
//!     tx.add(&accounts, "CH02", &[("balance", 30)])
//! })?; // from any thread; runs again when it loses against another transaction
//! # let all = db.read_only(|tx| tx.range(&accounts, ..)?.map(|row| row?.1.to::<Account>()).collect::<Result<Vec<_>, _>>())?;
//! # assert_eq!(all.iter().map(|account| account.balance).collect::<Vec<_>>(), [70, 30]);
//! # assert!(all[0].owner == "Ada" && all[1].note.is_none());
//! # Ok::<(), Error>(())
//! ```
//!
//! - [`Database`]: opened with [`Options`]. The options also name the concurrency-control [`Protocol`].
//! - [`TableBuilder`]: describes a table and creates it. [`Table`], [`Field`]: handles of tables and of typed columns.
//! - [`AsKey`]: the types of keys that every method takes: `7`, `"seven"`, `[7, 0, 7]`. A [`Key`] is one of them.
//! - [`TableRow`]: a struct as a row. [`RowValues`]: all ways to give a row. [`struct@Row`]: a row that was read.
//! - [`Index`]: a handle of a secondary index, which is created together with its table.
//! - [`Transaction`]: insert, insert many, put, update, add, delete. [`ReadTransaction`]: get, scan, iterate, find.
//! - [`Database::get`], [`Database::get_field`]: one row, read in a transaction of its own.
//! - [`Error`]: every failure that the API reports, with the value given and the values allowed.
//!
//! The store needs no C library, no asynchronous runtime and no fibers. Those parts of Kilocore that explore and simulate
//! are not built with it.
//!
//! Rows live in memory only. They are gone when the last handle of their database is dropped.
//!
//! Versions follow semantic versioning's rules for 0.x: a release 0.y can change the interface.

mod alter;
mod back_off;
mod background;
mod builder;
mod database;
mod error;
mod index;
mod insert_many;
mod keys;
mod options;
mod point_reads;
mod reading;
mod rehearsal;
mod row;
mod row_values;
mod rows;
mod seats;
mod session_pool;
mod suggestion;
mod table;
mod term;
mod transaction;
mod value;

pub use alter::TableChange;
pub use builder::TableBuilder;
pub use database::Database;
pub use error::Error;
pub use index::{Index, IndexOptions};
pub use keys::{AsKey, KeyBounds};
pub use kilocore_derive::Row;
pub use options::Options;
pub use protocols::registry::ProtocolName as Protocol;
pub use reading::ReadTransaction;
pub use row::Row;
pub use row_values::{Given, Named, RowValues, TableRow};
pub use rows::Rows;
pub use table::{Field, Table};
pub use transaction::Transaction;
pub use txn::{AbortReason, ColumnType, Key, OwnedKey};
pub use value::{ColumnValue, IntegerValue, Value};
