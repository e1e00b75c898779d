//! Defines the columns of the records: which bytes a procedure needs, and which never change.
//!
//! In DBx1000's order entry and payment, these are W_TAX and C_DISCOUNT, which never change, and the names, sums and
//! counters of a record, which lie on at most two lines. The rest of a record is moved only by an access that copies it
//! whole.

use txn::{Column, ColumnSet, ColumnType};

/// Largest number of bytes of a record that procedures touch. They lie on at most two lines.
pub(super) const TOUCHED_BYTES: u64 = 72;

/// Bytes of the constant column of warehouses and customers: W_TAX, C_DISCOUNT.
pub(super) const CONSTANT_BYTES: u64 = 8;

/// The constant column of warehouses and customers.
pub(super) const CONSTANT: ColumnSet = ColumnSet::one(0);

/// The column of warehouses and customers that payments change.
pub(super) const CHANGED: ColumnSet = ColumnSet::one(1);

/// Largest number of bytes that procedures touch on the first line of a record.
const NEAR_BYTES: u64 = 48;

/// The column of other records that procedures touch on the first line.
pub(super) const NEAR: ColumnSet = ColumnSet::one(0);

/// Returns the columns of a record of `bytes` bytes: those that procedures touch, on the first line and behind it, and the
/// rest.
pub(super) fn of(bytes: u64) -> Vec<Column> {
    let (near, touched) = (near(bytes).1, bytes.min(TOUCHED_BYTES));
    columns(&[("near", near), ("far", touched - near), ("rest", bytes - touched)])
}

/// Returns what procedures touch on the first line of a record of `bytes` bytes: the column, and the number of its bytes.
pub(super) fn near(bytes: u64) -> (ColumnSet, u64) {
    (NEAR, bytes.min(NEAR_BYTES))
}

/// Returns all that procedures touch of a record of `bytes` bytes.
pub(super) fn touched(bytes: u64) -> (ColumnSet, u64) {
    match bytes <= NEAR_BYTES {
        true => near(bytes),
        false => (NEAR.with(ColumnSet::one(1)), bytes.min(TOUCHED_BYTES)),
    }
}

/// Returns the columns of a record of `bytes` bytes that has a constant column.
pub(super) fn of_partly_constant(bytes: u64) -> Vec<Column> {
    let changed = bytes.min(TOUCHED_BYTES) - CONSTANT_BYTES;
    let rest = bytes - CONSTANT_BYTES - changed;
    columns(&[("constant", CONSTANT_BYTES), ("changed", changed), ("rest", rest)])
}

fn columns(of: &[(&str, u64)]) -> Vec<Column> {
    let given = of.iter().filter(|(_, bytes)| *bytes > 0);
    given.map(|(name, bytes)| Column::new(*name, ColumnType::Bytes(*bytes as u32))).collect()
}
