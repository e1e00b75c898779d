//! The traits: a [`Machine`] runs code on cores, and a [`Core`] accesses shared memory.

use crate::{Arena, Breakdown, Category, LinesMoved, Runs, Word, Zeroed, cold::Arc};
use std::fmt;

/// State of one modelled cache line. Native machines have none. All zeros is a line that no core has touched.
/// Place the line beside the words that it covers.
pub trait Line: Zeroed + Send + Sync + 'static {}
impl Line for () {}

/// A deadline that is never reached.
pub const NEVER: u64 = u64::MAX;

/// Error: the deadline of a wait has passed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TimedOut;

/// Name of a known bug. The code that runs on a machine has points at which a bug can be switched on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fault(pub &'static str);

/// Cycles in which a program reads the clock and converts it to nanoseconds, on x86-64. `cargo bench -p kilocore-storage
/// --bench clock` measures them.
pub const USUAL_CLOCK_READ_CYCLES: u64 = 60;

/// Duration of a PAUSE instruction on x86-64 processors since 2015, in cycles (Intel, Optimization Reference Manual, 2.6.4).
pub const USUAL_PAUSE_CYCLES: u64 = 140;

/// Cycles of a call by which a thread yields its processor and finds that nothing else is to run, unless a machine knows better:
/// 520 to 620 ns of `sched_yield` on a processor of 2.6 GHz under Linux (AMD EPYC, a virtual machine).
pub const USUAL_YIELD_CYCLES: u64 = 1400;

/// One core. Code that runs on a machine must access shared memory, wait and read the clock only through it.
///
/// A core is passed explicitly and never found in a thread-local variable. The parameter `line` is the cache
/// line that `word` lies on.
///
/// On a native machine loads acquire, stores release, and read-modify-writes do both, unless the name says
/// otherwise. The modelled machines are sequentially consistent.
pub trait Core {
    /// State that the machine keeps per cache line.
    type Line: Line;

    /// Returns the number of this core among the cores of the run. Workers come first, then services. If cores have
    /// several fibers, each fiber has a number of its own.
    fn id(&self) -> usize;

    /// Reads `word` with acquire order: later operations stay after it.
    fn load(&self, line: &Self::Line, word: &Word) -> u64;

    /// Reads `word` without ordering anything.
    fn load_relaxed(&self, line: &Self::Line, word: &Word) -> u64;

    /// Reads a word that does not change while any core can reach it.
    fn load_const(&self, line: &Self::Line, word: &Word) -> u64;

    /// Reads `word` with acquire order. Modelled machines charge nothing and do not switch cores here. For words
    /// that hardly ever change, so that every core has them in its cache, and for estimates.
    #[inline(always)]
    fn load_uncharged(&self, word: &Word) -> u64 {
        // One thread runs all cores of a modelled machine, so nothing needs an order there.
        word.peek()
    }

    /// Writes `word` with release order: earlier operations stay before it.
    fn store(&self, line: &Self::Line, word: &Word, value: u64);

    /// Writes `word` without ordering anything.
    fn store_relaxed(&self, line: &Self::Line, word: &Word, value: u64);

    /// Replaces `expected` by `desired`. Fails with the actual value if the word has another one. A failure
    /// acquires the cache line as a success does, so test the value before you try.
    fn cas(&self, line: &Self::Line, word: &Word, expected: u64, desired: u64) -> Result<u64, u64>;

    /// Replaces the value and returns the old one.
    fn swap(&self, line: &Self::Line, word: &Word, value: u64) -> u64;

    /// Adds `value`, wrapping, and returns the old value.
    fn fetch_add(&self, line: &Self::Line, word: &Word, value: u64) -> u64;

    /// Acquire fence: earlier loads, including relaxed ones, stay before later operations.
    fn fence_acquire(&self);

    /// Release fence: earlier loads and stores stay before later stores, including relaxed ones.
    fn fence_release(&self);

    /// Full fence: earlier stores become visible before later loads.
    fn fence(&self);

    /// Waits while `condition` holds for the word. Returns the first value for which it does not hold. The time
    /// is charged to [`Category::Wait`].
    ///
    /// All waiting for another core goes through this function and its variants. A core whose change ends a
    /// wait must call [`Core::wake`].
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

    /// Waits as [`Core::wait_while`] does, for a word that the caller is then going to acquire by a
    /// compare-and-swap. If the compare-and-swap fails, the caller waits here again.
    ///
    /// Of the cores that wait here for the same word, one at a time is woken. The others rely on it: a core
    /// that acquires the word must call [`Core::wake`] when it releases the word.
    fn wait_to_take(
        &self,
        line: &Self::Line,
        word: &Word,
        condition: impl FnMut(u64) -> bool,
    ) -> u64 {
        self.wait_while(line, word, condition)
    }

    /// Waits as [`Core::wait_while`] does, in a queue in which a thread looks at intervals and, after a while, yields its processor
    /// between them. Once the core holds what it has waited for, it calls [`Core::notice_turn`]. On a native machine all waits
    /// yield after a while.
    fn wait_yielding(
        &self,
        line: &Self::Line,
        word: &Word,
        condition: impl FnMut(u64) -> bool,
    ) -> u64 {
        self.wait_while(line, word, condition)
    }

    /// Waits as [`Core::wait_while`] does, for a word that nobody else waits for and that the core looks at after every `pauses` PAUSE
    /// instructions. Only the simulated machine heeds the interval: there the wait ends with a look.
    fn wait_looking(
        &self,
        line: &Self::Line,
        word: &Word,
        pauses: u64,
        condition: impl FnMut(u64) -> bool,
    ) -> u64 {
        let _ = pauses;
        self.wait_while(line, word, condition)
    }

    /// Lets the time pass until the next look of the core, if it was served in its turn after [`Core::wait_yielding`]. Only the
    /// simulated machine needs it.
    #[inline(always)]
    fn notice_turn(&self) {}

    /// Wakes the cores that wait for `word`. A core must call this if it has changed a word that another core
    /// can wait for. The call must follow the change and precede any wait or back-off of the caller. A change
    /// that cannot end a wait needs no call.
    ///
    /// On a native machine waiting threads sleep. The call costs one comparison while no thread sleeps. The
    /// modelled machines see every change themselves, so the call is free there. [`Explored`](crate::Explored)
    /// panics if a wait has ended and the core that ended it has not called this.
    #[inline(always)]
    fn wake(&self, line: &Self::Line, word: &Word) {
        let _ = (line, word);
    }

    /// Wakes the cores that wait for any of several words, as [`Core::wake`] does. Natively this needs one
    /// comparison for all.
    #[inline(always)]
    fn wake_each<'a>(&self, words: impl Iterator<Item = (&'a Self::Line, &'a Word)>) {
        words.for_each(|(line, word)| self.wake(line, word));
    }

    /// Waits as [`Core::wait_while`] does, until the clock reaches `deadline` at the latest.
    fn wait_while_until(
        &self,
        line: &Self::Line,
        word: &Word,
        deadline: u64,
        condition: impl FnMut(u64) -> bool,
    ) -> Result<u64, TimedOut>;

    /// Copies bytes out of a record's body, word by word with relaxed loads. `words` start at byte `offset` of
    /// the body, and `into.len()` is the number of bytes.
    ///
    /// The copy is sound while another core writes the body, but it can then be torn. The caller must validate
    /// before it uses the bytes.
    fn copy_out(&self, line: &Self::Line, offset: usize, words: &[Word], into: &mut [u8]);

    /// Copies bytes into a record's body, word by word with relaxed stores.
    fn copy_in(&self, line: &Self::Line, offset: usize, words: &[Word], from: &[u8]);

    /// Copies runs of `words`, which are a body from its start, into the front of `into`, as [`Core::copy_out`] does.
    #[inline(always)]
    fn copy_runs_out(&self, line: &Self::Line, words: &[Word], runs: &Runs, into: &mut [u8]) {
        for run in runs.iter() {
            let offset = run.words().start * 8;
            self.copy_out(line, offset, &words[run.words()], &mut into[run.place()]);
        }
    }

    /// Copies the front of `from` into runs of `words`, which are a body from its start, as [`Core::copy_in`] does.
    #[inline(always)]
    fn copy_runs_in(&self, line: &Self::Line, words: &[Word], runs: &Runs, from: &[u8]) {
        for run in runs.iter() {
            self.copy_in(line, run.words().start * 8, &words[run.words()], &from[run.place()]);
        }
    }

    /// Charges for an access to `bytes` bytes of a body that is not kept ([`Machine::KEEPS_OPAQUE`] is false).
    fn touch(&self, line: &Self::Line, offset: usize, bytes: usize, write: bool);

    /// Charges for writing `bytes` bytes of a body that is not kept, and that lies behind the one that this core has appended before.
    /// Hardware recognises such writes, and fetches lines ahead of them.
    fn append(&self, line: &Self::Line, bytes: usize) {
        self.touch(line, 0, bytes, true);
    }

    /// Charges for copying `bytes` bytes within the core's own memory.
    fn copied(&self, bytes: usize);

    /// Charges for `cycles` cycles of computation.
    fn compute(&self, cycles: u64);

    /// Charges for `reads` readings of the clock, where the modelled program reads it. [`Core::now`] itself costs nothing.
    fn compute_clock_reads(&self, reads: u64) {
        self.compute(USUAL_CLOCK_READ_CYCLES * reads);
    }

    /// Returns the ticks that the instruction takes by which a thread lets its siblings run while it looks for a change: PAUSE on
    /// x86-64.
    #[inline(always)]
    fn pause_ticks(&self) -> u64 {
        USUAL_PAUSE_CYCLES
    }

    /// Charges for the instructions of one access to a record, apart from its operations on shared memory.
    #[inline(always)]
    fn compute_access(&self) {}

    /// Lets `ticks` pass. They are charged to the running category.
    fn pause(&self, ticks: u64);

    /// Lets `ticks` pass before another attempt at an operation that other cores have blocked, and lets the
    /// other cores run. On a native machine it can take longer.
    fn back_off(&self, ticks: u64) {
        self.pause(ticks);
    }

    /// Sleeps for `ticks`, and on some machines longer, because the operating system wakes the thread late.
    fn sleep(&self, ticks: u64) {
        self.back_off(ticks);
    }

    /// Lets another fiber of this core run, if one is ready. It does nothing on a core with one fiber
    /// ([`Machine::run_fibers`]).
    #[inline(always)]
    fn switch_fiber(&self) {}

    /// Returns the number of the core that executes this fiber, if the fibers of the run can move
    /// ([`Sharing::moving_fibers`]). The first core has number 0.
    #[inline(always)]
    fn host(&self) -> Option<usize> {
        None
    }

    /// Moves this fiber to core number `to`. It goes on there, when the fibers of that core let it. The value through which
    /// it was called stays its [`Core`]. The fiber must not be unwinding, because the panics of a native thread are counted by
    /// the thread.
    ///
    /// What the fiber has done before happens before what it does on the other core. It costs what two accesses to the
    /// queue of the other core and the fiber's stack cost. The time is charged to [`Category::Wait`].
    fn move_to(&self, to: usize) {
        panic!("a move to core {to}, in a run whose fibers cannot move");
    }

    /// Returns the clock in ticks. The clock never runs backward along a causal chain.
    fn now(&self) -> u64;

    /// Returns the clock, read after earlier operations have taken effect and before later ones do. For times
    /// that are compared across cores, as in histories. On a native machine it costs more than [`Core::now`].
    fn now_fenced(&self) -> u64 {
        self.now()
    }

    /// Returns the number of ticks per second of this core's clock.
    fn ticks_per_second(&self) -> u64;

    /// Hints to the host that `bytes` bytes from `address` will be accessed. Free on machines that model time.
    fn prefetch(&self, address: *const u8, bytes: usize);

    /// Returns how many of the first `words` have other upper 16 bits than `tag`, as far as this is known without an access to them:
    /// 0 on machines that count accesses. A native core reads them together, each as by [`Core::load_relaxed`].
    #[inline(always)]
    fn untagged(&self, words: &[Word], tag: u16) -> usize {
        let _ = (words, tag);
        0
    }

    /// Returns true if a core of modelled hardware fetches lines ahead of their use.
    fn prefetches_lines(&self) -> bool {
        false
    }

    /// Begins to fetch a modelled line. Only machines that model time do this. Native machines prefetch addresses.
    #[inline(always)]
    fn prefetch_line(&self, line: &Self::Line) {
        let _ = line;
    }

    /// Begins to fetch the modelled lines of `bytes` bytes of a body, from `offset` on, as [`Core::touch`] reads them.
    #[inline(always)]
    fn prefetch_body(&self, line: &Self::Line, offset: usize, bytes: usize) {
        let _ = (line, offset, bytes);
    }

    /// Returns the next value of the machine's hardware counter, if it has one (Abyss 4.3).
    fn hardware_counter(&self) -> Option<u64> {
        None
    }

    /// Returns true if the bug is switched on. Only an [`Explored`](crate::Explored) machine can be made with
    /// one, so that tests can show that the bug is found.
    ///
    /// On all other machines this is the constant false, so the compiler removes the point at no cost. The
    /// query is not a modelled operation.
    #[inline(always)]
    fn is_planted(&self, fault: Fault) -> bool {
        let _ = fault;
        false
    }

    /// Returns true if a running core can overtake a core that does not run. An operating system can take the
    /// processor from a core at any point, for a long time, and everything that was handed to this core is unused
    /// meanwhile. So a latch is left to the first core that comes. A lock that was granted to a waiter can be taken
    /// back until the waiter knows of it ([`Core::sleeps`]). The answer is the same for all cores of a run.
    #[inline(always)]
    fn overtakes(&self) -> bool {
        false
    }

    /// Returns true if a core that waits for `word` may be asleep, or has been woken and does not run yet.
    #[inline(always)]
    fn sleeps(&self, line: &Self::Line, word: &Word) -> bool {
        let _ = (line, word);
        self.overtakes()
    }

    /// Returns the stopwatch of this core.
    fn breakdown(&self) -> &Breakdown;

    /// Returns the number of page faults that the core's thread has had. None if the machine does not know it.
    fn page_faults(&self) -> Option<u64> {
        None
    }

    /// Assigns the time from here on to `category`, and returns the category that ended. Free if the stopwatch
    /// is off.
    #[inline(always)]
    fn account(&self, category: Category) -> Category {
        let breakdown = self.breakdown();
        if breakdown.enabled() { breakdown.switch(self.now(), category) } else { Category::Useful }
    }
}

/// Work that a service core does every `interval_ticks` until all workers have ended: epochs, timers, garbage
/// collection.
pub struct Service<'a, M: Machine> {
    /// Name, for reports of runs that do not end.
    pub name: &'static str,
    /// Ticks of the machine's clock between two calls. On a native machine the interval is at least a
    /// millisecond.
    pub interval_ticks: u64,
    /// The work. It is called once more after the last worker has ended.
    pub tick: Tick<'a, M>,
}

/// The function that a service calls at each tick.
pub type Tick<'a, M> = Box<dyn Fn(&<M as Machine>::Core) + Send + Sync + 'a>;

/// The code that one worker core runs, from start to end.
pub type Body<'a, M> = Box<dyn FnOnce(&<M as Machine>::Core) + Send + 'a>;

/// How the bodies of a run share its cores.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sharing {
    of_core: usize,
    form: Form,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Form {
    Fibers,
    MovingFibers,
    MovingThreads,
    Threads { slice_ticks: u64 },
}

impl Sharing {
    /// Puts `count` bodies on each core, and at least one. They are fibers and stay there.
    pub fn fibers(count: usize) -> Sharing {
        Sharing { of_core: count.max(1), form: Form::Fibers }
    }

    /// Puts bodies on cores as [`Sharing::fibers`] does. They can [move](Core::move_to) to other cores.
    ///
    /// # Safety
    /// Whenever a body moves, its stack holds nothing that is bound to a thread: no guard of a lock that its thread must
    /// release, no reference to a thread-local variable, no value that counts on its thread, such as [`std::rc::Rc`]
    /// with clones elsewhere. The compiler checks only that a body can be sent before it begins.
    pub unsafe fn moving_fibers(count: usize) -> Sharing {
        Sharing { form: Form::MovingFibers, ..Sharing::fibers(count) }
    }

    /// Puts bodies on cores as [`Sharing::moving_fibers`] does. A modelled core pays for a switch between two of them what a switch
    /// between threads costs, as if what comes were done by threads that wait there for work. No body is interrupted. Natively they
    /// are fibers.
    ///
    /// # Safety
    /// Same as for [`Sharing::moving_fibers`].
    pub unsafe fn moving_threads(count: usize) -> Sharing {
        Sharing { form: Form::MovingThreads, ..Sharing::fibers(count) }
    }

    /// Puts `count` bodies on each core, and at least one. They are threads: the core takes turns among those that can run, and each
    /// keeps the core for `slice_ticks` of the machine's clock at most. Natively the operating system decides how long.
    pub fn threads(count: usize, slice_ticks: u64) -> Sharing {
        let form = Form::Threads { slice_ticks: slice_ticks.max(1) };
        Sharing { form, ..Sharing::fibers(count) }
    }

    /// Returns the number of bodies that begin on each core.
    pub fn count(self) -> usize {
        self.of_core
    }

    /// Returns true if bodies can move.
    pub fn can_move(self) -> bool {
        matches!(self.form, Form::MovingFibers | Form::MovingThreads)
    }

    /// Returns true if a switch between two bodies of a core is one between threads.
    pub fn switches_threads(self) -> bool {
        matches!(self.form, Form::MovingThreads | Form::Threads { .. })
    }

    /// Returns the length of a time slice, if bodies are threads.
    pub fn slice_ticks(self) -> Option<u64> {
        match self.form {
            Form::Threads { slice_ticks } => Some(slice_ticks),
            Form::Fibers | Form::MovingFibers | Form::MovingThreads => None,
        }
    }
}

/// Real or modelled hardware that runs one body per core.
pub trait Machine: Send + Sync + Sized + 'static {
    /// State that it keeps per modelled cache line.
    type Line: Line;
    /// Type of its cores.
    type Core: Core<Line = Self::Line>;

    /// False if values of opaque tables are charged for but not kept.
    const KEEPS_OPAQUE: bool;

    /// False if time is real. Hints and shortcuts that only pay off on real hardware test it.
    const MODELLED: bool;

    /// True if data structures are kept small, so that a short run goes through all their shapes.
    const MINIATURE: bool = false;

    /// True if freed memory is marked and kept apart for a while, so that a use after free is detected.
    const QUARANTINES: bool = false;

    /// Returns the memory that its cores share. All shared data lives there.
    fn arena(&self) -> &Arc<Arena>;

    /// Runs every body on a core of its own, and the services beside them. Returns when all have ended. A panic
    /// in a body propagates to the caller, after the other bodies have ended if they can.
    fn run<'a>(
        &self,
        workers: Vec<Body<'a, Self>>,
        services: Vec<Service<'a, Self>>,
    ) -> Result<(), RunError> {
        self.run_fibers(Sharing::fibers(1), workers, services)
    }

    /// Runs bodies as [`Machine::run`] does, several of them on each core. With `n` fibers of a core, bodies 0 to `n - 1` are on the first
    /// core, and so on. The bodies of one core are its fibers. Each has a [`Core`] with a number of its own.
    ///
    /// One fiber of a core runs at a time. It runs until it waits, pauses, backs off, ends, moves to another core
    /// ([`Core::move_to`]), or calls [`Core::switch_fiber`]. Then the next fiber runs that can go on. Bodies can also be threads,
    /// which are interrupted at any point ([`Sharing::threads`]).
    fn run_fibers<'a>(
        &self,
        sharing: Sharing,
        workers: Vec<Body<'a, Self>>,
        services: Vec<Service<'a, Self>>,
    ) -> Result<(), RunError>;

    /// Returns the number of ticks per second of its cores' clock.
    fn clock_hz(&self) -> u64;

    /// Returns the number of shared-memory operations that its cores have executed, if the machine counts them.
    fn operations(&self) -> Option<u64> {
        None
    }

    /// Returns the number of cache lines that were moved for its cores, if the machine counts them.
    fn lines_moved(&self) -> Option<LinesMoved> {
        None
    }
}

/// The reason why a run could not start or cannot continue.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RunError {
    /// More cores were asked for than the machine has.
    TooManyCores {
        /// Number of cores asked for, services included.
        asked: usize,
        /// Number of cores available.
        available: usize,
    },
    /// Every core waits for another one. Contains a text for each waiting core.
    Deadlock(Vec<String>),
    /// The run reached this limit on steps without an end. It is a livelock, or the limit is too low.
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
