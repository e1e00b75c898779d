//! Known bugs, planted one by one, to prove that they are found. Never part of a real run.
//!
//! Each mutant is the protocol's own text with one thing turned; it names the detector that must catch it.

mod keeps_shared;
mod twist;

use crate::{
    bamboo::{self, Bamboo},
    cicada::{self, Cicada},
    dl_detect::{self, DlDetect, VersionedLocks},
    hekaton::{self, Hekaton},
    hstore,
    hstore::Hstore,
    mocc::{self, Mocc},
    mvcc::{self, Mvcc},
    no_wait::{self, CountedLocks, ListedLocks, NoWait},
    occ::{self, Occ},
    parts::{
        active_timestamps::Needed,
        lock_table::{self, LockTables},
        ordered_locks::OutOfOrder,
        partition_locks::Older,
        two_phase_locking,
        versioned_readers::{self, ReadersOnVersions},
    },
    registry::Visitor,
    silo,
    silo::Silo,
    snapshot::{self, Snapshot},
    ssn::{self, Ssn},
    tictoc,
    tictoc::TicToc,
    timestamp::{self, Timestamp},
    two_version_no_wait::{self, CertifiedLocks},
    wait_die,
    wait_die::{AgedLocks, WaitDie},
};
use keeps_shared::KeepsShared;
use machine::Machine;
use twist::{
    Batches, BypassingWrites, FilledRanges, ForgottenHalves, FreesEarly, FreshStarts, ReadsPastOwn,
    RetriesAnew, ReturnedKeys, StayingEntries, StayingParts, Twisted, UnaskedInsertions,
    Unprepared, UnreadAbsences, WaitsAtCommit,
};

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
    /// A transaction comes before another in the serial order, and bears a later epoch.
    EpochOrder,
    /// A deadlock was found where none can be.
    NoFalseDeadlock,
    /// The run comes to no end.
    Progress,
    /// The protocol itself finds that something cannot be.
    Assertion,
}

impl Detector {
    /// The names under which a report tells that it was this one who found something.
    pub const fn names(self) -> &'static [&'static str] {
        match self {
            Detector::CertificateOrLaw => &["certificate", "conservation law"],
            Detector::Certificate => &["certificate"],
            Detector::Conservation | Detector::Rollback => &["conservation law"],
            Detector::EpochOrder => &["epoch order"],
            Detector::OldestNeverDies => &["the oldest never dies"],
            Detector::NoFalseDeadlock => &["no false deadlock"],
            Detector::Progress => &["progress"],
            Detector::Assertion => &["panic"],
        }
    }
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
        name: "no_wait_never_upgrades",
        story: "NO_WAIT that locks its writes at commit takes what it holds already for locked, although it \
                may hold it to read",
        workload: "counters",
        detector: Detector::CertificateOrLaw,
    },
    Mutant {
        name: "lock_table_without_names",
        story: "records whose locks are in one bucket of a lock table share a lock, and a transaction \
                conflicts with itself",
        workload: "counters",
        detector: Detector::Progress,
    },
    Mutant {
        name: "index_entry_stays",
        story: "an index keeps the entry of the values that a row had before its update, or before it was \
                deleted",
        workload: "rooms",
        detector: Detector::Conservation,
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
        name: "occ_validates_outside",
        story: "OCC with central validation enters the critical section only to write, when it has validated",
        workload: "counters",
        detector: Detector::Certificate,
    },
    Mutant {
        name: "readers_past_committing_writers",
        story: "DL_DETECT with readers on versions: a reader takes the version before that of a writer \
                which is about to commit, whatever its timestamp will be",
        workload: "counters",
        detector: Detector::CertificateOrLaw,
    },
    Mutant {
        name: "readers_before_late_marks",
        story: "DL_DETECT with readers on versions: a writer draws its timestamp before it marks what it will \
                overwrite, so a later reader may have come and gone",
        workload: "counters",
        detector: Detector::CertificateOrLaw,
    },
    Mutant {
        name: "bamboo_without_waiting",
        story: "BAMBOO commits without waiting for the transactions whose writes it has seen",
        workload: "counters",
        detector: Detector::CertificateOrLaw,
    },
    Mutant {
        name: "bamboo_without_cascade",
        story: "BAMBOO's aborts do not reach those who have seen what is undone",
        workload: "counters",
        detector: Detector::CertificateOrLaw,
    },
    Mutant {
        name: "bamboo_keeps_early_images",
        story: "BAMBOO writes a row again that others have seen already, and lets them go on with what they saw",
        workload: "counters",
        detector: Detector::CertificateOrLaw,
    },
    Mutant {
        name: "mocc_trusts_locks",
        story: "MOCC does not validate what it has locked, although it may have given the lock back meanwhile \
                to keep to the order",
        workload: "counters",
        detector: Detector::CertificateOrLaw,
    },
    Mutant {
        name: "mocc_waits_out_of_order",
        story: "MOCC waits for locks in whatever order it comes by them",
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
        name: "snapshot_last_updater_wins",
        story: "SNAPSHOT writes over a version that is later than the transaction's snapshot (lost update)",
        workload: "counters",
        detector: Detector::Certificate,
    },
    Mutant {
        name: "snapshot_reads_past_commits",
        story: "SNAPSHOT's reader does not wait for a commit that was stamped before its snapshot, and sees \
                a part of it",
        workload: "counters",
        detector: Detector::Certificate,
    },
    Mutant {
        name: "ssn_without_exclusion",
        story: "SSN keeps all its stamps and never looks whether they exclude one another",
        workload: "smallbank",
        detector: Detector::Certificate,
    },
    Mutant {
        name: "ssn_without_read_stamps",
        story: "SSN's readers leave no stamps, so an overwriter does not know that they precede it",
        workload: "smallbank",
        detector: Detector::Certificate,
    },
    Mutant {
        name: "ssn_without_waiting",
        story: "SSN's reader does not wait for an overwriter that is about to commit with an earlier stamp",
        workload: "smallbank",
        detector: Detector::Certificate,
    },
    Mutant {
        name: "phantom_uncertified_range",
        story: "SSN certifies the rows that a scan met, not the range",
        workload: "ranges",
        detector: Detector::CertificateOrLaw,
    },
    Mutant {
        name: "hekaton_without_waiting",
        story: "HEKATON commits without waiting for those whose versions it has read before they were decided",
        workload: "ycsb",
        detector: Detector::Certificate,
    },
    Mutant {
        name: "hekaton_loses_dependencies",
        story: "HEKATON enters a dependency without looking whether the other has told all that depend on it by then",
        workload: "counters",
        detector: Detector::Progress,
    },
    Mutant {
        name: "hekaton_validates_at_begin",
        story: "HEKATON validates its reads as of its begin, at which they are always valid (write skew)",
        workload: "counters",
        detector: Detector::Certificate,
    },
    Mutant {
        name: "cicada_without_rts_check",
        story: "CICADA overwrites a version that a later transaction has read",
        workload: "smallbank",
        detector: Detector::Certificate,
    },
    Mutant {
        name: "cicada_reads_past_pending",
        story: "CICADA takes an earlier version that is pending for one that will abort, and reads the one before",
        workload: "counters",
        detector: Detector::Certificate,
    },
    Mutant {
        name: "cicada_installs_late",
        story: "CICADA's versions become pending when everything has been looked at: a later reader and this writer \
                may miss each other",
        workload: "counters",
        detector: Detector::Certificate,
    },
    Mutant {
        name: "cicada_called_strict",
        story: "CICADA promises to keep real-time order, which clocks that are apart do not",
        workload: "counters",
        detector: Detector::Certificate,
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
        detector: Detector::CertificateOrLaw,
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
    Mutant {
        name: "retry_gets_fresh_timestamp",
        story: "WAIT_DIE whose retries draw timestamps anew, so nobody ever grows old",
        workload: "counters",
        detector: Detector::OldestNeverDies,
    },
    Mutant {
        name: "reads_past_own_writes",
        story: "SILO's reads see the shared record, not what the transaction itself has written to it",
        workload: "counters",
        detector: Detector::Conservation,
    },
    Mutant {
        name: "update_without_upgrade",
        story: "NO_WAIT that keeps its shared lock when it updates what it has read",
        workload: "counters",
        detector: Detector::CertificateOrLaw,
    },
    Mutant {
        name: "unsorted_write_locks",
        story: "SILO that waits for write locks in the order of its writes (published code sorts by key \
                alone, in several tables)",
        workload: "counters",
        detector: Detector::Progress,
    },
    Mutant {
        name: "timestamps_cut_short",
        story: "TIMESTAMP that keeps 32 bits of timestamps that are longer",
        workload: "counters",
        detector: Detector::Progress,
    },
    Mutant {
        name: "tictoc_extends_locked",
        story: "TICTOC extends the validity of a version whose successor is being installed",
        workload: "counters",
        detector: Detector::CertificateOrLaw,
    },
    Mutant {
        name: "batches_called_strict",
        story: "TIMESTAMP draws its timestamps in batches, and still promises to keep real-time order",
        workload: "counters",
        detector: Detector::Certificate,
    },
    Mutant {
        name: "validation_skipped",
        story: "TICTOC's commit without validation, locks and timestamp, as a lower isolation level of \
                published code has it, still called serializable",
        workload: "counters",
        detector: Detector::CertificateOrLaw,
    },
    Mutant {
        name: "silo_early_epoch",
        story: "SILO reads the epoch before it has its locks: recovery by epochs could keep a transaction \
                and lose one that it depends on",
        workload: "counters",
        detector: Detector::EpochOrder,
    },
    Mutant {
        name: "silo_adds_unlocked",
        story: "SILO with updates at commit adds to what is there before it has locked it",
        workload: "counters",
        detector: Detector::Conservation,
    },
    Mutant {
        name: "split_row_half_deleted",
        story: "a row in two parts is deleted, and its second part stays",
        workload: "counters",
        detector: Detector::Conservation,
    },
    Mutant {
        name: "memory_used_again_early",
        story: "a record that was taken out of its index is used again while others may be reading it",
        workload: "counters",
        detector: Detector::Assertion,
    },
];

/// Calls `visitor` with the mutant `name`; gives the visitor back if there is none.
pub fn with_mutant<M: Machine, V: Visitor<M>>(name: &str, visitor: V) -> Result<V::Output, V> {
    match name {
        "bypassing_writes" => Ok(visitor.visit::<Twisted<Silo, BypassingWrites>>()),
        "wait_die_inverted" => {
            Ok(visitor.visit::<two_phase_locking::TwoPhaseLocking<AgedLocks<M, Inverted>>>())
        }
        "no_wait_never_upgrades" => {
            Ok(visitor.visit::<two_phase_locking::TwoPhaseLocking<CountedLocks<NeverUpgrades>>>())
        }
        "lock_table_without_names" => Ok(visitor.visit::<two_phase_locking::TwoPhaseLocking<
            ListedLocks<M, LockTables<M, WithoutNames>>,
        >>()),
        "dl_detect_without_search" => Ok(visitor.visit::<DlDetect<M, WithoutSearch>>()),
        "dl_detect_stale_edges" => Ok(visitor.visit::<DlDetect<M, StaleEdges>>()),
        "dl_detect_without_readers_ahead" => {
            Ok(visitor.visit::<DlDetect<M, WithoutReadersAhead>>())
        }
        "hstore_takes_from_running" => Ok(visitor.visit::<Hstore<M, TakesFromRunning>>()),
        "hstore_never_goes_first" => Ok(visitor.visit::<Hstore<M, NeverGoesFirst>>()),
        "hstore_without_rollback" => Ok(visitor.visit::<Twisted<Hstore<M>, BypassingWrites>>()),
        "silo_without_lock_check" => Ok(visitor.visit::<Silo<WithoutLockCheck>>()),
        "occ_validates_outside" => Ok(visitor.visit::<Occ<M, ValidatesOutside>>()),
        "readers_past_committing_writers" => {
            Ok(visitor.visit::<ReadersOnVersions<M, VersionedLocks<M>, PastCommitting>>())
        }
        "readers_before_late_marks" => {
            Ok(visitor.visit::<ReadersOnVersions<M, VersionedLocks<M>, LateMarks>>())
        }
        "bamboo_without_waiting" => Ok(visitor.visit::<Bamboo<M, WithoutAwaiting>>()),
        "bamboo_without_cascade" => Ok(visitor.visit::<Bamboo<M, WithoutCascade>>()),
        "bamboo_keeps_early_images" => Ok(visitor.visit::<Bamboo<M, EarlyImages>>()),
        "mocc_trusts_locks" => Ok(visitor.visit::<Mocc<M, TrustsLocks>>()),
        "mocc_waits_out_of_order" => Ok(visitor.visit::<Mocc<M, WaitsOutOfOrder>>()),
        "mvcc_reads_past_writers" => Ok(visitor.visit::<Mvcc<M, PastWriters>>()),
        "mvcc_without_read_marks" => Ok(visitor.visit::<Mvcc<M, WithoutReadMarks>>()),
        "mvcc_collects_under_readers" => Ok(visitor.visit::<Mvcc<M, UnderReaders>>()),
        "snapshot_last_updater_wins" => {
            Ok(visitor.visit::<Snapshot<M, snapshot::Uncertified, LastWins>>())
        }
        "snapshot_reads_past_commits" => {
            Ok(visitor.visit::<Snapshot<M, snapshot::Uncertified, PastCommits>>())
        }
        "ssn_without_exclusion" => Ok(visitor.visit::<Ssn<M, WithoutExclusion>>()),
        "ssn_without_read_stamps" => Ok(visitor.visit::<Ssn<M, WithoutReadStamps>>()),
        "ssn_without_waiting" => Ok(visitor.visit::<Ssn<M, WithoutWaiting>>()),
        "phantom_uncertified_range" => Ok(visitor.visit::<Ssn<M, UncertifiedRanges>>()),
        "hekaton_without_waiting" => Ok(visitor.visit::<Hekaton<M, WithoutDependencies>>()),
        "hekaton_loses_dependencies" => Ok(visitor.visit::<Hekaton<M, LosesDependencies>>()),
        "hekaton_validates_at_begin" => Ok(visitor.visit::<Hekaton<M, ValidatesAtBegin>>()),
        "cicada_without_rts_check" => Ok(visitor.visit::<Cicada<M, WithoutReaders>>()),
        "cicada_reads_past_pending" => Ok(visitor.visit::<Cicada<M, PastPending>>()),
        "cicada_installs_late" => Ok(visitor.visit::<Cicada<M, InstallsLate>>()),
        "cicada_called_strict" => Ok(visitor.visit::<Cicada<M, CalledStrict>>()),
        "two_version_uncertified" => {
            Ok(visitor.visit::<two_phase_locking::TwoPhaseLocking<CertifiedLocks<Uncertified>>>())
        }
        "phantom_by_returned_keys" => Ok(visitor.visit::<Twisted<Silo, ReturnedKeys>>()),
        "phantom_ignores_empty_range" => Ok(visitor.visit::<Twisted<Occ<M>, FilledRanges>>()),
        "phantom_unasked_insertion" => Ok(visitor.visit::<Twisted<NoWait, UnaskedInsertions>>()),
        "phantom_unread_absence" => Ok(visitor.visit::<Twisted<WaitDie<M>, UnreadAbsences>>()),
        "phantom_fresh_start" => Ok(visitor.visit::<Twisted<TicToc<M>, FreshStarts>>()),
        "index_entry_stays" => Ok(visitor.visit::<Twisted<Silo, StayingEntries>>()),
        "phantom_forgotten_half" => Ok(visitor.visit::<Twisted<Timestamp<M>, ForgottenHalves>>()),
        "retry_gets_fresh_timestamp" => Ok(visitor.visit::<Twisted<WaitDie<M>, RetriesAnew>>()),
        "reads_past_own_writes" => Ok(visitor.visit::<Twisted<Silo, ReadsPastOwn>>()),
        "update_without_upgrade" => {
            Ok(visitor.visit::<two_phase_locking::TwoPhaseLocking<KeepsShared<CountedLocks>>>())
        }
        "unsorted_write_locks" => Ok(visitor.visit::<Twisted<Silo<Unsorted>, WaitsAtCommit>>()),
        "timestamps_cut_short" => Ok(visitor.visit::<Timestamp<M, CutShort>>()),
        "tictoc_extends_locked" => Ok(visitor.visit::<TicToc<M, ExtendsLocked>>()),
        "batches_called_strict" => Ok(visitor.visit::<Twisted<Timestamp<M>, Batches>>()),
        "validation_skipped" => Ok(visitor.visit::<Twisted<TicToc<M>, Unprepared>>()),
        "silo_early_epoch" => Ok(visitor.visit::<Silo<EarlyEpoch>>()),
        "silo_adds_unlocked" => Ok(visitor.visit::<Silo<AddsUnlocked>>()),
        "split_row_half_deleted" => Ok(visitor.visit::<Twisted<Silo, StayingParts>>()),
        "memory_used_again_early" => Ok(visitor.visit::<Twisted<Silo, FreesEarly>>()),
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

/// BAMBOO without its commit semaphore.
pub struct WithoutAwaiting;
impl bamboo::Variant for WithoutAwaiting {
    const AWAITS: bool = false;
}

/// BAMBOO without cascading aborts.
pub struct WithoutCascade;
impl bamboo::Variant for WithoutCascade {
    const CASCADES: bool = false;
}

/// BAMBOO that takes any write for the last to its row.
pub struct EarlyImages;
impl bamboo::Variant for EarlyImages {
    const TAKES_BACK: bool = false;
}

/// PCC without upgrades.
pub struct NeverUpgrades;
impl no_wait::Variant for NeverUpgrades {
    const AT_COMMIT: bool = true;
    const UPGRADES: bool = false;
}

/// A lock for each bucket.
pub struct WithoutNames;
impl lock_table::Variant for WithoutNames {
    const NAMES: bool = false;
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

/// OCC whose critical section begins too late.
pub struct ValidatesOutside;
impl occ::Variant for ValidatesOutside {
    const VALIDATES_INSIDE: bool = false;
    const CENTRAL: bool = true;
}

/// Readers on versions that do not look whether a writer commits.
pub struct PastCommitting;
impl versioned_readers::Variant for PastCommitting {
    const AWAITS_WRITERS: bool = false;
}

/// Writers that are marked when they have a timestamp.
pub struct LateMarks;
impl versioned_readers::Variant for LateMarks {
    const MARKS_FIRST: bool = false;
}

/// MOCC that takes a lock that it has for one that it always had.
pub struct TrustsLocks;
impl mocc::Variant for TrustsLocks {
    const VALIDATES_LOCKED: bool = false;
}

/// MOCC without canonical mode.
pub struct WaitsOutOfOrder;
impl mocc::Variant for WaitsOutOfOrder {
    const OUT_OF_ORDER: OutOfOrder = OutOfOrder::Wait;
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

/// SNAPSHOT in which updates are lost.
pub struct LastWins;
impl snapshot::Variant for LastWins {
    const FIRST_WINS: bool = false;
}

/// SNAPSHOT whose snapshots are torn.
pub struct PastCommits;
impl snapshot::Variant for PastCommits {
    const AWAITS_COMMITS: bool = false;
}

/// SSN that excludes nobody.
pub struct WithoutExclusion;
impl ssn::Variant for WithoutExclusion {
    const EXCLUDES: bool = false;
}

/// SSN that does not know its readers.
pub struct WithoutReadStamps;
impl ssn::Variant for WithoutReadStamps {
    const STAMPS_READS: bool = false;
}

/// SSN that does not know who is committing.
pub struct WithoutWaiting;
impl ssn::Variant for WithoutWaiting {
    const AWAITS_OVERWRITERS: bool = false;
}

/// SSN that does not know of ranges.
pub struct UncertifiedRanges;
impl ssn::Variant for UncertifiedRanges {
    const CERTIFIES_RANGES: bool = false;
}

/// HEKATON that commits on hope.
pub struct WithoutDependencies;
impl hekaton::Variant for WithoutDependencies {
    const AWAITS_DEPENDENCIES: bool = false;
}

/// HEKATON that enters dependencies too late.
pub struct LosesDependencies;
impl hekaton::Variant for LosesDependencies {
    const LOOKS_AGAIN: bool = false;
}

/// HEKATON that validates what it knows.
pub struct ValidatesAtBegin;
impl hekaton::Variant for ValidatesAtBegin {
    const VALIDATES_AT_END: bool = false;
}

/// CICADA that does not ask who has read what it overwrites.
pub struct WithoutReaders;
impl cicada::Variant for WithoutReaders {
    const ASKS_READERS: bool = false;
}

/// CICADA that does not wait for pending versions.
pub struct PastPending;
impl cicada::Variant for PastPending {
    const AWAITS_PENDING: bool = false;
}

/// CICADA that looks before it shows what it writes.
pub struct InstallsLate;
impl cicada::Variant for InstallsLate {
    const LOOKS_LAST: bool = false;
}

/// CICADA that promises too much.
pub struct CalledStrict;
impl cicada::Variant for CalledStrict {
    const STRICT: bool = true;
}

/// 2V_NO_WAIT without its third kind of lock.
pub struct Uncertified;
impl two_version_no_wait::Variant for Uncertified {
    const CERTIFIES: bool = false;
}

/// SILO's write locks, in the order of the writes.
pub struct Unsorted;
impl silo::Variant for Unsorted {
    const SORTS: bool = false;
}

/// SILO's epoch, read too soon.
pub struct EarlyEpoch;
impl silo::Variant for EarlyEpoch {
    const LATE_EPOCH: bool = false;
}

/// SILO that adds too soon.
pub struct AddsUnlocked;
impl silo::Variant for AddsUnlocked {
    const ADDS_UNDER_LOCK: bool = false;
}

/// TIMESTAMP's timestamps, shortly before 32 bits overflow, and cut to them.
pub struct CutShort;
impl timestamp::Variant for CutShort {
    fn kept(timestamp: u64) -> u64 {
        (timestamp + u64::from(u32::MAX) - 10) & u64::from(u32::MAX)
    }
}

/// TICTOC's extension without its last condition.
pub struct ExtendsLocked;
impl tictoc::Variant for ExtendsLocked {
    const CHECKS_LOCK: bool = false;
}
