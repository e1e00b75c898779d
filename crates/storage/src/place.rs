//! Where a record lies and what its words are, for whoever reads a trace of an explored run.

use crate::{
    record::{Header, Record, RowState},
    shape::Shape,
    split::Split,
    table::Table,
};
use machine::{Machine, Word};
use txn::{TableId, Version};

/// The words of one record: offsets are bytes of the arena.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    /// The number that histories have for its table: the second parts of rows have one of their own.
    pub table: TableId,
    /// The table's name; it says so if these are second parts.
    pub name: String,
    /// Its key.
    pub key: u64,
    /// Where it begins.
    pub first: u64,
    row: u64,
    protocol: u64,
    version: u64,
    columns: u64,
    end: u64,
}

impl Place {
    /// Where `record`, that of `key`, lies.
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

    /// What the word at `offset` is, and what `value` means there; none if it is no word of the record, or one of its key.
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

/// Number and name of the records of `shape`.
fn called<M: Machine>(shape: &Shape<M>) -> (TableId, String) {
    let name = &shape.schema().name;
    let part = if shape.is_second_part() { " (second part)" } else { "" };
    (shape.id(), format!("{name}{part}"))
}

impl<M: Machine> Table<M> {
    /// What its records are called in a trace, and those of the second parts of its rows: by the numbers that histories
    /// have for them.
    pub fn names(&self) -> Vec<(TableId, String)> {
        let second = self.split().map(Split::behind);
        [Some(self.shape()), second].into_iter().flatten().map(called).collect()
    }

    /// Where the record of `key` lies, with that of its second part; nothing if there is none, or if keys are bytes.
    pub fn places(&self, core: &M::Core, key: u64) -> Vec<Place> {
        if self.has_byte_keys() || !self.has_place_for(key) {
            return Vec::new();
        }
        let first = self.find(core, key);
        let second = first.and_then(|record| record.second());
        first.iter().chain(&second).map(|record| Place::of(record, key)).collect()
    }
}
