//! The machine: an arena whose words stand for loom's atomics while cores run beside each other.

use crate::{core::WeakCore, model::Fault};
use loom::sync::atomic::AtomicU64;
use machine::{
    Arena, ArenaOptions, Body, Machine, OutOfMemory, RunError, Service, Word, cold::Arc,
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

/// A stack for a body; loom's own are of 32 KiB.
const STACK_BYTES: usize = 1 << 20;
/// Address space of an execution's arena.
const RESERVED: u64 = 64 << 20;
/// As many as loom has room for, beside the thread that it starts with.
const MOST_CORES: usize = 3;

/// Offsets of words that cores touch beside each other, as far as known. Grows until a whole model has met no
/// other.
pub(crate) type Covered = Arc<Mutex<BTreeSet<u64>>>;

/// One execution's machine.
///
/// Words of its arena are loom's while several cores run, and plain before and after. What is not modelled:
/// words that do not change while anybody can reach them ([`machine::Core::load_const`], and what is prepared with
/// `poke` before it is published), so that publication itself is seen by the order of other words only; time,
/// which stands still but for a count of looks at it; services, which do not run.
pub struct WeakMemory {
    arena: Arc<Arena>,
    memory: std::sync::Arc<Memory>,
}

/// What the cores share.
pub(crate) struct Memory {
    arena: Arc<Arena>,
    covered: Covered,
    words: Mutex<BTreeMap<u64, std::sync::Arc<AtomicU64>>>,
    /// Several cores run.
    beside: AtomicBool,
    /// A word was touched that should have been covered.
    pub(crate) missed: AtomicBool,
    clock: Plain,
    fault: Option<Fault>,
}

pub(crate) fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Memory {
    /// What stands for `word`, if cores run beside each other and it is in the arena.
    pub(crate) fn modelled(&self, word: &Word) -> Option<std::sync::Arc<AtomicU64>> {
        if !self.beside.load(Ordering::Relaxed) {
            return None;
        }
        // Others, on somebody's stack, are flags of the caller's.
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
        // SAFETY: `modelled` was asked for a word at this offset, so there is one.
        unsafe { self.arena.at(offset) }
    }

    /// From here on the covered words are loom's.
    fn begin(&self) {
        let mut words = locked(&self.words);
        for &offset in locked(&self.covered).iter() {
            let value = self.word_at(offset).peek();
            words.insert(offset, std::sync::Arc::new(AtomicU64::new(value)));
        }
        self.beside.store(true, Ordering::Relaxed);
    }

    /// From here on all words are plain again, with the values that they have got.
    fn end(&self) {
        self.beside.store(false, Ordering::Relaxed);
        for (offset, modelled) in std::mem::take(&mut *locked(&self.words)) {
            // SAFETY: every core that touched the word has been joined.
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

    /// The core of the calling thread: before and after runs.
    pub fn core(&self, id: usize) -> WeakCore {
        WeakCore::new(id, self.memory.clone())
    }
}

/// Runs `body` on a stack of its own; what it panics with is returned.
fn on_own_stack(body: impl FnOnce()) -> Result<(), Box<dyn Any + Send>> {
    let stack = corosensei::stack::DefaultStack::new(STACK_BYTES).expect("memory for a stack");
    corosensei::on_stack(stack, || catch_unwind(AssertUnwindSafe(body)))
}

impl Machine for WeakMemory {
    type Line = ();
    type Core = WeakCore;
    const KEEPS_OPAQUE: bool = true;
    const MODELLED: bool = true;
    // As natively: what is checked here is what runs there.
    const PREEMPTS: bool = true;
    const MINIATURE: bool = true;

    fn arena(&self) -> &Arc<Arena> {
        &self.arena
    }

    fn clock_hz(&self) -> u64 {
        1_000_000_000
    }

    fn run<'a>(
        &self,
        workers: Vec<Body<'a, Self>>,
        services: Vec<Service<'a, Self>>,
    ) -> Result<(), RunError> {
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
            // SAFETY: what a body borrows lives for 'a. Every thread is joined before this function returns;
            // if loom gives an execution up it unwinds them all, and says so in a failed test.
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
