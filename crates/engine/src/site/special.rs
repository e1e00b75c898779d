//! Accesses that need more than a call of the protocol: [`storage::AccessOptions`] ask for it.
//!
//! - Constant columns are read without the protocol. Their tables neither gain nor lose rows, so the presence of a row
//!   is constant too. Except natively, [`crate::rows`] reads them.
//! - An access copies whole records, or only an access for update does. It reads all columns through the protocol and hands out
//!   those that it names. An update writes all columns, unless the copy is only an image from before. It takes the others from
//!   the session's copy of the record, or reads them first.
//! - An access finds its columns in the catalogue.
//! - An access takes memory from the system's allocator: for the protocol's entry, for a copy, for a version. An entry or
//!   a copy is charged for when the record is read through the protocol, with its return at the transaction's end.
//! - An access reads the clock, as in a program that measures itself.
//!
//! By default no table has such accesses, and the usual paths do not come here.

use super::{LocalSite, refuse_retired};
use crate::bound_protocol::SessionProtocol;
use machine::{Category, Core, Machine};
use protocols::{Change, Protocol};
use storage::{AccessOptions, Allocator, Record, RowHead, SystemMemory, read_clock};
use txn::{Abort, ColumnSet, Intent, TableId};

/// Blocks of a copy of a record: its head and its columns.
const COPY_BLOCKS: u64 = 2;

impl<'s, M: Machine, P: Protocol<M>> LocalSite<'s, M, P> {
    /// Reads as [`LocalSite::read_number`] does, with columns among [`storage::Table::special_columns`].
    #[inline(never)]
    pub fn read_specially(
        &mut self,
        table: TableId,
        key: u64,
        columns: ColumnSet,
        intent: Intent,
        out: &mut [u8],
    ) -> Result<Option<RowHead>, Abort> {
        let home = self.data.table(table);
        let indirect = home.indirect_columns().intersects(columns);
        if indirect || !home.special_columns().intersects(columns) {
            return Ok(None);
        }
        let Some(record) = self.find_whole(home, key)? else { return Ok(None) };
        if intent == Intent::Read && record.table().is_uncontrolled(columns) {
            time_look_up(self.data.core, &record);
            record.table().look_up(self.data.core, columns);
            return Ok(Some(record.copy_out(self.data.core, columns, out)));
        }
        self.read_special_record(record, columns, intent, out).map(Some)
    }

    /// Updates as [`LocalSite::update_number`] does, with columns among [`storage::Table::special_columns`].
    #[inline(never)]
    pub fn update_specially(
        &mut self,
        table: TableId,
        key: u64,
        columns: ColumnSet,
        values: &[u8],
    ) -> Result<Option<bool>, Abort> {
        let home = self.data.table(table);
        // The layer above maintains indexes, and refuses updates of constant columns.
        let constant = home.schema().constant;
        let others = home.indexed_columns().with(constant).with(home.indirect_columns());
        if others.intersects(columns) || !home.special_columns().intersects(columns) {
            return Ok(None);
        }
        let Some(record) = self.find_whole(home, key)? else { return Ok(None) };
        let written = self.write_special_record(record, Change { columns, values, state: None })?;
        Ok(written.then_some(true))
    }

    /// Reads a record whose shape has special accesses.
    #[cold]
    #[inline(never)]
    pub(super) fn read_special_record(
        &mut self,
        record: Record<'s, M>,
        columns: ColumnSet,
        intent: Intent,
        out: &mut [u8],
    ) -> Result<RowHead, Abort> {
        let (core, shape) = (self.data.core, record.table());
        time_look_up(core, &record);
        shape.look_up(core, columns);
        if columns.is_empty() || !shape.reads_records(intent) {
            return self.read_through_protocol(record, columns, intent, out);
        }
        let (layout, mut copy) = (shape.layout(), std::mem::take(&mut self.copy));
        let row = copy.make_room(layout.bytes());
        let read = self.read_through_protocol(record, layout.all(), intent, row);
        if let Ok(head) = read
            && head.state.is_present()
        {
            layout.gather((layout.all(), copy.row()), columns, out);
            if intent == Intent::Update {
                copy.is_of(&record);
            }
        }
        self.copy = copy;
        read
    }

    /// Writes to a record whose shape has special accesses.
    #[cold]
    #[inline(never)]
    pub(super) fn write_special_record(
        &mut self,
        record: Record<'s, M>,
        change: Change<'_>,
    ) -> Result<bool, Abort> {
        let (shape, Change { columns, values, state }) = (record.table(), change);
        shape.look_up(self.data.core, columns);
        if state.is_some() || columns.is_empty() || !shape.writes_records() {
            self.copy.forget();
            return self.write_through_protocol(record, change);
        }
        let layout = shape.layout();
        let mut copy = std::mem::take(&mut self.copy);
        if !copy.holds(&record) {
            let row = copy.make_room(layout.bytes());
            let read = self.read_through_protocol(record, layout.all(), Intent::Update, row);
            match read {
                Ok(head) if head.state.is_present() => copy.is_of(&record),
                Ok(_) => return self.write_through_protocol(record, change),
                Err(abort) => return Err(abort),
            }
        }
        layout.scatter((columns, values), layout.all(), copy.row_mut());
        let whole = Change { columns: layout.all(), values: copy.row(), state };
        let written = self.write_through_protocol(record, whole);
        self.copy = copy;
        written
    }

    fn read_through_protocol(
        &mut self,
        record: Record<'s, M>,
        columns: ColumnSet,
        intent: Intent,
        out: &mut [u8],
    ) -> Result<RowHead, Abort> {
        let (core, timing) = (self.data.core, record.table().access().timing);
        read_clock_in::<M>(core, Category::Useful, timing.reads_outside());
        core.account(Category::ConcurrencyControl);
        let reads = timing.reads_in_protocol(intent == Intent::Update);
        read_clock_in::<M>(core, Category::ConcurrencyControl, reads);
        self.take_blocks(record, intent);
        // A call through the trait object, so that the usual accesses keep the only direct calls.
        let protocol: &mut dyn SessionProtocol<'s, M> = &mut self.protocol;
        refuse_retired(protocol.read(record, columns, intent, out))
    }

    /// Takes the blocks of memory that an access to `record` needs, where they come from the system.
    fn take_blocks(&mut self, record: Record<'s, M>, intent: Intent) {
        let (core, shape) = (self.data.core, record.table());
        let AccessOptions { rows, entries, .. } = shape.access();
        let entry = if entries == Allocator::Malloc { P::ENTRY_BLOCKS } else { 0 };
        let copy =
            if rows == Allocator::Malloc && shape.reads_records(intent) { COPY_BLOCKS } else { 0 };
        SystemMemory::<M>::take_entries(core, &mut self.heap, entry);
        SystemMemory::<M>::reuse(core, copy.saturating_sub(entry));
        if P::KEEPS_VERSIONS
            && intent == Intent::Update
            && let Some(memory) = self.data.store.system_memory()
        {
            memory.keep_row(core, &mut self.heap, shape.layout().bytes());
        }
    }

    fn write_through_protocol(
        &mut self,
        record: Record<'s, M>,
        change: Change<'_>,
    ) -> Result<bool, Abort> {
        self.data.core.account(Category::ConcurrencyControl);
        let protocol: &mut dyn SessionProtocol<'s, M> = &mut self.protocol;
        protocol.write(record, change)
    }
}

/// Reads the clock as often as the look-up of `record` does.
pub(crate) fn time_look_up<M: Machine>(core: &M::Core, record: &Record<'_, M>) {
    let reads = record.table().access().timing.reads_in_look_up();
    read_clock_in::<M>(core, Category::Index, reads);
}

/// Reads the clock `reads` times. The time belongs to `category`.
fn read_clock_in<M: Machine>(core: &M::Core, category: Category, reads: u64) {
    if reads != 0 {
        let before = core.account(category);
        read_clock::<M>(core, reads);
        core.account(before);
    }
}
