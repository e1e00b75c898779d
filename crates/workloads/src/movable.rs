//! The workloads whose procedures can move between threads, under data-oriented execution.
//!
//! Audited: between its accesses, a procedure of these workloads has on its stack only its drawn inputs, buffers of its own, and
//! references to its client and to its access. No workload uses a thread-local variable, a lock, or a value that is shared
//! within a thread. A procedure that will must leave this list.

use txn::MayMove;

macro_rules! may_move {
    ($($($part:ident)::+),* $(,)?) => {
        $(
            // SAFETY: the module's text says what lies on the stack of such a procedure.
            unsafe impl MayMove for crate::$($part)::+ {}
        )*
    };
}

may_move! {
    micro::counters::Counters,
    micro::hot_cold::HotCold,
    micro::key_value::KeyValue,
    micro::long_reader::LongReader,
    micro::notes::Notes,
    micro::ranges::Ranges,
    micro::rooms::Rooms,
    micro::sites::Sites,
    micro::timestamps::Timestamps,
    smallbank::SmallBank,
    tatp::Tatp,
    tpcb::Tpcb,
    tpcc::Tpcc,
    tpcc_accesses::TpccAccesses,
    ycsb::Ycsb,
}
