//! Reads of one row that are transactions of their own.
//!
//! A session reads so between attempts. Nothing begins and nothing commits: the epoch is pinned while the row is read, so that neither
//! the record nor a value outside it is used again, and the protocol makes sure that the row is what it was at one moment
//! ([`Protocol::read_alone`]). Whatever else can happen is left to an attempt: a row that is absent, hot columns, a protocol that has
//! no such read.

use super::LocalSite;
use machine::Machine;
use protocols::Protocol;
use storage::{Record, RowHead, RowState, Table};
use txn::{ColumnSet, TableId};

/// Returns true if a row was read, and is there.
#[inline(always)]
fn is_present(read: Option<RowHead>) -> bool {
    matches!(read, Some(RowHead { state: RowState::PRESENT, .. }))
}

impl<'s, M: Machine, P: Protocol<M>> LocalSite<'s, M, P> {
    /// Reads columns of the row of integer key `key`, in held form. Returns false if an attempt must read it.
    #[inline(always)]
    pub fn read_alone(
        &mut self,
        table: TableId,
        key: u64,
        columns: ColumnSet,
        out: &mut [u8],
    ) -> bool {
        let home = self.data.table(table);
        if home.unreadable_columns().intersects(columns) {
            return false;
        }
        self.between_attempts(home, key, |site, record| {
            // SAFETY: the record was found in the owner's store.
            is_present(unsafe { site.protocol.read_alone(record, columns, out) })
        })
    }

    /// Reads as [`LocalSite::read_alone`] does, also columns of variable length. Replaces the content of `out`.
    #[inline(always)]
    pub fn fetch_alone(
        &mut self,
        table: TableId,
        key: u64,
        columns: ColumnSet,
        out: &mut Vec<u8>,
    ) -> bool {
        let home = self.data.table(table);
        if home.unfetchable_columns().intersects(columns) {
            return false;
        }
        let Some(runs) = home.shape().runs_of(columns) else { return false };
        self.between_attempts(home, key, |site, record| {
            let fetched = site.fetch_by(runs.packing(), out, |site, held| {
                // SAFETY: the record was found in the owner's store.
                Ok(is_present(unsafe { site.protocol.read_alone(record, columns, held) }))
            });
            fetched == Ok(true)
        })
    }

    /// Calls `read` with the record of `key`, in an epoch that is pinned. Returns false if there is no record, or none that holds the
    /// whole row.
    #[inline(always)]
    fn between_attempts(
        &mut self,
        home: &'s Table<M>,
        key: u64,
        read: impl FnOnce(&mut Self, Record<'s, M>) -> bool,
    ) -> bool {
        if !home.has_whole_rows() {
            return false;
        }
        self.data.store.epochs().pin(self.data.core, self.data.pin);
        let found = self.data.find_number(home, key);
        let is_read = found.is_some_and(|record| read(self, record));
        self.leave_directly();
        is_read
    }
}
