//! Columns are added and dropped, and tables are dropped, while the database is in use.

use kilocore::{ColumnType::*, Database, Error, Named, Options, Row, Table, Transaction, Value};
use std::{
    ops::ControlFlow,
    sync::atomic::{AtomicBool, AtomicU64, Ordering},
    thread,
};

fn open(protocol: &str) -> Database {
    Database::open(Options { protocol: protocol.into(), ..Options::default() }).unwrap()
}

fn protocols() -> impl Iterator<Item = &'static str> {
    Database::protocols().into_iter().filter(|name| *name != "NO_CC")
}

fn row(db: &Database, table: &Table, key: u64) -> String {
    db.read_only(|tx| Ok(format!("{:?}", tx.get(table, key)?.ok_or("gone")?))).unwrap()
}

#[test]
fn scans_of_one_column_see_added_ones() {
    for protocol in protocols() {
        let db = open(protocol);
        let old = db.table("t").column("n", U64).ordered().create().unwrap();
        db.transact(|tx| (0..4).try_for_each(|key| tx.insert(&old, key, &[key.into()]))).unwrap();
        let table = db.alter(&old).add("age", I16, 7).add_nullable("note", Text).apply().unwrap();
        db.transact(|tx| {
            tx.update(&table, 1, &[("note", "long ".repeat(50).as_str().into())])?;
            tx.update(&table, 2, &[("age", (-3).into())])
        })
        .unwrap();
        let note = table.field::<Option<String>>("note").unwrap();
        let age = table.field::<i16>("age").unwrap();
        let (ages, notes) = db
            .read_only(|tx| {
                let (mut ages, mut notes) = (Vec::new(), Vec::new());
                tx.scan_field(age, .., |key, age| {
                    ages.push((key.number(), age));
                    ControlFlow::Continue(())
                })?;
                tx.scan_field_backward(note, 1.., |_, note| {
                    notes.push(note.map(|note| note.len()));
                    ControlFlow::Continue(())
                })?;
                Ok((ages, notes))
            })
            .unwrap();
        assert_eq!(ages, [(0, 7), (1, 7), (2, -3), (3, 7)], "{protocol}");
        assert_eq!(notes, [None, None, Some(250)], "{protocol}");
    }
}

#[test]
fn added_columns_have_defaults_and_then_values() {
    for protocol in protocols() {
        let db = open(protocol);
        let old = db.table("t").column("n", U64).column("name", Text).ordered().create().unwrap();
        db.transact(|tx| {
            (0..5).try_for_each(|key| tx.insert(&old, key, &[key.into(), "x".into()]))
        })
        .unwrap();
        let table = db.alter(&old).add("age", I16, 7).add_nullable("note", Text).apply().unwrap();
        assert_eq!(row(&db, &table, 1), r#"{"n": 1, "name": "x", "age": 7, "note": NULL}"#);
        // The older handle does not know the columns.
        assert_eq!(row(&db, &old, 1), r#"{"n": 1, "name": "x"}"#);
        db.transact(|tx| {
            tx.update(
                &table,
                1,
                &[("note", "long ".repeat(50).as_str().into()), ("n", 11.into())],
            )?;
            tx.update(&table, 2, &[("age", (-3).into())])?;
            tx.insert(&table, 8, &[8.into(), "y".into(), 8.into(), "z".into()])?;
            tx.insert(&old, 9, &[9.into(), "w".into()])
        })
        .unwrap();
        let note = table.field::<Option<String>>("note").unwrap();
        let age = table.field::<i16>("age").unwrap();
        db.read_only(|tx| {
            assert_eq!(tx.get_field(note, 1)?.flatten().map(|note| note.len()), Some(250));
            assert_eq!((tx.get_field(age, 1)?, tx.get_field(age, 2)?), (Some(7), Some(-3)));
            assert_eq!(tx.get_field(age, 100)?, None);
            let ages = tx.range(&table, ..)?.map(|row| row?.1.get::<i16>("age"));
            assert_eq!(ages.collect::<Result<Vec<_>, Error>>()?, [7, 7, -3, 7, 7, 8, 7]);
            Ok(())
        })
        .unwrap();
        assert_eq!(row(&db, &table, 9), r#"{"n": 9, "name": "w", "age": 7, "note": NULL}"#);
        // A new row of the same key does not get the old value of an added column, whichever handle deleted the old row.
        db.transact(|tx| tx.delete(&old, 8).map(|_| ())).unwrap();
        db.transact(|tx| tx.insert(&old, 8, &[88.into(), "new".into()])).unwrap();
        assert_eq!(row(&db, &table, 8), r#"{"n": 88, "name": "new", "age": 7, "note": NULL}"#);
        let more = db.alter(&table).add("last", Bool, true).apply().unwrap();
        db.transact(|tx| {
            tx.put(
                &more,
                8,
                &Named(&[
                    ("n", 1.into()),
                    ("name", "p".into()),
                    ("age", 2.into()),
                    ("last", false.into()),
                ]),
            )
        })
        .unwrap();
        assert_eq!(
            row(&db, &more, 8),
            r#"{"n": 1, "name": "p", "age": 2, "note": NULL, "last": false}"#,
            "{protocol}"
        );
    }
}

#[test]
fn dropped_columns_are_gone_and_their_names_are_free() {
    let db = open("SILO");
    let old = db.table("t").column("n", U64).column("name", Text).index("by_n", ["n"]).create();
    let old = old.unwrap();
    let name = old.field::<String>("name").unwrap();
    db.transact(|tx| tx.insert(&old, 1, &[1.into(), "x".into()])).unwrap();
    let table = db.alter(&old).drop("name").add("name", F64, 0.5).apply().unwrap();
    assert_eq!(row(&db, &table, 1), r#"{"n": 1, "name": 0.5}"#);
    let outdated = |error| matches!(error, Err(Error::TableChanged { table }) if table == "t");
    assert!(outdated(db.read_only(|tx| tx.get(&old, 1).map(|_| ()))));
    assert!(outdated(db.read_only(|tx| tx.get_field(name, 1).map(|_| ()))));
    assert!(outdated(db.transact(|tx| tx.insert(&old, 2, &[1.into(), "x".into()]))));
    assert!(outdated(db.alter(&old).add_nullable("m", U64).apply().map(|_| ())));
    db.transact(|tx| tx.insert(&table, 2, &[2.into(), 1.5.into()])).unwrap();
    assert_eq!(row(&db, &table, 2), r#"{"n": 2, "name": 1.5}"#);
    let by_n = table.index("by_n").unwrap();
    let found = db.read_only(|tx| tx.find_all(&by_n, &[2.into()])?[0].1.get::<f64>("name"));
    assert_eq!(found.unwrap(), 1.5);
    let refused =
        |table: &Table, change: fn(kilocore::TableChange<'_>) -> kilocore::TableChange<'_>| {
            change(db.alter(table)).apply().unwrap_err().to_string()
        };
    assert!(refused(&table, |t| t.drop("n")).contains("\"n\" is in an index"));
    assert!(refused(&table, |t| t.drop("m")).contains("has no column \"m\""));
    assert!(refused(&table, |t| t.add("name", U64, 1)).contains("\"name\" exists already"));
    assert!(refused(&table, |t| t.add("m", U64, "x")).contains("column \"m\": text"));
    assert!(refused(&table, |t| t.add("m", U64, Value::Null)).contains("\"m\": NULL given"));
    let one = db.table("one").column("n", U64).create().unwrap();
    assert!(refused(&one, |t| t.drop("n")).contains("the last column"));
    assert!(
        refused(&one, |t| (0..62).fold(t, |t, at| t.add_nullable(format!("c{at}"), U64)))
            .contains("allowed are 62")
    );
    assert_eq!(db.table("t").open().unwrap().columns().count(), 2);
}

/// Threads move coins between two columns, of which one is added while they run.
#[test]
fn columns_are_added_while_transactions_run() {
    #[derive(Row)]
    struct Purse {
        left: i64,
    }
    for protocol in protocols() {
        let db = open(protocol);
        let table = db.table("purses").row::<Purse>().create().unwrap();
        db.transact(|tx| (0..10).try_for_each(|key| tx.insert(&table, key, &Purse { left: 100 })))
            .unwrap();
        let (stop, moved) = (AtomicBool::new(false), AtomicU64::new(0));
        thread::scope(|scope| {
            for worker in 0..2u64 {
                let (db, stop, moved) = (&db, &stop, &moved);
                scope.spawn(move || {
                    let mut step = worker;
                    while !stop.load(Ordering::Relaxed) {
                        step = step.wrapping_mul(6364136223846793005).wrapping_add(1);
                        let key = (step >> 33) % 10;
                        let table = db.table("purses").open().unwrap();
                        let has_right = table.columns().any(|(name, _)| name == "right");
                        let carry = |tx: &mut Transaction<'_>| {
                            if !has_right {
                                return Ok(());
                            }
                            let row = tx.get_for_update(&table, key)?.ok_or("gone")?;
                            let (left, right) = (row.get::<i64>("left")?, row.get::<i64>("right")?);
                            if step & 1 == 0 {
                                let row = Named(&[("left", left.into()), ("right", right.into())]);
                                assert!(tx.delete(&table, key)?);
                                return tx.insert(&table, key, &row);
                            }
                            let values =
                                [("left", (left - 1).into()), ("right", (right + 1).into())];
                            tx.update(&table, key, &values)
                        };
                        db.transact(carry).unwrap();
                        moved.fetch_add(u64::from(has_right), Ordering::Relaxed);
                    }
                });
            }
            db.alter(&table).add("right", I64, 0).apply().unwrap();
            while moved.load(Ordering::Relaxed) < 300 {
                thread::yield_now();
            }
            stop.store(true, Ordering::Relaxed);
        });
        let table = db.table("purses").open().unwrap();
        for key in 0..10 {
            let sum = db.read_only(|tx| {
                let row = tx.get(&table, key)?.ok_or("gone")?;
                Ok(row.get::<i64>("left")? + row.get::<i64>("right")?)
            });
            assert_eq!(sum.unwrap(), 100, "{protocol}");
        }
    }
}

#[test]
fn dropped_tables_give_their_memory_back() {
    for protocol in protocols() {
        let memory_limit_bytes = Some(48 << 20);
        let max_sessions = 8;
        let db = Database::open(Options {
            protocol: protocol.into(),
            memory_limit_bytes,
            max_sessions,
            ..Options::default()
        })
        .unwrap();
        let keep = db.table("keep").column("text", Text).create().unwrap();
        db.transact(|tx| tx.insert(&keep, 1, &["kept".repeat(100).as_str().into()])).unwrap();
        let mut early = 0;
        for round in 0..12u64 {
            let table = db.table("t").column("n", U64).column("text", Text).ordered();
            let table = table.index("by_n", ["n"]).create().unwrap();
            for first in (0..10_000u64).step_by(100) {
                db.transact(|tx| {
                    (first..first + 100).try_for_each(|key| {
                        let text = "x".repeat((key % 300) as usize);
                        tx.insert(&table, key, &[(key ^ round).into(), text.as_str().into()])
                    })
                })
                .unwrap();
            }
            let table = db.alter(&table).add_nullable("more", U64).apply().unwrap();
            db.transact(|tx| tx.update(&table, 7, &[("more", round.into()), ("n", 0.into())]))
                .unwrap();
            db.transact(|tx| tx.delete_range(&table, 100..200)).unwrap();
            let by_n = table.index("by_n").unwrap();
            db.drop_table(&table).unwrap();
            let dropped =
                |error| matches!(error, Err(Error::TableDropped { table }) if table == "t");
            assert!(dropped(db.read_only(|tx| tx.get(&table, 1).map(|_| ()))), "{protocol}");
            assert!(dropped(db.read_only(|tx| tx.find_all(&by_n, &[]).map(|_| ()))));
            assert!(dropped(db.drop_table(&table)));
            assert!(dropped(db.alter(&table).drop("n").apply().map(|_| ())));
            assert!(matches!(db.table("t").open(), Err(Error::UnknownTable { .. })));
            if round == 3 {
                early = db.memory_used_bytes();
            }
        }
        // Texts are used again two epochs later, so those of a few rounds can be there at a time.
        let grown = db.memory_used_bytes().saturating_sub(early);
        assert!(grown < 8 << 20, "{protocol}: {grown} bytes more");
        let text = db.read_only(|tx| tx.get(&keep, 1)?.ok_or("gone")?.get::<String>("text"));
        assert_eq!(text.unwrap(), "kept".repeat(100));
    }
}

/// Threads use tables that another thread creates, fills and drops.
#[test]
fn tables_are_dropped_while_transactions_use_them() {
    for protocol in protocols() {
        let db = open(protocol);
        let table = || db.table("t").column("n", U64).column("text", Text).create();
        let fill = |table: &Table| {
            db.transact(|tx| {
                (0..20).try_for_each(|key| tx.insert(table, key, &[key.into(), "t".into()]))
            })
        };
        fill(&table().unwrap()).unwrap();
        let (stop, done) = (AtomicBool::new(false), AtomicU64::new(0));
        thread::scope(|scope| {
            for worker in 0..2u64 {
                let (db, stop, done) = (&db, &stop, &done);
                scope.spawn(move || {
                    let mut step = worker;
                    while !stop.load(Ordering::Relaxed) {
                        step += 1;
                        let Ok(table) = db.table("t").open() else { continue };
                        let text = "new ".repeat((step % 100) as usize);
                        let result = db.transact(|tx| {
                            let row = tx.get_for_update(&table, step % 20)?;
                            let Some(row) = row else { return Ok(()) };
                            assert_eq!(row.get::<u64>("n")?, step % 20);
                            tx.update(&table, step % 20, &[("text", text.as_str().into())])
                        });
                        match result {
                            Ok(()) => done.fetch_add(1, Ordering::Relaxed),
                            Err(Error::TableDropped { .. }) => 0,
                            Err(error) => panic!("{protocol}: {error}"),
                        };
                    }
                });
            }
            for round in 1..=30 {
                while done.load(Ordering::Relaxed) < round * 20 {
                    thread::yield_now();
                }
                db.drop_table(&db.table("t").open().unwrap()).unwrap();
                fill(&table().unwrap()).unwrap();
            }
            stop.store(true, Ordering::Relaxed);
        });
        let inside = db.transact(|_| db.drop_table(&db.table("t").open()?));
        assert!(matches!(inside, Err(Error::Nested)));
    }
}
