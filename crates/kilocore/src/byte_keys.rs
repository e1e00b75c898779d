//! What a closure may do to tables whose keys are bytes: the same as to others, by other names.

use crate::{Error, Row, Table, Transaction, Value, table::Definition};
use txn::{Intent, KeyKind};

impl Definition {
    /// Checks that the table's keys are integers.
    #[inline]
    pub fn check_integer_keys(&self) -> Result<(), Error> {
        match self.schema.key {
            KeyKind::Integer => Ok(()),
            KeyKind::Bytes { .. } => Err(self.wrong_key_type("bytes")),
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
        Err(Error::DuplicateByteKey { table: table.name().into(), key: key.into() })
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
            && !self.session.insert_bytes(id, key, self.buffer)?
        {
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
        Err(Error::MissingByteKey { table: table.name().into(), key: key.into() })
    }

    /// As [`Transaction::delete`], of a table whose keys are bytes.
    pub fn delete_by(&mut self, table: &Table, key: impl AsRef<[u8]>) -> Result<bool, Error> {
        let definition = self.own(table)?;
        definition.check_key(key.as_ref())?;
        self.check_writable(definition.id)?;
        Ok(self.session.delete_bytes(definition.id, key.as_ref())?)
    }
}
