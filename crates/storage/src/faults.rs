//! Known bugs of this crate, which an explored machine can switch on (`machine::Core::is_planted`). The tables of
//! planted bugs, in the crate of the protocols, say which detector catches each of them.

use machine::Fault;

/// A bucket of a hash index is marked as moved before its entries are in the new array, so readers miss them.
pub const MOVED_BEFORE_COPIED: Fault = Fault("moved_before_copied");

/// A row that is announced is looked for in a bucket of a hash index that may have moved.
pub const GUESSES_IN_MOVED_BUCKETS: Fault = Fault("guesses_in_moved_buckets");

/// A search in a leaf that the session has kept does not check whether the key belongs to the leaf.
pub const KEPT_LEAF_UNCHECKED: Fault = Fault("kept_leaf_unchecked");

/// Keys that are inserted together are all put in the leaf of the first one, wherever they belong.
pub const RUN_BEYOND_LEAF: Fault = Fault("run_beyond_leaf");

/// A look-up searches a bucket of a hash index although it has moved, so it misses records that were inserted since,
/// and finds those that were removed.
pub const READS_MOVED_BUCKETS: Fault = Fault("reads_moved_buckets");
