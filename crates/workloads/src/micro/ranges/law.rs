//! Checks the laws that the ranges must keep after any serializable run.

use super::{CLAIMS, LEDGER, QUEUE, RangesOptions, VALUE, WEIGHTS, number_at};
use std::ops::ControlFlow;
use txn::{Abort, Access, Direction, KeyRange, TableId};

/// Returns the rows of a range, in the requested order.
pub(super) fn rows<A: Access + ?Sized>(
    access: &mut A,
    table: TableId,
    range: KeyRange,
    direction: Direction,
) -> Result<Vec<(u64, i64)>, Abort> {
    first_rows(access, table, range, direction, usize::MAX)
}

/// Returns the first `most` rows of a range, in the requested order.
pub(super) fn first_rows<A: Access + ?Sized>(
    access: &mut A,
    table: TableId,
    range: KeyRange,
    direction: Direction,
    most: usize,
) -> Result<Vec<(u64, i64)>, Abort> {
    let mut rows = Vec::new();
    access.scan(table, range.into(), direction, VALUE, &mut |key, value| {
        let value = value.try_into().expect("the column is as long as its type");
        rows.push((key.number(), i64::from_le_bytes(value)));
        if rows.len() < most { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
    })?;
    Ok(rows)
}

/// Reads all tables. Returns a description of the broken law, if any.
pub(super) fn check(
    options: &RangesOptions,
    access: &mut dyn Access,
) -> Result<Result<(), String>, Abort> {
    if let Err(broken) = LEDGER.check(access)? {
        return Ok(Err(broken));
    }
    let weights = rows(access, WEIGHTS, KeyRange::ALL, Direction::Forward)?;
    let (sum, total) = (weights.iter().map(|(_, weight)| weight).sum::<i64>(), options.total());
    if sum != total {
        return Ok(Err(format!("the weights add up to {sum}, {total} were loaded")));
    }
    if let Some((key, weight)) = weights.iter().find(|(_, weight)| *weight <= 0) {
        return Ok(Err(format!("the weight at {key} is {weight}, and should be gone")));
    }
    let claims = rows(access, CLAIMS, KeyRange::ALL, Direction::Forward)?;
    let doubled =
        claims.windows(2).find(|pair| pair[0].0 / options.width == pair[1].0 / options.width);
    if let Some(pair) = doubled {
        return Ok(Err(format!("{} and {} are in one range of claims", pair[0].0, pair[1].0)));
    }
    let mut queue = rows(access, QUEUE, KeyRange::ALL, Direction::Backward)?;
    queue.reverse();
    Ok(match queue_is_right(&queue) {
        true => Ok(()),
        false => Err(format!("the queue has gaps or wrong numbers: {queue:?}")),
    })
}

/// Returns true if the queue has rows, its keys have no gaps, and each row holds the number for its key.
pub(super) fn queue_is_right(rows: &[(u64, i64)]) -> bool {
    !rows.is_empty()
        && rows.windows(2).all(|pair| pair[0].0 + 1 == pair[1].0)
        && rows.iter().all(|(key, number)| *number == number_at(*key))
}
