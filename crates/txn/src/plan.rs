//! Accesses that a procedure announces before it runs.

use crate::{ColumnSet, Intent, TableId};

/// An access that a drawn procedure will make: the row, the columns, and whether it will write them.
///
/// Only rows whose keys are numbers can be planned. The row can be absent: a row to insert is planned as a write of all
/// its columns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Planned {
    /// Table of the row.
    pub table: TableId,
    /// Key of the row.
    pub key: u64,
    /// Columns that the procedure will access. They matter where a row has two parts
    /// ([`crate::TableSchema::with_hot_columns`]).
    pub columns: ColumnSet,
    /// The purpose of the access: to read the row or to write it.
    pub intent: Intent,
}

impl Planned {
    /// Plans a read of `columns`.
    pub const fn read(table: TableId, key: u64, columns: ColumnSet) -> Planned {
        Planned { table, key, columns, intent: Intent::Read }
    }

    /// Plans an update of `columns`.
    pub const fn write(table: TableId, key: u64, columns: ColumnSet) -> Planned {
        Planned { table, key, columns, intent: Intent::Update }
    }

    /// Plans an insert or a delete.
    pub const fn whole(table: TableId, key: u64) -> Planned {
        Planned::write(table, key, ColumnSet::EVERY)
    }
}
