//! TATP: the short transactions of a mobile network's home location register.
//!
//! Neuvonen, Wolski, Manner and Raatikka, "Telecom Application Transaction Processing Benchmark", description 1.0,
//! 2009 (before: Strandell's TM1, 2003); used in the hardware islands thesis (Porobic 2016, 4.5). Four tables around
//! subscribers, seven transactions:
//!
//! | transaction | share | does | finds something |
//! | --- | --- | --- | --- |
//! | GET_SUBSCRIBER_DATA | 35 % | reads a subscriber | always |
//! | GET_NEW_DESTINATION | 10 % | reads whereto an active facility forwards calls at a time | 15 % |
//! | GET_ACCESS_DATA | 35 % | reads one type of access information | 62.5 % |
//! | UPDATE_SUBSCRIBER_DATA | 2 % | writes a bit of a subscriber and a number of a facility | 62.5 % |
//! | UPDATE_LOCATION | 14 % | finds a subscriber by its number, writes its location | always |
//! | INSERT_CALL_FORWARDING | 2 % | finds a subscriber by its number, reads its facilities, inserts a forwarding | 31 % |
//! | DELETE_CALL_FORWARDING | 2 % | finds a subscriber by its number, deletes a forwarding | 31 % |
//!
//! The inputs are drawn without knowing what is there, so many transactions find nothing; the insertion meets a
//! facility that does not exist, or a forwarding that does. The description expects that: rows that are not found are no
//! error, and the two errors of an insertion are allowed. Here as there such a transaction has run and counts; it
//! commits, so that what it did not find is validated and certified too, and [`TatpClient::found`] counts the others.
//!
//! Subscribers are drawn by the description's non-uniform rule, (random from 0 to A | random from 1 to P) mod P + 1,
//! where A depends on P, or evenly.
//!
//! # Keys
//! Subscriber s of the description, from 1, has key s − 1 here; types 1 to 4 are 0 to 3, starting times 0, 8 and 16 are 0
//! to 2: a facility is subscriber × 4 + type, a forwarding facility × 3 + time. The index of numbers has the digits'
//! number, s, as its key.
//!
//! # Deviations
//! - Columns that are always accessed together are one: nine bits, ten hexadecimal digits, ten bytes.
//! - What the tables hold at first is a function of the key, and no draw.
//! - Facilities and forwardings are in key order and found by scans, as the description's SQL asks for ranges of them.
//! - With [`TatpOptions::audit`], a writing transaction notes what it changes in a row of its worker's, UPDATE_LOCATION reads
//!   what it overwrites, and there is a law.

mod client;
mod law;
mod options;
mod population;
mod variation;

pub use client::{KIND_NAMES, TatpClient};
pub use options::TatpOptions;

use crate::options::{OptionError, Options};
use crate::registry::Listed;
use crate::variation::explored;
use txn::{
    Column, ColumnSet, ColumnType, Conservation, Loader, Partitioning, Schema, TableId,
    TableSchema, Workload,
};

/// Subscribers.
pub const SUBSCRIBERS: TableId = TableId(0);
/// Access information: subscriber × 4 + type.
pub const ACCESS_INFO: TableId = TableId(1);
/// Special facilities: subscriber × 4 + type.
pub const FACILITIES: TableId = TableId(2);
/// Forwardings of calls: facility × 3 + starting time / 8.
pub const FORWARDINGS: TableId = TableId(3);
/// Subscribers by number.
pub const NUMBERS: TableId = TableId(4);
/// Changes, by worker; only with an audit.
pub const LEDGER: TableId = TableId(5);

/// Types of access information and of facilities.
const TYPES: u64 = 4;
/// Starting times.
const TIMES: u64 = 3;
/// Hours between them.
const HOURS: u64 = 8;

/// The first of a subscriber's bits.
const BIT: ColumnSet = ColumnSet::one(1);
/// A subscriber's location.
const LOCATION: ColumnSet = ColumnSet::one(6);
/// Bytes of a subscriber's row.
const SUBSCRIBER_BYTES: usize = 61;
/// Bytes of a row of access information.
const ACCESS_BYTES: usize = 10;
/// Bytes of a facility's row.
const FACILITY_BYTES: usize = 8;
/// Bytes of a forwarding's row.
const FORWARDING_BYTES: usize = 16;
/// Whether a facility is active.
const ACTIVE: ColumnSet = ColumnSet::one(0);
/// The number of a facility that is updated.
const DATA_A: ColumnSet = ColumnSet::one(2);

/// Rows of the ledger; workers beyond share them.
const LEDGER_ROWS: u64 = 64;
/// Forwardings inserted less forwardings deleted.
const FORWARDED: ColumnSet = ColumnSet::one(0);
/// Sum of all changes of locations.
const MOVED: ColumnSet = ColumnSet::one(1);

/// The workload.
#[derive(Clone, Debug)]
pub struct Tatp {
    options: TatpOptions,
}

impl Tatp {
    /// The workload with `options`, or which of them is wrong.
    pub fn new(options: TatpOptions) -> Result<Tatp, OptionError> {
        options.validate()?;
        Ok(Tatp { options })
    }

    /// The options that it was made with.
    pub fn options(&self) -> &TatpOptions {
        &self.options
    }
}

impl Listed for Tatp {
    type Options = TatpOptions;
    const NAME: &'static str = "tatp";
    const SUMMARY: &'static str =
        "TATP: seven transactions of a mobile network's register, many of which find nothing";
    const SOURCE: &'static str = "TATP description 1.0, 2009; Hardware Islands, 4.5";
    const EXAMPLES: &'static [&'static str] = &["--cc SILO --subscribers 100k"];

    explored! {
        "TATP with few subscribers, mostly written, whose changes a ledger must explain",
        "--cc TICTOC",
        Self::varied,
    }

    fn with(options: Self::Options) -> Result<Tatp, OptionError> {
        Tatp::new(options)
    }
}

impl Workload for Tatp {
    type Client = TatpClient;

    fn schema(&self) -> Schema {
        use ColumnType::{Bytes, I64, U64};
        let partitions = self.options.partitions;
        let table = |name: &str, divisor, columns: &[(&str, ColumnType)]| {
            let columns = columns.iter().map(|(name, kind)| Column::new(*name, *kind)).collect();
            let rule = Partitioning::Quotient { divisor, partitions };
            TableSchema::new(name, columns).partitioned(rule)
        };
        let subscriber = [
            ("sub_nbr", Bytes(15)),
            ("bit_1", Bytes(1)),
            ("bit_2_10", Bytes(9)),
            ("hex_1_10", Bytes(10)),
            ("byte2_1_10", Bytes(10)),
            ("msc_location", U64),
            ("vlr_location", U64),
        ];
        let access = [("data1_2", Bytes(2)), ("data3", Bytes(3)), ("data4", Bytes(5))];
        let facility = [
            ("is_active", Bytes(1)),
            ("error_cntrl", Bytes(1)),
            ("data_a", Bytes(1)),
            ("data_b", Bytes(5)),
        ];
        let mut tables = vec![
            table("subscriber", 1, &subscriber),
            table("access_info", TYPES, &access),
            table("special_facility", TYPES, &facility).ordered(),
            table(
                "call_forwarding",
                TYPES * TIMES,
                &[("end_time", Bytes(1)), ("numberx", Bytes(15))],
            )
            .ordered(),
            // Never written: whoever has a subscriber's partition may look its number up.
            table("numbers", 1, &[("s_id", U64)]).partitioned(Partitioning::Replicated),
        ];
        if self.options.audit {
            let ledger = table("ledger", 1, &[("forwarded", I64), ("moved", I64)]);
            tables.push(ledger.partitioned(Partitioning::ONE));
        }
        Schema { tables }
    }

    fn kinds(&self) -> &'static [&'static str] {
        &KIND_NAMES
    }

    fn rows(&self, table: TableId) -> u64 {
        let subscribers = self.options.subscribers;
        match table {
            SUBSCRIBERS => subscribers,
            NUMBERS => subscribers + 1,
            ACCESS_INFO | FACILITIES => subscribers * 5 / 2 + 1,
            FORWARDINGS => subscribers * 15 / 4 + 1,
            _ => LEDGER_ROWS,
        }
    }

    fn load(&self, loader: &mut dyn Loader) {
        let subscribers = self.options.subscribers;
        loader.load_dense(SUBSCRIBERS, subscribers, &|subscriber, row| {
            population::fill(subscriber, row);
            row[..15].copy_from_slice(&population::digits(subscriber + 1));
            let location = population::location(subscriber);
            row[SUBSCRIBER_BYTES - 8..].copy_from_slice(&location.to_le_bytes());
        });
        // Number 0 is nobody's.
        loader.load_dense(NUMBERS, subscribers + 1, &|number, row| {
            row.copy_from_slice(&number.saturating_sub(1).to_le_bytes());
        });
        for subscriber in 0..subscribers {
            let mut row = [0; ACCESS_BYTES];
            for key in keys(subscriber, TYPES, population::access_types(subscriber)) {
                population::fill(key, &mut row);
                loader.load(ACCESS_INFO, key.into(), &row);
            }
            for facility in keys(subscriber, TYPES, population::facility_types(subscriber)) {
                let mut row = [0; FACILITY_BYTES];
                population::fill(facility, &mut row);
                row[0] = u8::from(population::is_active(facility));
                loader.load(FACILITIES, facility.into(), &row);
                for key in keys(facility, TIMES, population::forwarded(facility)) {
                    let mut row = [0; FORWARDING_BYTES];
                    row[0] = population::end_time(key, key % TIMES * HOURS);
                    row[1..].copy_from_slice(&population::digits(key));
                    loader.load(FORWARDINGS, key.into(), &row);
                }
            }
        }
        if self.options.audit {
            loader.load_dense(LEDGER, LEDGER_ROWS, &|_, _| {});
        }
    }

    fn client(&self, worker: usize, _workers: usize, seed: u64) -> TatpClient {
        TatpClient::of_worker(&self.options, worker, seed)
    }

    fn conservation(&self) -> Option<Conservation> {
        let subscribers = self.options.subscribers;
        let law = move |access: &mut dyn txn::Access, _| law::check(subscribers, access);
        self.options.audit.then(|| -> Conservation { Box::new(law) })
    }
}

/// The keys of what `owner` has of `kinds`, those of `set`.
fn keys(owner: u64, kinds: u64, set: u8) -> impl Iterator<Item = u64> {
    (0..kinds).filter(move |kind| set >> kind & 1 == 1).map(move |kind| owner * kinds + kind)
}
