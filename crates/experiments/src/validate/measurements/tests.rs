//! Tests good and bad files.

use super::*;

const HEADER: &str = "platform,variant,scheme,warehouses,cores,smt,numa,remote_neworder_pct,\
                      remote_payment_pct,throughput_txn_per_s,abort_ratio,split";
const GOOD: &str = "hpe,opt8,SILO,4,8,2,all,1,15,1526722,0.11689,calib";

fn parse(lines: &[&str]) -> Result<Measurements, String> {
    let text = format!("{HEADER}\n{}\n", lines.join("\n"));
    Measurements::parse(&text, "t.csv").map_err(|error| error.to_string())
}

/// Returns the error for the good line with `from` replaced by `to`.
fn error(from: &str, to: &str) -> String {
    parse(&[&GOOD.replacen(from, to, 1)]).unwrap_err()
}

#[test]
fn a_good_row_is_read_whatever_the_order_of_its_columns() {
    let found = parse(&[GOOD]).unwrap();
    let row = &found.rows[0];
    assert_eq!((row.scheme.as_str(), row.warehouses, row.cores), ("SILO", 4, 8));
    assert_eq!((row.throughput_txn_per_s, row.abort_ratio), (1526722.0, 0.11689));
    assert_eq!((row.split, row.merged), (Role::Scored, 1));
    let platform = found.platform_of(row);
    assert_eq!((platform.name.as_str(), platform.machine.cores()), ("hpe", 1568));
    assert!(row.bypasses());
    let reverse = |line: &str| line.split(',').rev().collect::<Vec<_>>().join(",");
    let text = format!("{}\n{}\n", reverse(HEADER), reverse(GOOD));
    assert_eq!(Measurements::parse(&text, "t.csv").unwrap().rows, found.rows);
}

#[test]
fn rows_with_one_key_become_one() {
    let found = parse(&[
        "hpe,opt7,SILO,4,8,2,all,1,15,100,0.2,calib",
        "hpe,opt7,SILO,4,8,2,all,1,15,400,0.4,calib",
        "hpe,opt7,SILO,4,9,2,all,1,15,400,0.4,calib",
    ])
    .unwrap();
    assert_eq!(found.rows.len(), 2);
    assert!((found.rows[0].throughput_txn_per_s - 200.0).abs() < 1e-9);
    assert!((found.rows[0].abort_ratio - 0.3).abs() < 1e-9);
    assert_eq!((found.rows[0].merged, found.rows[1].merged), (2, 1));
    assert!(!found.rows[0].bypasses());
}

#[test]
fn missing_columns_are_all_named() {
    let text = "platform,variant,scheme,cores\nhpe,opt8,SILO,4\n";
    let error = Measurements::parse(text, "t.csv").unwrap_err().to_string();
    assert!(error.starts_with("t.csv, line 1: no column warehouses, smt, numa,"), "{error}");
    let error = Measurements::parse("", "t.csv").unwrap_err().to_string();
    assert!(error.contains("no column platform"), "{error}");
}

#[test]
fn bad_values_are_named_with_line_column_and_what_is_allowed() {
    let cores = "t.csv, line 2: cores is \"1569\"; allowed: 1 to 1568 on hpe with 2 threads a core";
    assert_eq!(error(",8,", ",1569,"), cores);
    assert_eq!(error(",2,all", ",4,all"), "t.csv, line 2: smt is \"4\"; allowed: 1 to 2 on hpe");
    assert_eq!(error(",8,", ",0,"), "t.csv, line 2: cores is \"0\"; allowed: 1 to 1048576");
    assert_eq!(
        error("1526722", "-1"),
        "t.csv, line 2: throughput_txn_per_s is \"-1\"; allowed: more than 0"
    );
    assert!(error("1526722", "nan").contains("throughput_txn_per_s is \"nan\""));
    assert_eq!(error("0.11689", "1.5"), "t.csv, line 2: abort_ratio is \"1.5\"; allowed: 0 to 1");
    let split =
        "t.csv, line 2: split is \"\"; allowed: anchor, or any other word for a row that is scored";
    assert_eq!(error("calib", ""), split);
    assert!(error("all", "near").contains("numa is \"near\"; allowed: all, local"));
    assert_eq!(error(",calib", ""), "t.csv, line 2: 11 values; allowed: 12, as in line 1");
}

#[test]
fn no_rows_and_no_usable_rows_are_different_things() {
    assert_eq!(parse(&[]).unwrap_err(), "t.csv: no rows below line 1");
    let unknown = GOOD.replace("hpe", "cray");
    let error = parse(&[&unknown, &unknown]).unwrap_err();
    let why = "2 on cray, which hardware.toml lacks (known are hpe, power8, power9)";
    assert_eq!(error, format!("t.csv: no row that can be simulated ({why})"));
    let scheme = GOOD.replace("SILO", "SLIO");
    let variant = GOOD.replace("opt8", "opt99");
    let memory = GOOD.replace("hpe", "power9").replace("all", "2hop");
    let found = parse(&[GOOD, &unknown, &scheme, &variant, &memory]).unwrap();
    let whys: Vec<&str> = found.skipped.0.keys().map(String::as_str).collect();
    let expected = [
        "of the build opt99, which is unknown",
        "on cray, which hardware.toml lacks (known are hpe, power8, power9)",
        "with SLIO, which is not here yet",
        "with memory 2hop, a distance that the machine lacks",
    ];
    assert_eq!((found.rows.len(), whys), (1, expected.to_vec()));
}

#[test]
fn a_directory_without_the_file_is_named() {
    let error = Measurements::read(Path::new("no-such-directory")).unwrap_err().to_string();
    assert!(error.starts_with("cannot read no-such-directory/throughput.csv: "), "{error}");
}

#[test]
fn the_carried_rows_have_every_scheme_and_anchors() {
    let carried = Measurements::carried();
    for scheme in ["NO_WAIT", "WAIT_DIE", "DL_DETECT", "MVCC", "OCC", "HSTORE", "SILO", "TICTOC"] {
        assert!(carried.rows.iter().any(|row| row.scheme == scheme), "{scheme}");
    }
    for build in
        ["original", "hw-clock", "hw-clock+full-schema+inserts", "opt0", "opt8", "optimised"]
    {
        assert!(carried.rows.iter().any(|row| row.variant == build), "{build}");
    }
    assert!(carried.skipped.is_empty(), "{}", carried.skipped);
    let anchors = carried.rows.iter().filter(|row| row.split == Role::Anchor).count();
    assert!(carried.rows.len() > 200 && anchors >= 4, "{} {anchors}", carried.rows.len());
}

#[test]
fn the_order_of_threads_is_in_the_row() {
    let header = format!("{HEADER},placement");
    let text = format!(
        "{header}\npower9ri,optimised,SILO,4,8,4,all,1,15,10,0,calib,spread2\n\
         power8,optimised,SILO,4,8,8,all,1,15,10,0,calib,\n\
         power8,optimised,SILO,4,8,8,all,1,15,10,0,calib,sideways\n"
    );
    let found = Measurements::parse(&text, "t.csv").unwrap();
    let steps: Vec<&[u64]> = found.rows.iter().map(|row| row.threads.steps.as_slice()).collect();
    assert_eq!(steps, [&[2, 4][..], &[2, 4, 8]]);
    let why = found.skipped.0.keys().next().expect("one row is left out");
    assert!(why.starts_with("placed \"sideways\", an unknown order of threads"), "{why}");
    let notes: Vec<&str> =
        found.platforms.iter().flat_map(|p| &p.notes).map(String::as_str).collect();
    assert!(notes.iter().any(|note| note.starts_with("power9ri has no table")), "{notes:?}");
}
