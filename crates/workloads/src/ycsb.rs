//! YCSB as transactions: independent accesses to records that are chosen by Zipf's law.
//!
//! The table is that of the Yahoo! Cloud Serving Benchmark (Cooper et al., SoCC 2010): one key and
//! ten 100-byte fields. Grouping accesses into transactions follows "Staring into the Abyss"
//! (2014), section 3.3: 16 accesses, each a read or an update, no computation, no access that
//! depends on another.
//!
//! Choices that the papers leave open:
//! - The rank that Zipf's law draws is the key itself, as in DBx1000: key 0 is the hottest. A hash
//!   index spreads neighbouring keys anyway.
//! - An access touches one field, drawn evenly. A read copies the field out and folds it into a
//!   checksum, so neither the engine nor the compiler can skip it.
//! - With several partitions, key `k` lies in partition `k mod partitions`, and a partition's keys are drawn by
//!   Zipf's law among themselves, as in DBx1000. A transaction's first partition is its worker's own (worker
//!   modulo partitions) or drawn evenly; a multi-partition transaction draws the others evenly, and takes its
//!   accesses from its partitions in turn (Abyss 5.5).
//! - An update writes a value that no other update writes. A constant value would hide writes that
//!   reach the shared record before the commit.

use crate::distinct::KeyDraw;
use crate::options::{self, OptionError, OptionValue};
use crate::stream::Stream;
use crate::zipf::Zipf;
use homes::Homes;
use txn::{
    Abort, Access, Client, Column, ColumnSet, ColumnType, Loader, MAX_COLUMNS, Partitioning,
    Schema, TableId, TableSchema, Workload,
};

mod homes;
mod value;

/// The only table.
const USERTABLE: TableId = TableId(0);

/// The longest field, in bytes.
const MAX_FIELD_BYTES: u64 = 1 << 16;

/// The most partitions.
const MAX_PARTITIONS: u64 = 65_536;

/// All that can be set. [`Ycsb::new`] checks it.
#[derive(Clone, Debug, PartialEq)]
pub struct YcsbOptions {
    /// Rows of the table.
    pub records: u64,
    /// Fields of a row.
    pub fields: u64,
    /// Length of a field, in bytes.
    pub field_bytes: u64,
    /// Skew of the keys, from 0 (uniform) to less than 1.
    pub theta: f64,
    /// Share of the accesses that are reads, from 0 to 1; the others are updates.
    pub read_ratio: f64,
    /// Accesses of a transaction.
    pub accesses: u64,
    /// An update reads the field first, and writes what it makes of it.
    pub read_modify_write: bool,
    /// A transaction's keys differ from each other.
    pub distinct: bool,
    /// Partitions of the table.
    pub partitions: u64,
    /// Share of the transactions that access several partitions, from 0 to 1.
    pub multi_partition_share: f64,
    /// Partitions that such a transaction accesses.
    pub partitions_per_transaction: u64,
    /// A worker's transactions have the same first partition; else it is drawn.
    pub local_partition: bool,
    /// A transaction accesses its keys in ascending order (Abyss 4.2, figure 4).
    pub key_order: bool,
    /// All keys are announced before the first is accessed, so that cache misses overlap.
    pub prefetch: bool,
    /// Transactions that drew no update are declared read-only at begin. DBx1000 declares nothing.
    pub declare_read_only: bool,
}

impl Default for YcsbOptions {
    fn default() -> YcsbOptions {
        YcsbOptions {
            records: 1_000_000,
            fields: 10,
            field_bytes: 100,
            theta: 0.0,
            read_ratio: 1.0,
            accesses: 16,
            read_modify_write: false,
            distinct: true,
            partitions: 1,
            multi_partition_share: 0.0,
            partitions_per_transaction: 2,
            local_partition: true,
            key_order: false,
            prefetch: true,
            declare_read_only: false,
        }
    }
}

impl YcsbOptions {
    /// Says which option is wrong, if one is.
    pub fn validate(&self) -> Result<(), OptionError> {
        options::integer("records", self.records, 1, options::MAX_ROWS)?;
        options::integer("fields", self.fields, 1, MAX_COLUMNS as u64)?;
        options::integer("field-bytes", self.field_bytes, 1, MAX_FIELD_BYTES)?;
        options::theta(self.theta)?;
        options::ratio("read-ratio", self.read_ratio)?;
        options::integer("accesses", self.accesses, 1, options::MAX_ACCESSES)?;
        options::integer("partitions", self.partitions, 1, self.records.min(MAX_PARTITIONS))?;
        options::ratio("multi-partition-share", self.multi_partition_share)?;
        let most = if self.multi_partition_share > 0.0 { self.partitions } else { MAX_PARTITIONS };
        let asked = self.partitions_per_transaction;
        options::integer("partitions-per-transaction", asked, 1, most)?;
        if self.distinct {
            let rows = self.records / self.partitions;
            let option = if self.partitions == 1 { "records" } else { "records / partitions" };
            options::enough_rows(self.accesses, rows, option)?;
        }
        Ok(())
    }

    /// Names (as on the command line) and values, for a run's record.
    pub fn list(&self) -> Vec<(&'static str, OptionValue)> {
        vec![
            ("records", OptionValue::Integer(self.records)),
            ("fields", OptionValue::Integer(self.fields)),
            ("field-bytes", OptionValue::Integer(self.field_bytes)),
            ("theta", OptionValue::Number(self.theta)),
            ("read-ratio", OptionValue::Number(self.read_ratio)),
            ("accesses", OptionValue::Integer(self.accesses)),
            ("read-modify-write", OptionValue::Flag(self.read_modify_write)),
            ("distinct", OptionValue::Flag(self.distinct)),
            ("partitions", OptionValue::Integer(self.partitions)),
            ("multi-partition-share", OptionValue::Number(self.multi_partition_share)),
            ("partitions-per-transaction", OptionValue::Integer(self.partitions_per_transaction)),
            ("local-partition", OptionValue::Flag(self.local_partition)),
            ("key-order", OptionValue::Flag(self.key_order)),
            ("prefetch", OptionValue::Flag(self.prefetch)),
            ("declare-read-only", OptionValue::Flag(self.declare_read_only)),
        ]
    }
}

/// The workload.
#[derive(Clone, Debug)]
pub struct Ycsb {
    options: YcsbOptions,
    zipf: Zipf,
}

impl Ycsb {
    /// The workload with `options`, or which of them is wrong.
    pub fn new(options: YcsbOptions) -> Result<Ycsb, OptionError> {
        options.validate()?;
        let zipf = Zipf::new(options.records / options.partitions, options.theta);
        Ok(Ycsb { options, zipf })
    }

    /// The options that it was made with.
    pub fn options(&self) -> &YcsbOptions {
        &self.options
    }
}

impl Workload for Ycsb {
    type Client = YcsbClient;

    fn schema(&self) -> Schema {
        let field = ColumnType::Bytes(self.options.field_bytes as u32);
        let columns =
            (0..self.options.fields).map(|i| Column::new(format!("field{i}"), field)).collect();
        // No law depends on the values, so a simulated machine need not keep them.
        let partitioning = Partitioning::Modulo { partitions: self.options.partitions };
        let table = TableSchema::new("usertable", columns).opaque().partitioned(partitioning);
        Schema { tables: vec![table] }
    }

    fn rows(&self, _table: TableId) -> u64 {
        self.options.records
    }

    fn load(&self, loader: &mut dyn Loader) {
        loader.load_dense(USERTABLE, self.options.records, &|key, row| value::initial(key, row));
    }

    fn client(&self, worker: usize, _workers: usize, seed: u64) -> YcsbClient {
        let options = &self.options;
        let accesses = options.accesses as usize;
        YcsbClient {
            stream: Stream::of_worker(seed, worker),
            draw: KeyDraw::new(self.zipf.clone(), accesses, options.distinct),
            keys: Vec::with_capacity(accesses),
            homes: Homes::new(options, worker),
            accesses: vec![FieldAccess { field: 0, update: false }; accesses],
            fields: options.fields,
            // Compared with 32 random bits, so that a ratio of 1 is always and 0 is never.
            reads_below: (options.read_ratio * (1u64 << 32) as f64) as u64,
            read_modify_write: options.read_modify_write,
            key_order: options.key_order,
            prefetch: options.prefetch,
            declare_read_only: options.declare_read_only,
            updates: false,
            stamp: value::first_stamp(worker),
            buffer: vec![0; options.field_bytes as usize],
            checksum: 0,
        }
    }

    fn in_key_order(&self) -> bool {
        // A key that comes twice may be read first and written then.
        self.options.key_order && self.options.distinct
    }
}

/// What is done to one key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct FieldAccess {
    field: u8,
    update: bool,
}

/// One worker's stream of transactions.
#[derive(Clone, Debug)]
pub struct YcsbClient {
    stream: Stream,
    draw: KeyDraw,
    keys: Vec<u64>,
    homes: Homes,
    accesses: Vec<FieldAccess>,
    fields: u64,
    reads_below: u64,
    read_modify_write: bool,
    key_order: bool,
    prefetch: bool,
    declare_read_only: bool,
    updates: bool,
    stamp: u64,
    buffer: Vec<u8>,
    checksum: u64,
}

impl YcsbClient {
    /// A digest of every byte read so far, aborted attempts included. It exists so that reads happen.
    pub fn checksum(&self) -> u64 {
        self.checksum
    }

    /// The keys of the drawn transaction, in the order in which they are accessed.
    pub fn keys(&self) -> &[u64] {
        &self.keys
    }

    /// Tells the engine what comes: first all rows (their place in the index, their metadata), then
    /// the one field that is accessed of each. Announcing every field of every row would ask for
    /// more cache lines than a core can wait for.
    fn announce<A: Access + ?Sized>(&self, access: &mut A) {
        access.prefetch(USERTABLE, &self.keys, ColumnSet::NONE);
        for (key, what) in self.keys.iter().zip(&self.accesses) {
            let column = ColumnSet::one(what.field as usize);
            access.prefetch(USERTABLE, std::slice::from_ref(key), column);
        }
    }
}

impl Client for YcsbClient {
    fn next(&mut self) {
        self.stamp = value::next_stamp(self.stamp);
        self.draw.fill(&mut self.keys, self.accesses.len(), &mut self.stream);
        self.homes.spread(&mut self.keys, &mut self.stream);
        if self.key_order {
            self.keys.sort_unstable();
        }
        self.updates = false;
        for what in &mut self.accesses {
            let bits = self.stream.bits();
            what.field = (((bits >> 32) * self.fields) >> 32) as u8;
            what.update = (bits & 0xffff_ffff) >= self.reads_below;
            self.updates |= what.update;
        }
    }

    fn run<A: Access + ?Sized>(&mut self, access: &mut A) -> Result<(), Abort> {
        if self.prefetch {
            self.announce(access);
        }
        let buffer = &mut self.buffer[..];
        for (i, (&key, what)) in self.keys.iter().zip(&self.accesses).enumerate() {
            let column = ColumnSet::one(what.field as usize);
            let found = if !what.update {
                let found = access.read(USERTABLE, key, column, buffer)?;
                self.checksum = value::fold(self.checksum, buffer);
                found
            } else if self.read_modify_write {
                access.read_for_update(USERTABLE, key, column, buffer)?;
                self.checksum = value::fold(self.checksum, buffer);
                value::derive(buffer, self.stamp, i);
                access.update(USERTABLE, key, column, buffer)?
            } else {
                value::fresh(buffer, self.stamp, i);
                access.update(USERTABLE, key, column, buffer)?
            };
            if !found {
                lost(key);
            }
        }
        Ok(())
    }

    fn partitions(&self, out: &mut Vec<u64>) {
        out.extend_from_slice(self.homes.drawn());
    }

    fn read_only(&self) -> bool {
        self.declare_read_only && !self.updates
    }
}

/// Nothing ever deletes a row here, so even an attempt that is doomed to abort must find it.
#[cold]
fn lost(key: u64) -> ! {
    panic!("row {key} of usertable was loaded and never deleted, yet the engine does not find it")
}
