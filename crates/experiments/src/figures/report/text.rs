//! Writes verdicts as text of 80 columns.

use super::Outcome;
use crate::figures::Verdict;
use crate::figures::figure::spoken;
use crate::figures::picture::wrapped;

/// Width of the text.
const WIDTH: usize = 80;
/// Width of the column of verdicts.
const VERDICT: usize = 15;

/// Returns the figure and its counts in one line.
pub fn headline(outcome: &Outcome) -> String {
    let of = |verdict| outcome.count(verdict);
    if outcome.statements.is_empty() {
        let Outcome { measured, runs, steady, .. } = outcome;
        return format!("{}: {measured} of {runs} runs, {steady} steady", spoken(&outcome.figure));
    }
    let later: usize = outcome.not_simulated.values().sum();
    let later = if later == 0 { String::new() } else { format!(", {later} not simulated yet") };
    format!(
        "{}: {} hold, {} do not hold, {} not measured; {} of {} runs, {} steady{later}",
        spoken(&outcome.figure),
        of(Verdict::Holds),
        of(Verdict::Fails),
        of(Verdict::NotMeasured),
        outcome.measured,
        outcome.runs,
        outcome.steady
    )
}

/// Returns the verdicts on all statements.
pub fn to_text(outcome: &Outcome) -> String {
    let title = format!("{}, {} ({})", outcome.paper, spoken(&outcome.figure), outcome.section);
    let mut text = format!("{title}\n");
    text.push_str(&paragraph(&outcome.title, 0));
    for sentence in &outcome.findings {
        text.push_str(&paragraph(sentence, 0));
    }
    for judged in &outcome.statements {
        text.push_str(&format!("{:VERDICT$}", judged.verdict.name()));
        text.push_str(paragraph(&judged.statement, VERDICT).trim_start());
        if !judged.ours.is_empty() {
            text.push_str(&paragraph(&format!("ours: {}", judged.ours), VERDICT));
        }
        text.push_str(&paragraph(&format!("saw: {}", judged.saw), VERDICT));
        if !judged.explanation.is_empty() {
            text.push_str(&paragraph(&format!("why: {}", judged.explanation), VERDICT));
        }
    }
    text
}

/// Returns the words of `text` in lines that begin with `indent` spaces.
fn paragraph(text: &str, indent: usize) -> String {
    let lines = wrapped(text, " ", WIDTH - indent);
    lines.iter().map(|line| format!("{:indent$}{line}\n", "")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paragraphs_fit_into_the_width() {
        let text = paragraph(&"word ".repeat(40), 15);
        assert!(text.lines().all(|line| line.len() <= WIDTH && line.starts_with(&" ".repeat(15))));
        assert_eq!(text.split_whitespace().count(), 40);
        assert!(text.lines().count() == 4, "{text}");
    }
}
