//! What a protocol that orders by timestamps must remember of records that are gone.
//!
//! When the record of an absent row leaves its index, its timestamps leave with it. A record made later for
//! the same key would start from zero, and a transaction with an old timestamp could take the absence for
//! older than it is: it would see the deletion without the other writes of the transaction that deleted. So
//! retired records raise a floor, and fresh records start there. (Found by exploration: two tokens moved
//! at once, one seen before and one after the move.)

use machine::{Arena, Core, Machine, OutOfMemory, Place, Shared, Word, Zeroed, cold::Arc};

#[repr(C, align(64))]
struct Floor<M: Machine> {
    line: M::Line,
    timestamp: Word,
}

// SAFETY: a line and a word, both valid as zeros.
unsafe impl<M: Machine> Zeroed for Floor<M> {}

/// The largest timestamp of any record that was retired.
pub struct TimestampFloor<M: Machine> {
    floor: Shared<Floor<M>>,
}

impl<M: Machine> TimestampFloor<M> {
    /// A floor of zero.
    pub fn new(arena: &Arc<Arena>) -> Result<TimestampFloor<M>, OutOfMemory> {
        Ok(TimestampFloor { floor: arena.place(Place::Any)? })
    }

    /// The timestamp with which a fresh record starts.
    pub fn get(&self, core: &M::Core) -> u64 {
        core.load(&self.floor.line, &self.floor.timestamp)
    }

    /// A record is gone whose last timestamp was `timestamp`.
    pub fn raise(&self, core: &M::Core, timestamp: u64) {
        let (line, word) = (&self.floor.line, &self.floor.timestamp);
        let mut now = core.load(line, word);
        while now < timestamp {
            match core.cas(line, word, now, timestamp) {
                Ok(_) => return,
                Err(changed) => now = changed,
            }
        }
    }
}
