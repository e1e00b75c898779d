//! Indexes: they map keys to records.

mod hash;
pub(crate) mod key;
pub mod ordered;
mod perfect;
mod red_black;
mod tree;

pub use hash::HashIndex;
pub use key::{ByteKey, TreeKey};
pub use ordered::OrderedIndex;
pub use perfect::PerfectIndex;
pub use red_black::RedBlackTree;
pub use tree::Tree;
