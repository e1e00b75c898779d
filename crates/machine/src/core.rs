//! The traits: a machine hands out cores, a core touches shared memory.

use crate::{Arena, Breakdown, Category, Word, Zeroed, cold::Arc};
use std::fmt;

/// What a machine keeps per modelled cache line: nothing natively. All zeros is a line that nobody has
/// touched. Place it beside the words that it covers.
pub trait Line: Zeroed + Send + Sync + 'static {}
impl Line for () {}

/// A deadline that never comes.
pub const NEVER: u64 = u64::MAX;

/// The deadline of a wait had passed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TimedOut;

/// A known bug by its name: the code that runs on a machine has points at which one can be switched on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fault(pub &'static str);

/// One core: the only way to touch shared memory, to wait and to read the clock during a run.
///
/// Passed explicitly, never found in a thread-local. `line` is the line that `word` lies on. Natively
/// loads acquire, stores release and read-modify-writes do both, unless the name says otherwise;
/// the modelled machines are sequentially consistent.
pub trait Core {
    /// What the machine keeps per line.
    type Line: Line;

    /// Number of this core among those of the run, workers first, then services.
    fn id(&self) -> usize;

    /// Reads `word`; later operations stay after it.
    fn load(&self, line: &Self::Line, word: &Word) -> u64;

    /// Reads `word` without ordering anything.
    fn load_relaxed(&self, line: &Self::Line, word: &Word) -> u64;

    /// Reads a word that does not change while anybody can reach it.
    fn load_const(&self, line: &Self::Line, word: &Word) -> u64;

    /// Writes `word`; earlier operations stay before it.
    fn store(&self, line: &Self::Line, word: &Word, value: u64);

    /// Writes `word` without ordering anything.
    fn store_relaxed(&self, line: &Self::Line, word: &Word, value: u64);

    /// Replaces `expected` by `desired`; fails with what is there instead. A failure takes the line
    /// as a success does, so test before you try.
    fn cas(&self, line: &Self::Line, word: &Word, expected: u64, desired: u64) -> Result<u64, u64>;

    /// Replaces the value and returns the old one.
    fn swap(&self, line: &Self::Line, word: &Word, value: u64) -> u64;

    /// Adds, wrapping, and returns the old value.
    fn fetch_add(&self, line: &Self::Line, word: &Word, value: u64) -> u64;

    /// Earlier loads, relaxed ones too, stay before later operations.
    fn fence_acquire(&self);

    /// Full fence: earlier stores are visible before later loads.
    fn fence(&self);

    /// Waits while `condition` holds of the word; returns the first value of which it does not hold.
    /// All waiting for another core goes through here, and who ends a wait says so ([`Core::wake`]). Charged to [`Category::Wait`].
    fn wait_while(
        &self,
        line: &Self::Line,
        word: &Word,
        condition: impl FnMut(u64) -> bool,
    ) -> u64 {
        match self.wait_while_until(line, word, NEVER, condition) {
            Ok(value) => value,
            Err(TimedOut) => unreachable!("the deadline NEVER has passed"),
        }
    }

    /// As [`Core::wait_while`], for a word that the caller is then going to take (by a compare-and-swap, and to wait
    /// here again if that fails). Of those who wait to take a word one at a time is woken, which all others
    /// rely on: whoever takes the word calls [`Core::wake`] when it gives it back.
    fn wait_to_take(
        &self,
        line: &Self::Line,
        word: &Word,
        condition: impl FnMut(u64) -> bool,
    ) -> u64 {
        self.wait_while(line, word, condition)
    }

    /// Wakes who waits for `word`. To be called by whoever has changed a word for which somebody may wait, after the
    /// change and before it waits or backs off itself; changes that can end no wait need no call. Natively, waiting
    /// threads sleep; the call costs a comparison while none does. The modelled machines see
    /// each change by themselves: there it is free, and [`Explored`](crate::Explored) panics when a wait has
    /// ended and whoever ended it woke nobody.
    #[inline(always)]
    fn wake(&self, line: &Self::Line, word: &Word) {
        let _ = (line, word);
    }

    /// As [`Core::wake`], of several words with their lines: one comparison for all.
    #[inline(always)]
    fn wake_each<'a>(&self, words: impl Iterator<Item = (&'a Self::Line, &'a Word)>) {
        words.for_each(|(line, word)| self.wake(line, word));
    }

    /// As [`Core::wait_while`], until the clock shows `deadline` at the latest.
    fn wait_while_until(
        &self,
        line: &Self::Line,
        word: &Word,
        deadline: u64,
        condition: impl FnMut(u64) -> bool,
    ) -> Result<u64, TimedOut>;

    /// Copies bytes of a record's body out, word by word with relaxed loads: sound while another core
    /// writes them, and meaningless then, so the caller validates before it believes them.
    /// `offset` is where `words` start in the body, in bytes; `into.len()` says how many bytes.
    fn copy_out(&self, line: &Self::Line, offset: usize, words: &[Word], into: &mut [u8]);

    /// Copies bytes into a record's body, word by word with relaxed stores.
    fn copy_in(&self, line: &Self::Line, offset: usize, words: &[Word], from: &[u8]);

    /// Charges for `bytes` of a body that does not exist ([`Machine::KEEPS_OPAQUE`] is false).
    fn touch(&self, line: &Self::Line, offset: usize, bytes: usize, write: bool);

    /// Charges for copying `bytes` within the core's own memory.
    fn copied(&self, bytes: usize);

    /// Charges `cycles` of computing.
    fn compute(&self, cycles: u64);

    /// Lets `ticks` pass, charged to the running category.
    fn pause(&self, ticks: u64);

    /// Lets `ticks` pass before another attempt at something that others were in the way of, and lets them run: natively
    /// it may take longer.
    fn back_off(&self, ticks: u64) {
        self.pause(ticks);
    }

    /// The clock, in ticks; never runs backward along a chain of causes.
    fn now(&self) -> u64;

    /// The clock, read neither before earlier operations have taken effect nor after later ones:
    /// for times that are compared across cores (histories). Dearer than [`Core::now`] natively.
    fn now_fenced(&self) -> u64 {
        self.now()
    }

    /// Ticks in a second of this core's clock.
    fn ticks_per_second(&self) -> u64;

    /// A hint to the host that `bytes` from `address` will be touched. Free where time is modelled.
    fn prefetch(&self, address: *const u8, bytes: usize);

    /// The next value of the machine's own counter, if it has one in hardware (Abyss 4.3).
    fn hardware_counter(&self) -> Option<u64> {
        None
    }

    /// Whether the bug is switched on, which an [`Explored`](crate::Explored) machine can be made with, so that one
    /// sees it found. On all others never, and the compiler knows: a point costs nothing. To ask is no operation.
    #[inline(always)]
    fn is_planted(&self, fault: Fault) -> bool {
        let _ = fault;
        false
    }

    /// Whether a lock that was granted to a session that does not know yet may be taken back by one that asks for it
    /// ([`Core::sleeps`]).
    #[inline(always)]
    fn overtakes(&self) -> bool {
        false
    }

    /// Whether somebody may be asleep who waits for `word`, or has been woken and does not run yet.
    #[inline(always)]
    fn sleeps(&self, line: &Self::Line, word: &Word) -> bool {
        let _ = (line, word);
        self.overtakes()
    }

    /// This core's stopwatch.
    fn breakdown(&self) -> &Breakdown;

    /// Time from here on belongs to `category`; returns the category that ended. Free when off.
    #[inline(always)]
    fn account(&self, category: Category) -> Category {
        let breakdown = self.breakdown();
        if breakdown.enabled() { breakdown.switch(self.now(), category) } else { Category::Useful }
    }
}

/// Work that a service core does every `interval_ticks` until all workers have ended: epochs, timers,
/// collection.
pub struct Service<'a, M: Machine> {
    /// What it is, for reports of runs that do not end.
    pub name: &'static str,
    /// Ticks of the machine's clock between two calls; natively at least a millisecond's worth.
    pub interval_ticks: u64,
    /// The work; called once more after the last worker has ended.
    pub tick: Tick<'a, M>,
}

/// What a service does at each tick.
pub type Tick<'a, M> = Box<dyn Fn(&<M as Machine>::Core) + Send + Sync + 'a>;

/// What one worker core runs, from start to end.
pub type Body<'a, M> = Box<dyn FnOnce(&<M as Machine>::Core) + Send + 'a>;

/// Hardware, real or not, that runs one body per core.
pub trait Machine: Send + Sync + Sized + 'static {
    /// What it keeps per modelled cache line.
    type Line: Line;
    /// Its cores.
    type Core: Core<Line = Self::Line>;

    /// False where values of opaque tables are charged for but not kept.
    const KEEPS_OPAQUE: bool;

    /// False where time is real. Hints and short cuts that only pay on real hardware ask.
    const MODELLED: bool;

    /// True where a core may lose its processor to something else in the middle of anything, and be gone for long. Who
    /// runs should overtake there who does not: nothing is better handed to one certain core than left to the first.
    const PREEMPTS: bool = false;

    /// True where structures are kept small, so that a short run goes through all of their shapes.
    const MINIATURE: bool = false;

    /// True where memory that has been given back is kept apart for a while, and marked, so that who still
    /// uses it is found out.
    const QUARANTINES: bool = false;

    /// The memory that its cores share. Everything shared lives there.
    fn arena(&self) -> &Arc<Arena>;

    /// Runs every body on a core of its own, and the services beside them; returns when all have
    /// ended. A panic in a body goes on in the caller after the others have ended, where they can.
    fn run<'a>(
        &self,
        workers: Vec<Body<'a, Self>>,
        services: Vec<Service<'a, Self>>,
    ) -> Result<(), RunError>;

    /// Ticks in a second of its cores' clock.
    fn clock_hz(&self) -> u64;

    /// Shared-memory operations that its cores have executed, where it counts them.
    fn operations(&self) -> Option<u64> {
        None
    }
}

/// A run that could not start, or that can't go on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RunError {
    /// More cores asked for than the machine has.
    TooManyCores {
        /// Cores asked for, services included.
        asked: usize,
        /// Cores there are.
        available: usize,
    },
    /// Every core waits for another one: who waits, in words.
    Deadlock(Vec<String>),
    /// The limit on steps was reached without an end; a live-lock, or the limit is too low.
    StepLimit(u64),
    /// The operating system refused a thread or memory.
    System(String),
}

impl fmt::Display for RunError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            RunError::TooManyCores { asked, available } => {
                write!(f, "{asked} cores asked for, the machine has {available}")
            }
            RunError::Deadlock(who) => {
                write!(f, "no core can go on: {}", who.join("; "))
            }
            RunError::StepLimit(steps) => {
                write!(f, "no end after {steps} steps")
            }
            RunError::System(message) => f.write_str(message),
        }
    }
}

impl std::error::Error for RunError {}
