//! Open loops on a simulated machine: what a queue must do by theory, exactly repeatable.

use harness::{
    arrivals::{Arrivals, Process},
    assemble,
    drive::BackOff,
    record::{MachineKind, RunRecord},
    run::{Plan, run},
};
use machine::{Category, Word, cold::Arc};
use protocols::ProtocolOptions;
use simulator::{MachineDescription, Simulated, SimulatedOptions};
use workloads::micro::key_value::{KeyValue, KeyValueOptions};

fn measured(cores: usize, arrivals: Option<Arrivals>, measured_s: f64) -> RunRecord {
    let graphite = Arc::new(MachineDescription::load("graphite").expect("a built-in machine"));
    // Few rows: they are in the cache after the warm-up, so that every transaction takes as long as any other.
    let options = KeyValueOptions { records: 64, accesses: 4, ..KeyValueOptions::default() };
    let workload = KeyValue::new(options).expect("good options");
    let plan = Plan {
        architecture: engine::registry::DEFAULT.to_owned(),
        protocol: "SILO".into(),
        protocol_options: ProtocolOptions::default(),
        cores,
        warm_up_s: 0.000_2,
        measured_s,
        repetitions: 1,
        seed: 3,
        record_history: false,
        back_off: BackOff::default(),
        arrivals,
        load_threads: 1,
        epoch_interval_s: 0.000_05,
    };
    let make = |seed| {
        let options = SimulatedOptions { seed, ..SimulatedOptions::default() };
        Simulated::new(graphite.clone(), options)
    };
    let repetitions = run(&make, &workload, &plan, &Word::new(0), &mut |_| {}).expect("can run");
    let declared = assemble::declaration::<Simulated>(&plan).expect("it is listed");
    let (blank, kind) = (RunRecord::blank(), MachineKind::Simulated);
    assemble::record(blank, kind, &plan, &declared, &repetitions, None)
}

fn at(process: Process, rate_txn_per_s: f64) -> Option<Arrivals> {
    Some(Arrivals { process, rate_txn_per_s })
}

fn idle(record: &RunRecord) -> f64 {
    record.breakdown.as_ref().expect("kept in simulation")[Category::Idle.name()]
}

#[test]
fn where_nothing_queues_latency_is_the_time_of_service() {
    for cores in [1, 4] {
        let closed = measured(cores, None, 0.001);
        assert!(closed.arrivals.is_none() && idle(&closed) == 0.0);
        let rate = closed.throughput_txn_per_s / 10.0;
        let open = measured(cores, at(Process::Fixed, rate), 0.01);
        let [service, latency] = [&closed, &open].map(|record| record.latency_ns);
        let mean = latency.mean / service.mean;
        assert!((mean - 1.0).abs() < 0.02, "{cores} cores: {latency:?} {service:?}");
        assert!(latency.max * 10 <= service.max * 13, "{cores} cores: {latency:?} {service:?}");
        let served = open.throughput_txn_per_s / rate;
        assert!((served - 1.0).abs() < 0.01, "{served}");
        // A tenth of what they can serve.
        assert!((0.87..0.93).contains(&idle(&open)), "{}", idle(&open));
        let arrivals = open.arrivals.expect("it was one");
        assert!(!arrivals.overloaded(0.01) && arrivals.waiting_at_end <= 1, "{arrivals:?}");
    }
}

#[test]
fn random_arrivals_queue_as_theory_says() {
    let closed = measured(1, None, 0.001);
    let service = closed.latency_ns.mean;
    for load in [0.3, 0.6, 0.8] {
        let open = measured(1, at(Process::Poisson, closed.throughput_txn_per_s * load), 0.05);
        // Pollaczek and Khinchine, of equal times of service: waiting is load / (2 (1 - load)) of one.
        let waiting = (open.latency_ns.mean - service) / service;
        let expected = load / (2.0 * (1.0 - load));
        assert!((waiting / expected - 1.0).abs() < 0.15, "load {load}: {waiting}, not {expected}");
        assert!((idle(&open) - (1.0 - load)).abs() < 0.05, "{}", idle(&open));
        assert!(!open.arrivals.expect("it was one").overloaded(0.05));
    }
}

#[test]
fn where_more_come_than_are_served_the_queue_grows_and_that_is_said() {
    let capacity = measured(2, None, 0.001).throughput_txn_per_s;
    for process in [Process::Fixed, Process::Poisson] {
        let run = |seconds| measured(2, at(process, capacity * 2.0), seconds);
        let (short, long) = (run(0.001), run(0.004));
        for (record, seconds) in [(&short, 0.001), (&long, 0.004)] {
            let arrivals = record.arrivals.as_ref().expect("it was one");
            assert!(arrivals.overloaded(seconds), "{arrivals:?}");
            let served = record.throughput_txn_per_s / capacity;
            assert!((0.9..1.1).contains(&served), "{served}");
            // Half of what comes is left over.
            let grown = (arrivals.waiting_at_end - arrivals.waiting_at_begin) as f64;
            assert!((grown / (capacity * seconds) - 1.0).abs() < 0.1, "{grown}");
            assert!(idle(record) < 0.01);
        }
        // Half a run later, half of that later.
        let ratio = long.latency_ns.p50 as f64 / short.latency_ns.p50 as f64;
        assert!((2.5..4.5).contains(&ratio), "{ratio}");
        assert!(short.latency_ns.p50 > 100_000, "{:?}", short.latency_ns);
    }
}

#[test]
fn the_same_seed_gives_the_same_queue() {
    let once = || {
        let record = measured(3, at(Process::Poisson, 2e6), 0.001);
        (record.latency_ns, record.commits, record.arrivals)
    };
    assert_eq!(once(), once());
}
