//! Runs, measures and explores workloads.
//!
//! [`run::run`] measures a workload under a protocol on a machine. [`assemble::record`] makes a [`run_record::RunRecord`]
//! of the result. [`explore::explore`] searches for bugs. [`explore::replay::replay`] compares the contents of a log
//! with those of the tables.

pub mod anomalies;
pub mod arrivals;
mod aside;
pub mod assemble;
pub mod back_off;
mod compiled;
pub mod drive;
pub mod engines;
pub mod erased;
pub mod explore;
mod law;
pub mod measure;
mod measurement;
pub mod memory_log;
pub mod run;
pub mod run_record;
pub mod serving;
pub mod steadiness;
pub mod survival;
pub mod timeline;
