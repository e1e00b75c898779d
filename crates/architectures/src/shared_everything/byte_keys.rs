//! Tables with keys of bytes: records are found by bytes, in a hash index or in order, and from there on are records like
//! any others.

use super::{Record, SharedEverythingSession};
use crate::architecture::no_memory;
use machine::{Category, Core, Machine};
use protocols::{Change, Protocol};
use storage::{ByteKey, Found, RecordRef, RowState, Table};
use txn::{
    Abort, ByteRange, ByteVisit, ColumnSet, Direction, Intent, KeyKind, MAX_KEY_BYTES, RowKey,
    TableId,
};

/// How the record of a key of bytes is found again, when it may be purged.
#[derive(Clone, Copy)]
pub(super) enum Name {
    /// By the digest, in a hash index.
    Digest(u64),
    /// By the key, in order.
    Key(ByteKey),
}

impl<'s, M: Machine, P: Protocol<M>> SharedEverythingSession<'s, M, P> {
    /// The record of `key`, made if need be, and what the key is called from then on.
    pub(super) fn byte_record(
        &mut self,
        table: TableId,
        key: &[u8],
    ) -> Result<(Record<'s, M, P>, Name), Abort> {
        let (record, name) = match self.table(table).orders_bytes() {
            false => self.find_byte_record(table, key)?,
            true => self.ordered_byte_record(table, key)?,
        };
        if let Some(recorder) = &mut self.recorder {
            recorder.spelled(table, record.history_key(self.core), key);
        }
        Ok((record, name))
    }

    fn ordered_byte_record(
        &mut self,
        table: TableId,
        key: &[u8],
    ) -> Result<(Record<'s, M, P>, Name), Abort> {
        let (engine, home, core) = (self.engine, self.table(table), self.core);
        core.account(Category::Index);
        if P::LOCKS_PARTITIONS {
            let digest = home.digest(core, key);
            engine.protocol.approach(core, &mut self.worker, home.schema(), digest)?;
            core.account(Category::Index);
        }
        let key = home.byte_key(core, key);
        Ok((self.ordered_record(table, key)?, Name::Key(key)))
    }

    fn find_byte_record(
        &mut self,
        table: TableId,
        key: &[u8],
    ) -> Result<(Record<'s, M, P>, Name), Abort> {
        let (engine, home, core) = (self.engine, self.table(table), self.core);
        core.account(Category::Index);
        let digest = home.digest(core, key);
        if P::LOCKS_PARTITIONS {
            engine.protocol.approach(core, &mut self.worker, home.schema(), digest)?;
            core.account(Category::Index);
        }
        if let Some(record) = home.find_bytes(core, digest, key) {
            return Ok((record, Name::Digest(digest)));
        }
        let prepare = |record: &RecordRef<'_, M, P::Record>| {
            engine.protocol.prepare_record(core, record, None);
        };
        let found = home.find_or_make_bytes(core, self.space(table), (digest, key), prepare);
        match found.map_err(no_memory)? {
            Found::Existing(record) => Ok((record, Name::Digest(digest))),
            Found::Made(record) => {
                self.purge_later(table, digest);
                Ok((record, Name::Digest(digest)))
            }
        }
    }

    pub(super) fn insert_by_bytes(
        &mut self,
        table: TableId,
        key: &[u8],
        row: &[u8],
    ) -> Result<bool, Abort> {
        self.refused_by = None;
        let (record, name) = self.byte_record(table, key)?;
        let head = self.protocol_read(record, ColumnSet::NONE, Intent::Update, &mut [])?;
        if head.state.is_present() {
            return Ok(false);
        }
        let home = self.table(table);
        if !home.schema().indexes.is_empty()
            && !self.insert_entries(table, RowKey::Bytes(key), row)?
        {
            return Ok(false);
        }
        let columns = home.layout().all();
        let state = Some(RowState::PRESENT);
        let inserted = self.protocol_write(record, Change { columns, values: row, state })?;
        match name {
            Name::Digest(digest) => self.purge.inserted(table, digest),
            Name::Key(key) => self.purge.inserted(table, key),
        }
        Ok(inserted)
    }

    pub(super) fn delete_by_bytes(&mut self, table: TableId, key: &[u8]) -> Result<bool, Abort> {
        let (record, name) = self.byte_record(table, key)?;
        let head = self.protocol_read(record, ColumnSet::NONE, Intent::Update, &mut [])?;
        if !head.state.is_present() {
            return Ok(false);
        }
        if !self.table(table).schema().indexes.is_empty() {
            self.delete_entries(table, RowKey::Bytes(key), record)?;
        }
        let state = Some(RowState::ABSENT);
        self.protocol_write(record, Change { columns: ColumnSet::NONE, values: &[], state })?;
        match name {
            Name::Digest(digest) => self.purge_later(table, digest),
            Name::Key(key) => self.purge_later(table, key),
        }
        Ok(true)
    }

    /// The keys that a range of a table in order of bytes lies between.
    pub(super) fn byte_ends(&self, table: TableId, range: ByteRange<'_>) -> (ByteKey, ByteKey) {
        let (home, core) = (self.table(table), self.core);
        let greatest = [u8::MAX; MAX_KEY_BYTES];
        let last = range.last().unwrap_or_else(|| match home.schema().key {
            KeyKind::Bytes { most } => &greatest[..most.into()],
            KeyKind::Integer => &[],
        });
        (home.byte_key(core, range.first()), home.byte_key(core, last))
    }

    pub(super) fn scan_by_bytes(
        &mut self,
        table: TableId,
        range: ByteRange<'_>,
        direction: Direction,
        columns: ColumnSet,
        visit: &mut ByteVisit<'_>,
    ) -> Result<(), Abort> {
        let (home, core) = (self.table(table), self.core);
        let ends = self.byte_ends(table, range);
        let mut buffer = Table::<M, P::Record>::key_buffer();
        self.scan_rows(table, ends, direction, columns, |_, key, row| {
            let key = home.bytes_of(key, &mut buffer);
            core.copied(key.len());
            Ok(visit(key, row))
        })
    }
}
