//! Tests of protocols and their parts through their public interface. They are one binary, because each binary
//! takes long to link.

mod exhausted;
mod long_reader;
mod record_set;
mod registered_readers;
mod retired_writes;
mod rig;
