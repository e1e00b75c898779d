//! Bugs planted in protocols that lock rows, ranges or partitions.

use super::planted;
use crate::{LockPlacement, Readers, WriteLocks};

planted! {
    NO_WAIT_NEVER_UPGRADES = "no_wait_never_upgrades" in "NO_WAIT" on "counters", CertificateOrLaw:
    "NO_WAIT that locks its writes at commit takes what it holds already for locked, although it may hold \
     it to read",
    given { write_locks: WriteLocks::Commit };

    NO_WAIT_TRUSTS_A_LOOK = "no_wait_trusts_a_look" in "NO_WAIT" on "counters", Any:
    "NO_WAIT in which a reader that has seen no writer counts itself, and does not ask whether one has come \
     between; when it leaves, the writer's release may have cleared the count";

    NO_WAIT_TAKES_BACK = "no_wait_takes_back" in "NO_WAIT" on "counters", Progress:
    "NO_WAIT in which a reader that counted itself too late takes it back, although the writer's release may \
     have cleared the count already";

    WAIT_DIE_INVERTED = "wait_die_inverted" in "WAIT_DIE" on "counters", OldestNeverDies:
    "WAIT_DIE with the comparison turned round: the younger waits, the older dies";

    LOCK_TABLE_WITHOUT_NAMES = "lock_table_without_names" in "NO_WAIT" on "counters", Progress:
    "records whose locks are in one bucket of a lock table share a lock, and a transaction conflicts with \
     itself",
    given { locks: LockPlacement::Central };

    DL_DETECT_WITHOUT_SEARCH = "dl_detect_without_search" in "DL_DETECT" on "counters", Progress:
    "DL_DETECT in which nobody searches for deadlocks, nor gives up a wait",
    given { lock_timeout_ns: None };

    DL_DETECT_STALE_EDGES = "dl_detect_stale_edges" in "DL_DETECT" on "counters", NoFalseDeadlock:
    "DL_DETECT that follows edges whatever has become of the attempts that they name, and does not look \
     at a circle twice";

    DL_DETECT_WITHOUT_READERS_AHEAD =
    "dl_detect_without_readers_ahead" in "DL_DETECT" on "counters", Progress:
    "DL_DETECT that waits for whom it conflicts with, and forgets that a reader ahead of a reader may \
     become a writer",
    given { lock_timeout_ns: None };

    OVERTAKES_OWNERS = "overtakes_owners" in "DL_DETECT" on "counters", Progress:
    "DL_DETECT in which a requester takes a lock back from a session that has begun to use it";

    OVERTAKEN_MEETS_NOBODY =
    "overtaken_meets_nobody" in "DL_DETECT" on "counters", Progress:
    "DL_DETECT in which a session that was overtaken waits again and does not ask for whom",
    given { lock_timeout_ns: None };

    OVERTAKEN_LEAVES_UNSEEN =
    "overtaken_leaves_unseen" in "DL_DETECT" on "counters", Progress:
    "DL_DETECT in which a session that was overtaken gives up its wait, and those behind it do not learn for whom \
     they wait now",
    given { lock_timeout_ns: None };

    READERS_PAST_COMMITTING_WRITERS =
    "readers_past_committing_writers" in "DL_DETECT" on "counters", CertificateOrLaw:
    "DL_DETECT with readers on versions: a reader takes the version before that of a writer which is \
     about to commit, whatever its timestamp will be",
    given { readers: Readers::Versions };

    READERS_BEFORE_LATE_MARKS =
    "readers_before_late_marks" in "DL_DETECT" on "counters", CertificateOrLaw:
    "DL_DETECT with readers on versions: a writer draws its timestamp before it marks what it will \
     overwrite, so a later reader may have come and gone",
    given { readers: Readers::Versions };

    BAMBOO_WITHOUT_WAITING = "bamboo_without_waiting" in "BAMBOO" on "counters", CertificateOrLaw:
    "BAMBOO commits without waiting for the transactions whose writes it has seen";

    BAMBOO_WITHOUT_CASCADE = "bamboo_without_cascade" in "BAMBOO" on "counters", CertificateOrLaw:
    "BAMBOO's aborts do not reach those who have seen what is undone";

    BAMBOO_KEEPS_EARLY_IMAGES =
    "bamboo_keeps_early_images" in "BAMBOO" on "counters", CertificateOrLaw:
    "BAMBOO writes a row again that others have seen already, and lets them go on with what they saw";

    PLOR_BESIDE_READERS = "plor_beside_readers" in "PLOR" on "counters", Certificate:
    "PLOR that makes no lock exclusive at commit: nobody asks who has read what is overwritten";

    PLOR_SPARES_READERS = "plor_spares_readers" in "PLOR" on "counters", Progress:
    "PLOR's committing writers await younger readers too, which may be waiting for them";

    PLOR_READS_EXCLUSIVE = "plor_reads_exclusive" in "PLOR" on "counters", Certificate:
    "PLOR's readers register and read although a writer keeps them out";

    PLOR_COMMITS_WOUNDED = "plor_commits_wounded" in "PLOR" on "counters", CertificateOrLaw:
    "PLOR commits whether it has been wounded or not, unless it was while it waited";

    ORDERED_AS_PLANNED = "ordered_as_planned" in "ORDERED_2PL" on "counters", Progress:
    "ORDERED_2PL that locks what is planned in the order of the plan";

    ORDERED_BY_KEY_ALONE = "ordered_by_key_alone" in "ORDERED_2PL" on "smallbank", Progress:
    "ORDERED_2PL that orders locks by key and forgets the table, so rows with the same key in two tables are locked in \
     the order of the plan";

    ORDERED_WAITS_WHILE_RUNNING = "ordered_waits_while_running" in "ORDERED_2PL" on "counters" by (4, 10), Progress:
    "ORDERED_2PL that waits for locks outside its plan too";

    ORDERED_TRUSTS_PLANS = "ordered_trusts_plans" in "ORDERED_2PL" on "counters", CertificateOrLaw:
    "ORDERED_2PL that writes under the shared lock what was planned as a read";

    TWO_VERSION_UNCERTIFIED = "two_version_uncertified" in "2V_NO_WAIT" on "counters", Certificate:
    "2V_NO_WAIT installs its writes without certifying that no reader is left";

    TWO_VERSION_TRUSTS_A_LOOK = "two_version_trusts_a_look" in "2V_NO_WAIT" on "counters", Any:
    "2V_NO_WAIT in which a reader that has seen no certified writer counts itself, and does not ask whether one \
     has come between; what it takes back may be gone with the writer's lock";

    HSTORE_TAKES_FROM_RUNNING =
    "hstore_takes_from_running" in "HSTORE" on "counters", CertificateOrLaw:
    "HSTORE in which an older transaction takes a partition from a younger one that runs";

    HSTORE_NEVER_GOES_FIRST = "hstore_never_goes_first" in "HSTORE" on "counters", Progress:
    "HSTORE in which an older transaction waits for a younger one that has not started";

    HSTORE_STARTS_AT_ONCE = "hstore_starts_at_once" in "HSTORE" on "counters", CertificateOrLaw:
    "HSTORE whose first access does not wait until the transaction owns its partitions";

    HSTORE_OVERTAKES_IN_PART =
    "hstore_overtakes_in_part" in "HSTORE" on "counters", Progress:
    "HSTORE in which a transaction overtakes at one partition, and then waits for others";

    HSTORE_WITHOUT_ROLLBACK = "hstore_without_rollback" in "HSTORE" on "counters", Rollback:
    "HSTORE that writes in place and forgets nothing when it aborts (a published code base has no \
     rollback for it)";

    RETRY_GETS_FRESH_TIMESTAMP =
    "retry_gets_fresh_timestamp" in "WAIT_DIE" on "counters", OldestNeverDies:
    "WAIT_DIE whose retries draw timestamps anew, so nobody ever grows old";

    UPDATE_WITHOUT_UPGRADE = "update_without_upgrade" in "NO_WAIT" on "counters", CertificateOrLaw:
    "NO_WAIT that keeps its shared lock when it updates what it has read";

    PHANTOM_UNASKED_INSERTION =
    "phantom_unasked_insertion" in "NO_WAIT" on "ranges", CertificateOrLaw:
    "NO_WAIT locks scanned ranges, but inserts without asking for them";

    PHANTOM_UNREAD_ABSENCE = "phantom_unread_absence" in "WAIT_DIE" on "ranges" by (5, 6), CertificateOrLaw:
    "WAIT_DIE makes a record in a range that it has scanned, and does not lock it before others can find \
     it: what it saw absent may be there when it comes to it (ours, at first)";
}
