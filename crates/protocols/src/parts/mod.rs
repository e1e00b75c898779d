//! What several protocols are made of.

pub mod active_timestamps;
pub mod cancellable_queue;
pub mod critical_section;
pub mod lock_queue;
pub mod lock_table;
pub mod node_set;
pub mod ordered_locks;
pub mod partition_locks;
pub mod prewrite;
pub mod queue_latch;
pub mod range_times;
pub mod record_set;
pub mod temperature;
pub mod tid_word;
pub mod timestamp_allocator;
pub mod timestamp_floor;
pub mod two_phase_locking;
pub mod validity_word;
pub mod version_chain;
pub mod version_collector;
pub mod version_times;
pub mod versioned_readers;
pub mod waits_for;
pub mod write_set;
