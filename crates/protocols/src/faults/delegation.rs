//! Bugs planted where each core alone works on the metadata of its records: delegation and data-oriented execution.

use super::planted;

planted! {
    PROTECTS_ITSELF = "protects_itself" in "NO_WAIT" under "delegation" on "ycsb", Any:
    "a session locks a record of another core itself, where locks are not synchronised because only their owner touches them";

    PREPARES_ITSELF = "prepares_itself" in "2V_NO_WAIT" under "delegation" on "ycsb", Any:
    "a session certifies its write locks at other cores itself";

    ENDS_ITSELF = "ends_itself" in "NO_WAIT" under "delegation" on "ycsb", Any:
    "a session releases its locks at other cores itself, so a reader's count is lost";

    REQUEST_STAYS_BEHIND = "request_stays_behind" in "DL_DETECT" under "delegation" on "counters", Any:
    "an attempt that has given up a wait does not take its request out of the queue before the next attempt begins, so the \
     lock is granted to the wrong attempt";

    STAYS_WHERE_IT_IS = "stays_where_it_is" in "NO_WAIT" under "data_oriented" on "ycsb", Any:
    "a session works on the locks of another core without moving there";

    RELEASES_ELSEWHERE = "releases_elsewhere" in "2V_NO_WAIT" under "data_oriented" on "ycsb", Any:
    "a session does not move back to a core to end its attempt there, and releases its locks from where it is";

    LOOKS_ONCE = "looks_once" in "NO_WAIT" under "data_oriented" on "ycsb", Any:
    "a session that has moved to the core of an owner does not look whether the owner has been given to another core meanwhile";

    REASSIGNS_FROM_AFAR = "reassigns_from_afar" in "NO_WAIT" under "data_oriented" on "ycsb", Any:
    "an owner is given to another core while its own core works on its locks";

    LOSES_A_FAILURE = "loses_a_failure" in "NO_WAIT" under "data_oriented" on "smallbank", Any:
    "a session does not heed that an action of an executor has failed, and commits what the other actions have done";

    // The point of this one is in the machine layer, which names it in its own module `faults`.
    "sleeps_without_looking" in "NO_WAIT" under "delegation" on "ycsb", Progress:
    "a server that finds no message goes to sleep, and does not look once more after it has said so";
}
