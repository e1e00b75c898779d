//! Tests open and closed loops on a simulated machine: queues must behave as theory predicts, runs must adapt their
//! length, and latencies must include transactions that had not ended. All runs are exactly repeatable.

use engine::{EngineOptions, admission::Applicant, registry};
use kilocore_harness::{
    arrivals::{Arrivals, Process},
    assemble,
    back_off::BackOff,
    drive::{Length, Loop, Watcher, drive},
    run::{Growth, Plan, run},
    run_record::{MachineKind, RunRecord, Setting, SpreadOf},
    steadiness::Rule,
    timeline::{Meter, Timeline},
};
use machine::{
    Body, Category, Machine, Word,
    cold::{Arc, Mutex},
};
use protocols::{LockForm, ProtocolOptions};
use simulator::{MachineDescription, Simulated, SimulatedOptions};
use txn::{Abort, Workload};
use workloads::{
    micro::counters::{Counters, CountersOptions},
    micro::key_value::{KeyValue, KeyValueOptions},
    ycsb::{Ycsb, YcsbOptions},
};

fn measured(cores: usize, arrivals: Option<Arrivals>, measured_s: f64) -> RunRecord {
    // The few rows are in the cache after the warm-up, so that all transactions take the same time.
    let options = KeyValueOptions { records: 64, accesses: 4, ..KeyValueOptions::default() };
    let workload = KeyValue::new(options).expect("good options");
    recorded(&workload, &Plan { arrivals, warm_up_s: 0.000_2, ..plan("SILO", cores, measured_s) })
}

fn plan(protocol: &str, cores: usize, measured_s: f64) -> Plan {
    let plan = Plan::new(protocol, cores, measured_s);
    Plan { warm_up_s: 0.0, seed: 3, epoch_interval_s: 0.000_05, ..plan }
}

/// Returns the chip of the Abyss paper, with `access_cycles` cycles of instructions for an access to a record. With 0 of
/// them transactions are short, so that a short run has many.
fn chip(access_cycles: u64) -> Arc<MachineDescription> {
    let mut graphite = MachineDescription::load("graphite").expect("a built-in machine");
    graphite.core.record_access_cycles = access_cycles;
    Arc::new(graphite)
}

fn recorded<W: Workload>(workload: &W, plan: &Plan) -> RunRecord {
    recorded_on(chip(0), workload, plan)
}

fn recorded_on<W: Workload>(
    graphite: Arc<MachineDescription>,
    workload: &W,
    plan: &Plan,
) -> RunRecord {
    let make = |seed| {
        let options = SimulatedOptions { seed, ..SimulatedOptions::default() };
        Simulated::new(graphite.clone(), options)
    };
    let repetitions = run(&make, workload, plan, &Word::new(0), &mut |_| {}).expect("can run");
    let declared = assemble::declaration::<Simulated>(plan).expect("it is listed");
    let (blank, kind) = (RunRecord::blank(), MachineKind::Simulated);
    assemble::record(blank, kind, plan, &declared, &repetitions, None)
}

fn at(process: Process, rate_txn_per_s: f64) -> Option<Arrivals> {
    Some(Arrivals { process, rate_txn_per_s })
}

fn idle(record: &RunRecord) -> f64 {
    record.breakdown.as_ref().expect("kept in simulation")[Category::Idle.name()]
}

fn mean(record: &RunRecord) -> f64 {
    record.latency_ns.mean.expect("enough ended")
}

#[test]
fn where_nothing_queues_latency_is_the_time_of_service() {
    for cores in [1, 4] {
        let closed = measured(cores, None, 0.001);
        assert!(closed.arrivals.is_none() && idle(&closed) == 0.0);
        let rate = closed.throughput_txn_per_s / 10.0;
        let open = measured(cores, at(Process::Fixed, rate), 0.01);
        let [service, latency] = [&closed, &open].map(|record| record.latency_ns.clone());
        let mean = mean(&open) / mean(&closed);
        assert!((mean - 1.0).abs() < 0.02, "{cores} cores: {latency:?} {service:?}");
        let [most, alone] = [&latency, &service].map(|latency| latency.max.expect("some ended"));
        assert!(most * 10 <= alone * 13, "{cores} cores: {latency:?} {service:?}");
        let served = open.throughput_txn_per_s / rate;
        assert!((served - 1.0).abs() < 0.01, "{served}");
        // The load is a tenth of what the workers can serve.
        assert!((0.87..0.93).contains(&idle(&open)), "{}", idle(&open));
        let arrivals = open.arrivals.expect("it was one");
        assert!(!arrivals.overloaded(0.01) && arrivals.waiting_at_end <= 1, "{arrivals:?}");
    }
}

#[test]
fn random_arrivals_queue_as_theory_says() {
    let closed = measured(1, None, 0.001);
    let service = mean(&closed);
    for load in [0.3, 0.6, 0.8] {
        let open = measured(1, at(Process::Poisson, closed.throughput_txn_per_s * load), 0.05);
        // By Pollaczek and Khinchine, with constant service times, the mean wait is load / (2 (1 - load)) service
        // times.
        let waiting = (mean(&open) - service) / service;
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
            // Half of the arrivals are left over.
            let grown = (arrivals.waiting_at_end - arrivals.waiting_at_begin) as f64;
            assert!((grown / (capacity * seconds) - 1.0).abs() < 0.1, "{grown}");
            assert!(idle(record) < 0.01);
        }
        // The wait grows in proportion to the time since the begin, so the longer run has longer latencies.
        let [late, early] = [&long, &short].map(|r| r.latency_ns.p50.expect("enough ended") as f64);
        assert!((2.5..4.5).contains(&(late / early)), "{late} {early}");
        assert!(early > 100_000.0, "{early}");
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

fn growth(most_s: f64, together_s: f64) -> Option<Growth> {
    Some(Growth { most_s, most_busy_s: f64::INFINITY, together_s, rule: Rule::default() })
}

/// Returns a contended workload: on 64 cores, all workers update the same few rows.
fn contended() -> Ycsb {
    let options =
        YcsbOptions { records: 10_000, theta: 0.9, read_ratio: 0.5, ..Default::default() };
    Ycsb::new(options).expect("good options")
}

#[test]
fn a_run_becomes_as_long_as_it_must_and_no_longer() {
    let growth = growth(0.1, 0.1);
    let calm = Ycsb::new(YcsbOptions { records: 10_000, theta: 0.0, ..Default::default() });
    let calm = calm.expect("good options");
    let plan = |protocol| Plan { growth, ..plan(protocol, 16, 0.000_5) };
    let [easy, hard] = [recorded(&calm, &plan("SILO")), recorded(&contended(), &plan("SILO"))];
    for record in [&easy, &hard] {
        assert_eq!(record.steady, Some(true), "{:?}", record.steadiness);
        assert_eq!(record.steadiness.as_ref().expect("judged").ended, "steady");
        assert!(record.littles_law.expect("a closed loop").holds && record.commits >= 1000);
        let p99_s = record.latency_ns.p99.expect("enough ended") as f64 * 1e-9;
        assert!(record.measured_s >= 9.0 * p99_s, "{p99_s} {}", record.measured_s);
        let total_s = record.warm_up_s + record.measured_s;
        let doublings = (total_s / 0.000_5).log2();
        assert!((doublings - doublings.round()).abs() < 1e-9, "{total_s}");
    }
    assert!(hard.measured_s > easy.measured_s, "{} {}", hard.measured_s, easy.measured_s);
    assert_eq!(
        hard,
        with_wall_of(&hard, recorded(&contended(), &plan("SILO"))),
        "exactly repeatable"
    );
}

/// Returns `record` with the host-dependent numbers of `other`.
fn with_wall_of(other: &RunRecord, record: RunRecord) -> RunRecord {
    let RunRecord { operations_per_wall_s, wall_s, .. } = other.clone();
    RunRecord { operations_per_wall_s, wall_s, ..record }
}

#[test]
fn further_seeds_take_the_lengths_of_the_first_as_long_as_they_may() {
    let grown = |together_s| {
        let growth = growth(0.02, together_s);
        let calm = Ycsb::new(YcsbOptions { records: 10_000, theta: 0.0, ..Default::default() });
        let plan = Plan { growth, repetitions: 3, ..plan("NO_WAIT", 8, 0.000_5) };
        recorded(&calm.expect("good options"), &plan)
    };
    let (three, one) = (grown(1.0), grown(0.000_6));
    assert_eq!((three.repetitions, one.repetitions), (3, 1));
    assert_eq!((three.spread.of, one.spread.of), (SpreadOf::Repetitions, SpreadOf::Batches));
    assert!(three.spread.relative > 0.0 && one.spread.relative > 0.0);
    assert!(!three.interrupted && !one.interrupted && three.measured_s == one.measured_s);
    assert_eq!(three.repetition_throughputs_txn_per_s[0], one.throughput_txn_per_s);
}

#[test]
fn an_access_to_a_record_costs_its_instructions_once() {
    // An access reads a record for update and then writes it.
    let options = YcsbOptions { records: 64, read_ratio: 0.0, ..YcsbOptions::default() };
    let workload = Ycsb::new(YcsbOptions { read_modify_write: true, ..options }).expect("good");
    let mean = |cycles| mean(&recorded_on(chip(cycles), &workload, &plan("NO_WAIT", 1, 0.01)));
    // The chip runs at 1 GHz, and a transaction has 16 accesses.
    let more = mean(1000) - mean(0);
    assert!((more / 16_000.0 - 1.0).abs() < 0.05, "{more} ns");
}

#[test]
fn a_run_that_is_too_short_says_so() {
    // The run is far shorter than the slowest transactions.
    let growth = growth(0.1, 0.0);
    let long = recorded(&contended(), &Plan { growth, ..plan("NO_WAIT", 64, 0.001) });
    let short = recorded(&contended(), &plan("NO_WAIT", 64, 0.000_2));
    let in_flight = short.in_flight.expect("counted");
    assert_eq!(in_flight.count, 64, "everybody is busy at the end");
    for name in ["mean", "p90", "max"] {
        assert!(short.latency_ns.is_at_least(name) && !long.latency_ns.is_at_least(name), "{name}");
    }
    let least = |record: &RunRecord| record.latency_ns.p90.expect("a hundred were seen");
    assert!(least(&short) <= least(&long));
    assert_eq!(short.latency_ns.p99, None, "one in a hundred of fewer than a thousand");
    let holds = |record: &RunRecord| record.littles_law.expect("a closed loop").holds;
    assert!(holds(&long) && !holds(&short));
}

/// Locks in great demand passed for ever between transactions that had waited for too long: each of them gave back what
/// it was granted in the last moment.
#[test]
fn short_waits_for_locks_do_not_stop_all_progress() {
    let options =
        YcsbOptions { records: 1_000_000, theta: 0.8, read_ratio: 0.5, ..YcsbOptions::default() };
    let workload = Ycsb::new(options).expect("good options");
    let commits = |protocol: &str, lock_timeout_ns| {
        let protocol_options = ProtocolOptions {
            lock_timeout_ns,
            lock_form: LockForm::List,
            ..ProtocolOptions::default()
        };
        let warm_up_s = 0.005;
        recorded(&workload, &Plan { protocol_options, warm_up_s, ..plan(protocol, 64, 0.005) })
            .commits
    };
    let no_wait = commits("NO_WAIT", None);
    let detected = [0, 10_000, 100_000].map(|ns| commits("DL_DETECT", Some(ns)));
    assert!(detected.iter().all(|commits| *commits * 10 > no_wait), "{detected:?} {no_wait}");
    // Without any wait both do the same, apart from the search for deadlocks.
    assert!((0.7..1.4).contains(&(detected[0] as f64 / no_wait as f64)), "{detected:?} {no_wait}");
}

/// Contended counters under NO_WAIT, whose workers do what `back_off` says. Readings of the clock cost nothing.
fn disputed(back_off: BackOff, record_history: bool) -> (RunRecord, Option<String>) {
    let workload = Counters::new(CountersOptions::mixed()).expect("good options");
    let plan = Plan { back_off, record_history, ..plan("NO_WAIT", 16, 0.001) };
    let mut graphite = Arc::unwrap_or_clone(chip(0));
    graphite.core.clock_read_cycles = 0;
    let graphite = Arc::new(graphite);
    let make = |_| Simulated::new(graphite.clone(), SimulatedOptions::default());
    let repetitions = run(&make, &workload, &plan, &Word::new(0), &mut |_| {}).expect("can run");
    let declared = assemble::declaration::<Simulated>(&plan).expect("it is listed");
    let (blank, kind) = (RunRecord::blank(), MachineKind::Simulated);
    let record = assemble::record(blank, kind, &plan, &declared, &repetitions, None);
    (record, repetitions[0].broken_law.clone())
}

#[test]
fn a_worker_goes_on_while_an_aborted_transaction_is_put_aside() {
    let bound = 20_000;
    let disputed = |back_off| disputed(back_off, false).0;
    let waits = disputed(BackOff::Wait { first_ns: bound, cap_ns: bound });
    let [one, ten, again] =
        [1, 10, 10].map(|most| disputed(BackOff::Aside { most, bound_ns: bound }));
    // A worker without room for a second transaction waits.
    let result = |record: &RunRecord| (record.commits, record.aborts.clone(), record.in_flight);
    assert_eq!(result(&one), result(&waits));
    assert_eq!(result(&ten), result(&again));
    // With more room it attempts others, so that more of them meet. Each worker has up to ten in flight.
    let backing_off = |record: &RunRecord| {
        record.breakdown.as_ref().expect("kept in simulation")[Category::BackOff.name()]
    };
    assert!(ten.abort_ratio > 2.0 * one.abort_ratio, "{} {}", ten.abort_ratio, one.abort_ratio);
    assert!(backing_off(&ten) < backing_off(&one), "{} {}", backing_off(&ten), backing_off(&one));
    let in_flight = ten.in_flight.expect("counted").count;
    assert!((17..=160).contains(&in_flight), "{in_flight}");
    assert!(waits.littles_law.is_some() && ten.littles_law.is_none());
    assert_eq!(ten.protocol_options["back_off"], Setting::Text("aside:10:20us".to_owned()));
}

/// Returns the nanoseconds of each commit that one worker under WAIT_DIE spends in `category`, where a reading of the clock takes
/// 500 ns.
fn clock_readings(category: Category, back_off: BackOff, timestamps: &str) -> f64 {
    let workload = KeyValue::new(KeyValueOptions { records: 64, ..KeyValueOptions::default() });
    let timestamps = timestamps.parse().expect("an allocation");
    let protocol_options = ProtocolOptions { timestamps, ..ProtocolOptions::default() };
    let plan = Plan { back_off, protocol_options, ..plan("WAIT_DIE", 1, 0.002) };
    let mut graphite = Arc::unwrap_or_clone(chip(0));
    graphite.core.clock_read_cycles = 500;
    let record = recorded_on(Arc::new(graphite), &workload.expect("good options"), &plan);
    let share = record.breakdown.expect("kept in simulation")[category.name()];
    share * 1e9 / record.throughput_txn_per_s
}

#[test]
fn readings_of_the_clock_cost_time() {
    let wait = BackOff::default();
    let back_off = |rule| clock_readings(Category::BackOff, rule, "atomic");
    assert_eq!(back_off(wait), 0.0);
    let aside = back_off(BackOff::DBX1000);
    assert!((490.0..510.0).contains(&aside), "one reading for each transaction: {aside}");
    let drawn = |timestamps| clock_readings(Category::TimestampAllocation, wait, timestamps);
    let [atomic, clock] = ["atomic", "clock"].map(drawn);
    assert!(atomic < 100.0 && (490.0..600.0).contains(&clock), "{atomic} {clock}");
}

#[test]
fn transactions_that_were_put_aside_keep_the_law() {
    let (record, broken_law) = disputed(BackOff::Aside { most: 3, bound_ns: 5_000 }, true);
    assert!(record.commits > 1000 && record.abort_ratio > 0.1, "{record:?}");
    assert_eq!(broken_law, None);
}

/// Notes how often a session went back to an older transaction than the one before.
#[derive(Default)]
struct Ages {
    last: u64,
    older: u64,
}

impl Watcher for &mut Ages {
    fn admitted(&mut self) {}

    fn leaves(&mut self) {}

    fn began(&mut self, priority: Option<u64>) {
        let age = priority.unwrap_or(self.last);
        self.older += u64::from(age < self.last);
        self.last = age;
    }

    fn aborted(&mut self, _: Abort, _: bool) {}

    fn committed(&mut self) {}
}

/// Has 8 workers, which put up to 4 transactions aside, end 100 procedures each under `protocol`. Returns the number of each
/// worker's commits, and those of all aborts and of all returns to an older transaction.
fn eight_workers(protocol: &str) -> (Vec<u64>, u64, u64) {
    let machine = Arc::new(Simulated::new(chip(0), SimulatedOptions::default()).expect("room"));
    let options = EngineOptions::for_sessions(8);
    let engine = registry::create(registry::DEFAULT, protocol, &machine, &options).expect("room");
    let workload = Counters::new(CountersOptions::mixed()).expect("good options");
    engine.load(&workload, 1).expect("room");
    let (timeline, stop, reports) = (Timeline::default(), Word::new(0), Mutex::new(Vec::new()));
    let body = |worker: usize| -> Body<'_, Simulated> {
        let (engine, workload, reports) = (&*engine, &workload, &reports);
        let (timeline, stop) = (&timeline, &stop);
        Box::new(move |core| {
            let mut ages = Ages::default();
            let plan = Loop {
                back_off: BackOff::Aside { most: 4, bound_ns: 20_000 },
                seed: worker as u64,
                stop,
                arrivals: None,
                admission: Applicant::<Simulated>::unlimited(),
                watcher: &mut ages,
                meter: Meter::new(timeline),
            };
            let mut client = workload.client(worker, 8, 1);
            let session = &mut *engine.session(core, worker);
            let report = drive(core, session, &mut client, Length::Procedures(100), plan);
            let aborts = report.aborts.iter().sum::<u64>();
            reports.lock().push((report.all_commits, aborts, ages.older));
        })
    };
    machine.run((0..8).map(body).collect(), Vec::new()).expect("it runs");
    let reports = reports.into_inner();
    let commits = reports.iter().map(|(commits, _, _)| *commits).collect();
    let aborts = reports.iter().map(|(_, aborts, _)| aborts).sum();
    (commits, aborts, reports.iter().map(|(_, _, older)| older).sum())
}

#[test]
fn a_loop_of_a_given_number_of_procedures_ends_all_of_them() {
    let (commits, aborts, _) = eight_workers("NO_WAIT");
    assert_eq!(commits, [100; 8]);
    assert!(aborts > 100, "{aborts}");
}

/// Under WAIT_DIE a transaction that had been put aside got a fresh age for its next attempt. So it never became the oldest one, and
/// hardly ever waited.
#[test]
fn transactions_that_were_put_aside_keep_their_age() {
    for protocol in ["WAIT_DIE", "WOUND_WAIT", "PLOR"] {
        let (commits, aborts, older) = eight_workers(protocol);
        assert_eq!(commits, [100; 8], "{protocol}");
        assert!(older * 10 > aborts, "{protocol}: {older} of {aborts}");
    }
}

/// A run that ends with the commits of its first worker ends at that moment, whatever length it began with.
#[test]
fn a_run_ends_when_the_first_worker_has_committed_enough() {
    let options = KeyValueOptions { records: 64, accesses: 4, ..KeyValueOptions::default() };
    let workload = KeyValue::new(options).expect("good options");
    let ending = |cores, commits, measured_s| {
        let plan = Plan { commits: Some(commits), ..plan("SILO", cores, measured_s) };
        recorded(&workload, &plan)
    };
    let alone = ending(1, 700, 0.000_01);
    assert_eq!(alone.commits, 700);
    assert_eq!(
        alone,
        RunRecord {
            wall_s: alone.wall_s,
            operations_per_wall_s: alone.operations_per_wall_s,
            ..ending(1, 700, 0.000_01)
        }
    );
    let longer = ending(1, 700, 0.01);
    assert_eq!((longer.commits, longer.measured_s), (700, alone.measured_s));
    let twice = ending(1, 1400, 0.000_01).measured_s / alone.measured_s;
    // The first accesses find nothing in the caches.
    assert!((1.3..2.1).contains(&twice), "{twice}");
    let many = ending(16, 100, 0.000_01);
    assert!((100 + 15..=16 * 101).contains(&many.commits), "{}", many.commits);
    assert!(many.steadiness.is_none() && !many.interrupted && many.adapted.is_none());
}
