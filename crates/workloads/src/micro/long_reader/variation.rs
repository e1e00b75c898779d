//! Creates variants of the workload for the explorer: tiny instances that differ slightly for every seed.

use super::{LongReader, LongReaderOptions};

impl LongReader {
    /// Returns scans of a section beside updates: one section that is the whole table or several sections,
    /// rows of one word or of several, reserved workers or not.
    pub fn varied(seed: u64) -> LongReader {
        let bound = (seed / 16).is_multiple_of(2);
        let options = LongReaderOptions {
            records: if seed.is_multiple_of(3) { 40 } else { 6 },
            sections: if seed.is_multiple_of(5) { 1 } else { 2 },
            filler_bytes: if seed.is_multiple_of(7) { 20 } else { 0 },
            long_readers: u64::from(bound),
            long_share: if bound { 0.0 } else { 0.4 },
            theta: if seed.is_multiple_of(2) { 0.0 } else { 0.9 },
        };
        LongReader::new(options).expect("good for every seed")
    }
}
