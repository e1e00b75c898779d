//! Additions have the same effect as a read followed by an update, whatever else a transaction does to the row.
//! They do not conflict with each other if the protocol adds at commit.

use kilocore::{
    ColumnType::{Bytes, F64, I64, U64},
    Database, Error, IndexOptions, Options, OwnedKey, Table, Transaction, Value,
};
use std::{collections::BTreeMap, sync::Barrier, thread};

/// Opens a database under every protocol, and another one under each protocol that can add at commit, with that
/// option on.
fn databases() -> Vec<(String, Database)> {
    let all = Database::protocols().into_iter().map(|name| (name, vec![]));
    let option = || vec![("commit-updates".to_owned(), "on".to_owned())];
    let at_commit = ["SILO", "TICTOC", "OCC", "MOCC"].map(|name| (name, option()));
    let open = |(name, protocol_options): (&str, Vec<_>)| {
        let label = format!("{name} {protocol_options:?}");
        let options = Options { protocol: name.into(), protocol_options, ..Options::default() };
        (label, Database::open(options).unwrap())
    };
    all.chain(at_commit).map(open).collect()
}

type Model = BTreeMap<u64, (u64, i64)>;

fn number(stream: &mut u64, below: u64) -> u64 {
    *stream ^= *stream << 13;
    *stream ^= *stream >> 7;
    *stream ^= *stream << 17;
    (*stream >> 11) % below
}

/// The way in which a test reaches the rows of a table.
#[derive(Clone, Copy)]
enum Keys {
    Integers,
    Spelled,
}

impl Keys {
    fn of(self, key: u64) -> OwnedKey {
        match self {
            Keys::Integers => OwnedKey::Number(key),
            Keys::Spelled => OwnedKey::Bytes(b"k".repeat(key as usize + 1)),
        }
    }
}

/// A table whose rows a test reaches by its own numbers.
#[derive(Clone, Copy)]
struct Rows<'a>(&'a Table, Keys);

impl Rows<'_> {
    fn add(self, tx: &mut Transaction<'_>, key: u64, deltas: &[(&str, i64)]) -> Result<(), Error> {
        tx.add(self.0, self.1.of(key), deltas)
    }

    fn update(
        self,
        tx: &mut Transaction<'_>,
        key: u64,
        values: &[(&str, Value)],
    ) -> Result<(), Error> {
        tx.update(self.0, self.1.of(key), values)
    }

    fn delete(self, tx: &mut Transaction<'_>, key: u64) -> Result<bool, Error> {
        tx.delete(self.0, self.1.of(key))
    }

    fn put(self, tx: &mut Transaction<'_>, key: u64, values: &[Value]) -> Result<(), Error> {
        tx.put(self.0, self.1.of(key), values)
    }

    fn get(self, tx: &mut Transaction<'_>, key: u64) -> Result<Option<(u64, i64)>, Error> {
        let row = tx.get(self.0, self.1.of(key))?;
        row.map(|row| Ok((row.get("n")?, row.get("signed")?))).transpose()
    }
}

/// Runs one random operation on a row, on the table and on the model, and compares their results.
fn step(
    tx: &mut Transaction<'_>,
    rows: Rows<'_>,
    model: &mut Model,
    stream: &mut u64,
) -> Result<(), Error> {
    let key = number(stream, 3);
    let amount = number(stream, 9) as i64 - 4;
    let there = model.get_mut(&key);
    let missing = |result: Result<(), Error>| match result {
        Err(Error::MissingKey { .. }) => Ok(false),
        result => result.map(|()| true),
    };
    match number(stream, 8) {
        0..=2 => {
            let deltas = match number(stream, 3) {
                0 => vec![("n", amount)],
                1 => vec![("signed", amount)],
                // In another order than the columns of the table.
                _ => vec![("signed", amount), ("n", 2 * amount)],
            };
            assert_eq!(missing(rows.add(tx, key, &deltas))?, there.is_some());
            if let Some((n, signed)) = there {
                for (column, delta) in deltas {
                    match column {
                        "n" => *n = n.wrapping_add_signed(delta),
                        _ => *signed = signed.wrapping_add(delta),
                    }
                }
            }
        }
        3 => {
            let updated = rows.update(tx, key, &[("signed", Value::I64(amount))]);
            assert_eq!(missing(updated)?, there.is_some());
            if let Some(row) = there {
                row.1 = amount;
            }
        }
        4 => assert_eq!(rows.delete(tx, key)?, model.remove(&key).is_some()),
        5 => {
            // Values far from both ends of the range that the index has bits for.
            let row = (1000 + amount.unsigned_abs(), amount);
            rows.put(tx, key, &[Value::U64(row.0), Value::from("text"), Value::I64(row.1)])?;
            model.insert(key, row);
        }
        _ => assert_eq!(rows.get(tx, key)?, there.copied()),
    }
    Ok(())
}

#[test]
fn additions_are_updates_whatever_comes_before_and_after() {
    for (name, db) in databases() {
        let columns = [("n", U64), ("text", Bytes(11)), ("signed", I64)];
        let by_n = IndexOptions { name: "by_n", columns: &[("n", 16)], key_bits: Some(8) };
        let plain = db.table("plain").columns(&columns).create().unwrap();
        let split = db.table("split").columns(&columns).hot(&["n"]).create().unwrap();
        let halves =
            db.table("halves").columns(&columns).hot(&["text", "signed"]).create().unwrap();
        let ordered = db.table("ordered").columns(&columns).ordered().create().unwrap();
        let bytes = db
            .table("bytes")
            .key(kilocore::ColumnType::VarBytesUpTo(8))
            .columns(&columns)
            .create()
            .unwrap();
        let indexed = db.table("indexed").columns(&columns).index_with(by_n).create().unwrap();
        let mut stream = 0x5eed;
        for (table, keys) in [
            (&plain, Keys::Integers),
            (&split, Keys::Integers),
            (&halves, Keys::Integers),
            (&ordered, Keys::Integers),
            (&bytes, Keys::Spelled),
            (&indexed, Keys::Integers),
        ] {
            let mut committed = Model::new();
            for round in 0..400 {
                let mut model = Model::new();
                let result = db.transact(|tx| {
                    model = committed.clone();
                    for _ in 0..1 + number(&mut stream, 7) {
                        step(tx, Rows(table, keys), &mut model, &mut stream)?;
                    }
                    if round % 5 == 0 { Err("on purpose".into()) } else { Ok(()) }
                });
                match result {
                    Ok(()) => committed = model,
                    Err(Error::User(_)) => {}
                    Err(error) => panic!("{name}, {}: {error}", table.name()),
                }
            }
        }
    }
}

/// A closure runs again only if it conflicts with another transaction. An addition in between must not be a
/// conflict if the protocol adds at commit.
#[test]
fn additions_at_commit_do_not_conflict() {
    for (name, db) in databases() {
        if !["SILO", "TICTOC", "OCC", "MOCC"].iter().any(|optimistic| name.starts_with(optimistic))
        {
            continue;
        }
        let table = db.table("t").columns(&[("n", U64), ("other", I64)]).create().unwrap();
        let n = table.field::<u64>("n").unwrap();
        db.transact(|tx| tx.insert(&table, 7, &[Value::U64(10), Value::I64(0)])).unwrap();
        let mut runs = 0;
        db.transact(|tx| {
            runs += 1;
            tx.add_field(n, 7, 1)?;
            if runs == 1 {
                thread::scope(|scope| {
                    let add = || db.transact(|tx| tx.add(&table, 7, &[("n", 5), ("other", -1)]));
                    scope.spawn(add).join().unwrap()
                })?;
            }
            Ok::<(), Error>(())
        })
        .unwrap();
        assert_eq!(runs, if name.contains("on") { 1 } else { 2 }, "{name}");
        let row = db.read_only(|tx| tx.get(&table, 7)?.unwrap().get::<u64>("n"));
        assert_eq!(row.unwrap(), 16, "{name}");
    }
}

#[test]
fn no_addition_is_lost() {
    for (name, db) in databases() {
        if name.starts_with("NO_CC") {
            continue;
        }
        let table = db.table("t").columns(&[("n", U64), ("updated", I64)]).create().unwrap();
        let n = table.field::<u64>("n").unwrap();
        db.transact(|tx| tx.insert(&table, 0, &[Value::U64(0), Value::I64(0)])).unwrap();
        let start = Barrier::new(3);
        thread::scope(|scope| {
            for _ in 0..3 {
                scope.spawn(|| {
                    start.wait();
                    for i in 0..300 {
                        db.transact(|tx| match i % 3 {
                            0 => {
                                let was = tx.get_field_for_update(n, 0)?.ok_or("gone")?;
                                tx.set_field(n, 0, was + 1)
                            }
                            _ => tx.add(&table, 0, &[("updated", 2), ("n", 1)]),
                        })
                        .unwrap();
                    }
                });
            }
        });
        // A transaction that writes the row must read its latest version, also under protocols that are not
        // strictly serializable.
        let row = db.transact(|tx| {
            let n = tx.get_field_for_update(n, 0)?.ok_or("gone")?;
            tx.set_field(table.field::<u64>("n")?, 0, n)?;
            Ok::<_, Error>((n, tx.get(&table, 0)?.ok_or("gone")?.get::<i64>("updated")?))
        });
        assert_eq!(row.unwrap(), (900, 1200), "{name}");
    }
}

#[test]
fn what_cannot_be_added_to_is_named() {
    for (name, db) in databases() {
        let columns = [("n", U64), ("ratio", F64), ("text", Bytes(8))];
        let table = db.table("t").columns(&columns).create().unwrap();
        let row = [Value::U64(3), Value::F64(0.5), "text".into()];
        db.transact(|tx| {
            tx.insert(&table, 1, &row)?;
            let said = |result: Result<(), Error>| result.unwrap_err().to_string();
            let text = said(tx.add(&table, 1, &[("n", 1), ("ratio", 1)]));
            assert_eq!(
                text,
                "table \"t\", column \"ratio\": it holds f64, and only integers are added to"
            );
            assert!(said(tx.add(&table, 1, &[("text", 1)])).contains("it holds bytes(8)"));
            assert!(said(tx.add(&table, 1, &[("n", 1), ("n", 2)])).contains("given twice"));
            assert!(said(tx.add(&table, 1, &[("m", 1)])).contains("\"m\""));
            assert_eq!(said(tx.add(&table, 2, &[("n", 1)])), "table \"t\" has no row 2");
            assert!(said(tx.add(&table, "one", &[("n", 1)])).contains("keys that are"));
            tx.add(&table, 1, &[("n", -4)])
        })
        .unwrap();
        let found = db.read_only(|tx| tx.get(&table, 1)?.ok_or("gone")?.get::<u64>("n"));
        assert_eq!(found.unwrap(), u64::MAX, "{name}");
    }
}

/// Of a row with hot columns, one part can be written while another transaction runs that has read the other part. (TICTOC
/// serializes the reader before the writer even without hot columns.)
#[test]
fn parts_of_rows_do_not_conflict() {
    for (name, db) in databases() {
        if !["SILO", "OCC", "MOCC"].iter().any(|optimistic| name.starts_with(optimistic)) {
            continue;
        }
        let columns = [("name", Bytes(4)), ("sum", I64)];
        for (table, expected) in [
            (db.table("whole").columns(&columns).create().unwrap(), 2),
            (db.table("split").columns(&columns).hot(&["sum"]).create().unwrap(), 1),
        ] {
            let (names, sum) =
                (table.field::<[u8; 4]>("name").unwrap(), table.field::<i64>("sum").unwrap());
            db.transact(|tx| tx.insert(&table, 7, &["abcd".into(), Value::I64(1)])).unwrap();
            let mut runs = 0;
            db.transact(|tx| {
                runs += 1;
                assert_eq!(tx.get_field(names, 7)?, Some(*b"abcd"));
                tx.put(&table, 8, &["efgh".into(), Value::I64(runs)])?;
                if runs == 1 {
                    thread::scope(|scope| {
                        let set = || db.transact(|tx| tx.set_field(sum, 7, 5));
                        scope.spawn(set).join().unwrap()
                    })?;
                }
                Ok::<(), Error>(())
            })
            .unwrap();
            assert_eq!(runs, expected, "{name}, {}", table.name());
            let found = db.read_only(|tx| tx.get_field(sum, 7)).unwrap();
            assert_eq!(found, Some(5));
        }
    }
}

/// Both parts of a row are inserted and deleted together, while other transactions read them.
#[test]
fn parts_of_rows_come_and_go_together() {
    for (name, db) in databases() {
        if name.starts_with("NO_CC") {
            continue;
        }
        let columns = [("a", U64), ("b", U64), ("c", U64)];
        let table = db.table("t").columns(&columns).hot(&["b"]).create().unwrap();
        let (a, b) = (table.field::<u64>("a").unwrap(), table.field::<u64>("b").unwrap());
        thread::scope(|scope| {
            for t in 0..2u64 {
                let (db, table, name) = (&db, &table, &name);
                scope.spawn(move || {
                    for i in 0..400 {
                        let key = (i + t) % 3;
                        if i % 4 == 3 {
                            let seen = db.read_only(|tx| {
                                // One thread reads the hot part first, the other one reads it second.
                                let first = if t == 0 { tx.get_field(a, key)? } else { None };
                                let second = tx.get_field(b, key)?;
                                let first = if t == 0 { first } else { tx.get_field(a, key)? };
                                Ok::<_, Error>((first, second))
                            });
                            let (first, second) = seen.unwrap();
                            assert_eq!(first, second, "{name}");
                            continue;
                        }
                        db.transact(|tx| {
                            let there = tx.delete(table, key)?;
                            let row = [i, i, i].map(Value::U64);
                            if !there { tx.insert(table, key, &row) } else { Ok(()) }
                        })
                        .unwrap();
                    }
                });
            }
        });
    }
}
