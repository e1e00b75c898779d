//! Tests that protocols that do not promise to keep the order of real time do break it.

use crate::{exploration, violation};
use kilocore_harness::explore::{Exploration, Violation};
use protocols::ProtocolOptions;
use workloads::micro::counters::Counters;

macro_rules! not_strict {
    ($($test:ident: $protocol:literal, $timestamps:literal, from $seed:literal);* $(;)?) => {$(
        #[test]
        fn $test() {
            let timestamps = $timestamps.parse().unwrap();
            let violation = violation(&Counters::varied, &Exploration {
                protocol_options: ProtocolOptions { timestamps, ..Default::default() },
                // TICTOC needs a record whose rts was extended far beyond those of other records before the record
                // was written.
                workers: 4,
                procedures: 12,
                demand_strict: true,
                first_seed: $seed,
                ..exploration($protocol, &[], 60_000)
            });
            assert!(matches!(violation, Violation::Certificate(_)), "{violation}");
        }
    )*};
}

not_strict! {
    tictoc: "TICTOC", "atomic", from 1;
    timestamp_in_batches: "TIMESTAMP", "batch4", from 1;
    mvcc_in_batches: "MVCC", "batch4", from 1;
    // Rare: seed 118,802 is the first to show it.
    ssn: "SSN", "atomic", from 100_000;
}
