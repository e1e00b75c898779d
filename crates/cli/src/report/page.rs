//! Records as one HTML file: charts, table and raw records, without a network.

use super::grouping::groups;
use super::numbers::certificate;
use harness::record::RunRecord;
use machine::Category;
use serde::Serialize;
use std::collections::BTreeMap;

const TEMPLATE: &str = include_str!("page/page.html");
const STYLE: &str = include_str!("page/page.css");
const SCRIPTS: [&str; 4] = [
    include_str!("page/drawing.js"),
    include_str!("page/lines.js"),
    include_str!("page/bars.js"),
    include_str!("page/page.js"),
];

/// What the page's script needs beside the records: one answer to what belongs together, for
/// terminal and browser.
#[derive(Serialize)]
struct View {
    groups: Vec<GroupView>,
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
    /// Nothing is promised: a line to compare with, drawn apart.
    baseline: bool,
    /// Positions in the array of records, ascending in cores.
    records: Vec<usize>,
    certificates: Vec<&'static str>,
}

/// A self-contained page titled `title`. It loads nothing from anywhere and carries the records in
/// the form of their JSON file.
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
                    certificates: series
                        .records
                        .iter()
                        .map(|r| certificate(&r.certificate))
                        .collect(),
                    name: series.name,
                })
                .collect(),
            title: group.title,
        })
        .collect();
    View { groups, categories: Category::ALL.map(Category::name).to_vec() }
}

/// JSON that cannot end the element that it stands in.
fn embedded(value: &impl Serialize) -> String {
    serde_json::to_string(value).expect("a record is plain data").replace('<', "\\u003c")
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

/// Replaces every `{{name}}` of the template once; what is put in is not looked at again.
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
