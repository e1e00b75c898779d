//! Memory use stays bounded. Exhausted memory is an error from which the database recovers.

use kilocore::{ColumnType, Database, Error, Options, Table, Value};
use std::{sync::mpsc, thread};

const ROW: [Value<'static>; 2] = [Value::U64(1), Value::Bytes(b"payload")];

fn open(protocol: &str, memory_limit_bytes: Option<u64>) -> (Database, Table) {
    let options = Options { protocol: protocol.into(), memory_limit_bytes, ..Options::default() };
    let db = Database::open(options).unwrap();
    let columns = [("n", ColumnType::U64), ("bytes", ColumnType::Bytes(100))];
    let table = db.table("t").columns(&columns).create().unwrap();
    (db, table)
}

#[test]
fn inserting_and_deleting_for_ever() {
    for protocol in Database::protocols() {
        let (db, table) = open(protocol, None);
        let mut early = 0;
        for key in 0..200_000 {
            db.transact(|tx| tx.insert(&table, key, &ROW)).unwrap();
            db.transact(|tx| tx.delete(&table, key)).unwrap();
            if key == 10_000 {
                early = db.memory_used_bytes();
            }
        }
        let grown = db.memory_used_bytes() - early;
        assert!(grown < 1 << 20, "{protocol}: {grown} bytes more");
    }
}

#[test]
fn one_thread_inserts_what_another_deletes() {
    for protocol in Database::protocols() {
        let (db, table) = open(protocol, None);
        let (inserted, to_delete) = mpsc::sync_channel(100);
        let early = thread::scope(|scope| {
            scope.spawn(|| {
                for key in to_delete {
                    assert!(db.transact(|tx| tx.delete(&table, key)).unwrap());
                }
            });
            let mut early = 0;
            for key in 0..100_000 {
                db.transact(|tx| tx.insert(&table, key, &ROW)).unwrap();
                inserted.send(key).unwrap();
                if key == 20_000 {
                    early = db.memory_used_bytes();
                }
            }
            drop(inserted);
            early
        });
        let grown = db.memory_used_bytes() - early;
        assert!(grown < 3 << 20, "{protocol}: {grown} bytes more");
    }
}

/// A table takes little memory before it has rows.
#[test]
fn a_hundred_tables_in_a_small_database() {
    for protocol in Database::protocols() {
        let options = Options {
            protocol: protocol.into(),
            memory_limit_bytes: Some(64 << 20),
            max_sessions: 8,
            ..Options::default()
        };
        let db = Database::open(options).unwrap();
        let before = db.memory_used_bytes();
        let columns = [("n", ColumnType::U64), ("bytes", ColumnType::Bytes(100))];
        let table = |number| db.table(&format!("t{number}")).columns(&columns).create().unwrap();
        let tables: Vec<Table> = (0..100).map(table).collect();
        let taken = db.memory_used_bytes() - before;
        assert!(taken < 1 << 20, "{protocol}: {taken} bytes");
        for (key, table) in tables.iter().enumerate() {
            db.transact(|tx| tx.insert(table, key as u64, &ROW)).unwrap();
        }
    }
}

/// The index grows while four threads insert rows. All rows are found, and the indexes that were outgrown take little
/// memory beside the rows.
#[test]
fn many_rows_in_a_table_that_began_small() {
    const ROWS: u64 = 300_000;
    let (db, table) = open("SILO", None);
    let n = table.field::<u64>("n").unwrap();
    let before = db.memory_used_bytes();
    thread::scope(|scope| {
        for part in 0..4 {
            let (db, table) = (&db, &table);
            scope.spawn(move || {
                for first in (part..ROWS).step_by(400) {
                    let keys = (first..ROWS).step_by(4).take(100);
                    db.transact(|tx| {
                        keys.clone().try_for_each(|key| {
                            tx.insert(table, key, &[Value::U64(key), Value::Bytes(b"x")])
                        })
                    })
                    .unwrap();
                }
            });
        }
    });
    for first in (0..ROWS).step_by(1000) {
        let sum = |tx: &mut kilocore::ReadTransaction<'_>| {
            (first..first + 1000)
                .try_fold(0, |sum, key| Ok(sum + tx.get_field(n, key)?.ok_or("gone")?))
        };
        assert_eq!(db.read_only(sum).unwrap(), (first * 2 + 999) * 500, "rows from {first} on");
    }
    assert!(db.read_only(|tx| tx.get_field(n, ROWS)).unwrap().is_none());
    let each = (db.memory_used_bytes() - before) / ROWS;
    assert!(each < 300, "{each} bytes a row");
}

#[test]
fn keys_looked_for_in_vain() {
    let (db, table) = open("SILO", None);
    for key in 0..100_000 {
        assert!(db.read_only(|tx| tx.get(&table, key).map(|row| row.is_none())).unwrap());
    }
    assert!(db.memory_used_bytes() < 24 << 20, "{} bytes", db.memory_used_bytes());
}

#[test]
fn an_exhausted_database_goes_on() {
    for protocol in Database::protocols() {
        let (db, table) = open(protocol, Some(4 << 20));
        let n = table.field::<u64>("n").unwrap();
        let mut rows = 0;
        let error = loop {
            match db.transact(|tx| tx.insert(&table, rows, &ROW)) {
                Ok(()) => rows += 1,
                Err(error) => break error,
            }
        };
        assert!(matches!(error, Error::OutOfMemory), "{protocol}: {error}");
        assert!(rows > 5_000, "{protocol}: {rows} rows");
        // There is no memory even for the smallest table.
        let column = [("n", ColumnType::U64)];
        let small =
            (0..).map(|i| db.table(&format!("small{i}")).columns(&column).sized_for(1).create());
        let refused = small.filter_map(Result::err).next().unwrap();
        assert!(matches!(refused, Error::TooLarge { .. }), "{protocol}: {refused}");
        // Every operation that needs no more memory works, on this thread and on others.
        thread::scope(|scope| {
            for t in 0..16 {
                let (db, table) = (&db, &table);
                scope.spawn(move || {
                    for key in (t * 100)..(t * 100 + 50) {
                        db.transact(|tx| {
                            let was = tx.get_field_for_update(n, key)?.ok_or("gone")?;
                            tx.set_field(n, key, was + 1)
                        })
                        .unwrap_or_else(|error| panic!("{protocol}: {error}"));
                        assert!(db.transact(|tx| tx.delete(table, key)).unwrap());
                    }
                });
            }
        });
        assert!(db.transact(|tx| tx.delete(&table, rows - 1)).unwrap());
        // The memory of deleted rows can be used again, although each session has freed only a part of it.
        let deleted = (0..1600).filter(|key| key % 100 < 50).chain([rows - 1]);
        let again = deleted.filter(|key| db.transact(|tx| tx.insert(&table, *key, &ROW)).is_ok());
        assert_eq!(again.count(), 801, "{protocol}");
        assert_eq!(db.read_only(|tx| tx.get_field(n, 60)).unwrap(), Some(1));
    }
}

/// There is no memory for old versions and lock requests, and writers wait for readers. Every transaction that
/// commits must still have seen and preserved the total.
#[test]
fn what_is_moved_about_in_an_exhausted_database_stays_as_much() {
    const ROWS: u64 = 8;
    for protocol in Database::protocols().into_iter().filter(|name| *name != "NO_CC") {
        let (db, table) = open(protocol, Some(4 << 20));
        let n = table.field::<u64>("n").unwrap();
        (0..).find(|key| db.transact(|tx| tx.insert(&table, *key, &ROW)).is_err());
        let sum = || {
            db.read_only(|tx| {
                let mut sum = 0;
                for key in 0..ROWS {
                    sum += tx.get_field(n, key)?.ok_or("gone")?;
                }
                Ok(sum)
            })
        };
        let moved = thread::scope(|scope| {
            let movers = (0..3u64).map(|t| {
                let db = &db;
                scope.spawn(move || {
                    let pairs = (0..400u64).map(|i| ((i * 5 + t) % ROWS, (i * 3 + t + 1) % ROWS));
                    let mut moved = 0;
                    for (from, to) in pairs.filter(|(from, to)| from != to) {
                        let done = db.transact(|tx| {
                            let left = tx.get_field_for_update(n, from)?.ok_or("gone")?;
                            let there = tx.get_field_for_update(n, to)?.ok_or("gone")?;
                            let amount = left.min(1);
                            tx.set_field(n, from, left - amount)?;
                            tx.set_field(n, to, there + amount)
                        });
                        match done {
                            Ok(()) => moved += 1,
                            Err(Error::OutOfMemory) => {}
                            Err(other) => panic!("{protocol}: {other}"),
                        }
                    }
                    moved
                })
            });
            let movers: Vec<_> = movers.collect();
            for _ in 0..100 {
                match sum() {
                    Ok(sum) => assert_eq!(sum, ROWS, "{protocol}"),
                    Err(error) => {
                        assert!(matches!(error, Error::OutOfMemory), "{protocol}: {error}")
                    }
                }
            }
            movers.into_iter().map(|mover| mover.join().unwrap()).sum::<u64>()
        });
        assert!(moved > 0, "{protocol}: nobody could move anything");
        assert_eq!(sum().unwrap(), ROWS, "{protocol}");
    }
}
