//! Workloads without their types.
//!
//! What measures and explores depends on the protocol and is compiled once for each of them; what draws and
//! runs procedures depends on the workload and is compiled once for each of those. Between them stand
//! `dyn ErasedWorkload` and `dyn Session`. Only a native loop that is compiled for its protocol
//! ([`Workload::COMPILED`]) does without.

use crate::{
    drive::{Length, Loop, Watcher, drive},
    measure::WorkerReport,
};
use engine::{Dataset, Session};
use machine::Machine;
use txn::{Conservation, Workload};

/// Whose loop it is.
#[derive(Clone, Copy, Debug)]
pub struct Identity {
    /// Number of the worker.
    pub worker: usize,
    /// Number of workers.
    pub workers: usize,
    /// Seed of the run.
    pub seed: u64,
}

/// A workload on machines of type `M`.
pub trait ErasedWorkload<M: Machine>: Dataset {
    /// Makes the client of `identity`, asks `open` how long to go on, and runs the loop.
    fn drive(
        &self,
        core: &M::Core,
        session: &mut dyn Session,
        identity: Identity,
        open: &dyn Fn() -> Length,
        plan: Loop<'_, &mut dyn Watcher>,
    ) -> WorkerReport;

    /// As [`Workload::grows`].
    fn grows(&self) -> bool;

    /// As [`Workload::in_key_order`].
    fn in_key_order(&self) -> bool;

    /// As [`Workload::conservation`].
    fn conservation(&self) -> Option<Conservation>;
}

impl<M: Machine, W: Workload> ErasedWorkload<M> for W {
    fn drive(
        &self,
        core: &M::Core,
        session: &mut dyn Session,
        identity: Identity,
        open: &dyn Fn() -> Length,
        plan: Loop<'_, &mut dyn Watcher>,
    ) -> WorkerReport {
        let mut client = self.client(identity.worker, identity.workers, identity.seed);
        drive(core, session, &mut client, open(), plan)
    }

    fn grows(&self) -> bool {
        Workload::grows(self)
    }

    fn in_key_order(&self) -> bool {
        Workload::in_key_order(self)
    }

    fn conservation(&self) -> Option<Conservation> {
        Workload::conservation(self)
    }
}
