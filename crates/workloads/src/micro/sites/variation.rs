//! Creates variants of the workload for the explorer: tiny instances that differ slightly for every seed.

use super::{Sites, SitesOptions};

impl Sites {
    /// Returns two or three sites with few rows, all of which are updated and counted.
    pub fn varied(seed: u64) -> Sites {
        let options = SitesOptions {
            sites: if seed.is_multiple_of(3) { 2 } else { 3 },
            site_rows: if (seed / 16).is_multiple_of(2) { 2 } else { 5 },
            row_bytes: if seed.is_multiple_of(7) { 21 } else { 8 },
            accesses: 2,
            multisite: 0.5,
            theta: if seed.is_multiple_of(2) { 0.0 } else { 0.9 },
            updates: true,
        };
        Sites::new(options).expect("good for every seed")
    }
}
