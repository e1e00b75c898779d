//! Known bugs, planted one by one, to prove that they are found. Never part of a real run.
//!
//! Each mutant is the protocol's own text with one thing turned; it names the detector that must catch it.

use crate::{
    Change, CommitLog, Declaration, Protocol, ProtocolOptions, Start, dl_detect,
    dl_detect::DlDetect,
    hstore,
    hstore::Hstore,
    mvcc::{self, Mvcc},
    parts::{active_timestamps::Needed, partition_locks::Older, two_phase_locking},
    registry::Visitor,
    silo,
    silo::Silo,
    two_version_no_wait::{self, CertifiedLocks},
    wait_die,
    wait_die::AgedLocks,
};
use machine::{Arena, Machine, OutOfMemory, cold::Arc};
use storage::{Epochs, RecordRef, RowHead};
use txn::{Abort, ColumnSet, Intent, TableSchema, Version};

/// What must notice a mutant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Detector {
    /// The checker refuses a certificate.
    Certificate,
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
    /// Who must catch it.
    pub detector: Detector,
}

/// All mutants.
pub const MUTANTS: &[Mutant] = &[
    Mutant {
        name: "bypassing_writes",
        story: "a write goes to the shared record at once instead of into the write set \
                (an early YCSB of a published code base wrote like that, invisibly: always the same value)",
        detector: Detector::Conservation,
    },
    Mutant {
        name: "wait_die_inverted",
        story: "WAIT_DIE with the comparison turned round: the younger waits, the older dies",
        detector: Detector::OldestNeverDies,
    },
    Mutant {
        name: "silo_without_lock_check",
        story: "SILO's validation does not look whether a record read is locked by another",
        detector: Detector::Certificate,
    },
    Mutant {
        name: "dl_detect_without_search",
        story: "DL_DETECT in which nobody searches for deadlocks, nor gives up a wait",
        detector: Detector::Progress,
    },
    Mutant {
        name: "dl_detect_stale_edges",
        story: "DL_DETECT that follows edges whatever has become of the attempts that they name, and \
                does not look at a circle twice",
        detector: Detector::NoFalseDeadlock,
    },
    Mutant {
        name: "dl_detect_without_readers_ahead",
        story: "DL_DETECT that waits for whom it conflicts with, and forgets that a reader ahead of a \
                reader may become a writer",
        detector: Detector::Progress,
    },
    Mutant {
        name: "mvcc_reads_past_writers",
        story: "MVCC's reader takes the version before an announced earlier write, and may commit although \
                that write is undecided (write skew, as in early multi-version code)",
        detector: Detector::Certificate,
    },
    Mutant {
        name: "mvcc_without_read_marks",
        story: "MVCC's reads leave no rts behind, so an earlier write may still come after them",
        detector: Detector::Certificate,
    },
    Mutant {
        name: "mvcc_collects_under_readers",
        story: "MVCC's collection asks from when on transactions begin, not who has begun before: an older \
                reader loses its version",
        detector: Detector::Assertion,
    },
    Mutant {
        name: "two_version_uncertified",
        story: "2V_NO_WAIT installs its writes without certifying that no reader is left",
        detector: Detector::Certificate,
    },
    Mutant {
        name: "hstore_takes_from_running",
        story: "HSTORE in which an older transaction takes a partition from a younger one that runs",
        detector: Detector::Conservation,
    },
    Mutant {
        name: "hstore_never_goes_first",
        story: "HSTORE in which an older transaction waits for a younger one that has not started",
        detector: Detector::Progress,
    },
    Mutant {
        name: "hstore_without_rollback",
        story: "HSTORE that writes in place and forgets nothing when it aborts (a published code base \
                has no rollback for it)",
        detector: Detector::Rollback,
    },
];

/// Calls `visitor` with the mutant `name`; gives the visitor back if there is none.
pub fn with_mutant<M: Machine, V: Visitor<M>>(name: &str, visitor: V) -> Result<V::Output, V> {
    match name {
        "bypassing_writes" => Ok(visitor.visit::<BypassingWrites<Silo>>()),
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
        "hstore_without_rollback" => Ok(visitor.visit::<BypassingWrites<Hstore<M>>>()),
        "silo_without_lock_check" => Ok(visitor.visit::<Silo<WithoutLockCheck>>()),
        "mvcc_reads_past_writers" => Ok(visitor.visit::<Mvcc<M, PastWriters>>()),
        "mvcc_without_read_marks" => Ok(visitor.visit::<Mvcc<M, WithoutReadMarks>>()),
        "mvcc_collects_under_readers" => Ok(visitor.visit::<Mvcc<M, UnderReaders>>()),
        "two_version_uncertified" => {
            Ok(visitor.visit::<two_phase_locking::TwoPhaseLocking<CertifiedLocks<Uncertified>>>())
        }
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

/// `P`, with writes that go past it.
pub struct BypassingWrites<P>(P);

impl<M: Machine, P: Protocol<M>> Protocol<M> for BypassingWrites<P> {
    const LOCKS_PARTITIONS: bool = P::LOCKS_PARTITIONS;
    type Record = P::Record;
    type Worker<'s>
        = P::Worker<'s>
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
        P::create(arena, options, sessions).map(BypassingWrites)
    }

    fn worker<'s>(&'s self, epochs: &'s Epochs<M>, slot: usize) -> P::Worker<'s> {
        self.0.worker(epochs, slot)
    }

    fn begin<'s>(&'s self, core: &M::Core, worker: &mut P::Worker<'s>, start: Start<'_>) {
        self.0.begin(core, worker, start);
    }

    fn approach<'s>(
        &'s self,
        core: &M::Core,
        worker: &mut P::Worker<'s>,
        table: &TableSchema,
        key: u64,
    ) -> Result<(), Abort> {
        self.0.approach(core, worker, table, key)
    }

    fn read<'s>(
        &'s self,
        core: &M::Core,
        worker: &mut P::Worker<'s>,
        record: RecordRef<'s, M, P::Record>,
        columns: ColumnSet,
        intent: Intent,
        out: &mut [u8],
    ) -> Result<RowHead, Abort> {
        self.0.read(core, worker, record, columns, intent, out)
    }

    fn write<'s>(
        &'s self,
        core: &M::Core,
        _: &mut P::Worker<'s>,
        record: RecordRef<'s, M, P::Record>,
        change: Change<'_>,
    ) -> Result<bool, Abort> {
        let there = record.head(core);
        if change.state.is_none() && !there.state.is_present() {
            return Ok(false);
        }
        record.install(core, change.columns, change.values, change.state, Version::INITIAL);
        Ok(true)
    }

    fn prepare<'s>(&'s self, core: &M::Core, worker: &mut P::Worker<'s>) -> Result<u64, Abort> {
        self.0.prepare(core, worker)
    }

    fn commit<'s>(
        &'s self,
        core: &M::Core,
        worker: &mut P::Worker<'s>,
        timestamp: u64,
        log: &mut CommitLog<'_>,
    ) {
        self.0.commit(core, worker, timestamp, log);
    }

    fn abort<'s>(&'s self, core: &M::Core, worker: &mut P::Worker<'s>) {
        self.0.abort(core, worker);
    }
}
