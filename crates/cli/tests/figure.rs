//! Tests `kilocore figure`: a figure is regenerated, continued and listed, and bad requests are refused on one line.

mod command;

use command::{Folder, kilocore};
use harness::run_record::{RunRecord, read_json};
use std::fs;
use std::path::Path;

fn good(words: &[&str]) -> String {
    let output = kilocore(words);
    let told = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(0), "{words:?}: {told}");
    String::from_utf8(output.stdout).unwrap()
}

/// Runs `kilocore` and expects a refusal whose only line holds all of `parts`.
fn refused(words: &[&str], parts: &[&str]) {
    let output = kilocore(words);
    let told = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(2), "{words:?}: {told}");
    assert_eq!(told.lines().count(), 1, "{words:?}: {told}");
    assert!(told.starts_with("error: "), "{words:?}: {told}");
    for part in parts {
        assert!(told.contains(part), "{words:?}: {told:?} lacks {part:?}");
    }
    assert!(output.stdout.is_empty(), "{words:?}");
}

#[test]
fn a_figure_is_regenerated_continued_and_indexed() {
    let folder = Folder::fresh("figure");
    let out = folder.path().to_str().expect("plain letters");
    let words = ["figure", "abyss", "6", "--quick", "--busy", "0.002", "--out", out];
    let text = good(&words);
    assert!(text.lines().all(|line| line.starts_with(out) || line.chars().count() <= 80), "{text}");
    assert!(text.contains("figure 6: ") && text.contains("36 of 36 runs"), "{text}");
    let of = |name: &str| folder.path().join("abyss-06").join(name);
    let records = read_json(&of("records.json")).unwrap();
    assert_eq!(records.len(), 36);
    let allocators: Vec<String> =
        records.iter().map(|r| r.protocol_options["timestamp_allocation"].to_string()).collect();
    assert_eq!(allocators.iter().filter(|name| *name == "batch8").count(), 6);
    assert!(fs::read(of("figure.png")).unwrap().starts_with(b"\x89PNG"));
    assert!(fs::read_to_string(of("figure.svg")).unwrap().contains("batch16"));
    let verdicts: serde_json::Value =
        serde_json::from_str(&fs::read_to_string(of("verdict.json")).unwrap()).unwrap();
    assert_eq!(verdicts["statements"].as_array().map(Vec::len), Some(3));
    // A figure that exists is refused, and continued on request: the second command simulates one run alone.
    refused(&words, &["--out", "the folder has a figure", "--force", "--resume"]);
    fs::write(of("records.json"), harness::run_record::to_json(&records[1..])).unwrap();
    good(&[&words[..], &["--resume"]].concat());
    let again = read_json(&of("records.json")).unwrap();
    assert_eq!(again[1..], records[1..]);
    assert_eq!(again[0].throughput_txn_per_s, records[0].throughput_txn_per_s);
    // The overview is over all figures of the folder.
    let told = good(&["report", out]);
    assert!(told.starts_with("1 figures: "), "{told}");
    let page = fs::read_to_string(folder.path().join("index.html")).unwrap();
    assert!(page.contains("abyss-06/figure.svg"), "{page}");
    good(&["report", out]);
    // A directory that has them as `figures` is as good.
    let above = Folder::fresh("figure-above");
    fs::rename(folder.path(), above.path().join("figures")).unwrap();
    let told = good(&["report", above.path().to_str().expect("plain letters")]);
    assert!(told.starts_with("1 figures: ") && told.contains("figures"), "{told}");
    fs::rename(above.path().join("figures"), folder.path()).unwrap();
    fs::write(folder.path().join("README.md"), "somebody's").unwrap();
    refused(&["report", out], &["DIR", "README.md", "--force"]);
}

#[test]
fn measured_values_stand_beside_or_alone() {
    let folder = Folder::fresh("figure-measured");
    let out = folder.path().to_str().expect("plain letters");
    let text = good(&["figure", "full-story", "6", "--quick", "--busy", "0.001", "--out", out]);
    assert!(text.contains("full-story, figure 6 (3.2.2)"), "{text}");
    let of = |name: &str| folder.path().join("full-story-06").join(name);
    assert!(fs::read_to_string(of("figure.svg")).unwrap().contains("measured"));
    // WAIT_DIE has 4.9 million transactions a second on 56 threads of the real machine.
    let page = fs::read_to_string(of("index.html")).unwrap();
    assert!(page.contains("<small>(4.9"), "{page}");
    read_json(&of("records.json")).unwrap();
    good(&["report", out]);
}

/// Runs under an architecture that stores partitions apart say so in their records, and are found again.
#[test]
fn a_figure_has_lines_of_several_architectures() {
    let folder = Folder::fresh("figure-architectures");
    let out = folder.path().to_str().expect("plain letters");
    let words = ["figure", "trireme", "7d", "--quick", "--busy", "0.001", "--out", out];
    let text = good(&words);
    assert!(text.contains("trireme, figure 7d (5.1)") && text.contains("56 of 56 runs"), "{text}");
    let records = read_json(&folder.path().join("trireme-07d").join("records.json")).unwrap();
    let apart = |record: &&RunRecord| record.architecture == "partitioned_serial";
    let serial: Vec<&RunRecord> = records.iter().filter(apart).collect();
    assert_eq!(serial.len(), 7);
    for record in &serial {
        assert!(record.placement.contains("on the socket of the worker with its number"));
        assert_eq!(record.architecture_options["partitions"].to_string(), record.cores.to_string());
    }
    let others = records.iter().filter(|record| !apart(record));
    assert!(others.into_iter().all(|record| record.placement.contains("interleaved")));
    good(&[&words[..], &["--resume"]].concat());
    good(&["report", out]);
}

#[test]
fn papers_and_figures_are_listed() {
    let text = good(&["figure", "--list"]);
    assert!(text.lines().all(|line| line.chars().count() <= 100), "{text}");
    for part in ["abyss: ", "full-story: ", "trireme: ", "  8a ", "statements"] {
        assert!(text.contains(part), "{text}");
    }
}

#[test]
fn bad_requests_are_refused() {
    refused(
        &["figure", "abys", "8a"],
        &["unknown paper 'abys'", "did you mean 'abyss'?", "full-story"],
    );
    refused(&["figure", "abyss", "18"], &["unknown figure of abyss '18'", "allowed: 3, 4", "8a"]);
    refused(&["figure", "abyss", "8c"], &["'8c'", "did you mean '8"]);
    let unknown = &["unknown figure of trireme '8'", "allowed: 2a, 2b"];
    refused(&["figure", "trireme", "8"], unknown);
    refused(&["figure", "trireme", "2e"], &["'2e'", "did you mean '2"]);
    refused(
        &["figure", "triremes", "2a"],
        &["unknown paper 'triremes'", "did you mean 'trireme'?"],
    );
    refused(&["figure", "abyss"], &["FIGURE"]);
    refused(&["figure"], &["PAPER"]);
    refused(&["figure", "abyss", "6", "--busy", "0"], &["'0'", "--busy", "more than 0"]);
    refused(&["figure", "abyss", "6", "--seed", "x"], &["'x'", "--seed", "whole numbers"]);
    refused(&["figure", "abyss", "6", "--force", "--resume"], &["--force", "--resume"]);
    refused(&["figure", "--list", "abyss"], &["--list"]);
    let nowhere = ["report", "no-such-directory"];
    refused(&nowhere, &["no-such-directory", "no figures", "allowed"]);
    let folder = Folder::fresh("figure-bad");
    let out = folder.path().to_str().expect("plain letters");
    let own = folder.path().join("abyss-06");
    fs::create_dir_all(&own).unwrap();
    fs::write(own.join("verdict.json"), "{}").unwrap();
    refused(&["report", out], &["verdict.json", "no verdicts of a figure"]);
    let words = ["figure", "abyss", "6", "--quick", "--out", out];
    refused(&words, &["--out", "no figure", "--force"]);
    refused(&[&words[..], &["--resume"]].concat(), &["no figure", "--force"]);
    assert_eq!(fs::read_to_string(own.join("verdict.json")).unwrap(), "{}");
    let file = folder.path().join("file");
    fs::write(&file, "").unwrap();
    let file = file.to_str().expect("plain letters");
    refused(&["figure", "abyss", "6", "--out", file], &["cannot be made a folder"]);
    assert!(!Path::new("figures").exists(), "nothing is written without need");
}
