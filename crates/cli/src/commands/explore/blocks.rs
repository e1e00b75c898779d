//! Distributes seeds in blocks to two threads. The result is the same as if one thread had tried all seeds in order.

use crate::failure::Failure;
use crate::interrupt;
use harness::explore::{self, Exploration, Explorations};
use harness::run::HarnessError;
use indicatif::ProgressBar;
use machine::Word;
use machine::cold::Mutex;
use std::thread;
use txn::Workload;

/// Name of the threads that explore.
pub const THREAD_NAME: &str = "explorer";

/// Number of schedules in a block. It is large enough that the cost of starting a block is negligible.
const BLOCK: u64 = 512;

/// Next block to hand out, and the results so far.
#[derive(Default)]
struct Work {
    next: u64,
    /// The first block with a finding. Later blocks are not needed.
    failed: Option<u64>,
    done: Vec<(u64, Explorations)>,
    error: Option<HarnessError>,
}

/// Explores all seeds. The finding, if any, is that of the lowest failing seed. The counts cover the seeds up to
/// it.
pub fn explore<W: Workload>(
    workload: &(dyn Fn(u64) -> W + Sync),
    exploration: &Exploration,
    bar: &ProgressBar,
) -> Result<Explorations, Failure> {
    let blocks = exploration.schedules.div_ceil(BLOCK);
    let work = Mutex::new(Work::default());
    let explorers = thread::available_parallelism().map_or(1, |n| n.get().min(2));
    thread::scope(|scope| {
        for _ in 0..explorers.min(blocks as usize) {
            let explorer = || explorer(workload, exploration, bar, &work);
            let named = thread::Builder::new().name(THREAD_NAME.into());
            named.spawn_scoped(scope, explorer).expect("the system gives a thread");
        }
    });
    let mut work = work.into_inner();
    if let Some(error) = work.error {
        return Err(error.into());
    }
    work.done.sort_by_key(|(block, _)| *block);
    let counted = work.done.into_iter().filter(|(at, _)| work.failed.is_none_or(|f| *at <= f));
    let mut total =
        Explorations { schedules: 0, operations: 0, commits: 0, aborts: 0, finding: None };
    for (_, outcome) in counted {
        total.schedules += outcome.schedules;
        total.operations += outcome.operations;
        total.commits += outcome.commits;
        total.aborts += outcome.aborts;
        total.finding = total.finding.or(outcome.finding);
    }
    Ok(total)
}

/// Explores blocks until none are left or needed.
fn explorer<W: Workload>(
    workload: &(dyn Fn(u64) -> W + Sync),
    exploration: &Exploration,
    bar: &ProgressBar,
    work: &Mutex<Work>,
) {
    loop {
        let block = {
            let mut work = work.lock();
            let first = work.next * BLOCK;
            let over = first >= exploration.schedules || work.failed.is_some();
            if over || work.error.is_some() || interrupt::requested() {
                return;
            }
            work.next += 1;
            work.next - 1
        };
        let first = block * BLOCK;
        let part = Exploration {
            first_seed: exploration.first_seed.wrapping_add(first),
            schedules: BLOCK.min(exploration.schedules - first),
            ..exploration.clone()
        };
        let stop = Word::new(0);
        let mut progress = |_: &Explorations| {
            bar.inc(1);
            if interrupt::requested() || work.lock().failed.is_some_and(|failed| failed < block) {
                stop.poke(1);
            }
        };
        let outcome = explore::explore(workload, &part, &stop, &mut progress);
        let mut work = work.lock();
        match outcome {
            Ok(outcome) => {
                if outcome.finding.is_some() {
                    work.failed = Some(work.failed.map_or(block, |known| known.min(block)));
                }
                work.done.push((block, outcome));
            }
            Err(error) => work.error = Some(error),
        }
    }
}
