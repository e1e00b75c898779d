//! Lists the settings in which the protocols of a table differ besides their names. A comparison must take these into
//! account.

use super::Terminal;
use super::grouping::Group;
use engine::registry::declaration;
use harness::run_record::{RunRecord, Setting};
use std::collections::BTreeMap;

/// Returns protocols by the settings that differ from those of other protocols, for example `commit-locks refuse`
/// with OCC, SILO and TICTOC. The isolation level is not included, because it has a column of its own.
pub(super) fn differing(group: &Group<'_>) -> BTreeMap<String, Vec<String>> {
    let mut by_setting: BTreeMap<String, Vec<String>> = BTreeMap::new();
    if group.series.len() < 2 {
        return by_setting;
    }
    for series in &group.series {
        for setting in of(series.records[0]) {
            by_setting.entry(setting).or_default().push(series.records[0].protocol.clone());
        }
    }
    for protocols in by_setting.values_mut() {
        protocols.dedup();
    }
    by_setting
}

/// Name under which a record says what its certificate covers. It is no setting.
pub const CERTIFICATE_OF: &str = "certificate_of";

/// Returns the settings of a record's protocol except for the isolation level and the timestamps, for example
/// `commit-locks refuse`, and those of the engine that are not at their defaults.
fn of(record: &RunRecord) -> impl Iterator<Item = String> {
    let options = record.protocol_options.iter();
    let own = options.filter(|(n, _)| *n != "isolation" && *n != "timestamp_allocation");
    let engine = record.architecture_options.iter().filter(|(n, _)| *n != CERTIFICATE_OF);
    own.chain(engine).map(|(name, value)| format!("{name} {value}"))
}

/// Returns these settings on one line.
pub(super) fn own_settings(record: &RunRecord) -> String {
    of(record).collect::<Vec<_>>().join(", ")
}

/// Returns whether all data of the run are one partition and the protocol or the architecture locks partitions.
pub(super) fn is_one_partition(record: &RunRecord) -> bool {
    let locks = declaration(&record.architecture).is_ok_and(|declared| declared.isolates);
    record.protocol_options.contains_key("older-at-partition")
        && record.protocol_options.get("partitions") == Some(&Setting::Text("1".into()))
        || locks && record.architecture_options.get("partitions") == Some(&Setting::Integer(1))
}

/// Returns the settings of a group's protocols, for the notes below its table.
pub(super) fn settings(group: &Group<'_>, terminal: Terminal) -> String {
    let mut text = String::new();
    for series in group.series.iter().filter(|series| is_one_partition(series.records[0])) {
        text.push_str(&format!(
            "{} locks partitions, of which there is one: one transaction at a time.\n",
            series.name
        ));
    }
    let mut line = String::from("Settings:");
    let parts: Vec<String> = differing(group)
        .into_iter()
        .map(|(setting, protocols)| format!("{setting} ({})", protocols.join(", ")))
        .collect();
    let last = parts.len();
    for (number, part) in parts.into_iter().enumerate() {
        let end = if number + 1 == last { "." } else { ";" };
        for word in format!("{part}{end}").split(' ') {
            if line.chars().count() + 1 + word.chars().count() > terminal.width.clamp(40, 120) {
                text.push_str(&format!("{line}\n"));
                line = String::from(" ");
            }
            line.push_str(&format!(" {word}"));
        }
    }
    match last {
        0 => text,
        _ => format!("{text}{line}\n"),
    }
}
