//! Tests requests that can't be satisfied: one line names the input and the allowed values, the exit code is 2, and
//! no file is partly written.

mod command;

use command::{Folder, kilocore};

/// Runs `kilocore` with `words` and expects a refusal whose only line holds all of `parts`.
fn refused(words: &str, parts: &[&str]) {
    let output = kilocore(words.split_whitespace());
    let told = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(2), "{words}: {told}");
    assert_eq!(told.lines().count(), 1, "{words}: {told}");
    assert!(told.starts_with("error: "), "{words}: {told}");
    for part in parts {
        assert!(told.contains(part), "{words}: {told:?} lacks {part:?}");
    }
    assert!(output.stdout.is_empty(), "{words}");
}

#[test]
fn numbers_of_cores() {
    refused("run ycsb --cores 0", &["'0'", "--cores", "from 1"]);
    refused("run ycsb --cores -1", &["'-1'", "--cores", "from 1"]);
    refused("run ycsb --cores 1,100000", &["--cores is 100000", "allowed: 1 to "]);
    refused("run ycsb --machine graphite --cores 1025", &["1025", "1 to 1024", "graphite"]);
    refused("explore ycsb --back-off aside", &["--back-off"]);
    refused("validate --here crates", &["--here", "[DIR]"]);
    refused("validate --machine graphite", &["--here"]);
    refused("validate --here --machine generic --only nothing", &["--only", "allowed: parts of"]);
    refused("compare ycsb --back-off wat", &["'wat'", "--back-off", "wait"]);
    refused("compare ycsb --machine graphite --cores 2000", &["2000", "1 to 1024"]);
}

#[test]
fn architectures_and_partitions() {
    refused("run ycsb --architecture serial", &["'serial'", "partitioned_serial"]);
    refused("run ycsb --arch partitioned_serial --partitions 0", &["--partitions is 0;", "1 to"]);
    let words = "run tpcc --arch partitioned_serial --partitions 0";
    refused(words, &["'0'", "--partitions", "from 1"]);
    let words = "run tpcc --arch partitioned_serial --warehouses 2 --partitions 3 --cores 1";
    refused(words, &["--partitions is 3;", "1 to 1, the number of cores"]);
    refused(&words.replace("--cores 1", "--cores 4 --machine graphite"), &["is 3;", "1 to 2"]);
    refused("run ycsb --fibers 0", &["'0'", "--fibers", "1 to 256"]);
    let words = "run ycsb --machine graphite --cores 1024 --fibers 4";
    refused(words, &["--fibers is 4;", "1024 simulated cores", "1 to 3", "4095 in all"]);
    let words = "run tpcc --partitions 2";
    refused(words, &["--partitions 2", "shared_everything does not", "partitioned_serial"]);
    let cannot = &["ranges cannot be partitioned", "tpcc (--warehouses)", "ycsb (--partitions)"];
    refused("run ranges --arch partitioned_serial", cannot);
    refused("explore ranges --arch partitioned_serial", cannot);
    let pair = &["SILO cannot run under partitioned_serial", "supported there: NO_CC"];
    refused("run ycsb --arch partitioned_serial --cc NO_CC,SILO", pair);
    refused("explore ycsb --arch partitioned_serial --cc SILO", pair);
    let pair = &["MVCC cannot run under delegation", "supported there: ", "NO_WAIT", "SILO"];
    refused("run ycsb --arch delegation --cc NO_WAIT,MVCC --cores 1", pair);
    let words = "run ycsb --arch delegation --cc NO_WAIT --cc-option lock-form=list --cores 1";
    refused(words, &["NO_WAIT with these options cannot run under delegation"]);
    let words = "run ycsb --arch delegation --cc NO_WAIT --cores 2 --servers";
    refused(&format!("{words} 0"), &["'0'", "--servers", "from 1"]);
    refused(&format!("{words} 2"), &["--servers is 2;", "allowed on 2 cores: 1 to 1"]);
    let pair = &["SILO cannot run under data_oriented", "supported there: DL_DETECT, NO_WAIT"];
    refused("run ycsb --arch data_oriented --cc NO_WAIT,SILO --cores 1", pair);
    let words = "run ycsb --arch data_oriented --cc NO_WAIT --cores 2 --servers 1";
    refused(words, &["data_oriented has no servers", "delegation"]);
    let words =
        "run tpcc --arch data_oriented --cc NO_WAIT --warehouses 4 --partitions 3 --cores 2";
    refused(words, &["--partitions is 3; allowed: 1 to 2, the number of cores"]);
    let words =
        "run ycsb --arch data_oriented --cc NO_WAIT --cores 2 --fibers 2 --time-slice 0.001";
    refused(words, &["data_oriented lets a core do one job at a time", "allowed: fibers"]);
    refused("run ycsb --time-slice 0", &["'0'", "--time-slice", "more than 0"]);
    refused("run ycsb --servers 1", &["--servers 1", "shared_everything has no", "delegation"]);
    refused("run ycsb --executors 1", &["--executors 1", "shared_everything", "data_oriented"]);
    let words = "explore tpcc --arch delegation --table-owners apart";
    refused(words, &["--table-owners apart", "delegation", "data_oriented"]);
    let words = "run tpcc --arch data_oriented --cores 2 --warehouses 2";
    refused(&format!("{words} --executors 0"), &["'0'", "--executors", "1 to 64"]);
    let many = "run smallbank --arch data_oriented --partitions 4 --machine graphite --cores 1024 --cc NO_WAIT";
    refused(&format!("{many} --executors 3"), &["--executors is 3;", "0 to 2, 4095 fibers in all"]);
    refused(&format!("{many} --executors 1 --fibers 2"), &["--fibers is 2;", "1 to 1,"]);
    refused(&format!("{words} --table-owners near"), &["'near'", "together, apart, threads"]);
    refused(
        &format!("{words} --table-owners threads"),
        &["only a simulated core", "together, apart"],
    );
    refused(
        &format!("{words} --cc dl_detect --executors 2"),
        &["DL_DETECT", "NO_WAIT, WAIT_DIE, 2V_NO_WAIT"],
    );
    refused("explore ycsb --servers 1", &["--servers 1", "shared_everything has no servers"]);
    let words = "run tpcc --arch delegation --warehouses 4 --partitions 3 --servers 2 --cores 4 --machine graphite";
    refused(words, &["--partitions is 3;", "1 to 2, the number of servers"]);
    refused("run ycsb --arch several_sites --cc SILO,MVCC", &["several_sites: MVCC cannot"]);
}

#[test]
fn options_of_the_engine_and_the_end_of_a_run() {
    let words = "run ycsb --engine-option copies=rows";
    refused(
        words,
        &["--engine-option copies is rows;", "columns, before-images, updates, records"],
    );
    let words = "explore counters --engine-option read-only-tables=on";
    refused(words, &["read-only-tables is on;", "controlled, bypass"]);
    refused("compare ycsb --engine-option copis=rows", &["'copis'", "did you mean 'copies'?"]);
    refused("run ycsb --engine-option copies", &["'copies'", "NAME=VALUE"]);
    refused("run ycsb --machine graphite --pages small", &["--pages small", "graphite", "huge"]);
    refused("run ycsb --commits 5 --seconds 1", &["--commits", "--seconds"]);
    refused("run ycsb --commits 0", &["'0'", "--commits", "from 1"]);
    refused("run tpcc --index btree", &["--index is btree;", "hash, perfect"]);
    refused("run tpcc-accesses --bypass", &["'--bypass'"]);
    let words = "run ycsb --cc SILO --cc-option commit-locks=bounded:0";
    refused(words, &["commit-locks is bounded:0;", "bounded:N or retry:N with N from 1 to 100000"]);
    refused(
        "run ycsb --cc WAIT_DIE --cc-option latch=ticket",
        &["latch is ticket;", "mutex, spin"],
    );
    let elided = &["latch=elided", "native machine no longer elide latches", "mutex"];
    refused("run ycsb --cc WAIT_DIE --cc-option latch=elided", elided);
    let own = &["state-line=own", "native machine the state lies beside the key", "front"];
    refused("run ycsb --engine-option state-line=own", own);
    refused("run tpcc-accesses --row-head-bytes 5000", &["row-head-bytes is 5000", "0 to 4096"]);
    refused("run ycsb --engine-option index-pointers=far", &["private, shared, per-socket"]);
    refused(
        "run ycsb --cc SILO --cc-option latch=spin",
        &["latch is only for DL_DETECT, NO_WAIT, WAIT_DIE"],
    );
}

#[test]
fn options_of_workloads() {
    refused("run ycsb --theta 1", &["--theta is 1;", "at least 0 and less than 1"]);
    refused("run ycsb --theta -0.1", &["--theta is -0.1;", "at least 0 and less than 1"]);
    refused("run ycsb --theta NaN", &["--theta is NaN"]);
    refused("run ycsb --read-ratio 1.1", &["--read-ratio is 1.1;", "0 to 1"]);
    refused("run ycsb --records 0", &["--records is 0;", "1 to "]);
    refused("run ycsb --records many", &["'many'", "--records", "whole numbers"]);
    refused("run ycsb --preset g", &["'g'", "--preset", "a, b, c, d, e, f"]);
    refused(
        "run ycsb --preset e --key-order",
        &["--key-order is on;", "neither scans nor inserts"],
    );
    refused("run ycsb --scan-ratio 0.6 --insert-ratio 0.6", &["is 1.2", "0 to 1 together"]);
    refused("explore counters --growing", &["--growing", "allowed: ycsb"]);
    refused("run counters --counters 7 --transfers 0.5", &["--counters is 7;", "even"]);
    refused("run ranges --span 9 --keys 8", &["--span is 9;", "1 to keys (8)"]);
    refused("explore ranges --key-order", &["--key-order", "ycsb, counters"]);
    refused("explore tatp --rollbacks", &["--rollbacks", "tatp", "allowed: counters"]);
    refused("explore ycsb --growing --key-order", &["--growing", "not with", "--key-order"]);
    refused("run tpcc --schema smal", &["'smal'", "did you mean 'small'?", "full, small"]);
    refused("run smallbank --accounts 1", &["--accounts is 1;", "2 to "]);
    refused("run smallbank --hot-share 2", &["--hot-share is 2;", "0 to 1"]);
    let words = "run smallbank --hot-share 0.5 --accounts 9 --hot-accounts 8";
    refused(words, &["--hot-accounts is 8;", "2 to accounts (9)"]);
    refused("run smallbank --balance 0.5", &["write-check is 1.1;", "0 to 1 together"]);
    refused(
        "run smallbank --least-balance 9M",
        &["--least-balance is 9000000;", "0 to most-balance (5000000)"],
    );
    refused("run tpcb --branches 0", &["--branches is 0;", "1 to "]);
    refused("run tpcb --accounts 0", &["--accounts is 0;", "1 to "]);
    refused("run tpcb --remote 1.5", &["--remote is 1.5;", "0 to 1"]);
    refused("run tpcb --history-rows 0", &["--history-rows is 0;", "1 to "]);
    refused("run tatp --subscribers 0", &["--subscribers is 0;", "1 to "]);
    refused("run tatp --update-location 0.9", &["the shares' sum is ", "0 to 1 together"]);
    refused("run tatp --preset tm1", &["'tm1'", "--preset", "atrapos"]);
    refused("run hot-cold --remote 1", &["--remote is 1;", "partitions of 2"]);
    refused("run hot-cold --hot-accesses 11", &["--hot-accesses is 11;", "0 to accesses (10)"]);
    refused("run sites --row-bytes 7", &["--row-bytes is 7;", "8 to "]);
    refused("run key-value --records 9 --accesses 10", &["--accesses is 10;", "records (9)"]);
    refused("run long-reader --long-share 0.5", &["--long-share is 0.5;", "long-readers is 0"]);
    refused("run tpcc --warehouses 0", &["--warehouses is 0;", "1 to "]);
    refused("run tpcc --mix half", &["'half'", "--mix", "narrow", "45:43:4:4:4"]);
    refused("run tpcc --mix 0:0:0:0:0", &["--mix is 0:0:0:0:0;", "not all of them 0"]);
    refused("run tpcc --schema tiny", &["'tiny'", "--schema", "small"]);
    refused("run tpcc --remote-payment 2", &["--remote-payment is 2;", "0 to 1"]);
    refused("run tpcc --customers-per-district 5000", &["is 5000;", "1 to 4096"]);
    refused(
        "run tpcc --least-lines 9 --most-lines 8",
        &["--least-lines is 9;", "1 to most-lines (8)"],
    );
    refused("run tpcc --local-only --remote-payment 0.1", &["--local-only", "--remote-payment"]);
    refused("run tpcc --preset abys-4", &["abys-4", "did you mean 'abyss-4'?", "atrapos"]);
    refused("run ycsb --seconds 0", &["'0'", "--seconds", "more than 0"]);
    refused("run ycsb --repeat 0", &["'0'", "--repeat", "from 1"]);
}

#[test]
fn options_that_contradict_each_other() {
    let scanned = ["--index is hash;", "btree, rbtree with scan-ratio of 1"];
    refused("run ycsb --index hash --scan-ratio 1", &scanned);
    refused("compare ycsb --index hash --scan-ratio 1", &scanned);
    refused("run ycsb --preset e --index hash", &["--index is hash;", "scan-ratio of 0.95"]);
    refused("run ycsb --preset e --index perfect", &["--index is perfect;", "scan-ratio of 0.95"]);
    let words = "run ycsb --insert-ratio 0.1 --index perfect";
    refused(words, &["--index is perfect;", "hash, btree, rbtree with insert-ratio of 0.1"]);
    refused("run ranges --index perfect", &["--index is perfect;", "btree, rbtree"]);
    let words = "run counters --index btree --split-columns";
    refused(words, &["--split-columns is on;", "index hash or perfect"]);
    let words = "run ycsb --machine graphite --cores 4,2 --reader-workers 3";
    refused(words, &["--reader-workers is 3;", "0 to 2", "--cores"]);
    let words = "compare ycsb --cores 64 --reader-workers 2";
    refused(words, &["--reader-workers is 2;", "0 to 1", "--cores"]);
    let words = "run long-reader --machine graphite --cores 2 --long-readers 3";
    refused(words, &["--long-readers is 3;", "0 to 2", "--cores"]);
    let words = "run ycsb --reader-workers 1 --read-only-share 0.5";
    refused(words, &["--read-only-share is 0.5;", "reader-workers of 0"]);
    let words = "run ycsb --multi-partition-share 0.5";
    refused(words, &["--multi-partition-share is 0.5;", "partitions of 2 and more"]);
    let words =
        "run ycsb --multi-partition-share 0.5 --partitions 4 --partitions-per-transaction 5";
    refused(words, &["--partitions-per-transaction is 5;", "1 to partitions (4)"]);
    refused("run ycsb --partitions 9 --records 8", &["--partitions is 9;", "1 to records (8)"]);
    refused("run sites --accesses 9 --site-rows 8", &["--accesses is 9;", "1 to site-rows (8)"]);
    let last = u64::MAX;
    let words = format!("run ycsb --cores 1 --repeat 2 --seed {last}");
    refused(&words, &["--seed is 18446744073709551615;", "--repeat 2"]);
    let words = format!("explore counters --schedules 2 --seed {last}");
    refused(&words, &["--seed is 18446744073709551615;", "--schedules 2"]);
    let words = format!("explore --anomalies --schedules 2 --seed {last}");
    refused(&words, &["--seed is 18446744073709551615;", "--schedules 2"]);
    let words = "explore counters --cc SILO --schedules 9 --script 0/0:";
    refused(words, &["--script", "--schedules"]);
    refused("run ycsb --resume", &["--json"]);
    refused("run ycsb --json x --resume --force", &["--resume", "--force"]);
    refused("compare ycsb --resume --force", &["--resume", "--force"]);
    refused("machines show native --toml", &["--toml", "native", "machines probe"]);
    refused("validate --seed many", &["--seed", "'many'", "whole numbers"]);
}

#[test]
fn open_loops() {
    refused("run ycsb --rate 1k", &["--arrivals"]);
    refused("run ycsb --arrivals poisson", &["--rate"]);
    refused("run ycsb --arrivals poisson --rate 0", &["'0'", "--rate", "0.001 to 1e12"]);
    refused("run ycsb --back-off sleep", &["'sleep'", "--back-off", "aside:MOST:BOUND"]);
    refused("run ycsb --back-off aside:0:1us", &["'aside:0:1us'", "MOST from 1 to 1000"]);
    let both = "run ycsb --back-off aside --arrivals poisson --rate 1k";
    refused(both, &["--back-off aside", "--arrivals", "wait"]);
    refused("run ycsb --arrivals bursty --rate 1k", &["'bursty'", "poisson, fixed"]);
}

#[test]
fn levels_of_isolation() {
    let words = "run ycsb --cc silo --isolation snapshot";
    refused(words, &["SILO cannot give isolation snapshot", "serializable, read-committed"]);
    refused("explore ycsb --cc NO_CC,SILO --isolation read-committed", &["NO_CC", "gives: none"]);
    refused("compare ycsb --isolation strict", &["--isolation", "\"strict\"", "read-committed"]);
    refused("run ycsb --mutant x", &["--mutant"]);
    let words = "explore counters --mutant wait_die_inverted --isolation snapshot";
    refused(words, &["WAIT_DIE cannot give isolation snapshot"]);
}

#[test]
fn histories() {
    let words = "run ycsb --cc SILO,OCC --cores 1 --history here";
    refused(words, &["--history: 2 runs", "one protocol"]);
    let words = "run ycsb --cc SILO --cores 1 --history here --history-format xml";
    refused(words, &["--history-format", "\"xml\"", "elle-append, elle-register, dbcop"]);
    refused("run ycsb --history-format dbcop", &["--history"]);
    let words = "run ycsb --cc SILO --cores 1 --history /nowhere/at/all";
    refused(words, &["/nowhere/at/all"]);
}

#[test]
fn anomalies() {
    refused("explore --anomalies --cc SILO --isolation snapshot", &["SILO cannot give"]);
    refused("explore --anomalies --only G3", &["anomaly", "'G3'", "G2-item"]);
    let script = |text: &str| format!("explore counters --cc SILO --script {text}");
    refused(&script("0"), &["'0'", "--script", "0.2/1/_:0@41-1"]);
    refused(&script("0/0/0:1@x-1"), &["'1@x-1'", "0@41=1"]);
    refused(&script("0/0:"), &["is of 2 workers", "(3)"]);
    refused(&script("0/9/0:"), &["10 procedures", "below --procedures (4)"]);
    let format = "explore counters --cc SILO --histories nowhere --history-format edn";
    refused(format, &["--history-format", "elle-append, elle-register, dbcop"]);
    refused("explore --cc SILO", &["--anomalies"]);
}

#[test]
fn options_of_protocols() {
    refused("run ycsb --cc-option waits-for", &["--cc-option", "'waits-for'", "NAME=VALUE"]);
    refused("run ycsb --cc-option waits-for=both", &["waits-for is both;", "per-core, central"]);
    let words = "compare ycsb --cc-option lock-timeout=1m";
    refused(words, &["--cc-option lock-timeout is 1m;", "off, or 0ns to 1000s"]);
    let words = "explore counters --cc-option deadlock-search=1ns";
    refused(words, &["deadlock-search is 1ns;", "100ns to 1000s"]);
    let words = "run ycsb --cc SILO,NO_WAIT --cc-option waits-for=central";
    refused(words, &["waits-for is only for DL_DETECT", "--cc"]);
}

#[test]
fn tables_beyond_memory_are_refused_before_they_are_made() {
    refused("run tpcc --preset low-conflict", &["\"customer\"", "needs", "are available"]);
    // TPC-C's logic needs its values, so a simulation keeps them too.
    let words = "run tpcc --preset low-conflict --machine superdome-flex --cores 1";
    refused(words, &["\"customer\"", "needs", "are available"]);
    let words = "run ycsb --cc NO_WAIT --records 10G --field-bytes 100";
    refused(words, &["10000000000 rows", "needs", "GB", "are available"]);
}

#[test]
fn unknown_names_get_a_suggestion_and_the_list() {
    refused("run ycsb --cc SLIO", &["'SLIO'", "did you mean 'SILO'?", "NO_WAIT"]);
    refused("run ycbs", &["'ycbs'", "did you mean 'ycsb'?", "counters"]);
    refused("rum ycsb", &["'rum'", "did you mean 'run'?", "explore"]);
    refused("run ycsb --machine graphit", &["'graphit'", "did you mean 'graphite'?", "native"]);
    refused("machines show grafite", &["'grafite'", "did you mean 'graphite'?"]);
    refused("explore counters --cc wait", &["'wait'", "WAIT_DIE"]);
    refused(
        "explore counters --mutant silo",
        &["'silo'", "did you mean 'silo_early_epoch'?", "kilocore list"],
    );
    refused("run ycsb --read-ratoi 1", &["--read-ratoi", "'--read-ratio'"]);
    refused("run ycsb --timestamps bach16", &["bach16", "batchN"]);
    refused(
        "run ycsb --cc-option wait-for=central",
        &["'wait-for'", "did you mean 'waits-for'?", "deadlocks"],
    );
    refused("run ycsb --timestamps hardware", &["hardware", "native", "atomic"]);
}

#[test]
fn files_that_cannot_be_written_are_noticed_before_the_run() {
    refused("run ycsb --json /nowhere/at/all.json", &["/nowhere/at/all.json", "written"]);
    refused("run ycsb --csv /", &["/:", "written"]);
    refused("run ycsb --json x --csv x", &["--json and --csv are both x"]);
    refused("run ycsb --json x --csv ./x", &["--json and --csv are both ./x"]);
    let words = "run ycsb --cc SILO --cores 1 --csv x --history x";
    refused(words, &["--csv and --history are both x"]);
    refused("validate --json x --csv x", &["--json and --csv are both x"]);
    refused("compare ycsb --out /dev/null/report", &["/dev/null/report"]);
}

#[test]
fn a_refused_run_leaves_existing_files_and_makes_no_others() {
    let folder = Folder::fresh("refused");
    let file = folder.path().join("records.json");
    std::fs::write(&file, "before").unwrap();
    for words in ["run ycsb --theta 2", "run ycsb --records 10G --cc SILO"] {
        let output = kilocore(words.split(' ').chain([
            "--force",
            "--json",
            file.to_str().expect("plain letters"),
        ]));
        assert_eq!(output.status.code(), Some(2));
    }
    assert_eq!(std::fs::read_to_string(&file).unwrap(), "before");
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1);
}

#[test]
fn machine_files_are_blamed_by_file_line_and_key() {
    let folder = Folder::fresh("machines");
    let good = String::from_utf8(kilocore(["machines", "show", "graphite", "--toml"]).stdout);
    let good = good.unwrap();
    let missing = good.replace("clock_mhz = 1000", "");
    let negative = good.replace("clock_mhz = 1000", "clock_mhz = -1000");
    for (name, text, part) in
        [("missing.toml", missing, "missing.toml:"), ("negative.toml", negative, "negative.toml:")]
    {
        let file = folder.path().join(name);
        std::fs::write(&file, text).unwrap();
        let words = format!("run ycsb --machine {}", file.display());
        refused(&words, &[part, "clock_mhz"]);
    }
    refused("run ycsb --machine ./absent.toml", &["./absent.toml"]);
}
