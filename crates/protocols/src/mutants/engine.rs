//! Planted around a protocol: in what the engine asks of it, or does for it.

use super::{
    planted,
    twist::{Twist, Twisted},
};
use crate::silo::Silo;

planted! { M:
    "bypassing_writes" on "counters", Conservation:
    "a write goes to the shared record at once instead of into the write set (an early YCSB of a \
     published code base wrote like that, invisibly: always the same value)"
    => Twisted<Silo, BypassingWrites> where BypassingWrites: Twist { const WRITES_BYPASS: bool = true; };

    "index_entry_stays" on "rooms", Conservation:
    "an index keeps the entry of the values that a row had before its update, or before it was deleted"
    => Twisted<Silo, StayingEntries> where StayingEntries: Twist { const KEEPS_ENTRIES: bool = true; };

    "split_row_half_deleted" on "counters", Conservation:
    "a row in two parts is deleted, and its second part stays"
    => Twisted<Silo, StayingParts> where StayingParts: Twist { const KEEPS_SECOND_PARTS: bool = true; };

    "memory_used_again_early" on "counters", Assertion:
    "a record that was taken out of its index is used again while others may be reading it"
    => Twisted<Silo, FreesEarly> where FreesEarly: Twist { const FREES_EARLY: bool = true; };

    "reads_past_own_writes" on "counters", Conservation:
    "SILO's reads see the shared record, not what the transaction itself has written to it"
    => Twisted<Silo, ReadsPastOwn> where ReadsPastOwn: Twist { const READS_PAST_OWN: bool = true; };
}
