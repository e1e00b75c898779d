//! What a closure may do to tables whose keys are bytes: the same as to others, by other names.

use crate::{Error, Index, Row, Table, Transaction, Value, table::Definition};
use std::ops::{
    Bound, ControlFlow, Range, RangeBounds, RangeFrom, RangeFull, RangeInclusive, RangeTo,
    RangeToInclusive,
};
use txn::{ByteRange, Direction, Intent, Key, KeyKind, byte_key_after, byte_key_before};

/// A range of keys that are bytes: `..`, or `"a".."b"` and its like, of anything that is bytes.
pub trait ByteKeyBounds {
    /// Its start and its end.
    fn bounds(&self) -> (Bound<&[u8]>, Bound<&[u8]>);
}

/// The first key of a range and its last; none for the last there is.
type Ends = (Vec<u8>, Option<Vec<u8>>);

impl ByteKeyBounds for RangeFull {
    fn bounds(&self) -> (Bound<&[u8]>, Bound<&[u8]>) {
        (Bound::Unbounded, Bound::Unbounded)
    }
}

macro_rules! byte_key_bounds {
    ($($range:ty),*) => {$(
        impl<K: AsRef<[u8]>> ByteKeyBounds for $range {
            fn bounds(&self) -> (Bound<&[u8]>, Bound<&[u8]>) {
                (self.start_bound().map(AsRef::as_ref), self.end_bound().map(AsRef::as_ref))
            }
        }
    )*};
}
byte_key_bounds!(
    Range<K>,
    RangeFrom<K>,
    RangeInclusive<K>,
    RangeTo<K>,
    RangeToInclusive<K>,
    (Bound<K>, Bound<K>)
);

impl Definition {
    /// Checks that the table's keys are integers.
    #[inline]
    pub fn check_integer_keys(&self) -> Result<(), Error> {
        match self.schema.key {
            KeyKind::Integer => Ok(()),
            KeyKind::Bytes { .. } => Err(self.wrong_key_type("bytes")),
        }
    }

    /// Checks that the table's keys are bytes.
    fn check_byte_keys(&self) -> Result<(), Error> {
        match self.schema.key {
            KeyKind::Bytes { .. } => Ok(()),
            KeyKind::Integer => Err(self.wrong_key_type("64-bit integers")),
        }
    }

    /// Checks that the table has keys like `key`.
    fn check_key(&self, key: &[u8]) -> Result<(), Error> {
        match self.schema.key {
            KeyKind::Bytes { most } if key.len() <= usize::from(most) => Ok(()),
            KeyKind::Bytes { most } => Err(Error::KeyTooLong {
                table: self.schema.name.clone(),
                given: key.len(),
                allowed: most.into(),
            }),
            KeyKind::Integer => Err(self.wrong_key_type("64-bit integers")),
        }
    }

    /// The range between `start` and `end`, both included; none where there can be no key between them.
    fn byte_range(
        &self,
        (start, end): (Bound<&[u8]>, Bound<&[u8]>),
    ) -> Result<Option<Ends>, Error> {
        let KeyKind::Bytes { most } = self.schema.key else {
            return Err(self.wrong_key_type("64-bit integers"));
        };
        self.check_ordered()?;
        let given = |bound| match bound {
            Bound::Included(key) | Bound::Excluded(key) => Some(key),
            Bound::Unbounded => None,
        };
        for key in [given(start), given(end)].into_iter().flatten() {
            self.check_key(key)?;
        }
        if let (Some(first), Some(last)) = (given(start), given(end))
            && first > last
        {
            let (table, first, last) = (self.schema.name.clone(), first.into(), last.into());
            return Err(Error::ReversedByteRange { table, first, last });
        }
        let first = match start {
            Bound::Included(key) => Some(key.to_vec()),
            Bound::Excluded(key) => byte_key_after(key, most.into()),
            Bound::Unbounded => Some(Vec::new()),
        };
        let last = match end {
            Bound::Included(key) => Some(Some(key.to_vec())),
            Bound::Excluded(key) => byte_key_before(key, most.into()).map(Some),
            Bound::Unbounded => Some(None),
        };
        let (Some(first), Some(last)) = (first, last) else { return Ok(None) };
        let within = last.as_ref().is_none_or(|last| first <= *last);
        Ok(within.then_some((first, last)))
    }

    #[cold]
    fn wrong_key_type(&self, allowed: &'static str) -> Error {
        Error::WrongKeyType { table: self.schema.name.clone(), allowed }
    }
}

impl Transaction<'_> {
    /// As [`Transaction::get`], of a table whose keys are bytes.
    pub fn get_by<'r>(
        &mut self,
        table: &'r Table,
        key: impl AsRef<[u8]>,
    ) -> Result<Option<Row<'r>>, Error> {
        self.read_row_by(table, key.as_ref(), Intent::Read)
    }

    /// As [`Transaction::get_for_update`], of a table whose keys are bytes.
    pub fn get_by_for_update<'r>(
        &mut self,
        table: &'r Table,
        key: impl AsRef<[u8]>,
    ) -> Result<Option<Row<'r>>, Error> {
        self.check_writable(table.definition().id)?;
        self.read_row_by(table, key.as_ref(), Intent::Update)
    }

    fn read_row_by<'r>(
        &mut self,
        table: &'r Table,
        key: &[u8],
        intent: Intent,
    ) -> Result<Option<Row<'r>>, Error> {
        let definition = self.own(table)?;
        definition.check_key(key)?;
        let mut row = Row::zeros(table);
        let (id, all) = (definition.id, definition.all());
        let present = self.session.read_bytes_with(id, key, all, intent, row.packed_mut())?;
        Ok(present.then_some(row))
    }

    /// As [`Transaction::insert`], of a table whose keys are bytes. Fails with [`Error::DuplicateByteKey`].
    pub fn insert_by(
        &mut self,
        table: &Table,
        key: impl AsRef<[u8]>,
        values: &[Value<'_>],
    ) -> Result<(), Error> {
        let (key, definition) = (key.as_ref(), self.pack_row(table, values)?);
        definition.check_key(key)?;
        if self.session.insert_bytes(definition.id, key, self.buffer)? {
            return Ok(());
        }
        let refused = self.not_unique(definition.id);
        Err(refused.unwrap_or_else(|| Error::DuplicateByteKey {
            table: table.name().into(),
            key: key.into(),
        }))
    }

    /// As [`Transaction::put`], of a table whose keys are bytes.
    pub fn put_by(
        &mut self,
        table: &Table,
        key: impl AsRef<[u8]>,
        values: &[Value<'_>],
    ) -> Result<(), Error> {
        let (key, definition) = (key.as_ref(), self.pack_row(table, values)?);
        definition.check_key(key)?;
        let (id, all) = (definition.id, definition.all());
        if !self.session.update_bytes(id, key, all, self.buffer)?
            && (self.session.refused_by().is_some()
                || !self.session.insert_bytes(id, key, self.buffer)?)
        {
            if let Some(error) = self.not_unique(id) {
                return Err(error);
            }
            // What was absent is present now: only a transaction that cannot commit sees both.
            return Err(Error::Conflict(txn::AbortReason::Validation));
        }
        Ok(())
    }

    /// As [`Transaction::update`], of a table whose keys are bytes. Fails with [`Error::MissingByteKey`].
    pub fn update_by(
        &mut self,
        table: &Table,
        key: impl AsRef<[u8]>,
        values: &[(&str, Value<'_>)],
    ) -> Result<(), Error> {
        let (key, definition) = (key.as_ref(), self.own(table)?);
        definition.check_key(key)?;
        self.check_writable(definition.id)?;
        let columns = self.pack_columns(definition, values)?;
        if self.session.update_bytes(definition.id, key, columns, self.buffer)? {
            return Ok(());
        }
        let refused = self.not_unique(definition.id);
        Err(refused.unwrap_or_else(|| Error::MissingByteKey {
            table: table.name().into(),
            key: key.into(),
        }))
    }

    /// As [`Transaction::add`], of a table whose keys are bytes. Fails with [`Error::MissingByteKey`].
    pub fn add_by(
        &mut self,
        table: &Table,
        key: impl AsRef<[u8]>,
        deltas: &[(&str, i64)],
    ) -> Result<(), Error> {
        let (key, definition) = (key.as_ref(), self.own(table)?);
        definition.check_key(key)?;
        self.check_writable(definition.id)?;
        let columns = self.pack_deltas(definition, deltas)?;
        if self.session.add_bytes(definition.id, key, columns, self.buffer)? {
            return Ok(());
        }
        Err(Error::MissingByteKey { table: table.name().into(), key: key.into() })
    }

    /// As [`Transaction::delete`], of a table whose keys are bytes.
    pub fn delete_by(&mut self, table: &Table, key: impl AsRef<[u8]>) -> Result<bool, Error> {
        let definition = self.own(table)?;
        definition.check_key(key.as_ref())?;
        self.check_writable(definition.id)?;
        Ok(self.session.delete_bytes(definition.id, key.as_ref())?)
    }

    /// As [`Transaction::scan`], of a table whose keys are bytes: in their order, byte by byte, where a key comes before
    /// all that begin with it. Fails with [`Error::ReversedByteRange`] when the range starts after its end, with
    /// [`Error::KeyTooLong`] when an end is longer than the table's keys, and with [`Error::NotOrdered`] when the
    /// table has no order. See [`Database::create_ordered_byte_keyed_table`] for an example.
    ///
    /// [`Database::create_ordered_byte_keyed_table`]: crate::Database::create_ordered_byte_keyed_table
    pub fn scan_by<'r>(
        &mut self,
        table: &'r Table,
        range: impl ByteKeyBounds,
        visit: impl FnMut(&[u8], &Row<'r>) -> ControlFlow<()>,
    ) -> Result<(), Error> {
        self.scan_by_towards(table, range.bounds(), Direction::Forward, visit)
    }

    /// As [`Transaction::scan_by`], from the last key of the range to its first.
    pub fn scan_by_backward<'r>(
        &mut self,
        table: &'r Table,
        range: impl ByteKeyBounds,
        visit: impl FnMut(&[u8], &Row<'r>) -> ControlFlow<()>,
    ) -> Result<(), Error> {
        self.scan_by_towards(table, range.bounds(), Direction::Backward, visit)
    }

    fn scan_by_towards<'r>(
        &mut self,
        table: &'r Table,
        bounds: (Bound<&[u8]>, Bound<&[u8]>),
        direction: Direction,
        mut visit: impl FnMut(&[u8], &Row<'r>) -> ControlFlow<()>,
    ) -> Result<(), Error> {
        let definition = self.own(table)?;
        let Some((first, last)) = definition.byte_range(bounds)? else { return Ok(()) };
        let range = match &last {
            Some(last) => ByteRange::new(&first, last).expect("was compared"),
            None => ByteRange::from(&first),
        };
        let (id, all) = (definition.id, definition.all());
        self.session.scan_bytes(id, range, direction, all, &mut |key, bytes| {
            visit(key, &Row::packed(table, bytes))
        })?;
        Ok(())
    }

    /// As [`Transaction::find`], in an index of a table whose keys are bytes.
    pub fn find_by<'r>(
        &mut self,
        index: &'r Index,
        values: &[Value<'_>],
        visit: impl FnMut(&[u8], &Row<'r>) -> ControlFlow<()>,
    ) -> Result<(), Error> {
        self.scan_index_by(index, values, values, visit)
    }

    /// As [`Transaction::scan_index`], in an index of a table whose keys are bytes.
    pub fn scan_index_by<'r>(
        &mut self,
        index: &'r Index,
        first: &[Value<'_>],
        last: &[Value<'_>],
        visit: impl FnMut(&[u8], &Row<'r>) -> ControlFlow<()>,
    ) -> Result<(), Error> {
        self.scan_index_by_towards(index, (first, last), Direction::Forward, visit)
    }

    /// As [`Transaction::scan_index_by`], from the last row to the first.
    pub fn scan_index_by_backward<'r>(
        &mut self,
        index: &'r Index,
        first: &[Value<'_>],
        last: &[Value<'_>],
        visit: impl FnMut(&[u8], &Row<'r>) -> ControlFlow<()>,
    ) -> Result<(), Error> {
        self.scan_index_by_towards(index, (first, last), Direction::Backward, visit)
    }

    fn scan_index_by_towards<'r>(
        &mut self,
        index: &'r Index,
        ends: (&[Value<'_>], &[Value<'_>]),
        direction: Direction,
        mut visit: impl FnMut(&[u8], &Row<'r>) -> ControlFlow<()>,
    ) -> Result<(), Error> {
        self.own(index.table())?.check_byte_keys()?;
        self.visit_index(index, ends, direction, |key, row| match key {
            Key::Bytes(key) => visit(key, row),
            Key::Number(_) => unreachable!("the table's keys are bytes"),
        })
    }
}
