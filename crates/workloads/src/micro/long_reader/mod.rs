//! Long readers beside short updates: scans over a tenth of a table, while updates move amounts within it.
//!
//! The way a scheme handles a long read-only transaction decides how long versions live, how long writers
//! wait, and whether the reader ever ends: "Staring into the Abyss" (2014), sections 2.2 and 5.3, on why
//! versions are kept. No paper defines this mix. Its sizes and shares are our own.
//!
//! # Tables
//! - `rows`, in key order: an amount, and bytes that fill the row.
//! - `ledger`: the number of wrong sums seen, a row for each worker.
//!
//! The rows are divided into sections of equal length. A long reader scans one section, drawn uniformly. An
//! update moves an amount between two rows of one section. So each section's sum stays equal to the loaded
//! sum. A scan that sees another sum has seen half of an update. The scan is declared read-only, so its
//! worker reports the wrong sum with its next procedure.

mod client;
mod variation;

pub use client::{KIND_NAMES, LongReaderClient};

use crate::cell::cell;
use crate::options::{self, OptionError, OptionOf, Options, option};
use crate::registry::Listed;
use crate::variation::explored;
use crate::zipf::Zipf;
use std::ops::ControlFlow;
use txn::{
    Abort, Access, Column, ColumnSet, ColumnType, Conservation, Direction, Intent, KeyRange,
    Loader, Schema, TableId, TableSchema, Workload,
};

const ROWS: TableId = TableId(0);
const LEDGER: TableId = TableId(1);

/// Amount of a row. It is also the only column of the ledger.
const AMOUNT: ColumnSet = ColumnSet::one(0);

/// Number of rows of the ledger. Workers beyond this number share rows.
const LEDGER_ROWS: u64 = 64;

/// Amount of a row when it is loaded.
const LOADED: i64 = 1000;

/// Options of the workload. [`LongReader::new`] validates them.
#[derive(Clone, Debug, PartialEq)]
pub struct LongReaderOptions {
    /// Number of rows of the table.
    pub records: u64,
    /// Number of sections. A long reader scans one of them.
    pub sections: u64,
    /// Number of bytes of a row besides its amount. 0 means none.
    pub filler_bytes: u64,
    /// Number of workers that run only long readers. If it is not zero, the other workers run only updates.
    pub long_readers: u64,
    /// Share of the transactions that are long readers, if no worker is reserved for them.
    pub long_share: f64,
    /// Skew of the rows that an update chooses within a section, from 0 (uniform) to less than 1.
    pub theta: f64,
}

impl Default for LongReaderOptions {
    fn default() -> LongReaderOptions {
        LongReaderOptions {
            records: 100_000,
            sections: 10,
            filler_bytes: 92,
            long_readers: 1,
            long_share: 0.0,
            theta: 0.0,
        }
    }
}

impl Options for LongReaderOptions {
    const OPTIONS: &'static [OptionOf<LongReaderOptions>] = &[
        option("records", "Rows of the table", |o| &mut o.records),
        option("sections", "Sections, one of which a long reader scans", |o| &mut o.sections),
        option("filler-bytes", "Bytes of a row beside its amount", |o| &mut o.filler_bytes),
        option(
            "long-readers",
            "Workers that are long readers, the others only update; 0 binds none",
            |o| &mut o.long_readers,
        ),
        option(
            "long-share",
            "Share of the transactions that are long readers, where no worker is bound",
            |o| &mut o.long_share,
        ),
        option(
            "theta",
            "Skew of an update's rows within their section, from 0 (uniform) to less than 1",
            |o| &mut o.theta,
        ),
    ];

    fn validate(&self) -> Result<(), OptionError> {
        options::integer("records", self.records, 2, options::MAX_ROWS)?;
        // An update needs two rows of a section.
        options::at_most("sections", self.sections, 1, ("records / 2", self.records / 2))?;
        options::integer("filler-bytes", self.filler_bytes, 0, 1 << 16)?;
        options::integer("long-readers", self.long_readers, 0, 65_536)?;
        options::ratio("long-share", self.long_share)?;
        if self.long_readers > 0 && self.long_share > 0.0 {
            return Err(OptionError {
                option: "long-share",
                given: self.long_share.to_string(),
                allowed: "0 unless long-readers is 0".into(),
            });
        }
        options::theta(self.theta)
    }

    fn bound_workers(&self) -> Option<(&'static str, u64)> {
        Some(("long-readers", self.long_readers))
    }
}

impl LongReaderOptions {
    /// Returns the number of rows of each section. Remaining rows belong to no section and are never
    /// accessed.
    fn section_rows(&self) -> u64 {
        self.records / self.sections
    }

    /// Returns the keys of section number `section`.
    fn section(&self, section: u64) -> KeyRange {
        let rows = self.section_rows();
        KeyRange::new(section * rows, section * rows + rows - 1).expect("a section has rows")
    }
}

/// The workload.
#[derive(Clone, Debug)]
pub struct LongReader {
    options: LongReaderOptions,
    zipf: Zipf,
}

impl LongReader {
    /// Creates the workload with `options`. Returns an error that names a wrong option.
    pub fn new(options: LongReaderOptions) -> Result<LongReader, OptionError> {
        options.validate()?;
        let zipf = Zipf::new(options.section_rows(), options.theta);
        Ok(LongReader { options, zipf })
    }

    /// Returns the options of this workload.
    pub fn options(&self) -> &LongReaderOptions {
        &self.options
    }
}

impl Listed for LongReader {
    type Options = LongReaderOptions;
    const NAME: &'static str = "long-reader";
    const SUMMARY: &'static str = "scans over a tenth of a table beside short updates";
    const SOURCE: &'static str = "ours; after what Staring into the Abyss, 2.2, says of versions";
    const EXAMPLES: &'static [&'static str] =
        &["--cc MVCC,SILO --machine graphite --cores 16 --long-readers 2"];

    explored! {
        "scans of a section beside updates within it, whose sums must stay",
        "--cc MVCC",
        Self::varied,
    }

    fn with(options: Self::Options) -> Result<LongReader, OptionError> {
        LongReader::new(options)
    }
}

impl Workload for LongReader {
    type Client = LongReaderClient;
    const MOVABLE: Option<txn::Movable> = Some(txn::Movable::of::<Self>());

    const COMPILED: bool = false;

    fn schema(&self) -> Schema {
        let mut columns = vec![Column::new("amount", ColumnType::I64)];
        if self.options.filler_bytes > 0 {
            let filler = ColumnType::Bytes(self.options.filler_bytes as u32);
            columns.push(Column::new("filler", filler));
        }
        let ledger = vec![Column::new("wrong_sums", ColumnType::I64)];
        Schema {
            tables: vec![
                TableSchema::new("rows", columns).ordered(),
                TableSchema::new("ledger", ledger),
            ],
        }
    }

    fn kinds(&self) -> &'static [&'static str] {
        &KIND_NAMES
    }

    fn rows(&self, table: TableId) -> u64 {
        if table == ROWS { self.options.records } else { LEDGER_ROWS }
    }

    fn load(&self, loader: &mut dyn Loader) {
        loader.load_dense(ROWS, self.options.records, &|_, row| {
            row[..8].copy_from_slice(&LOADED.to_le_bytes());
        });
        loader.load_dense(LEDGER, LEDGER_ROWS, &|_, _| {});
    }

    fn client(&self, worker: usize, _workers: usize, seed: u64) -> LongReaderClient {
        LongReaderClient::of_worker(&self.options, &self.zipf, worker, seed)
    }

    fn conservation(&self) -> Option<Conservation> {
        let options = self.options.clone();
        Some(Box::new(move |access, _| law(&options, access)))
    }
}

/// Returns the sum of a section's amounts.
fn sum<A: Access + ?Sized>(
    access: &mut A,
    section: KeyRange,
    direction: Direction,
) -> Result<i64, Abort> {
    let mut sum = 0i64;
    access.scan(ROWS, section.into(), direction, AMOUNT, &mut |_, amount| {
        let amount = amount.try_into().expect("the column is as long as its type");
        sum = sum.wrapping_add(i64::from_le_bytes(amount));
        ControlFlow::Continue(())
    })?;
    Ok(sum)
}

/// Checks that every section adds up to the loaded sum, and that no scan saw another sum.
fn law(options: &LongReaderOptions, access: &mut dyn Access) -> Result<Result<(), String>, Abort> {
    let mut seen = 0;
    for row in 0..LEDGER_ROWS {
        seen += cell(access, LEDGER, row, AMOUNT, Intent::Read)?;
    }
    if seen != 0 {
        return Ok(Err(format!("{seen} committed scans saw a wrong sum")));
    }
    let loaded = options.section_rows() as i64 * LOADED;
    for section in 0..options.sections {
        let found = sum(access, options.section(section), Direction::Forward)?;
        if found != loaded {
            return Ok(Err(format!("section {section} adds up to {found}, {loaded} was loaded")));
        }
    }
    Ok(Ok(()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bad_option_is_named_with_its_value_and_what_is_allowed() {
        let error = |change: fn(&mut LongReaderOptions)| {
            let mut options = LongReaderOptions { records: 100, ..LongReaderOptions::default() };
            change(&mut options);
            LongReader::new(options).unwrap_err().to_string()
        };
        assert_eq!(error(|o| o.sections = 51), "sections is 51; allowed: 1 to records / 2 (50)");
        assert_eq!(error(|o| o.theta = 1.0), "theta is 1; allowed: at least 0 and less than 1");
        let said = error(|o| o.long_share = 0.5);
        assert_eq!(said, "long-share is 0.5; allowed: 0 unless long-readers is 0");
    }
}
