//! The shared 64-bit word.

use std::sync::atomic::{AtomicU64, Ordering};

/// A 64-bit word of shared memory.
///
/// It is an atomic on every machine: on the modelled ones only one OS thread runs, so relaxed loads and
/// stores (plain `mov`s) are all they need. Touch it through a [`Core`](crate::Core) during a run.
#[repr(transparent)]
#[derive(Default, Debug)]
pub struct Word(AtomicU64);

impl Word {
    /// A word that holds `value`.
    pub const fn new(value: u64) -> Word {
        Word(AtomicU64::new(value))
    }

    /// The atomic itself, for implementations of [`Core`](crate::Core).
    #[inline(always)]
    pub fn atomic(&self) -> &AtomicU64 {
        &self.0
    }

    /// The value, outside a run or where no cost and no order is wanted (loaders, checkers, metrics).
    #[inline(always)]
    pub fn peek(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }

    /// Sets the value, outside a run.
    #[inline(always)]
    pub fn poke(&self, value: u64) {
        self.0.store(value, Ordering::Relaxed);
    }

    /// Makes 1 of 0; false if it was not 0. At no cost, for checks that what the word stands for is
    /// taken once at a time. Who takes it sees what was done until [`Word::give_back`].
    pub fn take(&self) -> bool {
        self.0.swap(1, Ordering::Acquire) == 0
    }

    /// Undoes [`Word::take`].
    pub fn give_back(&self) {
        self.0.store(0, Ordering::Release);
    }
}

/// Types for which memory full of zeros is a valid value, so that they may live in an
/// [`Arena`](crate::Arena) page that nobody has touched yet.
///
/// # Safety
/// All-zero bytes must be a valid value, and the type must not need dropping.
pub unsafe trait Zeroed {}

// SAFETY: zero is a valid atomic integer.
unsafe impl Zeroed for Word {}
// SAFETY: a unit has no bytes.
unsafe impl Zeroed for () {}
// SAFETY: an array of values that may be all zeros may be all zeros.
unsafe impl<T: Zeroed, const N: usize> Zeroed for [T; N] {}
