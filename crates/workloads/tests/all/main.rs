//! Tests the workloads through their public interface. All tests are in one binary, because each binary takes
//! long to link.

mod actions;
mod counters;
mod long_reader;
mod partitions;
mod ranges;
mod registry;
mod rooms;
mod row_sets;
mod smallbank;
mod store;
mod tatp;
mod tpcb;
mod tpcc;
mod tpcc_accesses;
mod tpcc_conditions;
mod ycsb;
mod ycsb_mixes;
