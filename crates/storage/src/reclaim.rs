//! Epochs: they decide when memory that has left an index can be reused.
//!
//! A session pins the current epoch while it is inside a transaction. The global epoch advances only when every pinned
//! session has seen the current epoch (as in SILO 4.1: no worker is ever more than one epoch behind). SILO takes its
//! commit epochs from the same counter.
//!
//! The rule for reuse: a record that leaves its index in epoch `e` can be reused once the epoch is `e + 2`. Why this
//! is safe: a session that still holds the record found it before it left the index, so the session is pinned in epoch
//! `e` or an earlier one. While it stays pinned in `e`, the epoch can become `e + 1`, but not `e + 2`. A session that
//! pins later finds the record in no index.
//!
//! The proof needs one fence on each side. [`Epochs::pin`] makes the pin visible before the session looks anything up.
//! [`Epochs::try_advance`] reads the epoch before it reads the pins.

use machine::{Arena, Core, Machine, OutOfMemory, Place, Shared, Word, Zeroed, cold::Arc};

#[repr(C, align(64))]
/// Word on a line of its own. It is aligned to 64 bytes, so sessions do not share a cache line.
pub(crate) struct LoneWord<M: Machine> {
    pub line: M::Line,
    pub word: Word,
}

// SAFETY: the type consists of a line and a word, and zeros are valid for both.
unsafe impl<M: Machine> Zeroed for LoneWord<M> {}

/// Value of a session's word while the session is not inside a transaction.
const IDLE: u64 = 0;

/// Epochs of one store.
pub struct Epochs<M: Machine> {
    /// Current epoch. It only grows, one step at a time.
    global: Shared<LoneWord<M>>,
    /// Epoch that each session has pinned, or [`IDLE`]. A pinned epoch that is not the current one stops the epoch
    /// from advancing.
    locals: Vec<Shared<LoneWord<M>>>,
}

/// Epoch in which a transaction began. The pin belongs to the transaction and not to its thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pin {
    /// Epoch that was current at the start.
    pub epoch: u64,
}

impl<M: Machine> Epochs<M> {
    /// Makes the epochs for `sessions` sessions, in `arena`.
    pub fn new(arena: &Arc<Arena>, sessions: usize) -> Result<Epochs<M>, OutOfMemory> {
        let global: Shared<LoneWord<M>> = arena.place(Place::Any)?;
        // Epoch 0 means idle, so the first epoch is 1.
        global.word.poke(1);
        let local = |session| arena.place(arena.beside(session));
        let locals = (0..sessions).map(local).collect::<Result<_, _>>()?;
        Ok(Epochs { global, locals })
    }

    /// Pins the current epoch for session number `session`. From here on no memory that the session can reach is reused.
    #[inline]
    pub fn pin(&self, core: &M::Core, session: usize) -> Pin {
        let epoch = core.load(&self.global.line, &self.global.word);
        let local = &self.locals[session];
        core.store(&local.line, &local.word, epoch);
        // The pin must be visible before the session looks anything up. Otherwise the epoch could advance without
        // noticing the pin.
        core.fence();
        Pin { epoch }
    }

    /// Releases the pin of session number `session`.
    #[inline]
    pub fn unpin(&self, core: &M::Core, session: usize) {
        let local = &self.locals[session];
        core.store(&local.line, &local.word, IDLE);
    }

    /// Returns the current epoch.
    #[inline]
    pub fn current(&self, core: &M::Core) -> u64 {
        core.load(&self.global.line, &self.global.word)
    }

    /// Advances the epoch if every pinned session has seen the current epoch. Returns the epoch that is current
    /// afterwards.
    pub fn try_advance(&self, core: &M::Core) -> u64 {
        let epoch = core.load(&self.global.line, &self.global.word);
        core.fence();
        for local in &self.locals {
            let seen = core.load(&local.line, &local.word);
            if seen != IDLE && seen != epoch {
                return epoch;
            }
        }
        match core.cas(&self.global.line, &self.global.word, epoch, epoch + 1) {
            Ok(_) => epoch + 1,
            Err(now) => now,
        }
    }

    /// Returns true if memory that was retired in `epoch` can be reused in epoch `now`.
    #[inline]
    pub fn is_past(epoch: u64, now: u64) -> bool {
        now >= epoch + 2
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use machine::{Native, NativeOptions};

    #[test]
    fn an_epoch_waits_for_the_pinned() {
        let machine = Native::new(NativeOptions::default()).unwrap();
        let epochs = Epochs::<Native>::new(machine.arena(), 2).unwrap();
        let core = machine.core(0);
        let pin = epochs.pin(&core, 0);
        assert_eq!(epochs.try_advance(&core), pin.epoch + 1);
        assert_eq!(epochs.try_advance(&core), pin.epoch + 1);
        assert!(!Epochs::<Native>::is_past(pin.epoch, pin.epoch + 1));
        epochs.unpin(&core, 0);
        assert_eq!(epochs.try_advance(&core), pin.epoch + 2);
        assert!(Epochs::<Native>::is_past(pin.epoch, pin.epoch + 2));
    }
}
