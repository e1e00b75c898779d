use super::*;

fn row(
    workload: &'static str,
    protocol: &'static str,
    threads: usize,
    rates: (f64, f64),
) -> HereRow {
    HereRow {
        workload,
        protocol,
        threads,
        native_txn_per_s: rates.0,
        native_spread: 0.0,
        without_work_txn_per_s: rates.1,
        simulated_txn_per_s: rates.1,
        ln_error: 0.0,
        anchor: protocol == ANCHOR,
    }
}

#[test]
fn the_constant_of_a_workload_is_what_its_anchor_lacks() {
    let machine = MachineDescription::load("generic").expect("a built-in machine");
    // A transaction takes 2 us natively and 1 us in the simulation, so 1 us is missing from all of them.
    let rows = vec![
        row("ycsb", ANCHOR, 1, (500e3, 1e6)),
        row("ycsb", "SILO", 2, (500e3, 1e6)),
        row("tpcc", ANCHOR, 1, (10e3, 5e3)),
        row("tpcc", "SILO", 1, (10e3, 5e3)),
    ];
    let found = outcome(&machine, rows, 4);
    assert_eq!(found.work_ns[0].1, 1000.0);
    // A simulation that is too slow gets no negative constant.
    assert_eq!(found.work_ns[1].1, 0.0);
    let ln: Vec<f64> = found.rows.iter().map(|row| row.ln_error).collect();
    assert!(ln[0].abs() < 1e-9);
    // Two threads with 2 + 1 us each make 667 thousand transactions a second.
    assert!((ln[1] - (2.0f64 / 3.0 / 0.5).ln()).abs() < 1e-9, "{ln:?}");
    assert!((ln[3] - 0.5f64.ln()).abs() < 1e-9);
    assert!(!found.interrupted && outcome(&machine, Vec::new(), 1).interrupted);
}

#[test]
fn one_protocol_is_measured_and_simulated_with_its_anchor() {
    let machine = MachineDescription::load("generic").expect("a built-in machine");
    let options = HereOptions {
        threads: vec![1],
        native_s: 0.01,
        simulated_s: 0.0005,
        seed: 1,
        only: vec!["ycsb".into(), "no_wait".into()],
    };
    let found = compare(&machine, &options, &Word::new(0), &|_, _, _| {}).expect("it runs");
    let names: Vec<&str> = found.rows.iter().map(|row| row.protocol).collect();
    assert_eq!(names, [ANCHOR, "NO_WAIT", "2V_NO_WAIT"]);
    assert!(found.rows.iter().all(|row| row.native_txn_per_s > 0.0));
    assert!(found.rows[0].ln_error.abs() < 1e-6 || found.work_ns[0].1 == 0.0, "{found:?}");
    assert!(to_text(&found).contains("error of 2 rows"));
    assert_eq!(to_csv(&found).lines().count(), 4);
    let none = HereOptions { only: vec!["nothing".into()], ..options };
    let error = compare(&machine, &none, &Word::new(0), &|_, _, _| {}).unwrap_err();
    assert!(error.to_string().contains("--only"), "{error}");
}
