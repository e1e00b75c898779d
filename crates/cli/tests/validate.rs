//! Tests `kilocore validate`: rows are simulated and compared, and bad directories are refused on one line.

mod command;

use command::{Folder, kilocore};

const HEADER: &str = "platform,variant,scheme,warehouses,cores,smt,numa,remote_neworder_pct,remote_payment_pct,\
                      throughput_txn_per_s,abort_ratio,split";

#[test]
fn two_rows_are_simulated_and_compared() {
    let folder = Folder::fresh("validate-two-rows");
    let rows = "hpe,opt8,TICTOC,4,1,2,all,1,15,326156,0,anchor\n\
                hpe,opt8,NO_WAIT,4,2,2,all,1,15,481725,0.00003,calib\n\
                hpe,opt8,NO_WAIT,4,4,2,all,1,15,900000,0.00003,calib\n";
    std::fs::write(folder.path().join("throughput.csv"), format!("{HEADER}\n{rows}")).unwrap();
    let directory = folder.path().display().to_string();
    let output = kilocore(["validate", &directory, "--quick", "--up-to", "2", "--csv", "-"]);
    let told = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(0), "{told}");
    let csv = String::from_utf8(output.stdout).unwrap();
    assert_eq!(csv.lines().count(), 3, "{csv}");
    assert!(csv.contains("hpe,opt8,NO_WAIT,4,2,2,2,all,one socket,scored,481725,"), "{csv}");
}

/// A machine whose way from socket 0 to socket 2 is longer than the one through socket 1.
const FAR: &str = "[hpe]\nsockets = 3\ncores_per_socket = 4\nsmt = 2\n[numa.hpe]\n\
                   local = { slit = 10, latency_ns = 100, bandwidth_GBps = 50 }\n\
                   near = { slit = 20, latency_ns = 150, bandwidth_GBps = 20 }\n\
                   far = { slit = 40, latency_ns = 900, bandwidth_GBps = 10 }\n";

#[test]
fn a_platform_is_data_of_the_directory() {
    let folder = Folder::fresh("validate-platform");
    let rows = "box,opt8,TICTOC,4,1,1,all,1,15,326156,0,anchor\n\
                box-replicated,opt8,SILO,4,2,2,all,1,15,481725,0,test\n\
                cray,opt8,SILO,4,2,2,all,1,15,481725,0,test\n\
                box,opt8,NEWCC,4,2,2,all,1,15,481725,0,test\n";
    let hardware = FAR.replace("hpe", "box").replace("900", "200");
    let shares = "platform,variant,scheme,warehouses,cores,smt,numa,remote_neworder_pct,useful,abort,backoff,ts_alloc,index,\
                  wait,commit,cc_mgmt\nbox-replicated,opt8,SILO,4,2,2,all,1,0.6,0,0,0,0.2,0,0.1,0.1\n";
    std::fs::write(folder.path().join("throughput.csv"), format!("{HEADER}\n{rows}")).unwrap();
    std::fs::write(folder.path().join("hardware.toml"), hardware).unwrap();
    std::fs::write(folder.path().join("breakdown.csv"), shares).unwrap();
    let directory = folder.path().display().to_string();
    let page = folder.path().join("page.html").display().to_string();
    let output = kilocore(["validate", &directory, "--quick", "--html", &page]);
    let told = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(0), "{told}");
    let text = String::from_utf8(output.stdout).unwrap();
    for part in [
        "note: box-replicated has no table of its own: taken to be box",
        "fitted constants: 1 (",
        "on cray, which hardware.toml lacks",
        "with NEWCC, which is not here yet",
        "cc_mgmt        concurrency_control ",
    ] {
        assert!(text.contains(part), "{part}: {text}");
    }
    assert!(std::fs::read_to_string(&page).unwrap().contains("<h2>Shares of time</h2>"));
}

#[test]
fn bad_directories_are_refused() {
    let refused = |words: &[&str], part: &str| {
        let output = kilocore(words);
        let told = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(2), "{told}");
        assert_eq!(told.lines().count(), 1, "{told}");
        assert!(told.starts_with("error: ") && told.contains(part), "{told}");
        assert!(output.stdout.is_empty());
    };
    refused(&["validate", "no-such-directory"], "no-such-directory/throughput.csv");
    let folder = Folder::fresh("validate-bad");
    let directory = folder.path().display().to_string();
    let file = folder.path().join("throughput.csv");
    std::fs::write(&file, "platform,cores\nhpe,1\n").unwrap();
    refused(&["validate", &directory], "no column variant, scheme");
    std::fs::write(&file, format!("{HEADER}\n")).unwrap();
    refused(&["validate", &directory], "no rows below line 1");
    let row = "cray,opt8,SILO,4,1,2,all,1,15,326156,0,calib";
    std::fs::write(&file, format!("{HEADER}\n{row}\n")).unwrap();
    refused(
        &["validate", &directory],
        "on cray, which hardware.toml lacks (known are hpe, power8, power9)",
    );
    let measured = "hpe,opt8,SILO,4,1,2,all,1,15,326156,0,calib";
    std::fs::write(&file, format!("{HEADER}\n{measured}\n")).unwrap();
    for (name, text, part) in [
        ("hardware.toml", "[hpe]\nsockets = 2\n", "hardware.toml: hpe.cores_per_socket: missing"),
        ("hardware.toml", "[hpe", "hardware.toml: line 1: "),
        (
            "hardware.toml",
            FAR,
            "hpe as a machine file: sockets.within_chassis: socket 0 to 2 900 ns (far)",
        ),
        (
            "breakdown.csv",
            "platform,variant\nhpe,opt8\n",
            "breakdown.csv, line 1: no column scheme,",
        ),
    ] {
        let file = folder.path().join(name);
        let distances = folder.path().join("numa_slit.csv");
        std::fs::write(&file, text).unwrap();
        std::fs::write(&distances, "hpe,0,10,20,40\nhpe,1,20,10,20\nhpe,2,40,20,10\n").unwrap();
        refused(&["validate", &directory], part);
        std::fs::remove_file(&file).unwrap();
    }
    refused(&["validate", "--json", "no-such-directory/x.json"], "no-such-directory/x.json");
    refused(&["validate", "--quick", "--only", "no such row"], "not asked for");
    refused(&["validate", "--up-to", "0"], "with more than 0 cores");
    let json = folder.path().join("outcome.json").display().to_string();
    std::fs::write(&json, "[]").unwrap();
    refused(&["validate", "--json", &json], "--resume to continue it");
    refused(&["validate", "--json", &json, "--resume"], "is no outcome of this program");
}
