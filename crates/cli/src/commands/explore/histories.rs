//! Implements `kilocore explore --histories`: writes the histories of schedules for another checker, with this
//! project's verdicts.

use super::{Subject, blocks};
use crate::arguments::ExploreCommand;
use crate::destination::{self, Existing};
use crate::failure::{Ending, Failure};
use crate::{interrupt, screen};
use checker::export::{Format, export};
use checker::{Level, Requirements, Verdict};
use harness::explore::{Exploration, histories};
use std::fs::{self, File};
use std::io::Write;
use std::ops::ControlFlow;
use std::path::Path;
use std::thread;
use txn::{History, Workload};
use workloads::{registry, variation::Explorer};

/// Name of the file of this project's verdicts, with one line per history.
const VERDICTS: &str = "verdicts.jsonl";

/// Writes the histories of all subjects into `folder`.
pub(super) fn write(
    subjects: &[Subject],
    command: &ExploreCommand,
    folder: &Path,
) -> Result<Ending, Failure> {
    let format: Format = command
        .asked
        .history_format
        .parse()
        .map_err(|error| Failure::refused(format!("--history-format: {error}")))?;
    if !destination::files(folder).is_empty() {
        let existing = Existing::forced(command.asked.force);
        destination::refuse("--histories", folder, "the folder has files", existing)?;
    }
    let failed = |error| Failure::refused(format!("--histories {}: {error}", folder.display()));
    interrupt::listen()?;
    super::silence_explorers();
    fs::create_dir_all(folder).map_err(failed)?;
    let mut verdicts = File::create(folder.join(VERDICTS)).map_err(failed)?;
    for subject in subjects {
        let mut written = 0;
        let mut error = None;
        let mut visit = |seed: u64, history: &History| {
            match one(history, format, (folder, subject.name, seed), &mut verdicts) {
                Ok(()) => written += 1,
                Err(failure) => error = Some(failure),
            }
            match error.is_some() || interrupt::requested() {
                true => ControlFlow::Break(()),
                false => ControlFlow::Continue(()),
            }
        };
        let all = Histories { exploration: &subject.exploration, visit: &mut visit };
        let Ok(done) = registry::explore(command.workload, subject.form, all) else {
            unreachable!("the workload has the form")
        };
        done?;
        if let Some(error) = error {
            return Err(failed(error));
        }
        screen::say(&format!("{}: {written} histories in {}\n", subject.name, folder.display()))?;
        if interrupt::requested() {
            return Ok(Ending::Interrupted);
        }
    }
    Ok(Ending::Good)
}

/// Writes one history, if the format can represent it, and this project's verdicts on it.
fn one(
    history: &History,
    format: Format,
    (folder, name, seed): (&Path, &str, u64),
    verdicts: &mut File,
) -> std::io::Result<()> {
    let ending = if format == Format::Dbcop { "json" } else { "edn" };
    let file = format!("{name}-{seed}.{ending}");
    let exported = export(history, format);
    if let Ok(text) = &exported {
        fs::write(folder.join(&file), text)?;
    }
    let certificate = checker::check(history, Requirements::ALL);
    let said = |level: Level| match certificate.verdict(level) {
        Verdict::Pass => "pass",
        Verdict::Fail => "fail",
        Verdict::NotChecked => "not checked",
    };
    writeln!(
        verdicts,
        "{{\"file\": \"{file}\", \"written\": {}, \"snapshot\": \"{}\", \"serializable\": \"{}\", \"strict\": \"{}\"}}",
        exported.is_ok(),
        said(Level::Snapshot),
        said(Level::Serializable),
        said(Level::Strict),
    )
}

type Visit<'v> = dyn FnMut(u64, &History) -> ControlFlow<()> + Send + 'v;

struct Histories<'a, 'v> {
    exploration: &'a Exploration,
    visit: &'a mut Visit<'v>,
}

impl Explorer for Histories<'_, '_> {
    type Output = Result<(), Failure>;

    fn explore<W: Workload>(self, of_seed: &(dyn Fn(u64) -> W + Sync)) -> Self::Output {
        // Runs on a thread whose panics count as findings and print no messages.
        thread::scope(|scope| {
            let explorer = thread::Builder::new().name(blocks::THREAD_NAME.into());
            let run = || histories(of_seed, self.exploration, self.visit);
            let run = explorer.spawn_scoped(scope, run).expect("the system gives a thread");
            run.join().expect("panics in schedules are caught")
        })?;
        Ok(())
    }
}
