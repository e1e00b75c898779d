//! The service that regulates the limit.

use super::{AdmissionPolicy, Permits, Regulator, Sample};
use machine::{
    Arena, Core, Machine, OutOfMemory, Service,
    cold::{Arc, Mutex},
};

/// Nanoseconds between two looks at the rate of commits, natively and where time is modelled.
const NATIVE_INTERVAL_NS: u64 = 10_000_000;
const MODELLED_INTERVAL_NS: u64 = 100_000;

/// The permits of a run, and the rule that sets their number.
pub struct Limits<M: Machine> {
    permits: Permits<M>,
    /// None if the limit is fixed. Only the service uses it.
    regulator: Option<Mutex<Regulation>>,
    interval_ns: u64,
}

/// A regulator and what it was told last.
struct Regulation {
    regulator: Regulator,
    /// Time and commits of all sessions at the last look.
    last: Option<(u64, u64)>,
}

impl<M: Machine> Limits<M> {
    /// Creates the permits of `sessions` sessions under `policy`. Returns none if there is no limit.
    pub fn new(
        arena: &Arc<Arena>,
        sessions: usize,
        policy: AdmissionPolicy,
    ) -> Result<Option<Limits<M>>, OutOfMemory> {
        let (fixed, interval_ns) = match policy {
            AdmissionPolicy::Off => return Ok(None),
            AdmissionPolicy::Fixed(limit) => (Some(limit), None),
            AdmissionPolicy::Adaptive { interval_ns } => (None, interval_ns),
        };
        let first = fixed.unwrap_or_else(|| Regulator::first_limit(sessions));
        let permits = Permits::new(arena, sessions, first)?;
        let usual = if M::MODELLED { MODELLED_INTERVAL_NS } else { NATIVE_INTERVAL_NS };
        let regulator = fixed.is_none().then(|| {
            let regulator = Regulator::new(1, permits.limit(), sessions, M::MINIATURE);
            Mutex::new(Regulation { regulator, last: None })
        });
        Ok(Some(Limits { permits, regulator, interval_ns: interval_ns.unwrap_or(usual) }))
    }

    /// Returns the permits.
    pub fn permits(&self) -> &Permits<M> {
        &self.permits
    }

    /// Returns the service that regulates the limit, if it is not fixed. `ticks_per_second` is the rate of the machine's
    /// clock.
    pub fn service(&self, ticks_per_second: u64) -> Option<Service<'_, M>> {
        let regulation = self.regulator.as_ref()?;
        let ticks = u128::from(self.interval_ns) * u128::from(ticks_per_second) / 1_000_000_000;
        let tick = Box::new(move |core: &M::Core| self.regulate(core, regulation));
        Some(Service { name: "admission", interval_ticks: (ticks as u64).max(1), tick })
    }

    fn regulate(&self, core: &M::Core, regulation: &Mutex<Regulation>) {
        let Regulation { regulator, last } = &mut *regulation.lock();
        let (now, commits) = (core.now(), self.permits.commits(core));
        let Some((then, before)) = last.replace((now, commits)) else { return };
        let (spare, excess, held) = match regulator.is_limited() {
            true => (self.permits.spare(core), self.permits.excess(core), self.permits.held(core)),
            // Nobody needs a permit.
            false => (0, 0, self.permits.sessions() as u64),
        };
        let sample = Sample {
            ticks: now.saturating_sub(then),
            commits: commits.saturating_sub(before),
            spare,
            excess,
            held,
        };
        if let Some(limit) = regulator.observe(sample) {
            self.permits.set_limit(core, limit);
        }
    }
}
