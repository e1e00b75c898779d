//! Counts the cache lines that a machine moves.

use std::ops::{AddAssign, Sub};

/// Kind of a movement of a line. Movements are near within a socket or a tile, and far between two.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Movement {
    /// From the memory of the core's own socket.
    NearMemory,
    /// From the memory of another socket.
    FarMemory,
    /// From the shared cache of the core's own socket.
    NearCache,
    /// From the shared cache of another socket.
    FarCache,
    /// From the private cache of another core of the socket.
    NearCore,
    /// From the private cache of a core of another socket.
    FarCore,
    /// From a core that has written the line to the memory of its own socket.
    NearReturn,
    /// From a core that has written the line to the memory of another socket.
    FarReturn,
}

impl Movement {
    /// All kinds of movements, in the order of their numbers.
    pub const ALL: [Movement; 8] = [
        Movement::NearMemory,
        Movement::FarMemory,
        Movement::NearCache,
        Movement::FarCache,
        Movement::NearCore,
        Movement::FarCore,
        Movement::NearReturn,
        Movement::FarReturn,
    ];

    /// Returns the name of this kind in records.
    pub fn name(self) -> &'static str {
        match self {
            Movement::NearMemory => "memory",
            Movement::FarMemory => "far_memory",
            Movement::NearCache => "shared_cache",
            Movement::FarCache => "far_shared_cache",
            Movement::NearCore => "other_core",
            Movement::FarCore => "far_core",
            Movement::NearReturn => "returned",
            Movement::FarReturn => "far_returned",
        }
    }
}

/// Number of lines that were moved, by kind.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LinesMoved {
    counts: [u64; Movement::ALL.len()],
}

impl LinesMoved {
    /// Returns the number of lines moved in one way.
    pub fn of(&self, movement: Movement) -> u64 {
        self.counts[movement as usize]
    }
}

impl From<[u64; Movement::ALL.len()]> for LinesMoved {
    /// Takes the numbers of lines in the order of [`Movement::ALL`].
    fn from(counts: [u64; Movement::ALL.len()]) -> LinesMoved {
        LinesMoved { counts }
    }
}

impl AddAssign for LinesMoved {
    fn add_assign(&mut self, other: LinesMoved) {
        for (count, more) in self.counts.iter_mut().zip(other.counts) {
            *count += more;
        }
    }
}

impl Sub for LinesMoved {
    type Output = LinesMoved;

    /// Returns the lines moved since `earlier`.
    fn sub(mut self, earlier: LinesMoved) -> LinesMoved {
        for (count, before) in self.counts.iter_mut().zip(earlier.counts) {
            *count -= before;
        }
        self
    }
}
