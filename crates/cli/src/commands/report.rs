//! Implements `kilocore report`: judges and draws the figures in a directory anew from their records, and writes a page
//! over all of them.

use super::figure::folder::{FigureFolder, RECORDS, VERDICT};
use crate::destination::{self, Existing};
use crate::failure::{Ending, Failure};
use crate::screen;
use clap::Args;
use experiments::figures::report::{Outcome, Regenerated, overview_html, overview_markdown};
use experiments::figures::{Figure, PAPERS, Verdict};
use harness::run_record::{RunRecord, read_json, write_whole};
use std::fs;
use std::path::{Path, PathBuf};

/// First words of a README.md that this command has written.
const OWN: &str = "<!-- Written by `kilocore report`.";

/// Options of `kilocore report`.
#[derive(Debug, Args)]
pub struct ReportArguments {
    /// Directory in which kilocore figure --out has written, or one that has it as `figures`
    #[arg(value_name = "DIR")]
    pub directory: PathBuf,
    /// Overwrite an index.html and a README.md that this command has not written
    #[arg(long)]
    pub force: bool,
}

/// Judges and draws every figure in the directory anew, and writes `index.html` and `README.md` over all of them.
/// Pages of this command are replaced, and other files of these names only if `force` is set.
pub fn report(asked: &ReportArguments) -> Result<Ending, Failure> {
    let directory = &place_of_figures(&asked.directory);
    let mut figures: Vec<(FigureFolder, Regenerated)> = Vec::new();
    for paper in PAPERS {
        let mut own = Vec::new();
        for figure in paper.figures.iter().filter(|figure| !figure.is_summary()) {
            let path = directory.join(figure.folder());
            if path.join(VERDICT).exists() {
                own.push(renewed(FigureFolder { figure, path })?);
            }
        }
        for figure in paper.figures.iter().filter(|figure| figure.is_summary()) {
            own.extend(summed_up(figure, directory, &asked.directory, &own)?);
        }
        figures.extend(own);
    }
    if figures.is_empty() {
        return Err(Failure::refused(format!(
            "{}: no figures; allowed: a directory in which kilocore figure --out has written, or one that has it as figures",
            asked.directory.display()
        )));
    }
    let (page, readme) = (directory.join("index.html"), directory.join("README.md"));
    let own = fs::read_to_string(&readme).is_ok_and(|text| text.starts_with(OWN));
    if (page.exists() || readme.exists()) && !own && !asked.force {
        let found = "the directory has an index.html or a README.md";
        destination::refuse("DIR", directory, found, Existing::Refused(""))?;
    }
    for (folder, done) in &figures {
        folder.draw(done)?;
    }
    let outcomes: Vec<Outcome> = figures.into_iter().map(|(_, done)| done.outcome).collect();
    write_whole(&page, overview_html(&outcomes).as_bytes())?;
    write_whole(&readme, overview_markdown(&outcomes).as_bytes())?;
    let of = |verdict| outcomes.iter().map(|outcome| outcome.count(verdict)).sum::<usize>();
    screen::say(&format!(
        "{} figures: {} statements hold, {} do not hold, {} are not measured. {}\n",
        outcomes.len(),
        of(Verdict::Holds),
        of(Verdict::Fails),
        of(Verdict::NotMeasured),
        page.display()
    ))?;
    Ok(Ending::Good)
}

/// Returns the directory of the figures: `asked` itself, or `figures` in it.
fn place_of_figures(asked: &Path) -> PathBuf {
    let has_figures = |place: &Path| {
        let figures = PAPERS.iter().flat_map(|paper| paper.figures);
        figures.into_iter().any(|figure| place.join(figure.folder()).join(VERDICT).exists())
    };
    let below = asked.join("figures");
    if !has_figures(asked) && has_figures(&below) { below } else { asked.to_owned() }
}

/// Returns the summary `figure` with its folder in `directory`, judged by the records of the other figures of its paper.
/// Returns none if they do not have all of its runs. `asked` is the directory that the command line names.
fn summed_up(
    figure: &'static Figure,
    directory: &Path,
    asked: &Path,
    others: &[(FigureFolder, Regenerated)],
) -> Result<Option<(FigureFolder, Regenerated)>, Failure> {
    let lines = others.iter().flat_map(|(_, done)| &done.lines);
    let records: Vec<RunRecord> =
        lines.flat_map(|line| &line.points).map(|(_, record)| record.clone()).collect();
    let Some((_, first)) = others.first() else { return Ok(None) };
    let effort = first.effort;
    let command = format!("kilocore report {}", asked.display());
    let done = Regenerated::of(figure, effort, &records, &command);
    if done.outcome.measured < done.outcome.runs {
        return Ok(None);
    }
    let folder = FigureFolder::made(figure, directory)?;
    let own = done.lines.iter().flat_map(|line| &line.points);
    folder.keep(&own.map(|(_, record)| record.clone()).collect::<Vec<_>>())?;
    Ok(Some((folder, done)))
}

/// Returns a figure with its folder, judged by its records.
fn renewed(folder: FigureFolder) -> Result<(FigureFolder, Regenerated), Failure> {
    let file = folder.path.join(VERDICT);
    let bad = |error: &dyn std::fmt::Display| {
        Failure::refused(format!("{}: no verdicts of a figure: {error}", file.display()))
    };
    let text = fs::read_to_string(&file).map_err(|error| bad(&error))?;
    let before: Outcome = serde_json::from_str(&text).map_err(|error| bad(&error))?;
    let records = read_json(&folder.path.join(RECORDS))?;
    let figure: &'static Figure = folder.figure;
    let done = Regenerated::of(figure, before.effort, &records, &before.command);
    Ok((folder, done))
}
