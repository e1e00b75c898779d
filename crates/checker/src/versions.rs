//! Joins the reads and writes of each record into dependencies.
//!
//! Each partition gets one open-addressing table. It maps a version to the write that installed it and to the
//! write that follows it. The table fits into the cache, so a dependency costs a few cached probes.

use crate::accesses::{Partitions, ReadEntry, WriteEntry, record_hash};
use crate::certificate::EdgeCounts;
use crate::defect::{Defect, Findings, RecordVersion};
use crate::graph::{Dependency, EdgeList, Graph};
use crate::initial::InitialRows;
use crate::numbering::Numbering;
use crate::scans;
use txn::{Digest, TableId, TxnId, Version, WriteKind};

/// Returns the graph of a history, and the number of its edges by kind.
pub(crate) fn dependencies(numbering: &Numbering<'_>, found: &mut Findings) -> (Graph, EdgeCounts) {
    let partitions = Partitions::of(numbering, found);
    let mut join = Join {
        numbering,
        found,
        edges: EdgeList::with_capacity(partitions.writes_len() * 2),
        counts: EdgeCounts::default(),
        overwritten: Vec::new(),
    };
    let (mut versions, mut initial) = (Versions::default(), InitialRows::new(numbering));
    for (writes, reads) in partitions.iter() {
        initial.check(writes, reads, join.found);
        versions.clear(writes.len());
        join.writes(&mut versions, writes);
        join.reads(&versions, writes, reads);
    }
    let (mut edges, mut counts) = (join.edges, join.counts);
    drop(partitions);
    scans::dependencies(numbering, found, &mut edges, &mut counts);
    (Graph::of(numbering.len(), edges), counts)
}

const NONE: u32 = u32::MAX;

/// A version, by the indexes of two writes of its partition.
#[derive(Clone, Copy)]
struct VersionEntry {
    /// The write that installed the version.
    writer: u32,
    /// The write that follows the version.
    successor: u32,
}

const EMPTY: VersionEntry = VersionEntry { writer: NONE, successor: NONE };

/// The versions of a partition. The writes that a entry points to contain the entry's name.
#[derive(Default)]
struct Versions {
    entries: Vec<VersionEntry>,
    mask: usize,
}

impl Versions {
    fn clear(&mut self, writes: usize) {
        // A write mentions two versions, so at most half of the entries are used.
        let capacity = (writes * 4).next_power_of_two();
        self.entries.clear();
        self.entries.resize(capacity, EMPTY);
        self.mask = capacity - 1;
    }

    /// Returns the entry of a version, or the empty entry where it belongs.
    #[inline]
    fn find(&self, writes: &[WriteEntry], table: TableId, key: u64, version: Version) -> usize {
        let hash = (record_hash(table, key).rotate_left(20) ^ version.0)
            .wrapping_mul(0xD6E8_FEB8_6659_FD93);
        let mut at = (hash >> 32 ^ hash) as usize & self.mask;
        loop {
            let entry = self.entries[at];
            let named = if entry.writer != NONE {
                let w = &writes[entry.writer as usize];
                w.key == key && w.table == table && w.version == version
            } else if entry.successor != NONE {
                let w = &writes[entry.successor as usize];
                w.key == key && w.table == table && w.overwritten == version
            } else {
                true
            };
            if named {
                return at;
            }
            at = (at + 1) & self.mask;
        }
    }
}

struct Join<'a, 'h> {
    numbering: &'a Numbering<'h>,
    found: &'a mut Findings,
    edges: EdgeList,
    counts: EdgeCounts,
    /// For each write of the partition, the entry of the version that it overwrote.
    overwritten: Vec<u32>,
}

impl Join<'_, '_> {
    fn id(&self, transaction: u32) -> TxnId {
        self.numbering.id(transaction)
    }

    fn end(&self, transaction: u32) -> u64 {
        self.numbering.spans()[transaction as usize].end
    }

    /// Enters the writes of a partition and joins each with the write that it follows.
    fn writes(&mut self, versions: &mut Versions, writes: &[WriteEntry]) {
        self.overwritten.clear();
        for (index, w) in writes.iter().enumerate() {
            let at = versions.find(writes, w.table, w.key, w.version);
            if versions.entries[at].writer == NONE {
                versions.entries[at].writer = index as u32;
            } else {
                let at = RecordVersion { table: w.table, key: w.key, version: w.version };
                self.found.report(self.end(w.transaction), Defect::RepeatedVersion { at });
            }
            let at = versions.find(writes, w.table, w.key, w.overwritten);
            self.overwritten.push(at as u32);
            match versions.entries[at].successor {
                NONE => versions.entries[at].successor = index as u32,
                other => self.fork(&writes[other as usize], w),
            }
        }
        for (index, w) in writes.iter().enumerate() {
            let entry = versions.entries[self.overwritten[index] as usize];
            if entry.writer != NONE {
                let before = &writes[entry.writer as usize];
                self.follow(before, w);
            } else if w.overwritten != Version::INITIAL {
                let overwritten = overwritten(w);
                let writer = self.id(w.transaction);
                let defect = Defect::UnknownPredecessor { writer, overwritten };
                self.found.report(self.end(w.transaction), defect);
            }
        }
    }

    #[cold]
    fn fork(&mut self, a: &WriteEntry, b: &WriteEntry) {
        let versions = [a.version, b.version];
        let time = self.end(a.transaction).max(self.end(b.transaction));
        self.found.report(time, Defect::ForkedVersion { overwritten: overwritten(b), versions });
    }

    /// Adds the dependency of `w` on `before`, whose version it overwrote.
    #[inline]
    fn follow(&mut self, before: &WriteEntry, w: &WriteEntry) {
        // A transaction that writes a record several times can record the combined kind. Only a first write
        // shows whether the row was present before.
        let inserts = w.kind == WriteKind::Insert;
        let was_absent = before.kind == WriteKind::Delete;
        if inserts != was_absent && w.version.nth() == 1 {
            let (writer, kind) = (self.id(w.transaction), w.kind);
            let defect = Defect::KindContradicted { writer, overwritten: overwritten(w), kind };
            self.found.report(self.end(w.transaction), defect);
        }
        if before.transaction != w.transaction {
            self.counts.ww += 1;
            self.edges.push(before.transaction, w.transaction, Dependency::Write);
        }
    }

    /// Joins the reads of a partition with the writes that installed the versions they read, and with the
    /// writes that follow.
    fn reads(&mut self, versions: &Versions, writes: &[WriteEntry], reads: &[ReadEntry]) {
        for r in reads {
            let entry = versions.entries[versions.find(writes, r.table, r.key, r.version)];
            let successor = match entry.successor {
                NONE => NONE,
                index => writes[index as usize].transaction,
            };
            if entry.writer != NONE {
                let w = &writes[entry.writer as usize];
                if w.transaction == r.transaction {
                    continue;
                }
                self.counts.wr += 1;
                self.edges.push(w.transaction, r.transaction, Dependency::Read);
                if successor == w.transaction {
                    let later = writes[entry.successor as usize].version;
                    self.intermediate(r, later);
                } else if r.present == (w.kind == WriteKind::Delete) {
                    let (reader, present) = (self.id(r.transaction), r.present);
                    let defect = Defect::PresenceContradicted { reader, at: read(r), present };
                    self.found.report(self.end(r.transaction), defect);
                } else if !r.values.agrees_with(w.values) {
                    self.other_values(r);
                }
            } else if r.version != Version::INITIAL {
                self.missing(r);
            } else if !r.values.agrees_with(Digest::LOADED) {
                self.other_values(r);
            }
            if successor != NONE && successor != r.transaction {
                self.counts.rw += 1;
                self.edges.push(r.transaction, successor, Dependency::Anti);
            }
        }
    }

    #[cold]
    fn intermediate(&mut self, r: &ReadEntry, later: Version) {
        let reader = self.id(r.transaction);
        let defect = Defect::IntermediateRead { reader, at: read(r), later };
        self.found.report(self.end(r.transaction), defect);
    }

    #[cold]
    fn other_values(&mut self, r: &ReadEntry) {
        let defect = Defect::ValuesContradicted { reader: self.id(r.transaction), at: read(r) };
        self.found.report(self.end(r.transaction), defect);
    }

    /// Reports a read of a version that no write of a committed transaction left.
    #[cold]
    fn missing(&mut self, r: &ReadEntry) {
        let (reader, at, writer) = (self.id(r.transaction), read(r), r.version.writer());
        if writer == reader {
            return;
        }
        let defect = match self.numbering.find(writer) {
            None if writer.worker().is_some() => Defect::AbortedRead { reader, at },
            None => Defect::UnwrittenRead { reader, at },
            Some(number) => {
                let mut written = self.numbering.writes(number).iter();
                let later = written.find(|w| {
                    (w.table, w.key) == (r.table, r.key) && w.version.nth() > r.version.nth()
                });
                match later {
                    Some(w) => Defect::IntermediateRead { reader, at, later: w.version },
                    None => Defect::UnwrittenRead { reader, at },
                }
            }
        };
        self.found.report(self.end(r.transaction), defect);
    }
}

fn read(r: &ReadEntry) -> RecordVersion {
    RecordVersion { table: r.table, key: r.key, version: r.version }
}

fn overwritten(w: &WriteEntry) -> RecordVersion {
    RecordVersion { table: w.table, key: w.key, version: w.overwritten }
}
