//! Epochs: what can still be seen, and so what memory may be used again.
//!
//! One global epoch moves on while every worker inside a transaction has seen it (as in SILO 4.1: no
//! worker is ever more than one epoch behind). A record taken out of its index in epoch `e` is out of
//! everybody's reach once the epoch is `e + 2`. SILO takes its commit epochs from the same counter.

use machine::{Arena, Core, Machine, OutOfMemory, Place, Shared, Word, Zeroed, cold::Arc};

#[repr(C, align(64))]
struct Slot<M: Machine> {
    line: M::Line,
    word: Word,
}

// SAFETY: a line and a word, both valid as zeros.
unsafe impl<M: Machine> Zeroed for Slot<M> {}

/// A worker that is not inside a transaction.
const IDLE: u64 = 0;

/// The epochs of one store.
pub struct Epochs<M: Machine> {
    global: Shared<Slot<M>>,
    locals: Vec<Shared<Slot<M>>>,
}

/// The epoch in which a transaction began. The pin belongs to the transaction, not to its thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pin {
    /// The epoch seen at the start.
    pub epoch: u64,
}

impl<M: Machine> Epochs<M> {
    /// Epochs for `slots` sessions, in `arena`.
    pub fn new(arena: &Arc<Arena>, slots: usize) -> Result<Epochs<M>, OutOfMemory> {
        let global: Shared<Slot<M>> = arena.place(Place::Any)?;
        // Epoch 0 means idle, so the first one is 1.
        global.word.poke(1);
        let locals = (0..slots).map(|_| arena.place(Place::Any)).collect::<Result<_, _>>()?;
        Ok(Epochs { global, locals })
    }

    /// Enters the current epoch on behalf of session `slot`: from here on nothing that the session can
    /// reach is given back.
    #[inline]
    pub fn pin(&self, core: &M::Core, slot: usize) -> Pin {
        let epoch = core.load(&self.global.line, &self.global.word);
        let local = &self.locals[slot];
        core.store(&local.line, &local.word, epoch);
        // The pin must be visible before anything is looked up, or the epoch could pass us by.
        core.fence();
        Pin { epoch }
    }

    /// Leaves.
    #[inline]
    pub fn unpin(&self, core: &M::Core, slot: usize) {
        let local = &self.locals[slot];
        core.store(&local.line, &local.word, IDLE);
    }

    /// The current epoch.
    #[inline]
    pub fn current(&self, core: &M::Core) -> u64 {
        core.load(&self.global.line, &self.global.word)
    }

    /// Moves on if every pinned session has seen the current epoch. Returns the epoch then current.
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

    /// True when what was taken out of reach in `epoch` may be used again.
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
