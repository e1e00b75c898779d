//! Additions at commit: the explorer on every workload that adds, under every protocol that has them.

use harness::explore::{Exploration, explore};
use harness::variation;
use machine::{Explored, Word};
use protocols::{
    ProtocolOptions,
    registry::{declarations, knobs},
};

/// The protocols that heed the option.
fn protocols() -> Vec<&'static str> {
    let names = declarations::<Explored>(&ProtocolOptions::default()).into_iter().map(|d| d.name);
    let heeds = names.zip(knobs::<Explored>());
    let names = heeds.filter(|(_, knobs)| knobs.contains(&"commit-updates"));
    names.map(|(name, _)| name).collect()
}

macro_rules! pass {
    ($($workload:ident),*) => {$(
        #[test]
        fn $workload() {
            for protocol in protocols() {
                let exploration = Exploration {
                    protocol: protocol.into(),
                    protocol_options: ProtocolOptions { commit_updates: true, ..Default::default() },
                    schedules: 1200,
                    ..Exploration::default()
                };
                let stop = Word::new(0);
                let outcome = explore(&variation::$workload, &exploration, &stop, &mut |_| {});
                let outcome = outcome.expect("can run");
                if let Some(finding) = outcome.finding {
                    panic!("{protocol} seed {}: {}", finding.seed, finding.violation);
                }
                assert!(outcome.commits > 0 && outcome.aborts > 0, "{protocol}");
            }
        }
    )*};
}
pass!(counters, counters_spelled, counters_rolled_back, smallbank, tpcb, tpcc, ycsb);

#[test]
fn four_protocols_heed_the_option() {
    assert_eq!(protocols(), ["OCC", "SILO", "TICTOC", "MOCC"]);
}
