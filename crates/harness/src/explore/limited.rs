//! The limit on the number of transactions that run at the same time ([`engine::admission`]), as a schedule draws it.

use super::{Exploration, Violation};
use crate::{back_off::BackOff, drive::next_random};
use engine::admission::{AdmissionPolicy, Limits};
use machine::{Explored, ExploredCore, Machine, OutOfMemory, Service, cold::Mutex};

/// Numbers of transactions that hold a permit.
#[derive(Default)]
pub(super) struct Admitted {
    now: usize,
    most: usize,
}

impl Admitted {
    pub fn enter(&mut self) {
        self.now += 1;
        self.most = self.most.max(self.now);
    }

    pub fn leave(&mut self) {
        self.now -= 1;
    }

    /// Fails if more transactions have held permits at the same time than the largest limit, if there is one.
    pub fn within(self, limit: Option<usize>) -> Result<(), Violation> {
        match limit {
            Some(limit) if self.most > limit => {
                Err(Violation::Overadmitted { admitted: self.most, limit })
            }
            _ => Ok(()),
        }
    }
}

/// How a schedule limits the number of transactions, and when its workers attempt an aborted transaction again.
#[derive(Clone, Copy, Debug)]
pub(super) struct Limiting {
    policy: AdmissionPolicy,
    /// Set if the limit changes at random while transactions run.
    changes: bool,
    pub back_off: BackOff,
    seed: u64,
    workers: usize,
}

impl Limiting {
    /// Draws the limit of the schedule of `seed`, unless `asked` decides. Of seven blocks of 128 schedules the second one
    /// has a limit. A limit keeps transactions apart, so it hides other bugs. In half of those with a limit workers put
    /// transactions aside, if the exploration allows it.
    pub fn drawn(seed: u64, exploration: &Exploration) -> Limiting {
        let Exploration { workers, admission: asked, puts_aside, .. } = *exploration;
        let limited = asked.is_none() && seed / 128 % 7 == 1;
        let bits = next_random(&mut seed.clone());
        let limit = 1 + (bits >> 32) as usize % workers.max(1);
        let (policy, changes) = match bits % 4 {
            _ if !limited => (asked.unwrap_or_default(), false),
            0 | 1 => (AdmissionPolicy::Fixed(limit), false),
            2 => (AdmissionPolicy::Fixed(limit), true),
            _ => (AdmissionPolicy::ADAPTIVE, false),
        };
        let back_off = match puts_aside && limited && bits & 4 == 0 {
            true => BackOff::Aside { most: 2, bound_ns: 500 },
            false => BackOff::Wait { first_ns: 50, cap_ns: 2000 },
        };
        Limiting { policy, changes, back_off, seed, workers }
    }

    /// Creates the permits, if there is a limit.
    pub fn limits(&self, machine: &Explored) -> Result<Option<Limits<Explored>>, OutOfMemory> {
        Limits::new(machine.arena(), self.workers, self.policy)
    }

    /// Returns the service that changes the limit, if it changes.
    pub fn service<'a>(
        &self,
        limits: &'a Limits<Explored>,
        hz: u64,
    ) -> Option<Service<'a, Explored>> {
        if !self.changes {
            return limits.service(hz);
        }
        // Where the limit never is the number of workers, more transactions than the largest limit can be seen.
        let most = 1 + next_random(&mut !self.seed) as usize % self.workers;
        let random = Mutex::new(!self.seed);
        let tick = Box::new(move |core: &ExploredCore| {
            let bits = next_random(&mut random.lock());
            limits.permits().set_limit(core, 1 + bits as usize % most);
        });
        Some(Service { name: "limits", interval_ticks: 1, tick })
    }
}
