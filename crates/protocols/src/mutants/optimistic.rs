//! Planted in optimistic protocols of one version.

use super::{
    planted,
    twist::{Twist, Twisted},
};
use crate::{
    mocc::{self, Mocc},
    occ::{self, Occ},
    parts::ordered_locks::OutOfOrder,
    silo::{self, Silo},
    tictoc::{self, TicToc},
};

planted! { M:
    "silo_without_lock_check" on "counters", Certificate:
    "SILO's validation does not look whether a record read is locked by another"
    => Silo<WithoutLockCheck> where WithoutLockCheck: silo::Variant { const CHECKS_LOCK: bool = false; };

    "silo_early_epoch" on "counters", EpochOrder:
    "SILO reads the epoch before it has its locks: recovery by epochs could keep a transaction and lose \
     one that it depends on"
    => Silo<EarlyEpoch> where EarlyEpoch: silo::Variant { const LATE_EPOCH: bool = false; };

    "silo_adds_unlocked" on "counters", Conservation:
    "SILO with updates at commit adds to what is there before it has locked it"
    => Silo<AddsUnlocked> where AddsUnlocked: silo::Variant { const ADDS_UNDER_LOCK: bool = false; };

    "occ_validates_outside" on "counters", Certificate:
    "OCC with central validation enters the critical section only to write, when it has validated"
    => Occ<M, ValidatesOutside>
    where ValidatesOutside: occ::Variant {
        const VALIDATES_INSIDE: bool = false;
        const CENTRAL: bool = true;
    };

    "mocc_trusts_locks" on "counters", CertificateOrLaw:
    "MOCC does not validate what it has locked, although it may have given the lock back meanwhile to \
     keep to the order"
    => Mocc<M, TrustsLocks> where TrustsLocks: mocc::Variant { const VALIDATES_LOCKED: bool = false; };

    "mocc_waits_out_of_order" on "counters", Progress:
    "MOCC waits for locks in whatever order it comes by them"
    => Mocc<M, WaitsOutOfOrder>
    where WaitsOutOfOrder: mocc::Variant { const OUT_OF_ORDER: OutOfOrder = OutOfOrder::Wait; };

    "tictoc_extends_locked" on "counters", CertificateOrLaw:
    "TICTOC extends the validity of a version whose successor is being installed"
    => TicToc<M, ExtendsLocked>
    where ExtendsLocked: tictoc::Variant { const CHECKS_LOCK: bool = false; };

    "validation_skipped" on "counters", CertificateOrLaw:
    "TICTOC's commit without validation, locks and timestamp, as a lower isolation level of published \
     code has it, still called serializable"
    => Twisted<TicToc<M>, Unprepared> where Unprepared: Twist { const UNPREPARED: bool = true; };

    "unsorted_write_locks" on "counters", Progress:
    "SILO that waits for write locks in the order of its writes (published code sorts by key alone, in \
     several tables)"
    => Twisted<Silo<Unsorted>, WaitsAtCommit>
    where Unsorted: silo::Variant { const SORTS: bool = false; },
        WaitsAtCommit: Twist { const WAITS_AT_COMMIT: bool = true; };

    "phantom_by_returned_keys" on "ranges", CertificateOrLaw:
    "SILO validates the rows that a scan returned, not the range that it was asked for"
    => Twisted<Silo, ReturnedKeys> where ReturnedKeys: Twist { const SCANS_KEYS: bool = true; };

    "phantom_ignores_empty_range" on "ranges", CertificateOrLaw:
    "OCC validates scanned leaves, but not those in which there was nothing"
    => Twisted<Occ<M>, FilledRanges> where FilledRanges: Twist { const SCANS_RECORDS: bool = true; };

    "phantom_fresh_start" on "ranges", CertificateOrLaw:
    "a record that TICTOC makes in a scanned range may be written before the scan's timestamp"
    => Twisted<TicToc<M>, FreshStarts> where FreshStarts: Twist { const FORGETS_RANGE: bool = true; };
}
