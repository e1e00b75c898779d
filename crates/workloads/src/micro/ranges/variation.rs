//! Creates variants of the workload for the explorer: tiny instances that differ slightly for every seed.

use super::{Ranges, RangesOptions};
use crate::index_choice::IndexChoice;
use crate::spelled::Spelled;

impl Ranges {
    /// Returns ranges under conservation laws: few keys or so many that leaves split, one contended range or
    /// several, ranges of one key or of all.
    pub fn varied(seed: u64) -> Ranges {
        let options = match (seed / 16) % 4 {
            0 => RangesOptions::mixed(),
            1 => RangesOptions { keys: 6, span: 6, slots: 1, width: 2, ..RangesOptions::mixed() },
            2 => RangesOptions { keys: 24, span: 3, slots: 3, width: 8, ..RangesOptions::mixed() },
            _ => RangesOptions {
                queued: 1,
                sums: 0.1,
                claims: 0.4,
                turns: 0.4,
                ..RangesOptions::mixed()
            },
        };
        // One seed in four uses a tree with a node for each key.
        let index = if (seed / 64) % 4 == 3 { IndexChoice::RedBlack } else { IndexChoice::BTree };
        Ranges::new(RangesOptions { index, ..options }).expect("good for every seed")
    }

    /// Returns [`Ranges::varied`] with keys of bytes.
    pub fn varied_spelled(seed: u64) -> Spelled<Ranges> {
        Spelled(Ranges::varied(seed))
    }
}
