//! Planted in protocols that read a snapshot.

use super::planted;
use crate::{
    hekaton::{self, Hekaton},
    snapshot::{self, Snapshot},
    ssn::{self, Ssn},
};

planted! { M:
    "snapshot_last_updater_wins" on "counters", Certificate:
    "SNAPSHOT writes over a version that is later than the transaction's snapshot (lost update)"
    => Snapshot<M, snapshot::Uncertified, LastWins>
    where LastWins: snapshot::Variant { const FIRST_WINS: bool = false; };

    "snapshot_reads_past_commits" on "counters", Certificate:
    "SNAPSHOT's reader does not wait for a commit that was stamped before its snapshot, and sees a part \
     of it"
    => Snapshot<M, snapshot::Uncertified, PastCommits>
    where PastCommits: snapshot::Variant { const AWAITS_COMMITS: bool = false; };

    "ssn_without_exclusion" on "smallbank", Certificate:
    "SSN keeps all its stamps and never looks whether they exclude one another"
    => Ssn<M, WithoutExclusion> where WithoutExclusion: ssn::Variant { const EXCLUDES: bool = false; };

    "ssn_without_read_stamps" on "smallbank", Certificate:
    "SSN's readers leave no stamps, so an overwriter does not know that they precede it"
    => Ssn<M, WithoutReadStamps>
    where WithoutReadStamps: ssn::Variant { const STAMPS_READS: bool = false; };

    "ssn_without_waiting" on "smallbank", Certificate:
    "SSN's reader does not wait for an overwriter that is about to commit with an earlier stamp"
    => Ssn<M, WithoutWaiting>
    where WithoutWaiting: ssn::Variant { const AWAITS_OVERWRITERS: bool = false; };

    "hekaton_without_waiting" on "ycsb", Certificate:
    "HEKATON commits without waiting for those whose versions it has read before they were decided"
    => Hekaton<M, WithoutDependencies>
    where WithoutDependencies: hekaton::Variant { const AWAITS_DEPENDENCIES: bool = false; };

    "hekaton_loses_dependencies" on "counters", Progress:
    "HEKATON enters a dependency without looking whether the other has told all that depend on it by then"
    => Hekaton<M, LosesDependencies>
    where LosesDependencies: hekaton::Variant { const LOOKS_AGAIN: bool = false; };

    "hekaton_validates_at_begin" on "counters", Certificate:
    "HEKATON validates its reads as of its begin, at which they are always valid (write skew)"
    => Hekaton<M, ValidatesAtBegin>
    where ValidatesAtBegin: hekaton::Variant { const VALIDATES_AT_END: bool = false; };

    "phantom_uncertified_range" on "ranges", CertificateOrLaw:
    "SSN certifies the rows that a scan met, not the range"
    => Ssn<M, UncertifiedRanges>
    where UncertifiedRanges: ssn::Variant { const CERTIFIES_RANGES: bool = false; };
}
