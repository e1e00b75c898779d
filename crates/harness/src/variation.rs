//! Workloads for exploration: tiny, so that workers meet, and a little different for every seed.
//!
//! One place says how they vary, so a seed means the same schedule to every caller. The kind of schedule
//! follows from the seed as well (its last two bits, see [`crate::explore`]): what varies here must not
//! follow it, or some combinations would never be tried.

use workloads::{
    IndexChoice,
    micro::{
        counters::{Counters, CountersOptions},
        hot_cold::{HotCold, HotColdOptions},
        key_value::{KeyValue, KeyValueOptions},
        long_reader::{LongReader, LongReaderOptions},
        ranges::{Ranges, RangesOptions},
        rooms::{Rooms, RoomsOptions},
        sites::{Sites, SitesOptions},
    },
    smallbank::{SmallBank, SmallBankOptions},
    spelled::Spelled,
    tatp::{Tatp, TatpOptions},
    tpcb::{Tpcb, TpcbOptions},
    tpcc::{Mix, Tpcc, TpccOptions},
    ycsb::{Ycsb, YcsbOptions},
};

/// Counters under conservation laws, contended in different ways: two counters or eight, upgrades or reads
/// for update, duplicates or not.
pub fn counters(seed: u64) -> Counters {
    let options = CountersOptions {
        counters: if seed.is_multiple_of(3) { 2 } else { 8 },
        accesses: 2,
        tokens: if seed.is_multiple_of(3) { 1 } else { 4 },
        distinct: !seed.is_multiple_of(5),
        lock_upgrade: seed.is_multiple_of(2),
        partitions: seed / 64 % 4 + 1,
        split_columns: splits(seed),
        index: any_index(seed),
        ..CountersOptions::mixed()
    };
    Counters::new(options).expect("good for every seed")
}

/// Rows in two parts, now and then, where their index has no order.
fn splits(seed: u64) -> bool {
    let ordered = matches!(any_index(seed), IndexChoice::BTree | IndexChoice::RedBlack);
    (seed / 32) % 4 == 3 && !ordered
}

/// A hash index mostly, every other one now and then.
fn any_index(seed: u64) -> IndexChoice {
    match (seed / 256) % 8 {
        3 => IndexChoice::Perfect,
        5 => IndexChoice::BTree,
        7 => IndexChoice::RedBlack,
        _ => IndexChoice::Hash,
    }
}

/// The same, with keys of bytes.
pub fn counters_spelled(seed: u64) -> Spelled<Counters> {
    let options = CountersOptions { split_columns: false, ..counters(seed).options().clone() };
    Spelled(Counters::new(options).expect("good for every seed"))
}

/// The same, and a fifth of the procedures that write are rolled back half way.
pub fn counters_rolled_back(seed: u64) -> Counters {
    let options = CountersOptions { rollbacks: 0.2, ..counters(seed).options().clone() };
    Counters::new(options).expect("good for every seed")
}

/// Counters whose rows are accessed in order, so that no deadlock can be: who finds one is mistaken.
pub fn counters_in_order(seed: u64) -> Counters {
    let options = CountersOptions {
        counters: if seed.is_multiple_of(3) { 4 } else { 8 },
        accesses: 3,
        transfers: 0.25,
        sums: 0.0,
        moves: 0.0,
        tokens: 0,
        key_order: true,
        partitions: seed / 64 % 4 + 1,
        ..CountersOptions::mixed()
    };
    Counters::new(options).expect("good for every seed")
}

/// Ranges under conservation laws: few keys or so many that leaves split, one contended range or several,
/// ranges of one key or of all.
pub fn ranges(seed: u64) -> Ranges {
    let options = match (seed / 16) % 4 {
        0 => RangesOptions::mixed(),
        1 => RangesOptions { keys: 6, span: 6, slots: 1, width: 2, ..RangesOptions::mixed() },
        2 => RangesOptions { keys: 24, span: 3, slots: 3, width: 8, ..RangesOptions::mixed() },
        _ => RangesOptions {
            queued: 1,
            sums: 0.1,
            claims: 0.4,
            turns: 0.4,
            ..RangesOptions::mixed()
        },
    };
    // One seed in four in a tree with a node for each key.
    let index = if (seed / 64) % 4 == 3 { IndexChoice::RedBlack } else { IndexChoice::BTree };
    Ranges::new(RangesOptions { index, ..options }).expect("good for every seed")
}

/// The same, with keys of bytes.
pub fn ranges_spelled(seed: u64) -> Spelled<Ranges> {
    Spelled(ranges(seed))
}

/// People in rooms under laws that an index breaks: few or so many that leaves split, one room or several, with
/// badges to spare or not, without censuses or with many.
pub fn rooms(seed: u64) -> Rooms {
    let options = match (seed / 16) % 4 {
        0 => RoomsOptions::mixed(),
        1 => RoomsOptions { people: 2, rooms: 2, spare_badges: 1, ..RoomsOptions::mixed() },
        2 => RoomsOptions { people: 9, rooms: 1, spare_badges: 0, ..RoomsOptions::mixed() },
        _ => RoomsOptions { rooms: 4, badges: 0.4, censuses: 0.0, ..RoomsOptions::mixed() },
    };
    Rooms::new(RoomsOptions { index: any_index(seed), ..options }).expect("good for every seed")
}

/// YCSB without a law: three rows or eight, blind updates or read-modify-writes or additions, duplicates or not,
/// fields of one word or of several.
pub fn ycsb(seed: u64) -> Ycsb {
    Ycsb::new(ycsb_options(seed)).expect("good for every seed")
}

/// The same without duplicates, its rows accessed in order.
pub fn ycsb_in_order(seed: u64) -> Ycsb {
    let options = YcsbOptions { distinct: true, key_order: true, ..ycsb_options(seed) };
    Ycsb::new(options).expect("good for every seed")
}

fn ycsb_options(seed: u64) -> YcsbOptions {
    let few = seed.is_multiple_of(3);
    YcsbOptions {
        records: if few { 3 } else { 8 },
        partitions: if few || !(seed / 64).is_multiple_of(2) { 1 } else { 2 },
        multi_partition_share: if few || !(seed / 64).is_multiple_of(2) { 0.0 } else { 0.5 },
        partitions_per_transaction: 2,
        local_partition: (seed / 128).is_multiple_of(2),
        fields: 2,
        field_bytes: if seed.is_multiple_of(7) { 40 } else { 8 },
        theta: if seed.is_multiple_of(2) { 0.0 } else { 0.9 },
        read_ratio: 0.5,
        accesses: 3,
        read_modify_write: (seed / 16).is_multiple_of(2),
        add: !(seed / 16).is_multiple_of(2) && (seed / 512) % 2 == 1 && !seed.is_multiple_of(7),
        distinct: !seed.is_multiple_of(5),
        key_order: false,
        prefetch: false,
        index: any_index(seed),
        declare_read_only: (seed / 32).is_multiple_of(2),
        ..YcsbOptions::default()
    }
}

/// YCSB with scans and inserts: few rows in key order or spread, or with updates of the latest; short scans or
/// such that reach the end of the table.
pub fn ycsb_growing(seed: u64) -> Ycsb {
    let shape = seed / 16 % 4;
    let scans = shape != 3;
    let options = YcsbOptions {
        records: if seed.is_multiple_of(3) { 3 } else { 8 },
        partitions: if shape == 2 { 2 } else { 1 },
        multi_partition_share: if shape == 2 { 0.5 } else { 0.0 },
        scan_ratio: if scans { 0.4 } else { 0.0 },
        insert_ratio: 0.3,
        scan_length: if seed.is_multiple_of(5) { 2 } else { 12 },
        hashed_keys: shape == 1,
        latest: shape == 3,
        all_fields: seed.is_multiple_of(7),
        read_only_share: if seed.is_multiple_of(2) { 0.25 } else { 0.0 },
        accesses: 3,
        distinct: !seed.is_multiple_of(3) && shape != 2,
        declare_read_only: true,
        // A table that grows has no perfect index.
        index: match any_index(seed) {
            IndexChoice::Perfect => IndexChoice::Hash,
            index => index,
        },
        ..ycsb_options(seed)
    };
    Ycsb::new(options).expect("good for every seed")
}

/// A bank of two customers or four, so poor that rollbacks and penalties happen, whose books must balance; with
/// an audit, or with the certificate as the only judge and fewer conflicts besides.
pub fn smallbank(seed: u64) -> SmallBank {
    let options = SmallBankOptions {
        accounts: if seed.is_multiple_of(3) { 2 } else { 4 },
        hot_accounts: 2,
        hot_share: if (seed / 16).is_multiple_of(2) { 0.0 } else { 0.7 },
        balance: 0.2,
        write_check: 0.2,
        transact_savings: 0.2,
        withdrawals: 0.5,
        least_balance: 0,
        most_balance: if seed.is_multiple_of(5) { 600 } else { 3000 },
        audit: !seed.is_multiple_of(7),
        index: any_index(seed),
        ..SmallBankOptions::default()
    };
    // There is nothing outside of a hot spot of everybody.
    let hot_share = if options.accounts == 2 { 0.0 } else { options.hot_share };
    SmallBank::new(SmallBankOptions { hot_share, ..options }).expect("good for every seed")
}

/// TPC-B at one branch or two, whose rows are accessed in the order of tables: each single balance must be the sum
/// of its history.
pub fn tpcb(seed: u64) -> Tpcb {
    let options = TpcbOptions {
        branches: if seed.is_multiple_of(3) { 1 } else { 2 },
        accounts: if seed.is_multiple_of(5) { 1 } else { 4 },
        remote: 0.5,
        history: 32,
        index: any_index(seed),
    };
    Tpcb::new(options).expect("good for every seed")
}

/// Scans of a section beside updates: one section that is all of the table, or several; rows of one word or of
/// several; bound workers or not.
pub fn long_reader(seed: u64) -> LongReader {
    let bound = (seed / 16).is_multiple_of(2);
    let options = LongReaderOptions {
        records: if seed.is_multiple_of(3) { 40 } else { 6 },
        sections: if seed.is_multiple_of(5) { 1 } else { 2 },
        filler_bytes: if seed.is_multiple_of(7) { 20 } else { 0 },
        long_readers: u64::from(bound),
        long_share: if bound { 0.0 } else { 0.4 },
        theta: if seed.is_multiple_of(2) { 0.0 } else { 0.9 },
    };
    LongReader::new(options).expect("good for every seed")
}

/// TATP with one subscriber or three, mostly written, with its ledger or with the certificate as the only judge.
pub fn tatp(seed: u64) -> Tatp {
    let subscribers = if seed.is_multiple_of(3) { 1 } else { 3 };
    let options = TatpOptions {
        subscribers,
        uniform: true,
        get_subscriber_data: 0.1,
        get_new_destination: 0.15,
        get_access_data: 0.05,
        update_subscriber_data: 0.15,
        update_location: 0.15,
        insert_call_forwarding: 0.2,
        partitions: if (seed / 16).is_multiple_of(2) { 1 } else { subscribers },
        audit: !seed.is_multiple_of(7),
    };
    Tatp::new(options).expect("good for every seed")
}

/// Hot and cold records, all updated and counted: spread or packed hot ones, one partition or two, in key order or not.
pub fn hot_cold(seed: u64) -> HotCold {
    let partitions = if (seed / 16).is_multiple_of(2) { 1 } else { 2 };
    let options = HotColdOptions {
        records: 12,
        hot_records: 2,
        packed: seed.is_multiple_of(3),
        accesses: 3,
        hot_accesses: if seed.is_multiple_of(5) { 2 } else { 1 },
        remote: if partitions > 1 && (seed / 32).is_multiple_of(2) { 1 } else { 0 },
        partitions,
        updates: true,
        key_order: seed.is_multiple_of(7),
    };
    HotCold::new(options).expect("good for every seed")
}

/// Two or three sites of few rows, all updated and counted.
pub fn sites(seed: u64) -> Sites {
    let options = SitesOptions {
        sites: if seed.is_multiple_of(3) { 2 } else { 3 },
        site_rows: if (seed / 16).is_multiple_of(2) { 2 } else { 5 },
        row_bytes: if seed.is_multiple_of(7) { 21 } else { 8 },
        accesses: 2,
        multisite: 0.5,
        theta: if seed.is_multiple_of(2) { 0.0 } else { 0.9 },
        updates: true,
    };
    Sites::new(options).expect("good for every seed")
}

/// Few pairs, all updated and counted, their values numbers or strings.
pub fn key_value(seed: u64) -> KeyValue {
    let options = KeyValueOptions {
        records: if seed.is_multiple_of(3) { 3 } else { 6 },
        accesses: if (seed / 16).is_multiple_of(2) { 2 } else { 3 },
        updates: true,
        strings: (seed / 32).is_multiple_of(2),
    };
    KeyValue::new(options).expect("good for every seed")
}

/// TPC-C with so few rows that its transactions meet all the time, and mixes in which deliveries and looks are as
/// frequent as orders.
pub fn tpcc(seed: u64) -> Tpcc {
    let mixes = [Mix([2, 2, 1, 2, 1]), Mix([3, 1, 1, 3, 1]), Mix([2, 1, 2, 1, 2]), Mix::FULL];
    let options = TpccOptions {
        warehouses: if seed.is_multiple_of(3) { 1 } else { 2 },
        mix: mixes[(seed / 2 % 4) as usize],
        full_schema: seed.is_multiple_of(5),
        remote_new_order: 0.3,
        remote_payment: 0.5,
        rollbacks: 0.1,
        by_name: 0.6,
        items: if seed.is_multiple_of(7) { 1 } else { 4 },
        districts: 1 + seed / 3 % 2,
        customers_per_district: 1 + seed % 4,
        least_lines: 1,
        most_lines: 2 + seed / 7 % 2,
        stock_level_orders: 1 + seed % 3,
        split_columns: (seed / 32) % 4 == 3,
        load_seed: seed,
        ..TpccOptions::default()
    };
    Tpcc::new(options).expect("good for every seed")
}
