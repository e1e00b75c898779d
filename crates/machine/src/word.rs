//! The shared 64-bit word.

use std::sync::atomic::{AtomicU64, Ordering};

/// A 64-bit word of shared memory.
///
/// It is an atomic on every machine. On the modelled machines only one OS thread runs, so relaxed loads and
/// stores (plain `mov` instructions) suffice there. During a run it must be accessed through a
/// [`Core`](crate::Core).
#[repr(transparent)]
#[derive(Default, Debug)]
pub struct Word(AtomicU64);

impl Word {
    /// Makes a word that holds `value`.
    pub const fn new(value: u64) -> Word {
        Word(AtomicU64::new(value))
    }

    /// Returns the atomic itself, for implementations of [`Core`](crate::Core).
    #[inline(always)]
    pub fn atomic(&self) -> &AtomicU64 {
        &self.0
    }

    /// Returns the value, outside a run or if neither cost nor order is wanted (loaders, checkers, metrics).
    #[inline(always)]
    pub fn peek(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }

    /// Sets the value, outside a run.
    #[inline(always)]
    pub fn poke(&self, value: u64) {
        self.0.store(value, Ordering::Relaxed);
    }

    /// Changes the word from 0 to 1. Returns false if it was not 0. The call costs nothing on any machine. It
    /// is for checks that only one core at a time uses the object that the word stands for. A core that takes
    /// the word sees everything that was done before [`Word::give_back`].
    pub fn take(&self) -> bool {
        self.0.swap(1, Ordering::Acquire) == 0
    }

    /// Reverses [`Word::take`].
    pub fn give_back(&self) {
        self.0.store(0, Ordering::Release);
    }
}

/// A type for which all-zero memory is a valid value. Such a value can live in an [`Arena`](crate::Arena) page
/// that was never touched.
///
/// # Safety
/// All-zero bytes must be a valid value, and the type must not need dropping.
pub unsafe trait Zeroed {}

// SAFETY: zero is a valid atomic integer.
unsafe impl Zeroed for Word {}
// SAFETY: a unit has no bytes.
unsafe impl Zeroed for () {}
// SAFETY: an array of values that can be all zeros can be all zeros.
unsafe impl<T: Zeroed, const N: usize> Zeroed for [T; N] {}
