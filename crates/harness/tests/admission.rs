//! Tests the limit on the number of transactions that run at the same time, on a simulated machine. All runs are exactly
//! repeatable.

use engine::admission::AdmissionPolicy;
use kilocore_harness::{
    arrivals::{Arrivals, Process},
    assemble,
    back_off::BackOff,
    run::{Plan, run},
    run_record::{MachineKind, RunRecord},
};
use machine::{Word, cold::Arc};
use simulator::{MachineDescription, Simulated, SimulatedOptions};
use workloads::ycsb::{Ycsb, YcsbOptions};

fn recorded(plan: &Plan) -> RunRecord {
    let options =
        YcsbOptions { records: 1_000_000, theta: 0.8, read_ratio: 0.5, ..YcsbOptions::default() };
    let workload = Ycsb::new(options).expect("good options");
    let mut graphite = MachineDescription::load("graphite").expect("a built-in machine");
    // Transactions without the instructions of their accesses are short, so that a short run has many.
    graphite.core.record_access_cycles = 0;
    let graphite = Arc::new(graphite);
    let make = |seed| {
        Simulated::new(graphite.clone(), SimulatedOptions { seed, ..SimulatedOptions::default() })
    };
    let repetitions = run(&make, &workload, plan, &Word::new(0), &mut |_| {}).expect("it runs");
    let declaration = assemble::declaration::<Simulated>(plan).expect("a known protocol");
    let certificate = assemble::certify(&repetitions);
    let kind = MachineKind::Simulated;
    let certificate = certificate.as_ref();
    assemble::record(RunRecord::blank(), kind, plan, &declaration, &repetitions, certificate)
}

fn plan(protocol: &str, cores: usize, admission: AdmissionPolicy) -> Plan {
    let plan = Plan::new(protocol, cores, 0.01);
    Plan { admission, warm_up_s: 0.03, epoch_interval_s: 0.000_05, ..plan }
}

/// Two-phase locking with waiting collapses on 128 cores. The adaptive limit keeps most of what 16 cores do, and each
/// transaction waits about as long as all others.
#[test]
fn an_adaptive_limit_prevents_a_collapse() {
    let few = recorded(&plan("WAIT_DIE", 16, AdmissionPolicy::Off));
    let off = recorded(&plan("WAIT_DIE", 128, AdmissionPolicy::Off));
    let on = recorded(&plan("WAIT_DIE", 128, AdmissionPolicy::ADAPTIVE));
    let rates = [&few, &off, &on].map(|record| record.throughput_txn_per_s);
    assert!(rates[1] < 0.8 * rates[0] && rates[2] > 0.85 * rates[0], "{rates:?}");
    let limit = on.admission.expect("there is a limit").limits_at_end[0];
    assert!((4..64).contains(&limit), "{limit}");
    let (p50, p99) = (on.latency_ns.p50.expect("many"), on.latency_ns.p99.expect("many"));
    assert!(p99 < 5 * p50, "{p50} {p99}");
    assert!(on.littles_law.expect("a closed loop").holds);
}

/// A limit of one lets one transaction run at a time. Then none is aborted, and the others wait.
#[test]
fn a_limit_of_one_lets_one_transaction_run() {
    for protocol in ["NO_WAIT", "SILO", "DL_DETECT"] {
        let record = recorded(&plan(protocol, 8, AdmissionPolicy::Fixed(1)));
        assert_eq!((record.abort_ratio, record.commits > 100), (0.0, true), "{protocol}");
        let wait = record.breakdown.expect("simulated")["wait"];
        assert!((0.8..0.9).contains(&wait), "{protocol}: {wait}");
    }
}

/// A limit that is not below the number of workers changes nothing but the load of a word.
#[test]
fn a_limit_that_does_not_bind_costs_nothing() {
    let rate = |admission| recorded(&plan("SILO", 8, admission)).throughput_txn_per_s;
    let (off, on) = (rate(AdmissionPolicy::Off), rate(AdmissionPolicy::Fixed(8)));
    assert!((on / off - 1.0).abs() < 0.03, "{off} {on}");
}

/// All transactions that arrive are served. The limit does not fall because fewer of them arrive than could run.
#[test]
fn an_open_loop_below_its_capacity_is_served() {
    let arrivals = Some(Arrivals { process: Process::Poisson, rate_txn_per_s: 300_000.0 });
    let plan = Plan { arrivals, ..plan("SILO", 16, AdmissionPolicy::ADAPTIVE) };
    let record = recorded(&plan);
    let rate = record.throughput_txn_per_s;
    assert!((270_000.0..330_000.0).contains(&rate), "{rate}");
}

/// Histories of runs with permits keep the promises, also where workers put transactions aside.
#[test]
fn limited_runs_are_certified() {
    let plans = [
        plan("SILO", 16, AdmissionPolicy::Fixed(3)),
        Plan { back_off: BackOff::DBX1000, ..plan("NO_WAIT", 16, AdmissionPolicy::ADAPTIVE) },
    ];
    for plan in plans {
        let record =
            recorded(&Plan { record_history: true, warm_up_s: 0.0, measured_s: 0.003, ..plan });
        assert!(
            !record.certificate.breaks_promise() && record.commits > 100,
            "{}",
            record.protocol
        );
        assert_eq!(record.broken_law, None);
    }
}
