//! Implements benchmark workloads as stored procedures and loaders that depend only on [`txn`].
//!
//! A workload is independent of protocol, architecture and machine. Its options are plain values that declare
//! themselves ([`Options`]) and are checked once by its constructor. Its clients draw every random input
//! before the transaction begins. Therefore a retry runs the same procedure, and the time for drawing is not
//! part of the transaction's measured latency.
//!
//! | module | what it measures |
//! | --- | --- |
//! | [`ycsb`] | independent accesses to records chosen by Zipf's law |
//! | [`micro::counters`] | nothing: it exposes wrong protocols by laws that every serializable run keeps |
//! | [`micro::ranges`] | the same for scans: a phantom in a scanned range breaks a law |
//! | [`micro::rooms`] | the same for secondary indexes: an index that differs from its table breaks a law |
//! | [`spelled`] | another workload, with keys of bytes |
//! | [`micro::timestamps`] | only the allocation of timestamps |
//! | [`tpcc`] | orders of a wholesale supplier: all of TPC-C |
//! | [`tpcc_accesses`] | a stand-in for the accesses of TPC-C's orders and payments |
//! | [`smallbank`] | short transactions of a bank, where write skew is possible |
//! | [`micro::hot_cold`] | contention for a few hot records, and the cost of records of other partitions |
//! | [`micro::sites`] | transactions that access one partition, and transactions that access several |
//! | [`micro::key_value`] | one, ten or a hundred random rows of a table of any size |
//! | [`micro::long_reader`] | the effects of a long scan and short updates on each other |
//! | [`tatp`] | very short transactions, many of which find no row |
//! | [`tpcb`] | updates that contend for a bank's few branches, and an append |

mod cell;
mod distinct;
mod fold;
mod index_choice;
pub mod micro;
mod movable;
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
    suffix, whole,
};
