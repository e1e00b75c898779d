//! Timestamps from clocks of the sessions' own, which are kept together loosely.
//!
//! Source: Lim, Kaminsky and Andersen, SIGMOD 2017 (multi-clock timestamps). Each session has a clock that goes on by the time that
//! passes between two of its timestamps; a timestamp is the clock joined with the session's number. So nobody writes a
//! line that others write too. From time to time a session looks at the clock of another, each in turn, and takes
//! it if it is ahead (one-sided synchronization): clocks only ever go forward. After an abort the next timestamp is
//! boosted, so that it comes after what the transaction has lost against.
//! A transaction that begins later than another has ended may get the earlier timestamp: no order of real time.

use machine::{Arena, Category, Core, Machine, OutOfMemory, Shared, Word, Zeroed, cold::Arc};

#[repr(C, align(64))]
struct Cell<M: Machine> {
    line: M::Line,
    clock: Word,
    /// The clock of the last timestamp, which may have been boosted.
    drawn: Word,
}

// SAFETY: a line and words, all valid as zeros.
unsafe impl<M: Machine> Zeroed for Cell<M> {}

/// A look at another clock is due after a second divided by this: our choice.
const LOOKS_PER_SECOND: u64 = 10_000;
/// The boost after an abort is a second divided by this: our choice.
const BOOSTS_PER_SECOND: u64 = 1_000_000;

/// The clocks of all sessions, as they show them.
pub struct LooseClocks<M: Machine> {
    sessions: Vec<Shared<Cell<M>>>,
    /// Low bits of a timestamp that hold the session's number.
    session_bits: u32,
}

/// One session's clock.
#[derive(Clone, Copy, Debug)]
pub struct LooseClock {
    session: usize,
    clock: u64,
    /// When the clock was last moved on, and when another was last looked at; none before the first timestamp.
    moved: Option<(u64, u64)>,
    /// The session whose clock is looked at next.
    peer: usize,
    boost: u64,
    /// The clock of the last timestamp.
    drawn: u64,
}

impl LooseClock {
    /// The clock of session number `session`, not started.
    pub fn new(session: usize) -> LooseClock {
        LooseClock { session, clock: 0, moved: None, peer: session, boost: 0, drawn: 0 }
    }

    /// The transaction has committed.
    pub fn committed(&mut self) {
        self.boost = 0;
    }

    /// The transaction has aborted: the next timestamp is boosted.
    pub fn aborted<C: Core>(&mut self, core: &C) {
        self.boost = (core.ticks_per_second() / BOOSTS_PER_SECOND).max(1);
    }
}

impl<M: Machine> LooseClocks<M> {
    /// Clocks that nobody has started, for `sessions` sessions. Timestamps last for 2^64 / 2^bits of that number ticks.
    pub fn new(arena: &Arc<Arena>, sessions: usize) -> Result<LooseClocks<M>, OutOfMemory> {
        let session_bits = usize::BITS - sessions.leading_zeros();
        let own = |slot| arena.place(arena.beside(slot));
        let sessions = (0..sessions).map(own).collect::<Result<_, _>>()?;
        Ok(LooseClocks { sessions, session_bits })
    }

    /// A timestamp that nobody else gets, larger than all that this session got before, and than 0.
    #[inline]
    pub fn draw(&self, core: &M::Core, own: &mut LooseClock) -> u64 {
        let before = core.account(Category::TimestampAllocation);
        let now = core.now();
        let (moved, mut looked) = own.moved.unwrap_or_else(|| {
            // Who joins begins behind all timestamps, those of its number's last bearer above all.
            let drawn = self.sessions.iter().map(|cell| core.load(&cell.line, &cell.drawn));
            own.clock = drawn.fold(own.clock, u64::max);
            (now, now)
        });
        own.clock += now.saturating_sub(moved).max(1);
        if now.saturating_sub(looked) >= core.ticks_per_second() / LOOKS_PER_SECOND {
            own.peer = (own.peer + 1) % self.sessions.len();
            let peer = &self.sessions[own.peer];
            own.clock = own.clock.max(core.load(&peer.line, &peer.clock));
            looked = now;
        }
        own.moved = Some((now, looked));
        own.drawn = (own.clock + own.boost).max(own.drawn + 1);
        let cell = &self.sessions[own.session];
        core.store(&cell.line, &cell.clock, own.clock);
        core.store(&cell.line, &cell.drawn, own.drawn);
        core.account(before);
        (own.drawn << self.session_bits) | own.session as u64
    }

    /// The next timestamp shall be later than `timestamp`.
    pub fn catch_up(&self, own: &mut LooseClock, timestamp: u64) {
        own.clock = own.clock.max(timestamp >> self.session_bits);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use machine::{Native, NativeOptions};

    #[test]
    fn timestamps_are_unique_and_grow_and_boosts_pass() {
        let machine = Native::new(NativeOptions::default()).unwrap();
        let core = machine.core(0);
        let clocks = LooseClocks::<Native>::new(machine.arena(), 3).unwrap();
        let (mut first, mut second) = (LooseClock::new(0), LooseClock::new(2));
        let mut all: Vec<u64> = (0..100)
            .flat_map(|_| [clocks.draw(&core, &mut first), clocks.draw(&core, &mut second)])
            .collect();
        for session in [0, 2] {
            let own = all.iter().filter(|timestamp| *timestamp & 3 == session);
            assert!(own.is_sorted_by(|a, b| a < b));
        }
        all.sort_unstable();
        all.dedup();
        assert!(all.len() == 200 && all[0] > 0);
        first.aborted(&core);
        let boost = first.boost;
        let boosted = clocks.draw(&core, &mut first) >> 2;
        assert_eq!(boosted, first.clock + boost);
        let mut heir = LooseClock::new(0);
        assert!(
            clocks.draw(&core, &mut heir) >> 2 > boosted,
            "a number's next bearer goes on from there"
        );
        first.committed();
        assert!(clocks.draw(&core, &mut first) >> 2 > boosted, "never back");
    }

    #[test]
    fn clocks_come_forward_to_those_ahead() {
        let machine = Native::new(NativeOptions::default()).unwrap();
        let core = machine.core(0);
        let clocks = LooseClocks::<Native>::new(machine.arena(), 2).unwrap();
        let (mut ahead, mut behind) = (LooseClock::new(0), LooseClock::new(1));
        let frontier = (1 << 50) | 1;
        clocks.catch_up(&mut ahead, frontier);
        assert!(clocks.draw(&core, &mut ahead) > frontier);
        assert!(clocks.draw(&core, &mut behind) > frontier, "joins behind all");
        clocks.catch_up(&mut ahead, 2 * frontier);
        let far = clocks.draw(&core, &mut ahead);
        let tick = core.ticks_per_second() / LOOKS_PER_SECOND;
        behind.moved = behind.moved.map(|(moved, looked)| (moved, looked.saturating_sub(2 * tick)));
        behind.peer = 1;
        assert!(clocks.draw(&core, &mut behind) >> 2 >= far >> 2, "looks at session 0");
    }
}
