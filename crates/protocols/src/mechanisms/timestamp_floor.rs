//! Floor under the timestamps of fresh records, for protocols that order by timestamps.
//!
//! When the record of an absent row leaves its index, its timestamps leave with it. A record made
//! later for the same key would start from zero. Then a transaction with an old timestamp could
//! take the absence for older than it is: it would see the deletion, but not the other writes of
//! the transaction that deleted. So retired records raise a floor, and fresh records start with the
//! floor's timestamp. (Found by exploration: two tokens were moved at once, and a reader saw the
//! first before its move and the second after it.)
//!
//! Invariant: the floor only grows, and is at least the last timestamp of every retired record.

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
    /// Creates a floor of zero.
    pub fn new(arena: &Arc<Arena>) -> Result<TimestampFloor<M>, OutOfMemory> {
        Ok(TimestampFloor { floor: arena.place(Place::Any)? })
    }

    /// Returns the timestamp with which a fresh record starts.
    pub fn get(&self, core: &M::Core) -> u64 {
        core.load(&self.floor.line, &self.floor.timestamp)
    }

    /// Raises the floor to `timestamp`, the last timestamp of a record that is retired.
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
