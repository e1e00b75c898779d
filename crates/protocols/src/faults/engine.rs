//! Bugs planted between a protocol and the engine, in the work that they do for each other.

use super::planted;

planted! {
    BYPASSING_WRITES = "bypassing_writes" in "SILO" on "counters", CertificateOrLaw:
    "a write goes to the shared record at once instead of into the write set (an early YCSB of a \
     published code base wrote like that, invisibly: always the same value)";

    WRITE_LEFT_OUT = "write_left_out" in "SILO" on "smallbank", Certificate:
    "the second of two writes is neither installed nor put on record";

    INDEX_ENTRY_STAYS = "index_entry_stays" in "SILO" on "rooms", Conservation:
    "an index keeps the entry of the values that a row had before its update, or before it was deleted";

    CHANGING_COLUMNS_UNCONTROLLED = "changing_columns_uncontrolled" in "NO_WAIT" on "counters", CertificateOrLaw:
    "columns that transactions change are read like constant ones, without the protocol";

    SPLIT_ROW_HALF_DELETED = "split_row_half_deleted" in "SILO" on "counters", Conservation:
    "a row in two parts is deleted, and its second part stays";

    MEMORY_USED_AGAIN_EARLY = "memory_used_again_early" in "SILO" on "counters", Assertion:
    "a record that was taken out of its index is used again while others may be reading it";

    ANNOUNCED_BEFORE = "announced_before" in "SILO" on "notes", Assertion:
    "an attempt uses records that an earlier attempt has announced, although they may have left the index since";

    VALUES_USED_AGAIN_EARLY = "values_used_again_early" in "MVCC" on "notes", CertificateOrLaw:
    "the slot of a text that was replaced is used again while others may be copying it";

    VALUES_RETIRED_TOO_EARLY = "values_retired_too_early" in "MVCC" on "notes" by (6, 10), CertificateOrLaw:
    "a text that was replaced is given up although a transaction can begin later with an earlier timestamp, and read \
     the version to which the text belongs",
    given { timestamps: crate::TimestampAllocation::Batched(16) };

    ROLLED_BACK_VALUES_STAY = "rolled_back_values_stay" in "NO_WAIT" on "notes", Memory:
    "the texts that a transaction wrote stay in memory when it is rolled back";

    DELETED_VALUES_STAY = "deleted_values_stay" in "SILO" on "notes", Memory:
    "the texts of a row stay in memory when the row is deleted";
    // The points of these five are in the storage layer, which names them in its own module `faults`.
    "guesses_in_moved_buckets" in "SILO" on "notes", Assertion:
    "an announced row is looked for in a bucket of a hash index that has moved, where records stay that were removed \
     since";

    "kept_leaf_unchecked" in "SILO" on "ranges", Progress:
    "a session looks for every key in the leaf that it has used last, and tries for ever to make a record there that does not \
     belong there";

    "moved_before_copied" in "SILO" on "rooms", CertificateOrLaw:
    "a bucket of a growing hash index is marked as moved before its entries are in the new array, so readers miss them";

    "run_beyond_leaf" in "SILO" on "tpcc", CertificateOrLaw:
    "rows that are inserted together are all put in the leaf of the first one, where a search does not find those that belong \
     elsewhere";

    "reads_moved_buckets" in "SILO" on "counters", Progress:
    "a look-up searches a bucket of a hash index although it has moved, and finds a record that was removed again and \
     again";

    READS_PAST_OWN_WRITES = "reads_past_own_writes" in "SILO" on "counters", Conservation:
    "SILO's reads see the shared record, not what the transaction itself has written to it";

    VOTES_UNCONFIRMED = "votes_unconfirmed" in "SILO" under "several_sites" on "ycsb", Certificate:
    "a transaction commits in two phases as soon as all of its sites have been prepared: what was read at the first may \
     have been overwritten while the last was prepared (write skew, as in published descriptions of one-shot commit)";

    SITES_DRAW_THEIR_OWN_AGES = "sites_draw_their_own_ages" in "WAIT_DIE" under "several_sites" on "counters",
    OldestOrProgress:
    "each site of a transaction decides by a timestamp of its own who is older: the oldest dies at a site that takes it \
     for younger, or two transactions wait for each other at two sites";

    LATCHES_RELEASED_EARLY = "latches_released_early" in "NO_CC" under "partitioned_serial" on "counters",
    CertificateOrLaw:
    "a transaction releases the latches of its partitions before it installs its writes";

    LATCHED_AS_DECLARED = "latched_as_declared" in "NO_CC" under "partitioned_serial" on "counters", Progress:
    "partitions are latched in the order in which a transaction declares them, not in ascending order";

    PARTITION_LEFT_UNLATCHED = "partition_left_unlatched" in "NO_CC" under "partitioned_serial" on "counters", CertificateOrLaw:
    "a transaction runs before it has latched the last of its partitions, and nothing checks its accesses there";

    LATCHES_KEPT_AFTER_ROLLBACK = "latches_kept_after_rollback" in "NO_CC" under "partitioned_serial" on "smallbank",
    Progress:
    "a transaction that is rolled back keeps the latches of its partitions";

    PERMIT_LOST = "permit_lost" in "NO_WAIT" on "smallbank", Progress:
    "a transaction that ends without a commit does not release its permit";

    PERMIT_KEPT_OVER_ABORT = "permit_kept_over_abort" in "NO_WAIT" on "counters", Progress:
    "a transaction that is put aside keeps its permit, and its session waits for another one";

    RETRIES_WITHOUT_A_PERMIT = "retries_without_a_permit" in "NO_WAIT" on "counters", Admission:
    "a transaction that gave its permit back after an abort makes its next attempt without another one";

    PERMITS_BEYOND_THE_LIMIT = "permits_beyond_the_limit" in "NO_WAIT" on "counters", Admission:
    "a permit is released twice";

    SPARE_PERMIT_STAYS = "spare_permit_stays" in "NO_WAIT" on "counters", Progress:
    "a permit that nobody in a group wants stays there although sessions of another group wait";

    SPARE_PERMIT_DOUBLED = "spare_permit_doubled" in "NO_WAIT" on "counters", Admission:
    "a permit that moves to another group stays in its own, too";

    SETTLER_FORGETS = "settler_forgets" in "NO_WAIT" on "counters", Progress:
    "the session that moves spare permits ends although another one has asked it to begin again";

    LATE_PAYMENT_TAKES = "late_payment_takes" in "NO_WAIT" on "counters", Progress:
    "a session whose payment comes after the whole debt was paid loses its permit all the same";
}
