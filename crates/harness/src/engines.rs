//! Creates engines on each machine. Every protocol is compiled for the modelled machines in this module only.

use engine::{Engine, EngineError, EngineOptions, registry};
use machine::{Explored, Machine, Native, cold::Arc};
use simulator::Simulated;

/// Machines whose engines are compiled here.
pub trait Engines: Machine {
    /// Creates an engine, as [`registry::create`] does.
    fn engine(
        architecture: &str,
        protocol: &str,
        machine: &Arc<Self>,
        options: &EngineOptions,
    ) -> Result<Arc<dyn Engine<Self>>, EngineError>;
}

macro_rules! engines {
    ($($machine:ty: $create:path),* $(,)?) => {$(
        impl Engines for $machine {
            fn engine(
                architecture: &str,
                protocol: &str,
                machine: &Arc<Self>,
                options: &EngineOptions,
            ) -> Result<Arc<dyn Engine<Self>>, EngineError> {
                $create(architecture, protocol, machine, options)
            }
        }
    )*};
}

engines! {
    Native: registry::native,
    Simulated: registry::create,
    Explored: registry::create,
}
