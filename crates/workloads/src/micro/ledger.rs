//! The ledger of a workload whose transactions check laws themselves: how many of them saw a law broken.
//!
//! A transaction that sees a broken law counts it and commits, so that only consistent views are counted. The ledger is a
//! table with a column for each kind of procedure and a row for each worker.

use txn::{Abort, Access, Column, ColumnSet, ColumnType, Loader, Planned, TableId, TableSchema};

/// Number of rows. Workers beyond this number share rows.
pub(super) const ROWS: u64 = 64;

/// The ledger of one workload.
#[derive(Clone, Copy, Debug)]
pub(super) struct Ledger {
    /// Number of the table.
    pub table: TableId,
    /// Names of the kinds of procedures that check laws.
    pub laws: &'static [&'static str],
}

impl Ledger {
    /// Returns the table.
    pub fn schema(&self) -> TableSchema {
        let column = |name: &&'static str| Column::new(*name, ColumnType::U64);
        TableSchema::new("ledger", self.laws.iter().map(column).collect())
    }

    /// Loads the rows, with no broken law.
    pub fn load(&self, loader: &mut dyn Loader) {
        loader.load_dense(self.table, ROWS, &|_, _| {});
    }

    /// Counts a broken law, in the row of `worker`. `law` is the number of the procedure's kind.
    pub fn count<A: Access + ?Sized>(
        &self,
        access: &mut A,
        worker: usize,
        law: usize,
    ) -> Result<(), Abort> {
        let (row, law, mut bytes) = (worker as u64 % ROWS, ColumnSet::one(law), [0; 8]);
        access.read_for_update(self.table, row.into(), law, &mut bytes)?;
        let seen = u64::from_le_bytes(bytes).wrapping_add(1);
        access.update(self.table, row.into(), law, &seen.to_le_bytes())?;
        Ok(())
    }

    /// Plans the accesses of [`Ledger::count`].
    pub fn plan(&self, worker: usize) -> Planned {
        Planned::write(self.table, worker as u64 % ROWS, ColumnSet::EVERY)
    }

    /// Returns what committed transactions have seen broken, if anything.
    pub fn check(&self, access: &mut dyn Access) -> Result<Result<(), String>, Abort> {
        for (law, name) in self.laws.iter().enumerate() {
            let mut seen = 0;
            for row in 0..ROWS {
                let mut bytes = [0; 8];
                access.read(self.table, row.into(), ColumnSet::one(law), &mut bytes)?;
                seen += u64::from_le_bytes(bytes);
            }
            if seen != 0 {
                return Ok(Err(format!("{seen} committed transactions ({name}) saw a broken law")));
            }
        }
        Ok(Ok(()))
    }
}
