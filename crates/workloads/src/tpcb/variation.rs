//! Creates variants of the workload for the explorer: tiny instances that differ slightly for every seed.

use super::{Tpcb, TpcbOptions};
use crate::index_choice::IndexChoice;

impl Tpcb {
    /// Returns TPC-B with one branch or two, whose rows are accessed in the order of tables. Each single
    /// balance must be the sum of its history.
    pub fn varied(seed: u64) -> Tpcb {
        let options = TpcbOptions {
            branches: if seed.is_multiple_of(3) { 1 } else { 2 },
            accounts: if seed.is_multiple_of(5) { 1 } else { 4 },
            remote: 0.5,
            history: 32,
            index: IndexChoice::varied(seed),
        };
        Tpcb::new(options).expect("good for every seed")
    }
}
