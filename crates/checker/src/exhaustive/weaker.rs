//! Applies the definitions of the weaker levels, by trying all orders of begins and commits.
//!
//! - Read committed: an order of commits exists in which each transaction overwrites the current version, and
//!   reads versions that an earlier transaction left.
//! - Snapshot isolation (Berenson et al. 1995): an order of begins and commits exists in which each
//!   transaction reads the versions that were current at its begin. Of two transactions that overlap, no two
//!   write the same record (the first committer wins).
//! - Strong snapshot isolation: in addition, a transaction that ended before another one began has committed
//!   before that begin.

use super::{
    Executed, State, current, executed, install, reads_others, sees, sees_ranges, well_formed,
};
use crate::certificate::Verdict;
use txn::History;

/// Largest number of transactions that [`snapshot`] accepts.
pub const MAX_SNAPSHOT_TRANSACTIONS: usize = 6;

/// Checks whether the history is read committed.
///
/// # Panics
///
/// Panics if there are more than [`super::MAX_TRANSACTIONS`] transactions.
pub fn read_committed(history: &History) -> Verdict {
    assert!(history.len() <= super::MAX_TRANSACTIONS, "too many transactions for all permutations");
    let transactions = executed(history);
    let right =
        well_formed(history, &transactions, false) && commit(&transactions, 0, &mut Vec::new());
    Verdict::from_passed(right)
}

/// Commits each transaction that can come next, and recurses. `states` keeps every version that a transaction
/// left.
fn commit(transactions: &[Executed<'_>], placed: u32, states: &mut Vec<State>) -> bool {
    if placed.count_ones() as usize == transactions.len() {
        return true;
    }
    (0..transactions.len()).filter(|index| placed & 1 << index == 0).any(|index| {
        let t = &transactions[index];
        let was_left = reads_others(t).all(|r| {
            let initial = State::initial((r.table, r.key));
            // Only the last write of each transaction to the record counts. Earlier writes are intermediate.
            let left = states.iter().enumerate().filter(|(at, state)| {
                let same = |later: &State| {
                    later.record == state.record && later.version.writer() == state.version.writer()
                };
                !states[at + 1..].iter().any(same)
            });
            let mut left = left.map(|(_, state)| state).chain([&initial]);
            left.any(|state| state.record == (r.table, r.key) && state.shows(r))
        });
        let before = states.len();
        let fits =
            was_left && install(t, states) && commit(transactions, placed | 1 << index, states);
        states.truncate(before);
        fits
    })
}

/// Checks whether the history is snapshot isolation. With `strong`, the snapshots must be those at the
/// begins.
///
/// # Panics
///
/// Panics if there are more than [`MAX_SNAPSHOT_TRANSACTIONS`] transactions.
pub fn snapshot(history: &History, strong: bool) -> Verdict {
    assert!(history.len() <= MAX_SNAPSHOT_TRANSACTIONS, "too many transactions for all orders");
    let transactions = executed(history);
    let right = well_formed(history, &transactions, strong)
        && proceed(&transactions, &mut Progress::default(), &mut Vec::new(), strong);
    Verdict::from_passed(right)
}

/// The transactions that have begun and committed so far, with the number of writes that existed at each
/// begin.
#[derive(Default)]
struct Progress {
    begun: [Option<usize>; MAX_SNAPSHOT_TRANSACTIONS],
    committed: [bool; MAX_SNAPSHOT_TRANSACTIONS],
}

fn proceed(
    transactions: &[Executed<'_>],
    progress: &mut Progress,
    states: &mut Vec<State>,
    strong: bool,
) -> bool {
    if progress.committed[..transactions.len()].iter().all(|committed| *committed) {
        return true;
    }
    (0..transactions.len()).any(|index| {
        let t = &transactions[index];
        match progress.begun[index] {
            _ if progress.committed[index] => false,
            None => {
                let earlier = |other: usize| {
                    transactions[other].transaction.end < t.transaction.begin
                        && !progress.committed[other]
                };
                if strong && (0..transactions.len()).any(earlier)
                    || !sees(t, states)
                    || !sees_ranges(t, states)
                {
                    return false;
                }
                progress.begun[index] = Some(states.len());
                let possible = proceed(transactions, progress, states, strong);
                progress.begun[index] = None;
                possible
            }
            Some(snapshot) => {
                let is_first = t.writes.iter().all(|w| {
                    let record = (w.table, w.key);
                    current(states, record).version == current(&states[..snapshot], record).version
                });
                let before = states.len();
                progress.committed[index] = true;
                let possible = is_first
                    && install(t, states)
                    && proceed(transactions, progress, states, strong);
                progress.committed[index] = false;
                states.truncate(before);
                possible
            }
        }
    })
}
