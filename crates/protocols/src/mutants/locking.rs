//! Planted in protocols that lock: rows, ranges or partitions.

use super::{
    keeps_shared::KeepsShared,
    planted,
    twist::{Twist, Twisted},
};
use crate::{
    bamboo::{self, Bamboo},
    dl_detect::{self, DlDetect, VersionedLocks},
    hstore::{self, Hstore},
    no_wait::{self, CountedLocks, ListedLocks, NoWait},
    parts::{
        lock_table::{self, LockTables},
        partition_locks::Older,
        two_phase_locking::TwoPhaseLocking,
        versioned_readers::{self, ReadersOnVersions},
    },
    plor::{self, Plor},
    two_version_no_wait::{self, CertifiedLocks},
    wait_die::{self, AgedLocks, WaitDie},
};

planted! { M:
    "no_wait_never_upgrades" on "counters", CertificateOrLaw:
    "NO_WAIT that locks its writes at commit takes what it holds already for locked, although it may hold \
     it to read"
    => TwoPhaseLocking<CountedLocks<NeverUpgrades>>
    where NeverUpgrades: no_wait::Variant {
        const AT_COMMIT: bool = true;
        const UPGRADES: bool = false;
    };

    "wait_die_inverted" on "counters", OldestNeverDies:
    "WAIT_DIE with the comparison turned round: the younger waits, the older dies"
    => TwoPhaseLocking<AgedLocks<M, Inverted>>
    where Inverted: wait_die::Variant {
        fn may_wait(own: u64, other: u64) -> bool {
            own > other
        }
    };

    "lock_table_without_names" on "counters", Progress:
    "records whose locks are in one bucket of a lock table share a lock, and a transaction conflicts with \
     itself"
    => TwoPhaseLocking<ListedLocks<M, LockTables<M, WithoutNames>>>
    where WithoutNames: lock_table::Variant { const NAMES: bool = false; };

    "dl_detect_without_search" on "counters", Progress:
    "DL_DETECT in which nobody searches for deadlocks, nor gives up a wait"
    => DlDetect<M, WithoutSearch>
    where WithoutSearch: dl_detect::Variant {
        const SEARCHES: bool = false;
        const TIMES_OUT: bool = false;
    };

    "dl_detect_stale_edges" on "counters", NoFalseDeadlock:
    "DL_DETECT that follows edges whatever has become of the attempts that they name, and does not look \
     at a circle twice"
    => DlDetect<M, StaleEdges>
    where StaleEdges: dl_detect::Variant { const CURRENT_EDGES: bool = false; };

    "dl_detect_without_readers_ahead" on "counters", Progress:
    "DL_DETECT that waits for whom it conflicts with, and forgets that a reader ahead of a reader may \
     become a writer"
    => DlDetect<M, WithoutReadersAhead>
    where WithoutReadersAhead: dl_detect::Variant {
        const MEETS_ALL: bool = false;
        const TIMES_OUT: bool = false;
    };

    "readers_past_committing_writers" on "counters", CertificateOrLaw:
    "DL_DETECT with readers on versions: a reader takes the version before that of a writer which is \
     about to commit, whatever its timestamp will be"
    => ReadersOnVersions<M, VersionedLocks<M>, PastCommitting>
    where PastCommitting: versioned_readers::Variant { const AWAITS_WRITERS: bool = false; };

    "readers_before_late_marks" on "counters", CertificateOrLaw:
    "DL_DETECT with readers on versions: a writer draws its timestamp before it marks what it will \
     overwrite, so a later reader may have come and gone"
    => ReadersOnVersions<M, VersionedLocks<M>, LateMarks>
    where LateMarks: versioned_readers::Variant { const MARKS_FIRST: bool = false; };

    "bamboo_without_waiting" on "counters", CertificateOrLaw:
    "BAMBOO commits without waiting for the transactions whose writes it has seen"
    => Bamboo<M, WithoutAwaiting> where WithoutAwaiting: bamboo::Variant { const AWAITS: bool = false; };

    "bamboo_without_cascade" on "counters", CertificateOrLaw:
    "BAMBOO's aborts do not reach those who have seen what is undone"
    => Bamboo<M, WithoutCascade> where WithoutCascade: bamboo::Variant { const CASCADES: bool = false; };

    "bamboo_keeps_early_images" on "counters", CertificateOrLaw:
    "BAMBOO writes a row again that others have seen already, and lets them go on with what they saw"
    => Bamboo<M, EarlyImages> where EarlyImages: bamboo::Variant { const TAKES_BACK: bool = false; };

    "plor_beside_readers" on "counters", Certificate:
    "PLOR that makes no lock exclusive at commit: nobody asks who has read what is overwritten"
    => Plor<M, BesideReaders> where BesideReaders: plor::Variant { const EXCLUDES: bool = false; };

    "plor_spares_readers" on "counters", Progress:
    "PLOR's committing writers await younger readers too, which may be waiting for them"
    => Plor<M, SparesReaders>
    where SparesReaders: plor::Variant { const WOUNDS_READERS: bool = false; };

    "plor_reads_exclusive" on "counters", Certificate:
    "PLOR's readers register and read although a writer keeps them out"
    => Plor<M, Heedless> where Heedless: plor::Variant { const HEEDS_EXCLUSION: bool = false; };

    "plor_commits_wounded" on "counters", Certificate:
    "PLOR commits whether it has been wounded or not, unless it was while it waited"
    => Plor<M, CommitsWounded>
    where CommitsWounded: plor::Variant { const HEEDS_WOUNDS: bool = false; };

    "two_version_uncertified" on "counters", Certificate:
    "2V_NO_WAIT installs its writes without certifying that no reader is left"
    => TwoPhaseLocking<CertifiedLocks<Uncertified>>
    where Uncertified: two_version_no_wait::Variant { const CERTIFIES: bool = false; };

    "hstore_takes_from_running" on "counters", CertificateOrLaw:
    "HSTORE in which an older transaction takes a partition from a younger one that runs"
    => Hstore<M, TakesFromRunning>
    where TakesFromRunning: hstore::Variant { const OLDER: Option<Older> = Some(Older::Takes); };

    "hstore_never_goes_first" on "counters", Progress:
    "HSTORE in which an older transaction waits for a younger one that has not started"
    => Hstore<M, NeverGoesFirst>
    where NeverGoesFirst: hstore::Variant { const OLDER: Option<Older> = Some(Older::Waits); };

    "hstore_without_rollback" on "counters", Rollback:
    "HSTORE that writes in place and forgets nothing when it aborts (a published code base has no \
     rollback for it)"
    => Twisted<Hstore<M>, BypassingWrites>
    where BypassingWrites: Twist { const WRITES_BYPASS: bool = true; };

    "retry_gets_fresh_timestamp" on "counters", OldestNeverDies:
    "WAIT_DIE whose retries draw timestamps anew, so nobody ever grows old"
    => Twisted<WaitDie<M>, RetriesAnew> where RetriesAnew: Twist { const RETRIES_ANEW: bool = true; };

    "update_without_upgrade" on "counters", CertificateOrLaw:
    "NO_WAIT that keeps its shared lock when it updates what it has read"
    => TwoPhaseLocking<KeepsShared<CountedLocks>>;

    "phantom_unasked_insertion" on "ranges", CertificateOrLaw:
    "NO_WAIT locks scanned ranges, but inserts without asking for them"
    => Twisted<NoWait, UnaskedInsertions>
    where UnaskedInsertions: Twist { const INSERTS_UNASKED: bool = true; };

    "phantom_unread_absence" on "ranges", CertificateOrLaw:
    "WAIT_DIE makes a record in a range that it has scanned, and does not lock it before others can find \
     it: what it saw absent may be there when it comes to it (ours, at first)"
    => Twisted<WaitDie<M>, UnreadAbsences>
    where UnreadAbsences: Twist { const INSERTS_UNREAD: bool = true; };
}
