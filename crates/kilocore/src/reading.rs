//! The operations that read.

use crate::{
    AsKey, ColumnValue, Error, Field, Index, KeyBounds, Row, Rows, Table, TableRow, Value,
    database::Catalogue,
    keys::{check_key, key_range},
    table::{Definition, SMALL_BYTES},
    term::Term,
    value::Mismatch,
};
use engine::Session;
use std::ops::ControlFlow;
use txn::{ColumnSet, Direction, Intent, Key, OwnedKey};

/// Number of rows that are announced to the engine at a time.
const ANNOUNCED_AT_A_TIME: usize = 16;

/// A running transaction, as far as it reads.
///
/// ```compile_fail
/// # use kilocore::{ColumnType::U64, Database, Error, Options};
/// # let db = Database::open(Options::default())?;
/// # let hits = db.table("hits").column("count", U64).create()?;
/// db.read_only(|tx| tx.delete(&hits, 7))?; // does not compile: a read-only transaction has no method that writes
/// # Ok::<(), Error>(())
/// ```
///
/// A [`Transaction`](crate::Transaction) can do all that this type can.
///
/// Every method fails with [`Error::ForeignTable`] if the table or field belongs to another database, with
/// [`Error::TableDropped`] if the table has been dropped, with [`Error::TableChanged`] if a column has been dropped since
/// the handle was made, and with [`Error::TransactionTooLong`] if the time limit has passed. A key of the wrong kind or
/// length fails with [`Error::WrongKeyType`] or [`Error::KeyTooLong`]. Every method can also fail with
/// [`Error::Conflict`]. Then the closure should return the error with `?`, and it runs again.
pub struct ReadTransaction<'t> {
    pub(crate) session: &'t mut dyn Session,
    /// Room in which a row or some of its columns are packed.
    pub(crate) buffer: &'t mut Vec<u8>,
    pub(crate) catalogue: &'t Catalogue,
    term: Option<Term<'t>>,
}

impl<'t> ReadTransaction<'t> {
    pub(crate) fn new(
        session: &'t mut dyn Session,
        buffer: &'t mut Vec<u8>,
        catalogue: &'t Catalogue,
        term: Option<Term<'t>>,
    ) -> ReadTransaction<'t> {
        ReadTransaction { session, buffer, catalogue, term }
    }

    /// Returns the row `key`, or `None` if there is none.
    #[inline]
    pub fn get<'r>(&mut self, table: &'r Table, key: impl AsKey) -> Result<Option<Row<'r>>, Error> {
        self.read_row(table, key.as_key(), Intent::Read)
    }

    /// Announces rows that the transaction is about to access. Their index entries and the beginnings of their rows are then fetched
    /// from memory at the same time, where accesses alone would fetch one after the other. This affects only time: the rows
    /// need not exist, and they need not be accessed. It pays from two rows on, in tables larger than the caches.
    ///
    /// The keys must be numbers. Tables in key order and in rows of two parts are announced in vain.
    ///
    /// ```
    /// # use kilocore::{ColumnType::U64, Database, Error, Options};
    /// # let db = Database::open(Options::default())?;
    /// let purse = db.table("purse").column("coins", U64).create()?;
    /// let coins = purse.field::<u64>("coins")?;
    /// # db.transact(|tx| [1, 2].iter().try_for_each(|key| tx.insert(&purse, *key, &[100u64.into()])))?;
    /// db.transact(|tx| {
    ///     tx.announce(&purse, &[1, 2])?;
    ///     tx.add_field(coins, 1, -5)?;
    ///     tx.add_field(coins, 2, 5)
    /// })?;
    /// # Ok::<(), Error>(())
    /// ```
    pub fn announce(&mut self, table: &Table, keys: &[u64]) -> Result<(), Error> {
        let definition = self.own(table)?;
        let mut rows = [(0, ColumnSet::NONE); ANNOUNCED_AT_A_TIME];
        for keys in keys.chunks(ANNOUNCED_AT_A_TIME) {
            definition.check_key(Key::Number(keys[0]))?;
            for (row, key) in rows.iter_mut().zip(keys) {
                row.0 = *key;
            }
            self.session.prefetch(definition.id, &rows[..keys.len()]);
        }
        Ok(())
    }

    /// Returns the row `key` as a struct that derives `Row`, or `None` if there is none. See [`TableRow`].
    pub fn get_as<R: TableRow>(
        &mut self,
        table: &Table,
        key: impl AsKey,
    ) -> Result<Option<R>, Error> {
        self.get(table, key)?.map(|row| row.to()).transpose()
    }

    #[inline]
    pub(crate) fn read_row<'r>(
        &mut self,
        table: &'r Table,
        key: Key<'_>,
        intent: Intent,
    ) -> Result<Option<Row<'r>>, Error> {
        let definition = self.own(table)?;
        definition.check_key(key)?;
        let (id, all) = (definition.id, definition.all());
        if !definition.layout.variable().is_empty() {
            let present = self.session.fetch(id, key, all, intent, self.buffer)?;
            return Ok(present.then(|| Row::packed(table, self.buffer)));
        }
        Ok(Row::read(table, |bytes| self.session.read_with(id, key, all, intent, bytes))?)
    }

    /// Visits the rows of an ordered table whose keys are in `range`, in ascending order, until `visit` breaks.
    /// The scan sees the transaction's own inserts, updates and deletes. No phantoms appear in the visited
    /// range: either no other transaction adds rows to it before this transaction ends, or this transaction
    /// does not commit.
    ///
    /// Keys of bytes are ordered byte by byte. A key comes before all longer keys that begin with it.
    ///
    /// Fails with [`Error::ReversedRange`] if the range starts after its end, with [`Error::WrongKeyType`] or
    /// [`Error::KeyTooLong`] if an end of the range cannot be a key of the table, and with
    /// [`Error::NotOrdered`] if the table has no order. See [`TableBuilder::ordered`] for an example.
    ///
    /// [`TableBuilder::ordered`]: crate::TableBuilder::ordered
    pub fn scan(
        &mut self,
        table: &Table,
        range: impl KeyBounds,
        visit: impl FnMut(Key<'_>, &Row<'_>) -> ControlFlow<()>,
    ) -> Result<(), Error> {
        self.scan_towards(table, &range, Direction::Forward, visit)
    }

    /// Visits rows as [`ReadTransaction::scan`] does, in descending order, from the last key of the range to its
    /// first.
    pub fn scan_backward(
        &mut self,
        table: &Table,
        range: impl KeyBounds,
        visit: impl FnMut(Key<'_>, &Row<'_>) -> ControlFlow<()>,
    ) -> Result<(), Error> {
        self.scan_towards(table, &range, Direction::Backward, visit)
    }

    fn scan_towards(
        &mut self,
        table: &Table,
        range: &impl KeyBounds,
        direction: Direction,
        mut visit: impl FnMut(Key<'_>, &Row<'_>) -> ControlFlow<()>,
    ) -> Result<(), Error> {
        let definition = self.own(table)?;
        let Some(range) = definition.range(range.bounds())? else { return Ok(()) };
        let (id, all) = (definition.id, definition.all());
        self.session.scan(id, range.as_keys(), direction, all, &mut |key, bytes| {
            visit(key, &Row::scanned(table, bytes))
        })?;
        Ok(())
    }

    /// Visits one column of the rows of an ordered table as [`ReadTransaction::scan`] visits rows. It reads nothing else of them,
    /// and looks up no name of a column. So it takes less time.
    ///
    /// Fails as [`ReadTransaction::scan`] does, and with [`Error::UnexpectedNull`] if a row has no value in this column and `T` is
    /// no [`Option`].
    ///
    /// ```
    /// # use kilocore::{ColumnType::I64, Database, Error, Options, Value};
    /// # use std::ops::ControlFlow;
    /// # let db = Database::open(Options::default())?;
    /// let orders = db.table("orders").column("amount", I64).ordered().create()?;
    /// let amount = orders.field::<i64>("amount")?;
    /// db.transact(|tx| (10..20).try_for_each(|key| tx.insert(&orders, key, &[Value::I64(5)])))?;
    /// let sum = db.read_only(|tx| {
    ///     let mut sum = 0;
    ///     tx.scan_field(amount, 12..=14, |_, amount| {
    ///         sum += amount;
    ///         ControlFlow::Continue(())
    ///     })?;
    ///     Ok(sum)
    /// })?;
    /// assert_eq!(sum, 15);
    /// # Ok::<(), Error>(())
    /// ```
    pub fn scan_field<T: ColumnValue>(
        &mut self,
        field: Field<T>,
        range: impl KeyBounds,
        visit: impl FnMut(Key<'_>, T) -> ControlFlow<()>,
    ) -> Result<(), Error> {
        self.scan_field_towards(field, &range, Direction::Forward, visit)
    }

    /// Visits one column as [`ReadTransaction::scan_field`] does, in descending order of the keys.
    pub fn scan_field_backward<T: ColumnValue>(
        &mut self,
        field: Field<T>,
        range: impl KeyBounds,
        visit: impl FnMut(Key<'_>, T) -> ControlFlow<()>,
    ) -> Result<(), Error> {
        self.scan_field_towards(field, &range, Direction::Backward, visit)
    }

    fn scan_field_towards<T: ColumnValue>(
        &mut self,
        field: Field<T>,
        range: &impl KeyBounds,
        direction: Direction,
        mut visit: impl FnMut(Key<'_>, T) -> ControlFlow<()>,
    ) -> Result<(), Error> {
        self.check_usable(field)?;
        let name = || self.catalogue.name_of(field.table);
        let range = key_range(field.keys, field.is_ordered, range.bounds(), name)?;
        let Some(range) = range else { return Ok(()) };
        let mut misfit = None;
        let (id, columns) = (field.table, field.columns);
        self.session.scan(
            id,
            range.as_keys(),
            direction,
            columns,
            &mut |key, bytes| match field.read(bytes) {
                Ok(value) => visit(key, value),
                Err(mismatch) => {
                    misfit = Some(mismatch);
                    ControlFlow::Break(())
                }
            },
        )?;
        misfit.map_or(Ok(()), |mismatch| Err(self.mismatch(field, mismatch)))
    }

    /// Visits the rows whose indexed columns have the given values, in the order of the index, until `visit`
    /// breaks.
    ///
    /// `values` are values of the first columns of the index, or of all its columns. No phantoms appear among
    /// the visited rows, as with [`ReadTransaction::scan`].
    ///
    /// Fails with [`Error::BeyondIndex`] if a value needs more bits than the index has for its column, and with
    /// [`Error::WrongCount`] if there are more values than indexed columns.
    pub fn find(
        &mut self,
        index: &Index,
        values: &[Value<'_>],
        visit: impl FnMut(Key<'_>, &Row<'_>) -> ControlFlow<()>,
    ) -> Result<(), Error> {
        self.scan_index(index, values, values, visit)
    }

    /// Visits rows as [`ReadTransaction::find`] does, from the first row whose indexed columns begin with the
    /// values `first` to the last row whose indexed columns begin with the values `last`. An empty slice stands
    /// for the first or the last row of the index.
    ///
    /// Fails with [`Error::ReversedIndexRange`] if the range starts after its end, and with
    /// [`Error::BeyondIndex`] if no row can have these values.
    pub fn scan_index(
        &mut self,
        index: &Index,
        first: &[Value<'_>],
        last: &[Value<'_>],
        visit: impl FnMut(Key<'_>, &Row<'_>) -> ControlFlow<()>,
    ) -> Result<(), Error> {
        self.scan_index_towards(index, first, last, Direction::Forward, visit)
    }

    /// Visits rows as [`ReadTransaction::scan_index`] does, in descending order, from the last row to the first.
    pub fn scan_index_backward(
        &mut self,
        index: &Index,
        first: &[Value<'_>],
        last: &[Value<'_>],
        visit: impl FnMut(Key<'_>, &Row<'_>) -> ControlFlow<()>,
    ) -> Result<(), Error> {
        self.scan_index_towards(index, first, last, Direction::Backward, visit)
    }

    fn scan_index_towards(
        &mut self,
        index: &Index,
        first: &[Value<'_>],
        last: &[Value<'_>],
        direction: Direction,
        mut visit: impl FnMut(Key<'_>, &Row<'_>) -> ControlFlow<()>,
    ) -> Result<(), Error> {
        let table = index.table();
        self.scan_index_packed(index, first, last, direction, |key, bytes| {
            visit(key, &Row::scanned(table, bytes))
        })
    }

    fn scan_index_packed(
        &mut self,
        index: &Index,
        first: &[Value<'_>],
        last: &[Value<'_>],
        direction: Direction,
        mut visit: impl FnMut(Key<'_>, &[u8]) -> ControlFlow<()>,
    ) -> Result<(), Error> {
        let all = self.own(index.table())?.all();
        let range = index.range(first, last)?;
        self.session.scan_index(index.id(), range.as_keys(), direction, all, &mut visit)?;
        Ok(())
    }

    /// Returns an iterator over the rows of an ordered table whose keys are in `range`, in ascending order. It reads a few
    /// rows ahead. Errors and guarantees are those of [`ReadTransaction::scan`]. After an error it returns no more rows.
    ///
    /// ```
    /// # use kilocore::{ColumnType::I64, Database, Error, Options, Value};
    /// # let db = Database::open(Options::default())?;
    /// let orders = db.table("orders").column("amount", I64).ordered().create()?;
    /// db.transact(|tx| (10..20).try_for_each(|key| tx.insert(&orders, key, &[Value::I64(5)])))?;
    /// let sum = db.read_only(|tx| {
    ///     tx.range(&orders, 12..=14)?.try_fold(0, |sum, row| {
    ///         let (_, row) = row?;
    ///         Ok(sum + row.get::<i64>("amount")?)
    ///     })
    /// })?;
    /// assert_eq!(sum, 15);
    /// # Ok::<(), Error>(())
    /// ```
    pub fn range<'r>(
        &mut self,
        table: &'r Table,
        range: impl KeyBounds,
    ) -> Result<Rows<'_, 't, 'r>, Error> {
        let rest = self.own(table)?.range(range.bounds())?;
        Ok(Rows::new(self, table, rest, Direction::Forward))
    }

    /// Returns an iterator as [`ReadTransaction::range`] does, in descending order.
    pub fn range_backward<'r>(
        &mut self,
        table: &'r Table,
        range: impl KeyBounds,
    ) -> Result<Rows<'_, 't, 'r>, Error> {
        let rest = self.own(table)?.range(range.bounds())?;
        Ok(Rows::new(self, table, rest, Direction::Backward))
    }

    /// Returns all rows that [`ReadTransaction::find`] visits, with their keys.
    pub fn find_all<'r>(
        &mut self,
        index: &'r Index,
        values: &[Value<'_>],
    ) -> Result<Vec<(OwnedKey, Row<'r>)>, Error> {
        let table = index.table();
        let mut rows = Vec::new();
        self.scan_index_packed(index, values, values, Direction::Forward, |key, bytes| {
            rows.push((key.to_owned(), Row::packed(table, bytes)));
            ControlFlow::Continue(())
        })?;
        Ok(rows)
    }

    /// Returns one column of the row `key`, or `None` if there is no such row.
    #[inline]
    pub fn get_field<T: ColumnValue>(
        &mut self,
        field: Field<T>,
        key: impl AsKey,
    ) -> Result<Option<T>, Error> {
        self.read_field(field, key.as_key(), Intent::Read)
    }

    #[inline]
    pub(crate) fn read_field<T: ColumnValue>(
        &mut self,
        field: Field<T>,
        key: Key<'_>,
        intent: Intent,
    ) -> Result<Option<T>, Error> {
        self.check_field(field, key)?;
        if !field.is_small() {
            let found = self.session.fetch(field.table, key, field.columns, intent, self.buffer)?;
            let value = if found { Some(field.read(self.buffer)) } else { None };
            return value.transpose().map_err(|mismatch| self.mismatch(field, mismatch));
        }
        let mut small = [0; SMALL_BYTES];
        let out = &mut small[..field.bytes];
        if !self.session.read_with(field.table, key, field.columns, intent, out)? {
            return Ok(None);
        }
        field.read_held(out).map(Some).map_err(|mismatch| self.mismatch(field, mismatch))
    }

    /// Reads one column outside of transactions. Returns `None` if a transaction must read it.
    #[inline]
    pub(crate) fn read_field_alone<T: ColumnValue>(
        &mut self,
        field: Field<T>,
        key: Key<'_>,
    ) -> Result<Option<T>, Error> {
        self.check_field(field, key)?;
        let Key::Number(number) = key else { return Ok(None) };
        let (table, columns) = (field.table, field.columns);
        let value = if field.is_small() {
            let mut small = [0; SMALL_BYTES];
            let out = &mut small[..field.bytes];
            let found = self.session.read_alone(table, number, columns, out);
            if found { Some(field.read_held(out)) } else { None }
        } else {
            let found = self.session.fetch_alone(table, number, columns, self.buffer);
            if found { Some(field.read(self.buffer)) } else { None }
        };
        value.transpose().map_err(|mismatch| self.mismatch(field, mismatch))
    }

    /// Reads the row `key` outside of transactions. Returns `None` if a transaction must read it.
    #[inline]
    pub(crate) fn read_row_alone<'r>(
        &mut self,
        table: &'r Table,
        key: Key<'_>,
    ) -> Result<Option<Row<'r>>, Error> {
        let definition = self.own(table)?;
        definition.check_key(key)?;
        let Key::Number(number) = key else { return Ok(None) };
        let (id, all) = (definition.id, definition.all());
        if !definition.layout.variable().is_empty() {
            let found = self.session.fetch_alone(id, number, all, self.buffer);
            return Ok(found.then(|| Row::packed(table, self.buffer)));
        }
        let read =
            |bytes: &mut [u8]| Ok::<_, Error>(self.session.read_alone(id, number, all, bytes));
        Row::read(table, read)
    }

    /// Returns the error for a column that cannot be read as its field's type.
    #[cold]
    fn mismatch<T>(&self, field: Field<T>, mismatch: Mismatch) -> Error {
        let table = self.catalogue.table(field.table);
        let column = field.columns.iter().next().unwrap_or_default();
        table.definition().mismatch(column, mismatch)
    }

    /// Returns the table's definition. Fails if the table is foreign or the time limit has passed.
    #[inline]
    pub(crate) fn own<'r>(&self, table: &'r Table) -> Result<&'r Definition, Error> {
        self.check_term()?;
        let definition = table.definition();
        if definition.database != self.catalogue.database {
            return Err(Error::ForeignTable { table: table.name().into() });
        }
        self.catalogue.check_version(definition.id, definition.version)?;
        Ok(definition)
    }

    #[inline]
    pub(crate) fn check_field<T>(&self, field: Field<T>, key: Key<'_>) -> Result<(), Error> {
        self.check_usable(field)?;
        check_key(field.keys, key, || self.catalogue.name_of(field.table))
    }

    /// Fails if the field is foreign or outdated, or the time limit has passed.
    #[inline]
    fn check_usable<T>(&self, field: Field<T>) -> Result<(), Error> {
        self.check_term()?;
        match field.database == self.catalogue.database {
            true => self.catalogue.check_version(field.table, field.version),
            false => Err(Error::ForeignTable { table: format!("number {}", field.table.0) }),
        }
    }

    #[inline]
    fn check_term(&self) -> Result<(), Error> {
        self.term.map_or(Ok(()), Term::check)
    }
}
