//! Tests `kilocore validate`: rows are simulated and compared, and bad directories are refused on one line.

mod command;

use command::{Folder, kilocore};

const HEADER: &str = "platform,variant,scheme,warehouses,cores,smt,numa,remote_neworder_pct,remote_payment_pct,\
                      throughput_txn_per_s,abort_ratio,split";

#[test]
fn two_rows_are_simulated_and_compared() {
    let folder = Folder::fresh("validate-two-rows");
    let rows = "hpe,opt8,TICTOC,4,1,2,all,1,15,326156,0,anchor\n\
                hpe,opt8,NO_WAIT,4,2,2,all,1,15,481725,0.00003,calib\n";
    std::fs::write(folder.path().join("throughput.csv"), format!("{HEADER}\n{rows}")).unwrap();
    let directory = folder.path().display().to_string();
    let output = kilocore(["validate", &directory, "--quick", "--csv", "-"]);
    let told = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(0), "{told}");
    let csv = String::from_utf8(output.stdout).unwrap();
    assert_eq!(csv.lines().count(), 3, "{csv}");
    assert!(csv.contains("hpe,opt8,NO_WAIT,4,2,2,2,all,one socket,scored,481725,"), "{csv}");
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
    refused(&["validate", "--json", "no-such-directory/x.json"], "no-such-directory/x.json");
    refused(&["validate", "--quick", "--only", "no such row"], "not asked for");
    let json = folder.path().join("outcome.json").display().to_string();
    std::fs::write(&json, "[]").unwrap();
    refused(&["validate", "--json", &json], "--resume to continue it");
    refused(&["validate", "--json", &json, "--resume"], "is no outcome of this program");
}
