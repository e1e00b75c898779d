//! Creates variants of the workload for the explorer: tiny instances that differ slightly for every seed.

use super::{Rooms, RoomsOptions};
use crate::index_choice::IndexChoice;

impl Rooms {
    /// Returns people in rooms under laws that a wrong index breaks: few people or so many that leaves split,
    /// one room or several, with spare badges or without, without censuses or with many.
    pub fn varied(seed: u64) -> Rooms {
        let options = match (seed / 16) % 4 {
            0 => RoomsOptions::mixed(),
            1 => RoomsOptions { people: 2, rooms: 2, spare_badges: 1, ..RoomsOptions::mixed() },
            2 => RoomsOptions { people: 9, rooms: 1, spare_badges: 0, ..RoomsOptions::mixed() },
            _ => RoomsOptions { rooms: 4, badges: 0.4, censuses: 0.0, ..RoomsOptions::mixed() },
        };
        Rooms::new(RoomsOptions { index: IndexChoice::varied(seed), ..options })
            .expect("good for every seed")
    }
}
