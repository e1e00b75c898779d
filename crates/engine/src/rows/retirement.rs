//! Removes absent records from their indexes, in separate transactions.

use super::{Found, Sited, Work};
use crate::{Start, site::Site};
use machine::Machine;
use storage::RowState;
use txn::{Abort, AbortReason, ColumnSet, Intent, TableId};

/// Number of free slots of a table that a session keeps for itself. Further free slots go to sessions that
/// insert where this session deletes.
const KEPT_SLOTS: usize = 128;

impl<'s, M: Machine> Work<'_, 's, M> {
    /// Notes that the record of an absent row can be removed from its index later.
    pub(super) fn purge_later(&mut self, row: &Found) {
        self.rows.purge.add(row.clone());
    }

    /// Tries to retire every candidate, and frees the memory that no transaction can reach any more.
    #[cold]
    pub fn purge_some(&mut self) {
        for _ in 0..self.rows.purge.len() {
            let Some(row) = self.rows.purge.pop() else { break };
            if self.retire(&row).is_err() {
                // Another transaction is using the record, so it is tried again later.
                self.rows.purge.add(row);
            }
        }
        self.release_values();
        self.give_back(KEPT_SLOTS);
    }

    /// Forgets what the session has kept of a table that is being dropped.
    pub fn forget_table(&mut self, table: TableId) {
        assert!(!self.rows.open, "a table is forgotten between transactions");
        self.rows.purge.forget_table(table);
        self.each_site(|site| site.forget_table(table));
    }

    /// Does the work of [`Work::purge_some`], and gives all free memory to the sessions that need it.
    pub fn reclaim(&mut self) {
        self.purge_some();
        // After two more epochs no transaction can reach the records that were retired just now.
        self.each_site(|site| site.advance());
        self.give_back(0);
    }

    pub(super) fn give_back(&mut self, keep: usize) {
        self.each_site(|site| site.give_back(keep));
    }

    /// Calls `act` with each site at which the session has done anything.
    pub(super) fn each_site(&mut self, mut act: impl FnMut(&mut dyn Site<'s, M>)) {
        for at in 0..self.sites.count() {
            if self.sites.is_used(at) {
                act(self.sites.site(at));
            }
        }
    }

    /// Retires the record of an absent row. Fails if other transactions are using the record.
    fn retire(&mut self, row: &Found) -> Result<(), Abort> {
        let Found { site, table, name } = row;
        let partition = self.partition_of(row);
        let partitions = partition.as_slice();
        self.begin(Start { partitions, ..Start::default() });
        match self.mark_retired(row) {
            Ok(Some(at)) => {
                let committed = self.commit_at_sites();
                // The record leaves its index before other sessions can enter the partition.
                let unlink = |()| self.sites.site(*site).unlink(*table, name, at.record);
                let emptied = committed.map(unlink);
                self.sites.exit();
                if emptied? { self.drop_empty_leaf(row) } else { Ok(()) }
            }
            Ok(None) => {
                self.rollback();
                // An empty leaf can be left over from an earlier call.
                if self.is_in_order(row) { self.drop_empty_leaf(row) } else { Ok(()) }
            }
            Err(abort) => {
                self.rollback();
                Err(abort)
            }
        }
    }

    /// Marks the record of an absent row as retired. Returns `None` if there is no such record.
    fn mark_retired(&mut self, row: &Found) -> Result<Option<Sited<'s, M>>, Abort> {
        let (site, table) = (row.site, row.table);
        // The record is looked up again by name while this session is pinned. So its slot cannot have become
        // another record's.
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

    /// Removes the leaf of a key from the index if the leaf is empty, in a separate transaction. Fails if
    /// another transaction has scanned the leaf or is changing the index there.
    fn drop_empty_leaf(&mut self, row: &Found) -> Result<(), Abort> {
        let partition = self.partition_of(row);
        self.begin(Start { partitions: partition.as_slice(), ..Start::default() });
        let dropped = self.sites.site(row.site).drop_leaf(row.table, &row.name);
        self.rollback();
        match dropped {
            Ok(true) => Ok(()),
            Ok(false) => Err(Abort::because(AbortReason::RecordRetired)),
            Err(abort) => Err(abort),
        }
    }
}
