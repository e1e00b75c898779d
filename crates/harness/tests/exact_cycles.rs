//! Checks that the simulator is exact. Small runs of every protocol have committed counts and end clocks. The same
//! seed gives the same bits on any machine. A change of the model, a protocol, a workload or the loop shows here, and
//! `cargo xtask cycles --bless` accepts it.

use kilocore_harness::run::{Plan, run};
use machine::{Word, cold::Arc};
use protocols::{ProtocolOptions, registry::declarations};
use simulator::{MachineDescription, Simulated, SimulatedOptions};
use std::{fs, path::PathBuf};
use txn::Workload;
use workloads::{
    micro::counters::{Counters, CountersOptions},
    ycsb::{Ycsb, YcsbOptions},
};

fn golden() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/exact_cycles.txt")
}

fn protocols() -> Vec<&'static str> {
    let declared = declarations::<Simulated>(&ProtocolOptions::default());
    declared.iter().map(|declaration| declaration.name).collect()
}

/// Runs one configuration and returns its line.
fn line<W: Workload>(name: &str, workload: &W, machine: &str, cores: usize, cc: &str) -> String {
    let plan = Plan {
        warm_up_s: 0.000_1,
        seed: 7,
        epoch_interval_s: 0.000_01,
        ..Plan::new(cc, cores, 0.001)
    };
    let description = Arc::new(MachineDescription::load(machine).expect("a built-in machine"));
    let make = |seed| {
        let options = SimulatedOptions { seed, ..SimulatedOptions::default() };
        Simulated::new(description.clone(), options)
    };
    let stop = Word::new(0);
    let repetitions = run(&make, workload, &plan, &stop, &mut |_| {}).expect("can run");
    let repetition = &repetitions[0];
    format!(
        "{name} {machine} {cores} {cc}: commits {} aborts {} operations {} end {}\n",
        repetition.total.commits(),
        repetition.total.aborts.iter().sum::<u64>(),
        repetition.operations.expect("counted in simulation"),
        repetition.total.ended_at,
    )
}

fn runs() -> String {
    let counters = Counters::new(CountersOptions::mixed()).expect("good options");
    let ycsb = Ycsb::new(YcsbOptions {
        records: 100_000,
        theta: 0.8,
        read_ratio: 0.5,
        ..YcsbOptions::default()
    })
    .expect("good options");
    let mut lines = String::new();
    for cc in protocols() {
        lines += &line("counters", &counters, "graphite", 64, cc);
        lines += &line("ycsb", &ycsb, "graphite", 64, cc);
        lines += &line("ycsb", &ycsb, "superdome-flex", 64, cc);
    }
    lines
}

#[test]
fn simulated_runs_are_those_committed() {
    let committed = fs::read_to_string(golden()).expect("committed beside this test");
    let found = runs();
    let differing: Vec<String> = committed
        .lines()
        .zip(found.lines())
        .filter(|(committed, found)| committed != found)
        .map(|(committed, found)| format!("committed {committed}\nfound     {found}"))
        .collect();
    assert!(
        committed == found,
        "{}\nIf the change is meant: cargo xtask cycles --bless",
        differing.join("\n")
    );
}

#[test]
fn the_same_seed_gives_the_same_bits_twice() {
    let workload = Counters::new(CountersOptions::mixed()).expect("good options");
    let cc = protocols()[1];
    let once = || line("counters", &workload, "graphite", 16, cc);
    assert_eq!(once(), once());
}

/// Writes the committed values again. This is not a test.
#[test]
#[ignore = "writes the committed values; run by `cargo xtask cycles --bless`"]
fn bless() {
    fs::write(golden(), runs()).expect("writable");
}
