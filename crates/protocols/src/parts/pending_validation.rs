//! Whether an optimistic transaction may commit at the timestamp that it has had from its begin.
//!
//! Source: Lim, Kaminsky and Andersen, SIGMOD 2017 (validation). Its versions are announced first (*pending*), then
//! what it has read is marked (`rts`), then both sides are looked at: what it has read must be what it would read now,
//! and nobody later may have read what it overwrites. With a full fence between each one's own mark and the look
//! at the other's, of a reader and an earlier writer of a record one notices the other.
//! Scanned leaves are treated as what was read: who makes a record there later starts from the leaf's mark.

use super::{
    announced_writes::Announces,
    inlined_version,
    node_set::NodeSet,
    prewrite::{Prewriter, too_late},
    range_times, version_chain,
    version_times::Times,
    write_set::WriteSet,
};
use crate::faults;
use machine::{Core, Machine};
use std::cmp::Reverse;
use storage::{RecordRef, RowHead, RowState};
use txn::{Abort, AbortReason, ColumnSet};

type Record<'s, M> = RecordRef<'s, M, Times>;

/// What a transaction has read and is to write, and its timestamp.
pub struct Footprint<'s, M: Machine> {
    /// Announces versions, at the transaction's timestamp.
    pub pending: Prewriter<M>,
    /// What was read, with the timestamp of the version.
    pub reads: Vec<(Record<'s, M>, u64)>,
    /// The node set.
    pub leaves: NodeSet<'s, M, Times>,
    /// The write set.
    pub writes: WriteSet<'s, M, Times>,
    /// The writes in the order in which they are announced, each behind the timestamp that it is sorted by.
    order: Vec<(u64, usize)>,
    /// How many of them, from the first, are.
    announced: usize,
}

impl<'s, M: Machine> Footprint<'s, M> {
    /// Nothing yet, of a session that announces by `pending`.
    pub fn new(pending: Prewriter<M>) -> Self {
        Footprint {
            pending,
            reads: Vec::new(),
            leaves: NodeSet::default(),
            writes: WriteSet::default(),
            order: Vec::new(),
            announced: 0,
        }
    }

    /// Whether the record can still be written at the transaction's timestamp, as far as a glance shows.
    #[inline]
    pub fn check_write(&self, core: &M::Core, record: &Record<'_, M>) -> Result<(), Abort> {
        let (wts, rts) = range_times::times_of(core, record);
        let (timestamp, asks_readers) =
            (self.pending.timestamp, !core.is_planted(faults::CICADA_WITHOUT_RTS_CHECK));
        if wts > timestamp || asks_readers && rts > timestamp {
            return Err(too_late());
        }
        Ok(())
    }

    /// Whether everything that was read seems to be current, and everything that is to be written can be.
    pub fn precheck(&self, core: &M::Core) -> Result<(), Abort> {
        for record in self.writes.records() {
            self.check_write(core, &record)?;
        }
        for (record, begin) in &self.reads {
            let newest = version_chain::wts(core, record);
            if newest != *begin && newest <= self.pending.timestamp {
                return Err(Abort::because(AbortReason::Validation));
            }
        }
        Ok(())
    }

    /// The writes are announced in their order; or, `by_contention`, those first whose records were written last.
    pub fn set_order(&mut self, core: &M::Core, by_contention: bool) {
        let Footprint { writes, order, .. } = self;
        order.extend((0..writes.len()).map(|at| (0, at)));
        if by_contention {
            for (wts, at) in order.iter_mut() {
                *wts = version_chain::wts(core, &writes.record(*at));
            }
            order.sort_unstable_by_key(|(wts, at)| (Reverse(*wts), *at));
        }
    }

    /// Announces the versions, each above the newest once earlier ones are decided.
    pub fn announce(&mut self, core: &M::Core) -> Result<(), Abort> {
        let Footprint { pending, writes, order, announced, .. } = self;
        for (_, at) in order.iter() {
            let record = writes.record(*at);
            let other = pending.latch_decided(core, &record);
            let newest = version_chain::wts(core, &record);
            let late = other > pending.timestamp || newest > pending.timestamp;
            if !late {
                pending.announce(core, &record);
                *announced += 1;
            }
            pending.unlatch(core, &record);
            if late {
                return Err(too_late());
            }
        }
        // Who marks the newest version as read from here on finds the pending one.
        core.fence();
        Ok(())
    }

    /// Marks what was read, and checks that it would be read now, once earlier versions are decided that are pending.
    pub fn check_reads(&self, core: &M::Core) -> Result<(), Abort> {
        let timestamp = self.pending.timestamp;
        let past_pending = core.is_planted(faults::CICADA_READS_PAST_PENDING);
        let awaited = if past_pending { 0 } else { timestamp };
        for (record, begin) in &self.reads {
            let newest = inlined_version::mark_read(core, record, timestamp, awaited);
            let valid = newest.or_else(|| {
                // A later one has come: what was the newest before it stays.
                self.pending.latch(core, record);
                let seen = version_chain::seen_at(core, record, timestamp);
                let begin = seen.map(|(version, _)| version_chain::wts(core, &version));
                self.pending.unlatch(core, record);
                begin
            });
            if valid != Some(*begin) {
                return Err(Abort::because(AbortReason::Validation));
            }
            self.check_retired(core, record)?;
        }
        for guard in self.leaves.guards() {
            range_times::announce(core, guard, timestamp);
        }
        self.leaves.validate(core)
    }

    /// What has been announced may follow what it overwrites.
    pub fn check_writes(&self, core: &M::Core) -> Result<(), Abort> {
        for at in 0..self.writes.len() {
            let record = self.writes.record(at);
            self.check_write(core, &record)?;
            self.check_retired(core, &record)?;
            self.writes.check_presence(core, at)?;
        }
        Ok(())
    }

    /// The times of an absence that has left its record have been passed on: a mark there would come too late.
    fn check_retired(&self, core: &M::Core, record: &Record<'_, M>) -> Result<(), Abort> {
        match record.head(core).state {
            RowState::RETIRED if !core.is_planted(faults::CICADA_READS_RETIRED) => {
                Err(Abort::because(AbortReason::RecordRetired))
            }
            _ => Ok(()),
        }
    }

    /// Copies what the transaction's timestamp sees of a record whose newest version may be later, with the timestamp of
    /// that version, once earlier versions are decided that are pending.
    #[cold]
    pub fn read_chain(
        &self,
        core: &M::Core,
        record: &Record<'s, M>,
        columns: ColumnSet,
        out: &mut [u8],
    ) -> (RowHead, u64) {
        if core.is_planted(faults::CICADA_READS_PAST_PENDING) {
            self.pending.latch(core, record);
        } else {
            self.pending.latch_decided(core, record);
        }
        let seen = version_chain::seen_at(core, record, self.pending.timestamp);
        let (version, _) =
            seen.expect("a version was collected although a transaction may read it");
        let head = version_chain::copy_version(core, record, &version, columns, out);
        let begin = version_chain::wts(core, &version);
        self.pending.unlatch(core, record);
        (head, begin)
    }

    /// Takes the announcements back.
    pub fn withdraw(&self, core: &M::Core) {
        for (_, at) in &self.order[..self.announced] {
            let record = self.writes.record(*at);
            self.pending.withdraw(core, &record);
        }
    }

    /// Forgets everything.
    pub fn clear(&mut self) {
        self.reads.clear();
        self.leaves.clear();
        self.writes.clear();
        self.order.clear();
        self.announced = 0;
    }
}
