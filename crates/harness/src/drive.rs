//! Runs one worker's loop: draws a procedure, attempts it until it commits, and counts.

use crate::arrivals::{ArrivalTimes, idle};
use crate::aside::{Aside, Waiting};
use crate::back_off::BackOff;
use crate::measure::{Interval, WorkerReport};
use crate::timeline::Meter;
use engine::admission::{Applicant, Permit};
use engine::{Session, Start};
use machine::{Category, Core, Machine, Word};
use protocols::faults;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use txn::{Abort, AbortReason, Client, Planned};

/// Duration of a worker's loop.
#[derive(Clone, Copy, Debug)]
pub enum Length {
    /// Until the end of the interval, or a later time if the meter's timeline makes the interval longer. Commits
    /// within the interval count.
    Until(Interval),
    /// Until this many procedures have ended. Used for exploration: under contention a worker could otherwise delay
    /// the end indefinitely.
    Procedures(u64),
}

/// Receives the begin and end of each attempt, to check invariants. The watcher `()` costs nothing.
pub trait Watcher {
    /// Called when a transaction has been admitted, before its first attempt.
    fn admitted(&mut self);
    /// Called when a transaction is about to release its permit.
    fn leaves(&mut self);
    /// Called when an attempt has begun. `priority` is the transaction's age.
    fn began(&mut self, priority: Option<u64>);
    /// Called when an attempt was rolled back. `again` is set if it will be retried.
    fn aborted(&mut self, abort: Abort, again: bool);
    /// Called when the transaction has committed.
    fn committed(&mut self);
}

impl Watcher for () {
    #[inline(always)]
    fn admitted(&mut self) {}

    #[inline(always)]
    fn leaves(&mut self) {}

    #[inline(always)]
    fn began(&mut self, _: Option<u64>) {}

    #[inline(always)]
    fn aborted(&mut self, _: Abort, _: bool) {}

    #[inline(always)]
    fn committed(&mut self) {}
}

impl<W: Watcher + ?Sized> Watcher for &mut W {
    fn admitted(&mut self) {
        (**self).admitted();
    }

    fn leaves(&mut self) {
        (**self).leaves();
    }

    fn began(&mut self, priority: Option<u64>) {
        (**self).began(priority);
    }

    fn aborted(&mut self, abort: Abort, again: bool) {
        (**self).aborted(abort, again);
    }

    fn committed(&mut self) {
        (**self).committed();
    }
}

/// Parameters of a worker's loop other than its session and its client.
pub struct Loop<'a, M: Machine, W> {
    /// Back-off before another attempt.
    pub back_off: BackOff,
    /// Seed of this worker's back-off, and then its state.
    pub seed: u64,
    /// The loop ends as soon as possible when this is not zero.
    pub stop: &'a Word,
    /// Arrival times of transactions. None if each transaction begins when the last one has ended.
    pub arrivals: Option<ArrivalTimes>,
    /// Means to get a permit for each transaction.
    pub admission: Applicant<'a, M>,
    /// Receiver of the begin and end of attempts.
    pub watcher: W,
    /// Receiver of counts and latencies.
    pub meter: Meter<'a>,
}

impl<M: Machine, W> Loop<'_, M, W> {
    /// Returns true if the measured interval has ended by `now`, or the run was stopped.
    #[inline(always)]
    fn is_over(&mut self, core: &M::Core, now: u64) -> bool {
        self.stop.peek() != 0 || self.meter.is_over(core, now)
    }
}

pub(crate) fn next_random(state: &mut u64) -> u64 {
    // splitmix64 is good enough for jitter, and it is the same on every machine.
    *state = state.wrapping_add(0x9E37_79B9_7F4A_7C15);
    let mut z = *state;
    z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    z ^ (z >> 31)
}

/// Runs the loop for `length`. `S` is a concrete session if a native loop is compiled for its protocol. Otherwise it
/// is `dyn Session`.
pub fn drive<M: Machine, S: Session + ?Sized, L: Client, W: Watcher>(
    core: &M::Core,
    session: &mut S,
    client: &mut L,
    length: Length,
    mut plan: Loop<'_, M, W>,
) -> WorkerReport {
    let mut report = WorkerReport::default();
    let mut declared = Declared::to(session);
    let begun = core.now();
    if let Length::Until(interval) = length {
        plan.meter.open(interval);
    }
    let mut pace = Pace { length, begun, idle_since: begun, measuring: false, drawn: 0 };
    let mut aside = Aside::new(plan.back_off);
    loop {
        // A transaction that was put aside and is due comes before a new one.
        let mut resumed = None;
        aside.read_clock::<M>(core);
        if !aside.is_empty() {
            if pace.is_over(core, &mut plan, core.now()) {
                break;
            }
            resumed = aside.take(core, pace.has_drawn_all());
        }
        let (intended, age) = match &mut resumed {
            Some(Waiting { client: other, intended, age, .. }) => {
                std::mem::swap(client, other);
                (*intended, *age)
            }
            None => {
                client.next();
                match pace.next(core, &mut plan, &mut report) {
                    Some(intended) => (intended, None),
                    None => break,
                }
            }
        };
        let drawn = Drawn { age, ..declared.of(client, intended) };
        // The transaction waits from its intended begin on, so the time counts in its latency.
        let permit = plan.admission.enter(core);
        if permit.is_limited() && pace.is_over(core, &mut plan, core.now()) {
            plan.meter.given_up(intended, core.now(), true);
            break;
        }
        let outcome = permitted(core, session, client, drawn, &mut plan, &mut report, permit);
        if let Some(Waiting { client: other, .. }) = &mut resumed {
            std::mem::swap(client, other);
        }
        match outcome {
            Outcome::Committed(now) | Outcome::GivenUp(now) => pace.idle_since = now,
            Outcome::PutAside { now, due } => {
                let again = resumed.map(|waiting| waiting.client);
                let client = again.unwrap_or_else(|| client.clone());
                aside.put(Waiting { client, intended, age: session.priority(), due });
                pace.idle_since = now;
            }
        }
        session.maintain();
        core.switch_fiber();
    }
    report.ended_at = core.now();
    aside.drain().for_each(|intended| plan.meter.given_up(intended, report.ended_at, true));
    if let Some(arrivals) = &plan.arrivals {
        let end = plan.meter.end();
        report.waiting_at_end = arrivals.waiting(report.ended_at.min(end) - pace.begun);
    }
    plan.meter.close(core, &mut report);
    report
}

/// Decides when transactions begin and when the loop ends.
struct Pace {
    length: Length,
    begun: u64,
    /// Time at which the last transaction ended.
    idle_since: u64,
    /// Set if the warm-up is over.
    measuring: bool,
    /// Number of procedures that were drawn.
    drawn: u64,
}

impl Pace {
    /// Returns true if the run has ended by `now`, or was stopped.
    fn is_over<M: Machine, W>(&self, core: &M::Core, plan: &mut Loop<'_, M, W>, now: u64) -> bool {
        match self.length {
            Length::Procedures(_) => plan.stop.peek() != 0,
            Length::Until(_) => plan.is_over(core, now),
        }
    }

    /// Returns true if no further procedure will be drawn.
    fn has_drawn_all(&self) -> bool {
        matches!(self.length, Length::Procedures(count) if self.drawn == count)
    }

    /// Waits until the next transaction arrives. Returns its intended begin, or none at the end of the run.
    #[inline(always)]
    fn next<M: Machine, W>(
        &mut self,
        core: &M::Core,
        plan: &mut Loop<'_, M, W>,
        report: &mut WorkerReport,
    ) -> Option<u64> {
        let mut started = core.now();
        let mut intended = started;
        if let Some(arrivals) = &plan.arrivals {
            if !self.measuring && plan.meter.has_begun(core, started) {
                self.measuring = true;
                report.waiting_at_begin = arrivals.waiting(started - self.begun);
            }
            intended = self.begun + arrivals.upcoming();
            if started < intended {
                idle(core, intended.min(plan.meter.end()), plan.stop);
                started = core.now();
            }
        } else {
            plan.meter.between(started.saturating_sub(self.idle_since));
        }
        if self.has_drawn_all() || self.is_over(core, plan, started) {
            return None;
        }
        if let Some(arrivals) = &mut plan.arrivals {
            arrivals.take();
        }
        self.drawn += 1;
        Some(intended)
    }
}

/// Declarations of drawn procedures: their partitions and their planned accesses.
struct Declared {
    locks_partitions: bool,
    plans: bool,
    changes_threads: bool,
    partitions: Vec<u64>,
    plan: Vec<Planned>,
}

impl Declared {
    /// Creates the declarations that have an effect in `session`.
    fn to<S: Session + ?Sized>(session: &S) -> Declared {
        let (locks_partitions, plans) = (session.locks_partitions(), session.plans());
        let changes_threads = session.changes_threads();
        let (partitions, plan) = (Vec::new(), Vec::new());
        Declared { locks_partitions, plans, changes_threads, partitions, plan }
    }

    /// Asks `client` for the declarations of the procedure that it has drawn.
    #[inline(always)]
    fn of<L: Client>(&mut self, client: &L, intended: u64) -> Drawn<'_> {
        if self.locks_partitions {
            self.partitions.clear();
            client.partitions(&mut self.partitions);
        }
        if self.plans {
            self.plan.clear();
            client.plan(&mut self.plan);
        }
        let changes_threads = self.changes_threads;
        let (partitions, plan) = (&*self.partitions, &*self.plan);
        Drawn { partitions, plan, intended, age: None, changes_threads }
    }
}

/// A procedure that was drawn.
#[derive(Clone, Copy)]
struct Drawn<'a> {
    /// Partitions that the procedure declares, for a protocol that locks them.
    partitions: &'a [u64],
    /// Accesses that the procedure plans, for a protocol that plans them.
    plan: &'a [Planned],
    /// Intended begin of the procedure.
    intended: u64,
    /// Age of the transaction, if it was put aside.
    age: Option<u64>,
    /// Set if the procedure can end on another thread than it began.
    changes_threads: bool,
}

/// Result of a turn of a transaction.
enum Outcome {
    /// The transaction has committed at the given time.
    Committed(u64),
    /// The transaction has not committed, and will not be attempted again, since the given time.
    GivenUp(u64),
    /// The transaction was put aside.
    PutAside {
        /// Time at which it was put aside.
        now: u64,
        /// Time from which on it can be attempted again.
        due: u64,
    },
}

/// Runs the drawn procedure once. If it panics, rolls the attempt back before the panic goes on. A thread counts its panics, so
/// the attempt cannot move to other threads while the stack unwinds.
#[inline(never)]
fn run_caught<S: Session + ?Sized, L: Client>(
    client: &mut L,
    session: &mut S,
) -> Result<(), Abort> {
    match catch_unwind(AssertUnwindSafe(|| client.run(session))) {
        Ok(result) => result,
        Err(payload) => {
            session.rollback();
            resume_unwind(payload)
        }
    }
}

/// Attempts the drawn procedure with a permit, and releases it, unless a planted bug keeps it. A panic releases it too.
#[inline(always)]
fn permitted<'c, 'a: 'c, M: Machine, S: Session + ?Sized, L: Client, W: Watcher>(
    core: &'c M::Core,
    session: &mut S,
    client: &mut L,
    drawn: Drawn<'_>,
    plan: &mut Loop<'a, M, W>,
    report: &mut WorkerReport,
    mut permit: Permit<'c, M>,
) -> Outcome {
    plan.watcher.admitted();
    let outcome = transact(core, session, client, drawn, plan, report, &mut permit);
    plan.watcher.leaves();
    let keeps = match outcome {
        Outcome::Committed(_) => false,
        Outcome::GivenUp(_) => core.is_planted(faults::PERMIT_LOST),
        Outcome::PutAside { .. } => core.is_planted(faults::PERMIT_KEPT_OVER_ABORT),
    };
    match keeps {
        true => std::mem::forget(permit),
        false => drop(permit),
    }
    outcome
}

/// Gets another permit for a transaction that gave way. Returns the time if the run is over by then.
fn admitted_again<'c, 'a: 'c, M: Machine, W: Watcher>(
    core: &'c M::Core,
    plan: &mut Loop<'a, M, W>,
    permit: &mut Permit<'c, M>,
) -> Option<u64> {
    if !core.is_planted(faults::RETRIES_WITHOUT_A_PERMIT) {
        *permit = plan.admission.enter(core);
    }
    plan.watcher.admitted();
    let now = core.now();
    plan.is_over(core, now).then_some(now)
}

/// Attempts the drawn procedure until it commits, will not be retried, or is put aside.
#[inline(always)]
fn transact<'c, 'a: 'c, M: Machine, S: Session + ?Sized, L: Client, W: Watcher>(
    core: &'c M::Core,
    session: &mut S,
    client: &mut L,
    drawn: Drawn<'_>,
    plan: &mut Loop<'a, M, W>,
    report: &mut WorkerReport,
    permit: &mut Permit<'c, M>,
) -> Outcome {
    let Drawn { partitions, plan: accesses, intended, age, changes_threads } = drawn;
    let mut attempt = 0;
    loop {
        let read_only = client.read_only();
        session.begin(Start { attempt, age, read_only, partitions, plan: accesses });
        plan.watcher.began(session.priority());
        let ran = if changes_threads { run_caught(client, session) } else { client.run(session) };
        let result = match ran {
            Ok(()) => session.commit(),
            Err(abort) => {
                session.rollback();
                Err(abort)
            }
        };
        let now = core.now();
        let Err(abort) = result else {
            plan.watcher.committed();
            report.all_commits += 1;
            plan.meter.committed(core, client.kind(), intended, now);
            plan.admission.committed(core);
            return Outcome::Committed(now);
        };
        plan.meter.aborted(core, abort.reason, now);
        let over = plan.is_over(core, now);
        let retryable = abort.reason.is_retryable();
        let again = retryable && !over;
        let put_aside = again && plan.back_off.puts_aside();
        plan.watcher.aborted(abort, again && !put_aside);
        if !again {
            plan.meter.given_up(intended, now, retryable);
            return Outcome::GivenUp(now);
        }
        let bits = next_random(&mut plan.seed);
        if put_aside {
            let ticks = plan.back_off.ticks(attempt, bits, core.ticks_per_second());
            return Outcome::PutAside { now, due: now + ticks };
        }
        // Another worker can get the released permit before this worker goes on, so this one counts as gone by then.
        plan.watcher.leaves();
        if plan.admission.gives_way(permit) {
            if let Some(now) = admitted_again(core, plan, permit) {
                plan.meter.given_up(intended, now, true);
                return Outcome::GivenUp(now);
            }
        } else {
            plan.watcher.admitted();
            let ticks = match session.longest_back_off() {
                Some(bound) => ((u128::from(bits) * u128::from(bound)) >> 64) as u64,
                None => plan.back_off.ticks(attempt, bits, core.ticks_per_second()),
            };
            let before = core.account(Category::BackOff);
            core.back_off(ticks);
            core.account(before);
        }
        attempt += 1;
    }
}

/// Returns whether the procedure itself asked for the abort. Such aborts are counted separately.
pub fn is_user_abort(reason: AbortReason) -> bool {
    reason == AbortReason::User
}
