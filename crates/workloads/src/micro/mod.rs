//! Micro-benchmarks: small transactions made to show, or to break, one thing.

pub mod counters;
pub mod hot_cold;
pub mod key_value;
pub mod long_reader;
pub mod ranges;
pub mod rooms;
mod row_set;
pub mod sites;
pub mod timestamps;
