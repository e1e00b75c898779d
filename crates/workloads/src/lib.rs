//! Benchmark workloads as stored procedures and loaders, written against [`txn`] alone.
//!
//! A workload knows neither protocol nor architecture nor machine. Its options are plain values that declare
//! themselves ([`Options`]), checked once by its constructor; its clients draw every random input before the transaction
//! begins, so a retry runs the same procedure, and so the draw is no part of what is measured
//! as the transaction's latency.
//!
//! | module | what it measures |
//! | --- | --- |
//! | [`ycsb`] | independent accesses to records chosen by Zipf's law |
//! | [`micro::counters`] | nothing: it is built to be broken by a wrong protocol, with laws that notice |
//! | [`micro::ranges`] | the same for scans: what slips into a scanned range breaks a law |
//! | [`micro::rooms`] | the same for secondary indexes: what differs from its table breaks a law |
//! | [`spelled`] | another workload, with keys of bytes |
//! | [`micro::timestamps`] | the allocation of timestamps alone |
//! | [`tpcc`] | orders of a wholesale supplier: TPC-C, all of it |
//! | [`tpcc_accesses`] | a stand-in for the accesses of TPC-C's orders and payments |
//! | [`smallbank`] | short transactions of a bank, among which write skew can happen |
//! | [`micro::hot_cold`] | contention for a few hot records, and the price of other partitions' |
//! | [`micro::sites`] | transactions that keep to one partition, and such that do not |
//! | [`micro::key_value`] | one, ten or a hundred random rows of a table of any size |
//! | [`micro::long_reader`] | what a long scan does to short updates, and they to it |
//! | [`tatp`] | very short transactions, many of which find nothing |
//! | [`tpcb`] | updates that meet at a bank's few branches, and an append |

mod cell;
mod distinct;
mod index_choice;
pub mod micro;
mod options;
pub mod registry;
pub mod smallbank;
pub mod spelled;
pub mod stream;
pub mod tatp;
pub mod tpcb;
pub mod tpcc;
pub mod tpcc_accesses;
pub mod variation;
pub mod ycsb;
pub mod zipf;

pub use index_choice::IndexChoice;
pub use options::{
    AnyOption, Bundle, OptionError, OptionKind, OptionOf, OptionValue, Options, bundle, option,
    whole,
};
