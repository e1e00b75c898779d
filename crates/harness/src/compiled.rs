//! Contains the loops of workers that are compiled for a protocol and a workload. Between such a loop, a procedure and the protocol
//! there is no virtual call.
//!
//! There is one loop for each native protocol and listed workload. Compiling them all takes minutes of processor time. So it is
//! done in this crate, where no type is left open, and a program that uses the crate does not repeat it.

use crate::{
    drive::{Loop, drive},
    engines::CompiledLoop,
    measurement::WorkerLoop,
    run::Plan,
};
use engine::{
    Session, TypedEngine,
    registry::{EngineVisitor, with_engine},
};
use machine::{Machine, Native};
use std::any::Any;
use workloads::registry::{Listed, TypeVisitor, with_type_of};

/// Returns the native loop of `workload`'s workers for the engine of `plan`. Returns none if it is not compiled: the workload is
/// not listed or [asks for no such loop](txn::Workload::COMPILED), or its engine has none.
pub fn native_loop<'w>(plan: &Plan, workload: &'w dyn Any) -> CompiledLoop<'w, Native> {
    with_type_of(workload, ForWorkload { plan }).unwrap_or(Ok(None))
}

/// Finds the loop of a workload.
struct ForWorkload<'p> {
    plan: &'p Plan,
}

impl<'w> TypeVisitor<'w> for ForWorkload<'_> {
    type Output = CompiledLoop<'w, Native>;

    fn visit<W: Listed>(self, workload: &'w W) -> Self::Output {
        // A build with debug assertions is meant to find errors and not to measure.
        if const { !W::COMPILED || cfg!(debug_assertions) } {
            return Ok(None);
        }
        let Plan { architecture, protocol, protocol_options, .. } = self.plan;
        with_engine::<Native, _>(architecture, protocol, protocol_options, ForEngine { workload })
    }
}

/// Finds the loop of a workload for an engine.
struct ForEngine<'w, W> {
    workload: &'w W,
}

impl<'w, M: Machine, W: Listed> EngineVisitor<M> for ForEngine<'w, W> {
    type Output = Option<Box<WorkerLoop<'w, M>>>;

    fn visit<E: TypedEngine<M>>(self) -> Self::Output {
        let workload = self.workload;
        if const { !E::LOOPS } {
            return None;
        }
        Some(Box::new(move |engine, core, identity, open, plan| {
            let engine: &dyn Any = engine;
            let engine: &E = engine.downcast_ref().expect("the loop is run in engines of its type");
            let mut session = engine.typed_session(core, identity.worker);
            let mut client = workload.client(identity.worker, identity.workers, identity.seed);
            let Loop { back_off, seed, stop, arrivals, admission, watcher: _, meter } = plan;
            let plan = Loop { back_off, seed, stop, arrivals, admission, watcher: (), meter };
            let report = drive(core, &mut session, &mut client, open(), plan);
            (report, session.take_history())
        }))
    }
}
