//! NO_WAIT: two-phase locking in which a conflict aborts the requester at once.
//!
//! Source: Bernstein and Goodman 1981 (two-phase locking without waiting); Abyss 2.1. The lock is one word
//! in the record, a writer bit or a count of readers, as Trireme 3.2 describes. Nobody waits, so there is no
//! queue, no timestamp and no dead-lock.
//! Deviations: buffered writes, see [`crate::parts::two_phase_locking`].

use crate::{
    Declaration, Isolation, ProtocolOptions, Start,
    parts::two_phase_locking::{Locks, Mode, TwoPhaseLocking},
};
use machine::{Arena, Core, Machine, OutOfMemory, Word, cold::Arc};
use storage::RecordRef;
use txn::{Abort, AbortReason};

/// The protocol.
pub type NoWait = TwoPhaseLocking<CountedLocks>;

/// The lock word of a writer; anything less is a number of readers.
const WRITER: u64 = 1 << 63;

/// One word per record: a writer bit, or the number of readers.
pub struct CountedLocks;

fn conflict() -> Abort {
    Abort::because(AbortReason::LockConflict)
}

impl<M: Machine> Locks<M> for CountedLocks {
    type Record = Word;
    type Held = Mode;
    type Owner = ();

    fn declare(_: &ProtocolOptions) -> Declaration {
        Declaration {
            name: "NO_WAIT",
            summary: "two-phase locking; a conflict aborts the requester at once",
            source: "Abyss 2.1; Trireme 3.2",
            isolation: Isolation::Serializable,
            strict: true,
        }
    }

    fn create(_: &Arc<Arena>, _: &ProtocolOptions, _: usize) -> Result<Self, OutOfMemory> {
        Ok(CountedLocks)
    }

    fn owner(&self, _: usize) {}

    #[inline(always)]
    fn begin(&self, _: &M::Core, _: &mut (), _: Start) {}

    #[inline(always)]
    fn acquire(
        &self,
        core: &M::Core,
        _: &mut (),
        record: &RecordRef<'_, M, Word>,
        mode: Mode,
    ) -> Result<Mode, Abort> {
        let (line, lock) = (record.line(), record.cc());
        let mut seen = core.load(line, lock);
        loop {
            // Tested before it is tried: an exchange that fails still takes the line.
            let wanted = match mode {
                Mode::Exclusive if seen == 0 => WRITER,
                Mode::Shared if seen != WRITER => seen + 1,
                _ => return Err(conflict()),
            };
            match core.cas(line, lock, seen, wanted) {
                Ok(_) => return Ok(mode),
                Err(now) => seen = now,
            }
        }
    }

    fn upgrade(
        &self,
        core: &M::Core,
        _: &mut (),
        record: &RecordRef<'_, M, Word>,
        held: &mut Mode,
    ) -> Result<(), Abort> {
        // Only the one reader that is us may turn into a writer.
        core.cas(record.line(), record.cc(), 1, WRITER).map_err(|_| conflict())?;
        *held = Mode::Exclusive;
        Ok(())
    }

    #[inline(always)]
    fn release(&self, core: &M::Core, _: &mut (), record: &RecordRef<'_, M, Word>, held: Mode) {
        match held {
            Mode::Exclusive => core.store(record.line(), record.cc(), 0),
            Mode::Shared => {
                core.fetch_add(record.line(), record.cc(), u64::MAX);
            }
        }
    }

    #[inline(always)]
    fn mode(held: &Mode) -> Mode {
        *held
    }
}
