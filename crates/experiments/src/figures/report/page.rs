//! Writes the page of one figure. It needs no network.

use super::Regenerated;
use crate::figures::picture::escaped;
use crate::figures::{Kind, Line, Measure, Setting, Verdict};
use std::fmt::Write;

/// Style of all pages.
pub(super) const STYLE: &str = "body{font:15px/1.45 system-ui,sans-serif;max-width:60rem;margin:2rem auto;padding:0 \
1rem;color:#1c2430;background:#fff}table{border-collapse:collapse;margin:1rem 0}td,th{padding:.25rem \
.6rem;border-bottom:1px solid #e3e7ec;text-align:left;vertical-align:top}td.n{text-align:right;font-variant-numeric:\
tabular-nums}.holds{color:#12805c}.fails{color:#b8255f}.none{color:#6c7684}pre{background:#f5f7f9;padding:.6rem;\
overflow-x:auto}small{color:#6c7684}svg,img{max-width:100%;height:auto}";

/// Returns the page of a figure: picture, verdicts, values, settings and commands.
pub fn page(done: &Regenerated) -> String {
    let (figure, outcome) = (done.figure, &done.outcome);
    let title = format!("Figure {}: {}", figure.number, figure.title);
    let mut html = head(&title);
    let _ = writeln!(
        html,
        "<h1>{}</h1>\n<p>{}, section {}</p>\n{}",
        escaped(&title),
        escaped(&outcome.paper_title),
        escaped(&outcome.section),
        done.picture().to_svg()
    );
    html.push_str("<h2>What the paper says, and what the records say</h2>\n");
    html.push_str(&verdicts(outcome));
    html.push_str("<h2>Values</h2>\n");
    for panel in figure.panels {
        let measure = match panel.kind {
            Kind::Lines { y, .. } => y,
            Kind::Bars { .. } => Measure::Throughput,
        };
        let lines: Vec<&Line> = done.lines.iter().filter(|l| l.group == panel.group).collect();
        html.push_str(&values(panel.title, figure.x, measure, &lines));
    }
    html.push_str("<p><small>~ marks a value that is not known to be steady. The raw records are in \
                   <a href=\"records.json\">records.json</a>, the picture in <a href=\"figure.svg\">figure.svg</a> and \
                   <a href=\"figure.png\">figure.png</a>.</small></p>\n");
    html.push_str(&settings(done));
    html.push_str("</body></html>\n");
    html
}

/// Returns the begin of a page.
pub(super) fn head(title: &str) -> String {
    format!(
        "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><title>{}</title><style>{STYLE}</style></head>\
         <body>\n",
        escaped(title)
    )
}

/// Returns the table of statements.
pub(super) fn verdicts(outcome: &super::Outcome) -> String {
    let mut html =
        String::from("<table><tr><th>verdict</th><th>statement</th><th>numbers</th></tr>\n");
    for judged in &outcome.statements {
        let class = class(judged.verdict);
        let ours = match judged.ours.is_empty() {
            true => String::new(),
            false => format!("<br><small>thresholds of ours: {}</small>", escaped(&judged.ours)),
        };
        let _ = writeln!(
            html,
            "<tr><td class=\"{class}\">{}</td><td>{}{ours}</td><td>{}</td></tr>",
            judged.verdict.name(),
            escaped(&judged.statement),
            escaped(&judged.saw)
        );
    }
    html.push_str("</table>\n");
    html
}

/// Returns the style of a verdict.
pub(super) fn class(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::Holds => "holds",
        Verdict::Fails => "fails",
        Verdict::NotMeasured => "none",
    }
}

/// Returns a table with a row for each place and a column for each line.
fn values(title: &str, x: &str, measure: Measure, lines: &[&Line]) -> String {
    let mut places: Vec<f64> =
        lines.iter().flat_map(|line| line.points.iter().map(|(x, _)| *x)).collect();
    places.sort_by(f64::total_cmp);
    places.dedup();
    let (label, unit) = measure.label();
    let caption = if title.is_empty() { label.to_owned() } else { format!("{title}: {label}") };
    let names = lines.iter().map(|line| format!("<th>{}</th>", escaped(&line.name)));
    let names: String = names.collect();
    let mut html =
        format!("<h3>{}</h3>\n<table><tr><th>{}</th>{names}</tr>\n", escaped(&caption), escaped(x));
    for place in places {
        let _ = write!(html, "<tr><td class=\"n\">{place}</td>");
        for line in lines {
            let cell = line.at(place).map_or(String::new(), |record| {
                let mark = if record.steady == Some(true) { "" } else { "~" };
                format!("{mark}{:.4}", measure.of(record) / unit)
            });
            let _ = write!(html, "<td class=\"n\">{cell}</td>");
        }
        html.push_str("</tr>\n");
    }
    html.push_str("</table>\n");
    html
}

/// Returns the settings: differences from the paper, and the commands.
fn settings(done: &Regenerated) -> String {
    let mut html = String::from("<h2>Settings</h2>\n<ul>\n");
    for remark in done.figure.remarks {
        let _ = writeln!(html, "<li>{}</li>", escaped(remark));
    }
    let _ = writeln!(
        html,
        "<li>Machine {}, commit {}. {} of {} runs have a record, {} of them are steady.</li>\n</ul>",
        done.figure.machine,
        escaped(&done.outcome.commit),
        done.outcome.measured,
        done.outcome.runs,
        done.outcome.steady
    );
    let _ = writeln!(html, "<pre>{}</pre>", escaped(&done.outcome.command));
    html.push_str("<details><summary>The runs as single commands</summary>\n<pre>");
    for series in (done.figure.series)(done.effort) {
        for command in commands(done.figure.machine, &series.points) {
            let _ = writeln!(html, "{}", escaped(&command));
        }
    }
    html.push_str("</pre></details>\n");
    html
}

/// Returns a command for all runs that differ in the number of cores alone.
fn commands(machine: &str, points: &[(f64, Setting)]) -> Vec<String> {
    let mut groups: Vec<(Setting, Vec<String>)> = Vec::new();
    for (_, setting) in points {
        let alike = Setting { cores: 0, ..setting.clone() };
        match groups.iter_mut().find(|(other, _)| *other == alike) {
            Some((_, cores)) => cores.push(setting.cores.to_string()),
            None => groups.push((alike, vec![setting.cores.to_string()])),
        }
    }
    groups.into_iter().map(|(setting, cores)| setting.command(machine, &cores.join(","))).collect()
}
