//! Running, measuring, exploring.
//!
//! [`run::run`] measures a workload under a protocol on a machine, [`assemble::record`] makes a
//! [`record::RunRecord`] of it, and [`explore::explore`] hunts for bugs;
//! [`explore::replay::replay`] holds what a log was told against what the tables hold.

pub mod anomalies;
pub mod arrivals;
pub mod assemble;
pub mod drive;
pub mod engines;
pub mod erased;
pub mod explore;
mod law;
pub mod measure;
mod measurement;
pub mod memory_log;
pub mod record;
pub mod run;
pub mod steadiness;
pub mod survival;
pub mod timeline;
