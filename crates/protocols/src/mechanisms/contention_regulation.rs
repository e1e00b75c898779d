//! The bound of random back-offs, regulated by its effect on throughput.
//!
//! Source: Lim, Kaminsky and Andersen, SIGMOD 2017 (contention regulation), with the numbers of the authors' code.
//!
//! All sessions back off for a random time below one bound. After each interval a session measures how many
//! transactions have committed in it, and moves the bound by a step, as a hill climber does. It compares the bound and
//! the throughput with those of the interval before:
//!
//! | bound | throughput | next step |
//! |---|---|---|
//! | rose | rose | up |
//! | rose | fell | down |
//! | fell | rose | down |
//! | fell | fell | up |
//! | did not change, or throughput did not | | up or down at random |
//!
//! So the bound comes close to the best bound for the running workload, and follows it when the workload changes.
//!
//! Deviations: the paper has one leader, for as long as its thread lasts. Here the session that is the first to end a
//! transaction after the interval sets the bound. The paper's interval is 5 ms; here it is an option, because simulated
//! runs can be shorter.

use machine::{Arena, Core, Machine, OutOfMemory, Place, Shared, Word, Zeroed, cold::Arc};

/// The bound rises or falls by a second divided by this in each interval: 0.5 µs.
const STEPS_PER_SECOND: u64 = 2_000_000;
/// The bound is at most a second divided by this: 1 ms.
const MOST_PER_SECOND: u64 = 1_000;

/// State that all sessions share. All words but `bound` and `due` are used only by the session that sets the bound.
#[repr(C, align(64))]
struct Board<M: Machine> {
    /// Cache line of these words.
    line: M::Line,
    /// The bound, in ticks.
    bound: Word,
    /// Time at which the bound is to be set next. The session that moves this word forward sets the bound.
    due: Word,
    /// The bound of the interval before, in ticks.
    before: Word,
    /// Time at which the bound was last set.
    set_at: Word,
    /// Commits of all sessions up to `set_at`.
    commits: Word,
    /// Commits in the interval before `set_at`.
    last_commits: Word,
    /// Ticks in the interval before `set_at`.
    last_ticks: Word,
}

// SAFETY: `Board` consists of a line and words, which are valid as zeros.
unsafe impl<M: Machine> Zeroed for Board<M> {}

/// Commit count that one session shows.
#[repr(C, align(64))]
struct Count<M: Machine> {
    /// Cache line of the count.
    line: M::Line,
    /// Transactions that the session has committed in all.
    commits: Word,
}

// SAFETY: `Count` consists of a line and a word, and both are valid as zeros.
unsafe impl<M: Machine> Zeroed for Count<M> {}

/// Contention regulation of a database.
pub struct Regulation<M: Machine> {
    /// The bound, and what is needed to set it.
    board: Shared<Board<M>>,
    /// Commit counts, by session number.
    counts: Vec<Shared<Count<M>>>,
    /// Nanoseconds from one setting of the bound to the next.
    interval_ns: u64,
}

/// Changes from one interval to the next.
#[derive(Clone, Copy)]
struct Change {
    /// The bound of this interval, in ticks.
    bound: u64,
    /// The bound of the interval before, in ticks.
    before: u64,
    /// Commits in this interval.
    commits: u64,
    /// Ticks of this interval.
    ticks: u64,
    /// Commits in the interval before.
    last_commits: u64,
    /// Ticks of the interval before.
    last_ticks: u64,
}

impl Change {
    /// Returns the next bound, a step up or down. `coin` decides where nothing else does.
    fn next_bound(self, step: u64, most: u64, coin: bool) -> u64 {
        let rate = u128::from(self.commits) * u128::from(self.last_ticks);
        let last = u128::from(self.last_commits) * u128::from(self.ticks);
        let rises = match (self.bound.cmp(&self.before), rate.cmp(&last)) {
            (bound, rate) if bound.is_eq() || rate.is_eq() => coin,
            (bound, rate) => bound == rate,
        };
        if rises { (self.bound + step).min(most) } else { self.bound.saturating_sub(step) }
    }
}

impl<M: Machine> Regulation<M> {
    /// Creates the regulation for `sessions` sessions. The bound is set every `interval_ns` nanoseconds, and begins as
    /// 0.
    pub fn new(
        arena: &Arc<Arena>,
        sessions: usize,
        interval_ns: u64,
    ) -> Result<Regulation<M>, OutOfMemory> {
        let counts = (0..sessions).map(|session| arena.place(arena.beside(session)));
        let counts = counts.collect::<Result<_, _>>()?;
        Ok(Regulation { board: arena.place(Place::Any)?, counts, interval_ns })
    }

    /// Returns the longest back-off, in ticks.
    pub fn bound(&self, core: &M::Core) -> u64 {
        core.load_relaxed(&self.board.line, &self.board.bound)
    }

    /// Shows that session `session` has committed `commits` transactions in all.
    pub fn committed(&self, core: &M::Core, session: usize, commits: u64) {
        let count = &self.counts[session];
        // A count that becomes visible late counts in the next interval.
        core.store_relaxed(&count.line, &count.commits, commits);
    }

    /// Sets the bound if it is time. Called when a transaction has ended.
    pub fn regulate(&self, core: &M::Core) {
        let (line, board) = (&self.board.line, &*self.board);
        let now = core.now();
        let due = core.load_relaxed(line, &board.due);
        if now < due {
            return;
        }
        let interval = self.interval_ticks(core);
        if core.cas(line, &board.due, due, now + interval).is_err() {
            return;
        }
        // No other session comes here until an interval has passed. If one comes then, this session was very slow, and
        // the bound is off by a step, which does no harm.
        let counted =
            self.counts.iter().map(|count| core.load_relaxed(&count.line, &count.commits));
        let commits: u64 = counted.sum();
        let set_at = core.load_relaxed(line, &board.set_at);
        let ticks = now.saturating_sub(set_at);
        let bound = core.load_relaxed(line, &board.bound);
        let change = Change {
            bound,
            before: core.load_relaxed(line, &board.before),
            commits: commits.saturating_sub(core.load_relaxed(line, &board.commits)),
            ticks,
            last_commits: core.load_relaxed(line, &board.last_commits),
            last_ticks: core.load_relaxed(line, &board.last_ticks),
        };
        // At the first setting the length of the interval is not known.
        if due != 0 {
            let second = core.ticks_per_second();
            let step = (second / STEPS_PER_SECOND).max(1);
            // A session that sets the bound late makes a proportionally longer step.
            let step = u128::from(step) * u128::from(ticks) / u128::from(interval);
            let most = (second / MOST_PER_SECOND).max(1);
            // Where time is modelled, the clock's last bit alone can be the same for ever. So all bits are mixed.
            let coin = now.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 63 == 1;
            let next = change.next_bound(step.min(u128::from(most)) as u64, most, coin);
            core.store_relaxed(line, &board.bound, next);
            core.store_relaxed(line, &board.last_commits, change.commits);
            core.store_relaxed(line, &board.last_ticks, ticks);
        }
        core.store_relaxed(line, &board.before, bound);
        core.store_relaxed(line, &board.set_at, now);
        core.store_relaxed(line, &board.commits, commits);
    }

    fn interval_ticks(&self, core: &M::Core) -> u64 {
        // A schedule of the explorer ends after microseconds of its clock, and would never see the bound move.
        let interval_ns = if M::MINIATURE { self.interval_ns / 10_000 } else { self.interval_ns };
        let ticks = u128::from(interval_ns) * u128::from(core.ticks_per_second()) / 1_000_000_000;
        (ticks as u64).max(1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use machine::{Explored, ExploredOptions};

    #[test]
    fn it_climbs_towards_more_commits() {
        let change = Change {
            bound: 10,
            before: 8,
            commits: 100,
            ticks: 50,
            last_commits: 90,
            last_ticks: 50,
        };
        assert_eq!(change.next_bound(2, 100, false), 12);
        // Throughput is lower than before: the bound goes back. So too if it was the fall that helped.
        assert_eq!(Change { commits: 80, ..change }.next_bound(2, 100, true), 8);
        assert_eq!(Change { before: 12, ..change }.next_bound(2, 100, true), 8);
        assert_eq!(Change { before: 12, commits: 80, ..change }.next_bound(2, 100, false), 12);
        // The rate is the same over another time: nothing is known.
        let same = Change { commits: 180, ticks: 100, ..change };
        assert_eq!((same.next_bound(2, 100, true), same.next_bound(2, 100, false)), (12, 8));
        assert_eq!(change.next_bound(200, 100, false), 100);
        assert_eq!(Change { commits: 80, ..change }.next_bound(200, 100, false), 0);
    }

    /// Runs with a throughput that is best at a bound of `best` ticks. Returns the mean bound of the second half of a
    /// long run.
    fn settles_at(best: u64) -> u64 {
        let machine = Explored::new(ExploredOptions { step_limit: u64::MAX, ..Default::default() });
        let machine = machine.unwrap();
        // The machine is a miniature: this gives an interval of 100,000 ticks.
        let interval_ns = 1_000_000_000;
        let regulation = Regulation::<Explored>::new(machine.arena(), 1, interval_ns).unwrap();
        let bounds = machine::cold::Mutex::new(Vec::new());
        let body: machine::Body<'_, Explored> = Box::new(|core| {
            let mut commits = 0;
            for _ in 0..3000 {
                core.pause(100_000);
                let bound = regulation.bound(core);
                commits += 100_000 - bound.abs_diff(best);
                regulation.committed(core, 0, commits);
                regulation.regulate(core);
                bounds.lock().push(bound);
            }
        });
        machine.run(vec![body], vec![]).unwrap();
        let bounds = bounds.into_inner();
        bounds[1500..].iter().sum::<u64>() / 1500
    }

    #[test]
    fn it_settles_where_throughput_is_best() {
        for best in [0, 20_000, 60_000] {
            let mean = settles_at(best);
            assert!(mean.abs_diff(best) < 6_000, "{mean} instead of {best}");
        }
    }
}
