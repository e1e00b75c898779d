//! Writes an overview of many figures.

use super::Outcome;
use super::page::{class, found, head};
use crate::figures::figure::{is_name, spoken};
use crate::figures::picture::escaped;
use crate::figures::{Effort, Verdict};
use std::fmt::Write;

/// Returns the number of statements by verdict, over all figures.
fn counts(outcomes: &[Outcome]) -> [(Verdict, usize); 3] {
    [Verdict::Holds, Verdict::Fails, Verdict::NotMeasured]
        .map(|verdict| (verdict, outcomes.iter().map(|outcome| outcome.count(verdict)).sum()))
}

/// Returns the overview as a page that needs no network, to be put beside the figures' folders.
pub fn overview_html(outcomes: &[Outcome]) -> String {
    let mut html = head("Figures");
    html.push_str(
        "<h1>Figures of papers on the simulated machine</h1>\n<p>Statements by verdict: ",
    );
    let counted = counts(outcomes).map(|(verdict, count)| {
        format!("<span class=\"{}\">{}: {count}</span>", class(verdict), verdict.name())
    });
    let _ = writeln!(html, "{}.</p>", counted.join(", "));
    for outcome in outcomes {
        let folder = outcome.folder();
        let _ = writeln!(
            html,
            "<h2><a href=\"{folder}/index.html\">{}, {}</a>: {}</h2>\n<p><small>{} of {} runs{}, commit \
             {}</small></p>\n<a href=\"{folder}/index.html\"><img src=\"{folder}/figure.svg\" alt=\"{}\"></a>",
            escaped(&outcome.paper),
            escaped(&spoken(&outcome.figure)),
            escaped(&outcome.title),
            outcome.measured,
            outcome.runs,
            outcome.effort.pick("", ", quick grid"),
            escaped(&outcome.commit),
            escaped(&spoken(&outcome.figure))
        );
        html.push_str(&found(outcome));
    }
    html.push_str("</body></html>\n");
    html
}

/// Returns the overview as Markdown, to be put beside the figures' folders.
pub fn overview_markdown(outcomes: &[Outcome]) -> String {
    let mut text = String::from(
        "<!-- Written by `kilocore report`. Do not edit it by hand. -->\n# Figures of papers\n\n",
    );
    let [holding, failing, unmeasured] = counts(outcomes).map(|(_, count)| count);
    let all: usize = outcomes.iter().map(|outcome| outcome.statements.len()).sum();
    let _ = writeln!(
        text,
        "The papers make {all} statements about these {} figures: {holding} hold in our \
         records, {failing} do not hold, and {unmeasured} were not measured. A statement that does not hold is a finding, \
         about the paper's system, ours or the model. A `(does not hold)` marks the part of a statement that fails. A quick figure's runs last \
         about a millisecond on many cores, and less if they are steady before. Thrashing that builds up later does not \
         show in them: look at how many runs are steady.\n",
        outcomes.iter().filter(|outcome| !outcome.statements.is_empty()).count()
    );
    text.push_str("| figure | runs | steady | holds | does not hold | not measured |\n");
    text.push_str("| --- | --- | --- | --- | --- | --- |\n");
    for outcome in outcomes {
        let of = |verdict| outcome.count(verdict);
        let _ = writeln!(
            text,
            "| [{} {}](#{}): {} | {} of {}{} | {} | {} | {} | {} |",
            outcome.paper,
            outcome.figure,
            outcome.folder(),
            outcome.title,
            outcome.measured,
            outcome.runs,
            match (outcome.effort, outcome.not_simulated.is_empty()) {
                (_, false) => " (others not simulated yet)",
                (Effort::Quick, true) => " (quick)",
                (Effort::Full, true) => "",
            },
            outcome.steady,
            of(Verdict::Holds),
            of(Verdict::Fails),
            of(Verdict::NotMeasured)
        );
    }
    for outcome in outcomes {
        text.push_str(&section(outcome));
    }
    text
}

/// Returns the section of one figure.
fn section(outcome: &Outcome) -> String {
    let folder = outcome.folder();
    let mut text = format!(
        "\n## {folder}\n\n{} ({}section {}). Commit {}: `{}`\n\n![{}]({folder}/figure.svg)\n\n",
        outcome.title,
        if is_name(&outcome.figure) { "after " } else { "" },
        outcome.section,
        outcome.commit,
        outcome.command,
        outcome.title
    );
    for sentence in &outcome.findings {
        let _ = writeln!(text, "- {sentence}");
    }
    if outcome.statements.is_empty() {
        return text;
    }
    text.push_str("| verdict | statement | numbers |\n| --- | --- | --- |\n");
    for judged in &outcome.statements {
        let ours = match judged.ours.is_empty() {
            true => String::new(),
            false => format!(" (ours: {})", judged.ours),
        };
        let why = match judged.explanation.is_empty() {
            true => String::new(),
            false => format!(". **Why:** {}", judged.explanation),
        };
        let _ = writeln!(
            text,
            "| {} | {}{ours} | {}{why} |",
            judged.verdict.name(),
            judged.statement,
            judged.saw
        );
    }
    text
}
