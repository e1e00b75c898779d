//! Writes the note under a picture: what was simulated and what the marks mean.

use super::{Outcome, Regenerated};
use crate::figures::{Kind, Line, Panel, view};

/// Returns the note of a figure.
pub(super) fn note(done: &Regenerated) -> String {
    let Outcome { measured, runs, steady, .. } = &done.outcome;
    let machines = done.figure.machines(done.effort);
    let real = real(done);
    if *runs == 0 {
        return format!("{machines}; not simulated yet{real}");
    }
    let grid = done.effort.pick("full", "quick");
    let absent = absent(done).join(", ");
    let absent = if absent.is_empty() { absent } else { format!("; no runs: {absent}") };
    let marks = match done.figure.panels.iter().all(|panel| matches!(panel.kind, Kind::Map(_))) {
        true => {
            " (others ~); two colours: the best two architectures are not told apart; 2.00× PSE: twice as fast as the best \
             pair of PSE, the second-best architecture"
        }
        false => " (filled)",
    };
    format!(
        "kilocore, simulated {machines}, {grid} grid: {measured} of {runs} runs, {steady} steady{marks}{real}{absent}"
    )
}

/// Returns how measured values are drawn, if there are some.
fn real(done: &Regenerated) -> &'static str {
    let (bars, lines): (Vec<&Panel>, Vec<&Panel>) =
        done.figure.panels.iter().partition(|panel| matches!(panel.kind, Kind::Bars { .. }));
    let seen =
        |panels: Vec<&Panel>| panels.into_iter().any(|panel| is_measured(panel, &done.lines));
    match (seen(lines), seen(bars)) {
        (true, true) => "; dashed or narrow: measured",
        (true, false) => "; dashed: measured",
        (false, true) => "; narrow: measured",
        (false, false) => "",
    }
}

/// Returns whether `panel` shows a measured value.
fn is_measured(panel: &Panel, lines: &[Line]) -> bool {
    match panel.kind {
        Kind::Bars { x } => own(panel, lines).any(|line| line.measured_shares(x).is_some()),
        _ => view::views(panel, lines).lines.iter().any(|line| !line.measured.is_empty()),
    }
}

/// Returns the names of lines and bars that the figure has but of which there is no run.
fn absent(done: &Regenerated) -> Vec<&str> {
    let lacks = |panel: &Panel, line: &Line| match panel.kind {
        Kind::Bars { x } => line.at(x).is_none(),
        _ => line.points.is_empty(),
    };
    let mut names = Vec::new();
    for panel in done.figure.panels {
        for line in own(panel, &done.lines).filter(|line| lacks(panel, line)) {
            if !names.contains(&line.name.as_str()) {
                names.push(&line.name);
            }
        }
    }
    names
}

/// Returns the lines that `panel` shows.
fn own<'a>(panel: &Panel, lines: &'a [Line]) -> impl Iterator<Item = &'a Line> {
    let group = panel.group;
    lines.iter().filter(move |line| line.group == group)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::figures::tests::invented;
    use crate::figures::{Effort, Paper};

    fn note_of(paper: &str, number: &str, change: impl Fn(&mut Line)) -> String {
        let figure = Paper::named(paper).unwrap().figures_called(number)[0];
        let mut done = Regenerated::of(figure, Effort::Quick, &[], "");
        done.lines = invented(figure, Effort::Quick);
        done.lines.iter_mut().for_each(change);
        note(&done)
    }

    #[test]
    fn the_note_names_machines_and_lines_without_runs() {
        let both = note_of("full-story", "2a", |_| ());
        assert!(both.contains("simulated graphite and superdome-flex, quick grid"), "{both}");
        let three = note_of("full-story", "15", |_| ());
        assert!(three.contains("simulated power9, power8 and superdome-flex,"), "{three}");
        let lacking = note_of("trireme", "2a", |line| {
            if line.name != "SE" {
                line.points.clear();
            }
        });
        assert!(lacking.ends_with("; no runs: Delegation, DORA"), "{lacking}");
    }

    #[test]
    fn the_note_speaks_of_measured_values_only_if_some_are_drawn() {
        let seen = |line: &mut Line| {
            let measured = crate::figures::Measured::default();
            line.measured = line.points.iter().map(|point| (point.0, measured.clone())).collect();
        };
        assert!(note_of("full-story", "9a", seen).ends_with("; dashed: measured"));
        // A figure of bars shows shares alone, and a speed-up needs the first value.
        assert!(note_of("full-story", "10a", seen).ends_with("steady (filled)"));
        let later = |line: &mut Line| {
            seen(line);
            line.measured.remove(0);
        };
        assert!(note_of("full-story", "12", later).ends_with("steady (filled)"));
        assert!(note_of("full-story", "9a", |_| ()).ends_with("steady (filled)"));
    }
}
