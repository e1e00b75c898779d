//! A session's own copy of a whole record, where accesses copy whole records ([`storage::Copies`]).

use machine::Machine;
use storage::Record;

/// Copy of the record that the attempt has last read for update. The copy contains the attempt's own writes.
#[derive(Default)]
pub(crate) struct RecordCopy {
    /// Identity of the record, or 0 if the copy is of no record.
    of: usize,
    /// All columns, in held form.
    row: Vec<u8>,
}

impl RecordCopy {
    /// Forgets the record. An attempt begins so, because the record can change between two attempts.
    #[inline(always)]
    pub fn forget(&mut self) {
        self.of = 0;
    }

    /// Forgets the record, and returns room for `bytes` bytes of another one.
    pub fn make_room(&mut self, bytes: usize) -> &mut [u8] {
        self.forget();
        self.row.clear();
        self.row.resize(bytes, 0);
        &mut self.row
    }

    /// Notes that the copy is of `record`.
    pub fn is_of<M: Machine>(&mut self, record: &Record<'_, M>) {
        self.of = record.identity();
    }

    /// Returns true if the copy is of `record`.
    pub fn holds<M: Machine>(&self, record: &Record<'_, M>) -> bool {
        self.of == record.identity()
    }

    /// Returns the row.
    pub fn row(&self) -> &[u8] {
        &self.row
    }

    /// Returns the row, to change it.
    pub fn row_mut(&mut self) -> &mut [u8] {
        &mut self.row
    }
}
