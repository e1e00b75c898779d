//! Writes records as one HTML file with charts, table and raw records. The page needs no network.

use super::grouping::groups;
use super::marks::{Mark, spread};
use super::numbers::{observed, promise};
use super::settings::own_settings;
use harness::run_record::{Certificate, RunRecord, Verdict, settings};
use machine::Category;
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet};
use workloads::registry::declaration;

const TEMPLATE: &str = include_str!("page/page.html");
const STYLE: &str = include_str!("page/page.css");
const SCRIPTS: [&str; 4] = [
    include_str!("page/drawing.js"),
    include_str!("page/lines.js"),
    include_str!("page/bars.js"),
    include_str!("page/page.js"),
];

/// Data that the page's script needs besides the records. The grouping is computed here, so that terminal and browser
/// group records in the same way.
#[derive(Serialize)]
struct View {
    groups: Vec<GroupView>,
    /// Options of the workload that differ from their defaults in at least one record.
    options: Vec<String>,
    categories: Vec<&'static str>,
}

#[derive(Serialize)]
struct GroupView {
    title: String,
    kind: &'static str,
    description: String,
    series: Vec<SeriesView>,
}

#[derive(Serialize)]
struct SeriesView {
    name: String,
    /// Set if the protocol promises nothing. The line then serves as a baseline and is drawn differently.
    baseline: bool,
    /// Positions in the array of records, ascending in cores.
    records: Vec<usize>,
    /// Promise of the protocol.
    promise: &'static str,
    /// Other settings, in which protocols may differ.
    settings: String,
    /// Notes on each record.
    rows: Vec<RowView>,
}

#[derive(Serialize)]
struct RowView {
    observed: &'static str,
    /// Half of the spread, as a share, or none where it is unknown.
    spread: Option<f64>,
    /// Reservations about the record.
    remarks: Vec<String>,
    /// Set if the record is not known to be steady.
    unsteady: bool,
    /// Set if the protocol promises an isolation level and its promise was observed to hold.
    kept: bool,
}

impl RowView {
    fn of(record: &RunRecord) -> RowView {
        let marks = Mark::all(record);
        RowView {
            observed: observed(&record.certificate),
            spread: spread(record),
            remarks: marks.iter().map(|mark| mark.remark(record)).collect(),
            kept: is_kept(&record.certificate),
            unsteady: marks.iter().any(|mark| matches!(mark, Mark::NotSteady | Mark::TooFew)),
        }
    }
}

/// Returns whether a level is promised, was checked, and holds. Levels that are not promised do not count.
fn is_kept(certificate: &Certificate) -> bool {
    let Certificate { promised, .. } = certificate;
    let levels = [
        (promised.read_committed, certificate.read_committed),
        (promised.snapshot, certificate.snapshot),
        (promised.strong_snapshot, certificate.strong_snapshot),
        (promised.serializable, certificate.serializable),
        (promised.strict, certificate.strict),
    ];
    !promised.is_empty()
        && levels.iter().all(|(promised, found)| !promised || *found == Verdict::Pass)
}

/// Returns a self-contained page titled `title`. It loads no other files and contains the records in the form of
/// their JSON file.
pub fn page(title: &str, records: &[RunRecord]) -> String {
    let values = BTreeMap::from([
        ("title", escaped(title)),
        ("style", STYLE.to_owned()),
        ("records", embedded(&records)),
        ("view", embedded(&view(records))),
        ("script", SCRIPTS.join("\n")),
    ]);
    filled(TEMPLATE, &values)
}

fn view(records: &[RunRecord]) -> View {
    let position = |record: &RunRecord| {
        records.iter().position(|r| std::ptr::eq(r, record)).expect("groups borrow the records")
    };
    let groups = groups(records)
        .into_iter()
        .map(|group| GroupView {
            kind: group.kind.name(),
            description: group.series[0].records[0].machine_description.clone(),
            series: group
                .series
                .into_iter()
                .map(|series| SeriesView {
                    baseline: series.records[0].certificate.promised.is_empty(),
                    records: series.records.iter().map(|r| position(r)).collect(),
                    settings: own_settings(series.records[0]),
                    promise: promise(&series.records[0].certificate.promised),
                    rows: series.records.iter().map(|r| RowView::of(r)).collect(),
                    name: series.name,
                })
                .collect(),
            title: group.title,
        })
        .collect();
    let categories = Category::ALL.map(Category::name).to_vec();
    View { groups, options: changed_options(records), categories }
}

/// Returns the names of options that differ from their defaults. For a workload unknown to this program these are all
/// options.
fn changed_options(records: &[RunRecord]) -> Vec<String> {
    let mut changed = BTreeSet::new();
    for record in records {
        let declared = declaration(&record.workload).map(|declared| declared.options);
        let defaults = settings(declared.unwrap_or_default().iter().map(|o| o.default()).collect());
        let own = record.workload_options.iter();
        let set = own.filter(|(name, value)| defaults.get(*name) != Some(value));
        changed.extend(set.map(|(name, _)| name.clone()));
    }
    changed.into_iter().collect()
}

/// Returns JSON that cannot end the element that contains it.
fn embedded(value: &impl Serialize) -> String {
    serde_json::to_string(value).expect("a record is plain data").replace('<', "\\u003c")
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

/// Replaces every `{{name}}` of the template once. Inserted text is not searched again.
fn filled(template: &str, values: &BTreeMap<&str, String>) -> String {
    let mut out = String::new();
    let mut rest = template;
    while let Some((before, after)) = rest.split_once("{{") {
        let (name, after) = after.split_once("}}").expect("the template closes what it opens");
        out.push_str(before);
        out.push_str(&values[name]);
        rest = after;
    }
    out + rest
}
