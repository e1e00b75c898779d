//! Writes the overview of all figures in a directory.

use super::folder::VERDICT;
use crate::destination::{self, Existing};
use crate::failure::{Ending, Failure};
use crate::screen;
use experiments::figures::report::{Outcome, overview_html, overview_markdown};
use experiments::figures::{PAPERS, Verdict};
use harness::run_record::write_whole;
use std::fs;
use std::path::Path;

/// First words of a README.md that this command has written.
const OWN: &str = "<!-- Written by `kilocore figure --index`.";

/// Writes `index.html` and `README.md` into `directory`. Overviews of this command are replaced; other files of these
/// names only if `force` is set.
pub fn index(directory: &Path, force: bool) -> Result<Ending, Failure> {
    let mut outcomes = Vec::new();
    for figure in PAPERS.iter().flat_map(|paper| paper.figures) {
        let file = directory.join(figure.folder()).join(VERDICT);
        if !file.exists() {
            continue;
        }
        let bad = |error: &dyn std::fmt::Display| {
            Failure::refused(format!("{}: no verdicts of a figure: {error}", file.display()))
        };
        let text = fs::read_to_string(&file).map_err(|error| bad(&error))?;
        outcomes.push(serde_json::from_str::<Outcome>(&text).map_err(|error| bad(&error))?);
    }
    if outcomes.is_empty() {
        return Err(Failure::refused(format!(
            "--index {}: no figures; allowed: a directory in which kilocore figure --out has written",
            directory.display()
        )));
    }
    let (page, readme) = (directory.join("index.html"), directory.join("README.md"));
    let own = fs::read_to_string(&readme).is_ok_and(|text| text.starts_with(OWN));
    if (page.exists() || readme.exists()) && !own && !force {
        let found = "the directory has an index.html or a README.md";
        destination::refuse("--index", directory, found, Existing::Refused(""))?;
    }
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
