//! Protocols and their parts, from outside. One binary for all, as each takes long to link.

mod exhausted;
mod long_reader;
mod registered_readers;
mod retired_writes;
mod rig;
