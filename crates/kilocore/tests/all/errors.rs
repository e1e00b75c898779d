//! Bad input: every error has its own type and says what was given and what is allowed. The database stays
//! usable.

use kilocore::{ColumnType, Database, Error, Options, OwnedKey, Table, Value};
use std::time::{Duration, Instant};

fn open() -> (Database, Table) {
    let db = Database::open(Options::default()).unwrap();
    let columns = [
        ("id", ColumnType::U64),
        ("delta", ColumnType::I64),
        ("ratio", ColumnType::F64),
        ("name", ColumnType::Bytes(5)),
    ];
    let table = db.table("things").columns(&columns).create().unwrap();
    let row = [Value::U64(7), Value::I64(-7), Value::F64(0.7), "seven".into()];
    db.transact(|tx| tx.insert(&table, 7, &row)).unwrap();
    (db, table)
}

fn message<T: std::fmt::Debug>(result: Result<T, Error>) -> String {
    result.unwrap_err().to_string()
}

#[test]
fn options() {
    let with = |protocol: &str| {
        message(Database::open(Options { protocol: protocol.into(), ..Options::default() }))
    };
    let text = with("silo");
    assert!(text.contains("\"silo\"; did you mean \"SILO\"?"), "{text}");
    assert!(text.contains("NO_WAIT, WAIT_DIE"), "{text}");
    assert!(!with("postgres").contains("did you mean"));
    let bad = [
        Options { timestamps: "sundial".into(), ..Options::default() },
        Options { max_sessions: 0, ..Options::default() },
        Options { max_sessions: 5000, ..Options::default() },
        Options { epoch_interval: Duration::ZERO, ..Options::default() },
        Options { transaction_limit: Some(Duration::ZERO), ..Options::default() },
        Options { memory_limit_bytes: Some(0), ..Options::default() },
    ];
    for options in bad {
        let error = Database::open(options).unwrap_err();
        assert!(matches!(error, Error::InvalidOption { .. }), "{error}");
        assert!(error.to_string().contains("allowed are"), "{error}");
    }
    let tiny = Options { memory_limit_bytes: Some(2000), ..Options::default() };
    assert!(matches!(Database::open(tiny), Err(Error::OutOfMemory)));
}

#[test]
fn options_of_protocols() {
    let with = |protocol: &str, name: &str, value: &str| {
        Database::open(Options {
            protocol: protocol.into(),
            protocol_options: vec![(name.into(), value.into())],
            ..Options::default()
        })
    };
    assert!(with("DL_DETECT", "lock-timeout", "1ms").is_ok());
    let error = with("DL_DETECT", "lock-timeout", "soon").unwrap_err();
    assert!(matches!(error, Error::InvalidOption { option: "lock-timeout", .. }), "{error}");
    let text = with("DL_DETECT", "lock-timout", "1ms").unwrap_err().to_string();
    assert!(text.contains("did you mean \"lock-timeout\"?"), "{text}");
    let error = with("SILO", "lock-timeout", "1ms").unwrap_err();
    assert!(matches!(error, Error::UnknownProtocolOption { .. }), "{error}");
}

#[test]
fn levels_of_isolation() {
    let with = |protocol: &str, isolation: &str| {
        Database::open(Options {
            protocol: protocol.into(),
            isolation: Some(isolation.into()),
            ..Options::default()
        })
    };
    for (protocol, isolation) in
        [("SILO", "serializable"), ("SILO", "read-committed"), ("NO_WAIT", "read-committed")]
    {
        let db = with(protocol, isolation).unwrap();
        let table = db.table("things").columns(&[("id", ColumnType::U64)]).create().unwrap();
        db.transact(|tx| tx.insert(&table, 1, &[1u64.into()])).unwrap();
    }
    for (protocol, isolation) in [
        ("SILO", "snapshot"),
        ("HSTORE", "read-committed"),
        ("NO_CC", "serializable"),
        ("SILO", "none"),
        ("SILO", "Serializable"),
    ] {
        let error = with(protocol, isolation).unwrap_err();
        assert!(matches!(error, Error::UnsupportedIsolation { .. }), "{error}");
        let text = error.to_string();
        assert!(text.contains(&format!("{isolation:?}; it gives ")), "{text}");
    }
}

#[test]
fn partitions_not_declared() {
    let db = Database::open(Options {
        protocol: "HSTORE".into(),
        protocol_options: vec![("partitions".into(), "8".into())],
        ..Options::default()
    })
    .unwrap();
    let table = db.table("things").columns(&[("id", ColumnType::U64)]).create().unwrap();
    db.transact(|tx| (0..100).try_for_each(|key| tx.insert(&table, key, &[key.into()]))).unwrap();
    let mut refused = 0;
    for key in 0..100 {
        let result = db.transact_on(&[(&table, 0)], |tx| {
            tx.update(&table, 0, &[("id", 99u64.into())])?;
            tx.update(&table, key, &[("id", 1000u64.into())])
        });
        match result {
            Ok(()) => db.transact(|tx| tx.update(&table, key, &[("id", key.into())])).unwrap(),
            Err(error) => {
                assert!(matches!(error, Error::UndeclaredPartition), "{error}");
                refused += 1;
                // The transaction has rolled back and ended: even its write to the declared partition is gone.
                let zero = db.transact(|tx| tx.get(&table, 0)).unwrap().unwrap();
                assert_ne!(zero.get::<u64>("id").unwrap(), 99);
            }
        }
        db.transact(|tx| tx.update(&table, 0, &[("id", 0u64.into())])).unwrap();
    }
    // An eighth of the keys is in the same partition as key 0.
    assert!((75..=95).contains(&refused), "{refused}");
    let (other, foreign) = open();
    let error = db.transact_on(&[(&foreign, 1)], |_| Ok::<_, Error>(())).unwrap_err();
    assert!(matches!(error, Error::ForeignTable { .. }), "{error}");
    drop(other);
}

/// Uses fields of a table with byte keys that has the rows "one" (11) and "one\0".
fn fields_by_bytes(db: &Database, words: &kilocore::Table) {
    let error = |body: &dyn Fn(&mut kilocore::Transaction<'_>) -> Result<(), Error>| {
        db.transact(|tx| body(tx)).unwrap_err().to_string()
    };
    let bytes = "table \"words\" has keys that are bytes";
    let field = words.field::<u64>("n").unwrap();
    assert_eq!(error(&|tx| tx.get_field(field, 1).map(|_| ())), bytes);
    assert_eq!(error(&|tx| tx.set_field(field, 1, 1)), bytes);
    let missing = "table \"words\" has no row \"two\"";
    assert_eq!(error(&|tx| tx.add_field(field, "two", 1)), missing);
    let fields = db.transact(|tx| {
        tx.add_field(field, "one", 1)?;
        tx.set_field(field, "one\0", 5)?;
        Ok([tx.get_field(field, "one")?, tx.get_field(field, "one\0")?])
    });
    assert_eq!(fields.unwrap(), [Some(12), Some(5)]);
}

#[test]
fn keys_of_bytes() {
    for protocol in Database::protocols() {
        let options = Options { protocol: protocol.into(), ..Options::default() };
        let db = Database::open(options).unwrap();
        let columns = [("n", ColumnType::U64)];
        let words =
            db.table("words").key(ColumnType::VarBytesUpTo(8)).columns(&columns).create().unwrap();
        let numbers = db.table("numbers").columns(&columns).create().unwrap();
        let n = |tx: &mut kilocore::Transaction<'_>, key: &str| {
            Ok::<_, Error>(tx.get(&words, key)?.map(|row| row.get::<u64>("n").unwrap()))
        };
        db.transact(|tx| {
            assert_eq!(n(tx, "one")?, None);
            tx.insert(&words, "one", &[1u64.into()])?;
            tx.insert(&words, "", &[0u64.into()])?;
            let again = tx.insert(&words, "one", &[1u64.into()]).unwrap_err();
            assert_eq!(again.to_string(), "table \"words\" has a row \"one\" already");
            tx.put(&words, b"one\0", &[2u64.into()])?;
            tx.put(&words, "one", &[11u64.into()])?;
            let missing = tx.update(&words, [0xFF], &[("n", 1u64.into())]).unwrap_err();
            assert_eq!(missing.to_string(), "table \"words\" has no row \"\\xff\"");
            tx.update(&words, "one\0", &[("n", 3u64.into())])?;
            assert_eq!((n(tx, "one")?, n(tx, "one\0")?, n(tx, "")?), (Some(11), Some(3), Some(0)));
            Ok(())
        })
        .unwrap();
        let rolled_back = db.transact(|tx| {
            assert!(tx.delete(&words, "one")?);
            assert!(!tx.delete(&words, "one")? && n(tx, "one")?.is_none());
            Err::<(), _>(Error::user("no"))
        });
        assert!(matches!(rolled_back, Err(Error::User(_))));
        assert_eq!(db.transact(|tx| n(tx, "one")).unwrap(), Some(11), "{protocol}");
        // Inserting and deleting keys again and again must not fill the memory.
        let before = db.memory_used_bytes();
        for number in 0..3_000u64 {
            let key = format!("{number:08}");
            db.transact(|tx| tx.insert(&words, &key, &[number.into()])).unwrap();
            assert!(db.transact(|tx| tx.delete(&words, &key)).unwrap());
        }
        assert!(db.memory_used_bytes() - before < 1 << 20, "{protocol}");
        let error = |body: &dyn Fn(&mut kilocore::Transaction<'_>) -> Result<(), Error>| {
            db.transact(|tx| body(tx)).unwrap_err().to_string()
        };
        let long = error(&|tx| tx.get(&words, "123456789").map(|_| ()));
        assert_eq!(long, "table \"words\": a key of 9 bytes given, allowed are 8 at most");
        let integer = "table \"numbers\" has keys that are 64-bit integers";
        assert_eq!(error(&|tx| tx.get(&numbers, "1").map(|_| ())), integer);
        let bytes = "table \"words\" has keys that are bytes";
        assert_eq!(error(&|tx| tx.get(&words, 1).map(|_| ())), bytes);
        assert_eq!(error(&|tx| tx.insert(&words, 1, &[1u64.into()])), bytes);
        assert_eq!(error(&|tx| tx.put(&words, 1, &[1u64.into()])), bytes);
        assert_eq!(error(&|tx| tx.update(&words, 1, &[("n", 1u64.into())])), bytes);
        assert_eq!(error(&|tx| tx.delete(&words, 1).map(|_| ())), bytes);
        fields_by_bytes(&db, &words);
        let stop = std::ops::ControlFlow::Break(());
        assert_eq!(error(&|tx| tx.scan(&words, 1.., |_, _| stop)), bytes);
        let scanned = db.transact(|tx| tx.scan(&words, .., |_, _| stop));
        assert!(matches!(scanned, Err(Error::NotOrdered { .. })));
        assert!(
            db.table("longer")
                .key(ColumnType::VarBytesUpTo(65))
                .columns(&columns)
                .create()
                .is_err()
        );
        db.transact(|tx| tx.delete(&words, "one")).unwrap();
    }
}

#[test]
fn a_key_without_a_place() {
    let (db, _) = open();
    let columns = [("a", ColumnType::U64)];
    let dense = db.table("dense").columns(&columns).dense(10).create().unwrap();
    db.transact(|tx| (0..10).try_for_each(|key| tx.insert(&dense, key, &[key.into()]))).unwrap();
    for key in [10, u64::MAX] {
        let error = db.transact(|tx| {
            tx.delete(&dense, 0)?;
            tx.get(&dense, key).map(|_| ())
        });
        assert!(matches!(error, Err(Error::KeyOutsideIndex)), "{error:?}");
    }
    let row = db.transact(|tx| tx.get(&dense, 0)).unwrap();
    assert!(row.is_some(), "the deletion was rolled back");
    let none = db.table("none").columns(&columns).dense(0).create();
    assert!(matches!(none, Err(Error::InvalidTable { .. })), "{none:?}");
    let all = db.table("all").columns(&columns).dense(1 << 40).create();
    assert!(matches!(all, Err(Error::TooLarge { .. })), "{all:?}");
}

#[test]
fn tables() {
    let (db, _) = open();
    let one = [("a", ColumnType::U64)];
    assert!(matches!(db.table("things").columns(&one).create(), Err(Error::TableExists { .. })));
    let text = message(db.table("thing").open());
    assert!(text.contains("did you mean \"things\"?"), "{text}");
    let many: Vec<String> = (0..63).map(|i| format!("c{i}")).collect();
    let many: Vec<_> = many.iter().map(|name| (name.as_str(), ColumnType::U64)).collect();
    assert!(message(db.table("wide").columns(&many).create()).contains("63 columns given"));
    assert!(message(db.table("none").columns(&[]).create()).contains("0 columns given"));
    assert!(message(db.table("").columns(&one).create()).contains("must not be empty"));
    assert!(message(db.table("twice").columns(&[one[0], one[0]]).create()).contains("given twice"));
    let long = [("a", ColumnType::Bytes(u32::MAX))];
    assert!(message(db.table("long").columns(&long).create()).contains("4294967295 bytes long"));
    let text = message(db.table("large").columns(&one).sized_for(1 << 50).create());
    assert!(text.contains("bytes of memory"), "{text}");
    // None of the refused calls has left anything behind.
    assert_eq!(db.tables().len(), 1);
    db.table("twice").columns(&one).create().unwrap();
    assert_eq!(db.table("twice").open().unwrap().name(), "twice");
}

#[test]
fn as_many_tables_as_there_can_be() {
    let db = Database::open(Options::default()).unwrap();
    let made = (0..).map(|i| {
        db.table(&format!("t{i}")).columns(&[("a", ColumnType::U64)]).sized_for(1).create()
    });
    let error = made.filter_map(Result::err).next().unwrap();
    assert_eq!(error.to_string(), "table \"t4095\": at most 4096 tables, dropped ones included");
}

#[test]
fn values() {
    let (db, things) = open();
    let cases: [(&[(&str, Value<'_>)], &str); 5] = [
        (&[("id", Value::I64(-1))], "column \"id\": -1 given, the column holds u64"),
        (&[("name", Value::F64(1.0))], "column \"name\": f64 given, the column holds bytes(5)"),
        (&[("name", "eleven".into())], "column \"name\": 6 bytes given, allowed are 5 at most"),
        (&[("nam", "x".into())], "has no column \"nam\"; did you mean \"name\"?"),
        (&[("id", 1u64.into()), ("id", 2u64.into())], "column \"id\" is given twice"),
    ];
    for (values, expected) in cases {
        let text = message(db.transact(|tx| tx.update(&things, 7, values)));
        assert!(text.contains(expected) && text.contains("\"things\""), "{text}");
    }
    let text = message(db.transact(|tx| tx.insert(&things, 8, &[Value::U64(1)])));
    assert!(text.contains("1 values given, a row has 4"), "{text}");
    let row = [Value::F64(1.0), Value::I64(1), Value::F64(1.0), "x".into()];
    let text = message(db.transact(|tx| tx.put(&things, 8, &row)));
    assert!(text.contains("column \"id\": f64 given"), "{text}");

    db.transact(|tx| {
        let row = tx.get(&things, 7)?.ok_or("gone")?;
        assert!(matches!(row.get::<i64>("id"), Err(Error::WrongType { .. })));
        assert!(matches!(row.get::<[u8; 4]>("name"), Err(Error::WrongType { .. })));
        assert!(matches!(row.bytes("ratio"), Err(Error::WrongType { .. })));
        assert!(matches!(row.get::<u64>("nothing"), Err(Error::UnknownColumn { .. })));
        assert_eq!((row.get::<u64>("id")?, row.get::<i64>("delta")?), (7, -7));
        assert_eq!((row.get::<f64>("ratio")?, row.bytes("name")?), (0.7, &b"seven"[..]));
        assert_eq!(row.get::<[u8; 5]>("name")?, *b"seven");
        assert_eq!(row.get::<Vec<u8>>("name")?, b"seven");
        let text = format!("{row:?}");
        assert_eq!(
            text,
            r#"{"id": 7, "delta": -7, "ratio": 0.7, "name": [115, 101, 118, 101, 110]}"#
        );
        Ok(())
    })
    .unwrap();
    assert!(matches!(things.field::<f64>("id"), Err(Error::WrongType { .. })));
    assert!(matches!(things.field::<f64>("rat"), Err(Error::UnknownColumn { .. })));
}

#[test]
fn columns_in_any_order_and_short_bytes() {
    let (db, things) = open();
    db.transact(|tx| {
        tx.update(&things, 7, &[("name", "six".into()), ("delta", 6i64.into())])?;
        let row = tx.get(&things, 7)?.ok_or("gone")?;
        assert_eq!((row.bytes("name")?, row.get::<i64>("delta")?), (&b"six\0\0"[..], 6));
        assert_eq!((row.get::<u64>("id")?, row.get::<f64>("ratio")?), (7, 0.7));
        Ok(())
    })
    .unwrap();
}

#[test]
fn keys() {
    let (db, things) = open();
    let id = things.field::<u64>("id").unwrap();
    let row = [Value::U64(8), Value::I64(8), Value::F64(8.0), "eight".into()];
    // An error that the closure handles does not undo its other work.
    db.transact(|tx| {
        tx.insert(&things, 8, &row)?;
        let again = tx.insert(&things, 8, &row).unwrap_err();
        assert_eq!(again.to_string(), "table \"things\" has a row 8 already");
        assert!(matches!(
            tx.update(&things, 9, &[]),
            Err(Error::MissingKey { key: OwnedKey::Number(9), .. })
        ));
        assert!(matches!(
            tx.set_field(id, 9, 1),
            Err(Error::MissingKey { key: OwnedKey::Number(9), .. })
        ));
        assert!(!tx.delete(&things, 9)?);
        Ok(())
    })
    .unwrap();
    // An error that the closure returns rolls everything back.
    let result = db.transact(|tx| {
        tx.delete(&things, 8)?;
        tx.insert(&things, 7, &row)
    });
    assert!(matches!(result, Err(Error::DuplicateKey { key: OwnedKey::Number(7), .. })));
    assert_eq!(db.transact(|tx| tx.get_field(id, 8)).unwrap(), Some(8));

    db.transact(|tx| {
        assert!(tx.delete(&things, 8)?);
        assert!(tx.get(&things, 8)?.is_none());
        tx.put(&things, 8, &row)?;
        tx.set_field(id, 8, 88)?;
        assert_eq!(tx.get_field(id, 8)?, Some(88));
        tx.put(&things, 8, &row)?;
        assert_eq!(tx.get_field(id, 8)?, Some(8));
        assert!(tx.delete(&things, 8)?);
        Ok(())
    })
    .unwrap();
    assert_eq!(db.read_only(|tx| tx.get_field(id, 8)).unwrap(), None);
}

#[test]
fn tables_of_another_database() {
    let ((one, _), (_other, foreign)) = (open(), open());
    let id = foreign.field::<u64>("id").unwrap();
    one.transact(|tx| {
        assert!(
            matches!(tx.get(&foreign, 7), Err(Error::ForeignTable { table }) if table == "things")
        );
        assert!(matches!(tx.delete(&foreign, 7), Err(Error::ForeignTable { .. })));
        assert!(matches!(tx.update(&foreign, 7, &[]), Err(Error::ForeignTable { .. })));
        assert!(matches!(tx.get_field(id, 7), Err(Error::ForeignTable { .. })));
        Ok(())
    })
    .unwrap();
}

#[test]
fn a_swallowed_conflict_is_not_committed() {
    // An attempt that has met a conflict runs again, even if the closure ignores the error.
    let options = Options { protocol: "NO_WAIT".into(), ..Options::default() };
    let db = Database::open(options).unwrap();
    let table = db.table("t").columns(&[("n", ColumnType::U64)]).create().unwrap();
    let n = table.field::<u64>("n").unwrap();
    db.transact(|tx| tx.insert(&table, 0, &[Value::U64(0)])).unwrap();
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                for _ in 0..2000 {
                    db.transact(|tx| {
                        if let Ok(Some(was)) = tx.get_field_for_update(n, 0) {
                            let _ = tx.set_field(n, 0, was + 1);
                        }
                        Ok(())
                    })
                    .unwrap();
                }
            });
        }
    });
    assert_eq!(db.read_only(|tx| tx.get_field(n, 0)).unwrap(), Some(8000));
}

#[test]
fn a_retry_limit_is_kept() {
    let options =
        Options { protocol: "NO_WAIT".into(), retry_limit: Some(3), ..Options::default() };
    let db = Database::open(options).unwrap();
    let table = db.table("t").columns(&[("n", ColumnType::U64)]).create().unwrap();
    db.transact(|tx| tx.insert(&table, 0, &[Value::U64(0)])).unwrap();
    db.transact(|tx| {
        tx.get_for_update(&table, 0)?;
        // The row is locked until this closure ends, so the other thread cannot commit.
        let mut runs = 0;
        let lost = std::thread::scope(|scope| {
            let body = || {
                db.transact(|tx| {
                    runs += 1;
                    tx.delete(&table, 0)
                })
            };
            scope.spawn(body).join().unwrap()
        });
        assert!(matches!(lost, Err(Error::TooManyRetries { attempts: 4, .. })));
        assert_eq!(runs, 4);
        Ok(())
    })
    .unwrap();
}

fn until_later_than(time: Instant) {
    while Instant::now() <= time {
        std::thread::yield_now();
    }
}

/// Exceeds the time limit in three ways. Afterwards the locks must be free and the writes gone.
#[test]
fn a_transaction_that_stays_open_is_ended() {
    let limit = Duration::from_millis(20);
    for protocol in ["NO_WAIT", "WOUND_WAIT", "MVCC", "SILO", "HSTORE"] {
        let db = Database::open(Options {
            protocol: protocol.into(),
            transaction_limit: Some(limit),
            ..Options::default()
        })
        .unwrap();
        let table = db.table("t").columns(&[("n", ColumnType::U64)]).create().unwrap();
        let n = table.field::<u64>("n").unwrap();
        // On a busy machine any transaction can exceed the limit, so transactions that must commit are retried.
        let in_time = |act: &dyn Fn() -> Result<(), Error>| {
            let late = |result: &Result<(), Error>| {
                matches!(result, Err(Error::TransactionTooLong { .. }))
            };
            (0..1000).map(|_| act()).find(|result| !late(result)).expect("once in time")
        };
        in_time(&|| db.transact(|tx| tx.insert(&table, 0, &[Value::U64(0)]))).unwrap();
        let ended = |result: Result<(), Error>| {
            let right = matches!(result, Err(Error::TransactionTooLong { limit: l }) if l == limit);
            assert!(right, "{protocol}: {result:?}");
        };
        let mut runs = 0;
        // The closure accesses rows for ever and returns the error.
        ended(db.transact(|tx| {
            runs += 1;
            loop {
                let was = tx.get_field_for_update(n, 0)?.unwrap();
                tx.set_field(n, 0, was + 1)?;
            }
        }));
        // The closure ignores the error.
        ended(db.transact(|tx| {
            runs += 1;
            while tx.set_field(n, 0, 7).is_ok() {}
            Ok(())
        }));
        // Only the commit is late.
        ended(db.transact(|tx| {
            runs += 1;
            let since = Instant::now();
            tx.set_field(n, 0, 7)?;
            until_later_than(since + limit);
            Ok(())
        }));
        assert_eq!(runs, 3, "{protocol}: no closure runs again");
        // An error of the closure itself is returned unchanged.
        let own = in_time(&|| {
            db.transact(|tx| {
                let since = Instant::now();
                tx.set_field(n, 0, 7)?;
                until_later_than(since + limit);
                Err::<(), _>("mine".into())
            })
        });
        assert!(matches!(own, Err(Error::User(_))), "{protocol}: {own:?}");
        in_time(&|| {
            db.transact(|tx| {
                assert_eq!(tx.get_field(n, 0)?, Some(0), "{protocol}");
                tx.set_field(n, 0, 1)
            })
        })
        .unwrap();
    }
}
