//! TICTOC: optimistic concurrency control with a commit timestamp computed from the records accessed.
//!
//! Source: Yu, Pavlo, Sanchez and Devadas, SIGMOD 2016, sections 3 and 4.1 (the word).
//!
//! Every version is valid from `wts` to `rts`. A transaction chooses the least timestamp at which all that it read
//! is valid and all that it writes is new. It extends the `rts` of what it read up to that timestamp, and installs
//! its writes. Reading, writing and installing are those of [`Optimistic`].
//!
//! TICTOC is serializable but not strict: a transaction that only read old versions can be ordered before one that
//! had ended when it began.
//!
//! Option: `commit-locks`. A write lock that another transaction holds is refused, as in section 5.1, or waited
//! for.
//!
//! Deviation: a read waits for a locked record. The record's owner does not wait for the reader.

use crate::{
    CommitLocks, Declaration, Delegated, Isolation, ProtocolOptions, faults,
    mechanisms::{
        footprint::Footprint,
        optimistic::{Optimistic, Rules},
        tid_word::TidRecord,
        timestamp_floor::TimestampFloor,
        validity_word::{LOCKED, extended, load, raise, rts, times, wts},
    },
};
use machine::{Arena, Core, Machine, OutOfMemory, Word, Zeroed, cold::Arc};
use storage::{Epochs, GuardRef, RecordRef};
use txn::{Abort, AbortReason};

/// The TICTOC protocol.
pub type TicToc<M> = Optimistic<TicTocRules<M>>;

/// TICTOC's rules for validation.
pub struct TicTocRules<M: Machine> {
    floor: TimestampFloor<M>,
    commit_locks: CommitLocks,
}

/// A [validity word](crate::mechanisms::validity_word).
#[repr(transparent)]
pub struct TicTocWord(Word);

// SAFETY: a word, for which zero is a valid value.
unsafe impl Zeroed for TicTocWord {}

impl TidRecord for TicTocWord {
    const LOCKED: u64 = LOCKED;
    const OUTLASTS: bool = true;

    #[inline(always)]
    fn word(&self) -> &Word {
        &self.0
    }

    #[inline(always)]
    fn is_overwritten(read: u64, now: u64) -> bool {
        wts(now) != wts(read)
    }
}

fn invalid() -> Abort {
    Abort::because(AbortReason::Validation)
}

impl<M: Machine> TicTocRules<M> {
    /// Checks that everything read is still valid at `timestamp`, and extends its validity where needed.
    fn validate(
        core: &M::Core,
        sets: &Footprint<'_, M, TicTocWord>,
        timestamp: u64,
    ) -> Result<(), Abort> {
        for read in &sets.reads {
            if rts(read.word) >= timestamp {
                continue;
            }
            let (line, word) = (read.record.line(), &read.record.cc().0);
            let own = sets.writes.find(&read.record).is_some();
            let mut now = core.load(line, word);
            loop {
                if wts(now) != wts(read.word) {
                    return Err(invalid());
                }
                if own || rts(now) >= timestamp {
                    break;
                }
                let is_locked = now & LOCKED != 0;
                if is_locked && !core.is_planted(faults::TICTOC_EXTENDS_LOCKED) {
                    return Err(invalid());
                }
                match core.cas(line, word, now, extended(now, timestamp)) {
                    Ok(_) => break,
                    Err(changed) => now = changed,
                }
            }
        }
        Ok(())
    }

    /// Checks that the scanned ranges are valid at `timestamp`, and makes sure that no transaction inserts there
    /// below it.
    fn validate_ranges(
        core: &M::Core,
        sets: &Footprint<'_, M, TicTocWord>,
        timestamp: u64,
    ) -> Result<(), Abort> {
        for guard in sets.leaves.guards() {
            let is_older = wts(load(core, guard)) > timestamp;
            if is_older && !core.is_planted(faults::TICTOC_OLDER_THAN_ABSENCE) {
                return Err(Abort::because(AbortReason::Phantom));
            }
            raise(core, guard, (0, timestamp));
        }
        // An insertion has been counted by now, or will find the times just raised.
        core.fence();
        sets.leaves.validate(core)
    }
}

impl<M: Machine> Rules<M> for TicTocRules<M> {
    const DELEGATED: Delegated = Delegated::Validation;
    type Words = TicTocWord;
    type Own<'s>
        = ()
    where
        M: 's;

    fn declare() -> Declaration {
        Declaration {
            name: "TICTOC",
            summary: "optimistic; commit timestamps computed from the records accessed, reads extended",
            source: "Yu et al., SIGMOD 2016; Full story 2.1",
            isolation: Isolation::Serializable,
            strict: false,
            one_site: None,
        }
    }

    fn knobs() -> &'static [&'static str] {
        &["commit-locks", "commit-updates"]
    }

    fn create(
        arena: &Arc<Arena>,
        options: &ProtocolOptions,
        _: usize,
    ) -> Result<Self, OutOfMemory> {
        let floor = TimestampFloor::new(arena)?;
        let commit_locks = options.commit_locks.unwrap_or(<Self as Rules<M>>::COMMIT_LOCKS);
        Ok(TicTocRules { floor, commit_locks })
    }

    fn own<'s>(&'s self, _: &'s Epochs<M>, _: usize) {}

    #[inline]
    fn prepare<'s>(
        &'s self,
        core: &M::Core,
        (): &mut (),
        sets: &mut Footprint<'s, M, TicTocWord>,
    ) -> Result<u64, Abort> {
        if core.is_planted(faults::VALIDATION_SKIPPED) {
            return Ok(0);
        }
        if self.commit_locks.sorts() {
            sets.writes.sort();
        }
        let mut timestamp = 0;
        sets.lock_writes(core, self.commit_locks, |before| {
            timestamp = timestamp.max(rts(before) + 1);
        })?;
        // The locks must be visible before anything read is validated.
        core.fence();
        timestamp = sets.reads.iter().map(|read| wts(read.word)).fold(timestamp, u64::max);
        if !core.is_planted(faults::TICTOC_OLDER_THAN_ABSENCE) {
            let absences = sets.leaves.guards().map(|guard| wts(load(core, guard)));
            timestamp = absences.fold(timestamp, u64::max);
        }
        Self::validate(core, sets, timestamp)?;
        Self::validate_ranges(core, sets, timestamp)?;
        Ok(timestamp)
    }

    /// Returns `timestamp`, because reads have been extended to it.
    #[inline(always)]
    fn valid_through(timestamp: u64) -> Option<u64> {
        Some(timestamp)
    }

    fn confirm<'s>(
        &'s self,
        core: &M::Core,
        sets: &mut Footprint<'s, M, TicTocWord>,
        timestamp: u64,
    ) -> Result<(), Abort> {
        Self::validate(core, sets, timestamp)?;
        Self::validate_ranges(core, sets, timestamp)
    }

    fn first_word(
        &self,
        core: &M::Core,
        guard: Option<GuardRef<'_, M, TicTocWord>>,
    ) -> Option<u64> {
        // The key has been absent since the last record left the range, and every scan of the range has seen it
        // absent.
        Some(guard.map_or_else(|| self.floor.get(core), |guard| load(core, guard)))
    }

    fn pass_on(
        &self,
        core: &M::Core,
        from: GuardRef<'_, M, TicTocWord>,
        to: GuardRef<'_, M, TicTocWord>,
    ) {
        raise(core, to, times(load(core, from)));
    }

    fn retire(
        &self,
        core: &M::Core,
        record: &RecordRef<'_, M, TicTocWord>,
        guard: Option<GuardRef<'_, M, TicTocWord>>,
    ) {
        let word = core.load(record.line(), &record.cc().0);
        match guard {
            None => self.floor.raise(core, rts(word)),
            Some(guard) => raise(core, guard, times(word)),
        }
    }
}
