//! Bugs planted in the work that cores do for each other's transactions.

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

    // The point of this one is in the machine layer, which names it in its own module `faults`.
    "sleeps_without_looking" in "NO_WAIT" under "delegation" on "ycsb", Progress:
    "a server that finds no message goes to sleep, and does not look once more after it has said so";
}
