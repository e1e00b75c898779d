//! Explores additions at commit on every workload that adds, under every protocol that supports them.

use kilocore_harness::explore::{Exploration, explore};
use machine::{Explored, Word};
use protocols::{
    ProtocolOptions,
    registry::{declarations, knobs},
};
use workloads::{
    micro::counters::Counters, smallbank::SmallBank, tpcb::Tpcb, tpcc::Tpcc, ycsb::Ycsb,
};

/// Returns the protocols that heed the option.
fn protocols() -> Vec<&'static str> {
    let names = declarations::<Explored>(&ProtocolOptions::default()).into_iter().map(|d| d.name);
    let heeds = names.zip(knobs::<Explored>());
    let names = heeds.filter(|(_, knobs)| knobs.contains(&"commit-updates"));
    names.map(|(name, _)| name).collect()
}

macro_rules! pass {
    ($($test:ident: $of_seed:path),* $(,)?) => {$(
        #[test]
        fn $test() {
            for protocol in protocols() {
                let exploration = Exploration {
                    protocol: protocol.into(),
                    protocol_options: ProtocolOptions { commit_updates: true, ..Default::default() },
                    schedules: 1200,
                    ..Exploration::default()
                };
                let stop = Word::new(0);
                let outcome = explore(&$of_seed, &exploration, &stop, &mut |_| {});
                let outcome = outcome.expect("can run");
                if let Some(finding) = outcome.finding {
                    panic!("{protocol} seed {}: {}", finding.seed, finding.violation);
                }
                assert!(outcome.commits > 0 && outcome.aborts > 0, "{protocol}");
            }
        }
    )*};
}
pass! {
    counters: Counters::varied,
    counters_spelled: Counters::varied_spelled,
    counters_rolled_back: Counters::varied_rolled_back,
    smallbank: SmallBank::varied,
    tpcb: Tpcb::varied,
    tpcc: Tpcc::varied,
    ycsb: Ycsb::varied,
}

#[test]
fn four_protocols_heed_the_option() {
    assert_eq!(protocols(), ["OCC", "SILO", "TICTOC", "MOCC"]);
}
