//! Tests the effects of TPC-C's transactions on the database, and how they and the initial population are
//! drawn.

use crate::store::{Event, Mistake, Store};
use kilocore_workloads::tpcc::columns::*;
use kilocore_workloads::tpcc::keys::{self, Place};
use kilocore_workloads::tpcc::{
    Drawn, KIND_NAMES, Mix, SchemaSize, Tpcc, TpccClient, TpccOptions, Who, last_name,
};
use std::collections::{BTreeMap, BTreeSet};
use std::ops::{ControlFlow, RangeInclusive};
use txn::{
    AbortReason, Access, Client, ColumnSet, Direction, Intent, Key, Loader, RowLayout, TableId,
    Workload,
};

fn small() -> TpccOptions {
    TpccOptions {
        warehouses: 3,
        districts: 2,
        customers_per_district: 30,
        items: 50,
        rollbacks: 0.2,
        remote_new_order: 0.2,
        mix: Mix([1, 1, 1, 1, 1]),
        ..TpccOptions::default()
    }
}

fn made(options: TpccOptions) -> Tpcc {
    Tpcc::new(options).unwrap()
}

fn integer(store: &mut Store, table: TableId, key: u64, column: usize) -> i64 {
    let mut bytes = [0; 8];
    assert!(store.read(table, key.into(), ColumnSet::one(column), &mut bytes).unwrap());
    i64::from_le_bytes(bytes)
}

fn keys_of(store: &mut Store, table: TableId, range: txn::KeyRange) -> Vec<u64> {
    let mut keys = Vec::new();
    let visit = &mut |key: Key<'_>, _: &[u8]| {
        keys.push(key.number());
        ControlFlow::Continue(())
    };
    store.scan(table, range.into(), Direction::Forward, ColumnSet::NONE, visit).unwrap();
    keys
}

/// Returns the layout of the rows of a table in the full schema.
fn layout(table: TableId) -> RowLayout {
    RowLayout::of(&made(TpccOptions::default()).schema().tables[table.0 as usize])
}

/// Returns a value, `None` for NULL.
fn value(
    store: &mut Store,
    (table, layout): (TableId, &RowLayout),
    key: u64,
    column: usize,
) -> Option<Vec<u8>> {
    let (one, mut packed) = (ColumnSet::one(column), Vec::new());
    assert!(store.fetch(table, key.into(), one, Intent::Read, &mut packed).unwrap());
    layout.field(one, &packed, column).map(<[u8]>::to_vec)
}

/// Returns an integer that can be NULL.
fn nullable(store: &mut Store, table: TableId, key: u64, column: usize) -> Option<u64> {
    let bytes = value(store, (table, &layout(table)), key, column)?;
    Some(u64::from_le_bytes(bytes.try_into().unwrap()))
}

/// Counts rows, and inspects some of them.
struct Census {
    layouts: Vec<RowLayout>,
    rows: BTreeMap<u16, u64>,
    /// Lengths of each text of variable length, by table and column.
    lengths: BTreeMap<(u16, usize), BTreeSet<usize>>,
    bad_credit: u64,
    originals: [u64; 2],
    lines: u64,
    undelivered: u64,
    dated_lines: u64,
    named: BTreeMap<u64, u64>,
}

impl Census {
    fn new() -> Census {
        Census {
            layouts: (0..11).map(|table| layout(TableId(table))).collect(),
            rows: BTreeMap::new(),
            lengths: BTreeMap::new(),
            bad_credit: 0,
            originals: [0; 2],
            lines: 0,
            undelivered: 0,
            dated_lines: 0,
            named: BTreeMap::new(),
        }
    }

    fn count(&mut self, table: TableId, key: u64, row: &[u8]) {
        *self.rows.entry(table.0).or_insert(0) += 1;
        let layout = &self.layouts[table.0 as usize];
        let all = layout.all();
        assert!(layout.forbidden_nulls(all, row).is_empty());
        for (column, value) in layout.fields(all, row) {
            if layout.variable().contains(ColumnSet::one(column)) {
                let text = value.expect("every row has every text");
                assert!(text.iter().all(u8::is_ascii_alphanumeric));
                self.lengths.entry((table.0, column)).or_default().insert(text.len());
            }
        }
        let value = |column| layout.field(all, row, column);
        let original = |text: &[u8]| u64::from(text.windows(8).any(|part| part == b"ORIGINAL"));
        match table {
            CUSTOMER => self.bad_credit += u64::from(value(5).unwrap() == b"BC"),
            ITEM => self.originals[0] += original(value(3).unwrap()),
            STOCK => self.originals[1] += original(value(14).unwrap()),
            ORDER => {
                self.lines += u64::from_le_bytes(value(2).unwrap().try_into().unwrap());
                self.undelivered += u64::from(value(1).is_none());
                let carrier = value(1).map_or(1, |c| u64::from_le_bytes(c.try_into().unwrap()));
                assert!((1..=10).contains(&carrier));
                // The last 900 of 3000 orders have not been delivered.
                assert_eq!(keys::order_number(key) >= 2100, value(1).is_none());
            }
            ORDER_LINE => {
                self.dated_lines += u64::from(value(4).is_some());
                assert_eq!(keys::order_of_line(key) >= 2100, value(4).is_none());
            }
            CUSTOMER_BY_NAME => *self.named.entry(key >> 12 & 1023).or_insert(0) += 1,
            _ => {}
        }
    }

    /// Checks that the lengths of a text are all lengths between two bounds.
    fn has_lengths(&self, table: TableId, column: usize, bounds: RangeInclusive<usize>) {
        let found = &self.lengths[&(table.0, column)];
        assert!(found.iter().copied().eq(bounds), "{table:?} {column}: {found:?}");
    }
}

impl Loader for Census {
    fn load_dense(&mut self, table: TableId, count: u64, row: &(dyn Fn(u64, &mut [u8]) + Sync)) {
        let bytes = layout(table).bytes();
        for key in 0..count {
            let mut packed = vec![0; bytes];
            row(key, &mut packed);
            self.count(table, key, &packed);
        }
    }

    fn load_many(&mut self, table: TableId, count: u64, row: &(dyn Fn(u64, &mut Vec<u8>) + Sync)) {
        for key in 0..count {
            let mut packed = Vec::new();
            row(key, &mut packed);
            self.count(table, key, &packed);
        }
    }

    fn load(&mut self, table: TableId, key: Key<'_>, row: &[u8]) {
        self.count(table, key.number(), row);
    }
}

#[test]
fn a_warehouse_is_populated_as_specified() {
    let workload = made(TpccOptions { warehouses: 1, ..TpccOptions::default() });
    let mut census = Census::new();
    workload.load(&mut census);
    let rows = |table: TableId| census.rows[&table.0];
    assert_eq!([rows(WAREHOUSE), rows(DISTRICT), rows(ITEM)], [1, 10, 100_000]);
    assert_eq!([rows(CUSTOMER), rows(HISTORY), rows(ORDER)], [30_000; 3]);
    assert_eq!([rows(CUSTOMER_BY_NAME), rows(ORDER_BY_CUSTOMER)], [30_000; 2]);
    assert_eq!([rows(STOCK), rows(NEW_ORDER), census.undelivered], [100_000, 9000, 9000]);
    assert_eq!(rows(ORDER_LINE), census.lines);
    assert!((0.69..0.71).contains(&(census.dated_lines as f64 / census.lines as f64)));
    assert!((298_000..302_000).contains(&census.lines), "{}", census.lines);
    assert!((2_700..3_300).contains(&census.bad_credit), "{}", census.bad_credit);
    for originals in census.originals {
        assert!((9_500..10_500).contains(&originals), "{originals}");
    }
    // Clause 4.3.3.1. There are too few warehouses and districts for all lengths of their texts.
    census.has_lengths(ITEM, 2, 14..=24);
    census.has_lengths(ITEM, 3, 26..=50);
    census.has_lengths(STOCK, 14, 26..=50);
    census.has_lengths(CUSTOMER, 8, 8..=16);
    census.has_lengths(CUSTOMER_BY_NAME, 0, 8..=16);
    (11..14).for_each(|column| census.has_lengths(CUSTOMER, column, 10..=20));
    census.has_lengths(CUSTOMER, 17, 300..=500);
    census.has_lengths(HISTORY, 7, 12..=24);
    let within = |table: TableId, column, bounds: RangeInclusive<usize>| {
        let lengths = &census.lengths[&(table.0, column)];
        assert!(lengths.iter().all(|length| bounds.contains(length)), "{lengths:?}");
    };
    within(WAREHOUSE, 2, 6..=10);
    within(DISTRICT, 3, 6..=10);
    (3..6).for_each(|column| within(WAREHOUSE, column, 10..=20));
    (4..7).for_each(|column| within(DISTRICT, column, 10..=20));
    within(CUSTOMER, 10, 9..=15);
    // Each name occurs once in every district, and NURand draws 2000 more.
    assert_eq!(census.named.len(), 1000);
    assert!(census.named.values().all(|count| *count >= 10));
    assert!(*census.named.values().max().unwrap() > 60);
    for table in (0..11).map(TableId).filter(|table| *table != ORDER_LINE) {
        assert_eq!(workload.rows(table), rows(table), "{table:?}");
    }
}

#[test]
fn a_row_is_as_the_seed_and_its_key_say() {
    let layout = layout(CUSTOMER);
    let dump = |load_seed| {
        let mut store = Store::loaded(&made(TpccOptions { load_seed, ..small() }), Mistake::None);
        let mut rows = Vec::new();
        for key in 0..180 {
            rows.push(value(&mut store, (CUSTOMER, &layout), key, 8));
        }
        rows
    };
    assert_eq!(dump(1), dump(1));
    assert_ne!(dump(1), dump(2));
}

/// Returns the drawn transactions of one terminal of `options`.
fn drawn(options: TpccOptions, count: usize) -> Vec<(usize, Drawn)> {
    let mut client = made(options).client(1, 4, 5);
    let draw = |client: &mut TpccClient| {
        client.next();
        (client.kind(), *client.drawn())
    };
    (0..count).map(|_| draw(&mut client)).collect()
}

#[test]
fn inputs_are_drawn_as_specified() {
    let (mut lines, mut remote, mut rolled_back, mut orders) = (0.0, 0.0, 0.0, 0.0);
    let (mut payments, mut strangers, mut looked_up, mut named) = (0.0, 0.0, 0.0, 0.0);
    let mut counts = [0; 16];
    for (kind, drawn) in drawn(TpccOptions::default(), 100_000) {
        let name = KIND_NAMES[kind];
        match drawn {
            Drawn::NewOrder { place, customer, lines: all, count } => {
                assert_eq!((name, place.warehouse), ("new_order", 1));
                assert!(place.district < 10 && customer < 3000);
                orders += 1.0;
                counts[count] += 1;
                for (at, line) in all[..count].iter().enumerate() {
                    assert!((1..=10).contains(&line.quantity) && line.supplier < 4);
                    let unused = line.item == 100_000;
                    assert!(line.item < 100_000 || unused && at + 1 == count);
                    rolled_back += f64::from(u8::from(unused));
                    lines += 1.0;
                    remote += f64::from(u8::from(line.supplier != 1));
                }
            }
            Drawn::Payment { place, residence, who, amount } => {
                assert_eq!((name, place.warehouse), ("payment", 1));
                assert!((100..=500_000).contains(&amount));
                payments += 1.0;
                let away = residence.warehouse != 1;
                strangers += f64::from(u8::from(away));
                assert!(away || residence == place);
                looked_up += 1.0;
                named += f64::from(u8::from(matches!(who, Who::Named(_))));
            }
            Drawn::OrderStatus { place, .. } => {
                assert_eq!((name, place.warehouse), ("order_status", 1));
            }
            Drawn::Delivery { warehouse, carrier } => {
                assert_eq!((name, warehouse), ("delivery", 1));
                assert!((1..=10).contains(&carrier));
            }
            Drawn::StockLevel { place, threshold } => {
                assert_eq!((name, place), ("stock_level", Place { warehouse: 1, district: 0 }));
                assert!((10..=20).contains(&threshold));
            }
        }
    }
    let near = |share: f64, of: f64, expected: f64| {
        assert!((share / of - expected).abs() < 0.01, "{} for {expected}", share / of);
    };
    near(remote, lines, 0.01);
    near(rolled_back, orders, 0.01);
    near(strangers, payments, 0.15);
    near(named, looked_up, 0.6);
    assert!(counts[5..].iter().all(|count| (3_500..4_700).contains(count)), "{counts:?}");
    assert!(counts[..5].iter().all(|count| *count == 0));
}

#[test]
fn nothing_leaves_home_where_nothing_is_to() {
    let local = TpccOptions { remote_new_order: 0.0, remote_payment: 0.0, ..small() };
    let alone =
        TpccOptions { warehouses: 1, remote_new_order: 1.0, remote_payment: 1.0, ..small() };
    for (options, home) in [(local, 1), (alone, 0)] {
        for (_, drawn) in drawn(options, 5000) {
            match drawn {
                Drawn::NewOrder { lines, count, .. } => {
                    assert!(lines[..count].iter().all(|line| line.supplier == home));
                }
                Drawn::Payment { place, residence, .. } => assert_eq!(place, residence),
                _ => {}
            }
        }
    }
}

#[test]
fn workers_are_bound_to_warehouses_and_then_to_districts() {
    let workload = made(small());
    let homes = [0, 1, 2, 3, 5, 6].map(|worker| workload.client(worker, 7, 1).home());
    let expected = [(0, 0), (1, 0), (2, 0), (0, 1), (2, 1), (0, 0)]
        .map(|(warehouse, district)| Place { warehouse, district });
    assert_eq!(homes, expected);
}

#[test]
fn a_retry_repeats_the_transaction() {
    let workload = made(small());
    let mut store = Store::loaded(&workload, Mistake::None);
    store.record_events = true;
    let mut client = workload.client(0, 1, 5);
    let mut aborted = 0;
    for _ in 0..200 {
        client.next();
        store.abort_after = Some(3);
        let ended = store.attempt(&mut client);
        store.abort_after = None;
        let before = std::mem::take(&mut store.events);
        // A delivery ends sooner if there is nothing to deliver.
        aborted += u32::from(ended.is_err());
        let _ = store.attempt(&mut client);
        let after = std::mem::take(&mut store.events);
        assert_eq!(before[..], after[..before.len()]);
    }
    assert!(aborted > 100, "{aborted}");
}

#[test]
fn transactions_keep_to_the_partitions_and_the_intent_that_they_declare() {
    let workload = made(small());
    let schema = workload.schema();
    let mut store = Store::loaded(&workload, Mistake::None);
    store.record_events = true;
    let mut client = workload.client(4, 5, 8);
    for _ in 0..2000 {
        client.next();
        let mut declared = Vec::new();
        client.partitions(&mut declared);
        let _ = store.attempt(&mut client);
        let holds = |table: TableId, range| {
            let rule = schema.tables[table.0 as usize].partitioning;
            assert!(rule.all_of_range(range, |p| declared.contains(&p)), "{table:?} {range:?}");
        };
        let key = |key| txn::KeyRange::new(key, key).unwrap();
        for event in std::mem::take(&mut store.events) {
            let written = match event {
                Event::Read(table, k, ..) => {
                    holds(table, key(k));
                    false
                }
                Event::Scan(table, range, _) => {
                    assert_eq!(schema.tables[table.0 as usize].index, txn::IndexKind::Ordered);
                    holds(table, range);
                    false
                }
                Event::Update(table, k, ..) | Event::Insert(table, k) | Event::Delete(table, k) => {
                    assert!(![ITEM, CUSTOMER_BY_NAME].contains(&table));
                    holds(table, key(k));
                    true
                }
                Event::Prefetch(..) | Event::Append(_) => false,
                Event::ScanIndex(..) => panic!("it keeps its index tables itself"),
            };
            assert!(!(written && client.read_only()));
        }
    }
}

#[test]
fn an_unused_item_rolls_the_order_back() {
    let workload = made(TpccOptions { rollbacks: 1.0, mix: Mix([1, 0, 0, 0, 0]), ..small() });
    let mut store = Store::loaded(&workload, Mistake::None);
    let mut client = workload.client(0, 1, 5);
    for _ in 0..50 {
        client.next();
        assert_eq!(store.attempt(&mut client).unwrap_err().reason, AbortReason::User);
    }
    assert_eq!(workload.conservation().unwrap()(&mut store, 0).unwrap(), Ok(()));
    assert_eq!(integer(&mut store, DISTRICT, 0, 2), 30);
}

#[test]
fn an_order_is_entered_with_its_lines_and_its_stock() {
    let mix = Mix([1, 0, 0, 0, 0]);
    let workload = made(TpccOptions { rollbacks: 0.0, mix, ..small() });
    let options = workload.options().clone();
    let mut store = Store::loaded(&workload, Mistake::None);
    let mut client = workload.client(0, 1, 5);
    for _ in 0..100 {
        client.next();
        let Drawn::NewOrder { place, customer, lines, count } = *client.drawn() else { panic!() };
        let number = integer(&mut store, DISTRICT, options.district(place), 2) as u64;
        store.commit(&mut client);
        assert_eq!(integer(&mut store, ORDER, place.order(number), 0), customer as i64);
        assert_eq!(nullable(&mut store, ORDER, place.order(number), 1), None);
        let latest = keys_of(&mut store, ORDER_BY_CUSTOMER, place.orders_of(customer));
        assert_eq!(keys::order_number(*latest.last().unwrap()), number);
        let entered = keys_of(&mut store, ORDER_LINE, place.lines(number, number));
        assert_eq!(entered.len(), count);
        for (key, line) in entered.into_iter().zip(lines) {
            let price = integer(&mut store, ITEM, line.item, 0);
            let [item, supplier, quantity, amount] =
                [0, 1, 2, 3].map(|column| integer(&mut store, ORDER_LINE, key, column));
            assert_eq!([item, supplier], [line.item as i64, line.supplier as i64]);
            assert_eq!(amount, price * quantity);
            assert_eq!(nullable(&mut store, ORDER_LINE, key, 4), None);
            let column = ColumnSet::one(4 + place.district as usize);
            let stock = options.stock(line.supplier, line.item);
            let (mut info, mut copied) = ([0; 24], [0; 24]);
            store.read(STOCK, stock.into(), column, &mut info).unwrap();
            store.read(ORDER_LINE, key.into(), ColumnSet::one(5), &mut copied).unwrap();
            assert_eq!(info, copied);
        }
    }
}

#[test]
fn the_oldest_order_of_each_district_is_delivered() {
    let workload = made(TpccOptions { mix: Mix([0, 0, 0, 1, 0]), ..small() });
    let options = workload.options().clone();
    let mut store = Store::loaded(&workload, Mistake::None);
    let mut client = workload.client(2, 3, 5);
    // Nine of thirty orders are undelivered in each district. After nine deliveries none are left.
    for delivered in 0..11 {
        for district in 0..2 {
            let place = Place { warehouse: 2, district };
            let waiting = keys_of(&mut store, NEW_ORDER, place.orders());
            let expected = (21 + delivered..30).map(|number| place.order(number));
            assert!(waiting.into_iter().eq(expected));
        }
        client.next();
        store.commit(&mut client);
        let Drawn::Delivery { carrier, .. } = *client.drawn() else { panic!() };
        if delivered < 9 {
            let place = Place { warehouse: 2, district: 1 };
            let order = place.order(21 + delivered);
            assert_eq!(nullable(&mut store, ORDER, order, 1), Some(carrier));
            for line in keys_of(&mut store, ORDER_LINE, place.lines(21 + delivered, 21 + delivered))
            {
                assert!(nullable(&mut store, ORDER_LINE, line, 4).unwrap() > 1);
            }
            let buyer = integer(&mut store, ORDER, order, 0) as u64;
            assert_eq!(integer(&mut store, CUSTOMER, options.customer(place, buyer), 3), 1);
        }
    }
    assert_eq!(workload.conservation().unwrap()(&mut store, 0).unwrap(), Ok(()));
}

#[test]
fn a_name_means_the_customer_in_the_middle_of_its_first_names() {
    let options = TpccOptions {
        warehouses: 1,
        districts: 1,
        customers_per_district: 1500,
        by_name: 1.0,
        mix: Mix([0, 1, 0, 0, 0]),
        ..small()
    };
    let workload = made(options.clone());
    let mut store = Store::loaded(&workload, Mistake::None);
    let mut client = workload.client(0, 1, 5);
    let mut lengths = [0; 4];
    for _ in 0..300 {
        client.next();
        let Drawn::Payment { who: Who::Named(name), amount, .. } = *client.drawn() else {
            panic!()
        };
        let mut of_name = Vec::new();
        let mut text = Vec::new();
        last_name(name, &mut text);
        let customers = (CUSTOMER, &layout(CUSTOMER));
        for customer in 0..1500 {
            if value(&mut store, customers, customer, 10).unwrap() == text {
                of_name.push((value(&mut store, customers, customer, 8).unwrap(), customer));
            }
        }
        of_name.sort();
        lengths[of_name.len().min(4) - 1] += 1;
        // Clause 2.5.2.2: the row at n / 2, rounded up, counted from 1.
        let middle = of_name[of_name.len().div_ceil(2) - 1].1;
        let before = integer(&mut store, CUSTOMER, middle, 0);
        store.commit(&mut client);
        assert_eq!(integer(&mut store, CUSTOMER, middle, 0), before - amount);
    }
    assert!(lengths.iter().all(|count| *count > 0), "{lengths:?}");
}

#[test]
fn bad_credit_is_remarked() {
    let mix = Mix([0, 1, 0, 0, 0]);
    let workload = made(TpccOptions { mix, by_name: 0.0, ..small() });
    let options = workload.options().clone();
    let mut store = Store::loaded(&workload, Mistake::None);
    let mut client = workload.client(0, 1, 5);
    let customers = (CUSTOMER, &layout(CUSTOMER));
    let (mut remarked, mut grown) = (0, 0);
    for _ in 0..600 {
        client.next();
        let Drawn::Payment { place, residence, who, amount } = *client.drawn() else { panic!() };
        let Who::Number(number) = who else { panic!() };
        let key = options.customer(residence, number);
        let credit = value(&mut store, customers, key, 5).unwrap();
        let before = value(&mut store, customers, key, 17).unwrap();
        store.commit(&mut client);
        let after = value(&mut store, customers, key, 17).unwrap();
        if credit == b"GC" {
            assert_eq!(before, after);
            continue;
        }
        remarked += 1;
        let (r, p) = (residence, place);
        let ids = format!(
            "{number} {} {} {} {} {amount} ",
            r.district, r.warehouse, p.district, p.warehouse
        );
        let mut expected = ids.into_bytes();
        expected.extend_from_slice(&before);
        expected.truncate(500);
        assert_eq!(after, expected);
        grown += u32::from(after.len() > before.len());
    }
    assert!(remarked > 30 && grown > 10 && grown < remarked, "{remarked} {grown}");
}

#[test]
fn a_payment_is_recorded_under_the_names_of_its_warehouse_and_its_district() {
    let workload = made(TpccOptions { mix: Mix([0, 1, 0, 0, 0]), ..small() });
    let options = workload.options().clone();
    let [warehouses, districts, payments] = [WAREHOUSE, DISTRICT, HISTORY].map(layout);
    for adds_at_commit in [false, true] {
        let mut store = Store::loaded(&workload, Mistake::None);
        store.adds_at_commit = adds_at_commit;
        let mut client = workload.client(0, 1, 5);
        for number in 1..100 {
            client.next();
            store.commit(&mut client);
            let Drawn::Payment { place, .. } = *client.drawn() else { panic!() };
            let mut names =
                value(&mut store, (WAREHOUSE, &warehouses), place.warehouse, 2).unwrap();
            names.extend_from_slice(b"    ");
            let district = options.district(place);
            names.extend(value(&mut store, (DISTRICT, &districts), district, 3).unwrap());
            let key = keys::history(0, 0, number);
            assert_eq!(value(&mut store, (HISTORY, &payments), key, 7), Some(names));
        }
    }
}

#[test]
fn looking_changes_nothing_and_reads_what_it_should() {
    let workload = made(TpccOptions { mix: Mix([0, 0, 1, 0, 1]), ..small() });
    let mut store = Store::loaded(&workload, Mistake::None);
    store.record_events = true;
    let mut client = workload.client(0, 1, 5);
    for _ in 0..300 {
        client.next();
        store.commit(&mut client);
        assert!(client.read_only());
        let events = std::mem::take(&mut store.events);
        let scans: Vec<_> = events
            .iter()
            .filter_map(|event| match event {
                Event::Scan(table, range, direction) => Some((*table, *range, *direction)),
                _ => None,
            })
            .collect();
        let stock = events.iter().filter(|e| matches!(e, Event::Read(STOCK, ..))).count();
        match *client.drawn() {
            Drawn::StockLevel { place, .. } => {
                // The range of the last 20 of 30 orders.
                assert_eq!(scans, [(ORDER_LINE, place.lines(10, 29), Direction::Forward)]);
                assert!((20..=50).contains(&stock), "{stock}");
            }
            Drawn::OrderStatus { who, .. } => {
                assert_eq!(scans.len(), 2 + usize::from(matches!(who, Who::Named(_))));
                let [.., (by_customer, _, backward), (lines, range, _)] = scans[..] else {
                    panic!()
                };
                assert_eq!((by_customer, backward), (ORDER_BY_CUSTOMER, Direction::Backward));
                let order = keys::order_of_line(range.first());
                assert_eq!((lines, keys::order_of_line(range.last())), (ORDER_LINE, order));
                assert_eq!(stock, 0);
            }
            _ => panic!(),
        }
    }
}

/// The same transactions leave the same rows behind, under a protocol that adds at commit and under one that doesn't.
#[test]
fn additions_and_updates_come_to_the_same() {
    for schema in [SchemaSize::Small, SchemaSize::Full] {
        let workload = made(TpccOptions { schema, ..small() });
        let dump = |adds_at_commit| {
            let mut store = Store::loaded(&workload, Mistake::None);
            store.adds_at_commit = adds_at_commit;
            let mut clients = [workload.client(0, 3, 9), workload.client(2, 3, 9)];
            for i in 0..600 {
                let client: &mut TpccClient = &mut clients[i % 2];
                client.next();
                if store.attempt(client).is_err() {
                    continue;
                }
            }
            store.rows
        };
        let (updates, additions) = (dump(false), dump(true));
        assert_ne!(updates, Store::loaded(&workload, Mistake::None).rows);
        assert!(updates == additions, "{schema:?} schema");
    }
}
