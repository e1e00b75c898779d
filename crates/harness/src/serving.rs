//! Runs workers as their architecture needs it: beside the servers of one that delegates work ([`machine::mailbox`]), or as fibers
//! that move to the cores that own data.

use engine::{Engine, EngineError, OwnersWork};
use machine::{Body, Machine, RunError, Service, Sharing, mailbox::Mailboxes};
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use txn::Movable;

/// The cores of a run: where its workers and its servers are.
///
/// A server is a fiber of a core beside its workers, unless servers are dedicated. Then it has a core of its own. These
/// cores are spread evenly over all cores.
#[derive(Clone, Copy, Debug)]
pub struct Seating {
    /// Number of workers on each core that has workers.
    pub fibers: usize,
    /// Number of all cores.
    pub cores: usize,
    /// Number of cores that only serve, or none if servers are not dedicated.
    pub dedicated: Option<usize>,
}

impl Seating {
    /// Returns the number of workers.
    pub fn workers(&self) -> usize {
        (self.cores - self.dedicated.unwrap_or(0)) * self.fibers
    }

    /// Returns the largest number of owners that can have a server.
    pub fn most_owners(&self) -> usize {
        self.dedicated.unwrap_or(self.cores)
    }

    /// Returns true if core number `core` only serves.
    fn only_serves(&self, core: usize) -> bool {
        let servers = self.dedicated.unwrap_or(0);
        (core + 1) * servers / self.cores > core * servers / self.cores
    }

    /// Returns the core of server number `server`.
    pub fn core_of_server(&self, server: usize) -> usize {
        match self.dedicated {
            None => server % self.cores,
            Some(servers) => {
                let mut serving = (0..self.cores).filter(|core| self.only_serves(*core));
                serving.nth(server % servers).expect("there are as many")
            }
        }
    }
}

/// Fails if workers are to be threads that share cores, and the architecture lets a core do one job at a time.
pub(crate) fn check_interruptible(architecture: &str) -> Result<(), EngineError> {
    let declared = engine::registry::declaration(architecture)?;
    match declared.work {
        OwnersWork::Shared => Ok(()),
        _ => Err(EngineError::Interrupted { architecture: declared.name }),
    }
}

/// Fails if the architecture moves sessions and the workload does not say that its procedures can move.
pub(crate) fn check_movable(
    architecture: &str,
    movable: Option<Movable>,
) -> Result<(), EngineError> {
    let declared = engine::registry::declaration(architecture)?;
    match movable {
        None if declared.work == OwnersWork::Visited => {
            Err(EngineError::NotMovable { architecture: declared.name })
        }
        _ => Ok(()),
    }
}

/// Runs the bodies of workers as [`Machine::run_fibers`] does, and servers beside them if the engine needs them. Body
/// number `n` uses session number `n` of the engine and no other. If sessions move, `movable` must be the promise of the workload
/// whose procedures they run. [`check_movable`] has said before whether there is one. The flag beside it is set if owners are threads
/// ([`crate::run::TablePlaces::Threads`]).
pub(crate) fn run_workers<'a, M: Machine>(
    machine: &M,
    engine: &'a dyn Engine<M>,
    (sharing, dedicated): (Sharing, Option<usize>),
    (movable, owners_are_threads): (Option<Movable>, bool),
    workers: Vec<Body<'a, M>>,
    services: Vec<Service<'a, M>>,
) -> Result<(), RunError> {
    if engine.moves_sessions() {
        movable.expect("it was checked when the engine was made");
        // SAFETY: sessions move only inside accesses and at the begin and the end of attempts. `engine::data_oriented` says what
        // the engine's frames hold then, and the workload promises the same of its procedures. The frames of the loop that
        // runs them hold counts, inputs and references to shared values (`crate::drive`).
        let moving = |count| unsafe {
            match owners_are_threads {
                true => Sharing::moving_threads(count),
                false => Sharing::moving_fibers(count),
            }
        };
        let all = engine.executors();
        let Some(executors) = all.first().map(Mailboxes::servers) else {
            return machine.run_fibers(moving(sharing.count()), workers, services);
        };
        let sessions = all.iter().take(workers.len());
        let _open: Vec<Open<'_, M>> = sessions.map(|mailboxes| Open::new(mailboxes, 1)).collect();
        let bodies = helped(all, executors, workers);
        return machine.run_fibers(moving(sharing.count() * (1 + executors)), bodies, services);
    }
    let Some(mailboxes) = engine.mailboxes() else {
        return machine.run_fibers(sharing, workers, services);
    };
    let fibers = sharing.count();
    let cores = workers.len().div_ceil(fibers) + dedicated.unwrap_or(0);
    let seating = Seating { fibers, cores, dedicated };
    assert!(mailboxes.servers() <= seating.most_owners(), "each server has a core");
    let _open = Open::new(mailboxes, workers.len());
    let bodies = seated(seating, mailboxes, workers);
    machine.run_fibers(Sharing::fibers(bodies.len() / cores), bodies, services)
}

/// Returns the bodies of workers, each followed by those of its `count` executors. Workers that are no sessions have none, and the
/// places are left empty.
fn helped<'a, M: Machine>(
    executors: &'a [Mailboxes<M>],
    count: usize,
    workers: Vec<Body<'a, M>>,
) -> Vec<Body<'a, M>> {
    let mut bodies: Vec<Body<'a, M>> = Vec::with_capacity(workers.len() * (1 + count));
    for (number, worker) in workers.into_iter().enumerate() {
        let own = executors.get(number);
        bodies.push(match own {
            Some(own) => client(own, worker),
            None => worker,
        });
        for executor in 0..count {
            bodies.push(match own {
                Some(own) => Box::new(move |core| own.serve(core, executor)),
                None => Box::new(|_| ()),
            });
        }
    }
    bodies
}

/// Mailboxes that are open until the value is dropped.
struct Open<'m, M: Machine>(&'m Mailboxes<M>);

impl<'m, M: Machine> Open<'m, M> {
    fn new(mailboxes: &'m Mailboxes<M>, clients: usize) -> Self {
        mailboxes.open(clients);
        Open(mailboxes)
    }
}

impl<M: Machine> Drop for Open<'_, M> {
    fn drop(&mut self) {
        self.0.close();
    }
}

/// Returns the bodies of all cores, the same number for each. Places that are left do nothing.
fn seated<'a, M: Machine>(
    seating: Seating,
    mailboxes: &'a Mailboxes<M>,
    workers: Vec<Body<'a, M>>,
) -> Vec<Body<'a, M>> {
    let Seating { fibers, cores, dedicated } = seating;
    let of_each = if dedicated.is_some() { fibers } else { fibers + 1 };
    let mut workers = workers.into_iter().map(|worker| client(mailboxes, worker));
    let mut servers = (0..mailboxes.servers())
        .map(|number| -> Body<'a, M> { Box::new(move |core| mailboxes.serve(core, number)) });
    let mut bodies: Vec<Body<'a, M>> = Vec::with_capacity(cores * of_each);
    for core in 0..cores {
        if !seating.only_serves(core) {
            bodies.extend(workers.by_ref().take(fibers));
        }
        if dedicated.is_none() || seating.only_serves(core) {
            bodies.extend(servers.next());
        }
        bodies.resize_with((core + 1) * of_each, || Box::new(|_| ()));
    }
    bodies
}

/// Returns the body of a worker that says when it has ended, after a panic too.
fn client<'a, M: Machine>(mailboxes: &'a Mailboxes<M>, worker: Body<'a, M>) -> Body<'a, M> {
    Box::new(move |core| {
        // A modelled machine ends the whole run after a panic.
        if M::MODELLED {
            worker(core);
            return mailboxes.end(core);
        }
        let ended = catch_unwind(AssertUnwindSafe(|| worker(core)));
        mailboxes.end(core);
        if let Err(panic) = ended {
            resume_unwind(panic);
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn serving(seating: Seating) -> Vec<usize> {
        (0..seating.dedicated.unwrap_or(seating.cores)).map(|s| seating.core_of_server(s)).collect()
    }

    #[test]
    fn dedicated_servers_are_spread_over_the_cores() {
        let of = |cores, servers| Seating { fibers: 1, cores, dedicated: Some(servers) };
        assert_eq!(serving(of(6, 2)), [2, 5]);
        assert_eq!(serving(of(4, 3)), [1, 2, 3]);
        assert_eq!(serving(of(5, 4)), [1, 2, 3, 4]);
        assert_eq!((of(6, 2).workers(), of(6, 2).most_owners()), (4, 2));
    }

    #[test]
    fn other_servers_sit_beside_workers() {
        let seating = Seating { fibers: 2, cores: 3, dedicated: None };
        assert_eq!(serving(seating), [0, 1, 2]);
        assert_eq!((seating.workers(), seating.most_owners()), (6, 3));
    }
}
