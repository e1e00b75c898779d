//! Implements `kilocore list`: lists everything that has a name.

use crate::arguments::{declarations, heeding, named_machines};
use crate::failure::{Ending, Failure};
use crate::screen;
use comfy_table::{ColumnConstraint, ContentArrangement, Table, presets};
use engine::{
    ACCESS_KNOBS, AccessOptions, ArchitectureDeclaration, EngineError, OwnersWork, pair,
    registry::declaration,
};
use machine::Native;
use protocols::faults;
use protocols::{Declaration, Isolation, KNOBS, ProtocolOptions, registry};
use serde_json::json;
use workloads::registry::declarations as workloads;

/// Prints protocols, workloads, architectures, machines and planted bugs.
pub fn list(as_json: bool) -> Result<Ending, Failure> {
    if as_json {
        let text = serde_json::to_string_pretty(&json()).expect("plain data");
        screen::say(&format!("{text}\n"))?;
        return Ok(Ending::Good);
    }
    let mut text = String::new();
    let width = screen::terminal().width;
    let mut section = |title: &str, rows: Vec<[String; 2]>| {
        text.push_str(&format!("{title}\n{}\n", entries(rows, width)));
    };
    let protocols = protocols().map(|(d, weaker, bytes)| {
        let promise = promise(&d);
        let weaker: String = weaker.iter().map(|level| format!("; or {level}")).collect();
        let text = format!("{promise}{weaker}; {bytes} B. {} [{}]", sentence(d.summary), d.source);
        [d.name.to_owned(), text]
    });
    section(
        "Protocols (--cc): isolation and weaker levels (--isolation), bytes in each\nrecord besides key and row",
        protocols.collect(),
    );
    let knobs = KNOBS.iter().map(|knob| {
        let default = knob.value(&ProtocolOptions::default());
        let default = default.map_or(String::new(), |value| format!(" [{value}]"));
        let protocols = heeding(knob).join(", ");
        let text = format!("{}{default}. {} For {protocols}", knob.allowed, sentence(knob.summary));
        [knob.name.to_owned(), text]
    });
    section("Options of protocols (--cc-option NAME=VALUE) [default]", knobs.collect());
    let knobs = ACCESS_KNOBS.iter().map(|knob| {
        let default = knob.value(&AccessOptions::default()).unwrap_or_default();
        let text = format!("{} [{default}]. {}", knob.allowed, sentence(knob.summary));
        [knob.name.to_owned(), text]
    });
    section(
        "Options of the engine's accesses (--engine-option NAME=VALUE) [default]",
        knobs.collect(),
    );
    let workloads = workloads().into_iter().map(|workload| {
        [workload.name.to_owned(), format!("{} [{}]", workload.summary, workload.source)]
    });
    section("Workloads", workloads.collect());
    let architectures = engine::registry::declarations().into_iter();
    let row = |d: ArchitectureDeclaration| {
        let text = format!("{} [{}]. {}", d.summary, d.source, pairs_of(&d));
        [d.name.to_owned(), text]
    };
    section("Architectures (--architecture), and what runs under them", {
        architectures.map(row).collect()
    });
    let simulated = named_machines().split_off(1).join(", ");
    let machines = ["native".to_owned(), "the machine at hand".to_owned()];
    let machines = vec![machines, ["simulated".to_owned(), simulated]];
    section("Machines (--machine; see kilocore machines list)", machines);
    let mutants = faults::all().map(|planted| {
        let story = planted.story.split_whitespace().collect::<Vec<_>>().join(" ");
        [planted.name.to_owned(), format!("{story} [{:?}]", planted.detector)]
    });
    section(
        "Planted bugs (explore --mutant), each with the detector that must find it",
        mutants.collect(),
    );
    screen::say(text.trim_end_matches('\n'))?;
    screen::say("\n")?;
    Ok(Ending::Good)
}

/// Returns what is promised to transactions.
fn promise(declared: &Declaration) -> &'static str {
    match (declared.isolation, declared.strict) {
        (Isolation::Serializable, true) => "strictly serializable",
        (Isolation::Serializable, false) => "serializable, not strict",
        (Isolation::Snapshot, true) => "snapshot isolation, of the latest snapshot",
        (Isolation::Snapshot, false) => "snapshot isolation",
        (Isolation::ReadCommitted, _) => "read committed",
        (Isolation::None, _) => "promises nothing",
    }
}

/// Returns sentences that say which protocols run under an architecture, which of them promise something else there, and
/// why the others do not run.
fn pairs_of(architecture: &ArchitectureDeclaration) -> String {
    let mut texts: Vec<String> = Vec::new();
    let mut refused: Vec<(String, Vec<&str>)> = Vec::new();
    let mut supported = Vec::new();
    for alone in declarations(&ProtocolOptions::default()) {
        match pair(architecture, alone) {
            Ok(declared) => {
                if declared != alone {
                    texts.push(format!("{} is {} here", declared.name, promise(&declared)));
                }
                supported.push(declared.name);
            }
            Err(error) => {
                let reason = reason(&error);
                match refused.iter_mut().find(|(known, _)| *known == reason) {
                    Some((_, names)) => names.push(alone.name),
                    None => refused.push((reason, vec![alone.name])),
                }
            }
        }
    }
    let runs = match refused.is_empty() {
        true => "All protocols run".to_owned(),
        false => format!("Runs {}", supported.join(", ")),
    };
    texts.insert(0, runs);
    let one_reason = refused.len() == 1;
    texts.extend(refused.into_iter().map(|(why, names)| match one_reason {
        true => format!("Not the others: {why}"),
        false => format!("Not {}: {why}", names.join(", ")),
    }));
    texts.iter().map(|text| sentence(text)).collect::<Vec<_>>().join(" ")
}

/// Returns why a pair is refused, without the names of the pair.
fn reason(error: &EngineError) -> String {
    match error {
        EngineError::OneSite { reason, .. } => (*reason).to_owned(),
        EngineError::Isolates { .. } => {
            "the architecture isolates transactions itself, and so do they".to_owned()
        }
        EngineError::NotDelegated { architecture, .. } => match declaration(architecture) {
            Ok(ArchitectureDeclaration { work: OwnersWork::Visited, .. }) => {
                "they do not leave all work on metadata to the core that owns a record".to_owned()
            }
            _ => "they leave no work to the core that owns a record".to_owned(),
        },
        other => other.to_string(),
    }
}

fn json_pairs(architecture: &ArchitectureDeclaration) -> Vec<serde_json::Value> {
    let protocols = declarations(&ProtocolOptions::default()).into_iter();
    let of_pair = |alone: Declaration| match pair(architecture, alone) {
        Ok(declared) => json!({
            "name": declared.name, "isolation": declared.isolation.to_string(),
            "strict": declared.strict,
        }),
        Err(error) => json!({ "name": alone.name, "refused": error.to_string() }),
    };
    protocols.map(of_pair).collect()
}

/// Returns each protocol's declaration, the further isolation levels that it can give, and the number of bytes that a
/// record takes under it besides key and row.
fn protocols() -> impl Iterator<Item = (Declaration, &'static [Isolation], usize)> {
    let levels = registry::levels::<Native>().into_iter().map(|levels| &levels[1..]);
    let bytes = registry::record_bytes::<Native>();
    let declared = declarations(&ProtocolOptions::default());
    declared.into_iter().zip(levels).zip(bytes).map(|((d, levels), bytes)| (d, levels, bytes))
}

fn json() -> serde_json::Value {
    let protocols = protocols().map(|(d, weaker, bytes)| {
        let weaker: Vec<String> = weaker.iter().map(Isolation::to_string).collect();
        json!({
            "name": d.name, "isolation": d.isolation.to_string(), "strict": d.strict,
            "weaker": weaker, "bytes_per_record": bytes,
            "summary": d.summary, "source": d.source, "one_site": d.one_site,
        })
    });
    let knobs = KNOBS.iter().map(|knob| {
        json!({
            "name": knob.name, "summary": knob.summary, "allowed": knob.allowed,
            "default": knob.value(&ProtocolOptions::default()), "protocols": heeding(knob),
        })
    });
    let access = ACCESS_KNOBS.iter().map(|knob| {
        json!({
            "name": knob.name, "summary": knob.summary, "allowed": knob.allowed,
            "default": knob.value(&AccessOptions::default()),
        })
    });
    let workloads = workloads().into_iter().map(|workload| {
        json!({
            "name": workload.name, "summary": workload.summary, "source": workload.source,
            "partitioned_by": workload.partitioned_by,
        })
    });
    let architectures = engine::registry::declarations().into_iter();
    let architectures = architectures
        .map(|d| {
            json!({
                "name": d.name, "summary": d.summary, "source": d.source, "sites": d.sites,
                "protocols": json_pairs(&d),
            })
        })
        .collect::<Vec<_>>();
    let mutants = faults::all().map(|planted| {
        json!({
            "name": planted.name, "protocol": planted.protocol, "architecture": planted.architecture,
            "workload": planted.workload, "story": planted.story,
            "detector": format!("{:?}", planted.detector),
        })
    });
    json!({
        "protocols": protocols.collect::<Vec<_>>(),
        "protocol_options": knobs.collect::<Vec<_>>(),
        "engine_options": access.collect::<Vec<_>>(),
        "workloads": workloads.collect::<Vec<_>>(),
        "architectures": architectures,
        "machines": named_machines(),
        "mutants": mutants.collect::<Vec<_>>(),
    })
}

/// Returns the text with a full stop at its end.
fn sentence(text: &str) -> String {
    format!("{}.", text.trim_end_matches('.'))
}

/// Aligns names and the texts that describe them. The texts are wrapped, so that no line has more than `width` columns.
fn entries(rows: Vec<[String; 2]>, width: usize) -> String {
    const INDENT: usize = 2;
    let mut table = Table::new();
    table.load_preset(presets::NOTHING);
    table.set_content_arrangement(ContentArrangement::Dynamic);
    table.set_width(u16::try_from(width.saturating_sub(INDENT)).unwrap_or(u16::MAX));
    for row in rows {
        table.add_row(row);
    }
    for (at, column) in table.column_iter_mut().enumerate() {
        column.set_padding((0, if at == 0 { 2 } else { 0 }));
        if at == 0 {
            column.set_constraint(ColumnConstraint::ContentWidth);
        }
    }
    table.to_string().lines().map(|line| format!("  {}\n", line.trim_end())).collect()
}

/// Aligns the cells of rows, with one line per row.
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
