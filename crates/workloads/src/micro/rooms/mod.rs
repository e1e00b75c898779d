//! Rooms: people who are found by their room or badge, through secondary indexes that follow every change.
//!
//! This workload serves tests and the explorer. A transaction's behavior depends on rows that it finds by the
//! values of their columns, while other transactions change those columns. So an index that differs from its
//! table, or a phantom in a scanned room, breaks a law. It follows no paper.
//!
//! # Tables
//! - `people`: keys below twice [`RoomsOptions::people`], of which every other key is loaded. Each person has
//!   a room, a badge and coins.
//! - `by_room`: an index of people by room.
//! - `by_badge`: a unique index of people by badge.
//! - `ledger`: the number of broken laws seen by each kind of procedure, a row for each worker.
//!
//! # Procedures
//! | kind | does | law |
//! | --- | --- | --- |
//! | go | gives a person another room, now and then another badge as well; half of the time without reading the row first | it is found in that room, and in no other |
//! | pay | finds the people of a room and moves a coin from one to another | a second scan sees the own writes |
//! | badge | gives a person another badge, unless another person has it | refused if and only if another person has it |
//! | replace | deletes a person and inserts another with its coins, room and badge | the new person equals the old one |
//! | census | scans all rooms in both directions, declared read-only | as many people and coins as were loaded |
//!
//! Broken laws that a transaction sees are reported as with [counters](super::counters). At the end each row
//! has its entry in each index, and each entry has its row.

mod client;
mod law;
mod variation;

pub use client::{KIND_NAMES, RoomsClient};

use super::ledger::{self, Ledger};
use crate::index_choice::IndexChoice;
use crate::options::{self, OptionError, OptionOf, Options, option};
use crate::registry::Listed;
use crate::variation::explored;
use txn::{
    Column, ColumnSet, ColumnType, Conservation, Loader, Schema, SecondaryIndex, TableId,
    TableSchema, Workload,
};

/// The people, by number.
pub const PEOPLE: TableId = TableId(0);
/// The index by room.
pub const BY_ROOM: TableId = TableId(1);
/// The unique index by badge.
pub const BY_BADGE: TableId = TableId(2);
/// The ledger, with a column for each kind of procedure that checks laws.
const LEDGER: Ledger =
    Ledger { table: TableId(3), laws: &["go", "pay", "badge", "replace", "census"] };

const ROOM: ColumnSet = ColumnSet::one(0);
const BADGE: ColumnSet = ColumnSet::one(1);
const COINS: ColumnSet = ColumnSet::one(2);
const ALL: ColumnSet = ColumnSet::first(3);

/// Number of coins of a person when loaded.
const COINS_LOADED: u64 = 3;

/// Number of bits of a room, of a badge and of a person's number.
const BITS: u32 = 21;

/// Options of the workload. [`Rooms::new`] validates them.
#[derive(Clone, Debug, PartialEq)]
pub struct RoomsOptions {
    /// Number of people.
    pub people: u64,
    /// Number of rooms.
    pub rooms: u64,
    /// Number of badges beyond those that people have.
    pub spare_badges: u64,
    /// Share of the procedures that are payments.
    pub payments: f64,
    /// Share of the procedures that change a badge.
    pub badges: f64,
    /// Share of the procedures that replace a person.
    pub replacements: f64,
    /// Share of the procedures that are censuses. The remaining share gives people other rooms.
    pub censuses: f64,
    /// Index by which the rows of people are found.
    pub index: IndexChoice,
}

impl Default for RoomsOptions {
    fn default() -> RoomsOptions {
        RoomsOptions {
            people: 10_000,
            rooms: 1_000,
            spare_badges: 10_000,
            payments: 0.25,
            badges: 0.25,
            replacements: 0.1,
            censuses: 0.0,
            index: IndexChoice::Hash,
        }
    }
}

impl Options for RoomsOptions {
    const OPTIONS: &'static [OptionOf<RoomsOptions>] = &[
        option("people", "People", |o| &mut o.people),
        option("rooms", "Rooms that they are in", |o| &mut o.rooms),
        option("spare-badges", "Badges beyond those that they have", |o| &mut o.spare_badges),
        option("payments", "Share of the procedures that move a coin within a room", |o| {
            &mut o.payments
        }),
        option("badges", "Share of the procedures that change a badge, which is unique", |o| {
            &mut o.badges
        }),
        option("replacements", "Share of the procedures that replace a person by another", |o| {
            &mut o.replacements
        }),
        option(
            "censuses",
            "Share of the procedures that scan everybody; what the shares leave goes to other rooms",
            |o| &mut o.censuses,
        ),
        option("index", "How people are found by number: hash, perfect, btree, rbtree", |o| {
            &mut o.index
        }),
    ];

    fn validate(&self) -> Result<(), OptionError> {
        let most = 1 << (BITS - 1);
        options::integer("people", self.people, 1, most)?;
        options::integer("rooms", self.rooms, 1, most)?;
        options::integer("spare-badges", self.spare_badges, 0, most)?;
        options::ratio("payments", self.payments)?;
        options::ratio("badges", self.badges)?;
        options::ratio("replacements", self.replacements)?;
        options::ratio("censuses", self.censuses)?;
        let shares = self.payments + self.badges + self.replacements + self.censuses;
        if shares > 1.0 + 1e-9 {
            return Err(OptionError {
                option: "payments + badges + replacements + censuses",
                given: shares.to_string(),
                allowed: "0 to 1 together".into(),
            });
        }
        Ok(())
    }
}

impl RoomsOptions {
    /// Returns options for exploration: few people and rooms, and a fifth of each kind of procedure.
    pub fn mixed() -> RoomsOptions {
        RoomsOptions {
            people: 5,
            rooms: 3,
            spare_badges: 2,
            payments: 0.2,
            badges: 0.2,
            replacements: 0.2,
            censuses: 0.2,
            index: IndexChoice::Hash,
        }
    }

    /// Returns the number of keys that a person can have.
    fn keys(&self) -> u64 {
        self.people * 2
    }

    /// Returns the number of existing badges.
    fn badges_made(&self) -> u64 {
        self.people + self.spare_badges
    }
}

/// A row of people.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Person {
    room: u64,
    badge: u64,
    coins: u64,
}

impl Person {
    fn of(row: &[u8]) -> Person {
        let [room, badge, coins] = [0, 8, 16].map(|at| {
            u64::from_le_bytes(row[at..at + 8].try_into().expect("eight bytes of a row of 24"))
        });
        Person { room, badge, coins }
    }

    fn row(self) -> Vec<u8> {
        [self.room, self.badge, self.coins].iter().flat_map(|word| word.to_le_bytes()).collect()
    }

    /// Returns the person that is loaded as number `at`.
    fn loaded(at: u64, rooms: u64) -> Person {
        Person { room: at % rooms, badge: at, coins: COINS_LOADED }
    }
}

/// The workload.
#[derive(Clone, Debug)]
pub struct Rooms {
    options: RoomsOptions,
}

impl Rooms {
    /// Creates the workload with `options`. Returns an error that names a wrong option.
    pub fn new(options: RoomsOptions) -> Result<Rooms, OptionError> {
        options.validate()?;
        Ok(Rooms { options })
    }

    /// Returns the options of this workload.
    pub fn options(&self) -> &RoomsOptions {
        &self.options
    }

    fn tables(&self) -> [TableSchema; 4] {
        let columns = ["room", "badge", "coins"].map(|name| Column::new(name, ColumnType::U64));
        let people =
            TableSchema::new("people", columns.to_vec()).with_indexes(&[BY_ROOM, BY_BADGE]);
        let people = self.options.index.of(people, self.options.keys());
        let of = (PEOPLE, &people);
        let by_room = TableSchema::index_of("by_room", of, &[("room", BITS)], Some(BITS));
        let by_badge = TableSchema::index_of("by_badge", of, &[("badge", BITS)], None);
        [people, by_room, by_badge, LEDGER.schema()]
    }

    /// Returns the indexes by room and by badge.
    fn indexes(&self) -> [SecondaryIndex; 2] {
        let [_, by_room, by_badge, _] = self.tables();
        [by_room, by_badge].map(|table| table.index_of.expect("it is an index"))
    }
}

impl Listed for Rooms {
    type Options = RoomsOptions;
    const NAME: &'static str = "rooms";
    const SUMMARY: &'static str = "people found through secondary indexes that others change, under laws that an index \
         breaks";
    const SOURCE: &'static str = "ours; it is what the explorer runs";
    const EXAMPLES: &'static [&'static str] =
        &["--cc NO_WAIT --people 10000 --rooms 1000 --certify"];

    explored! {
        Self::SUMMARY,
        "--cc SILO",
        Self::varied,
    }

    fn with(options: Self::Options) -> Result<Rooms, OptionError> {
        Rooms::new(options)
    }
}

impl Workload for Rooms {
    type Client = RoomsClient;
    const MOVABLE: Option<txn::Movable> = Some(txn::Movable::of::<Self>());
    const COMPILED: bool = false;

    fn schema(&self) -> Schema {
        Schema { tables: self.tables().to_vec() }
    }

    fn kinds(&self) -> &'static [&'static str] {
        &KIND_NAMES
    }

    fn rows(&self, table: TableId) -> u64 {
        if table == LEDGER.table { ledger::ROWS } else { self.options.people }
    }

    fn load(&self, loader: &mut dyn Loader) {
        for at in 0..self.options.people {
            loader.load(PEOPLE, (at * 2).into(), &Person::loaded(at, self.options.rooms).row());
        }
        LEDGER.load(loader);
    }

    fn client(&self, worker: usize, _workers: usize, seed: u64) -> RoomsClient {
        RoomsClient::new(self.options.clone(), self.indexes(), worker, seed)
    }

    fn conservation(&self) -> Option<Conservation> {
        let (options, indexes) = (self.options.clone(), self.indexes());
        Some(Box::new(move |access, _| law::check(&options, &indexes, access)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bad_option_is_named_with_its_value_and_what_is_allowed() {
        let error = |change: fn(&mut RoomsOptions)| {
            let mut options = RoomsOptions::mixed();
            change(&mut options);
            Rooms::new(options).unwrap_err().to_string()
        };
        assert_eq!(error(|o| o.people = 0), "people is 0; allowed: 1 to 1048576");
        assert_eq!(error(|o| o.censuses = 1.5), "censuses is 1.5; allowed: 0 to 1");
        assert!(error(|o| o.badges = 0.75).contains("0 to 1 together"));
        assert!(Rooms::new(RoomsOptions::default()).is_ok());
    }

    #[test]
    fn a_person_is_as_it_was_written() {
        let person = Person { room: 1, badge: 2, coins: 1 << 40 };
        assert_eq!(Person::of(&person.row()), person);
    }
}
