//! Known bugs, planted one by one, to prove that they are found. Never part of a real run.
//!
//! Each mutant is the protocol's own text with one thing turned; it names the detector that must catch it.

use crate::{
    Change, CommitLog, Declaration, Protocol, ProtocolOptions, Start, dl_detect,
    dl_detect::DlDetect,
    hstore,
    hstore::Hstore,
    mvcc::{self, Mvcc},
    no_wait::NoWait,
    occ::Occ,
    parts::{active_timestamps::Needed, partition_locks::Older, two_phase_locking},
    registry::Visitor,
    silo,
    silo::Silo,
    tictoc::TicToc,
    timestamp::Timestamp,
    two_version_no_wait::{self, CertifiedLocks},
    wait_die,
    wait_die::{AgedLocks, WaitDie},
};
use machine::{Arena, Machine, OutOfMemory, cold::Arc};
use std::marker::PhantomData;
use storage::{Epochs, GuardRef, RecordRef, RowHead};
use txn::{Abort, ColumnSet, Intent, KeyRange, TableSchema, Version};

/// What must notice a mutant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Detector {
    /// The checker refuses a certificate.
    Certificate,
    /// The checker refuses a certificate; or a law is broken, on a schedule that runs unrecorded.
    CertificateOrLaw,
    /// The workload's conservation law is broken.
    Conservation,
    /// The same, where procedures are rolled back half way.
    Rollback,
    /// The oldest transaction died.
    OldestNeverDies,
    /// A deadlock was found where none can be.
    NoFalseDeadlock,
    /// The run comes to no end.
    Progress,
    /// The protocol itself finds that something cannot be.
    Assertion,
}

/// A planted bug.
#[derive(Clone, Copy, Debug)]
pub struct Mutant {
    /// Name on the command line.
    pub name: &'static str,
    /// What was done, and where it was seen before.
    pub story: &'static str,
    /// The workload in which it shows.
    pub workload: &'static str,
    /// Who must catch it.
    pub detector: Detector,
}

/// All mutants.
pub const MUTANTS: &[Mutant] = &[
    Mutant {
        name: "bypassing_writes",
        story: "a write goes to the shared record at once instead of into the write set \
                (an early YCSB of a published code base wrote like that, invisibly: always the same value)",
        workload: "counters",
        detector: Detector::Conservation,
    },
    Mutant {
        name: "wait_die_inverted",
        story: "WAIT_DIE with the comparison turned round: the younger waits, the older dies",
        workload: "counters",
        detector: Detector::OldestNeverDies,
    },
    Mutant {
        name: "silo_without_lock_check",
        story: "SILO's validation does not look whether a record read is locked by another",
        workload: "counters",
        detector: Detector::Certificate,
    },
    Mutant {
        name: "phantom_by_returned_keys",
        story: "SILO validates the rows that a scan returned, not the range that it was asked for",
        workload: "ranges",
        detector: Detector::CertificateOrLaw,
    },
    Mutant {
        name: "phantom_ignores_empty_range",
        story: "OCC validates scanned leaves, but not those in which there was nothing",
        workload: "ranges",
        detector: Detector::CertificateOrLaw,
    },
    Mutant {
        name: "phantom_unasked_insertion",
        story: "NO_WAIT locks scanned ranges, but inserts without asking for them",
        workload: "ranges",
        detector: Detector::CertificateOrLaw,
    },
    Mutant {
        name: "phantom_unread_absence",
        story: "WAIT_DIE makes a record in a range that it has scanned, and does not lock it before others \
                can find it: what it saw absent may be there when it comes to it (ours, at first)",
        workload: "ranges",
        detector: Detector::CertificateOrLaw,
    },
    Mutant {
        name: "phantom_fresh_start",
        story: "a record that TICTOC makes in a scanned range may be written before the scan's timestamp",
        workload: "ranges",
        detector: Detector::CertificateOrLaw,
    },
    Mutant {
        name: "phantom_forgotten_half",
        story: "the right half of a leaf that TIMESTAMP splits has lost the timestamp of its last scan",
        workload: "ranges",
        detector: Detector::CertificateOrLaw,
    },
    Mutant {
        name: "dl_detect_without_search",
        story: "DL_DETECT in which nobody searches for deadlocks, nor gives up a wait",
        workload: "counters",
        detector: Detector::Progress,
    },
    Mutant {
        name: "dl_detect_stale_edges",
        story: "DL_DETECT that follows edges whatever has become of the attempts that they name, and \
                does not look at a circle twice",
        workload: "counters",
        detector: Detector::NoFalseDeadlock,
    },
    Mutant {
        name: "dl_detect_without_readers_ahead",
        story: "DL_DETECT that waits for whom it conflicts with, and forgets that a reader ahead of a \
                reader may become a writer",
        workload: "counters",
        detector: Detector::Progress,
    },
    Mutant {
        name: "mvcc_reads_past_writers",
        story: "MVCC's reader takes the version before an announced earlier write, and may commit although \
                that write is undecided (write skew, as in early multi-version code)",
        workload: "counters",
        detector: Detector::Certificate,
    },
    Mutant {
        name: "mvcc_without_read_marks",
        story: "MVCC's reads leave no rts behind, so an earlier write may still come after them",
        workload: "counters",
        detector: Detector::Certificate,
    },
    Mutant {
        name: "mvcc_collects_under_readers",
        story: "MVCC's collection asks from when on transactions begin, not who has begun before: an older \
                reader loses its version",
        workload: "counters",
        detector: Detector::Assertion,
    },
    Mutant {
        name: "two_version_uncertified",
        story: "2V_NO_WAIT installs its writes without certifying that no reader is left",
        workload: "counters",
        detector: Detector::Certificate,
    },
    Mutant {
        name: "hstore_takes_from_running",
        story: "HSTORE in which an older transaction takes a partition from a younger one that runs",
        workload: "counters",
        detector: Detector::Conservation,
    },
    Mutant {
        name: "hstore_never_goes_first",
        story: "HSTORE in which an older transaction waits for a younger one that has not started",
        workload: "counters",
        detector: Detector::Progress,
    },
    Mutant {
        name: "hstore_without_rollback",
        story: "HSTORE that writes in place and forgets nothing when it aborts (a published code base \
                has no rollback for it)",
        workload: "counters",
        detector: Detector::Rollback,
    },
];

/// Calls `visitor` with the mutant `name`; gives the visitor back if there is none.
pub fn with_mutant<M: Machine, V: Visitor<M>>(name: &str, visitor: V) -> Result<V::Output, V> {
    match name {
        "bypassing_writes" => Ok(visitor.visit::<Twisted<Silo, BypassingWrites>>()),
        "wait_die_inverted" => {
            Ok(visitor.visit::<two_phase_locking::TwoPhaseLocking<AgedLocks<M, Inverted>>>())
        }
        "dl_detect_without_search" => Ok(visitor.visit::<DlDetect<M, WithoutSearch>>()),
        "dl_detect_stale_edges" => Ok(visitor.visit::<DlDetect<M, StaleEdges>>()),
        "dl_detect_without_readers_ahead" => {
            Ok(visitor.visit::<DlDetect<M, WithoutReadersAhead>>())
        }
        "hstore_takes_from_running" => Ok(visitor.visit::<Hstore<M, TakesFromRunning>>()),
        "hstore_never_goes_first" => Ok(visitor.visit::<Hstore<M, NeverGoesFirst>>()),
        "hstore_without_rollback" => Ok(visitor.visit::<Twisted<Hstore<M>, BypassingWrites>>()),
        "silo_without_lock_check" => Ok(visitor.visit::<Silo<WithoutLockCheck>>()),
        "mvcc_reads_past_writers" => Ok(visitor.visit::<Mvcc<M, PastWriters>>()),
        "mvcc_without_read_marks" => Ok(visitor.visit::<Mvcc<M, WithoutReadMarks>>()),
        "mvcc_collects_under_readers" => Ok(visitor.visit::<Mvcc<M, UnderReaders>>()),
        "two_version_uncertified" => {
            Ok(visitor.visit::<two_phase_locking::TwoPhaseLocking<CertifiedLocks<Uncertified>>>())
        }
        "phantom_by_returned_keys" => Ok(visitor.visit::<Twisted<Silo, ReturnedKeys>>()),
        "phantom_ignores_empty_range" => Ok(visitor.visit::<Twisted<Occ<M>, FilledRanges>>()),
        "phantom_unasked_insertion" => Ok(visitor.visit::<Twisted<NoWait, UnaskedInsertions>>()),
        "phantom_unread_absence" => Ok(visitor.visit::<Twisted<WaitDie<M>, UnreadAbsences>>()),
        "phantom_fresh_start" => Ok(visitor.visit::<Twisted<TicToc<M>, FreshStarts>>()),
        "phantom_forgotten_half" => Ok(visitor.visit::<Twisted<Timestamp<M>, ForgottenHalves>>()),
        _ => Err(visitor),
    }
}

/// WAIT_DIE's comparison, turned round.
pub struct Inverted;
impl wait_die::Variant for Inverted {
    fn may_wait(own: u64, other: u64) -> bool {
        own > other
    }
}

/// DL_DETECT's search, left out.
pub struct WithoutSearch;
impl dl_detect::Variant for WithoutSearch {
    const SEARCHES: bool = false;
    const TIMES_OUT: bool = false;
}

/// DL_DETECT's edges, to those in conflict only.
pub struct WithoutReadersAhead;
impl dl_detect::Variant for WithoutReadersAhead {
    const MEETS_ALL: bool = false;
    const TIMES_OUT: bool = false;
}

/// DL_DETECT's edges, followed for ever.
pub struct StaleEdges;
impl dl_detect::Variant for StaleEdges {
    const CURRENT_EDGES: bool = false;
}

/// HSTORE's partitions, taken from who uses them.
pub struct TakesFromRunning;
impl hstore::Variant for TakesFromRunning {
    const OLDER: Option<Older> = Some(Older::Takes);
}

/// HSTORE's queues, in which whoever came first has the partition.
pub struct NeverGoesFirst;
impl hstore::Variant for NeverGoesFirst {
    const OLDER: Option<Older> = Some(Older::Waits);
}

/// SILO's validation without its second half.
pub struct WithoutLockCheck;
impl silo::Variant for WithoutLockCheck {
    const CHECKS_LOCK: bool = false;
}

/// MVCC that does not wait for earlier writes.
pub struct PastWriters;
impl mvcc::Variant for PastWriters {
    const AWAITS_WRITERS: bool = false;
}

/// MVCC that forgets who has read.
pub struct WithoutReadMarks;
impl mvcc::Variant for WithoutReadMarks {
    const MARKS_READS: bool = false;
}

/// MVCC that collects what transactions may be reading.
pub struct UnderReaders;
impl mvcc::Variant for UnderReaders {
    fn is_needed(needed: &Needed, _: u64, end: u64) -> bool {
        end > needed.frontier()
    }
}

/// 2V_NO_WAIT without its third kind of lock.
pub struct Uncertified;
impl two_version_no_wait::Variant for Uncertified {
    const CERTIFIES: bool = false;
}

/// A bug that is planted between a protocol and whoever calls it.
pub trait Twist: Send + Sync + 'static {
    /// Writes go to the shared record at once.
    const WRITES_BYPASS: bool = false;
    /// No scanned leaf is announced.
    const SCANS_KEYS: bool = false;
    /// A scanned leaf is announced only when a record in it is read.
    const SCANS_RECORDS: bool = false;
    /// Records are made without asking.
    const INSERTS_UNASKED: bool = false;
    /// The absence that a scan has seen is not protected when a record is made for it.
    const INSERTS_UNREAD: bool = false;
    /// A record made in a leaf does not start where the leaf's guard stands.
    const FORGETS_RANGE: bool = false;
    /// The right half of a leaf does not know what the whole knew.
    const FORGETS_SPLIT: bool = false;
}

/// Writes that go past the protocol.
pub struct BypassingWrites;
impl Twist for BypassingWrites {
    const WRITES_BYPASS: bool = true;
}

/// Protects the keys that a scan returned.
pub struct ReturnedKeys;
impl Twist for ReturnedKeys {
    const SCANS_KEYS: bool = true;
}

/// Protects a range only if there is something in it.
pub struct FilledRanges;
impl Twist for FilledRanges {
    const SCANS_RECORDS: bool = true;
}

/// Makes records in ranges that others have scanned.
pub struct UnaskedInsertions;
impl Twist for UnaskedInsertions {
    const INSERTS_UNASKED: bool = true;
}

/// Does not protect the absence of a row in a range that was scanned, once there is a record.
pub struct UnreadAbsences;
impl Twist for UnreadAbsences {
    const INSERTS_UNREAD: bool = true;
}

/// Lets a record start before the last scan of its range.
pub struct FreshStarts;
impl Twist for FreshStarts {
    const FORGETS_RANGE: bool = true;
}

/// Loses half of what it knew of a range that is split.
pub struct ForgottenHalves;
impl Twist for ForgottenHalves {
    const FORGETS_SPLIT: bool = true;
}

/// `P`, with the bug `T`.
pub struct Twisted<P, T> {
    protocol: P,
    twist: PhantomData<T>,
}

/// `P`'s state, and the leaf that is to be announced yet.
pub struct TwistedWorker<'s, M: Machine, P: Protocol<M>> {
    worker: P::Worker<'s>,
    unannounced: Option<GuardRef<'s, M, P::Record>>,
}

impl<M: Machine, P: Protocol<M>, T: Twist> Protocol<M> for Twisted<P, T> {
    const LOCKS_PARTITIONS: bool = P::LOCKS_PARTITIONS;
    type Record = P::Record;
    type Worker<'s>
        = TwistedWorker<'s, M, P>
    where
        M: 's;

    fn declare(options: &ProtocolOptions) -> Declaration {
        P::declare(options)
    }

    fn create(
        arena: &Arc<Arena>,
        options: &ProtocolOptions,
        sessions: usize,
    ) -> Result<Self, OutOfMemory> {
        let protocol = P::create(arena, options, sessions)?;
        Ok(Twisted { protocol, twist: PhantomData })
    }

    fn worker<'s>(&'s self, epochs: &'s Epochs<M>, slot: usize) -> Self::Worker<'s> {
        TwistedWorker { worker: self.protocol.worker(epochs, slot), unannounced: None }
    }

    fn begin<'s>(&'s self, core: &M::Core, worker: &mut Self::Worker<'s>, start: Start<'_>) {
        worker.unannounced = None;
        self.protocol.begin(core, &mut worker.worker, start);
    }

    fn approach<'s>(
        &'s self,
        core: &M::Core,
        worker: &mut Self::Worker<'s>,
        table: &TableSchema,
        key: u64,
    ) -> Result<(), Abort> {
        self.protocol.approach(core, &mut worker.worker, table, key)
    }

    fn approach_range<'s>(
        &'s self,
        core: &M::Core,
        worker: &mut Self::Worker<'s>,
        table: &TableSchema,
        range: KeyRange,
    ) -> Result<(), Abort> {
        self.protocol.approach_range(core, &mut worker.worker, table, range)
    }

    fn read<'s>(
        &'s self,
        core: &M::Core,
        worker: &mut Self::Worker<'s>,
        record: RecordRef<'s, M, P::Record>,
        columns: ColumnSet,
        intent: Intent,
        out: &mut [u8],
    ) -> Result<RowHead, Abort> {
        if let Some(guard) = worker.unannounced.take() {
            self.protocol.scan(core, &mut worker.worker, guard)?;
        }
        self.protocol.read(core, &mut worker.worker, record, columns, intent, out)
    }

    fn write<'s>(
        &'s self,
        core: &M::Core,
        worker: &mut Self::Worker<'s>,
        record: RecordRef<'s, M, P::Record>,
        change: Change<'_>,
    ) -> Result<bool, Abort> {
        if !T::WRITES_BYPASS {
            return self.protocol.write(core, &mut worker.worker, record, change);
        }
        let there = record.head(core);
        if change.state.is_none() && !there.state.is_present() {
            return Ok(false);
        }
        record.install(core, change.columns, change.values, change.state, Version::INITIAL);
        Ok(true)
    }

    fn scan<'s>(
        &'s self,
        core: &M::Core,
        worker: &mut Self::Worker<'s>,
        guard: GuardRef<'s, M, P::Record>,
    ) -> Result<(), Abort> {
        worker.unannounced = T::SCANS_RECORDS.then_some(guard);
        if T::SCANS_KEYS || T::SCANS_RECORDS {
            return Ok(());
        }
        self.protocol.scan(core, &mut worker.worker, guard)
    }

    fn begin_insertion<'s>(
        &'s self,
        core: &M::Core,
        worker: &mut Self::Worker<'s>,
        guard: GuardRef<'s, M, P::Record>,
    ) -> Result<(), Abort> {
        worker.unannounced = None;
        if T::INSERTS_UNASKED {
            return Ok(());
        }
        self.protocol.begin_insertion(core, &mut worker.worker, guard)
    }

    fn end_insertion<'s>(
        &'s self,
        core: &M::Core,
        worker: &mut Self::Worker<'s>,
        guard: GuardRef<'s, M, P::Record>,
    ) {
        self.protocol.end_insertion(core, &mut worker.worker, guard);
    }

    fn insert<'s>(
        &'s self,
        core: &M::Core,
        worker: &mut Self::Worker<'s>,
        guard: GuardRef<'s, M, P::Record>,
        record: RecordRef<'s, M, P::Record>,
        counted: u64,
    ) -> Result<(), Abort> {
        if T::INSERTS_UNREAD {
            self.protocol.prepare_record(core, &record, Some(guard));
            return Ok(());
        }
        self.protocol.insert(core, &mut worker.worker, guard, record, counted)?;
        if T::FORGETS_RANGE {
            self.protocol.prepare_record(core, &record, None);
        }
        Ok(())
    }

    fn split<'s>(
        &'s self,
        core: &M::Core,
        worker: &mut Self::Worker<'s>,
        guard: GuardRef<'s, M, P::Record>,
        right: GuardRef<'s, M, P::Record>,
        counted: u64,
    ) -> Result<(), Abort> {
        if T::FORGETS_SPLIT {
            return Ok(());
        }
        self.protocol.split(core, &mut worker.worker, guard, right, counted)
    }

    fn merge(
        &self,
        core: &M::Core,
        gone: GuardRef<'_, M, P::Record>,
        heir: GuardRef<'_, M, P::Record>,
    ) {
        self.protocol.merge(core, gone, heir);
    }

    fn prepare<'s>(&'s self, core: &M::Core, worker: &mut Self::Worker<'s>) -> Result<u64, Abort> {
        self.protocol.prepare(core, &mut worker.worker)
    }

    fn commit<'s>(
        &'s self,
        core: &M::Core,
        worker: &mut Self::Worker<'s>,
        timestamp: u64,
        log: &mut CommitLog<'_>,
    ) {
        self.protocol.commit(core, &mut worker.worker, timestamp, log);
    }

    fn abort<'s>(&'s self, core: &M::Core, worker: &mut Self::Worker<'s>) {
        self.protocol.abort(core, &mut worker.worker);
    }

    fn prepare_record(
        &self,
        core: &M::Core,
        record: &RecordRef<'_, M, P::Record>,
        guard: Option<GuardRef<'_, M, P::Record>>,
    ) {
        self.protocol.prepare_record(core, record, guard);
    }

    fn retire(
        &self,
        core: &M::Core,
        record: &RecordRef<'_, M, P::Record>,
        guard: Option<GuardRef<'_, M, P::Record>>,
    ) {
        self.protocol.retire(core, record, guard);
    }

    fn priority<'s>(&'s self, worker: &Self::Worker<'s>) -> Option<u64> {
        self.protocol.priority(&worker.worker)
    }
}
