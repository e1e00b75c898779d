//! Creates variants of the workload for the explorer: tiny instances that differ slightly for every seed.

use super::{Notes, NotesOptions};
use crate::index_choice::IndexChoice;

impl Notes {
    /// Returns notes under laws that a wrong value breaks: few notes or more, short texts that lie in records' words
    /// or long ones, with censuses or without, with files
    /// in a column that was added or not.
    pub fn varied(seed: u64) -> Notes {
        let options = match (seed / 16) % 4 {
            0 => NotesOptions::mixed(),
            1 => NotesOptions { notes: 2, size: 12, ..NotesOptions::mixed() },
            2 => NotesOptions { notes: 3, size: 60, censuses: 0.4, ..NotesOptions::mixed() },
            _ => {
                NotesOptions { size: 20, replacements: 0.4, censuses: 0.0, ..NotesOptions::mixed() }
            }
        };
        let added_columns = (seed / 512).is_multiple_of(2);
        Notes::new(NotesOptions { index: IndexChoice::varied(seed), added_columns, ..options })
            .expect("good for every seed")
    }
}
