//! Implements `kilocore figure`: regenerates figures of papers on the simulated machine, and says which of the
//! paper's statements hold.

pub mod folder;
mod runs;
mod work;

use crate::arguments::{check_seeds, seconds, whole};
use crate::failure::{Ending, Failure};
use crate::{interrupt, screen, suggestion};
use clap::Args;
use experiments::figures::report::{Regenerated, headline, to_text};
use experiments::figures::{Effort, Figure, Length, PAPERS, Paper};
use folder::FigureFolder;
use std::path::{Path, PathBuf};

/// Options of `kilocore figure`.
#[derive(Debug, Args)]
pub struct FigureArguments {
    /// The paper; --list names them
    #[arg(required_unless_present = "list")]
    pub paper: Option<String>,
    /// Figures: 8a is a part, 8 all parts of a figure, all every figure of the paper
    #[arg(value_name = "FIGURE", required_unless_present = "list")]
    pub figures: Vec<String>,
    /// List the papers and their figures
    #[arg(long, conflicts_with_all = ["paper", "figures"])]
    pub list: bool,
    /// A coarse grid and short runs, about two minutes for a figure
    #[arg(long)]
    pub quick: bool,
    /// The most busy time of a run, in core seconds [default: 8, on graphite 40; quick: a quarter; of the measured program 12, quick 0.5]
    #[arg(long, value_name = "S", value_parser = seconds)]
    pub busy: Option<f64>,
    /// Directory with a directory for each figure. Figures that exist there are refused, except with --resume or
    /// --force [default: figures, whose figures are continued]
    #[arg(long, value_name = "DIR")]
    pub out: Option<PathBuf>,
    /// Simulate everything anew, and overwrite figures
    #[arg(long)]
    pub force: bool,
    /// Keep the runs of the same build and settings, and simulate those that are missing
    #[arg(long, conflicts_with = "force")]
    pub resume: bool,
    /// Seed of everything random
    #[arg(long, value_name = "N", default_value = "1", value_parser = whole)]
    pub seed: u64,
}

/// Regenerates the figures that are asked for.
pub fn figure(asked: &FigureArguments) -> Result<Ending, Failure> {
    if asked.list {
        screen::say(&listing())?;
        return Ok(Ending::Good);
    }
    let figures = chosen(asked)?;
    check_seeds(asked.seed, ("runs", 1))?;
    let effort = if asked.quick { Effort::Quick } else { Effort::Full };
    let out = asked.out.as_deref().unwrap_or(Path::new("figures"));
    let mut folders = Vec::new();
    for &figure in &figures {
        folders.push(FigureFolder::checked(figure, out, asked)?);
    }
    let stop = interrupt::listen()?;
    let known = if asked.force { Vec::new() } else { folder::all_records(out) };
    let lengths = Length { effort, busy_s: asked.busy, seed: asked.seed };
    let measured = runs::measure(&folders, lengths, known, stop)?;
    let (mut text, mut nothing) = (String::new(), true);
    for folder in &folders {
        let records = measured.records_of(folder.figure, effort);
        let command = command(folder.figure, asked);
        let done = Regenerated::of(folder.figure, effort, &records, &command);
        if done.is_empty() || (done.outcome.measured == 0 && interrupt::requested()) {
            continue;
        }
        nothing = false;
        folder.write(&records, &done)?;
        text.push_str(&to_text(&done.outcome));
        text.push_str(&format!("{}: {}\n\n", folder.path.display(), headline(&done.outcome)));
    }
    screen::say(&text)?;
    if interrupt::requested() {
        eprintln!(
            "{}",
            match nothing {
                true => "interrupted before anything was simulated",
                false => "interrupted; --resume simulates the runs that are missing",
            }
        );
        return Ok(Ending::Interrupted);
    }
    Ok(Ending::Good)
}

/// Returns the figures that the command line names, each once.
fn chosen(asked: &FigureArguments) -> Result<Vec<&'static Figure>, Failure> {
    let name = asked.paper.as_deref().unwrap_or_default();
    let papers: Vec<&str> = PAPERS.iter().map(|paper| paper.name).collect();
    let Some(paper) = Paper::named(name) else {
        return Err(Failure::refused(suggestion::unknown("paper", name, &papers)));
    };
    let mut chosen: Vec<&Figure> = Vec::new();
    for name in &asked.figures {
        let found = paper.figures_called(name);
        if found.is_empty() {
            return Err(Failure::refused(no_figure(paper, name)));
        }
        for figure in found {
            if !chosen.iter().any(|known| known.number == figure.number) {
                chosen.push(figure);
            }
        }
    }
    Ok(chosen)
}

/// Returns the message for a figure that `paper` does not have. The suggestion is a part of the same figure, if there is
/// one.
fn no_figure(paper: &Paper, name: &str) -> String {
    let numbers: Vec<&str> = paper.figures.iter().map(|figure| figure.number).collect();
    let numbers = [&numbers[..], &["all"]].concat();
    let digits = name.trim_end_matches(|c: char| c.is_ascii_alphabetic());
    let kind = format!("figure of {}", paper.name);
    match paper.figures_called(digits).first() {
        Some(part) => format!(
            "unknown {kind} '{name}': did you mean '{}'? allowed: {}",
            part.number,
            numbers.join(", ")
        ),
        None => suggestion::unknown(&kind, name, &numbers),
    }
}

/// Returns the command that regenerates `figure` as it was asked for.
fn command(figure: &Figure, asked: &FigureArguments) -> String {
    let quick = if asked.quick { " --quick" } else { "" };
    let busy = asked.busy.map_or(String::new(), |busy_s| format!(" --busy {busy_s}"));
    let seed = if asked.seed == 1 { String::new() } else { format!(" --seed {}", asked.seed) };
    format!("kilocore figure {} {}{quick}{busy}{seed}", figure.paper, figure.number)
}

fn listing() -> String {
    let mut text = String::new();
    for paper in PAPERS {
        text.push_str(&format!("{}: {}\n", paper.name, paper.title));
        for figure in paper.figures {
            let runs = |effort| figure.places(effort).len();
            let statements = match figure.is_ours() {
                true => "not the paper's".to_owned(),
                false => format!("{} statements", figure.checks.len()),
            };
            text.push_str(&format!(
                "  {:4} {}\n       {} runs, quick {}; {statements} (section {})\n",
                figure.number,
                figure.title,
                runs(Effort::Full),
                runs(Effort::Quick),
                figure.section
            ));
        }
    }
    text
}
