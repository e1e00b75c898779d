//! A core of the machine. It uses the memory orders of the native core, on loom's atomics.

use crate::{machine::Memory, model::Fault};
use loom::{
    sync::atomic::{AtomicU64, fence},
    thread,
};
use machine::{Breakdown, Core, NEVER, TimedOut, Word};
use std::sync::{Arc, atomic::Ordering};

/// One core. Its memory orders are those of [`machine::NativeCore`], one by one.
pub struct WeakCore {
    id: usize,
    memory: Arc<Memory>,
    breakdown: Breakdown,
}

impl WeakCore {
    pub(crate) fn new(id: usize, memory: Arc<Memory>) -> WeakCore {
        WeakCore { id, memory, breakdown: Breakdown::new(false) }
    }

    /// Applies `modelled` to the atomic that stands for the word. Applies `plain` to the word itself if no
    /// other core runs.
    #[inline]
    fn on<T>(
        &self,
        word: &Word,
        modelled: impl FnOnce(&AtomicU64) -> T,
        plain: impl FnOnce(&Word) -> T,
    ) -> T {
        match self.memory.modelled(word) {
            Some(atomic) => modelled(&atomic),
            None => plain(word),
        }
    }

    fn load_as(&self, word: &Word, order: Ordering) -> u64 {
        self.on(word, |atomic| atomic.load(order), Word::peek)
    }

    fn store_as(&self, word: &Word, value: u64, order: Ordering) {
        self.on(word, |atomic| atomic.store(value, order), |word| word.poke(value));
    }
}

impl Core for WeakCore {
    type Line = ();

    // The same as on the native machine, so that the checked code is the code that runs there.
    fn overtakes(&self) -> bool {
        true
    }

    fn id(&self) -> usize {
        self.id
    }

    fn load(&self, (): &(), word: &Word) -> u64 {
        self.load_as(word, Ordering::Acquire)
    }

    fn load_relaxed(&self, (): &(), word: &Word) -> u64 {
        self.load_as(word, Ordering::Relaxed)
    }

    fn load_const(&self, (): &(), word: &Word) -> u64 {
        word.peek()
    }

    fn load_uncharged(&self, word: &Word) -> u64 {
        self.load_as(word, Ordering::Acquire)
    }

    fn store(&self, (): &(), word: &Word, value: u64) {
        let weak = self.memory.has(Fault::RelaxedStores);
        self.store_as(word, value, if weak { Ordering::Relaxed } else { Ordering::Release });
    }

    fn store_relaxed(&self, (): &(), word: &Word, value: u64) {
        self.store_as(word, value, Ordering::Relaxed);
    }

    fn cas(&self, (): &(), word: &Word, expected: u64, desired: u64) -> Result<u64, u64> {
        self.on(
            word,
            |atomic| {
                atomic.compare_exchange(expected, desired, Ordering::AcqRel, Ordering::Acquire)
            },
            |word| {
                let orders = (Ordering::Relaxed, Ordering::Relaxed);
                word.atomic().compare_exchange(expected, desired, orders.0, orders.1)
            },
        )
    }

    fn swap(&self, (): &(), word: &Word, value: u64) -> u64 {
        self.on(
            word,
            |atomic| atomic.swap(value, Ordering::AcqRel),
            |word| word.atomic().swap(value, Ordering::Relaxed),
        )
    }

    fn fetch_add(&self, (): &(), word: &Word, value: u64) -> u64 {
        self.on(
            word,
            |atomic| atomic.fetch_add(value, Ordering::AcqRel),
            |word| word.atomic().fetch_add(value, Ordering::Relaxed),
        )
    }

    fn fence_acquire(&self) {
        fence(Ordering::Acquire);
    }

    fn fence_release(&self) {
        if !self.memory.has(Fault::NoFences) {
            fence(Ordering::Release);
        }
    }

    fn fence(&self) {
        if !self.memory.has(Fault::NoFences) {
            // The same as on the native machine: SeqCst, because earlier stores must be visible before later
            // loads.
            fence(Ordering::SeqCst);
        }
    }

    fn wait_while_until(
        &self,
        line: &(),
        word: &Word,
        deadline: u64,
        mut condition: impl FnMut(u64) -> bool,
    ) -> Result<u64, TimedOut> {
        loop {
            let value = self.load(line, word);
            if !condition(value) {
                return Ok(value);
            }
            // A wait with a deadline can time out at any moment.
            if deadline != NEVER {
                return Err(TimedOut);
            }
            thread::yield_now();
        }
    }

    fn copy_out(&self, (): &(), _: usize, words: &[Word], into: &mut [u8]) {
        for (bytes, word) in into.chunks_mut(8).zip(words) {
            let value = self.load_as(word, Ordering::Relaxed).to_le_bytes();
            bytes.copy_from_slice(&value[..bytes.len()]);
        }
    }

    fn copy_in(&self, (): &(), _: usize, words: &[Word], from: &[u8]) {
        for (bytes, word) in from.chunks(8).zip(words) {
            let mut value = [0; 8];
            value[..bytes.len()].copy_from_slice(bytes);
            self.store_as(word, u64::from_le_bytes(value), Ordering::Relaxed);
        }
    }

    fn touch(&self, (): &(), _: usize, _: usize, _: bool) {}

    fn copied(&self, _: usize) {}

    fn compute(&self, _: u64) {}

    fn pause(&self, _: u64) {
        thread::yield_now();
    }

    fn now(&self) -> u64 {
        self.memory.tick()
    }

    fn ticks_per_second(&self) -> u64 {
        1_000_000_000
    }

    fn prefetch(&self, _: *const u8, _: usize) {}

    fn breakdown(&self) -> &Breakdown {
        &self.breakdown
    }
}
