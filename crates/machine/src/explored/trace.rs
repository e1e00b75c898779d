//! The operations of a run's cores, as a hash or step by step.

use std::{
    cell::{Cell, RefCell},
    fmt,
};

/// Kind of a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Operation {
    /// Read a word.
    Load,
    /// Wrote a word.
    Store,
    /// Compared a word and exchanged it.
    Cas,
    /// Compared a word and did not change it, because it had another value than expected.
    CasFailed,
    /// Exchanged a word.
    Swap,
    /// Added to a word.
    FetchAdd,
    /// Read one word of a record's body.
    CopyOut,
    /// Wrote one word of a record's body.
    CopyIn,
    /// Read a word and found that the core must wait.
    Wait,
    /// Read the clock.
    Clock,
    /// Backed off.
    Pause,
    /// Moved to another core.
    Move,
}

/// One step of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Step {
    /// The core that did the step.
    pub core: usize,
    /// Kind of the step.
    pub operation: Operation,
    /// Offset of the word in the arena, if it is in the arena.
    pub offset: Option<u64>,
    /// The value that was read (load, failed cas, wait, clock), written (store, cas), or replaced (swap,
    /// fetch-add). For a pause, the number of ticks. For a move, the number of the core.
    pub value: u64,
}

impl fmt::Display for Step {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "core {} {:?}", self.core, self.operation)?;
        if let Some(offset) = self.offset {
            write!(f, " @{offset}")?;
        }
        write!(f, " {}", self.value)
    }
}

/// Record of a run.
pub(super) struct Trace {
    pub hash: Cell<u64>,
    pub steps: RefCell<Vec<Step>>,
    enabled: bool,
    arena_base: usize,
    arena_bytes: usize,
}

impl Trace {
    pub fn start(enabled: bool, arena_base: usize, arena_bytes: usize) -> Trace {
        Trace { hash: Cell::new(0), steps: RefCell::default(), enabled, arena_base, arena_bytes }
    }

    /// Returns the number of recorded steps, if steps are recorded.
    pub fn len(&self) -> Option<u64> {
        self.enabled.then(|| self.steps.borrow().len() as u64)
    }

    /// Returns the offset of a word in the arena, if it is in the arena. Other addresses differ from process to
    /// process.
    pub fn offset(&self, address: usize) -> Option<u64> {
        let offset = address.wrapping_sub(self.arena_base);
        (offset < self.arena_bytes).then_some(offset as u64)
    }

    #[inline(always)]
    pub fn note(&self, core: usize, operation: Operation, address: usize, value: u64) {
        let what = value ^ (core as u64) << 40 ^ (operation as u64) << 56;
        // Multiplying by an odd number and rotating are both reversible. So no step is lost from the hash.
        let hash = (self.hash.get() ^ what).wrapping_mul(0x9E37_79B9_7F4A_7C15).rotate_left(23);
        self.hash.set(hash);
        if self.enabled {
            self.record(core, operation, address, value);
        }
    }

    #[cold]
    fn record(&self, core: usize, operation: Operation, address: usize, value: u64) {
        let offset = self.offset(address);
        self.steps.borrow_mut().push(Step { core, operation, offset, value });
    }
}
