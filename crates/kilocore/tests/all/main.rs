//! Tests of the embedded API as a program uses it. They are one binary, because linking each binary takes long.

mod additions;
mod alter;
mod byte_scans;
mod errors;
mod indexes;
mod insert_many;
mod inserts;
mod memory;
mod money;
mod point_reads;
mod scans;
mod turns;
mod types;
mod wide_indexes;
