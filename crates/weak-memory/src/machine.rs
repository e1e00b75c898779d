//! The machine: an arena whose words stand for loom's atomics while several cores run.
//!
//! loom's atomics must be created before the cores run, so the machine must know the words that cores share. It
//! starts with none. If a core accesses a word that has no atomic, the word's offset is added to [`Covered`]
//! and the execution counts as missed. [`check`](crate::check) then starts again, until a whole model misses no
//! word.

use crate::{core::WeakCore, model::Fault};
use loom::sync::atomic::AtomicU64;
use machine::{
    Arena, ArenaOptions, Body, Machine, OutOfMemory, RunError, Service, Sharing, Word, cold::Arc,
};
use std::{
    any::Any,
    collections::{BTreeMap, BTreeSet},
    panic::{AssertUnwindSafe, catch_unwind, resume_unwind},
    sync::{
        Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, AtomicU64 as Plain, Ordering},
    },
};

/// Size of the stack of a body. The stacks of loom itself have only 32 KiB.
const STACK_BYTES: usize = 1 << 20;
/// Size of the address space of an execution's arena, in bytes.
const RESERVED: u64 = 64 << 20;
/// Largest number of cores. It is the limit of loom, beside the thread that loom starts with.
const MOST_CORES: usize = 3;

/// Offsets of the words that several cores access, as far as known. The set grows until a whole model has met
/// no other.
pub(crate) type Covered = Arc<Mutex<BTreeSet<u64>>>;

/// The machine of one execution.
///
/// The words of its arena are loom's atomics while several cores run, and plain words before and after. Not
/// modelled are:
///
/// - words that do not change while any core can reach them ([`machine::Core::load_const`], and words that are
///   initialized with `poke` before they are published). So a missing publication shows only through the order
///   of other words.
/// - time. The clock only counts how often it is read.
/// - services. They do not run.
pub struct WeakMemory {
    arena: Arc<Arena>,
    memory: std::sync::Arc<Memory>,
}

/// State that the cores share.
pub(crate) struct Memory {
    arena: Arc<Arena>,
    covered: Covered,
    /// The atomics that stand for words, by offset. Empty unless several cores run.
    words: Mutex<BTreeMap<u64, std::sync::Arc<AtomicU64>>>,
    /// Set while several cores run.
    beside: AtomicBool,
    /// Set if a core has accessed a word that should have been covered.
    pub(crate) missed: AtomicBool,
    clock: Plain,
    fault: Option<Fault>,
}

pub(crate) fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Memory {
    /// Returns the atomic that stands for `word`, if several cores run and the word is in the arena.
    pub(crate) fn modelled(&self, word: &Word) -> Option<std::sync::Arc<AtomicU64>> {
        if !self.beside.load(Ordering::Relaxed) {
            return None;
        }
        // Words outside the arena, for example on a stack, are flags of the caller.
        let address = std::ptr::from_ref(word).cast::<u8>();
        let offset = (address as u64).wrapping_sub(self.arena.address(0) as u64);
        if offset >= RESERVED {
            return None;
        }
        let modelled = locked(&self.words).get(&offset).cloned();
        if modelled.is_none() {
            locked(&self.covered).insert(offset);
            self.missed.store(true, Ordering::Relaxed);
        }
        modelled
    }

    pub(crate) fn has(&self, fault: Fault) -> bool {
        self.fault == Some(fault)
    }

    pub(crate) fn tick(&self) -> u64 {
        self.clock.fetch_add(1, Ordering::Relaxed)
    }

    fn word_at(&self, offset: u64) -> &Word {
        // SAFETY: `modelled` was called with a word at this offset, so there is one.
        unsafe { self.arena.at(offset) }
    }

    /// Replaces the covered words by loom's atomics.
    fn begin(&self) {
        let mut words = locked(&self.words);
        for &offset in locked(&self.covered).iter() {
            let value = self.word_at(offset).peek();
            words.insert(offset, std::sync::Arc::new(AtomicU64::new(value)));
        }
        self.beside.store(true, Ordering::Relaxed);
    }

    /// Makes all words plain again, with their final values.
    fn end(&self) {
        self.beside.store(false, Ordering::Relaxed);
        for (offset, modelled) in std::mem::take(&mut *locked(&self.words)) {
            // SAFETY: every core that accessed the word has been joined.
            let value = unsafe { modelled.unsync_load() };
            self.word_at(offset).poke(value);
        }
    }
}

impl WeakMemory {
    pub(crate) fn new(covered: Covered, fault: Option<Fault>) -> Result<WeakMemory, OutOfMemory> {
        let options = ArenaOptions { reserve_bytes: RESERVED, ..ArenaOptions::default() };
        let arena = Arc::new(Arena::new(&options)?);
        let memory = Memory {
            arena: arena.clone(),
            covered,
            words: Mutex::new(BTreeMap::new()),
            beside: AtomicBool::new(false),
            missed: AtomicBool::new(false),
            clock: Plain::new(1),
            fault,
        };
        Ok(WeakMemory { arena, memory: std::sync::Arc::new(memory) })
    }

    pub(crate) fn has_missed(&self) -> bool {
        self.memory.missed.load(Ordering::Relaxed)
    }

    /// Returns a core for the calling thread, for use before and after runs.
    pub fn core(&self, id: usize) -> WeakCore {
        WeakCore::new(id, self.memory.clone())
    }
}

/// Runs `body` on a stack of its own. Returns the payload if it panics.
fn on_own_stack(body: impl FnOnce()) -> Result<(), Box<dyn Any + Send>> {
    let stack = corosensei::stack::DefaultStack::new(STACK_BYTES).expect("memory for a stack");
    corosensei::on_stack(stack, || catch_unwind(AssertUnwindSafe(body)))
}

impl Machine for WeakMemory {
    type Line = ();
    type Core = WeakCore;
    const KEEPS_OPAQUE: bool = true;
    const MODELLED: bool = true;
    const MINIATURE: bool = true;

    fn arena(&self) -> &Arc<Arena> {
        &self.arena
    }

    fn clock_hz(&self) -> u64 {
        1_000_000_000
    }

    /// Every fiber gets a thread of its own, because a memory model has no use for cores with several fibers.
    fn run_fibers<'a>(
        &self,
        sharing: Sharing,
        workers: Vec<Body<'a, Self>>,
        services: Vec<Service<'a, Self>>,
    ) -> Result<(), RunError> {
        if sharing.can_move() {
            return Err(RunError::System("no fibers move under a memory model".to_owned()));
        }
        if !services.is_empty() {
            return Err(RunError::System("no services run under a memory model".to_owned()));
        }
        if workers.len() > MOST_CORES {
            return Err(RunError::TooManyCores { asked: workers.len(), available: MOST_CORES });
        }
        let alone = workers.len() == 1;
        if !alone {
            self.memory.begin();
        }
        let mut bodies = workers.into_iter().enumerate().map(|(id, body)| {
            let core = self.core(id);
            let whole: Box<dyn FnOnce() -> _ + Send + 'a> =
                Box::new(move || on_own_stack(|| body(&core)));
            // SAFETY: everything that a body borrows lives for 'a. Every thread is joined before this function
            // returns. If loom gives up an execution, it unwinds all threads and fails the test.
            unsafe {
                std::mem::transmute::<
                    Box<dyn FnOnce() -> Result<(), Box<dyn Any + Send>> + Send + 'a>,
                    Box<dyn FnOnce() -> Result<(), Box<dyn Any + Send>> + Send + 'static>,
                >(whole)
            }
        });
        let own = bodies.next();
        let threads: Vec<_> = bodies.map(loom::thread::spawn).collect();
        let mut ended = own.map_or(Ok(()), |body| body());
        for thread in threads {
            ended = ended.and(thread.join().and_then(|ended| ended));
        }
        if !alone {
            self.memory.end();
        }
        ended.or_else(|payload| resume_unwind(payload))
    }
}
