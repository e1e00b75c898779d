//! Known bugs of this crate, which an explored machine can switch on (`machine::Core::is_planted`). The tables of
//! planted bugs, in the crate of the protocols, say which detector catches each of them.

use machine::Fault;

/// A bucket of a hash index is marked as moved before its entries are in the new array, so readers miss them.
pub const MOVED_BEFORE_COPIED: Fault = Fault("moved_before_copied");

/// A look-up searches a bucket of a hash index although it has moved, so it misses records that were inserted since,
/// and finds those that were removed.
pub const READS_MOVED_BUCKETS: Fault = Fault("reads_moved_buckets");
