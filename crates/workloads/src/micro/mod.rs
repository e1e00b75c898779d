//! Micro-benchmarks: small transactions made to show, or to break, one thing.

pub mod counters;
pub mod ranges;
pub mod timestamps;
