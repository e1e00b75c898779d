//! Tables with keys of bytes: records are found by bytes, and from there on are records like any others.

use super::{Record, SharedEverythingSession};
use crate::architecture::no_memory;
use machine::{Category, Core, Machine};
use protocols::{Change, Protocol};
use storage::{Found, RecordRef, RowState};
use txn::{Abort, ColumnSet, Intent, TableId};

impl<'s, M: Machine, P: Protocol<M>> SharedEverythingSession<'s, M, P> {
    /// The record of `key`, made if need be, and the number that stands for the key.
    pub(super) fn byte_record(
        &mut self,
        table: TableId,
        key: &[u8],
    ) -> Result<(Record<'s, M, P>, u64), Abort> {
        let (record, digest) = self.find_byte_record(table, key)?;
        if let Some(recorder) = &mut self.recorder {
            recorder.spelled(table, record.history_key(self.core), key);
        }
        Ok((record, digest))
    }

    fn find_byte_record(
        &mut self,
        table: TableId,
        key: &[u8],
    ) -> Result<(Record<'s, M, P>, u64), Abort> {
        let (engine, home, core) = (self.engine, self.table(table), self.core);
        core.account(Category::Index);
        let digest = home.digest(core, key);
        if P::LOCKS_PARTITIONS {
            engine.protocol.approach(core, &mut self.worker, home.schema(), digest)?;
            core.account(Category::Index);
        }
        if let Some(record) = home.find_bytes(core, digest, key) {
            return Ok((record, digest));
        }
        let prepare = |record: &RecordRef<'_, M, P::Record>| {
            engine.protocol.prepare_record(core, record, None);
        };
        let found = home.find_or_make_bytes(core, self.space(table), (digest, key), prepare);
        match found.map_err(no_memory)? {
            Found::Existing(record) => Ok((record, digest)),
            Found::Made(record) => {
                self.purge_later(table, digest);
                Ok((record, digest))
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
        let (record, _) = self.byte_record(table, key)?;
        let head = self.protocol_read(record, ColumnSet::NONE, Intent::Update, &mut [])?;
        if head.state.is_present() {
            return Ok(false);
        }
        let columns = self.table(table).layout().all();
        let state = Some(RowState::PRESENT);
        self.protocol_write(record, Change { columns, values: row, state })
    }

    pub(super) fn delete_by_bytes(&mut self, table: TableId, key: &[u8]) -> Result<bool, Abort> {
        let (record, digest) = self.byte_record(table, key)?;
        let head = self.protocol_read(record, ColumnSet::NONE, Intent::Update, &mut [])?;
        if !head.state.is_present() {
            return Ok(false);
        }
        let state = Some(RowState::ABSENT);
        self.protocol_write(record, Change { columns: ColumnSet::NONE, values: &[], state })?;
        self.purge_later(table, digest);
        Ok(true)
    }
}
