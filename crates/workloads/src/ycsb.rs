//! YCSB as transactions: independent accesses to records that are chosen by Zipf's law.
//!
//! The table is that of the Yahoo! Cloud Serving Benchmark (Cooper et al., SoCC 2010): one key and ten
//! 100-byte fields. Its workloads A to F are presets, with one access per transaction. The grouping of
//! accesses into transactions follows "Staring into the Abyss" (2014), section 3.3: 16 accesses, each a read
//! or an update, no computation, no access that depends on another.
//!
//! Choices that the papers leave open:
//! - The rank drawn by Zipf's law is the key itself, as in DBx1000: key 0 is the hottest. A hash index
//!   spreads neighboring keys anyway.
//! - An access touches one field, drawn uniformly. A read copies the field out and folds it into a checksum,
//!   so neither the engine nor the compiler can skip it.
//! - With several partitions, key `k` lies in partition `k mod partitions`. A partition's keys are drawn by
//!   Zipf's law among themselves, as in DBx1000. A transaction's first partition is its worker's own (worker
//!   modulo partitions) or drawn uniformly. A multi-partition transaction draws the others uniformly, and
//!   takes its accesses from its partitions in turn (Abyss 5.5). Scattered keys are drawn from the whole table
//!   instead, as for the architectures of Trireme (4.1): nearly all of them belong to other partitions.
//! - A new row's number is the first free number of its worker, so that no two workers insert the same row.
//!   If keys are hashed, as in YCSB, the key is a permutation of the number. Scans begin at loaded rows.
//! - The latest rows are those that the worker itself has inserted last, followed by the last loaded rows.
//!   This corresponds to several client processes of YCSB, none of which knows the others' inserts.
//! - The lengths of scans are uniform or follow Zipf's law, starting at one row.
//! - Workers can be bound to reading or writing. Any other drawn access then becomes a read or an update.
//! - An update writes a value that no other update writes. A constant value would hide writes that reach the
//!   shared record before the commit.

mod client;
mod homes;
mod keys;
mod mix;
mod options;
mod value;
mod variation;

pub use client::YcsbClient;
pub use options::YcsbOptions;

use crate::options::{OptionError, Options};
use crate::registry::Listed;
use crate::variation::explored;
use crate::zipf::Zipf;
use keys::Keys;
use txn::{Column, ColumnType, Loader, Partitioning, Schema, TableId, TableSchema, Workload};

/// The only table.
const USERTABLE: TableId = TableId(0);

/// The workload.
#[derive(Clone, Debug)]
pub struct Ycsb {
    options: YcsbOptions,
    zipf: Zipf,
}

impl Ycsb {
    /// Creates the workload with `options`. Returns an error that names a wrong option.
    pub fn new(options: YcsbOptions) -> Result<Ycsb, OptionError> {
        options.validate()?;
        let ranks = options.records / if options.scattered { 1 } else { options.partitions };
        let zipf = Zipf::new(ranks, options.theta);
        Ok(Ycsb { options, zipf })
    }

    /// Returns the options of this workload.
    pub fn options(&self) -> &YcsbOptions {
        &self.options
    }
}

impl Listed for Ycsb {
    type Options = YcsbOptions;
    const NAME: &'static str = "ycsb";
    const SUMMARY: &'static str =
        "independent reads, updates, inserts and scans of one table; YCSB's A to F are presets";
    const SOURCE: &'static str =
        "Cooper et al., SoCC 2010; as transactions: Staring into the Abyss, 3.3";
    const PARTITIONED_BY: Option<&'static str> = Some("partitions");
    const EXAMPLES: &'static [&'static str] =
        &["--cc SILO --records 1M --theta 0.6 --read-ratio 0.5", "--preset e --records 100k"];

    explored! {
        "reads and updates of a small table, judged by the certificate alone",
        "--cc TICTOC",
        Self::varied,
        KEY_ORDER: Self::varied_in_order,
        GROWING: Self::varied_growing,
    }

    fn with(options: Self::Options) -> Result<Ycsb, OptionError> {
        Ycsb::new(options)
    }
}

impl Workload for Ycsb {
    type Client = YcsbClient;
    const MOVABLE: Option<txn::Movable> = Some(txn::Movable::of::<Self>());

    fn schema(&self) -> Schema {
        let field = match self.options.add {
            true => ColumnType::U64,
            false => ColumnType::Bytes(self.options.field_bytes as u32),
        };
        let columns =
            (0..self.options.fields).map(|i| Column::new(format!("field{i}"), field)).collect();
        // No law depends on the values, so a simulated machine does not have to store them.
        let partitioning = Partitioning::Modulo { partitions: self.options.partitions };
        let table = TableSchema::new("usertable", columns).opaque().partitioned(partitioning);
        let index = self.options.chosen_index();
        Schema { tables: vec![index.of(table, self.options.records)] }
    }

    fn rows(&self, _table: TableId) -> u64 {
        self.options.records
    }

    fn grows(&self) -> bool {
        self.options.insert_ratio > 0.0
    }

    fn load(&self, loader: &mut dyn Loader) {
        let options = &self.options;
        if !options.hashed_keys {
            loader.load_dense(USERTABLE, options.records, &|key, row| value::initial(key, row));
            return;
        }
        let mut row = vec![0; options.row_bytes()];
        for number in 0..options.records {
            let key = Keys::place(number, true);
            value::initial(key, &mut row);
            loader.load(USERTABLE, key.into(), &row);
        }
    }

    fn client(&self, worker: usize, workers: usize, seed: u64) -> YcsbClient {
        YcsbClient::of_worker(&self.options, &self.zipf, worker, workers, seed)
    }

    fn in_key_order(&self) -> bool {
        // If keys can repeat, a row can be read first and written later.
        self.options.key_order && self.options.distinct
    }
}
