//! Tests shares of invented rows.

use super::*;
use crate::validate::Role;
use crate::validate::outcome::invented;

const HEADER: &str = "platform,variant,scheme,warehouses,cores,smt,numa,remote_neworder_pct,placement,useful,abort,\
                      backoff,ts_alloc,index,wait,commit,cc_mgmt";
const ROWS: &str = "platform,variant,scheme,warehouses,cores,smt,numa,remote_neworder_pct,remote_payment_pct,\
                    throughput_txn_per_s,abort_ratio,split\n\
                    hpe,opt8,SILO,4,1,2,all,1,15,100,0,calib\nhpe,opt8,SILO,4,8,2,all,1,15,100,0,calib\n";

fn read(lines: &[&str]) -> Result<(Breakdowns, Measurements), String> {
    let measurements = Measurements::parse(ROWS, "t.csv").unwrap();
    let text = format!("{HEADER}\n{}\n", lines.join("\n"));
    let found = Breakdowns::parse(&text, "b.csv", &measurements);
    found.map(|found| (found, measurements)).map_err(|error| error.to_string())
}

fn row(measured: &Measurement, shares: Shares, simulated: &[(Category, f64)]) -> Row {
    Row {
        wait_of_aborted: 0.05,
        breakdown: simulated.iter().map(|(c, share)| (c.name().to_owned(), *share)).collect(),
        measured_breakdown: shares,
        lines_per_txn: Default::default(),
        measured: measured.clone(),
        ..invented::row("SILO", 1, 1.0, 1.0)
    }
}

#[test]
fn rows_with_one_key_are_averaged_and_bad_sums_are_left_out() {
    let (found, measurements) = read(&[
        "hpe,opt8,SILO,4,1,2,all,1,,0.5,0,0,0,0.1,0,0.2,0.2",
        "hpe,opt8,SILO,4,1,2,all,1,ht2-adjacent,0.7,0,0,0,0.1,0,0.1,0.1",
        "hpe,opt8,SILO,4,8,2,all,1,,0.9,0.3,0,0,0.1,0,0,0",
        "hpe,opt8,SILO,4,8,2,all,1,,1.1,-0.1,0,0,0,0,0,0",
        "power9,optimised,SILO,4,8,2,all,1,,1,0,0,0,0,0,0,0",
    ])
    .unwrap();
    let shares = found.of(&measurements.rows[0]);
    assert!((shares["useful"] - 0.6).abs() < 1e-9 && (shares["cc_mgmt"] - 0.15).abs() < 1e-9);
    assert!(found.of(&measurements.rows[1]).is_empty());
    assert_eq!(found.skipped.0.values().sum::<usize>(), 2);
    assert_eq!(found.skipped.0["with a negative share of time"], 1);
    let error = read(&["hpe,opt8,SILO,4,1,2,all,1,,x,0,0,0,0.1,0,0.2,0.2"]).unwrap_err();
    assert_eq!(error, "b.csv, line 2: useful is \"x\"; allowed: a number");
}

#[test]
fn each_category_has_its_error() {
    let (found, measurements) = read(&[
        "hpe,opt8,SILO,4,1,2,all,1,,0.5,0,0.01,0,0.1,0,0.2,0.19",
        "hpe,opt8,SILO,4,8,2,all,1,,0.4,0.4,0,0,0.1,0,0,0.1",
    ])
    .unwrap();
    let [one, eight] = &measurements.rows[..] else { panic!("two rows") };
    let simulated = [
        (Category::Useful, 0.4),
        (Category::Abort, 0.2),
        (Category::BackOff, 0.25),
        (Category::Wait, 0.15),
    ];
    let anchor = Measurement { split: Role::Anchor, ..one.clone() };
    let errors = errors(&[
        row(one, found.of(one), &simulated),
        row(eight, found.of(eight), &simulated),
        row(&anchor, found.of(one), &[]),
        row(eight, Shares::new(), &[]),
    ]);
    let of = |name: &str| errors.iter().find(|error| error.category == name).unwrap().clone();
    let useful = of("useful");
    assert_eq!((useful.all.rows, useful.one_core.rows), (2, 1));
    assert!((useful.one_core.median_relative.unwrap() - 0.2).abs() < 1e-9);
    // The back-off and the waits of aborted attempts are part of the measured aborts: 0.5 instead of 0 and of 0.4.
    let abort = of("abort");
    assert!((abort.all.median_difference.unwrap() - 0.3).abs() < 1e-9, "{abort:?}");
    assert_eq!((abort.all.large_rows, abort.one_core.median_relative), (1, None));
    let wait = of("wait");
    assert!((wait.all.median_difference.unwrap() - 0.1).abs() < 1e-9, "{wait:?}");
    assert_eq!(abort.ours, ["abort", "wait of aborted", "back_off"]);
    assert_eq!(of("backoff").one_core.large_rows, 0, "a hundredth is too little");
    // The ages of WAIT_DIE are drawn within the measured back-off, and belong to `ts_alloc` as well.
    let times = [(Category::BackOff, 0.01), (Category::TimestampAllocation, 0.02)];
    let ages = |scheme: &str| {
        let measured = Measurement { scheme: scheme.to_owned(), ..one.clone() };
        let row = row(&measured, Shares::new(), &times);
        ["backoff", "ts_alloc"].map(|name| {
            let (_, ours) = MAPPING.into_iter().find(|(category, _)| *category == name).unwrap();
            super::simulated(&row, ours)
        })
    };
    assert_eq!((ages("WAIT_DIE"), ages("MVCC")), ([0.03, 0.02], [0.01, 0.02]));
    assert_eq!(super::errors(&[row(one, Shares::new(), &simulated)]), []);
}

#[test]
fn the_carried_shares_belong_to_carried_rows() {
    let measurements = Measurements::carried();
    let with = measurements.rows.iter().filter(|row| !measurements.breakdowns.of(row).is_empty());
    assert!(with.count() > 200);
}
