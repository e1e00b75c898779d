//! Measures the cost of a transaction through the embedded API: one thread, one row out of a million, by row
//! and by field.

use criterion::Criterion;
use kilocore::{ColumnType, Database, Options, Table, Value};
use std::hint::black_box;

const ROWS: u64 = 1_000_000;

/// Opens a database with a table of [`ROWS`] rows.
fn loaded(protocol: &str) -> (Database, Table) {
    let options = Options { protocol: protocol.into(), ..Options::default() };
    let db = Database::open(options).expect("a database");
    let columns = [("n", ColumnType::U64), ("name", ColumnType::Bytes(24))];
    let table = db.table("t").columns(&columns).sized_for(ROWS).create().expect("a table");
    for first in (0..ROWS).step_by(1000) {
        let load = db.transact(|tx| {
            (first..first + 1000)
                .try_for_each(|key| tx.insert(&table, key, &[Value::U64(key), "x".into()]))
        });
        load.expect("loaded");
    }
    (db, table)
}

fn transact(criterion: &mut Criterion) {
    for protocol in Database::protocols() {
        let (db, table) = loaded(protocol);
        let n = table.field::<u64>("n").expect("a column");
        let mut group = criterion.benchmark_group(protocol);
        // The benchmark repeats the same few rows. So it measures the engine and not the memory behind it.
        let mut key = 0;
        let mut next = move || {
            key = (key + 7) % 1024;
            key
        };
        group.bench_function("empty", |bench| bench.iter(|| db.transact(|_| Ok(()))));
        group.bench_function("get_field", |bench| {
            bench.iter(|| db.transact(|tx| tx.get_field(n, black_box(next()))))
        });
        group.bench_function("get_field_alone", |bench| {
            bench.iter(|| db.get_field(n, black_box(next())))
        });
        group.bench_function("get_row", |bench| {
            bench.iter(|| {
                let value = |tx: &mut kilocore::Transaction<'_>, key| {
                    tx.get(&table, key)?.expect("loaded").get::<u64>("n")
                };
                db.transact(|tx| value(tx, black_box(next())))
            })
        });
        group.bench_function("get_16_fields", |bench| {
            bench.iter(|| {
                db.transact(|tx| {
                    (0..16).try_fold(0, |sum, _| {
                        Ok(sum + tx.get_field(n, black_box(next()))?.expect("loaded"))
                    })
                })
            })
        });
        group.bench_function("set_field", |bench| {
            bench.iter(|| db.transact(|tx| tx.set_field(n, black_box(next()), 1)))
        });
        group.bench_function("read_modify_write_field", |bench| {
            bench.iter(|| {
                db.transact(|tx| {
                    let key = black_box(next());
                    let was = tx.get_field_for_update(n, key)?.expect("loaded");
                    tx.set_field(n, key, was + 1)
                })
            })
        });
        group.bench_function("update_row", |bench| {
            bench.iter(|| {
                db.transact(|tx| tx.update(&table, black_box(next()), &[("n", Value::U64(1))]))
            })
        });
        group.bench_function("insert_and_delete", |bench| {
            bench.iter(|| {
                let key = ROWS + next();
                db.transact(|tx| tx.insert(&table, key, &[Value::U64(key), "x".into()]))?;
                db.transact(|tx| tx.delete(&table, key))
            })
        });
        group.finish();
    }
}

/// Sixteen rows a transaction with ascending keys, in a table in key order that grows: one by one, and by one call.
fn insert_ascending(criterion: &mut Criterion) {
    for protocol in ["SILO", "NO_WAIT"] {
        let mut group = criterion.benchmark_group(protocol);
        for (name, many) in [("insert_16", false), ("insert_many_16", true)] {
            let db = Database::open(Options { protocol: protocol.into(), ..Options::default() });
            let db = db.expect("a database");
            let table = db.table("t").column("n", ColumnType::U64).ordered().create();
            let table = table.expect("a table");
            let mut next = 0;
            group.bench_function(name, |bench| {
                bench.iter(|| {
                    let rows = next..next + 16;
                    next += 16;
                    db.transact(|tx| match many {
                        true => tx.insert_many(&table, rows.clone().map(|n| (n, [n.into()]))),
                        false => rows.clone().try_for_each(|n| tx.insert(&table, n, &[n.into()])),
                    })
                });
            });
        }
        group.finish();
    }
}

fn main() {
    let mut criterion = Criterion::default().configure_from_args();
    transact(&mut criterion);
    insert_ascending(&mut criterion);
    criterion.final_summary();
}
