//! Measures an uncontended transaction of 16 accesses under each protocol, without the architecture: one worker, records
//! found by the index, 100-byte columns, a table that fits the cache and one that doesn't.

// The functions that criterion's macros make have no documentation.
#![allow(missing_docs)]

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use kilocore_protocols::{
    Change, CommitLog, Protocol, ProtocolOptions, Txn,
    registry::{Visitor, declarations, with_protocol},
};
use machine::{ArenaOptions, Machine, Native, NativeCore, NativeOptions, Zeroed, cold::Arc};
use std::time::Duration;
use storage::{ProtocolWords, RecordRef, Store, StoreLoader, StoreOptions};
use txn::{
    Column, ColumnSet, ColumnType, Intent, Loader, Schema, TableId, TableSchema, TxnId, Version,
};

const TABLE: TableId = TableId(0);
const ACCESSES: u64 = 16;
const BYTES: usize = 100;
/// A table within any second-level cache, and one beyond any last level's share (half a gigabyte).
const SIZES: [(&str, u64); 2] = [("small", 1 << 10), ("large", 1 << 20)];
/// Updates among the accesses, in per cent.
const UPDATES: [u64; 2] = [0, 50];

struct Bench<'c> {
    criterion: &'c mut Criterion,
    name: &'static str,
    records: u64,
    size: &'static str,
}

impl Visitor<Native> for Bench<'_> {
    type Output = ();

    fn visit<P: Protocol<Native>>(self) {
        let arena = ArenaOptions { reserve_bytes: 8 << 30, ..ArenaOptions::default() };
        let machine = Native::new(NativeOptions { arena, ..NativeOptions::default() });
        let machine = Arc::new(machine.expect("8 GiB of address space"));
        let protocol =
            P::create(machine.arena(), &ProtocolOptions::default(), 2).expect("room in the arena");
        let store = store_of::<P::Words>(&machine, self.records);
        let core = machine.core(0);
        let mut worker = protocol.worker(store.epochs(), 0);
        let mut group = self.criterion.benchmark_group(format!("{}/{}", self.name, self.size));
        group.throughput(Throughput::Elements(ACCESSES));
        group.sample_size(20).warm_up_time(Duration::from_millis(200));
        group.measurement_time(Duration::from_millis(800));
        for updates in UPDATES {
            let mut draws = Draws { records: self.records, updates, random: 1, transaction: 0 };
            group.bench_function(format!("{updates} % updates"), |bencher| {
                bencher.iter(|| transact(&core, &protocol, &mut worker, &store, &mut draws));
            });
        }
        group.finish();
    }
}

/// A store of one table with `records` rows.
fn store_of<R: Zeroed + Send + Sync + 'static>(
    machine: &Arc<Native>,
    records: u64,
) -> Store<Native> {
    let words = ProtocolWords::of::<R>();
    let store: Store<Native> = Store::new(
        machine.clone(),
        StoreOptions {
            sessions: 2,
            keep_versions: false,
            keep_digests: false,
            words,
            access: Default::default(),
        },
    )
    .expect("room in the arena");
    let columns =
        (0..4).map(|i| Column::new(format!("c{i}"), ColumnType::Bytes(BYTES as u32))).collect();
    let schema = Schema { tables: vec![TableSchema::new("records", columns)] };
    store.create_tables(&schema, |_| records).expect("memory for the table");
    let mut loader = StoreLoader::new(&store, 2);
    loader.load_dense(TABLE, records, &|key, row| row.fill(key as u8));
    loader.finish().expect("room in the arena");
    store
}

/// The transactions of a benchmark, in their order.
struct Draws {
    records: u64,
    /// In per cent.
    updates: u64,
    random: u64,
    transaction: u64,
}

/// One transaction; a byte that it read.
#[inline(always)]
fn transact<'s, P: Protocol<Native>>(
    core: &NativeCore,
    protocol: &'s P,
    worker: &mut P::Worker<'s>,
    store: &'s Store<Native>,
    draws: &mut Draws,
) -> u8 {
    let table = store.table(TABLE);
    let mut buffer = [0u8; BYTES];
    draws.transaction += 1;
    store.epochs().pin(core, 0);
    protocol.begin(core, worker, Txn::new(TxnId::new(0, 1)));
    for number in 0..ACCESSES {
        draws.random = draws.random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        // Keys differ within a transaction by their last bits.
        let key = (draws.random >> 24) % draws.records / ACCESSES * ACCESSES + number;
        let columns = ColumnSet::one((draws.random >> 60) as usize % 4);
        let record = RecordRef::checked(table.find(core, key).expect("every key is there"));
        if number * 100 < ACCESSES * draws.updates {
            buffer[0] = number as u8;
            let change = Change { columns, values: &buffer, state: None };
            let written = protocol.write(core, worker, record, change);
            assert!(written.expect("alone, nothing conflicts"));
        } else {
            protocol
                .read(core, worker, record, columns, Intent::Read, &mut buffer)
                .expect("alone, nothing conflicts");
        }
    }
    let prepared = protocol.prepare(core, worker).expect("alone, nothing conflicts");
    let version = Version::new(TxnId::new(0, draws.transaction), 1);
    let mut log = CommitLog { version, writes: None };
    protocol.commit(core, worker, prepared.least, &mut log);
    store.epochs().unpin(core, 0);
    buffer[1]
}

fn every_protocol(criterion: &mut Criterion) {
    for (size, records) in SIZES {
        for declaration in declarations::<Native>(&ProtocolOptions::default()) {
            let name = declaration.name;
            let bench = Bench { criterion: &mut *criterion, name, records, size };
            if with_protocol(name, &ProtocolOptions::default(), bench).is_err() {
                unreachable!("{name} is in the registry");
            }
        }
    }
}

criterion_group!(access, every_protocol);
criterion_main!(access);
