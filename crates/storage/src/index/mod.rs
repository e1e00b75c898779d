//! From keys to records.

mod hash;

pub use hash::HashIndex;
