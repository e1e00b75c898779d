//! The simulator, from outside. One binary for all, as each takes long to link.

mod machine_files;
mod shapes;
mod simulated;
