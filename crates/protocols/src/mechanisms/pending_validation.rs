//! Validation of an optimistic transaction at the timestamp that it has had since its begin.
//!
//! Source: Lim, Kaminsky and Andersen, SIGMOD 2017 (validation).
//!
//! A transaction commits in this order:
//!
//! 1. It announces its versions, which are then *pending* ([`Footprint::announce`]).
//! 2. It raises the `rts` of every record that it read ([`Footprint::check_reads`]).
//! 3. It checks its reads: each must be the version that the transaction would read now.
//! 4. It checks its writes: no later transaction has read a version that it overwrites
//!    ([`Footprint::check_writes`]).
//!
//! **Why no conflict is missed.** Each side publishes its own mark, then executes a full fence,
//! then looks for the other side's mark. So of a reader and an earlier writer of the same record at
//! least one notices the other.
//!
//! Scanned leaves are treated like records that were read. A transaction that inserts a record
//! there later starts the record from the leaf's mark.

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

/// A transaction's reads, writes and timestamp.
pub struct Footprint<'s, M: Machine> {
    /// Announces versions at the transaction's timestamp.
    pub pending: Prewriter<M>,
    /// The read set: each record with the timestamp of the version that was read.
    pub reads: Vec<(Record<'s, M>, u64)>,
    /// The scanned leaves (node set).
    pub leaves: NodeSet<'s, M, Times>,
    /// The write set.
    pub writes: WriteSet<'s, M, Times>,
    /// Indexes of the writes in the order in which they are announced. Each has the sort key
    /// (`wts`) in front.
    order: Vec<(u64, usize)>,
    /// Number of announced writes. They are the first in `order`.
    announced: usize,
}

impl<'s, M: Machine> Footprint<'s, M> {
    /// Creates an empty footprint for a session that announces by `pending`.
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

    /// Checks, without the latch, whether the record can still be written at the transaction's
    /// timestamp.
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

    /// Checks, without latches, whether all reads are current and all writes are possible. Called
    /// before versions are announced, so that a hopeless transaction aborts early.
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

    /// Fixes the order of announcements: the order of the write set or, with `by_contention`, the
    /// most recently written records first.
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

    /// Announces each version above the newest one, after all earlier pending versions of its
    /// record are decided.
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
        // A reader that marks the newest version from here on finds the pending version.
        core.fence();
        Ok(())
    }

    /// Marks every read at the transaction's timestamp, then checks that a read now would return
    /// the same version. Waits until earlier pending versions are decided.
    pub fn check_reads(&self, core: &M::Core) -> Result<(), Abort> {
        let timestamp = self.pending.timestamp;
        let past_pending = core.is_planted(faults::CICADA_READS_PAST_PENDING);
        let awaited = if past_pending { 0 } else { timestamp };
        for (record, begin) in &self.reads {
            let newest = inlined_version::mark_read(core, record, timestamp, awaited);
            let valid = newest.or_else(|| {
                // A later version is the newest now. The version that was newest before it does not
                // change any more.
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

    /// Checks that each announced version can follow the version that it overwrites.
    pub fn check_writes(&self, core: &M::Core) -> Result<(), Abort> {
        for at in 0..self.writes.len() {
            let record = self.writes.record(at);
            self.check_write(core, &record)?;
            self.check_retired(core, &record)?;
            self.writes.check_presence(core, at)?;
        }
        Ok(())
    }

    /// Aborts if the record is retired. Its times have been passed on already, so a mark on it
    /// would come too late.
    fn check_retired(&self, core: &M::Core, record: &Record<'_, M>) -> Result<(), Abort> {
        match record.head(core).state {
            RowState::RETIRED if !core.is_planted(faults::CICADA_READS_RETIRED) => {
                Err(Abort::because(AbortReason::RecordRetired))
            }
            _ => Ok(()),
        }
    }

    /// Copies the version that the transaction's timestamp sees, if a later version could be the
    /// newest. Waits until earlier pending versions are decided. Returns the row's head and the
    /// timestamp of the version.
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

    /// Withdraws all announcements.
    pub fn withdraw(&self, core: &M::Core) {
        for (_, at) in &self.order[..self.announced] {
            let record = self.writes.record(*at);
            self.pending.clear(core, &record);
        }
    }

    /// Clears all sets.
    pub fn clear(&mut self) {
        self.reads.clear();
        self.leaves.clear();
        self.writes.clear();
        self.order.clear();
        self.announced = 0;
    }
}
