//! Engines on each machine: every protocol is compiled here for the modelled machines, and nowhere else.

use engine::{Engine, EngineError, EngineOptions, registry};
use machine::{Explored, Machine, Native, cold::Arc};
use simulator::Simulated;

/// Machines whose engines have been compiled.
pub trait Engines: Machine {
    /// As [`registry::create`].
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
