//! Every session takes a few locks once, before the database is used.
//!
//! Protocols whose locks have queues give a session the memory for its requests when it first locks. On an
//! exhausted database that would be too late: a session that had never run could not even delete. So each
//! locks some absent rows of a table that nobody sees.

use crate::{
    Error,
    seats::{Seat, create_table},
};
use engine::{Engine, Start};
use machine::Native;
use txn::{Abort, Column, ColumnSet, ColumnType, Intent, TableId, TableSchema};

/// The table of the rehearsal; all others come after it.
pub(crate) const TABLE: TableId = TableId(0);

/// Locks that a transaction can always take.
const LOCKS: u64 = 32;

/// Lets every session rehearse.
pub(crate) fn rehearse(engine: &dyn Engine<Native>, seats: &mut [Seat]) -> Result<(), Error> {
    let schema = TableSchema::new("rehearsal", vec![Column::new("nothing", ColumnType::U64)]);
    create_table(engine, TABLE, &[schema], 0, u64::MAX)?;
    for seat in seats {
        let session = seat.session();
        session.begin(Start { attempt: 0, read_only: false, partitions: &[] });
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
