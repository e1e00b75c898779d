//! Creates variants of the workload for the explorer: tiny instances that differ slightly for every seed.

use super::{Tatp, TatpOptions};

impl Tatp {
    /// Returns TATP with one subscriber or three and mostly writes. It is judged by its ledger, or only by
    /// the certificate.
    pub fn varied(seed: u64) -> Tatp {
        let subscribers = if seed.is_multiple_of(3) { 1 } else { 3 };
        let options = TatpOptions {
            subscribers,
            uniform: true,
            get_subscriber_data: 0.1,
            get_new_destination: 0.15,
            get_access_data: 0.05,
            update_subscriber_data: 0.15,
            update_location: 0.15,
            insert_call_forwarding: 0.2,
            partitions: if (seed / 16).is_multiple_of(2) { 1 } else { subscribers },
            audit: !seed.is_multiple_of(7),
        };
        Tatp::new(options).expect("good for every seed")
    }
}
