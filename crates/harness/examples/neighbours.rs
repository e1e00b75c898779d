//! Runs TPC-C on one warehouse with any number of threads, also with more threads than processors. `kilocore run`
//! refuses more threads than processors, because this distorts every measurement except that of waiting. `neighbours
//! SECONDS THREADS,... PROTOCOL...` prints one line of JSON for each configuration. `neighbours protocols` lists the
//! protocols. `cargo xtask neighbours` runs this example.

use kilocore_harness::run::{Plan, Repetition, run};
use machine::{ArenaOptions, Native, NativeOptions, Word};
use protocols::{ProtocolOptions, registry::declarations};
use workloads::tpcc::{Tpcc, TpccOptions};

fn measured(workload: &Tpcc, protocol: &str, threads: usize, seconds: f64) -> Repetition {
    let plan = Plan { warm_up_s: 0.2, load_threads: 2, ..Plan::new(protocol, threads, seconds) };
    let make = |_| {
        let arena = ArenaOptions { reserve_bytes: 8 << 30, ..NativeOptions::default().arena };
        Native::new(NativeOptions { arena, ..NativeOptions::default() })
    };
    let stop = Word::new(0);
    let repetitions = run(&make, workload, &plan, &stop, &mut |_| {}).expect("room, and threads");
    repetitions.into_iter().next().expect("one was asked for")
}

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let declared = declarations::<Native>(&ProtocolOptions::default());
    let (seconds, threads, protocols) = match &arguments[..] {
        [word] if word == "protocols" => {
            return declared.iter().for_each(|declaration| println!("{}", declaration.name));
        }
        [seconds, threads, protocols @ ..] if !protocols.is_empty() => {
            let threads: Result<Vec<usize>, _> = threads.split(',').map(str::parse).collect();
            let known = |name: &String| declared.iter().any(|known| known.name == name);
            match (seconds.parse::<f64>(), threads) {
                (Ok(seconds), Ok(threads)) if protocols.iter().all(known) && seconds > 0.0 => {
                    (seconds, threads, protocols)
                }
                _ => usage(),
            }
        }
        _ => usage(),
    };
    let options = TpccOptions { warehouses: 1, ..TpccOptions::default() };
    let workload = Tpcc::new(options).expect("good options");
    for protocol in protocols {
        for &threads in &threads {
            let Repetition { throughput_txn_per_s, latencies, ticks_per_second, .. } =
                measured(&workload, protocol, threads.max(1), seconds);
            let us = |ticks: u64| ticks as f64 * 1e6 / ticks_per_second as f64;
            println!(
                "{{\"protocol\": \"{protocol}\", \"threads\": {threads}, \"txn_per_s\": {throughput_txn_per_s:.0}, \
                 \"p50_us\": {:.0}, \"p999_us\": {:.0}, \"max_us\": {:.0}}}",
                us(latencies.value_at_quantile(0.5)),
                us(latencies.value_at_quantile(0.999)),
                us(latencies.max())
            );
        }
    }
}

fn usage() -> ! {
    eprintln!(
        "usage: neighbours SECONDS THREADS,... PROTOCOL... (neighbours protocols names them)"
    );
    std::process::exit(2)
}
