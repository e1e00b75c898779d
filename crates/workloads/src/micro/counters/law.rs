//! Checks the laws that the counters must keep after any serializable run.

use super::TWIN;
use super::{ADDED, BALANCE, BROKEN, COUNT, CountersOptions, LEDGER_ROWS, PAIR_TOTAL, TOKEN};
use crate::cell::cell;
use txn::{Abort, Access, Intent};

/// Returns the value of the token that is loaded at `key`. Tokens differ, so that the loss of any token is
/// detected.
pub(super) fn token(key: u64) -> i64 {
    (key as i64 + 1).wrapping_mul(1_000_003)
}

/// Reads all tables and returns a description of the broken law, if any. `committed` is the number of
/// procedures that committed since loading, including those of the warm-up.
pub(super) fn check(
    options: &CountersOptions,
    access: &mut dyn Access,
    committed: u64,
) -> Result<Result<(), String>, Abort> {
    let (mut added, mut broken) = (0i64, 0i64);
    for row in 0..LEDGER_ROWS {
        added = added.wrapping_add(cell(access, options.ledger(), row, ADDED, Intent::Read)?);
        broken += cell(access, options.ledger(), row, BROKEN, Intent::Read)?;
    }
    if broken != 0 {
        return Ok(Err(format!("{broken} committed transactions saw a broken law")));
    }
    let expected =
        if options.only_increments() { (committed * options.accesses) as i64 } else { added };

    let (mut counted, mut left) = (0i64, 0i64);
    for counter in 0..options.counters {
        let (table, key) = options.place(counter);
        counted = counted.wrapping_add(cell(access, table, key, COUNT, Intent::Read)?);
        let balance = cell(access, table, key, BALANCE, Intent::Read)?;
        if counter % 2 == 0 {
            left = balance;
        } else if left.wrapping_add(balance) != PAIR_TOTAL {
            return Ok(Err(format!(
                "the pair of counters {} and {counter} holds {left} + {balance}, not {PAIR_TOTAL}",
                counter - 1
            )));
        }
    }
    if counted != expected {
        return Ok(Err(format!(
            "the counters add up to {counted}, committed increments to {expected} \
             ({committed} procedures committed)"
        )));
    }
    if options.moves > 0.0 { tokens(options, access) } else { Ok(Ok(())) }
}

fn tokens(options: &CountersOptions, access: &mut dyn Access) -> Result<Result<(), String>, Abort> {
    let mut found = Vec::new();
    for key in 0..options.counters {
        let mut bytes = [0; 8];
        let there = access.read(options.token_table(), key.into(), TOKEN, &mut bytes)?;
        if there {
            found.push(i64::from_le_bytes(bytes));
        }
        let mut twin = bytes;
        if options.split_columns
            && (access.read(options.token_table(), key.into(), TWIN, &mut twin)? != there
                || twin != bytes)
        {
            return Ok(Err(format!("the parts of row {key} of the tokens differ")));
        }
    }
    let number = found.len() as u64;
    if number != options.tokens {
        return Ok(Err(format!("{number} tokens are there, {} were loaded", options.tokens)));
    }
    found.sort_unstable();
    let loaded = (0..options.tokens).map(token);
    match found.into_iter().zip(loaded).find(|(found, loaded)| found != loaded) {
        Some((found, loaded)) => Ok(Err(format!("a token is {found}, {loaded} was loaded"))),
        None => Ok(Ok(())),
    }
}
