//! `kilocore list`: everything that has a name.

use crate::arguments::{declarations, named_machines};
use crate::failure::{Ending, Failure};
use crate::screen;
use comfy_table::{Table, presets};
use protocols::mutants::MUTANTS;
use protocols::{Isolation, ProtocolOptions};
use workloads::catalogue::CATALOGUE;

/// Prints protocols, workloads, architectures, machines and planted bugs.
pub fn list() -> Result<Ending, Failure> {
    let mut text = String::new();
    let mut section = |title: &str, rows: Vec<Vec<String>>| {
        text.push_str(&format!("{title}\n{}\n", columns(rows)));
    };
    let protocols = declarations(&ProtocolOptions::default()).into_iter().map(|d| {
        let promise = match (d.isolation, d.strict) {
            (Isolation::Serializable, true) => "strictly serializable",
            (Isolation::Serializable, false) => "serializable, not strict",
            (Isolation::None, _) => "promises nothing",
        };
        vec![d.name.to_owned(), promise.to_owned(), d.summary.to_owned(), bracketed(d.source)]
    });
    section("Protocols (--cc)", protocols.collect());
    let workloads = CATALOGUE.iter().map(|entry| {
        vec![entry.name.to_owned(), entry.summary.to_owned(), bracketed(entry.source)]
    });
    section("Workloads", workloads.collect());
    let architecture = [
        "shared_everything",
        "each transaction stays on its core, which touches all records itself",
        "[Trireme 3.1; the architecture of DBx1000]",
    ];
    section("Architectures", vec![architecture.map(str::to_owned).to_vec()]);
    let machines = named_machines().join(", ");
    section("Machines (--machine; see kilocore machines list)", vec![vec![machines]]);
    let mutants = MUTANTS.iter().map(|mutant| {
        let detector = format!("[{:?}]", mutant.detector);
        let story = mutant.story.split_whitespace().collect::<Vec<_>>().join(" ");
        vec![mutant.name.to_owned(), story, detector]
    });
    section(
        "Planted bugs (explore --mutant), each with the detector that must find it",
        mutants.collect(),
    );
    screen::say(text.trim_end_matches('\n'))?;
    screen::say("\n")?;
    Ok(Ending::Good)
}

fn bracketed(source: &str) -> String {
    format!("[{source}]")
}

/// Rows whose cells stand below each other, one line each.
pub fn columns(rows: Vec<Vec<String>>) -> String {
    let mut table = Table::new();
    table.load_preset(presets::NOTHING);
    for row in rows {
        table.add_row(row);
    }
    for column in table.column_iter_mut() {
        column.set_padding((0, 2));
    }
    table.to_string().lines().map(|line| format!("  {}\n", line.trim_end())).collect()
}
