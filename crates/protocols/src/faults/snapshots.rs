//! Bugs planted in protocols that read a snapshot.

use super::planted;

planted! {
    SNAPSHOT_LAST_UPDATER_WINS =
    "snapshot_last_updater_wins" in "SNAPSHOT" on "counters", Certificate:
    "SNAPSHOT writes over a version that is later than the transaction's snapshot (lost update)";

    SNAPSHOT_READS_PAST_COMMITS =
    "snapshot_reads_past_commits" in "SNAPSHOT" on "counters", Certificate:
    "SNAPSHOT's reader does not wait for a commit that was stamped before its snapshot, and sees a part \
     of it";

    SNAPSHOT_TRUSTS_COPIES =
    "snapshot_trusts_copies" in "SNAPSHOT" on "counters", CertificateOrLaw:
    "SNAPSHOT's reader copies the newest version without the latch, and does not look whether a commit has begun to \
     overwrite it meanwhile";

    SSN_WITHOUT_EXCLUSION = "ssn_without_exclusion" in "SSN" on "smallbank", Certificate:
    "SSN keeps all its stamps and never looks whether they exclude one another";

    SSN_WITHOUT_READ_STAMPS = "ssn_without_read_stamps" in "SSN" on "smallbank", Certificate:
    "SSN's readers leave no stamps, so an overwriter does not know that they precede it";

    SSN_WITHOUT_WAITING = "ssn_without_waiting" in "SSN" on "smallbank", Certificate:
    "SSN's reader does not wait for an overwriter that is about to commit with an earlier stamp";

    HEKATON_TRUSTS_COPIES = "hekaton_trusts_copies" in "HEKATON" on "counters", CertificateOrLaw:
    "HEKATON's reader copies the newest version without the latch, and does not look whether it has changed meanwhile";

    HEKATON_WITHOUT_WAITING = "hekaton_without_waiting" in "HEKATON" on "tatp", Certificate:
    "HEKATON commits without waiting for those whose versions it has read before they were decided";

    HEKATON_LOSES_DEPENDENCIES = "hekaton_loses_dependencies" in "HEKATON" on "counters", Progress:
    "HEKATON enters a dependency without looking whether the other has told all that depend on it by then";

    HEKATON_VALIDATES_AT_BEGIN =
    "hekaton_validates_at_begin" in "HEKATON" on "counters" by (4, 10), Certificate:
    "HEKATON validates its reads as of its begin, at which they are always valid (write skew)";

    HEKATON_PASSES_ANNOUNCED = "hekaton_passes_announced" in "HEKATON" on "counters", CertificateOrLaw:
    "HEKATON reads past a write that is announced and could not be placed, for want of memory, before its writer has \
     committed";

    RESTORES_VERSIONS_ALONE = "restores_versions_alone" in "HEKATON" on "ycsb", Certificate:
    "HEKATON takes a version back and leaves its values: under the name of the version before it others read what an \
     aborted transaction wrote";

    PHANTOM_UNCERTIFIED_RANGE = "phantom_uncertified_range" in "SSN" on "ranges", CertificateOrLaw:
    "SSN certifies the rows that a scan met, not the range";
}
