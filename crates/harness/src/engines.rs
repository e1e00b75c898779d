//! Creates engines on each machine. Every protocol is compiled for the modelled machines in this module only, and the native loops
//! of workloads are compiled in `compiled.rs` only. So a program that uses this crate compiles none of them again.

use crate::{compiled::native_loop, measurement::WorkerLoop, run::Plan};
use engine::{Engine, EngineError, EngineOptions, registry};
use machine::{Explored, Machine, Native, cold::Arc};
use simulator::Simulated;
use std::any::Any;

/// Machines whose engines are compiled here.
pub trait Engines: Machine {
    /// Creates an engine, as [`registry::create`] does.
    fn engine(
        architecture: &str,
        protocol: &str,
        machine: &Arc<Self>,
        options: &EngineOptions,
    ) -> Result<Arc<dyn Engine<Self>>, EngineError>;

    /// Returns the loop of `workload`'s workers that is compiled for the engine of `plan`, or none if there is no such loop.
    fn compiled_loop<'w>(plan: &Plan, workload: &'w dyn Any) -> CompiledLoop<'w, Self>;
}

/// A loop of workers, if one is compiled, or the reason why there is no engine for it.
pub(crate) type CompiledLoop<'w, M> = Result<Option<Box<WorkerLoop<'w, M>>>, EngineError>;

/// Returns none: where time is modelled, a call that is not compiled for its protocol costs nothing.
fn no_loop<'w, M: Machine>(_: &Plan, _: &'w dyn Any) -> CompiledLoop<'w, M> {
    Ok(None)
}

macro_rules! engines {
    ($($machine:ty: $create:path, $compiled:path),* $(,)?) => {$(
        impl Engines for $machine {
            fn engine(
                architecture: &str,
                protocol: &str,
                machine: &Arc<Self>,
                options: &EngineOptions,
            ) -> Result<Arc<dyn Engine<Self>>, EngineError> {
                $create(architecture, protocol, machine, options)
            }

            fn compiled_loop<'w>(plan: &Plan, workload: &'w dyn Any) -> CompiledLoop<'w, Self> {
                $compiled(plan, workload)
            }
        }
    )*};
}

engines! {
    Native: registry::native, native_loop,
    Simulated: registry::create, no_loop,
    Explored: registry::create, no_loop,
}
