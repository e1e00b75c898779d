//! One body for all: every protocol runs every workload, explored, natively and simulated, and keeps what it
//! promises.

use harness::{
    assemble::{certify, declaration, promised},
    drive::BackOff,
    explore::{Exploration, explore},
    run::{Measurable, Plan, run},
    variation,
};
use machine::{Explored, Native, NativeOptions, OutOfMemory, Word, cold::Arc};
use protocols::{Isolation, ProtocolOptions, registry::declarations};
use simulator::{MachineDescription, Simulated, SimulatedOptions};
use txn::Workload;
use workloads::{
    smallbank::{SmallBank, SmallBankOptions},
    tpcb::{Tpcb, TpcbOptions},
    ycsb::{Ycsb, YcsbOptions},
};

/// Every protocol that promises something.
fn protocols() -> Vec<&'static str> {
    let declared = declarations::<Explored>(&ProtocolOptions::default());
    let promising = declared.iter().filter(|declared| declared.isolation != Isolation::None);
    promising.map(|declared| declared.name).collect()
}

/// Nothing goes wrong under any protocol, and something does without one.
fn explored<W: Workload>(workload: &dyn Fn(u64) -> W) {
    let outcome = |protocol: &str, schedules| {
        let exploration =
            Exploration { protocol: protocol.into(), schedules, ..Exploration::default() };
        explore(workload, &exploration, &Word::new(0), &mut |_| {}).expect("can run")
    };
    for protocol in protocols() {
        let outcome = outcome(protocol, 400);
        if let Some(finding) = outcome.finding {
            panic!("{protocol} seed {}: {}", finding.seed, finding.violation);
        }
        assert!(outcome.schedules == 400 && outcome.commits > 0, "{protocol}");
    }
    assert!(outcome("NO_CC", 2000).finding.is_some(), "this workload would notice nothing");
}

fn certified<W: Workload>(workload: &W) {
    let graphite = MachineDescription::load("graphite").expect("a built-in machine");
    let graphite = Arc::new(graphite);
    for protocol in protocols() {
        let native = |_| Native::new(NativeOptions::default());
        certified_on(&native, workload, protocol, 2, 0.01);
        let simulated = |seed| {
            let options = SimulatedOptions { seed, ..SimulatedOptions::default() };
            Simulated::new(graphite.clone(), options)
        };
        certified_on(&simulated, workload, protocol, 16, 0.000_3);
    }
}

fn certified_on<M: Measurable, W: Workload>(
    make: &dyn Fn(u64) -> Result<M, OutOfMemory>,
    workload: &W,
    protocol: &str,
    cores: usize,
    measured_s: f64,
) {
    let plan = Plan {
        protocol: protocol.into(),
        protocol_options: ProtocolOptions::default(),
        cores,
        warm_up_s: measured_s / 10.0,
        measured_s,
        repetitions: 1,
        seed: 11,
        record_history: true,
        back_off: BackOff::default(),
        load_threads: 1,
        epoch_interval_s: measured_s / 10.0,
    };
    let repetitions = run(make, workload, &plan, &Word::new(0), &mut |_| {}).expect("can run");
    assert!(repetitions[0].total.commits() > 0, "{protocol} commits nothing");
    let certificate = certify(&repetitions).expect("the history was recorded");
    let promised = promised(&declaration::<M>(&plan).expect("it is listed"));
    assert!(certificate.satisfies(promised), "{protocol}: {:?}", certificate.counterexample);
}

#[test]
fn smallbank_is_kept_from_skewing() {
    explored(&variation::smallbank);
    let options = SmallBankOptions {
        accounts: 200,
        hot_accounts: 10,
        hot_share: 0.5,
        withdrawals: 0.5,
        least_balance: 0,
        most_balance: 5000,
        ..SmallBankOptions::default()
    };
    for audit in [false, true] {
        let options = SmallBankOptions { audit, ..options.clone() };
        certified(&SmallBank::new(options).expect("good options"));
    }
}

#[test]
fn balances_of_tpcb_are_sums_of_its_history() {
    explored(&variation::tpcb);
    let options = TpcbOptions { branches: 2, accounts: 50, remote: 0.15, history: 10_000 };
    certified(&Tpcb::new(options).expect("good options"));
}

#[test]
fn rows_that_are_inserted_into_scanned_ranges_are_no_phantoms() {
    explored(&variation::ycsb_growing);
    for preset in ["d", "e"] {
        let options = YcsbOptions::preset(preset).expect("one of them");
        let options = YcsbOptions { records: 200, accesses: 4, scan_length: 20, ..options };
        certified(&Ycsb::new(options).expect("good options"));
    }
}
