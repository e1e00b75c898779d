//! Checks that commit epochs agree with the serial order.
//!
//! A log that is written epoch by epoch can be cut between two epochs only if no transaction depends on a
//! transaction of a later epoch, anti-dependencies included (Tu et al., SOSP 2013, sections 4.2 and 4.9). A
//! certificate does not show a misplaced epoch, because the version order is correct even then.

use std::collections::BTreeMap;
use txn::{History, TableId, TxnId, Version};

/// A transaction and its epoch.
type Placed = (TxnId, u64);

/// Returns two transactions of which the first must come first although it has the later epoch. Returns
/// `None` if there are no two such transactions. `epoch_of` extracts the epoch from a commit timestamp, if
/// the timestamp contains one.
pub fn against_epochs(
    history: &History,
    epoch_of: impl Fn(u64) -> Option<u64>,
) -> Option<(Placed, Placed)> {
    let mut epochs: BTreeMap<TxnId, u64> = BTreeMap::new();
    // The transaction that overwrote each version of each record.
    let mut successors: BTreeMap<(TableId, u64, Version), TxnId> = BTreeMap::new();
    let all = || {
        history.workers.iter().flat_map(|w| w.transactions.iter().enumerate().map(move |t| (w, t)))
    };
    for (worker, (at, transaction)) in all() {
        if let Some(epoch) = epoch_of(transaction.commit_timestamp) {
            epochs.insert(transaction.id, epoch);
        }
        for write in worker.writes_of(at) {
            successors.insert((write.table, write.key, write.overwritten), transaction.id);
        }
    }
    let reversed = |first: TxnId, second: TxnId| {
        let (a, b) = (*epochs.get(&first)?, *epochs.get(&second)?);
        (a > b).then_some(((first, a), (second, b)))
    };
    for (worker, (at, transaction)) in all() {
        let own = transaction.id;
        for write in worker.writes_of(at) {
            if let Some(found) = reversed(write.overwritten.writer(), own) {
                return Some(found);
            }
        }
        for read in worker.reads_of(at) {
            let after = successors.get(&(read.table, read.key, read.version));
            let after = after.filter(|after| **after != own);
            let found = after.and_then(|after| reversed(own, *after));
            if let Some(found) = found.or_else(|| reversed(read.version.writer(), own)) {
                return Some(found);
            }
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use txn::{Digest, Read, Transaction, WorkerHistory, Write, WriteKind};

    /// Returns a history in which one worker reads a version that the other overwrites.
    fn history(reader: u64, writer: u64) -> History {
        let transaction = |worker, commit_timestamp| Transaction {
            id: TxnId::new(worker, 1),
            begin: 0,
            end: 1,
            commit_timestamp,
            first_read: 0,
            first_write: 0,
            first_scan: 0,
        };
        let (table, key, overwritten) = (TableId(0), 7, Version::INITIAL);
        let reads =
            vec![Read { table, key, version: overwritten, present: true, values: Digest::UNKNOWN }];
        let version = Version::new(TxnId::new(1, 1), 1);
        let writes = vec![Write {
            table,
            key,
            version,
            overwritten,
            kind: WriteKind::Update,
            values: Digest::UNKNOWN,
        }];
        let first = WorkerHistory {
            transactions: vec![transaction(0, reader)],
            reads,
            ..WorkerHistory::default()
        };
        let second = WorkerHistory {
            transactions: vec![transaction(1, writer)],
            writes,
            ..WorkerHistory::default()
        };
        History::of(vec![first, second], vec![])
    }

    #[test]
    fn a_reader_must_not_bear_a_later_epoch_than_whoever_overwrites() {
        let found = against_epochs(&history(5, 4), Some);
        assert_eq!(found, Some(((TxnId::new(0, 1), 5), (TxnId::new(1, 1), 4))));
        assert_eq!(against_epochs(&history(4, 4), Some), None);
        assert_eq!(against_epochs(&history(5, 4), |_| None), None);
    }
}
