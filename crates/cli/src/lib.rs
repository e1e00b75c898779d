//! The kilocore command

pub mod report;
