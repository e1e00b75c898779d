//! Bugs planted in protocols that order transactions by timestamps drawn when they begin.

use super::planted;
use crate::{TimestampAllocation, WaitingWriters};

planted! {
    TIMESTAMPS_CUT_SHORT = "timestamps_cut_short" in "TIMESTAMP" on "counters", Progress:
    "TIMESTAMP that keeps 32 bits of timestamps that are longer";

    "batches_called_strict" in "TIMESTAMP" on "counters", Certificate, called strict:
    "TIMESTAMP draws its timestamps in batches, and still promises to keep real-time order",
    given { timestamps: TimestampAllocation::Batched(4) };

    MVCC_READS_PAST_WRITERS = "mvcc_reads_past_writers" in "MVCC" on "counters", Certificate:
    "MVCC's reader takes the version before an announced earlier write, and may commit although that \
     write is undecided (write skew, as in early multi-version code)";

    PREWRITE_FORGETS_QUEUE = "prewrite_forgets_queue" in "MVCC" on "counters" by (4, 4), Progress:
    "MVCC's writer that aborts removes its prewrite and tells nobody in the queue: who waits there waits for ever",
    given { waiting_writers: WaitingWriters::InTurn };

    TURN_IS_TAKEN_TWICE = "turn_is_taken_twice" in "MVCC" on "counters" by (4, 4), Progress:
    "MVCC's writer stays in the queue after its turn: the next decision gives the turn to a transaction that is gone",
    given { waiting_writers: WaitingWriters::InTurn };

    TURNS_SKIP_READERS = "turns_skip_readers" in "MVCC" on "counters" by (4, 4), Progress:
    "MVCC's decision takes the readers before the first writer out of the queue, and does not tell them",
    given { waiting_writers: WaitingWriters::InTurn };

    MVCC_WITHOUT_READ_MARKS = "mvcc_without_read_marks" in "MVCC" on "counters", CertificateOrLaw:
    "MVCC's reads leave no rts behind, so an earlier write may still come after them";

    MVCC_COLLECTS_UNDER_READERS = "mvcc_collects_under_readers" in "MVCC" on "counters", Assertion:
    "MVCC's collection asks from when on transactions begin, not who has begun before: an older reader \
     loses its version";

    LOOKS_BEFORE_THE_FRONTIER = "looks_before_the_frontier" in "MVCC" on "counters", Assertion:
    "MVCC's collection looks who is active before it forbids others to begin: a reader that begins in between loses its version";

    CICADA_WITHOUT_RTS_CHECK = "cicada_without_rts_check" in "CICADA" on "smallbank", Certificate:
    "CICADA overwrites a version that a later transaction has read";

    CICADA_READS_PAST_PENDING = "cicada_reads_past_pending" in "CICADA" on "counters", Certificate:
    "CICADA takes an earlier version that is pending for one that will abort, and reads the one before";

    CICADA_INSTALLS_LATE = "cicada_installs_late" in "CICADA" on "counters", Certificate:
    "CICADA's versions become pending when everything has been looked at: a later reader and this writer \
     may miss each other";

    "cicada_called_strict" in "CICADA" on "counters", Certificate, called strict:
    "CICADA promises to keep real-time order, which clocks that are apart do not";

    ABSENCE_FORGETS_READERS = "absence_forgets_readers" in "MVCC" on "counters" by (4, 6), CertificateOrLaw:
    "MVCC's absence forgets until when it was seen when its record retires: an earlier insert may come after its reader";

    MVCC_MERGE_FORGETS_SCANS = "mvcc_merge_forgets_scans" in "MVCC" on "ranges" by (6, 6), CertificateOrLaw:
    "the range of a leaf that MVCC takes out has lost the timestamp of its last scan";

    CICADA_MERGE_FORGETS_SCANS = "cicada_merge_forgets_scans" in "CICADA" on "ranges" by (5, 6), CertificateOrLaw:
    "the range of a leaf that CICADA takes out has lost the timestamp of its last scan";

    CICADA_READS_RETIRED = "cicada_reads_retired" in "CICADA" on "ranges" by (4, 6), CertificateOrLaw:
    "CICADA's reader marks an absence as read whose record has retired meanwhile: the mark comes too late to be passed on";

    PHANTOM_FORGOTTEN_HALF = "phantom_forgotten_half" in "TIMESTAMP" on "ranges", CertificateOrLaw:
    "the right half of a leaf that TIMESTAMP splits has lost the timestamp of its last scan";
}
