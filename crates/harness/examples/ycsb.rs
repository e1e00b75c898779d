//! Runs YCSB under one protocol, natively or on the Graphite target, without the command line around it. It is meant
//! for profilers. Usage: `cargo run --release -p kilocore-harness --example ycsb -- SILO native 2 10000000 0.6 0.5`

use kilocore_harness::{
    assemble,
    engines::Engines,
    run::{Plan, run},
    run_record::{MachineKind, RunRecord},
};
use machine::{Native, NativeOptions, Word, cold::Arc};
use simulator::{MachineDescription, Simulated, SimulatedOptions};
use workloads::ycsb::{Ycsb, YcsbOptions};

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [protocol, machine, cores, records, theta, read_ratio, ..] = &arguments[..] else {
        eprintln!("usage: ycsb PROTOCOL native|MACHINE CORES RECORDS THETA READ_RATIO [SECONDS]");
        std::process::exit(2);
    };
    let options = YcsbOptions {
        records: records.parse().unwrap(),
        theta: theta.parse().unwrap(),
        read_ratio: read_ratio.parse().unwrap(),
        ..YcsbOptions::default()
    };
    let workload = Ycsb::new(options).expect("good options");
    let modelled = machine != "native";
    let (warm_up_s, measured_s) = if modelled { (0.0002, 0.001) } else { (0.5, 1.0) };
    let measured_s = arguments.get(6).map_or(measured_s, |s| s.parse().unwrap());
    let plan = Plan {
        warm_up_s,
        repetitions: 3,
        load_threads: 2,
        ..Plan::new(protocol, cores.parse().unwrap(), measured_s)
    };
    if modelled {
        let description = Arc::new(MachineDescription::load(machine).expect("a machine file"));
        let make = |seed| {
            let options = SimulatedOptions { seed, ..SimulatedOptions::default() };
            Simulated::new(description.clone(), options)
        };
        report(&make, MachineKind::Simulated, &workload, &plan);
    } else {
        report(&|_| Native::new(NativeOptions::default()), MachineKind::Native, &workload, &plan);
    }
}

fn report<M: Engines>(
    make: &dyn Fn(u64) -> Result<M, machine::OutOfMemory>,
    kind: MachineKind,
    workload: &Ycsb,
    plan: &Plan,
) {
    let stop = Word::new(0);
    let started = std::time::Instant::now();
    let repetitions = run(make, workload, plan, &stop, &mut |_| {}).unwrap();
    let declaration = assemble::declaration::<M>(plan).unwrap();
    let blank = RunRecord::blank();
    let record = assemble::record(blank, kind, plan, &declaration, &repetitions, None);
    println!(
        "{} {:.0} txn/s ({:?}), aborts {:.3}, p50 {:?} ns, p99 {:?} ns, {:?} Mops/s, {:.0} operations, steady {:?}, {:.1} s in all\n{:?}",
        record.protocol,
        record.throughput_txn_per_s,
        record.repetition_throughputs_txn_per_s,
        record.abort_ratio,
        record.latency_ns.p50,
        record.latency_ns.p99,
        record.operations_per_wall_s.map(|o| o / 1e6),
        record.operations_per_wall_s.unwrap_or(0.0) * record.wall_s.unwrap_or(0.0),
        record.steady,
        started.elapsed().as_secs_f64(),
        record.breakdown,
    );
}
