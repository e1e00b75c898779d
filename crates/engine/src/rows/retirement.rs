//! Absent rows leave their indexes, in transactions of their own.

use super::{Found, Sited, Work};
use crate::Start;
use machine::Machine;
use storage::RowState;
use txn::{Abort, AbortReason, ColumnSet, Intent};

/// Free slots of a table that a session keeps to itself: more are for sessions that insert what this one
/// deletes.
const KEPT_SLOTS: usize = 128;

impl<'s, M: Machine> Work<'_, 's, M> {
    /// The record of an absent row may leave its index some day.
    pub(super) fn purge_later(&mut self, row: &Found) {
        self.rows.purge.add(row.clone());
    }

    /// Retires what is due, and takes memory back.
    #[cold]
    pub fn purge_some(&mut self) {
        for _ in 0..self.rows.purge.len() {
            let Some(row) = self.rows.purge.pop() else { break };
            if self.retire(&row).is_err() {
                // Somebody is using the record; it gets another turn.
                self.rows.purge.add(row);
            }
        }
        self.give_back(KEPT_SLOTS);
    }

    /// As [`Work::purge_some`], and leaves the memory to whoever needs it.
    pub fn reclaim(&mut self) {
        self.purge_some();
        // Two more epochs, and what was retired just now is out of everybody's reach.
        for at in 0..self.sites.count() {
            self.sites.site(at).advance();
        }
        self.give_back(0);
    }

    fn give_back(&mut self, keep: usize) {
        for at in 0..self.sites.count() {
            self.sites.site(at).give_back(keep);
        }
    }

    /// Retires the record of an absent row. Fails when others are at it.
    fn retire(&mut self, row: &Found) -> Result<(), Abort> {
        let Found { site, table, name } = row;
        let partition = self.partition_of(row);
        let partitions = partition.as_slice();
        self.begin(Start { attempt: 0, read_only: false, partitions });
        match self.mark_retired(row) {
            Ok(Some(at)) => {
                self.commit()?;
                let emptied = self.sites.site(*site).unlink(*table, name, at.record);
                if emptied { self.drop_empty_leaf(row) } else { Ok(()) }
            }
            Ok(None) => {
                self.rollback();
                // Its leaf may still be there, empty, from an earlier turn.
                if self.is_in_order(row) { self.drop_empty_leaf(row) } else { Ok(()) }
            }
            Err(abort) => {
                self.rollback();
                Err(abort)
            }
        }
    }

    /// Writes down that the record of an absent row is retired; none if there is no such record.
    fn mark_retired(&mut self, row: &Found) -> Result<Option<Sited<'s, M>>, Abort> {
        let (site, table) = (row.site, row.table);
        // Found again by name and under the pin: its slot can't have become another record's.
        let found = self.sites.site(site);
        let home = found.table(table);
        let Some(record) = found.find(table, &row.name).filter(|r| home.is_unlinkable(r)) else {
            return Ok(None);
        };
        let at = Sited { site, record };
        let head = self.read_record(at, ColumnSet::NONE, Intent::Update, &mut [])?;
        if head.state != RowState::ABSENT {
            return Ok(None);
        }
        self.end_row(at, RowState::RETIRED)?;
        Ok(Some(at))
    }

    /// Takes the leaf of a key out of the index if it is empty, in a transaction of its own. Fails when
    /// somebody has scanned it, or is changing the index there.
    fn drop_empty_leaf(&mut self, row: &Found) -> Result<(), Abort> {
        let partition = self.partition_of(row);
        self.begin(Start { attempt: 0, read_only: false, partitions: partition.as_slice() });
        let dropped = self.sites.site(row.site).drop_leaf(row.table, &row.name);
        self.rollback();
        match dropped {
            Ok(true) => Ok(()),
            Ok(false) => Err(Abort::because(AbortReason::RecordRetired)),
            Err(abort) => Err(abort),
        }
    }
}
