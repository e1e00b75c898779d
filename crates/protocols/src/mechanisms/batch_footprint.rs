//! The reads and writes of a member of a batch, and its conflicts with the members before it.
//!
//! Source: Lu, Yu, Cao and Madden, "Aria", PVLDB 13(11), 2020. Ranges are ours.
//!
//! **Ranges.** A scan notes each leaf's count of insertions ([`crate::mechanisms::node_set`]). Records that it has met are
//! read like others, the absent ones too. A record that was made behind it, in the same batch, can be written by a member
//! that the scan did not meet. Such *fresh* records carry the number of the batch. A member that writes one also
//! reserves the *fresh* word of its table, and a member that scans a table reserves its *scanned* word. A scan in which a leaf's count has changed
//! counts the first writer of a fresh record of the table as a writer of what it has read. A writer of a fresh record counts
//! the first scan of the table as a reader of it. Both count too much, which is safe, and the first of a batch still commits.

use super::{
    node_set::NodeSet,
    record_set::RecordSet,
    reservations::{Claim, Reservation, TableReservations},
    write_set::WriteSet,
};
use crate::faults;
use machine::{Core, Machine, Word, Zeroed};
use storage::{GuardRef, RecordRef};
use txn::{AbortReason, TableId};

/// Reservations of a record.
#[repr(C)]
pub struct Words {
    writer: Reservation,
    reader: Reservation,
    /// Number of the batch in which the record was made, in a table that can be scanned.
    made: Word,
}

// SAFETY: every field consists of words, for which zeros are a valid value.
unsafe impl Zeroed for Words {}

/// Read set, node set and write set of a member of a batch.
pub struct BatchFootprint<'s, M: Machine> {
    /// The batch, and the member's rank in it.
    pub claim: Claim,
    reads: RecordSet<'s, M, Words, ()>,
    /// Leaves that were scanned.
    pub leaves: NodeSet<'s, M, Words>,
    /// Tables that were scanned.
    scanned: Vec<TableId>,
    /// The write set.
    pub writes: WriteSet<'s, M, Words>,
}

impl<M: Machine> Default for BatchFootprint<'_, M> {
    fn default() -> Self {
        BatchFootprint {
            claim: Claim::default(),
            reads: RecordSet::default(),
            leaves: NodeSet::default(),
            scanned: Vec::new(),
            writes: WriteSet::default(),
        }
    }
}

impl<'s, M: Machine> BatchFootprint<'s, M> {
    /// Notes that the record was read.
    #[inline]
    pub fn note_read(&mut self, record: RecordRef<'s, M, Words>) {
        if self.reads.find(&record).is_none() {
            self.reads.push(record, ());
        }
    }

    /// Notes the leaf of `guard`, which is about to be read.
    pub fn note_scan(&mut self, core: &M::Core, guard: GuardRef<'s, M, Words>) {
        let table = guard.record().name().table;
        if !self.scanned.contains(&table) {
            self.scanned.push(table);
        }
        self.leaves.observe(core, guard);
    }

    /// Notes that the member has made `record` in the leaf of `guard`, which had counted `counted` insertions before.
    pub fn note_made(
        &mut self,
        core: &M::Core,
        guard: GuardRef<'s, M, Words>,
        record: RecordRef<'s, M, Words>,
        counted: u64,
    ) {
        core.store_relaxed(record.line(), &record.cc().made, self.claim.batch());
        if self.leaves.made(guard, counted) {
            self.note_read(record);
        }
    }

    /// Forgets everything.
    pub fn clear(&mut self) {
        self.reads.clear();
        self.leaves.clear();
        self.scanned.clear();
        self.writes.clear();
    }

    /// Returns true if the record was made in the running batch.
    fn is_fresh(&self, core: &M::Core, record: &RecordRef<'s, M, Words>) -> bool {
        core.load_relaxed(record.line(), &record.cc().made) == self.claim.batch()
    }

    /// Reserves what was written, and what was read if `readers` is set.
    pub fn reserve(&self, core: &M::Core, tables: &TableReservations<M>, readers: bool) {
        let claim = self.claim;
        for record in self.writes.records() {
            record.cc().writer.reserve::<M>(core, record.line(), claim);
            if self.is_fresh(core, &record) {
                let table = tables.of(record.name().table);
                table.fresh.reserve::<M>(core, &table.line, claim);
            }
        }
        if !readers {
            return;
        }
        for (record, ()) in self.reads.iter() {
            record.cc().reader.reserve::<M>(core, record.line(), claim);
        }
        for table in &self.scanned {
            let table = tables.of(*table);
            table.scanned.reserve::<M>(core, &table.line, claim);
        }
    }

    /// Returns true if a member before this one writes what this one writes (WAW).
    pub fn is_contested(&self, core: &M::Core) -> bool {
        let mut writes = self.writes.records();
        writes.any(|at| at.cc().writer.is_before::<M>(core, at.line(), self.claim))
    }

    /// Returns why this member must come before another that is before it, if it must: the other one writes what this one
    /// has read (RAW).
    pub fn overwritten(
        &self,
        core: &M::Core,
        tables: &TableReservations<M>,
    ) -> Option<AbortReason> {
        let mut reads = self.reads.iter().map(|(record, ())| record);
        if !core.is_planted(faults::ARIA_IGNORES_READS)
            && reads.any(|at| at.cc().writer.is_before::<M>(core, at.line(), self.claim))
        {
            return Some(AbortReason::Validation);
        }
        if self.leaves.is_empty() || self.leaves.validate(core).is_ok() {
            return None;
        }
        let mut scanned = self.scanned.iter().map(|table| tables.of(*table));
        let written = scanned.any(|at| at.fresh.is_before::<M>(core, &at.line, self.claim));
        (written && !core.is_planted(faults::ARIA_IGNORES_FRESH)).then_some(AbortReason::Phantom)
    }

    /// Returns true if a member before this one has read what this one writes (WAR).
    pub fn was_read(&self, core: &M::Core, tables: &TableReservations<M>) -> bool {
        self.writes.records().any(|record| {
            let table = tables.of(record.name().table);
            record.cc().reader.is_before::<M>(core, record.line(), self.claim)
                || self.is_fresh(core, &record)
                    && table.scanned.is_before::<M>(core, &table.line, self.claim)
        })
    }
}
