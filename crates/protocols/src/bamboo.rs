//! BAMBOO: two-phase locking in which other transactions can read a write before its transaction commits.
//!
//! Source: Guo, Wu, Yan and Yu, SIGMOD 2021 (Releasing Locks As Early As You Can).
//!
//! The protocol works as follows:
//!
//! - Conflicts are resolved as in WOUND_WAIT: the older transaction wounds the younger. A transaction keeps its
//!   timestamp when it is retried.
//! - A lock is *retired* after its last use. Other transactions can then acquire the lock, and they see the
//!   uncommitted write.
//! - A transaction commits when all transactions that it depends on have committed, that is, when its commit
//!   semaphore is zero.
//! - If a transaction aborts, all transactions that have seen its writes abort too (cascading abort).
//!
//! The paper's four optimizations:
//!
//! 1. A read is retired when it is granted.
//! 2. The writes of a transaction's last accesses are not retired, because that would not pay.
//! 3. An older read is placed before a younger write, and neither transaction aborts.
//! 4. A timestamp is drawn at a transaction's first conflict.
//!
//! Option: `retire` is the share of a transaction's accesses, in percent, after which its writes are no longer
//! retired.
//!
//! Deviations:
//!
//! - Writes are buffered, as in the other protocols here. A retired write is shown to other transactions as an
//!   image beside the record. The image becomes the record's row at commit. So an abort has nothing to restore, and
//!   an older read finds the row from before the write. See [`crate::mechanisms::retiring_queue`] and
//!   [`crate::mechanisms::retired_images`].
//! - An update counts as the last use of its row. If the transaction writes the row again, the transactions that
//!   have seen the earlier write must abort.
//! - A transaction does not declare how many accesses it will make. It is assumed to be as long as the transaction
//!   that its session committed before.
//! - A write is not retired if there is no memory for its image.
//! - Locks on ranges are not retired either. As in the other locking protocols, a transaction that makes a record
//!   in a leaf locks the leaf's guard for an instant only. This imposes no order on commits.
//! - A transaction that must abort notices it at its next access, while it waits, and when it begins to commit.

use crate::{
    Change, CommitLog, Declaration, Images, Isolation, Prepared, Protocol, ProtocolOptions, Txn,
    faults,
    mechanisms::{
        retiring_holdings::Holdings,
        retiring_queue::{RetiringLock, RetiringLocks},
        two_phase_locking::Mode,
        version_chain::VersionPool,
        write_set::WriteSet,
    },
};
use machine::{Arena, Core, Machine, OutOfMemory, cold::Arc};
use storage::{Epochs, GuardRef, RecordRef, RowHead};
use txn::{Abort, ColumnSet, Intent, Version};

/// The BAMBOO protocol.
pub struct Bamboo<M: Machine> {
    locks: RetiringLocks<M>,
    images: VersionPool,
    retire_percent: u64,
}

type Record<'s, M> = RecordRef<'s, M, RetiringLock>;

/// State of a session: its locks and writes.
pub struct Worker<'s, M: Machine> {
    locks: Holdings<'s, M>,
    writes: WriteSet<'s, M, RetiringLock>,
    /// Identity of the versions that the running attempt writes.
    version: Version,
    /// Number of accesses that the running attempt has made.
    accesses: u64,
    /// Number of accesses that the session's last committed transaction made.
    expected: u64,
}

impl<M: Machine> Worker<'_, M> {
    /// Returns true if the write just made is to be retired. This depends on how far the access is from the
    /// expected end of the transaction.
    fn retires(&self, percent: u64) -> bool {
        match self.expected {
            0 => percent != 0,
            expected => self.accesses * 100 <= expected * percent,
        }
    }
}

impl<M: Machine> Protocol<M> for Bamboo<M> {
    type Words = RetiringLock;
    type Worker<'s>
        = Worker<'s, M>
    where
        M: 's;

    fn declare(_: &ProtocolOptions) -> Declaration {
        Declaration {
            name: "BAMBOO",
            summary: "two-phase locking; writes are seen before they commit, aborts cascade",
            source: "Guo et al. 2021",
            isolation: Isolation::Serializable,
            strict: true,
            one_site: Some(
                "what is seen before it is committed is known at one site only, and so are cascades",
            ),
        }
    }

    fn knobs() -> &'static [&'static str] {
        &["retire"]
    }

    fn create(
        arena: &Arc<Arena>,
        options: &ProtocolOptions,
        sessions: usize,
    ) -> Result<Self, OutOfMemory> {
        Ok(Bamboo {
            locks: RetiringLocks::new(arena, options, sessions)?,
            images: VersionPool::default(),
            retire_percent: options.retire_percent,
        })
    }

    fn worker<'s>(&'s self, _: &'s Epochs<M>, session: usize) -> Worker<'s, M> {
        Worker {
            locks: Holdings::new(&self.locks, &self.images, session),
            writes: WriteSet::default(),
            version: Version::INITIAL,
            accesses: 0,
            expected: 0,
        }
    }

    #[inline]
    fn begin<'s>(&'s self, core: &M::Core, worker: &mut Worker<'s, M>, txn: Txn<'_>) {
        worker.accesses = 0;
        worker.locks.begin(core, txn.attempt == 0);
        worker.version = txn.version();
    }

    #[inline]
    fn read<'s>(
        &'s self,
        core: &M::Core,
        worker: &mut Worker<'s, M>,
        record: Record<'s, M>,
        columns: ColumnSet,
        intent: Intent,
        out: &mut [u8],
    ) -> Result<RowHead, Abort> {
        worker.accesses += 1;
        let mode = match intent {
            Intent::Read => Mode::Shared,
            Intent::Update => Mode::Exclusive,
        };
        let taken = worker.locks.lock(core, &record, mode)?;
        let head = self.locks.copy_out(core, &record, taken.request, columns, out);
        worker.locks.unlatch(core, &record);
        Ok(match worker.writes.find(&record) {
            None => head,
            Some(at) => worker.writes.overlay(at, columns, out, head),
        })
    }

    #[inline]
    fn write<'s>(
        &'s self,
        core: &M::Core,
        worker: &mut Worker<'s, M>,
        record: Record<'s, M>,
        change: Change<'_>,
    ) -> Result<bool, Abort> {
        worker.accesses += 1;
        let (retires, version) = (worker.retires(self.retire_percent), worker.version);
        let Worker { locks, writes, .. } = worker;
        let taken = locks.lock(core, &record, Mode::Exclusive)?;
        let request = taken.request;
        if !core.is_planted(faults::BAMBOO_KEEPS_EARLY_IMAGES) {
            self.locks.take_back(core, request);
        }
        let below = self.locks.copy_out(core, &record, request, ColumnSet::NONE, &mut []).state;
        let at = writes.find(&record);
        let there = change.state.is_some() || writes.state_over(at, below).is_present();
        if there {
            writes.put(core, record, at, change);
        }
        if retires && let Some(slot) = locks.slot(&record, taken) {
            let at = at.or_else(|| writes.find(&record));
            let shown = at.and_then(|at| writes.show_in(core, at, below, &slot, version));
            self.locks.retire(core, request, shown.map(|columns| (&slot, columns)));
        }
        locks.leave(core, &record, taken);
        Ok(there)
    }

    fn scan<'s>(
        &'s self,
        core: &M::Core,
        worker: &mut Worker<'s, M>,
        guard: GuardRef<'s, M, RetiringLock>,
    ) -> Result<(), Abort> {
        worker.locks.lock_and_leave(core, &guard.record(), Mode::Shared)
    }

    fn begin_insertion<'s>(
        &'s self,
        core: &M::Core,
        worker: &mut Worker<'s, M>,
        guard: GuardRef<'s, M, RetiringLock>,
    ) -> Result<(), Abort> {
        worker.locks.lock_for_insertion(core, &guard.record())
    }

    fn insert<'s>(
        &'s self,
        core: &M::Core,
        worker: &mut Worker<'s, M>,
        guard: GuardRef<'s, M, RetiringLock>,
        record: Record<'s, M>,
        _: u64,
    ) -> Result<(), Abort> {
        match worker.locks.holds(&guard.record()) {
            // The record's lock is free, so this does not wait.
            true => worker.locks.lock_and_leave(core, &record, Mode::Shared),
            false => Ok(()),
        }
    }

    fn end_insertion<'s>(
        &'s self,
        core: &M::Core,
        worker: &mut Worker<'s, M>,
        _: GuardRef<'s, M, RetiringLock>,
    ) {
        worker.locks.end_instant(core);
    }

    fn split<'s>(
        &'s self,
        core: &M::Core,
        worker: &mut Worker<'s, M>,
        guard: GuardRef<'s, M, RetiringLock>,
        right: GuardRef<'s, M, RetiringLock>,
        _: u64,
    ) -> Result<(), Abort> {
        // No other transaction can have scanned the leaf, because its guard is locked exclusively. If this
        // transaction has scanned the leaf, it has scanned the upper part as well. The new guard is free, so this
        // does not wait.
        match worker.locks.holds(&guard.record()) {
            true => worker.locks.lock_and_leave(core, &right.record(), Mode::Exclusive),
            false => Ok(()),
        }
    }

    #[inline]
    fn prepare<'s>(
        &'s self,
        core: &M::Core,
        worker: &mut Worker<'s, M>,
    ) -> Result<Prepared, Abort> {
        worker.locks.begin_commit(core).map(|()| Prepared::ANY)
    }

    fn images<'s>(
        &'s self,
        core: &M::Core,
        worker: &mut Worker<'s, M>,
        log: &mut Images<'_, 's, M>,
    ) {
        worker.writes.tell_images(core, log);
    }

    #[inline]
    fn commit<'s>(
        &'s self,
        core: &M::Core,
        worker: &mut Worker<'s, M>,
        _: u64,
        log: &mut CommitLog<'_>,
    ) {
        assert!(log.version == worker.version, "others have seen another version");
        let Worker { locks, writes, .. } = worker;
        locks.release(core, |record, _| {
            if let Some(at) = writes.find(record) {
                writes.install(core, at, log);
            }
        });
        writes.clear();
        worker.expected = worker.accesses;
    }

    #[inline]
    fn abort<'s>(&'s self, core: &M::Core, worker: &mut Worker<'s, M>) {
        worker.locks.release(core, |_, request| {
            let cascades = !core.is_planted(faults::BAMBOO_WITHOUT_CASCADE);
            if cascades && self.locks.is_retired_write(core, request) {
                self.locks.call_behind(core, request);
            }
        });
        worker.writes.clear();
    }
}
