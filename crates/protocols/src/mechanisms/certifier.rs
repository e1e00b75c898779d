//! A certifier: the condition that a transaction under snapshot isolation must fulfil besides, for example in order to
//! be serializable.
//!
//! A certifier sees the reads, scans and insertions of a transaction, and keeps *stamps* about them. At commit the
//! transaction marks its writes and draws its commit stamp. Then [`Certifier::certify`] decides from the stamps whether
//! it may commit. After the writes are installed, the certifier updates the words of the records
//! ([`Certifier::installed`]). At the end of each attempt it forgets its stamps.
//!
//! Every default method does nothing, so a certifier without methods demands nothing beyond snapshot isolation.

use super::{
    announcement::Announcer, commit_clock::CommitClock, version_times::Times, write_set::WriteSet,
};
use crate::Declaration;
use machine::Machine;
use storage::{GuardRef, RecordRef};
use txn::Abort;

/// A transaction that is about to commit, as its certifier sees it.
pub struct Candidate<'a, 's, M: Machine> {
    /// Commit stamp of the transaction.
    pub stamp: u64,
    /// Session and snapshot of the transaction.
    pub announcer: &'a Announcer<M>,
    /// Writes of the transaction. All of them are marked.
    pub writes: &'a WriteSet<'s, M, Times>,
    /// Clock with the stamps of the other transactions.
    pub clock: &'a CommitClock<M>,
}

/// Condition that a transaction must fulfil beyond snapshot isolation. The default methods demand nothing.
pub trait Certifier<M: Machine>: Send + Sync + 'static {
    /// The certifier's state of a transaction.
    type Stamps<'s>: Default + Send
    where
        M: 's;

    /// Set if transactions that only read must be certified too.
    const ASKS_READERS: bool = false;

    /// Declares the protocol with this certifier.
    fn declare() -> Declaration;

    /// Called when a version is read at snapshot `begin`, under the record's latch.
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

    /// Called when the newest version of `record` was read, with the stamp of its writer. The record is not latched.
    #[inline(always)]
    fn read_newest<'s>(
        core: &M::Core,
        stamps: &mut Self::Stamps<'s>,
        record: RecordRef<'s, M, Times>,
        written: u64,
    ) -> Result<(), Abort> {
        let _ = (core, stamps, record, written);
        Ok(())
    }

    /// As [`crate::Protocol::scan`].
    fn scan<'s>(core: &M::Core, stamps: &mut Self::Stamps<'s>, guard: GuardRef<'s, M, Times>) {
        let _ = (core, stamps, guard);
    }

    /// As [`crate::Protocol::insert`]. Called after the record's words have been set up.
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

    /// Decides whether the transaction may commit.
    #[inline(always)]
    fn certify<'s>(
        core: &M::Core,
        stamps: &mut Self::Stamps<'s>,
        candidate: Candidate<'_, 's, M>,
    ) -> Result<(), Abort> {
        let _ = (core, stamps, candidate);
        Ok(())
    }

    /// Called with the record latched, after a version with this stamp was installed there, or when the record turns
    /// out to have been only read. `older` is the slot that keeps the version before, if it is kept.
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

    /// Forgets everything about the transaction, which is over.
    #[inline(always)]
    fn forget(stamps: &mut Self::Stamps<'_>) {
        let _ = stamps;
    }
}
