//! Hides the types of workloads.
//!
//! Measuring and exploring depend on the protocol and are compiled once for each protocol. Drawing and running
//! procedures depend on the workload and are compiled once for each workload. The two parts meet at `dyn
//! ErasedWorkload` and `dyn Session`. Only a native loop that is compiled for its protocol ([`Workload::COMPILED`])
//! bypasses them.

use crate::{
    drive::{Length, Loop, Watcher, drive},
    measure::WorkerReport,
};
use engine::{Dataset, Session};
use machine::Machine;
use txn::{Abort, Access, Client, Conservation, Movable, Planned, Workload};

/// Identity of a worker in a run.
#[derive(Clone, Copy, Debug)]
pub struct Identity<'a> {
    /// Number of the worker.
    pub worker: usize,
    /// Number of workers.
    pub workers: usize,
    /// Seed of the run.
    pub seed: u64,
    /// Numbers of the drawn procedures that the worker runs, ascending. None if it runs all of them.
    pub chosen: Option<&'a [u64]>,
}

/// A client that runs only some of the procedures that the inner client draws.
#[derive(Clone)]
struct Choosing<'a, C> {
    client: C,
    chosen: Option<&'a [u64]>,
    drawn: u64,
}

impl<C: Client> Client for Choosing<'_, C> {
    fn next(&mut self) {
        let Some(chosen) = &mut self.chosen else { return self.client.next() };
        let Some((next, rest)) = chosen.split_first() else { return };
        while self.drawn <= *next {
            self.client.next();
            self.drawn += 1;
        }
        *chosen = rest;
    }

    #[inline]
    fn run<A: Access + ?Sized>(&mut self, access: &mut A) -> Result<(), Abort> {
        self.client.run(access)
    }

    fn partitions(&self, out: &mut Vec<u64>) {
        self.client.partitions(out);
    }

    fn plan(&self, out: &mut Vec<Planned>) {
        self.client.plan(out);
    }

    fn read_only(&self) -> bool {
        self.client.read_only()
    }

    fn kind(&self) -> usize {
        self.client.kind()
    }
}

/// A workload on machines of type `M`.
pub trait ErasedWorkload<M: Machine>: Dataset {
    /// Creates the client of `identity`, asks `open` how long to run, and runs the loop.
    fn drive(
        &self,
        core: &M::Core,
        session: &mut dyn Session,
        identity: Identity<'_>,
        open: &dyn Fn() -> Length,
        plan: Loop<'_, M, &mut dyn Watcher>,
    ) -> WorkerReport;

    /// Returns [`Workload::grows`].
    fn grows(&self) -> bool;

    /// Returns [`Workload::in_key_order`].
    fn in_key_order(&self) -> bool;

    /// Returns [`Workload::conservation`].
    fn conservation(&self) -> Option<Conservation>;

    /// Returns [`Workload::MOVABLE`].
    fn movable(&self) -> Option<Movable>;
}

impl<M: Machine, W: Workload> ErasedWorkload<M> for W {
    fn drive(
        &self,
        core: &M::Core,
        session: &mut dyn Session,
        identity: Identity<'_>,
        open: &dyn Fn() -> Length,
        plan: Loop<'_, M, &mut dyn Watcher>,
    ) -> WorkerReport {
        let Identity { worker, workers, seed, chosen } = identity;
        let mut client = Choosing { client: self.client(worker, workers, seed), chosen, drawn: 0 };
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

    fn movable(&self) -> Option<Movable> {
        W::MOVABLE
    }
}
