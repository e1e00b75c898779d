//! Building blocks that several protocols share.
//!
//! - Frames of protocols, which take rules as a parameter: [`two_phase_locking`], [`optimistic`], [`announced_writes`].
//! - Locks and queues: [`queue_latch`], [`lock_queue`], [`lock_table`], [`cancellable_queue`], [`kept_request`], [`retiring_queue`],
//!   [`ordered_locks`], [`partition_locks`].
//! - Physical synchronisation: [`physical`].
//! - Rules about waiting: [`wounding`], [`waits_for`], [`overtaking`].
//! - Versions: [`version_chain`], [`version_collector`], [`active_timestamps`].
//! - Clocks and orders: [`timestamp_allocator`], [`loose_clocks`], [`commit_clock`], [`commit_order`].
//! - What a transaction keeps for itself: [`write_set`], [`record_set`], [`node_set`].
//!
//! The other modules are parts of these, or serve a few protocols only.

pub mod absence_times;
pub mod active_timestamps;
pub mod announced_writes;
pub mod announcement;
pub mod batch_footprint;
pub mod batches;
pub mod cancellable_queue;
pub mod certifier;
pub mod commit_clock;
pub mod commit_dependencies;
pub mod commit_order;
pub mod contention_regulation;
pub mod critical_section;
pub mod dependent_session;
pub mod elided_latch;
mod few_sorted;
pub mod footprint;
pub mod inlined_version;
pub mod kept_request;
pub mod lock_queue;
pub mod lock_table;
pub mod loose_clocks;
pub mod node_set;
pub mod optimistic;
pub mod ordered_locks;
pub mod overtaking;
pub mod partition_locks;
pub mod pauses;
pub mod pending_validation;
pub mod physical;
pub mod prewrite;
pub mod queue_latch;
pub mod range_times;
pub mod record_set;
pub mod registered_readers;
pub mod reservations;
pub mod retired_images;
pub mod retiring_holdings;
pub mod retiring_queue;
pub mod temperature;
pub mod tid_word;
pub mod timestamp_allocator;
pub mod timestamp_floor;
pub mod transaction_states;
pub mod turns;
pub mod two_phase_locking;
pub mod undecided_versions;
pub mod validity_word;
pub mod version_chain;
pub mod version_collector;
pub mod version_times;
pub mod versioned_readers;
pub mod visibility;
pub mod wait_limits;
pub mod waits_for;
pub mod wounding;
pub mod write_set;
