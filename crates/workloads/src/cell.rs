//! Accesses integers in rows that were loaded and are never deleted.

use txn::{Abort, Access, ColumnSet, Intent, TableId};

/// Reads one integer of a row that was loaded and is never deleted.
pub(crate) fn cell<A: Access + ?Sized>(
    access: &mut A,
    table: TableId,
    key: u64,
    column: ColumnSet,
    intent: Intent,
) -> Result<i64, Abort> {
    let mut bytes = [0; 8];
    let found = access.read_with(table, key.into(), column, intent, &mut bytes)?;
    check(found, table, key);
    Ok(i64::from_le_bytes(bytes))
}

#[inline]
fn check(found: bool, table: TableId, key: u64) {
    assert!(found, "row {key} of table {} was loaded and never deleted, yet is not found", table.0);
}

/// Adds `amount` to one integer of a row that was loaded and is never deleted, without returning its value.
pub(crate) fn increase<A: Access + ?Sized>(
    access: &mut A,
    table: TableId,
    key: u64,
    column: ColumnSet,
    amount: i64,
) -> Result<(), Abort> {
    check(access.add(table, key.into(), column, &amount.to_le_bytes())?, table, key);
    Ok(())
}

/// Adds `amount` to one integer of a row that was loaded and is never deleted. Returns the previous value.
pub(crate) fn add<A: Access + ?Sized>(
    access: &mut A,
    table: TableId,
    key: u64,
    column: ColumnSet,
    amount: i64,
    intent: Intent,
) -> Result<i64, Abort> {
    let before = cell(access, table, key, column, intent)?;
    access.update(table, key.into(), column, &before.wrapping_add(amount).to_le_bytes())?;
    Ok(before)
}
