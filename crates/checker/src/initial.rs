//! Checks that all transactions agree on which rows existed before the run.
//!
//! The loader's version is the first version of a record. It is either a row or an absence. A history shows
//! which in two ways: a read states what it saw, and a write states its kind. If the history lists the loaded
//! rows of the table, that list decides. Otherwise the access that is examined first decides.

use crate::accesses::{ReadEntry, WriteEntry, record_hash};
use crate::defect::{Defect, Findings};
use crate::numbering::Numbering;
use txn::{LoadedTable, TableId, Version, WriteKind};

/// A record as found by a transaction that accessed its initial version.
#[derive(Clone, Copy)]
struct Met {
    table: TableId,
    key: u64,
    present: bool,
    transaction: u32,
}

/// The initial versions of a partition's records. An open-addressing table points into a list of them.
pub(crate) struct InitialRows<'a, 'h> {
    numbering: &'a Numbering<'h>,
    slots: Vec<u32>,
    rows: Vec<Met>,
}

const NONE: u32 = u32::MAX;

impl<'a, 'h> InitialRows<'a, 'h> {
    /// Returns an empty table.
    pub fn new(numbering: &'a Numbering<'h>) -> Self {
        InitialRows { numbering, slots: Vec::new(), rows: Vec::new() }
    }

    /// Reports the accesses of a partition that contradict other accesses, or the loaded rows.
    pub fn check(&mut self, writes: &[WriteEntry], reads: &[ReadEntry], found: &mut Findings) {
        self.rows.clear();
        self.slots.clear();
        self.slots.resize(((writes.len() + reads.len()) * 2).next_power_of_two(), NONE);
        for r in reads.iter().filter(|r| r.version == Version::INITIAL) {
            let (table, key, present) = (r.table, r.key, r.present);
            self.meet(Met { table, key, present, transaction: r.transaction }, found);
        }
        // Only the first write of a transaction to a record shows what was there before.
        let tells = |w: &&WriteEntry| w.overwritten == Version::INITIAL && w.version.nth() == 1;
        for w in writes.iter().filter(tells) {
            let (table, key, present) = (w.table, w.key, w.kind != WriteKind::Insert);
            self.meet(Met { table, key, present, transaction: w.transaction }, found);
        }
    }

    #[inline]
    fn meet(&mut self, met: Met, found: &mut Findings) {
        let mask = self.slots.len() - 1;
        let mut at = record_hash(met.table, met.key).rotate_left(20) as usize & mask;
        loop {
            if self.slots[at] == NONE {
                self.slots[at] = self.rows.len() as u32;
                let loaded = self.numbering.loaded(met.table);
                let was =
                    loaded.map_or(met.present, |loaded: &LoadedTable| loaded.contains(met.key));
                self.rows.push(Met { present: was, ..met });
            }
            let row = self.rows[self.slots[at] as usize];
            if (row.table, row.key) == (met.table, met.key) {
                if row.present != met.present {
                    self.report(met, found);
                }
                return;
            }
            at = (at + 1) & mask;
        }
    }

    #[cold]
    fn report(&self, met: Met, found: &mut Findings) {
        let Met { table, key, present, transaction } = met;
        let id = self.numbering.id(transaction);
        let end = self.numbering.spans()[transaction as usize].end;
        found.report(end, Defect::InitialContradicted { id, table, key, present });
    }
}
