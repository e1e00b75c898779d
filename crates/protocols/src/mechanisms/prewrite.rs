//! Announced writes (prewrites) of timestamp ordering, and the operations that come too late.
//!
//! Source: Bernstein and Goodman 1981; Abyss 2.2. A record carries at most one write that is
//! announced and not decided (`pending`), under a latch. A later transaction waits until that write
//! is decided. An earlier transaction is refused an operation that would change what later ones
//! have seen. Waits go from later to earlier timestamps only, so they form no deadlock cycle.

use super::{
    announced_writes::Announces,
    queue_latch::{LatchNodes, Latcher},
    range_times::Timed,
};
use machine::{Core, Machine, Word};
use storage::RecordRef;
use txn::{Abort, AbortReason};

/// A record that carries announced writes.
pub trait Prewritten: Timed {
    /// Returns the latch over its timestamps.
    fn latch_word(&self) -> &Word;
    /// Returns the timestamp of the write that is announced and not decided; 0 if there is none.
    fn pending(&self) -> &Word;
}

/// A session's timestamp and its access to the latches.
pub struct Prewriter<M: Machine> {
    /// Timestamp of the running transaction.
    pub timestamp: u64,
    /// Acquires and releases latches. Public for other words under latches of this kind.
    pub latcher: Latcher<M>,
}

/// Returns the abort of an operation that comes too late for its timestamp.
pub fn too_late() -> Abort {
    Abort::because(AbortReason::TimestampOrder)
}

impl<M: Machine> Prewriter<M> {
    /// Creates the prewriter of session number `session`, with no timestamp yet.
    pub fn new(latches: &LatchNodes, session: usize) -> Prewriter<M> {
        Prewriter { timestamp: 0, latcher: latches.latcher(session) }
    }

    /// Acquires the record's latch.
    pub fn latch<C: Prewritten>(&self, core: &M::Core, record: &RecordRef<'_, M, C>) {
        self.latcher.latch(core, record.line(), record.cc().latch_word());
    }

    /// Waits until no earlier transaction's prewrite is undecided, and returns with the record
    /// latched. Returns the timestamp of the prewrite that is there: 0 for none, the session's own,
    /// or a later one.
    pub fn latch_decided<C: Prewritten>(
        &self,
        core: &M::Core,
        record: &RecordRef<'_, M, C>,
    ) -> u64 {
        let (line, announced) = (record.line(), record.cc().pending());
        loop {
            self.latch(core, record);
            let pending = core.load_relaxed(line, announced);
            if pending == 0 || pending >= self.timestamp {
                return pending;
            }
            self.unlatch(core, record);
            core.wait_while(line, announced, |now| now == pending);
        }
    }

    /// Latches the record for a write. Returns an error without the latch if the write comes too
    /// late.
    pub fn latch_for_write<C: Prewritten>(
        &self,
        core: &M::Core,
        record: &RecordRef<'_, M, C>,
    ) -> Result<(), Abort> {
        let (line, times) = (record.line(), record.cc());
        let pending = self.latch_decided(core, record);
        let late = pending > self.timestamp
            || core.load_relaxed(line, times.rts()) > self.timestamp
            || core.load_relaxed(line, times.wts()) > self.timestamp;
        if late {
            self.unlatch(core, record);
            return Err(too_late());
        }
        Ok(())
    }

    /// Raises the record's `rts` to the transaction's timestamp. Called with the record latched.
    pub fn mark_read<C: Prewritten>(&self, core: &M::Core, record: &RecordRef<'_, M, C>) {
        let (line, rts) = (record.line(), record.cc().rts());
        if core.load_relaxed(line, rts) < self.timestamp {
            core.store_relaxed(line, rts, self.timestamp);
        }
    }
}

impl<M: Machine, C: Prewritten> Announces<M, C> for Prewriter<M> {
    fn announce(&self, core: &M::Core, record: &RecordRef<'_, M, C>) {
        core.store_relaxed(record.line(), record.cc().pending(), self.timestamp);
    }

    fn withdraw(&self, core: &M::Core, record: &RecordRef<'_, M, C>) {
        let (line, pending) = (record.line(), record.cc().pending());
        core.store(line, pending, 0);
        core.wake(line, pending);
    }

    fn miss(&self, core: &M::Core, record: &RecordRef<'_, M, C>) {
        self.mark_read(core, record);
    }

    fn unlatch(&self, core: &M::Core, record: &RecordRef<'_, M, C>) {
        self.latcher.unlatch(core, record.line(), record.cc().latch_word());
    }
}
