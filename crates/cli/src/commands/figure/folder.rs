//! The folder of one figure: its files, and what happens to those that exist.

use super::FigureArguments;
use crate::destination::{self, Existing};
use crate::failure::Failure;
use experiments::figures::Figure;
use experiments::figures::report::{Regenerated, page};
use harness::run_record::{RunRecord, check_writable, read_json, to_json, write_whole};
use std::fs;
use std::path::{Path, PathBuf};

/// File of the outcome.
pub const VERDICT: &str = "verdict.json";
/// File of the raw records.
pub const RECORDS: &str = "records.json";

/// Folder of a figure.
pub struct FigureFolder {
    /// The figure.
    pub figure: &'static Figure,
    /// Path of the folder.
    pub path: PathBuf,
}

impl FigureFolder {
    /// Creates the folder in `out` and checks that its files can be written and that none is overwritten by mistake.
    /// Figures in the default folder are continued.
    pub fn checked(
        figure: &'static Figure,
        out: &Path,
        asked: &FigureArguments,
    ) -> Result<FigureFolder, Failure> {
        let folder = FigureFolder::made(figure, out)?;
        let files = folder.files();
        let own = read_json(&folder.path.join(RECORDS)).is_ok();
        let replaced = asked.force || (own && (asked.resume || asked.out.is_none()));
        if files.iter().any(|file| file.exists()) && !replaced {
            let (found, other) = match own {
                true => ("the folder has a figure", "--resume to continue it"),
                false => ("the folder has files of these names that are no figure", ""),
            };
            destination::refuse("--out", &folder.path, found, Existing::Refused(other))?;
        }
        for file in &files {
            check_writable(file)?;
        }
        Ok(folder)
    }

    /// Creates the folder in `out`, if it does not exist.
    pub fn made(figure: &'static Figure, out: &Path) -> Result<FigureFolder, Failure> {
        let path = out.join(figure.folder());
        fs::create_dir_all(&path).map_err(|error| {
            Failure::refused(format!("{}: cannot be made a folder: {error}", path.display()))
        })?;
        Ok(FigureFolder { figure, path })
    }

    fn files(&self) -> [PathBuf; 5] {
        [RECORDS, "figure.svg", "figure.png", "index.html", VERDICT]
            .map(|name| self.path.join(name))
    }

    /// Writes the records that exist so far. After an error the file keeps its previous contents.
    pub fn keep(&self, records: &[RunRecord]) -> Result<(), Failure> {
        Ok(write_whole(&self.path.join(RECORDS), to_json(records).as_bytes())?)
    }

    /// Writes all files.
    pub fn write(&self, records: &[RunRecord], done: &Regenerated) -> Result<(), Failure> {
        self.keep(records)?;
        self.draw(done)
    }

    /// Writes what follows from the records: picture, page and verdicts.
    pub fn draw(&self, done: &Regenerated) -> Result<(), Failure> {
        let [_, svg, png, html, verdict] = self.files();
        let picture = done.picture();
        write_whole(&svg, picture.to_svg().as_bytes())?;
        write_whole(&png, &picture.to_png())?;
        write_whole(&html, page(done).as_bytes())?;
        write_whole(&verdict, done.outcome.to_json().as_bytes())?;
        Ok(())
    }
}

/// Returns the records of all figures in `out`. Figures share runs. Files that cannot be read are left out.
pub fn all_records(out: &Path) -> Vec<RunRecord> {
    let mut folders = destination::files(out);
    folders.sort();
    let files = folders.iter().map(|folder| out.join(folder).join(RECORDS));
    files.filter_map(|file| read_json(&file).ok()).flatten().collect()
}
