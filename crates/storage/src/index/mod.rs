//! From keys to records.

mod hash;
pub mod ordered;

pub use hash::HashIndex;
pub use ordered::OrderedIndex;
