//! Micro-benchmarks: small transactions, each of which isolates a single effect or exposes a single kind of
//! error.

pub mod counters;
pub mod hot_cold;
pub mod key_value;
mod ledger;
pub mod long_reader;
pub mod notes;
pub mod ranges;
pub mod rooms;
mod row_set;
pub mod sites;
pub mod timestamps;
