//! Groups records into charts, and into the lines of a chart.

use harness::run_record::{MachineKind, RunRecord, Setting, Settings};
use std::collections::BTreeSet;

/// Records that differ only in protocol and cores. They form one chart.
pub(super) struct Group<'a> {
    /// Workload, architecture and machine, with the options in which groups differ.
    pub title: String,
    /// Way in which the machine runs programs.
    pub kind: MachineKind,
    /// Lines, in the order of their first records.
    pub series: Vec<Series<'a>>,
}

/// Records of one protocol, by cores. They form one line.
pub(super) struct Series<'a> {
    /// Name of the protocol, with the options in which lines of the same protocol differ.
    pub name: String,
    /// Records, ascending in cores.
    pub records: Vec<&'a RunRecord>,
}

impl Group<'_> {
    /// Returns every number of cores that occurs, ascending.
    pub(super) fn cores(&self) -> Vec<usize> {
        let all: BTreeSet<usize> =
            self.series.iter().flat_map(|s| &s.records).map(|r| r.cores).collect();
        all.into_iter().collect()
    }
}

/// Returns the groups of `records`. Native machines come first, and groups keep the order of their first records.
pub(super) fn groups(records: &[RunRecord]) -> Vec<Group<'_>> {
    let mut parts: Vec<Vec<&RunRecord>> = Vec::new();
    for record in records {
        match parts.iter_mut().find(|part| same_group(part[0], record)) {
            Some(part) => part.push(record),
            None => parts.push(vec![record]),
        }
    }
    parts.sort_by_key(|part| part[0].machine_kind);
    let differing = differing_options(&mut parts.iter().map(|part| &part[0].workload_options));
    parts.iter().map(|part| group(part, &differing)).collect()
}

fn same_group(a: &RunRecord, b: &RunRecord) -> bool {
    a.workload == b.workload
        && a.workload_options == b.workload_options
        && a.architecture == b.architecture
        && a.architecture_options == b.architecture_options
        && a.machine == b.machine
        && a.machine_kind == b.machine_kind
}

fn group<'a>(part: &[&'a RunRecord], differing: &BTreeSet<String>) -> Group<'a> {
    let first = part[0];
    let mut title = first.workload.clone();
    for (name, value) in first.workload_options.iter().filter(|(n, _)| differing.contains(*n)) {
        title.push_str(&format!(", {name} {value}"));
    }
    title.push_str(&format!(" on {} ({})", first.machine, first.architecture.replace('_', " ")));

    let mut series: Vec<Series<'a>> = Vec::new();
    for &record in part {
        match series.iter_mut().find(|s| same_series(s.records[0], record)) {
            Some(line) => line.records.push(record),
            None => series.push(Series { name: record.protocol.clone(), records: vec![record] }),
        }
    }
    name_apart(&mut series);
    for line in &mut series {
        line.records.sort_by_key(|r| r.cores);
    }
    Group { title, kind: first.machine_kind, series }
}

fn same_series(a: &RunRecord, b: &RunRecord) -> bool {
    a.protocol == b.protocol && a.protocol_options == b.protocol_options
}

/// Adds distinguishing options to equal names.
fn name_apart(series: &mut [Series<'_>]) {
    let names: Vec<String> = series.iter().map(|s| s.name.clone()).collect();
    for name in &names {
        let same: Vec<usize> = (0..names.len()).filter(|&i| names[i] == *name).collect();
        if same.len() == 1 {
            continue;
        }
        let mut options = same.iter().map(|&i| &series[i].records[0].protocol_options);
        let differing = differing_options(&mut options);
        for &i in &same {
            let options = &series[i].records[0].protocol_options;
            let told: Vec<String> = differing
                .iter()
                .map(|o| options.get(o).map_or("default".into(), Setting::to_string))
                .collect();
            series[i].name = format!("{name} ({})", told.join(", "));
        }
    }
}

/// Returns the names of options whose values are not the same in all of `all`.
fn differing_options(all: &mut dyn Iterator<Item = &Settings>) -> BTreeSet<String> {
    let all: Vec<_> = all.collect();
    let names: BTreeSet<&String> = all.iter().flat_map(|options| options.keys()).collect();
    names
        .into_iter()
        .filter(|name| all.iter().any(|options| options.get(*name) != all[0].get(*name)))
        .cloned()
        .collect()
}
