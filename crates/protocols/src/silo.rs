//! SILO: optimistic concurrency control, validated record by record, without a shared counter.
//!
//! Source: Tu, Zheng, Kohler, Liskov and Madden, SOSP 2013, sections 4.2 to 4.6.
//!
//! A transaction reads without writing shared memory. It commits in three phases:
//!
//! 1. Lock the write set in name order.
//! 2. Read the epoch between two fences, and validate. Every record read must have the TID that it had and must not
//!    be locked by another transaction. No scanned leaf may have gained a record (4.6).
//! 3. Install the writes with a TID in that epoch that is larger than all TIDs met.
//!
//! Reading, writing and installing are those of [`Optimistic`].
//!
//! Option: `commit-locks`. SILO waits for a record that another transaction is committing, as published, or
//! refuses. With bounded waiting it locks the write set unsorted.
//!
//! Deviations:
//!
//! - The only status bit of the TID word is the lock bit: there is one version per record, and there are no
//!   snapshots.
//! - The presence of a row is a word of its own.

use crate::{
    CommitLocks, Declaration, Delegated, Isolation, ProtocolOptions, faults,
    mechanisms::{
        footprint::Footprint,
        optimistic::{End, Optimistic, Rules},
        tid_word::{self, TidRecord},
    },
};
use machine::{Arena, Core, Machine, OutOfMemory, Word, Zeroed, cold::Arc};
use storage::Epochs;
use txn::Abort;

/// The SILO protocol.
pub type Silo = Optimistic<SiloRules>;

/// SILO's rules for validation.
pub struct SiloRules {
    commit_locks: CommitLocks,
}

/// The TID word.
#[repr(transparent)]
pub struct TidWord(Word);

// SAFETY: a word, for which zero is a valid value.
unsafe impl Zeroed for TidWord {}

impl TidRecord for TidWord {
    #[inline(always)]
    fn word(&self) -> &Word {
        &self.0
    }
}

/// State of a session.
pub struct Own<'s, M: Machine> {
    epochs: &'s Epochs<M>,
    /// The last TID that the session chose.
    last_tid: u64,
}

impl<M: Machine> Rules<M> for SiloRules {
    const DELEGATED: Delegated = Delegated::Validation;
    type Words = TidWord;
    type Own<'s>
        = Own<'s, M>
    where
        M: 's;

    fn declare() -> Declaration {
        Declaration {
            name: "SILO",
            summary: "optimistic; validates TID words at commit, epochs instead of a shared counter",
            source: "Tu et al., SOSP 2013; Full story 2.1",
            isolation: Isolation::Serializable,
            strict: true,
            one_site: None,
        }
    }

    fn knobs() -> &'static [&'static str] {
        &["commit-locks", "commit-updates"]
    }

    fn create(_: &Arc<Arena>, options: &ProtocolOptions, _: usize) -> Result<Self, OutOfMemory> {
        Ok(SiloRules {
            commit_locks: options.commit_locks.unwrap_or(<Self as Rules<M>>::COMMIT_LOCKS),
        })
    }

    fn own<'s>(&'s self, epochs: &'s Epochs<M>, _: usize) -> Own<'s, M> {
        Own { epochs, last_tid: 0 }
    }

    #[inline]
    fn prepare<'s>(
        &'s self,
        core: &M::Core,
        own: &mut Own<'s, M>,
        sets: &mut Footprint<'s, M, TidWord>,
    ) -> Result<u64, Abort> {
        if self.commit_locks.sorts() && !core.is_planted(faults::UNSORTED_WRITE_LOCKS) {
            sets.writes.sort();
        }
        let early = core.is_planted(faults::SILO_EARLY_EPOCH).then(|| own.epochs.current(core));
        let mut newest = own.last_tid;
        sets.lock_writes(core, self.commit_locks, |tid| newest = newest.max(tid))?;
        // The serialization point: every lock is held before the epoch is read, and the epoch is read before
        // anything is validated.
        core.fence();
        let epoch = early.unwrap_or_else(|| own.epochs.current(core));
        core.fence();
        sets.validate(core)?;
        Ok(tid_word::next_tid(epoch, sets.newest_read(newest)))
    }

    #[inline]
    fn ended<'s>(
        &'s self,
        _: &M::Core,
        own: &mut Own<'s, M>,
        sets: &Footprint<'s, M, TidWord>,
        end: End,
    ) {
        match end {
            End::Committed(tid) if !sets.writes.is_empty() => own.last_tid = tid,
            End::Committed(_) | End::Aborted => {}
        }
    }

    fn epoch_of(commit_timestamp: u64) -> Option<u64> {
        Some(tid_word::epoch_of(commit_timestamp))
    }
}
