//! Planted in protocols that order transactions by timestamps drawn when they begin.

use super::{
    planted,
    twist::{Twist, Twisted},
};
use crate::{
    cicada::{self, Cicada},
    mvcc::{self, Mvcc},
    parts::active_timestamps::Needed,
    timestamp::{self, Timestamp},
};

planted! { M:
    "timestamps_cut_short" on "counters", Progress:
    "TIMESTAMP that keeps 32 bits of timestamps that are longer"
    => Timestamp<M, CutShort>
    where CutShort: timestamp::Variant {
        fn kept(timestamp: u64) -> u64 {
            (timestamp + u64::from(u32::MAX) - 10) & u64::from(u32::MAX)
        }
    };

    "batches_called_strict" on "counters", Certificate:
    "TIMESTAMP draws its timestamps in batches, and still promises to keep real-time order"
    => Twisted<Timestamp<M>, Batches> where Batches: Twist { const BATCHES: bool = true; };

    "mvcc_reads_past_writers" on "counters", Certificate:
    "MVCC's reader takes the version before an announced earlier write, and may commit although that \
     write is undecided (write skew, as in early multi-version code)"
    => Mvcc<M, PastWriters> where PastWriters: mvcc::Variant { const AWAITS_WRITERS: bool = false; };

    "mvcc_without_read_marks" on "counters", Certificate:
    "MVCC's reads leave no rts behind, so an earlier write may still come after them"
    => Mvcc<M, WithoutReadMarks>
    where WithoutReadMarks: mvcc::Variant { const MARKS_READS: bool = false; };

    "mvcc_collects_under_readers" on "counters", Assertion:
    "MVCC's collection asks from when on transactions begin, not who has begun before: an older reader \
     loses its version"
    => Mvcc<M, UnderReaders>
    where UnderReaders: mvcc::Variant {
        fn is_needed(needed: &Needed, _: u64, end: u64) -> bool {
            end > needed.frontier()
        }
    };

    "cicada_without_rts_check" on "smallbank", Certificate:
    "CICADA overwrites a version that a later transaction has read"
    => Cicada<M, WithoutReaders>
    where WithoutReaders: cicada::Variant { const ASKS_READERS: bool = false; };

    "cicada_reads_past_pending" on "counters", Certificate:
    "CICADA takes an earlier version that is pending for one that will abort, and reads the one before"
    => Cicada<M, PastPending> where PastPending: cicada::Variant { const AWAITS_PENDING: bool = false; };

    "cicada_installs_late" on "counters", Certificate:
    "CICADA's versions become pending when everything has been looked at: a later reader and this writer \
     may miss each other"
    => Cicada<M, InstallsLate> where InstallsLate: cicada::Variant { const LOOKS_LAST: bool = false; };

    "cicada_called_strict" on "counters", Certificate:
    "CICADA promises to keep real-time order, which clocks that are apart do not"
    => Cicada<M, CalledStrict> where CalledStrict: cicada::Variant { const STRICT: bool = true; };

    "phantom_forgotten_half" on "ranges", CertificateOrLaw:
    "the right half of a leaf that TIMESTAMP splits has lost the timestamp of its last scan"
    => Twisted<Timestamp<M>, ForgottenHalves>
    where ForgottenHalves: Twist { const FORGETS_SPLIT: bool = true; };
}
