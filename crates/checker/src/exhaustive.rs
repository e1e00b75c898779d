//! Applies the definition itself: tries all serial orders. It serves tiny histories and tests [`check`].
//!
//! [`check`]: crate::check
//!
//! A history is serializable if its transactions can be executed one after another in some order such that
//! they read exactly the recorded versions and overwrite exactly the recorded versions (view equivalence with
//! the recorded version order; Bernstein, Hadzilacos & Goodman 1987).

mod weaker;

pub use weaker::{MAX_SNAPSHOT_TRANSACTIONS, read_committed, snapshot};

use crate::certificate::{Requirements, Verdict};
use crate::scans::{disorder, misses};
use txn::{
    Digest, History, Read, Scan, TableId, Transaction, TxnId, Version, WorkerHistory, Write,
    WriteKind,
};

/// Largest number of transactions that [`check`] accepts: 9! orders.
pub const MAX_TRANSACTIONS: usize = 9;

/// Checks whether a serial order exists, and whether a serial order that keeps real time exists. Unlike the
/// fast check, this function gives no reasons.
///
/// # Panics
///
/// Panics if there are more than [`MAX_TRANSACTIONS`] transactions.
pub fn check(history: &History, requirements: Requirements) -> (Verdict, Verdict) {
    assert!(history.len() <= MAX_TRANSACTIONS, "too many transactions for all permutations");
    let transactions = executed(history);
    let verdict = |asked, strict| match asked {
        true => Verdict::from_passed(
            well_formed(history, &transactions, strict)
                && extend(&transactions, 0, &mut Vec::new(), &mut Vec::new(), strict),
        ),
        false => Verdict::NotChecked,
    };
    (verdict(requirements.serializable, false), verdict(requirements.strict, true))
}

/// Returns the transactions of a history.
fn executed(history: &History) -> Vec<Executed<'_>> {
    let of = |worker| {
        let worker: &WorkerHistory = worker;
        worker.transactions.iter().enumerate().map(move |(index, t)| Executed {
            transaction: t,
            reads: worker.reads_of(index),
            writes: worker.writes_of(index),
            scans: worker.scans_of(index),
            worker,
        })
    };
    history.workers.iter().flat_map(of).collect()
}

struct Executed<'a> {
    transaction: &'a Transaction,
    reads: &'a [Read],
    writes: &'a [Write],
    scans: &'a [Scan],
    worker: &'a WorkerHistory,
}

/// State of a record: its version, and whether it is present, if that is known.
#[derive(Clone, Copy)]
struct State {
    record: (TableId, u64),
    version: Version,
    present: Option<bool>,
    values: Digest,
}

impl State {
    /// Returns the state that the loader left.
    fn initial(record: (TableId, u64)) -> State {
        State { record, version: Version::INITIAL, present: None, values: Digest::LOADED }
    }

    /// Returns true if `read` is consistent with this state.
    fn shows(&self, read: &Read) -> bool {
        self.version == read.version
            && self.present.is_none_or(|present| present == read.present)
            && self.values.agrees_with(read.values)
    }
}

fn well_formed(history: &History, transactions: &[Executed<'_>], strict: bool) -> bool {
    let mut ids: Vec<TxnId> = transactions.iter().map(|t| t.transaction.id).collect();
    ids.sort_unstable();
    ids.windows(2).all(|pair| pair[0] != pair[1])
        && starts_alike(history, transactions)
        && history.workers.iter().all(|worker| worker.unmatched.is_empty())
        && transactions.iter().all(|t| {
            let id = t.transaction.id;
            id.worker().is_some()
                && t.writes.iter().all(|w| w.version.writer() == id)
                && (!strict || t.transaction.begin <= t.transaction.end)
                && t.scans.iter().all(|scan| disorder(t.worker, scan).is_none())
                && t.scans.iter().all(|scan| {
                    loaded(transactions).all(|(table, key)| !misses(t.worker, scan, table, key))
                })
        })
}

/// Returns true if all transactions that accessed a record before its first write found the same state, and
/// if every scan lists the loaded rows.
fn starts_alike(history: &History, transactions: &[Executed<'_>]) -> bool {
    let met: Vec<((TableId, u64), bool)> = transactions.iter().flat_map(first_versions).collect();
    let was_loaded = |(table, key)| Some(history.loaded_of(table)?.contains(key));
    let scans = |t: &Executed<'_>| {
        t.scans.iter().all(|scan| {
            let loaded = history.loaded_of(scan.table).into_iter();
            let mut keys = loaded.flat_map(|loaded| loaded.within(scan.range));
            keys.all(|key| !misses(t.worker, scan, scan.table, key))
        })
    };
    transactions.iter().all(scans)
        && met.iter().all(|(record, present)| {
            was_loaded(*record).is_none_or(|was| was == *present)
                && met.iter().all(|other| other.0 != *record || other.1 == *present)
        })
}

/// Returns the records that `t` accessed in their initial version, and whether each had a row.
fn first_versions(t: &Executed<'_>) -> impl Iterator<Item = ((TableId, u64), bool)> {
    let reads = t.reads.iter().filter(|r| r.version == Version::INITIAL);
    let tells = |w: &&Write| w.overwritten == Version::INITIAL && w.version.nth() == 1;
    let writes = t.writes.iter().filter(tells);
    let reads = reads.map(|r| ((r.table, r.key), r.present));
    reads.chain(writes.map(|w| ((w.table, w.key), w.kind != WriteKind::Insert)))
}

/// Appends each transaction that can come next, and recurses. Returns true if all transactions found a place.
fn extend(
    transactions: &[Executed<'_>],
    placed: u32,
    order: &mut Vec<usize>,
    states: &mut Vec<State>,
    strict: bool,
) -> bool {
    if order.len() == transactions.len() {
        return true;
    }
    (0..transactions.len()).any(|index| {
        let t = &transactions[index];
        let remaining = |other: usize| placed & 1 << other == 0;
        let ended_before = |other: usize| {
            remaining(other) && transactions[other].transaction.end < t.transaction.begin
        };
        if !remaining(index) || strict && (0..transactions.len()).any(ended_before) {
            return false;
        }
        let before = states.len();
        order.push(index);
        let extended =
            execute(t, states) && extend(transactions, placed | 1 << index, order, states, strict);
        states.truncate(before);
        order.pop();
        extended
    })
}

/// Returns the keys that had a row before the run, as far as the history shows.
fn loaded<'t>(transactions: &'t [Executed<'_>]) -> impl Iterator<Item = (TableId, u64)> + 't {
    transactions.iter().flat_map(|t| {
        let reads = t.reads.iter().filter(|r| r.present && r.version == Version::INITIAL);
        let writes = t
            .writes
            .iter()
            .filter(|w| w.overwritten == Version::INITIAL && w.kind != WriteKind::Insert);
        reads.map(|r| (r.table, r.key)).chain(writes.map(|w| (w.table, w.key)))
    })
}

fn current(states: &[State], record: (TableId, u64)) -> State {
    let state = states.iter().rev().find(|s| s.record == record);
    state.copied().unwrap_or(State::initial(record))
}

/// Returns the reads of `t` that name versions of other writers.
fn reads_others<'t>(t: &Executed<'t>) -> impl Iterator<Item = &'t Read> {
    let id = t.transaction.id;
    t.reads.iter().filter(move |r| r.version.writer() != id)
}

/// Returns true if `t`, executed in this state, reads what it read in the history.
fn sees(t: &Executed<'_>, states: &[State]) -> bool {
    reads_others(t).all(|r| current(states, (r.table, r.key)).shows(r))
}

/// Returns true if every key that a scan of `t` does not list has never had a row so far. Rows that the
/// transaction itself inserts later are not in `states` yet.
fn sees_ranges(t: &Executed<'_>, states: &[State]) -> bool {
    let missed = |state: &State, scan| misses(t.worker, scan, state.record.0, state.record.1);
    t.scans.iter().all(|scan| !states.iter().any(|state| missed(state, scan)))
}

/// Installs the writes of `t`. Returns false if they would not overwrite the recorded versions.
fn install(t: &Executed<'_>, states: &mut Vec<State>) -> bool {
    t.writes.iter().all(|w| {
        let before = current(states, (w.table, w.key));
        let was_present = w.kind != WriteKind::Insert;
        let possible = w.version.nth() != 1 || before.present.is_none_or(|p| p == was_present);
        let present = Some(w.kind != WriteKind::Delete);
        let (record, version, values) = ((w.table, w.key), w.version, w.values);
        states.push(State { record, version, present, values });
        before.version == w.overwritten && possible
    })
}

/// Executes `t`. Returns false if it would not read or overwrite the recorded versions.
fn execute(t: &Executed<'_>, states: &mut Vec<State>) -> bool {
    sees(t, states) && sees_ranges(t, states) && install(t, states)
}
