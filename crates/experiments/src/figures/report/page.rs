//! Writes the page of one figure. It needs no network.

use super::Regenerated;
use super::cells::cells;
use crate::figures::picture::escaped;
use crate::figures::view::{Views, views};
use crate::figures::{Kind, Line, Panel, Point, Setting, Verdict};
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
    let title = figure.heading();
    let mut html = head(&title);
    let _ = writeln!(
        html,
        "<h1>{}</h1>\n<p>{}{}, section {}</p>\n{}",
        escaped(&title),
        if figure.is_ours() { "Not a figure of the paper. After " } else { "" },
        escaped(&outcome.paper_title),
        escaped(&outcome.section),
        done.picture().to_svg()
    );
    html.push_str(match figure.is_ours() {
        true => "<h2>What the records say</h2>\n",
        false => "<h2>What the paper says, and what the records say</h2>\n",
    });
    html.push_str(&found(outcome));
    html.push_str("<h2>Values</h2>\n");
    for panel in figure.panels {
        html.push_str(&table(done, panel));
    }
    let real = match figure.is_ours() {
        true => "",
        false => {
            "Values in brackets, and dashed lines with crosses, were measured on the real machine. "
        }
    };
    let _ = writeln!(
        html,
        "<p><small>~ marks a value that is not known to be steady. {real}The raw records are in \
         <a href=\"records.json\">records.json</a>, the picture in <a href=\"figure.svg\">figure.svg</a> and \
         <a href=\"figure.png\">figure.png</a>.</small></p>"
    );
    html.push_str(&settings(done));
    html.push_str("</body></html>\n");
    html
}

/// Returns the verdicts on the paper's statements, or the findings of a figure that is not the paper's.
pub(super) fn found(outcome: &super::Outcome) -> String {
    if outcome.findings.is_empty() {
        return verdicts(outcome);
    }
    let mut html = String::from("<ul>\n");
    for sentence in &outcome.findings {
        let _ = writeln!(html, "<li>{}</li>", escaped(sentence));
    }
    html.push_str("</ul>\n");
    html
}

/// Returns the values that a panel shows.
fn table(done: &Regenerated, panel: &Panel) -> String {
    let own: Vec<&Line> = done.lines.iter().filter(|line| line.group == panel.group).collect();
    match panel.kind {
        Kind::Map(grid) => cells(panel.title, grid, &own),
        _ => values(panel.title, done.figure.x, &views(panel, &done.lines)),
    }
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
fn verdicts(outcome: &super::Outcome) -> String {
    let mut html =
        String::from("<table><tr><th>verdict</th><th>statement</th><th>numbers</th></tr>\n");
    for judged in &outcome.statements {
        let class = class(judged.verdict);
        let ours = match judged.ours.is_empty() {
            true => String::new(),
            false => format!("<br><small>thresholds of ours: {}</small>", escaped(&judged.ours)),
        };
        let why = match judged.explanation.is_empty() {
            true => String::new(),
            false => format!("<br><b>Why:</b> {}", escaped(&judged.explanation)),
        };
        let _ = writeln!(
            html,
            "<tr><td class=\"{class}\">{}</td><td>{}{ours}</td><td>{}{why}</td></tr>",
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

/// Returns a table with a row for each place and a column for each line. Measured values are in brackets.
fn values(title: &str, x: &str, views: &Views) -> String {
    let places = views.lines.iter().flat_map(|line| {
        let simulated = line.simulated.iter().map(|point| point.0);
        simulated.chain(line.measured.iter().map(|point| point.0))
    });
    let mut places: Vec<f64> = places.collect();
    places.sort_by(f64::total_cmp);
    places.dedup();
    let label = &views.label;
    let caption = if title.is_empty() { label.to_owned() } else { format!("{title}: {label}") };
    let names = views.lines.iter().map(|line| format!("<th>{}</th>", escaped(&line.name)));
    let names: String = names.collect();
    let mut html =
        format!("<h3>{}</h3>\n<table><tr><th>{}</th>{names}</tr>\n", escaped(&caption), escaped(x));
    for place in places {
        let _ = write!(html, "<tr><td class=\"n\">{place}</td>");
        for line in &views.lines {
            let own = line.simulated.iter().find(|point| point.0 == place);
            let own = own.map_or(String::new(), |(_, value, is_steady)| {
                format!("{}{value:.4}", if *is_steady { "" } else { "~" })
            });
            let seen = line.measured.iter().find(|point| point.0 == place);
            let seen =
                seen.map_or(String::new(), |(_, value)| format!(" <small>({value:.3})</small>"));
            let _ = write!(html, "<td class=\"n\">{own}{seen}</td>");
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
        "<li>Simulated {}, commit {}. {} of {} runs have a record, {} of them are steady.</li>",
        escaped(&done.figure.machines(done.effort)),
        escaped(&done.outcome.commit),
        done.outcome.measured,
        done.outcome.runs,
        done.outcome.steady
    );
    for (why, runs) in &done.outcome.not_simulated {
        let why = escaped(why);
        let _ = writeln!(
            html,
            "<li>Not simulated yet: {runs} runs {why}. Measured values stand alone.</li>"
        );
    }
    html.push_str("</ul>\n");
    let _ = writeln!(html, "<pre>{}</pre>", escaped(&done.outcome.command));
    html.push_str("<details><summary>The runs one by one</summary>\n<pre>");
    for series in (done.figure.series)(done.effort) {
        for command in commands(done.figure.machine, &series.points) {
            let _ = writeln!(html, "{}", escaped(&command));
        }
    }
    html.push_str("</pre></details>\n");
    html
}

/// Returns the runs of a line: a command for all that differ in the number of cores alone, or the title of a run of the
/// measured program, which no command of its own simulates.
fn commands(machine: &str, points: &[(f64, Point)]) -> Vec<String> {
    let mut groups: Vec<(Setting, Vec<String>)> = Vec::new();
    let mut titles = Vec::new();
    for (_, point) in points {
        let setting = match point {
            Point::Setting(setting) => setting,
            Point::Program(program) => {
                titles.push(program.title());
                continue;
            }
        };
        let alike = Setting { cores: 0, ..setting.clone() };
        match groups.iter_mut().find(|(other, _)| *other == alike) {
            Some((_, cores)) => cores.push(setting.cores.to_string()),
            None => groups.push((alike, vec![setting.cores.to_string()])),
        }
    }
    let commands = groups.into_iter().map(|(setting, cores)| {
        setting.command(setting.machine.unwrap_or(machine), &cores.join(","))
    });
    commands.chain(titles).collect()
}
