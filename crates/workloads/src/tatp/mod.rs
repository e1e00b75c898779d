//! TATP: the short transactions of a mobile network's home location register.
//!
//! Source: Neuvonen, Wolski, Manner and Raatikka, "Telecom Application Transaction Processing Benchmark",
//! description 1.0, 2009 (before: Strandell's TM1, 2003). It is used in the hardware islands thesis (Porobic
//! 2016, 4.5). It has four tables around subscribers and seven transactions:
//!
//! | transaction | share | does | finds something |
//! | --- | --- | --- | --- |
//! | GET_SUBSCRIBER_DATA | 35 % | reads a subscriber | always |
//! | GET_NEW_DESTINATION | 10 % | reads the number to which an active facility forwards calls at a time | 15 % |
//! | GET_ACCESS_DATA | 35 % | reads one type of access information | 62.5 % |
//! | UPDATE_SUBSCRIBER_DATA | 2 % | writes a bit of a subscriber and a number of a facility | 62.5 % |
//! | UPDATE_LOCATION | 14 % | finds a subscriber by its number, writes its location | always |
//! | INSERT_CALL_FORWARDING | 2 % | finds a subscriber by its number, reads its facilities, inserts a forwarding | 31 % |
//! | DELETE_CALL_FORWARDING | 2 % | finds a subscriber by its number, deletes a forwarding | 31 % |
//!
//! The inputs are drawn without knowledge of the existing rows, so many transactions find nothing. An
//! insertion can find that its facility does not exist, or that its forwarding already exists. The
//! description expects that: rows that are not found are no error, and the two errors of an insertion are
//! allowed. As in the description, such a transaction has run and counts. It commits, so that the absences it
//! read are validated and certified too. [`TatpClient::found`] counts the other transactions.
//!
//! Subscribers are drawn by the description's non-uniform rule, (random from 0 to A | random from 1 to P) mod
//! P + 1, where A depends on P, or uniformly.
//!
//! # Keys
//! The description numbers subscribers from 1. Its subscriber s has key s − 1 here. Types 1 to 4 are 0 to 3,
//! and starting times 0, 8 and 16 are 0 to 2. A facility is subscriber × 4 + type, and a forwarding is
//! facility × 3 + time. The index of numbers has the value of the digits, s, as its key.
//!
//! # Deviations
//! - Columns that are always accessed together are merged: nine bits, ten hexadecimal digits, ten bytes.
//! - The initial contents of the tables are a function of the key instead of being drawn.
//! - Facilities and forwardings are in key order and found by scans, because the description's SQL requests
//!   ranges of them.
//! - With [`TatpOptions::audit`], a writing transaction records its changes in a row of its worker,
//!   UPDATE_LOCATION reads the value that it overwrites, and there is a law.

mod actions;
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
/// Changes, by worker. Exists only with an audit.
pub const LEDGER: TableId = TableId(5);

/// Number of types of access information and of facilities.
const TYPES: u64 = 4;
/// Number of starting times.
const TIMES: u64 = 3;
/// Number of hours between starting times.
const HOURS: u64 = 8;

/// The first of a subscriber's bits.
const BIT: ColumnSet = ColumnSet::one(1);
/// A subscriber's location.
const LOCATION: ColumnSet = ColumnSet::one(6);
/// Length in bytes of a subscriber's row.
const SUBSCRIBER_BYTES: usize = 61;
/// Length in bytes of a row of access information.
const ACCESS_BYTES: usize = 10;
/// Length in bytes of a facility's row.
const FACILITY_BYTES: usize = 8;
/// Length in bytes of a forwarding's row.
const FORWARDING_BYTES: usize = 16;
/// Flag that a facility is active.
const ACTIVE: ColumnSet = ColumnSet::one(0);
/// Number of a facility that is updated.
const DATA_A: ColumnSet = ColumnSet::one(2);

/// Number of rows of the ledger. Workers beyond this number share rows.
const LEDGER_ROWS: u64 = 64;
/// Number of forwardings inserted minus number of forwardings deleted.
const FORWARDED: ColumnSet = ColumnSet::one(0);
/// Sum of all changes of locations.
const MOVED: ColumnSet = ColumnSet::one(1);

/// The workload.
#[derive(Clone, Debug)]
pub struct Tatp {
    options: TatpOptions,
}

impl Tatp {
    /// Creates the workload with `options`. Returns an error that names a wrong option.
    pub fn new(options: TatpOptions) -> Result<Tatp, OptionError> {
        options.validate()?;
        Ok(Tatp { options })
    }

    /// Returns the options of this workload.
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
    const PARTITIONED_BY: Option<&'static str> = Some("partitions");
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
    const MOVABLE: Option<txn::Movable> = Some(txn::Movable::of::<Self>());

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
            // This table is never written and is replicated. So a transaction that owns a subscriber's
            // partition can look up the subscriber's number.
            table("numbers", 1, &[("s_id", U64)])
                .partitioned(Partitioning::Replicated { copies: 1 }),
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
        // Number 0 belongs to no subscriber.
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

/// Returns the keys of `owner` for the kinds in `set`, out of `kinds` possible kinds.
fn keys(owner: u64, kinds: u64, set: u8) -> impl Iterator<Item = u64> {
    (0..kinds).filter(move |kind| set >> kind & 1 == 1).map(move |kind| owner * kinds + kind)
}
