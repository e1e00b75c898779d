//! Compares look-ups in a table whose hash index has grown with its rows, and in one that was sized for them: keys that
//! are there, keys that are not, and the inserts that fill the table.

use criterion::{BatchSize, BenchmarkId, Criterion};
use kilocore_storage::{ProtocolWords, Store, StoreOptions};
use machine::{Native, NativeCore, NativeOptions, Word, cold::Arc};
use std::hint::black_box;
use txn::{Column, ColumnType, TableId, TableSchema};

/// Numbers of rows. An index for the first has as many buckets whether it was sized or has grown. One that has grown to
/// the second has half as many, just before it would double.
const ROWS: [u64; 2] = [1_000_000, 750_000];
/// Number of rows for which an index that grows has room at first.
const FEW: u64 = 64;
const TABLE: TableId = TableId(0);

fn key(number: u64) -> u64 {
    number * 3
}

/// Makes a table that is sized for `sized` rows.
fn empty(sized: u64) -> (Store<Native>, NativeCore) {
    let machine = Arc::new(Native::new(NativeOptions::default()).expect("address space"));
    let core = machine.core(0);
    let options = StoreOptions {
        sessions: 1,
        keep_versions: false,
        keep_digests: false,
        words: ProtocolWords::of::<Word>(),
        access: Default::default(),
    };
    let store = Store::new(machine, options).expect("room");
    let schema = TableSchema::new("t", vec![Column::new("n", ColumnType::U64)]);
    store.create_table(TABLE, &[schema], sized).expect("room");
    (store, core)
}

fn fill((store, core): &(Store<Native>, NativeCore), rows: u64) {
    let table = store.table(TABLE);
    let mut space = table.take_space();
    for number in 0..rows {
        let made = table.find_or_make(core, &mut space, key(number), |_| ());
        assert!(made.is_ok(), "memory is exhausted");
    }
    table.return_space(space);
}

fn look_up(criterion: &mut Criterion) {
    for rows in ROWS {
        let mut group = criterion.benchmark_group(format!("{rows} rows"));
        for (name, sized) in [("grown", FEW), ("sized", rows)] {
            let made = empty(sized);
            fill(&made, rows);
            let (table, core) = (made.0.table(TABLE), &made.1);
            let mut random = 1u64;
            let mut draw = move || {
                random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                key((random >> 33) % rows)
            };
            group.bench_function(BenchmarkId::new("find", name), |bench| {
                bench.iter(|| table.find(core, black_box(draw())).is_some())
            });
            group.bench_function(BenchmarkId::new("find_nothing", name), |bench| {
                bench.iter(|| table.find(core, black_box(draw() + 1)).is_some())
            });
        }
        group.finish();
    }
}

fn insert(criterion: &mut Criterion) {
    let rows = ROWS[0];
    let mut group = criterion.benchmark_group(format!("insert {rows} rows"));
    group.sample_size(10);
    for (name, sized) in [("grown", FEW), ("sized", rows)] {
        group.bench_function(name, |bench| {
            bench.iter_batched(|| empty(sized), |made| fill(&made, rows), BatchSize::PerIteration);
        });
    }
    group.finish();
}

fn main() {
    let mut criterion = Criterion::default().configure_from_args();
    look_up(&mut criterion);
    insert(&mut criterion);
    criterion.final_summary();
}
