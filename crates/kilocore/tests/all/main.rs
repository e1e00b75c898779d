//! The embedded face as a program uses it. One binary for all, as each takes long to link.

mod additions;
mod byte_scans;
mod errors;
mod indexes;
mod memory;
mod money;
mod scans;
mod turns;
mod wide_indexes;
