//! Reads of one row that are transactions of their own.

use crate::{AsKey, ColumnValue, Database, Error, Field, Row, Table, TableRow};

impl Database {
    /// Returns the row `key`, or `None` if there is none, in a transaction of its own.
    ///
    /// The result is that of `db.read_only(|tx| tx.get(table, key))`, and so are the errors. It takes less time under protocols
    /// that validate rows one by one (SILO, the default, TICTOC, OCC and MOCC): one row that was read undisturbed is valid, so nothing
    /// is noted and nothing is validated. It is not faster under other protocols, for keys of bytes, for rows that are not
    /// there, and in tables with [hot columns](crate::TableBuilder::hot).
    ///
    /// Two calls are two transactions: what they return need not have been true at the same moment.
    ///
    /// ```
    /// # use kilocore::{ColumnType::U64, Database, Error, Options};
    /// # let db = Database::open(Options::default())?;
    /// let purse = db.table("purse").column("coins", U64).create()?;
    /// let coins = purse.field::<u64>("coins")?;
    /// db.transact(|tx| tx.insert(&purse, 7, &[100u64.into()]))?;
    /// assert_eq!(db.get_field(coins, 7)?, Some(100));
    /// assert_eq!(db.get(&purse, 7)?.expect("inserted").get::<u64>("coins")?, 100);
    /// assert!(db.get(&purse, 8)?.is_none());
    /// # Ok::<(), Error>(())
    /// ```
    #[inline]
    pub fn get<'r>(&self, table: &'r Table, key: impl AsKey) -> Result<Option<Row<'r>>, Error> {
        let alone = self.read_alone(|reading| reading.read_row_alone(table, key.as_key()))?;
        match alone {
            Some(row) => Ok(Some(row)),
            None => self.read_only(|tx| tx.get(table, key.as_key())),
        }
    }

    /// Returns the row `key` as a struct that derives `Row`, as [`Database::get`] does. See [`TableRow`].
    pub fn get_as<R: TableRow>(&self, table: &Table, key: impl AsKey) -> Result<Option<R>, Error> {
        self.get(table, key)?.map(|row| row.to()).transpose()
    }

    /// Returns one column of the row `key`, or `None` if there is no such row, as [`Database::get`] does.
    #[inline]
    pub fn get_field<T: ColumnValue>(
        &self,
        field: Field<T>,
        key: impl AsKey,
    ) -> Result<Option<T>, Error> {
        let alone = self.read_alone(|reading| reading.read_field_alone(field, key.as_key()))?;
        match alone {
            Some(value) => Ok(Some(value)),
            None => self.read_only(|tx| tx.get_field(field, key.as_key())),
        }
    }
}
