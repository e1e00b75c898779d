//! Benchmark workloads as stored procedures and loaders, written against [`txn`] alone.
//!
//! A workload knows neither protocol nor architecture nor machine. Its options are plain values,
//! checked once by its constructor; its clients draw every random input before the transaction
//! begins, so a retry runs the same procedure, and so the draw is no part of what is measured
//! as the transaction's latency.
//!
//! | module | what it measures |
//! | --- | --- |
//! | [`ycsb`] | independent accesses to records chosen by Zipf's law |
//! | [`micro::counters`] | nothing: it is built to be broken by a wrong protocol, with laws that notice |
//! | [`micro::ranges`] | the same for scans: what slips into a scanned range breaks a law |
//! | [`micro::timestamps`] | the allocation of timestamps alone |
//! | [`tpcc_accesses`] | a stand-in for the accesses of TPC-C's orders and payments |
//! | [`smallbank`] | short transactions of a bank, among which write skew can happen |
//! | [`tpcb`] | updates that meet at a bank's few branches, and an append |

pub mod catalogue;
mod cell;
mod distinct;
pub mod micro;
mod options;
pub mod smallbank;
pub mod stream;
pub mod tpcb;
pub mod tpcc_accesses;
pub mod ycsb;
pub mod zipf;

pub use options::{OptionError, OptionValue};
