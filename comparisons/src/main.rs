//! Measures Kilocore's embedded database beside redb, fjall and surrealmx. See README.md.

mod builds;
mod engine;
mod engines;
mod machine;
mod memory;
mod record;
mod runs;
mod workloads;

use std::{env, process::ExitCode, time::Duration};
use workloads::Extent;

const USAGE: &str = "\
Usage: comparisons FILE [runs|memory|builds]... [--quick]

Measures all three parts, or those that are named, and writes them into FILE. Parts that FILE has and that are not measured
stay as they are. --quick uses few rows and short runs, to see whether everything works.";

/// Returns the extent of the measurements.
fn extent(quick: bool) -> Extent {
    let threads = vec![1, 2, 4, 8];
    let ms = Duration::from_millis;
    if quick {
        let (warm_up, measured) = (ms(20), ms(100));
        return Extent { numbers: 20_000, strings: 5_000, warm_up, measured, threads };
    }
    let (warm_up, measured) = (ms(150), ms(1000));
    Extent { numbers: 1_000_000, strings: 200_000, warm_up, measured, threads }
}

fn main() -> ExitCode {
    let arguments: Vec<String> = env::args().skip(1).collect();
    let quick = arguments.iter().any(|argument| argument == "--quick");
    let words: Vec<&str> =
        arguments.iter().map(String::as_str).filter(|word| !word.starts_with("--")).collect();
    // One process for each engine: nothing that another one leaves behind disturbs.
    match words[..] {
        ["one-run", engine, workload] => {
            println!("{}", runs::one(engine, workload, &extent(quick)))
        }
        ["one-load", engine, shape] => println!("{}", memory::one(engine, shape, &extent(quick))),
        [file, ref parts @ ..] => {
            let known = ["runs", "memory", "builds"];
            if let Some(part) = parts.iter().find(|part| !known.contains(part)) {
                eprintln!("unknown part {part:?}\n{USAGE}");
                return ExitCode::FAILURE;
            }
            let wanted = |part: &str| parts.is_empty() || parts.contains(&part);
            record::update(file, known.map(wanted), &extent(quick), quick);
        }
        [] => {
            eprintln!("{USAGE}");
            return ExitCode::FAILURE;
        }
    }
    ExitCode::SUCCESS
}
