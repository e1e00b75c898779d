//! Lets every session acquire a few locks once, before the database is used.
//!
//! Protocols with queue locks allocate the memory for a session's lock requests when the session first acquires
//! a lock. If the database's memory were exhausted by then, a session that had never run could not even delete
//! a row. So every session locks some absent rows of an internal table when the database is opened.

use crate::{
    Error,
    seats::{Seat, create_table},
};
use engine::{Engine, Start};
use machine::Native;
use txn::{Abort, Column, ColumnSet, ColumnType, Intent, TableId, TableSchema};

/// Table of the rehearsal. Users cannot see it. All other tables have larger numbers.
pub(crate) const TABLE: TableId = TableId(0);

/// Number of locks that a transaction can always acquire.
const LOCKS: u64 = 32;

/// Lets every session acquire [`LOCKS`] locks and roll back.
pub(crate) fn rehearse(engine: &dyn Engine<Native>, seats: &mut [Seat]) -> Result<(), Error> {
    let schema = TableSchema::new("rehearsal", vec![Column::new("nothing", ColumnType::U64)]);
    create_table(engine, TABLE, &[schema], 0, u64::MAX)?;
    for seat in seats {
        let session = seat.session();
        session.begin(Start::default());
        let locked: Result<(), Abort> = (0..LOCKS).try_for_each(|key| {
            session
                .read_with(TABLE, key.into(), ColumnSet::NONE, Intent::Update, &mut [])
                .map(|_| ())
        });
        session.rollback();
        locked?;
    }
    Ok(())
}
