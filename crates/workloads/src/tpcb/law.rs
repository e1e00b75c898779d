//! Checks that every balance is the sum of the amounts in the history, and that the history has a row for
//! each commit.

use super::{ACCOUNTS, BALANCE, BRANCHES, HISTORY, TELLERS, TELLERS_OF_BRANCH};
use crate::cell::cell;
use std::collections::BTreeMap;
use txn::{Abort, Access, ColumnSet, Intent, TableId};

/// Number of workers whose rows are searched.
const MAX_WORKERS: u64 = 4096;

/// Number of consecutive rows of a worker at a branch that can be missing. Their account updates were given up, for
/// example because memory had run out.
const MOST_GIVEN_UP: u64 = 16;

/// Returns the key of the row that a worker's account update number `number` (from 0) at a teller of `branch` inserts.
/// The key modulo the number of branches is the branch, so the history of a branch is in its partition.
pub(super) fn history_key(worker: u64, (branch, branches): (u64, u64), number: u64) -> u64 {
    let of_worker = (1 << 40) / branches * branches;
    worker * of_worker + number * branches + branch
}

/// Reads all tables and returns a description of the broken law, if any. `tables` are the tables with
/// balances, with their numbers of rows. `committed` is the number of all account updates that committed.
pub(super) fn check(
    branches: u64,
    tables: &[(TableId, u64)],
    access: &mut dyn Access,
    committed: u64,
) -> Result<Result<(), String>, Abort> {
    let mut found = 0;
    let mut sums = BTreeMap::new();
    for worker in 0..MAX_WORKERS {
        let before = found;
        for home in 0..branches {
            let (mut number, mut given_up) = (0, 0);
            while given_up < MOST_GIVEN_UP {
                let row = history(access, history_key(worker, (home, branches), number))?;
                number += 1;
                let Some([teller, branch, account, amount]) = row else {
                    given_up += 1;
                    continue;
                };
                given_up = 0;
                if branch != home || teller / TELLERS_OF_BRANCH != branch {
                    return Ok(Err(format!("the history has teller {teller} at branch {branch}")));
                }
                for place in [(ACCOUNTS, account), (TELLERS, teller), (BRANCHES, branch)] {
                    let sum = sums.entry(place).or_insert(0i64);
                    *sum = sum.wrapping_add(amount as i64);
                }
                found += 1;
            }
        }
        if found == before && found >= committed {
            break;
        }
    }
    if found != committed {
        return Ok(Err(format!("the history has {found} rows, {committed} updates committed")));
    }
    for &(table, rows) in tables {
        for key in 0..rows {
            let balance = cell(access, table, key, BALANCE, Intent::Read)?;
            let sum = sums.get(&(table, key)).copied().unwrap_or(0);
            if balance != sum {
                let number = table.0;
                return Ok(Err(format!(
                    "row {key} of table {number} has a balance of {balance}, the history adds up to {sum}"
                )));
            }
        }
    }
    Ok(Ok(()))
}

/// Returns the teller, branch, account and amount of a row of the history, if it exists.
fn history(access: &mut dyn Access, key: u64) -> Result<Option<[u64; 4]>, Abort> {
    let mut row = [0; 32];
    if !access.read(HISTORY, key.into(), ColumnSet::first(4), &mut row)? {
        return Ok(None);
    }
    let (words, _) = row.as_chunks::<8>();
    Ok(Some([0, 1, 2, 3].map(|i| u64::from_le_bytes(words[i]))))
}
