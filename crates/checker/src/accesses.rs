//! Collects all accesses of a history and groups them by record.
//!
//! Reads and writes are scattered into partitions by a hash of table and key, as in a radix join (Boncz,
//! Manegold & Kersten, "Database architecture optimized for the new bottleneck: memory access", VLDB 1999).
//! This takes two sequential passes over the history. Afterwards each partition fits into a core's cache and
//! is joined there.

use crate::defect::{Defect, Findings, RecordVersion};
use crate::numbering::Numbering;
use txn::{Digest, Read, TableId, Unmatched, Version, Write, WriteKind};

/// Average number of accesses in a partition.
const PARTITION_ACCESSES: usize = 8 * 1024;
const MOST_PARTITIONS: usize = 1 << 12;

/// A write, with the number of its transaction.
#[derive(Clone, Copy)]
pub(crate) struct WriteEntry {
    pub key: u64,
    pub version: Version,
    pub overwritten: Version,
    pub transaction: u32,
    pub table: TableId,
    pub kind: WriteKind,
    pub values: Digest,
}

/// A read, with the number of its transaction.
#[derive(Clone, Copy)]
pub(crate) struct ReadEntry {
    pub key: u64,
    pub version: Version,
    pub transaction: u32,
    pub table: TableId,
    pub present: bool,
    pub values: Digest,
}

/// Accesses grouped by partition. All accesses to a record are in the same partition.
pub(crate) struct Partitions {
    writes: Vec<WriteEntry>,
    reads: Vec<ReadEntry>,
    first_write: Vec<usize>,
    first_read: Vec<usize>,
}

/// Returns a hash of a record's table and key. Its upper bits are well mixed.
#[inline]
pub(crate) fn record_hash(table: TableId, key: u64) -> u64 {
    (key ^ ((table.0 as u64) << 48)).wrapping_mul(0x9E37_79B9_7F4A_7C15)
}

impl Partitions {
    /// Scatters the history's accesses. Reports transactions and writes that contradict themselves.
    pub fn of(numbering: &Numbering<'_>, found: &mut Findings) -> Partitions {
        contradictions(numbering, found);
        let (mut reads, mut writes) = (0, 0);
        for (_, worker) in numbering.workers() {
            reads += worker.reads.len();
            writes += worker.writes.len();
        }
        let count = ((reads + writes) / PARTITION_ACCESSES).next_power_of_two();
        let count = count.clamp(2, MOST_PARTITIONS);
        let shift = 64 - count.trailing_zeros();
        let partition = |table, key| (record_hash(table, key) >> shift) as usize;

        let mut first_write = vec![0; count + 1];
        let mut first_read = vec![0; count + 1];
        for (_, worker) in numbering.workers() {
            for w in worker.writes.iter().filter(|w| !saturated(w)) {
                first_write[partition(w.table, w.key) + 1] += 1;
            }
            for r in &worker.reads {
                first_read[partition(r.table, r.key) + 1] += 1;
            }
        }
        accumulate(&mut first_write);
        accumulate(&mut first_read);

        let mut write_entries = vec![NO_WRITE; first_write[count]];
        let mut read_entries = vec![NO_READ; first_read[count]];
        let mut next_write = first_write.clone();
        let mut next_read = first_read.clone();
        for (first, worker) in numbering.workers() {
            for index in 0..worker.transactions.len() {
                let transaction = first + index as u32;
                for w in worker.writes_of(index).iter().filter(|w| !saturated(w)) {
                    let next = &mut next_write[partition(w.table, w.key)];
                    write_entries[*next] = write_entry(w, transaction);
                    *next += 1;
                }
                for r in worker.reads_of(index) {
                    let next = &mut next_read[partition(r.table, r.key)];
                    read_entries[*next] = read_entry(r, transaction);
                    *next += 1;
                }
            }
        }
        Partitions { writes: write_entries, reads: read_entries, first_write, first_read }
    }

    /// Returns the number of all writes.
    pub fn writes_len(&self) -> usize {
        self.writes.len()
    }

    /// Returns the writes and reads of each partition.
    pub fn iter(&self) -> impl Iterator<Item = (&[WriteEntry], &[ReadEntry])> {
        self.first_write.windows(2).zip(self.first_read.windows(2)).map(|(writes, reads)| {
            (&self.writes[writes[0]..writes[1]], &self.reads[reads[0]..reads[1]])
        })
    }
}

const NO_WRITE: WriteEntry = WriteEntry {
    key: 0,
    version: Version::INITIAL,
    overwritten: Version::INITIAL,
    transaction: 0,
    table: TableId(0),
    kind: WriteKind::Update,
    values: Digest::UNKNOWN,
};

const NO_READ: ReadEntry = ReadEntry {
    key: 0,
    version: Version::INITIAL,
    transaction: 0,
    table: TableId(0),
    present: false,
    values: Digest::UNKNOWN,
};

fn write_entry(w: &Write, transaction: u32) -> WriteEntry {
    WriteEntry {
        key: w.key,
        version: w.version,
        overwritten: w.overwritten,
        transaction,
        table: w.table,
        kind: w.kind,
        values: w.values,
    }
}

fn read_entry(r: &Read, transaction: u32) -> ReadEntry {
    let Read { table, key, version, present, values } = *r;
    ReadEntry { key, version, transaction, table, present, values }
}

/// Returns true for the 256th and later writes of a transaction to the same record. They share a version.
fn saturated(w: &Write) -> bool {
    w.version == w.overwritten && w.version.nth() == u8::MAX
}

fn accumulate(counts: &mut [usize]) {
    let mut sum = 0;
    for count in counts {
        sum += *count;
        *count = sum;
    }
}

/// Reports defects that are visible without the accesses of other transactions.
fn contradictions(numbering: &Numbering<'_>, found: &mut Findings) {
    for pair in numbering.ids().windows(2) {
        if pair[0].0 == pair[1].0 {
            let time = numbering.spans()[pair[1].1 as usize].end;
            found.report(time, Defect::RepeatedTransaction { id: pair[0].0 });
        }
    }
    for (_, worker) in numbering.workers() {
        for &Unmatched { id, table, key, installed } in &worker.unmatched {
            let end = numbering.find(id).map_or(0, |number| numbering.spans()[number as usize].end);
            found.report(end, Defect::UnmatchedWrite { id, table, key, installed });
        }
        for (index, t) in worker.transactions.iter().enumerate() {
            if t.id.worker().is_none() {
                found.report(t.end, Defect::LoadersIdentity { id: t.id });
            }
            if t.begin > t.end {
                found.report_clock(Defect::BackwardClock { id: t.id, begin: t.begin, end: t.end });
            }
            for w in worker.writes_of(index) {
                let at = RecordVersion { table: w.table, key: w.key, version: w.version };
                if w.version.writer() != t.id {
                    found.report(t.end, Defect::ForeignVersion { writer: t.id, at });
                } else if w.overwritten.writer() == t.id
                    && w.overwritten.nth() >= w.version.nth()
                    && !saturated(w)
                {
                    let overwritten = w.overwritten;
                    found.report(t.end, Defect::OwnOrder { writer: t.id, at, overwritten });
                }
            }
        }
    }
}
