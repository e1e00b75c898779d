use super::*;
use std::fs;
use std::path::PathBuf;

fn sample() -> RunRecord {
    let mut record = RunRecord {
        workload: "ycsb".into(),
        workload_options: settings(vec![
            ("records", OptionValue::Integer(1000)),
            ("theta", OptionValue::Number(0.0)),
            ("distinct", OptionValue::Flag(true)),
        ]),
        protocol: "NO_WAIT".into(),
        protocol_options: [("timestamp_allocation".into(), Setting::Text("atomic".into()))].into(),
        machine: "native".into(),
        machine_description: "2 cores, \"quoted\", 2.1 GHz".into(),
        cores: 2,
        breakdown: Some([("useful".into(), 0.75), ("wait".into(), 0.25)].into()),
        operations_per_wall_s: Some(25e6),
        ..RunRecord::blank()
    };
    record.set_repetitions(vec![100.0, 300.0, 200.0]);
    record.set_attempts(600, [("lock_conflict".into(), 190)].into(), 10);
    record
}

/// A separate folder for one test. It is removed when the test ends.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Folder {
        let path = std::env::temp_dir().join(format!("kilocore-{name}-{}", std::process::id()));
        fs::create_dir_all(&path).unwrap();
        Folder(path)
    }

    fn names(&self) -> Vec<String> {
        let entries = fs::read_dir(&self.0).unwrap();
        entries.map(|e| e.unwrap().file_name().into_string().unwrap()).collect()
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

#[test]
fn derived_numbers_follow_from_raw_ones() {
    let record = sample();
    assert_eq!((record.repetitions, record.throughput_txn_per_s), (3, 200.0));
    assert_eq!(record.spread.relative, 1.0);
    assert_eq!(record.abort_ratio, 190.0 / 800.0);
    let mut nothing = RunRecord::blank();
    nothing.set_repetitions(vec![]);
    nothing.set_attempts(0, BTreeMap::new(), 0);
    assert_eq!((nothing.throughput_txn_per_s, nothing.abort_ratio), (0.0, 0.0));
}

#[test]
fn what_is_written_is_read_again() {
    let folder = Folder::new("records-round-trip");
    let path = folder.0.join("records.json");
    let mut counted = sample();
    counted.hardware_counters = HardwareCounters::Counted([("cycles".into(), 5)].into());
    counted.certificate.serializable = Verdict::Pass;
    let records = vec![sample(), counted, RunRecord::blank()];
    write_json(&path, &records).unwrap();
    assert_eq!(read_json(&path).unwrap(), records);
    assert_eq!(folder.names(), ["records.json"]);
}

#[test]
fn the_words_of_the_schema_are_these() {
    let json: serde_json::Value = serde_json::from_str(&to_json(&[sample()])).unwrap();
    let record = &json[0];
    assert_eq!(record["schema_version"], 3);
    assert_eq!(record["workload_options"]["records"], 1000);
    assert_eq!(record["workload_options"]["theta"], 0.0);
    assert_eq!(record["machine_kind"], "native");
    assert_eq!(record["hardware_counters"], "absent");
    assert_eq!(record["certificate"]["serializable"], "not checked");
    assert_eq!(record["aborts"]["lock_conflict"], 190);
    assert!(record.get("wall_s").is_none(), "absent, not zero");
    assert!(record["latency_ns"]["p99"].is_null(), "too few samples, not zero");
}

#[test]
fn the_page_for_readers_names_every_field() {
    let page = include_str!("../../../../docs/run-record.md");
    let mut full = sample();
    (full.wall_s, full.simulated_s) = (Some(1.0), Some(1.0));
    full.steady = Some(true);
    full.adapted = Some(Adapted::default());
    full.broken_law = Some(BrokenLaw::default());
    full.provenance = Some(Provenance::default());
    full.host_load = Some(HostLoad::default());
    full.steadiness = Some(SteadinessRecord::default());
    full.in_flight = Some(InFlight::default());
    full.littles_law = Some(LittlesLaw { accounted_workers: 2.0, factor: 1.0, holds: true });
    full.commits_by_procedure = Some([("scan".into(), 600)].into());
    full.arrivals = Some(ArrivalRecord {
        process: "poisson".into(),
        rate_txn_per_s: 1e6,
        waiting_at_begin: 0,
        waiting_at_end: 0,
    });
    let json = serde_json::to_value(&full).unwrap();
    for name in json.as_object().unwrap().keys() {
        assert!(page.contains(&format!("`{name}`")), "docs/run-record.md does not name {name}");
    }
}

#[test]
fn csv_has_the_same_columns_in_every_line() {
    let mut other = RunRecord::blank();
    other.workload_options = [("counters".into(), Setting::Integer(4))].into();
    let csv = to_csv(&[sample(), other]);
    let lines: Vec<_> = csv.split_terminator("\r\n").collect();
    assert_eq!(lines.len(), 3);
    assert!(lines[1].contains("\"2 cores, \"\"quoted\"\", 2.1 GHz\""));
    let header: Vec<_> = lines[0].split(',').collect();
    // No cell of the last line is quoted.
    let cells: Vec<_> = lines[2].split(',').collect();
    assert_eq!(header.len(), cells.len());
    let cell = |name| cells[header.iter().position(|&h| h == name).unwrap()];
    assert_eq!(cell("workload_options.counters"), "4");
    assert_eq!(cell("workload_options.records"), "");
    assert_eq!(cell("breakdown.useful"), "", "absent, not zero");
}

#[test]
fn an_unwritable_file_is_named_and_nothing_is_left_behind() {
    let folder = Folder::new("records-unwritable");
    let missing = folder.0.join("no-such-folder/records.json");
    for error in [check_writable(&missing), write_json(&missing, &[sample()])] {
        let said = error.unwrap_err().to_string();
        assert!(said.contains("no-such-folder/records.json: cannot be written: "), "{said}");
        assert!(!said.contains('\n'));
    }
    assert!(check_writable(&folder.0).is_err(), "a folder");
    assert!(check_writable(&folder.0.join("fine.json")).is_ok());
    assert!(folder.names().is_empty());
}

#[cfg(unix)]
#[test]
fn links_are_followed_and_devices_are_not_replaced() {
    let folder = Folder::new("records-links");
    let (file, link) = (folder.0.join("file"), folder.0.join("link"));
    fs::write(&file, "before").unwrap();
    std::os::unix::fs::symlink(&file, &link).unwrap();
    write_whole(&link, b"after").unwrap();
    assert_eq!(fs::read(&file).unwrap(), b"after");
    assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
    write_whole(std::path::Path::new("/dev/null"), b"gone").unwrap();
    assert!(!fs::metadata("/dev/null").unwrap().is_file());
}

#[test]
fn a_file_of_another_version_is_refused() {
    let folder = Folder::new("records-version");
    let path = folder.0.join("records.json");
    let mut record = sample();
    record.schema_version = 4;
    write_json(&path, &[sample(), record]).unwrap();
    let said = read_json(&path).unwrap_err().to_string();
    assert!(said.ends_with("record 1 has schema version 4, allowed: 1 to 3"), "{said}");
    fs::write(&path, "{}").unwrap();
    assert!(read_json(&path).unwrap_err().to_string().contains("array of records"));
}
