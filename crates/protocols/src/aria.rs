//! ARIA: transactions run in batches on the state before the batch, and then decide by a fixed order which of them commit.
//!
//! Source: Lu, Yu, Cao and Madden, "Aria: A Fast and Practical Deterministic OLTP Database", PVLDB 13(11), 2020: execution
//! phase, commit phase, deterministic reordering.
//!
//! ```text
//!  begin        run                        meet                     decide, install     end
//! ------> joins ----> reserves its writes ------> all have reserved ---------------> ----> next batch
//! ```
//!
//! 1. A transaction joins the open batch ([`crate::mechanisms::batches`]). It runs, buffers its writes, and sees no write
//!    of its batch: nothing is installed until all members have run. So reads need no latch and no validation.
//! 2. It reserves each record that it writes: the record keeps the member of the batch that comes first of those that
//!    write it. With reordering, readers reserve too. Then it waits until all members have.
//! 3. It compares itself with the reservations. It aborts if a member before it writes a record that it writes too
//!    (WAW). It aborts if a member before it writes what it has read (RAW). With reordering (`reordering=on`, the usual),
//!    it aborts for what it has read only if a member before it also reads what it writes (WAR).
//! 4. It installs its writes, and ends. When all have ended, the next batch opens.
//!
//! **The order** of a batch: transactions with more attempts first, then by session, beginning with another session in
//! each batch. So the first of a batch commits, and a transaction that aborts comes earlier the next time. A reservation is
//! one word with the number of the batch and the rank in it. A word of another batch counts as none, so nothing is
//! cleaned.
//!
//! **Why it is right.** All committed members have read the state before the batch, and no two write the same record.
//! So they depend on each other in one way only: a member that read a record comes before the member that writes it. In a cycle of such
//! dependencies, look at the member that comes last in the batch's order. The next in the cycle writes what it has read,
//! and is before it (RAW). The previous one has read what it writes, and is before it (WAR). So it has aborted. Without
//! reordering the batch's order itself is a serial order. The serial order keeps real time: a transaction that begins
//! after another has committed is in a later batch.
//!
//! Ranges are protected in [`crate::mechanisms::batch_footprint`].
//!
//! **Slow transactions.** All members of a batch wait for the slowest. A transaction that begins and then waits for
//! something else, as a user, keeps all other transactions from committing. A thread must not begin a transaction inside
//! another one. A session without a transaction is in no batch.
//!
//! Deviations:
//!
//! - A session runs one transaction at a time, so a batch has at most one from each session, and those that begin while it
//!   runs belong to it. The paper collects a batch of a fixed size in advance and logs it, so that replicas need only the
//!   inputs. Here batches depend on time, and only the decisions within a batch follow from its members (fresh
//!   records apart). Logs have the writes, as under all protocols.
//! - Transactions that abort run again in a later batch. The paper's fallback, which locks what is left of a batch in
//!   order, does not exist.
//! - Transactions that abort in step 3 count for others, as in the paper. Those that roll back before have reserved nothing.

use crate::{
    Change, CommitLog, Declaration, Images, Isolation, Prepared, Protocol, ProtocolOptions, Txn,
    faults,
    mechanisms::{
        batch_footprint::{BatchFootprint, Words},
        batches::Batches,
        reservations::{Claim, TableReservations},
    },
};
use machine::{Arena, Core, Machine, OutOfMemory, cold::Arc};
use storage::{Epochs, GuardRef, RecordRef, RowHead};
use txn::{Abort, AbortReason, ColumnSet, Intent};

/// The ARIA protocol.
pub struct Aria<M: Machine> {
    batches: Batches<M>,
    tables: TableReservations<M>,
    sessions: u64,
    reordering: bool,
}

/// Part of the batch in which a session is.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Stage {
    Outside,
    Running,
    Met,
}

/// State of a session.
pub struct Worker<'s, M: Machine> {
    session: u64,
    stage: Stage,
    sets: BatchFootprint<'s, M>,
}

impl<M: Machine> Aria<M> {
    fn decide(&self, core: &M::Core, sets: &BatchFootprint<'_, M>) -> Result<(), Abort> {
        if sets.is_contested(core) && !core.is_planted(faults::ARIA_COMMITS_CONTESTED) {
            return Err(Abort::because(AbortReason::LockConflict));
        }
        match sets.overwritten(core, &self.tables) {
            None => Ok(()),
            Some(_) if self.reordering && !sets.was_read(core, &self.tables) => Ok(()),
            Some(reason) => Err(Abort::because(reason)),
        }
    }

    /// Ends the session's part in its batch.
    fn end(&self, core: &M::Core, worker: &mut Worker<'_, M>) {
        match std::mem::replace(&mut worker.stage, Stage::Outside) {
            Stage::Running if core.is_planted(faults::ARIA_STAYS) => {}
            Stage::Running => self.batches.leave(core),
            Stage::Met => self.batches.end(core),
            Stage::Outside => {}
        }
    }
}

impl<M: Machine> Protocol<M> for Aria<M> {
    type Words = Words;
    type Worker<'s>
        = Worker<'s, M>
    where
        M: 's;

    fn declare(_: &ProtocolOptions) -> Declaration {
        Declaration {
            name: "ARIA",
            summary: "batches run on one state, reserve, and decide by the batch's order who commits",
            source: "Lu et al., PVLDB 13(11), 2020",
            isolation: Isolation::Serializable,
            strict: true,
            one_site: Some("sites would close their batches at different times"),
        }
    }

    fn knobs() -> &'static [&'static str] {
        &["reordering"]
    }

    fn create(
        arena: &Arc<Arena>,
        options: &ProtocolOptions,
        sessions: usize,
    ) -> Result<Self, OutOfMemory> {
        Ok(Aria {
            batches: Batches::new(arena, sessions)?,
            tables: TableReservations::new(arena)?,
            sessions: sessions.max(1) as u64,
            reordering: options.reordering,
        })
    }

    fn worker<'s>(&'s self, _: &'s Epochs<M>, session: usize) -> Worker<'s, M> {
        Worker { session: session as u64, stage: Stage::Outside, sets: BatchFootprint::default() }
    }

    fn begin<'s>(&'s self, core: &M::Core, worker: &mut Worker<'s, M>, txn: Txn<'_>) {
        let batch = self.batches.join(core);
        worker.stage = Stage::Running;
        // Another session comes first in each batch.
        let place = worker.session.wrapping_add(batch) % self.sessions;
        worker.sets.claim = Claim::new(batch, txn.attempt, place);
    }

    #[inline]
    fn read<'s>(
        &'s self,
        core: &M::Core,
        worker: &mut Worker<'s, M>,
        record: RecordRef<'s, M, Words>,
        columns: ColumnSet,
        _: Intent,
        out: &mut [u8],
    ) -> Result<RowHead, Abort> {
        worker.sets.note_read(record);
        let head = record.copy_out(core, columns, out);
        Ok(match worker.sets.writes.find(&record) {
            None => head,
            Some(at) => worker.sets.writes.overlay(at, columns, out, head),
        })
    }

    #[inline]
    fn write<'s>(
        &'s self,
        core: &M::Core,
        worker: &mut Worker<'s, M>,
        record: RecordRef<'s, M, Words>,
        change: Change<'_>,
    ) -> Result<bool, Abort> {
        let at = worker.sets.writes.find(&record);
        let state = worker.sets.writes.state_over(at, record.head(core).state);
        if change.state.is_none() && !state.is_present() {
            worker.sets.note_read(record);
            return Ok(false);
        }
        // Presence is not read: another member that changes it writes the same record.
        worker.sets.writes.put(core, record, at, change);
        Ok(true)
    }

    fn scan<'s>(
        &'s self,
        core: &M::Core,
        worker: &mut Worker<'s, M>,
        guard: GuardRef<'s, M, Words>,
    ) -> Result<(), Abort> {
        worker.sets.note_scan(core, guard);
        Ok(())
    }

    fn insert<'s>(
        &'s self,
        core: &M::Core,
        worker: &mut Worker<'s, M>,
        guard: GuardRef<'s, M, Words>,
        record: RecordRef<'s, M, Words>,
        counted: u64,
    ) -> Result<(), Abort> {
        worker.sets.note_made(core, guard, record, counted);
        Ok(())
    }

    fn split<'s>(
        &'s self,
        core: &M::Core,
        worker: &mut Worker<'s, M>,
        guard: GuardRef<'s, M, Words>,
        right: GuardRef<'s, M, Words>,
        counted: u64,
    ) -> Result<(), Abort> {
        worker.sets.leaves.split(core, guard, right, counted);
        Ok(())
    }

    fn prepare<'s>(
        &'s self,
        core: &M::Core,
        worker: &mut Worker<'s, M>,
    ) -> Result<Prepared, Abort> {
        worker.sets.reserve(core, &self.tables, self.reordering);
        let early = core.is_planted(faults::ARIA_DECIDES_EARLY);
        let early = early.then(|| self.decide(core, &worker.sets));
        self.batches.meet(core, worker.sets.claim.batch());
        worker.stage = Stage::Met;
        early.unwrap_or_else(|| self.decide(core, &worker.sets))?;
        Ok(Prepared::ANY)
    }

    fn images<'s>(
        &'s self,
        core: &M::Core,
        worker: &mut Worker<'s, M>,
        log: &mut Images<'_, 's, M>,
    ) {
        worker.sets.writes.tell_images(core, log);
    }

    fn commit<'s>(
        &'s self,
        core: &M::Core,
        worker: &mut Worker<'s, M>,
        _: u64,
        log: &mut CommitLog<'_>,
    ) {
        let early = core.is_planted(faults::ARIA_ENDS_EARLY);
        if early {
            self.end(core, worker);
        }
        worker.sets.writes.install_all(core, log);
        if !early {
            self.end(core, worker);
        }
        worker.sets.clear();
    }

    fn abort<'s>(&'s self, core: &M::Core, worker: &mut Worker<'s, M>) {
        self.end(core, worker);
        worker.sets.clear();
    }
}
