//! Implements `kilocore explore --trace` and `--script`: describes step by step how a schedule shows a violation.

use super::{Subject, blocks, replay};
use crate::arguments::ExploreCommand;
use crate::failure::{Ending, Failure};
use crate::screen;
use harness::explore::{Exploration, Script, Story, trace};
use std::thread;
use txn::Workload;
use workloads::{registry, variation::Explorer};

/// Returns a description of the violation in the schedule of `seed`, after shrinking the schedule.
pub(super) fn of_seed(
    subject: &Subject,
    command: &ExploreCommand,
    seed: u64,
) -> Result<String, Failure> {
    Ok(match told(subject, command, seed, None)? {
        Some(story) => shown(&story, subject, command, seed),
        None => format!("  the schedule of seed {seed} goes wrong no more\n"),
    })
}

/// Runs `script` and prints its description.
pub(super) fn of_script(
    subject: &Subject,
    command: &ExploreCommand,
    script: &Script,
) -> Result<Ending, Failure> {
    let Exploration { workers, procedures, .. } = subject.exploration;
    let most = script.procedures.iter().flatten().max().map_or(0, |last| last + 1);
    if script.procedures.len() != workers || most > procedures {
        return Err(Failure::refused(format!(
            "--script '{script}' is of {} workers and {most} procedures; allowed: --workers of them ({workers}), and \
             numbers of procedures below --procedures ({procedures})",
            script.procedures.len(),
        )));
    }
    let seed = command.asked.seed;
    let Some(story) = told(subject, command, seed, Some(script))? else {
        unreachable!("a script is told whatever comes of it")
    };
    let text = shown(&story, subject, command, seed);
    screen::say(&format!("{}\n{text}", subject.name))?;
    let as_it_must = match (story.detector, &subject.must_fail) {
        (None, None) => true,
        (Some(found), Some(by)) => by.contains(&found),
        _ => false,
    };
    Ok(if as_it_must { Ending::Good } else { Ending::Broken })
}

fn shown(story: &Story, subject: &Subject, command: &ExploreCommand, seed: u64) -> String {
    let mut text: String = story.to_string().lines().map(|line| format!("  {line}\n")).collect();
    if let Some(script) = &story.script {
        let which = format!("--seed {seed} --script {script}");
        text.push_str(&format!("  replay with: {}\n", replay(subject, command, &which)));
    }
    text
}

fn told(
    subject: &Subject,
    command: &ExploreCommand,
    seed: u64,
    script: Option<&Script>,
) -> Result<Option<Story>, Failure> {
    let tracing = Tracing { exploration: &subject.exploration, seed, script };
    let Ok(told) = registry::explore(command.workload, subject.form, tracing) else {
        unreachable!("the workload has the form")
    };
    told
}

struct Tracing<'a> {
    exploration: &'a Exploration,
    seed: u64,
    script: Option<&'a Script>,
}

impl Explorer for Tracing<'_> {
    type Output = Result<Option<Story>, Failure>;

    fn explore<W: Workload>(self, of_seed: &(dyn Fn(u64) -> W + Sync)) -> Self::Output {
        // Runs on a thread whose panics count as findings and print no messages.
        let told = thread::scope(|scope| {
            let explorer = thread::Builder::new().name(blocks::THREAD_NAME.into());
            let tell = || trace(of_seed, self.exploration, self.seed, self.script);
            let told = explorer.spawn_scoped(scope, tell).expect("the system gives a thread");
            told.join().expect("it tells what has panicked")
        });
        Ok(told?)
    }
}
