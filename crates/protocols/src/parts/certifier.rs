//! What a transaction under snapshot isolation must fulfil beyond that, to be serializable for example.

use super::{
    announcement::Announcer, commit_clock::CommitClock, version_times::Times, write_set::WriteSet,
};
use crate::Declaration;
use machine::Machine;
use storage::{GuardRef, RecordRef};
use txn::Abort;

/// A transaction that is about to commit, as its certifier sees it.
pub struct Candidate<'a, 's, M: Machine> {
    /// Its commit stamp.
    pub stamp: u64,
    /// Its session and its snapshot.
    pub announcer: &'a Announcer<M>,
    /// What it is going to write, all of it marked.
    pub writes: &'a WriteSet<'s, M, Times>,
    /// The stamps of others.
    pub clock: &'a CommitClock<M>,
}

/// What a transaction must fulfil beyond snapshot isolation: nothing, where nothing else is said.
pub trait Certifier<M: Machine>: Send + Sync + 'static {
    /// What it keeps of a transaction.
    type Stamps<'s>: Default + Send
    where
        M: 's;

    /// Transactions that only read must be certified too.
    const ASKS_READERS: bool = false;

    /// The protocol with this certifier.
    fn declare() -> Declaration;

    /// A version is read at `begin`, under the record's latch.
    #[inline(always)]
    fn read<'s>(
        core: &M::Core,
        stamps: &mut Self::Stamps<'s>,
        record: RecordRef<'s, M, Times>,
        begin: u64,
    ) -> Result<(), Abort> {
        let _ = (core, stamps, record, begin);
        Ok(())
    }

    /// As [`crate::Protocol::scan`].
    fn scan<'s>(core: &M::Core, stamps: &mut Self::Stamps<'s>, guard: GuardRef<'s, M, Times>) {
        let _ = (core, stamps, guard);
    }

    /// As [`crate::Protocol::insert`], once the record's words are set up.
    fn made<'s>(
        core: &M::Core,
        stamps: &mut Self::Stamps<'s>,
        guard: GuardRef<'s, M, Times>,
        record: RecordRef<'s, M, Times>,
        counted: u64,
    ) {
        let _ = (core, stamps, guard, record, counted);
    }

    /// As [`crate::Protocol::split`].
    fn split<'s>(
        core: &M::Core,
        stamps: &mut Self::Stamps<'s>,
        guard: GuardRef<'s, M, Times>,
        right: GuardRef<'s, M, Times>,
        counted: u64,
    ) {
        let _ = (core, stamps, guard, right, counted);
    }

    /// May it commit?
    #[inline(always)]
    fn certify<'s>(
        core: &M::Core,
        stamps: &mut Self::Stamps<'s>,
        candidate: Candidate<'_, 's, M>,
    ) -> Result<(), Abort> {
        let _ = (core, stamps, candidate);
        Ok(())
    }

    /// The record, whose latch is held, has got a version with this stamp, or turns out to have been read only.
    /// `older` is where the version before is kept, if it is.
    #[inline(always)]
    fn installed<'s>(
        core: &M::Core,
        stamps: &Self::Stamps<'s>,
        record: &RecordRef<'s, M, Times>,
        older: Option<&RecordRef<'s, M, Times>>,
        stamp: u64,
    ) {
        let _ = (core, stamps, record, older, stamp);
    }

    /// The transaction is over.
    #[inline(always)]
    fn forget(stamps: &mut Self::Stamps<'_>) {
        let _ = stamps;
    }
}
