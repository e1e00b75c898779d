//! Insertion of many rows by one call.

use crate::{AsKey, Error, RowValues, Table, Transaction};
use txn::Key;

/// Number of rows that are packed before they are inserted.
const ROWS_AT_A_TIME: usize = 64;

/// Number of packed bytes from which on rows are inserted, however few they are.
const BYTES_AT_A_TIME: usize = 1 << 16;

impl Transaction<'_> {
    /// Inserts rows in the given order, each as [`Transaction::insert`] does. In an ordered table, rows with ascending keys take less
    /// time than as many calls of `insert`.
    ///
    /// Fails as `insert` does, at the first row that cannot be inserted. The rows before it have been inserted then, and those behind it
    /// have not. A closure that returns the error rolls all of them back.
    ///
    /// ```
    /// # use kilocore::{ColumnType::U64, Database, Error, Options};
    /// # let db = Database::open(Options::default())?;
    /// let squares = db.table("squares").column("square", U64).ordered().create()?;
    /// db.transact(|tx| tx.insert_many(&squares, (0..1000u64).map(|n| (n, [(n * n).into()]))))?;
    /// assert_eq!(db.get_field(squares.field::<u64>("square")?, 7)?, Some(49));
    /// # Ok::<(), Error>(())
    /// ```
    pub fn insert_many(
        &mut self,
        table: &Table,
        rows: impl IntoIterator<Item = (impl AsKey, impl RowValues)>,
    ) -> Result<(), Error> {
        // Key and end of each packed row.
        let mut packed: Vec<(u64, usize)> = Vec::with_capacity(ROWS_AT_A_TIME);
        for (key, values) in rows {
            let Key::Number(number) = key.as_key() else {
                self.insert(table, key, &values)?;
                continue;
            };
            if packed.is_empty() {
                self.own(table)?;
                self.buffer.clear();
            }
            let definition = table.definition();
            let checked = definition.check_key(Key::Number(number));
            if let Err(error) = checked.and_then(|()| definition.pack_row(&values, self.buffer)) {
                self.insert_packed(table, &packed)?;
                return Err(error);
            }
            packed.push((number, self.buffer.len()));
            if packed.len() == ROWS_AT_A_TIME || self.buffer.len() >= BYTES_AT_A_TIME {
                self.insert_packed(table, &packed)?;
                packed.clear();
            }
        }
        self.insert_packed(table, &packed)
    }

    /// Inserts the rows that are packed in the buffer, one behind the other.
    fn insert_packed(&mut self, table: &Table, packed: &[(u64, usize)]) -> Result<(), Error> {
        let mut begin = 0;
        let rows: Vec<(u64, &[u8])> = packed
            .iter()
            .map(|(key, end)| (*key, &self.0.buffer[std::mem::replace(&mut begin, *end)..*end]))
            .collect();
        let inserted = self.0.session.insert_many(table.definition().id, &rows)?;
        match rows.get(inserted) {
            None => Ok(()),
            Some((key, _)) => Err(self.not_inserted(table, Key::Number(*key))),
        }
    }
}
