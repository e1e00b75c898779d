//! How long transactions back off at most, set by what it does to throughput.
//!
//! Source: Lim, Kaminsky and Andersen, SIGMOD 2017 (contention regulation), with the numbers of the authors' code. All sessions
//! back off for a random time below one bound. At an interval somebody measures how many have committed since and climbs:
//! if throughput has risen with the bound, or fallen against it, the bound rises by a step, and falls if not;
//! where it has not changed, or throughput has not, the way is drawn. So the bound comes close to what is best for what runs, and follows it.
//! Deviations: theirs has one leader, who does it for as long as its thread lasts; here it is whoever ends a transaction
//! first when the interval is over. Their interval is 5 ms; ours is an option, as simulated runs may be shorter.

use machine::{Arena, Core, Machine, OutOfMemory, Place, Shared, Word, Zeroed, cold::Arc};

/// The bound rises and falls by a second divided by this for each interval: 0.5 µs.
const STEPS_PER_SECOND: u64 = 2_000_000;
/// The bound is at most a second divided by this: 1 ms.
const MOST_PER_SECOND: u64 = 1_000;

/// What all sessions share.
#[repr(C, align(64))]
struct Board<M: Machine> {
    line: M::Line,
    /// The bound, in ticks.
    bound: Word,
    /// When it is set the next time. Whoever moves it on sets the bound.
    due: Word,
    /// For who sets it: the bound before, when it was last set, commits until then, and in the interval before that commits
    /// and ticks.
    before: Word,
    set_at: Word,
    commits: Word,
    last_commits: Word,
    last_ticks: Word,
}

// SAFETY: a line and words.
unsafe impl<M: Machine> Zeroed for Board<M> {}

/// What one session shows.
#[repr(C, align(64))]
struct Count<M: Machine> {
    line: M::Line,
    commits: Word,
}

// SAFETY: a line and a word.
unsafe impl<M: Machine> Zeroed for Count<M> {}

/// The regulation of a database.
pub struct Regulation<M: Machine> {
    board: Shared<Board<M>>,
    counts: Vec<Shared<Count<M>>>,
    interval_ns: u64,
}

/// What has changed from one interval to the next.
#[derive(Clone, Copy)]
struct Change {
    /// The bound now, and in the interval before.
    bound: u64,
    before: u64,
    /// Commits and ticks of this interval, and of the one before.
    commits: u64,
    ticks: u64,
    last_commits: u64,
    last_ticks: u64,
}

impl Change {
    /// The next bound, a step up or down; `coin` says which where nothing else does.
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
    /// For `sessions` sessions; the bound is set every `interval_ns` nanoseconds, and begins as 0.
    pub fn new(
        arena: &Arc<Arena>,
        sessions: usize,
        interval_ns: u64,
    ) -> Result<Regulation<M>, OutOfMemory> {
        let counts = (0..sessions).map(|slot| arena.place(arena.beside(slot)));
        let counts = counts.collect::<Result<_, _>>()?;
        Ok(Regulation { board: arena.place(Place::Any)?, counts, interval_ns })
    }

    /// The longest back-off, in ticks.
    pub fn bound(&self, core: &M::Core) -> u64 {
        core.load_relaxed(&self.board.line, &self.board.bound)
    }

    /// Session `session` has committed so many transactions in all.
    pub fn committed(&self, core: &M::Core, session: usize, commits: u64) {
        let count = &self.counts[session];
        // A count that is read late counts in the next interval.
        core.store_relaxed(&count.line, &count.commits, commits);
    }

    /// A transaction has ended: sets the bound if it is time.
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
        // Nobody else comes here until an interval has passed; if it does then, this one was very slow, and a bound
        // that is a step off does no harm.
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
        // The first time nothing is known of how long it has been.
        if due != 0 {
            let second = core.ticks_per_second();
            let step = (second / STEPS_PER_SECOND).max(1);
            // Who sets it late makes a longer step.
            let step = u128::from(step) * u128::from(ticks) / u128::from(interval);
            let most = (second / MOST_PER_SECOND).max(1);
            // The clock's last bit alone may be the same for ever where time is modelled.
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
        // A schedule of the explorer is over in microseconds of its clock, and would never see the bound move.
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
        // Less than before: back. So too when it was the fall that helped.
        assert_eq!(Change { commits: 80, ..change }.next_bound(2, 100, true), 8);
        assert_eq!(Change { before: 12, ..change }.next_bound(2, 100, true), 8);
        assert_eq!(Change { before: 12, commits: 80, ..change }.next_bound(2, 100, false), 12);
        // The same rate over another time: nothing is known.
        let same = Change { commits: 180, ticks: 100, ..change };
        assert_eq!((same.next_bound(2, 100, true), same.next_bound(2, 100, false)), (12, 8));
        assert_eq!(change.next_bound(200, 100, false), 100);
        assert_eq!(Change { commits: 80, ..change }.next_bound(200, 100, false), 0);
    }

    /// Throughput is best at a bound of `best` ticks; the mean bound of the second half of a long run.
    fn settles_at(best: u64) -> u64 {
        let machine = Explored::new(ExploredOptions { step_limit: u64::MAX, ..Default::default() });
        let machine = machine.unwrap();
        // Miniature: an interval of 100,000 ticks.
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
