//! Tests a validation from the file to the report, on two small rows.

use kilocore_experiments::validate::{
    Configuration, Effort, Measurements, Observer, Outcome, ValidateOptions, run, to_csv, to_json,
    to_text,
};
use machine::Word;

const ROWS: &str = "\
platform,variant,scheme,warehouses,cores,smt,numa,remote_neworder_pct,remote_payment_pct,throughput_txn_per_s,abort_ratio,split
hpe,opt8,TICTOC,4,1,2,all,1,15,326156,0,anchor
hpe,opt8,NO_WAIT,4,8,2,all,1,15,1788579,0.17812,calib
hpe,opt8,NO_WAIT,1568,1568,2,all,1,15,1,0,calib
";

/// Counts the simulations, which should be two in all.
struct Counter<'a>(&'a std::sync::atomic::AtomicUsize);

impl Observer for Counter<'_> {
    fn simulated(&self, _: usize, total: usize, _: &Configuration) {
        assert_eq!(total, 2);
        self.0.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
    }

    fn so_far(&self, _: &Outcome) {}
}

/// Is told nothing.
struct Quiet;

impl Observer for Quiet {
    fn simulated(&self, _: usize, _: usize, _: &Configuration) {}

    fn so_far(&self, _: &Outcome) {}
}

fn options() -> ValidateOptions {
    ValidateOptions { effort: Effort::Quick, up_to_cores: Some(112), ..ValidateOptions::default() }
}

#[test]
fn two_rows_from_the_file_to_the_report() {
    let measurements = Measurements::parse(ROWS, "t.csv").unwrap();
    let stop = Word::new(0);
    let heard = std::sync::atomic::AtomicUsize::new(0);
    let outcome = run(&measurements, &options(), None, &stop, &Counter(&heard)).unwrap();
    assert_eq!(heard.into_inner(), 2);
    assert_eq!((outcome.rows.len(), outcome.work[0].anchors), (2, 1));
    assert!(
        outcome.rows[0].ln_error.abs() < 0.1,
        "the only anchor gives the work of procedures: {:?} {:?}",
        outcome.work,
        outcome.rows[0]
    );
    assert_eq!(outcome.blocks.last().unwrap().rows, 1);
    assert!(outcome.rows[1].simulated_abort_ratio > 0.0);
    let shares: f64 = outcome.rows[1].breakdown.values().sum();
    assert!((shares - 1.0).abs() < 1e-6);

    let text = to_text(&outcome);
    assert!(text.contains("work of procedures on hpe (HPE Superdome Flex, 28 x "), "{text}");
    assert!(text.contains("left out: 1 with more than 112 cores"), "{text}");
    assert_eq!(to_csv(&outcome).lines().count(), 3);
    let back: kilocore_experiments::validate::Outcome =
        serde_json::from_str(&to_json(&outcome)).unwrap();
    assert_eq!(back.rows.len(), 2);

    // The same seed gives the same bits, regardless of what runs at the same time.
    let alone = ValidateOptions { threads: 1, ..options() };
    let again = run(&measurements, &alone, None, &stop, &Quiet).unwrap();
    assert_eq!(to_csv(&outcome), to_csv(&again));
}

#[test]
fn nothing_to_do_and_stopped_are_said() {
    let measurements = Measurements::parse(ROWS, "t.csv").unwrap();
    let stop = Word::new(1);
    let error = run(&measurements, &options(), None, &stop, &Quiet).unwrap_err();
    assert_eq!(error.to_string(), "interrupted before a row was simulated");

    let mut large = measurements.clone();
    large.rows.retain(|row| row.cores > 1000);
    let error = run(&large, &options(), None, &Word::new(0), &Quiet).unwrap_err();
    assert_eq!(
        error.to_string(),
        "t.csv: no row that can be simulated (1 with more than 112 cores)"
    );
}

#[test]
fn rows_that_are_known_are_taken_over() {
    let measurements = Measurements::parse(ROWS, "t.csv").unwrap();
    let stop = Word::new(0);
    let one = ValidateOptions { only: vec!["tictoc".into(), "4 warehouses".into()], ..options() };
    let first = run(&measurements, &one, None, &stop, &Quiet).unwrap();
    assert_eq!((first.rows.len(), first.skipped.0["not asked for"]), (1, 1));
    let whole = run(&measurements, &options(), None, &stop, &Quiet).unwrap();
    let text = to_json(&first).replace("\"commits\": ", "\"commits\": 7");
    let marked = Outcome::from_json(&text).unwrap();
    let resumed = run(&measurements, &options(), Some(&marked), &stop, &Quiet).unwrap();
    assert_eq!(to_csv(&whole), to_csv(&resumed));
    assert_eq!(resumed.rows[0].commits, marked.rows[0].commits, "the first row was taken over");

    // Results of another build or another seed are not.
    for other in [
        ValidateOptions { build: "another".into(), ..options() },
        ValidateOptions { seed: 2, ..options() },
    ] {
        let again = run(&measurements, &other, Some(&marked), &stop, &Quiet).unwrap();
        assert_ne!(again.rows[0].commits, marked.rows[0].commits);
    }
    assert!(Outcome::from_json("{}").is_err());
    let other = to_json(&whole).replace("\"schema_version\": 3", "\"schema_version\": 1");
    let error = Outcome::from_json(&other).unwrap_err();
    assert_eq!(error, "schema_version is 1; allowed: 3");
}
