//! Tests of the simulator from outside. All of them are in a single binary, because each binary takes long to link.

mod bodies;
mod fibers;
mod links;
mod machine_files;
mod shapes;
mod simulated;
mod waits;
