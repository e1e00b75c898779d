//! Runs a validation without the command line around it.
//!
//! Usage: `cargo run --release -p kilocore-experiments --example validate -- [quick|full] [DIR]`

use kilocore_experiments::validate::{
    Effort, Measurements, ValidateOptions, run, to_csv, to_json, to_text,
};
use machine::Word;

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let quick = arguments.first().is_some_and(|word| word == "quick");
    let measurements = match arguments.get(1) {
        Some(directory) => Measurements::read(directory.as_ref()),
        None => Ok(Measurements::carried()),
    };
    let effort = if quick { Effort::Quick } else { Effort::Full };
    let options = ValidateOptions { effort, ..ValidateOptions::default() };
    let started = std::time::Instant::now();
    let outcome = measurements.and_then(|measurements| {
        run(&measurements, &options, &Word::new(0), &|done, total, configuration| {
            eprintln!("{done} of {total}: {}", configuration.title());
        })
    });
    match outcome {
        Ok(outcome) => {
            print!("{}", to_text(&outcome));
            eprintln!("{:.1} s", started.elapsed().as_secs_f64());
            if let Some(prefix) = arguments.get(2) {
                std::fs::write(format!("{prefix}.json"), to_json(&outcome))
                    .expect("a writable file");
                std::fs::write(format!("{prefix}.csv"), to_csv(&outcome)).expect("a writable file");
            }
        }
        Err(error) => {
            eprintln!("error: {error}");
            std::process::exit(2);
        }
    }
}
