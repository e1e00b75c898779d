//! Notes: rows of text and bytes whose lengths change, some of them NULL.
//!
//! This workload serves tests and the explorer. Every value of a note follows from two numbers in the note: its size
//! and its mark. So a reader that gets the memory of another value, or of a value that is gone, sees it at once. It
//! follows no paper.
//!
//! # Tables
//! - `notes`: keys below twice [`NotesOptions::notes`], of which every other key is loaded. Each note has a size, a mark,
//!   a text of that size, a tag and a file. Tag and file can be NULL. Short texts lie in the record, long ones outside.
//! - `by_tag`: an index of notes by tag. NULL comes first.
//! - `ledger`: the number of broken laws seen by each kind of procedure, a row for each worker.
//! - With [`NotesOptions::added_columns`] a table of files, as if that column had been added to `notes` later.
//!
//! # Procedures
//! | kind | does | law |
//! | --- | --- | --- |
//! | move | moves characters from one note to another, which rewrites both | notes read are whole; own writes are seen |
//! | replace | deletes a note and inserts its content under another key | the new note equals the old one |
//! | find | finds notes by their tag, or those without one | all have the tag, and are whole |
//! | census | reads all notes, declared read-only | as many notes and characters as were loaded |
//!
//! Broken laws that a transaction sees are reported as with [counters](super::counters).

mod client;
mod law;
mod note;
mod variation;

pub use client::{KIND_NAMES, NotesClient};

use super::ledger::{self, Ledger};
use crate::index_choice::IndexChoice;
use crate::options::{self, OptionError, OptionOf, Options, option};
use crate::registry::Listed;
use crate::variation::explored;
use note::{Note, TAG_BYTES};
use txn::{
    Column, ColumnSet, ColumnType, Conservation, Loader, RowLayout, Schema, SecondaryIndex,
    TableId, TableSchema, Workload, push_variable,
};

/// The notes, by number.
pub const NOTES: TableId = TableId(0);
/// The index by tag.
pub const BY_TAG: TableId = TableId(1);
/// The ledger, with a column for each kind of procedure that checks laws.
const LEDGER: Ledger = Ledger { table: TableId(2), laws: &["move", "replace", "find", "census"] };
/// The files, if their column was added.
const ADDED: TableId = TableId(3);

/// Number of the column of files.
const FIRST_ADDED: usize = 4;

/// Options of the workload. [`Notes::new`] validates them.
#[derive(Clone, Debug, PartialEq)]
pub struct NotesOptions {
    /// Number of notes.
    pub notes: u64,
    /// Mean size of a note, in characters.
    pub size: u64,
    /// Share of the procedures that replace a note.
    pub replacements: f64,
    /// Share of the procedures that find notes by their tag.
    pub finds: f64,
    /// Share of the procedures that are censuses. The remaining share moves characters.
    pub censuses: f64,
    /// Index by which notes are found by number.
    pub index: IndexChoice,
    /// Set if files are in a column that was added to the table.
    pub added_columns: bool,
}

impl Default for NotesOptions {
    fn default() -> NotesOptions {
        NotesOptions {
            notes: 10_000,
            size: 200,
            replacements: 0.1,
            finds: 0.2,
            censuses: 0.0,
            index: IndexChoice::Hash,
            added_columns: false,
        }
    }
}

impl Options for NotesOptions {
    const OPTIONS: &'static [OptionOf<NotesOptions>] = &[
        option("notes", "Notes", |o| &mut o.notes),
        option("size", "Mean size of a note in characters", |o| &mut o.size),
        option("replacements", "Share of the procedures that replace a note by another", |o| {
            &mut o.replacements
        }),
        option("finds", "Share of the procedures that find notes by their tag", |o| &mut o.finds),
        option(
            "censuses",
            "Share of the procedures that read all notes; what the shares leave moves characters",
            |o| &mut o.censuses,
        ),
        option("index", "How notes are found by number: hash, perfect, btree, rbtree", |o| {
            &mut o.index
        }),
        option("added-columns", "Files are in a column that was added to the table later", |o| {
            &mut o.added_columns
        }),
    ];

    fn validate(&self) -> Result<(), OptionError> {
        options::integer("notes", self.notes, 1, 1 << 20)?;
        options::integer("size", self.size, 1, 2_000)?;
        options::ratio("replacements", self.replacements)?;
        options::ratio("finds", self.finds)?;
        options::ratio("censuses", self.censuses)?;
        let shares = self.replacements + self.finds + self.censuses;
        if shares > 1.0 + 1e-9 {
            return Err(OptionError {
                option: "replacements + finds + censuses",
                given: shares.to_string(),
                allowed: "0 to 1 together".into(),
            });
        }
        Ok(())
    }
}

impl NotesOptions {
    /// Returns options for exploration: few notes, and some of each kind of procedure.
    pub fn mixed() -> NotesOptions {
        NotesOptions {
            notes: 4,
            size: 30,
            replacements: 0.2,
            finds: 0.2,
            censuses: 0.2,
            index: IndexChoice::Hash,
            added_columns: false,
        }
    }

    /// Returns the number of keys that a note can have.
    fn keys(&self) -> u64 {
        self.notes * 2
    }

    /// Returns the number of characters of all notes.
    fn characters(&self) -> u64 {
        (0..self.notes).map(|at| Note::loaded(at, self.size).size).sum()
    }
}

/// The workload.
#[derive(Clone, Debug)]
pub struct Notes {
    options: NotesOptions,
}

impl Notes {
    /// Creates the workload with `options`. Returns an error that names a wrong option.
    pub fn new(options: NotesOptions) -> Result<Notes, OptionError> {
        options.validate()?;
        Ok(Notes { options })
    }

    /// Returns the options of this workload.
    pub fn options(&self) -> &NotesOptions {
        &self.options
    }

    /// Returns the table of notes with all columns.
    fn whole_notes(&self) -> TableSchema {
        let columns = vec![
            Column::new("size", ColumnType::U64),
            Column::new("mark", ColumnType::U32),
            Column::new("text", ColumnType::Text),
            Column::new("tag", ColumnType::TextUpTo(TAG_BYTES as u32)).nullable(),
            Column::new("file", ColumnType::VarBytes).nullable(),
        ];
        let notes = TableSchema::new("notes", columns).with_indexes(&[BY_TAG]);
        self.options.index.of(notes, self.options.keys())
    }

    fn tables(&self) -> Vec<TableSchema> {
        let mut notes = self.whole_notes();
        let added = match self.options.added_columns {
            false => Vec::new(),
            true => notes.columns.split_off(FIRST_ADDED),
        };
        let tag_bits = (TAG_BYTES as u32 + 1) * 8;
        let by_tag =
            TableSchema::index_of("by_tag", (NOTES, &notes), &[("tag", tag_bits)], Some(32));
        let mut tables = vec![notes, by_tag, LEDGER.schema()];
        if !added.is_empty() {
            let mut defaults = Vec::new();
            added.iter().for_each(|_| push_variable(&mut defaults, None));
            tables.push(TableSchema::added_to((NOTES, &tables[0]), added, defaults));
        }
        tables
    }

    /// Returns the index by tag.
    fn by_tag(&self) -> SecondaryIndex {
        self.tables()[usize::from(BY_TAG.0)].index_of.clone().expect("it is an index")
    }

    /// Returns the layout of notes.
    fn layout(&self) -> RowLayout {
        RowLayout::of(&self.whole_notes())
    }
}

impl Listed for Notes {
    type Options = NotesOptions;
    const NAME: &'static str = "notes";
    const SUMMARY: &'static str =
        "texts and bytes whose lengths change, some NULL, under laws that a wrong value breaks";
    const SOURCE: &'static str = "ours; it is what the explorer runs";
    const EXAMPLES: &'static [&'static str] = &["--cc SILO --notes 10000 --size 200 --certify"];

    explored! {
        Self::SUMMARY,
        "--cc MVCC",
        Self::varied,
    }

    fn with(options: Self::Options) -> Result<Notes, OptionError> {
        Notes::new(options)
    }
}

impl Workload for Notes {
    type Client = NotesClient;
    const MOVABLE: Option<txn::Movable> = Some(txn::Movable::of::<Self>());
    const COMPILED: bool = false;

    fn schema(&self) -> Schema {
        Schema { tables: self.tables() }
    }

    fn kinds(&self) -> &'static [&'static str] {
        &KIND_NAMES
    }

    fn rows(&self, table: TableId) -> u64 {
        if table == LEDGER.table { ledger::ROWS } else { self.options.notes }
    }

    fn load(&self, loader: &mut dyn Loader) {
        let (layout, mut row) = (self.layout(), Vec::new());
        for at in 0..self.options.notes {
            row.clear();
            Note::loaded(at, self.options.size).push_row(&layout, &mut row);
            let own = match self.options.added_columns {
                false => row.len(),
                true => layout.packed_bytes(ColumnSet::first(FIRST_ADDED), &row),
            };
            loader.load(NOTES, (at * 2).into(), &row[..own]);
            // A row that is missing here has the default, which is NULL.
            if own < row.len() && layout.field(layout.all(), &row, FIRST_ADDED).is_some() {
                loader.load(ADDED, (at * 2).into(), &row[own..]);
            }
        }
        LEDGER.load(loader);
    }

    fn client(&self, worker: usize, _workers: usize, seed: u64) -> NotesClient {
        NotesClient::new(self.options.clone(), (self.layout(), self.by_tag()), worker, seed)
    }

    fn conservation(&self) -> Option<Conservation> {
        let (options, layout, by_tag) = (self.options.clone(), self.layout(), self.by_tag());
        Some(Box::new(move |access, _| law::check(&options, (&layout, &by_tag), access)))
    }
}

/// All columns of a note.
const ALL: ColumnSet = ColumnSet::first(5);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bad_option_is_named_with_its_value_and_what_is_allowed() {
        let error = |change: fn(&mut NotesOptions)| {
            let mut options = NotesOptions::mixed();
            change(&mut options);
            Notes::new(options).unwrap_err().to_string()
        };
        assert_eq!(error(|o| o.notes = 0), "notes is 0; allowed: 1 to 1048576");
        assert_eq!(error(|o| o.size = 3000), "size is 3000; allowed: 1 to 2000");
        assert!(error(|o| o.finds = 0.75).contains("0 to 1 together"));
        assert!(Notes::new(NotesOptions::default()).is_ok());
    }
}
