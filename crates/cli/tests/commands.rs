//! Tests commands that succeed.

mod command;

use command::{Folder, kilocore};
use harness::run_record::{RunRecord, Verdict, read_json};
use std::process::{Command, Output, Stdio};

fn text(output: &Output) -> String {
    assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout.clone()).unwrap()
}

const SMALL: [&str; 6] = ["--records", "1000", "--read-ratio", "0.5", "--seconds", "0.02"];

#[test]
fn json_on_standard_output_is_all_that_goes_there() {
    let words = ["run", "ycsb", "--cc", "silo,NO_CC", "--cores", "1", "--json", "-"];
    let output = kilocore(words.into_iter().chain(SMALL).chain(["--warm-up", "0"]));
    let records: Vec<RunRecord> = serde_json::from_str(&text(&output)).unwrap();
    assert_eq!(records.len(), 2);
    assert_eq!((records[0].protocol.as_str(), records[1].protocol.as_str()), ("SILO", "NO_CC"));
    assert!(records.iter().all(|r| r.commits > 0 && !r.interrupted && !r.host.is_empty()));
    assert_eq!(records[0].certificate.serializable, Verdict::NotChecked);
}

#[test]
fn records_say_how_protocols_were_set() {
    let words = ["run", "ycsb", "--cc", "DL_DETECT,SILO", "--machine", "graphite", "--cores", "4"];
    let words = words.into_iter().chain(["--cc-option", "deadlock-preset=2022", "--json", "-"]);
    let words = words.chain(["--cc-option", "waits-for=central"]).chain(SMALL.into_iter().take(4));
    let output = kilocore(words.chain(["--seconds", "0.001", "--theta", "0.9", "--certify"]));
    let records: Vec<RunRecord> = serde_json::from_str(&text(&output)).unwrap();
    let set = |record: &RunRecord, name: &str| {
        record.protocol_options.get(name).map(ToString::to_string).unwrap_or_default()
    };
    for (name, value) in
        [("waits-for", "central"), ("lock-timeout", "1ms"), ("deadlock-search", "1us")]
    {
        assert_eq!((set(&records[0], name).as_str(), set(&records[1], name).as_str()), (value, ""));
    }
    assert_eq!(records[0].certificate.strict, Verdict::Pass);
    let list = text(&kilocore(["list"]));
    assert!(list.contains("deadlock-preset") && list.contains("[100us]"), "{list}");
}

#[test]
fn pipes_get_a_table_without_colours() {
    let words = ["run", "counters", "--cc", "all", "--cores", "1", "--seconds", "0.02"];
    let output = kilocore(words.into_iter().chain(["--warm-up", "0", "--certify", "--breakdown"]));
    let table = text(&output);
    assert!(table.contains("WAIT_DIE") && table.contains("serializable"), "{table}");
    assert!(table.contains("concurrency control"), "{table}");
    assert!(table.contains("SILO on 1 cores committed: increment 100.0%"), "{table}");
    assert!(!table.contains('\x1b'));
    let progress = String::from_utf8(output.stderr).unwrap();
    assert!(progress.starts_with("1/"), "plain lines: {progress}");
    assert!(!progress.contains(['\x1b', '\r']), "{progress}");
}

#[test]
fn simulated_runs_repeat_themselves_and_are_certified() {
    let run = || {
        let words = ["run", "ycsb", "--cc", "NO_WAIT,NO_CC", "--machine", "graphite"];
        let words = words.into_iter().chain(["--cores", "16", "--certify", "--csv", "-"]);
        let words = words.chain(SMALL.into_iter().take(4)).chain(["--theta", "0.9"]);
        kilocore(words.chain(["--seconds", "0.002", "--fields", "1"]))
    };
    let (first, again) = (run(), run());
    let told = String::from_utf8(first.stderr.clone()).unwrap();
    assert!(told.contains("as expected") && told.contains("replay with: kilocore run"), "{told}");
    let measured = |output: &Output| -> Vec<String> {
        let lines = text(output);
        // The columns before the certificate contain nothing about the host.
        let header: Vec<&str> = lines.lines().next().expect("a header").split(',').collect();
        let certificate = header.iter().position(|name| name.starts_with("certificate"));
        let (certificate, cells) = (certificate.expect("a column"), lines.lines());
        let cells = cells.map(|line| line.split(',').take(certificate).collect::<Vec<_>>());
        cells.map(|cells| cells.join(",")).collect()
    };
    assert_eq!(measured(&first), measured(&again));
}

#[test]
fn an_open_loop_says_what_arrived_and_where_it_queued() {
    let run = |rate: &str, json: &[&str]| {
        let words = ["run", "key-value", "--cc", "SILO", "--machine", "graphite", "--cores", "2"];
        let words = words.into_iter().chain(["--records", "1000", "--seconds", "0.0005"]);
        let words = words.chain(["--arrivals", "poisson", "--rate", rate, "--certify"]);
        text(&kilocore(words.chain(json.iter().copied())))
    };
    let slow = run("100k", &[]);
    assert!(slow.contains("poisson arrivals at 100 k/s") && !slow.contains("OVERLOADED"), "{slow}");
    assert!(run("1G", &[]).contains("OVERLOADED: SILO on 2 cores serves "));
    let records: Vec<RunRecord> = serde_json::from_str(&run("100k", &["--json", "-"])).unwrap();
    let arrivals = records[0].arrivals.as_ref().expect("an open loop");
    assert_eq!((arrivals.process.as_str(), arrivals.rate_txn_per_s), ("poisson", 1e5));
    assert_eq!(records[0].certificate.strict, Verdict::Pass);
}

/// Returns how long the process has run on a processor, in hundredths of a second.
fn ticks_worked(process: u32) -> u64 {
    let stat = std::fs::read_to_string(format!("/proc/{process}/stat")).unwrap();
    // User time and system time follow the name in parentheses. The name may contain any character.
    let fields = stat.rsplit_once(')').expect("a name").1.split_whitespace();
    fields.skip(11).take(2).map(|ticks| ticks.parse::<u64>().unwrap()).sum()
}

#[test]
fn an_interrupted_run_keeps_what_was_measured() {
    for signal in ["-INT", "-TERM", "-HUP"] {
        interrupted(signal, "run counters --cc SILO --cores 1");
    }
}

/// Workers that wait for a server or are on their way to another core stop too.
#[test]
fn an_interrupted_run_ends_servers_and_fibers() {
    for architecture in ["delegation", "data_oriented"] {
        let ycsb = "run ycsb --records 1k --theta 0.9 --scattered --partitions 2 --cores 2";
        interrupted("-INT", &format!("{ycsb} --cc DL_DETECT --architecture {architecture}"));
    }
}

fn interrupted(signal: &str, run: &str) {
    let folder = Folder::fresh(&format!("interrupted{signal}{}", run.len()));
    let file = folder.path().join("records.json");
    let mut running = Command::new(env!("CARGO_BIN_EXE_kilocore"))
        .args(run.split_whitespace())
        .args(["--seconds", "600", "--warm-up", "0", "--repeat", "3", "--json"])
        .arg(&file)
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    // Half a second of work is enough: everything before the measurement takes much less.
    while ticks_worked(running.id()) < 50 {
        assert!(running.try_wait().unwrap().is_none(), "it has ended");
        std::thread::yield_now();
    }
    let interrupted = Command::new("kill").args([signal, &running.id().to_string()]).status();
    assert!(interrupted.unwrap().success());
    // The run must not end by itself, because that would be a success.
    assert_eq!(running.wait().unwrap().code(), Some(130));
    let records = read_json(&file).unwrap();
    assert_eq!(records.len(), 1);
    assert!(records[0].interrupted && records[0].throughput_txn_per_s > 0.0);
}

#[test]
fn what_a_killed_run_has_measured_is_taken_over() {
    let folder = Folder::fresh("killed");
    let file = folder.path().join("records.json");
    let words = ["run", "counters", "--cc", "NO_WAIT,SILO,TICTOC", "--cores", "1"];
    let words = words.into_iter().chain(["--seconds", "0.3", "--warm-up", "0", "--json"]);
    let words: Vec<_> = words.chain([file.to_str().expect("plain letters")]).collect();
    let mut running = Command::new(env!("CARGO_BIN_EXE_kilocore"))
        .args(&words)
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    while !file.exists() {
        assert!(running.try_wait().unwrap().is_none(), "it has ended");
        std::thread::yield_now();
    }
    running.kill().unwrap();
    running.wait().unwrap();
    let before = read_json(&file).unwrap();
    assert!(!before.is_empty(), "written as it was measured");
    let table = text(&kilocore(words.iter().copied().chain(["--resume"])));
    let after = read_json(&file).unwrap();
    assert_eq!(after.len(), 3, "{table}");
    assert_eq!(after[..before.len()], before, "taken over, not measured again");
    // Another seed makes another measurement.
    text(&kilocore(words.iter().copied().chain(["--resume", "--seed", "2"])));
    assert!(read_json(&file).unwrap().iter().all(|record| record.seed == 2));
}

#[test]
fn records_say_what_they_come_from() {
    let words = ["run", "counters", "--cc", "SILO", "--machine", "graphite", "--cores", "2"];
    let output = kilocore(words.into_iter().chain(["--json", "-"]));
    let records: Vec<RunRecord> = serde_json::from_str(&text(&output)).unwrap();
    let record = &records[0];
    let provenance = record.provenance.as_ref().expect("always");
    assert!(provenance.rustc.starts_with("rustc 1.") && provenance.date.starts_with("20"));
    let line = &provenance.command_line;
    assert_eq!(line, &format!("kilocore {} --json -", words.join(" ")));
    assert!(record.adapted.is_some() && record.steady == Some(true), "{record:?}");
    assert!(record.littles_law.expect("a closed loop").holds);
    assert!(record.spread.relative > 0.0, "known from batches");
    let status = Command::new("git").args(["status", "--porcelain", "--", ".."]).output();
    if let Ok(status) = status.map(|output| output.stdout) {
        assert!(status.is_empty() || !record.commit.chars().all(|c| c.is_ascii_hexdigit()));
    }
}

#[test]
fn exploration_finds_what_it_must_and_replays_it() {
    let found = kilocore(["explore", "counters", "--cc", "NO_CC", "--schedules", "100"]);
    let told = text(&found);
    let replay = told.lines().find_map(|line| line.trim().strip_prefix("replay with: kilocore "));
    let again = text(&kilocore(replay.expect("the command").split(' ')));
    let finding = |told: &str| told.lines().skip(1).map(str::to_owned).collect::<Vec<_>>();
    assert_eq!(finding(&told), finding(&again));
    // The explored machine elides latches, although no native one does.
    let words = "explore counters --cc MVCC,WAIT_DIE --cc-option latch=elided --schedules 50";
    assert!(text(&kilocore(words.split(' '))).contains("no violation"));
    let clean = text(&kilocore(["explore", "ycsb", "--cc", "SILO,TICTOC", "--schedules", "300"]));
    assert_eq!(clean.matches("no violation").count(), 2, "{clean}");
    // One schedule is too few to find this bug.
    let words = ["explore", "counters", "--mutant", "silo_without_lock_check", "--schedules", "1"];
    assert_eq!(kilocore(words).status.code(), Some(1));
}

#[test]
fn what_is_found_is_told_step_by_step_and_spelled_out() {
    let words = ["explore", "counters", "--cc", "NO_CC", "--schedules", "100", "--trace"];
    let told = text(&kilocore(words));
    let (from, steps) = (told.contains("shrunk from 3 workers, 12 procedures"), "steps on these");
    let reads = ["reads counters", "reads for update counters"].iter().any(|s| told.contains(s));
    assert!(from && reads, "{told}");
    let replays: Vec<&str> = told
        .lines()
        .filter_map(|line| line.trim().strip_prefix("replay with: kilocore "))
        .collect();
    assert!(replays.len() == 2 && replays[1].contains(" --script "), "{replays:?}");
    let again = text(&kilocore(replays[1].split(' ')));
    let from_there = |told: &str| told[told.find(steps).expect("the steps")..].to_owned();
    assert_eq!(from_there(&told), from_there(&again));
}

#[test]
fn histories_of_schedules_are_written_with_our_verdicts() {
    let folder = Folder::fresh("histories");
    let out = folder.path().to_str().expect("plain letters");
    let words = ["explore", "counters", "--cc", "NO_CC,SILO", "--schedules", "40", "--histories"];
    let told = text(&kilocore(words.into_iter().chain([out])));
    assert!(told.contains("NO_CC: ") && told.contains("SILO: "), "{told}");
    let verdicts = std::fs::read_to_string(folder.path().join("verdicts.jsonl")).unwrap();
    let passed = |name: &str, verdict: &str| {
        let verdict = format!("\"serializable\": \"{verdict}\"");
        verdicts.lines().filter(|l| l.contains(name) && l.contains(&verdict)).count()
    };
    assert!(passed("NO_CC-", "fail") > 0 && passed("SILO-", "fail") == 0, "{verdicts}");
    let text = std::fs::read_to_string(folder.path().join("SILO-1.json")).unwrap();
    let history: serde_json::Value = serde_json::from_str(&text).unwrap();
    assert_eq!(history["data"].as_array().map(Vec::len), Some(3));
}

#[test]
fn a_comparison_leaves_a_page_and_its_records() {
    let folder = Folder::fresh("comparison");
    let out = folder.path().to_str().expect("plain letters");
    let words = ["compare", "ycsb", "--quick", "--records", "2000", "--cc", "NO_WAIT,TICTOC"];
    let words = words.into_iter().chain(["--cores", "2,8", "--out", out]);
    let table = text(&kilocore(words));
    assert!(table.contains("graphite") && table.contains("NO_WAIT"), "{table}");
    let records = read_json(&folder.path().join("records.json")).unwrap();
    assert!(records.iter().all(|r| r.certificate.serializable == Verdict::Pass));
    assert_eq!(records.iter().filter(|r| r.machine == "graphite").count(), 4);
    let page = std::fs::read_to_string(folder.path().join("index.html")).unwrap();
    assert!(page.contains("TICTOC"));
}

/// Returns the entry of a list that has the name.
fn named<'j>(list: &'j serde_json::Value, name: &str) -> &'j serde_json::Value {
    let entries = list.as_array().expect("a list");
    entries.iter().find(|entry| entry["name"] == name).unwrap_or_else(|| panic!("no {name}"))
}

/// Several workers share each core as fibers, natively and simulated, and the record says so.
#[test]
fn fibers_are_certified() {
    let words = "--cc NO_WAIT,SILO,DL_DETECT --fibers 3 --certify --warm-up 0 --json -";
    let ycsb = "run ycsb --records 200 --read-ratio 0.5 --theta 0.8 --cores 2 --seconds 0.01";
    let tpcc = "run tpcc --warehouses 2 --items 100 --machine graphite --cores 4 --seconds 0.002";
    for run in [ycsb, tpcc] {
        let output = kilocore(format!("{run} {words}").split_whitespace());
        let records: serde_json::Value = serde_json::from_str(&text(&output)).unwrap();
        let records = records.as_array().unwrap();
        assert_eq!(records.len(), 3);
        for record in records {
            assert_eq!(record["architecture_options"]["fibers"], 3, "{record}");
            assert_eq!(record["certificate"]["strict"], "pass", "{record}");
            assert!(record["commits"].as_u64().unwrap() > 0, "{record}");
        }
    }
}

/// Under partitioned serial execution NO_CC is strictly serializable, natively and simulated, and the records say so.
#[test]
fn partitioned_serial_execution_is_certified() {
    let words = "--architecture partitioned_serial --certify --seconds 0.002 --warm-up 0 --json -";
    let ycsb = "run ycsb --multi-partition-share 0.5 --records 400 --read-ratio 0.5 --cores 2";
    let tpcc = "run tpcc --warehouses 3 --items 100 --machine graphite --cores 4";
    // The tables of YCSB have four partitions, and each core has an owner.
    for (run, partitions, owners) in [(ycsb, 4, 2), (tpcc, 2, 2)] {
        let all = format!("{run} --partitions {partitions} {words}");
        let output = kilocore(all.split_whitespace());
        let records: serde_json::Value = serde_json::from_str(&text(&output)).unwrap();
        let record = &records.as_array().map_or(&records, |all| &all[0]);
        assert_eq!(record["protocol"], "NO_CC", "{record}");
        assert_eq!(record["architecture"], "partitioned_serial");
        assert_eq!(record["protocol_options"]["isolation"], "serializable");
        assert_eq!(record["architecture_options"]["partitions"], owners);
        let certificate = &record["certificate"];
        assert_eq!(certificate["strict"], "pass", "{certificate}");
        assert_eq!(certificate["promised"]["strict"], true);
        assert_eq!(record["aborts"], serde_json::json!({}));
    }
}

/// Under delegation cores do work for each other, beside their own transactions or on cores that only serve.
#[test]
fn delegated_work_is_certified() {
    let words = "--architecture delegation --certify --seconds 0.002 --warm-up 0 --json -";
    let ycsb = "run ycsb --scattered --records 400 --read-ratio 0.5 --partitions 4 --cc NO_WAIT";
    let tpcc = "run tpcc --warehouses 3 --items 100 --machine graphite --cores 4 --cc SILO";
    let runs = [
        (format!("{ycsb} --cores 2 --fibers 2"), 2, None),
        (format!("{ycsb} --cores 3 --servers 1 --machine haswell-ex"), 1, Some(1)),
        (tpcc.to_owned(), 3, None),
    ];
    for (run, owners, servers) in runs {
        let output = kilocore(format!("{run} {words}").split_whitespace());
        let records: serde_json::Value = serde_json::from_str(&text(&output)).unwrap();
        let record = records.as_array().map_or(&records, |all| &all[0]);
        assert_eq!(record["architecture"], "delegation");
        let options = &record["architecture_options"];
        assert_eq!(options["partitions"], owners, "{options}");
        assert_eq!(options.get("servers").and_then(|servers| servers.as_u64()), servers);
        assert_eq!(record["certificate"]["strict"], "pass", "{record}");
    }
}

/// Under data-oriented execution transactions move between the threads of a native run too.
#[test]
fn transactions_that_move_are_certified() {
    let words = "--architecture data_oriented --certify --seconds 0.002 --warm-up 0 --json -";
    let ycsb = "run ycsb --scattered --records 400 --read-ratio 0.5 --partitions 4 --cc NO_WAIT";
    let tpcc = "run tpcc --warehouses 3 --items 100 --machine graphite --cores 4 --cc DL_DETECT";
    let split = "run smallbank --accounts 400 --partitions 4 --cc WAIT_DIE --executors 2";
    let runs = [
        (format!("{ycsb} --cores 2"), 2),
        (format!("{ycsb} --cores 3 --fibers 2 --machine haswell-ex"), 3),
        (tpcc.to_owned(), 3),
        (format!("{split} --cores 2"), 2),
        (format!("{split} --cores 4 --table-owners apart --machine graphite"), 4),
    ];
    for (run, owners) in runs {
        let output = kilocore(format!("{run} {words}").split_whitespace());
        let records: serde_json::Value = serde_json::from_str(&text(&output)).unwrap();
        let record = records.as_array().map_or(&records, |all| &all[0]);
        assert_eq!(record["architecture"], "data_oriented");
        assert_eq!(record["architecture_options"]["partitions"], owners);
        assert_eq!(record["certificate"]["strict"], "pass", "{record}");
    }
}

/// Threads that share a core are interrupted amid transactions. The slowest of these then wait for slices of the others.
#[test]
fn threads_take_turns_on_simulated_cores() {
    let run = "run ycsb --records 1k --theta 0.9 --read-ratio 0.5 --cc SILO --machine haswell-ex --cores 2";
    let slow = |sharing: &str| {
        let words = format!("{run} {sharing} --certify --seconds 0.003 --warm-up 0 --json -");
        let output = kilocore(words.split_whitespace());
        let records: serde_json::Value = serde_json::from_str(&text(&output)).unwrap();
        let record = records.as_array().map_or(&records, |all| &all[0]);
        assert_eq!(record["certificate"]["strict"], "pass", "{record}");
        record["latency_ns"]["p99"].as_f64().unwrap_or_else(|| panic!("{record}"))
    };
    let (fibers, threads) = (slow("--fibers 3"), slow("--fibers 3 --time-slice 0.0002"));
    assert!(threads > 2.0 * fibers, "{fibers} and {threads} ns");
}

#[test]
fn lists_name_everything() {
    let list = text(&kilocore(["list"]));
    for name in ["NO_CC", "TICTOC", "ycsb", "shared_everything", "graphite", "wait_die_inverted"] {
        assert!(list.contains(name), "{list}");
    }
    let json: serde_json::Value =
        serde_json::from_str(&text(&kilocore(["list", "--json"]))).unwrap();
    let protocols = json["protocols"].as_array().expect("a list");
    let silo = protocols.iter().find(|protocol| protocol["name"] == "SILO").expect("is there");
    // The record has the TID word and the state of the row.
    assert!(protocols.len() >= 6 && silo["bytes_per_record"] == 16, "{silo}");
    let serial = named(&json["architectures"], "partitioned_serial");
    let no_cc = named(&serial["protocols"], "NO_CC");
    assert!(no_cc["isolation"] == "serializable" && no_cc["strict"] == true, "{no_cc}");
    let silo = named(&serial["protocols"], "SILO");
    assert!(silo["refused"].as_str().is_some_and(|why| why.contains("supported there: NO_CC")));
    let one_line = list.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(one_line.contains("NO_CC is strictly serializable here. Not the others: "), "{list}");
    assert_eq!(named(&json["workloads"], "tpcc")["partitioned_by"], "warehouses");
    assert!(named(&json["workloads"], "ranges")["partitioned_by"].is_null());
    assert!(text(&kilocore(["machines", "list"])).contains("superdome-flex"));
    assert!(text(&kilocore(["machines", "show", "graphite"])).contains("1000 MHz"));
    let power = text(&kilocore(["machines", "show", "power9"]));
    for part in [
        "1504",
        "128 bytes",
        "socket 4",
        "kilocore machines show power9 --toml",
        "way by uplink, uplink",
        "# [M] lscpu",
    ] {
        assert!(power.contains(part), "{part}: {power}");
    }
}

#[cfg(target_os = "linux")]
#[test]
fn limited_address_space_is_enough() {
    let program = env!("CARGO_BIN_EXE_kilocore");
    let words = "run smallbank --cc SILO,DL_DETECT --cores 2 --seconds 0.02 --warm-up 0 --certify";
    for kib in [6 << 20, 2 << 20] {
        let line = format!("ulimit -v {kib} && exec {program} {words}");
        let output = Command::new("sh").args(["-c", &line]).output().unwrap();
        assert!(text(&output).contains("DL_DETECT"), "{kib} KiB");
    }
}

#[test]
fn lists_fit_into_eighty_columns() {
    let list = text(&kilocore(["list"]));
    let longest = list.lines().max_by_key(|line| line.chars().count()).expect("lines");
    assert!(longest.chars().count() <= 80, "{longest}");
}

#[test]
fn completions_and_manual_pages_know_every_command() {
    for shell in ["bash", "elvish", "fish", "powershell", "zsh"] {
        let script = text(&kilocore(["completions", shell]));
        assert!(script.contains("compare") && script.contains("tatp"), "{shell}");
    }
    let page = text(&kilocore(["manual"]));
    assert!(
        page.starts_with(".") && page.contains("kilocore") && page.contains("explore"),
        "{page}"
    );
    let folder = Folder::fresh("manual");
    let out = folder.path().join("man1");
    text(&kilocore(["manual", "--out", out.to_str().unwrap()]));
    for name in ["kilocore.1", "kilocore-run.1", "kilocore-explore-counters.1"] {
        assert!(out.join(name).is_file(), "{name}");
    }
    let file = out.join("kilocore.1");
    let refused = kilocore(["manual", "--out", file.to_str().unwrap()]);
    let message = String::from_utf8(refused.stderr).unwrap();
    assert!(!refused.status.success() && message.starts_with("error: --out "), "{message}");
}

#[test]
fn a_history_is_written_for_other_checkers() {
    let folder = Folder::fresh("history");
    for (format, part) in
        [("elle-append", "[:append "), ("elle-register", "[:w "), ("dbcop", "\"committed\":true")]
    {
        let path = folder.path().join(format);
        let words = ["run", "counters", "--cc", "SILO", "--machine", "graphite", "--cores", "4"];
        let words = words.into_iter().chain(["--seconds", "0.0002", "--warm-up", "0", "--history"]);
        let words = words.chain([path.to_str().unwrap(), "--history-format", format]);
        let table = text(&kilocore(words));
        assert!(table.contains("strict   strict"), "{table}");
        let history = std::fs::read_to_string(&path).unwrap();
        assert!(history.contains(part), "{format}: {history:.200}");
    }
}

#[test]
fn anomalies_are_told_beside_what_is_expected() {
    let words = ["explore", "--anomalies", "--cc", "SILO,SNAPSHOT,NO_CC", "--schedules", "1000"];
    let table = text(&kilocore(words));
    let row = |name: &str, level: &str| {
        let mut rows = table.lines().map(|line| line.split_whitespace().collect::<Vec<_>>());
        rows.any(|row| row.len() > 2 && row[0] == name && row[1] == level)
    };
    assert!(row("SILO", "serializable") && row("SILO", "read-committed"), "{table}");
    assert!(row("SNAPSHOT", "snapshot") && row("NO_CC", "none"), "{table}");
    assert!(table.contains("not seen in 1000 schedules") && table.contains("seen@"), "{table}");
    assert!(!table.contains("SEEN") && !table.contains("BROKEN"), "{table}");
}
