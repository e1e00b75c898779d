//! Places of records: where a record lies and what its words mean, for readers of a trace of an explored run.

use crate::{
    hot_columns::HotColumns,
    record::{Header, Record, RowState},
    shape::Shape,
    table::Table,
};
use machine::{Machine, Word};
use txn::{TableId, Version};

/// Words of one record. Offsets are in bytes of the arena.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    /// Number that the table has in histories. The second parts of rows have a number of their own.
    pub table: TableId,
    /// Name of the table. For second parts it says so.
    pub name: String,
    /// Key of the record.
    pub key: u64,
    /// Offset at which the record begins.
    pub first: u64,
    /// Offset of the row state.
    row: u64,
    /// Offset of the protocol's words. They end at `version`.
    protocol: u64,
    /// Offset of the version and the digest, where they are kept. They end at `columns`.
    version: u64,
    /// Offset of the columns. They end at `end`.
    columns: u64,
    /// Offset behind the last column.
    end: u64,
}

impl Place {
    /// Returns the place of `record`, whose key is `key`.
    pub fn of<M: Machine>(record: &Record<'_, M>, key: u64) -> Place {
        let shape = record.table();
        let (word, first) = (size_of::<Word>() as u64, record.name().offset);
        let (table, name) = called(shape);
        Place {
            table,
            name,
            key,
            first,
            row: first + std::mem::offset_of!(Header<M>, row) as u64,
            protocol: first + size_of::<Header<M>>() as u64,
            version: first + shape.version_at() as u64 * word,
            columns: first + shape.columns_at() as u64 * word,
            end: first + shape.columns_at() as u64 * word + shape.layout().words() as u64 * word,
        }
    }

    /// Returns the name of the word at `offset` and what `value` means there. Returns none if the record has no word
    /// there, or if the word belongs to the key.
    pub fn word(&self, offset: u64, value: u64) -> Option<(String, String)> {
        let value = match offset {
            _ if offset == self.row => match RowState(value) {
                RowState::PRESENT => "present".to_owned(),
                RowState::ABSENT => "absent".to_owned(),
                RowState::RETIRED => "retired".to_owned(),
                RowState(other) => other.to_string(),
            },
            _ if (self.version..self.columns).contains(&offset) => match Version(value) {
                Version::INITIAL => "the loader's".to_owned(),
                version => version.writer().to_string(),
            },
            _ => value.to_string(),
        };
        Some((self.name_of(offset)?, value))
    }

    fn name_of(&self, offset: u64) -> Option<String> {
        let at = |from: u64, what: &str| Some(format!("{what} {}", (offset - from) / 8));
        match offset {
            _ if offset == self.row => Some("row state".to_owned()),
            _ if (self.protocol..self.version).contains(&offset) => {
                at(self.protocol, "protocol word")
            }
            _ if (self.version..self.columns).contains(&offset) => Some("version".to_owned()),
            _ if (self.columns..self.end).contains(&offset) => at(self.columns, "column word"),
            _ => None,
        }
    }
}

/// Returns the number and the name of the records of `shape`.
fn called<M: Machine>(shape: &Shape<M>) -> (TableId, String) {
    let name = &shape.schema().name;
    let part = if shape.is_second_part() { " (second part)" } else { "" };
    (shape.id(), format!("{name}{part}"))
}

impl<M: Machine> Table<M> {
    /// Returns the names of the table's records in a trace, and those of the second parts of its rows, each with the
    /// number that it has in histories.
    pub fn names(&self) -> Vec<(TableId, String)> {
        let second = self.hot_columns().map(HotColumns::behind);
        [Some(self.shape()), second].into_iter().flatten().map(called).collect()
    }

    /// Returns the places of the record of `key` and of its second part. Returns nothing if there is no record, or if
    /// keys are bytes.
    pub fn places(&self, core: &M::Core, key: u64) -> Vec<Place> {
        if self.has_byte_keys() || !self.has_place_for(key) {
            return Vec::new();
        }
        let first = self.find(core, key);
        let second = first.and_then(|record| record.second());
        first.iter().chain(&second).map(|record| Place::of(record, key)).collect()
    }
}
