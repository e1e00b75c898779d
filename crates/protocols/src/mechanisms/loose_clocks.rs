//! Timestamps from loosely synchronized clocks, one for each session.
//!
//! Source: Lim, Kaminsky and Andersen, SIGMOD 2017 (multi-clock timestamps).
//!
//! Each session has a clock, which advances by the time that passes between two of its timestamps. A timestamp is the
//! clock joined with the session's number:
//!
//! ```text
//! | clock (and boost) | session number |
//! ```
//!
//! So timestamps are unique, and no session writes a cache line that another session writes.
//!
//! - From time to time a session looks at the clock of another, each in turn, and takes its value if it is ahead
//!   (one-sided synchronization). So clocks only go forward.
//! - After an abort the next timestamp is boosted, so that it comes after the transaction against which this one lost.
//!
//! The order of timestamps is not that of real time: a transaction that begins after another has ended can get the
//! earlier timestamp.

use machine::{Arena, Category, Core, Machine, OutOfMemory, Shared, Word, Zeroed, cold::Arc};

#[repr(C, align(64))]
struct Cell<M: Machine> {
    /// Cache line of these words.
    line: M::Line,
    /// The session's clock, as others see it.
    clock: Word,
    /// Clock of the session's last timestamp, which can be boosted.
    drawn: Word,
}

// SAFETY: `Cell` consists of a line and words, and all are valid as zeros.
unsafe impl<M: Machine> Zeroed for Cell<M> {}

/// A look at another clock is due after a second divided by this. The value is our choice.
const LOOKS_PER_SECOND: u64 = 10_000;
/// The boost after an abort is a second divided by this. The value is our choice.
const BOOSTS_PER_SECOND: u64 = 1_000_000;

/// Clocks of all sessions, as they show them.
pub struct LooseClocks<M: Machine> {
    /// By session number. Only the session itself writes its words.
    sessions: Vec<Shared<Cell<M>>>,
    /// Number of low bits of a timestamp that hold the session's number.
    session_bits: u32,
}

/// Clock of one session.
#[derive(Clone, Copy, Debug)]
pub struct LooseClock {
    /// Number of the session.
    session: usize,
    /// The clock, in ticks. Only goes forward.
    clock: u64,
    /// Time when the clock was last advanced, and time when another clock was last looked at. None before the first
    /// timestamp.
    moved: Option<(u64, u64)>,
    /// Number of the session whose clock was looked at last; the next look is at the one after it.
    peer: usize,
    /// Added to the clock for the next timestamp, in ticks; 0 unless the last transaction aborted.
    boost: u64,
    /// Clock of the last timestamp. Each timestamp has a larger one.
    drawn: u64,
}

impl LooseClock {
    /// Creates the clock of session number `session`. It is not started.
    pub fn new(session: usize) -> LooseClock {
        LooseClock { session, clock: 0, moved: None, peer: session, boost: 0, drawn: 0 }
    }

    /// Ends the boost, because the transaction has committed.
    pub fn committed(&mut self) {
        self.boost = 0;
    }

    /// Boosts the next timestamp, because the transaction has aborted.
    pub fn aborted<C: Core>(&mut self, core: &C) {
        self.boost = (core.ticks_per_second() / BOOSTS_PER_SECOND).max(1);
    }
}

impl<M: Machine> LooseClocks<M> {
    /// Creates clocks that are not started, for `sessions` sessions. Timestamps last for 2^64 / 2^`session_bits` ticks.
    pub fn new(arena: &Arc<Arena>, sessions: usize) -> Result<LooseClocks<M>, OutOfMemory> {
        let session_bits = usize::BITS - sessions.leading_zeros();
        let own = |session| arena.place(arena.beside(session));
        let sessions = (0..sessions).map(own).collect::<Result<_, _>>()?;
        Ok(LooseClocks { sessions, session_bits })
    }

    /// Draws a unique timestamp. It is larger than 0, and larger than all timestamps that this session drew before.
    #[inline]
    pub fn draw(&self, core: &M::Core, own: &mut LooseClock) -> u64 {
        let before = core.account(Category::TimestampAllocation);
        let now = core.now();
        let (moved, mut looked) = own.moved.unwrap_or_else(|| {
            // A session that joins begins behind all timestamps shown. Above all it begins behind those of the last
            // session that had its number.
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

    /// Makes the next timestamp later than `timestamp`.
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
