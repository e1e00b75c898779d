//! Bugs planted in optimistic protocols with one version per record.

use super::planted;
use crate::{CommitLocks, Validation};

planted! {
    SILO_WITHOUT_LOCK_CHECK = "silo_without_lock_check" in "SILO" on "counters", Certificate:
    "SILO's validation does not look whether a record read is locked by another";

    SILO_EARLY_EPOCH = "silo_early_epoch" in "SILO" on "counters", EpochOrder:
    "SILO reads the epoch before it has its locks: recovery by epochs could keep a transaction and lose \
     one that it depends on";

    SILO_ADDS_UNLOCKED = "silo_adds_unlocked" in "SILO" on "counters", Conservation:
    "SILO with updates at commit adds to what is there before it has locked it",
    given { commit_updates: true };

    OCC_VALIDATES_OUTSIDE = "occ_validates_outside" in "OCC" on "counters", Certificate:
    "OCC with central validation enters the critical section only to write, when it has validated",
    given { validation: Validation::Central };

    MOCC_TRUSTS_LOCKS = "mocc_trusts_locks" in "MOCC" on "counters", CertificateOrLaw:
    "MOCC does not validate what it has locked, although it may have given the lock back meanwhile to \
     keep to the order";

    MOCC_WAITS_OUT_OF_ORDER = "mocc_waits_out_of_order" in "MOCC" on "counters", Progress:
    "MOCC waits for locks in whatever order it comes by them";

    TICTOC_EXTENDS_LOCKED = "tictoc_extends_locked" in "TICTOC" on "counters", CertificateOrLaw:
    "TICTOC extends the validity of a version whose successor is being installed";

    VALIDATION_SKIPPED = "validation_skipped" in "TICTOC" on "counters", CertificateOrLaw:
    "TICTOC's commit without validation, locks and timestamp, as a lower isolation level of published \
     code has it, still called serializable";

    UNSORTED_WRITE_LOCKS = "unsorted_write_locks" in "SILO" on "counters", Progress:
    "SILO that waits for write locks in the order of its writes (published code sorts by key alone, in \
     several tables)",
    given { commit_locks: Some(CommitLocks::Wait) };

    BOUNDED_WAIT_LASTS = "bounded_wait_lasts" in "SILO" on "counters", Progress:
    "SILO that locks its writes in their own order, as bounded waiting allows, waits without a bound",
    given { commit_locks: Some(CommitLocks::Bounded { pauses: 26 }) };

    RETRY_KEEPS_LOCKS = "retry_keeps_locks" in "SILO" on "counters", Progress:
    "SILO that begins to lock again keeps the locks of the round that failed",
    given { commit_locks: Some(CommitLocks::Retry { pauses: 26 }) };

    ARIA_IGNORES_READS = "aria_ignores_reads" in "ARIA" on "ranges", CertificateOrLaw:
    "ARIA in which a member commits although one before it writes what it has read";

    ARIA_COMMITS_CONTESTED = "aria_commits_contested" in "ARIA" on "ycsb", CertificateOrLaw:
    "ARIA in which two members of a batch commit writes of the same record";

    ARIA_DECIDES_EARLY = "aria_decides_early" in "ARIA" on "counters", CertificateOrLaw:
    "ARIA in which a member decides before all others have reserved";

    ARIA_ENDS_EARLY = "aria_ends_early" in "ARIA" on "counters", CertificateOrLaw:
    "ARIA in which a member ends its part in the batch before it has installed its writes";

    ARIA_IGNORES_FRESH = "aria_ignores_fresh" in "ARIA" on "ranges", CertificateOrLaw:
    "ARIA's scans ask only the records that they have met, not those that were made behind them";

    ARIA_STAYS = "aria_stays" in "ARIA" on "counters", Progress:
    "ARIA in which a transaction that is rolled back stays in its batch";

    PHANTOM_BY_RETURNED_KEYS = "phantom_by_returned_keys" in "SILO" on "ranges", CertificateOrLaw:
    "SILO validates the rows that a scan returned, not the range that it was asked for";

    PHANTOM_IGNORES_EMPTY_RANGE =
    "phantom_ignores_empty_range" in "OCC" on "ranges", CertificateOrLaw:
    "OCC validates scanned leaves, but not those in which there was nothing";

    TICTOC_MERGE_FORGETS_SCANS = "tictoc_merge_forgets_scans" in "TICTOC" on "rooms" by (5, 12), CertificateOrLaw:
    "the range of a leaf that TICTOC takes out has lost the timestamp of its last scan";

    TICTOC_OLDER_THAN_ABSENCE = "tictoc_older_than_absence" in "TICTOC" on "ranges" by (4, 6), CertificateOrLaw:
    "TICTOC's scan may come before the deletion of a row of its range whose record has retired since";

    PHANTOM_FRESH_START = "phantom_fresh_start" in "TICTOC" on "ranges", CertificateOrLaw:
    "a record that TICTOC makes in a scanned range may be written before the scan's timestamp";
}
