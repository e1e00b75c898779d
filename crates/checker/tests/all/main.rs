//! The checker, from outside. One binary for all, as each takes long to link.

mod anomalies;
mod export;
mod random;
mod scans;
mod script;
