//! Tests what happens to files that exist: a file that the command line names is overwritten with `--force` alone.

mod command;

use command::{Folder, kilocore};
use harness::run_record::read_json;
use std::fs;
use std::path::Path;

const BEFORE: &str = "before";

/// Runs `kilocore` and expects a refusal that names `option`, `--force` and the file. The file must be as it was.
fn kept(words: &[&str], option: &str, file: &Path) {
    fs::write(file, BEFORE).unwrap();
    let output = kilocore(words);
    let told = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(2), "{words:?}: {told}");
    assert_eq!(told.lines().count(), 1, "{told}");
    assert!(told.starts_with(&format!("error: {option} ")), "{told}");
    assert!(told.contains("--force to overwrite") && told.contains("another name"), "{told}");
    assert_eq!(fs::read_to_string(file).unwrap(), BEFORE, "{words:?}");
}

fn good(words: &[&str]) {
    let output = kilocore(words);
    let told = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(0), "{words:?}: {told}");
}

#[test]
fn run_overwrites_records_and_histories_with_force_alone() {
    let folder = Folder::fresh("existing-run");
    let file = folder.path().join("file");
    let name = file.to_str().expect("plain letters");
    let run = ["run", "counters", "--cc", "SILO", "--machine", "graphite", "--cores", "2"];
    let run = [&run[..], &["--seconds", "0.0002", "--warm-up", "0"]].concat();
    for option in ["--json", "--csv", "--history"] {
        let words = [&run[..], &[option, name]].concat();
        kept(&words, option, &file);
        good(&[&words[..], &["--force"]].concat());
        assert_ne!(fs::read_to_string(&file).unwrap(), BEFORE, "{option}");
    }
    // A device keeps nothing that could be lost.
    #[cfg(unix)]
    good(&[&run[..], &["--json", "/dev/null"]].concat());
}

#[test]
fn run_continues_files_with_resume() {
    let folder = Folder::fresh("existing-resume");
    let [json, csv] = ["runs.json", "runs.csv"].map(|name| folder.path().join(name));
    let files = ["--json", json.to_str().unwrap(), "--csv", csv.to_str().unwrap()];
    let run = |cores: &'static str| {
        let run = ["run", "counters", "--cc", "SILO", "--machine", "graphite", "--cores", cores];
        [&run[..], &["--seconds", "0.0002", "--warm-up", "0"], &files].concat()
    };
    good(&run("1"));
    let first = read_json(&json).unwrap();
    let told = String::from_utf8(kilocore(run("1,2")).stderr).unwrap();
    assert!(told.contains("--resume to continue"), "{told}");
    good(&[&run("1,2")[..], &["--resume"]].concat());
    let both = read_json(&json).unwrap();
    assert_eq!((both.len(), &both[..1]), (2, &first[..]));
    assert_eq!(fs::read_to_string(&csv).unwrap().lines().count(), 3);
}

#[test]
fn validate_and_probe_overwrite_with_force_alone() {
    let folder = Folder::fresh("existing-validate");
    let file = folder.path().join("file");
    let name = file.to_str().expect("plain letters");
    kept(&["validate", "--json", name], "--json", &file);
    kept(&["validate", "--csv", name], "--csv", &file);
    kept(&["machines", "probe", "--out", name], "--out", &file);
}

#[test]
fn compare_replaces_its_own_report_in_the_default_folder_alone() {
    let folder = Folder::fresh("existing-compare");
    let out = folder.path().join("report");
    let out = out.to_str().expect("plain letters");
    let words = ["compare", "counters", "--quick", "--cc", "SILO", "--cores", "2"];
    let there = [&words[..], &["--out", out]].concat();
    good(&there);
    let page = Path::new(out).join("index.html");
    kept(&there, "--out", &page);
    good(&[&there[..], &["--resume"]].concat());
    assert_ne!(fs::read_to_string(&page).unwrap(), BEFORE);
    kept(&there, "--out", &page);
    good(&[&there[..], &["--force"]].concat());
    assert_ne!(fs::read_to_string(&page).unwrap(), BEFORE);
    // The default folder is in the working directory.
    let by_default = || {
        let mut command = std::process::Command::new(env!("CARGO_BIN_EXE_kilocore"));
        command.args(words).current_dir(folder.path()).output().unwrap()
    };
    let page = folder.path().join("kilocore-report").join("index.html");
    fs::create_dir_all(page.parent().unwrap()).unwrap();
    fs::write(&page, "a page of somebody").unwrap();
    let told = String::from_utf8(by_default().stderr).unwrap();
    assert!(told.contains("--out kilocore-report") && told.contains("no report"), "{told}");
    assert_eq!(fs::read_to_string(&page).unwrap(), "a page of somebody");
    fs::remove_file(&page).unwrap();
    for _ in 0..2 {
        assert_eq!(by_default().status.code(), Some(0));
    }
}

#[test]
fn folders_of_histories_and_of_pages_are_overwritten_with_force_alone() {
    let folder = Folder::fresh("existing-folders");
    let out = folder.path().to_str().expect("plain letters");
    let explore = ["explore", "counters", "--cc", "SILO", "--schedules", "2", "--histories", out];
    kept(&explore, "--histories", &folder.path().join("verdicts.jsonl"));
    good(&[&explore[..], &["--force"]].concat());
    assert_ne!(fs::read_to_string(folder.path().join("verdicts.jsonl")).unwrap(), BEFORE);
    // Other files in the directory are no pages.
    good(&["manual", "--out", out]);
    let page = folder.path().join("kilocore-run.1");
    kept(&["manual", "--out", out], "--out", &page);
    good(&["manual", "--out", out, "--force"]);
    assert_ne!(fs::read_to_string(&page).unwrap(), BEFORE);
}
