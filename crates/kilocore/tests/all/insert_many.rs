//! Many rows are inserted by one call: `Transaction::insert_many`. It must do what as many calls of `insert` do.

use kilocore::{
    ColumnType::*, Database, Error, Options, OwnedKey, Row, Table, TableBuilder, Transaction, Value,
};

fn open(protocol: &str) -> Database {
    Database::open(Options { protocol: protocol.into(), ..Options::default() }).unwrap()
}

#[derive(Debug, PartialEq, Row)]
struct Line {
    number: u64,
    #[row(up_to = 20)]
    name: String,
    note: Option<String>,
}

fn line(number: u64) -> Line {
    let note = number.is_multiple_of(3).then(|| "long ".repeat(40));
    Line { number, name: format!("line {number}"), note }
}

fn lines(keys: impl IntoIterator<Item = u64>) -> impl Iterator<Item = (u64, Line)> {
    keys.into_iter().map(|key| (key, line(key)))
}

/// Returns the keys below 1000 that have a row. Each row must be whole.
fn present(tx: &mut Transaction<'_>, table: &Table) -> Result<Vec<u64>, Error> {
    let mut keys = Vec::new();
    for key in 0..1000 {
        if let Some(found) = tx.get_as::<Line>(table, key)? {
            assert_eq!(found, line(key));
            keys.push(key);
        }
    }
    Ok(keys)
}

type Kind = for<'d> fn(TableBuilder<'d>) -> TableBuilder<'d>;
const KINDS: [(&str, Kind); 5] = [
    ("hashed", |table| table),
    ("ordered", |table| table.ordered()),
    ("dense", |table| table.dense(1000)),
    ("hot", |table| table.hot(&["number"])),
    ("indexed", |table| table.ordered().unique("by_name", ["name"])),
];

#[test]
fn all_rows_are_inserted_in_every_order() {
    for protocol in Database::protocols() {
        let db = open(protocol);
        for (name, kind) in KINDS {
            let table = kind(db.table(name).row::<Line>()).create().unwrap();
            db.transact(|tx| {
                tx.insert_many(&table, lines(100..400))?;
                tx.insert_many(&table, lines((0..100).rev()))?;
                tx.insert_many(&table, lines(None))?;
                assert_eq!(present(tx, &table)?.len(), 400);
                tx.insert_many(&table, lines((400..1000).step_by(7)))
            })
            .unwrap();
            let expected: Vec<u64> = (0..400).chain((400..1000).step_by(7)).collect();
            let found = db.transact(|tx| present(tx, &table)).unwrap();
            assert_eq!(found, expected, "{protocol} {name}");
        }
        let names = db.table("names").key(TextUpTo(9)).column("n", U64).create().unwrap();
        let rows = ["seven", "eight"].map(|name| (name, vec![Value::U64(name.len() as u64)]));
        db.transact(|tx| tx.insert_many(&names, rows.iter().map(|(key, row)| (*key, row))))
            .unwrap();
        assert!(db.get(&names, "eight").unwrap().is_some(), "{protocol}");
    }
}

#[test]
fn the_first_row_that_is_refused_ends_the_call() {
    for protocol in Database::protocols().into_iter().filter(|name| *name != "NO_CC") {
        let db = open(protocol);
        for (name, kind) in KINDS {
            let table = kind(db.table(name).row::<Line>()).create().unwrap();
            db.transact(|tx| tx.insert(&table, 70, &line(70))).unwrap();
            let many = |tx: &mut Transaction<'_>| tx.insert_many(&table, lines(0..200));
            let error = db.transact(many).unwrap_err();
            // The unique name is refused in the index, and the key in the other tables.
            let refused = match &error {
                Error::DuplicateKey { key, .. } => *key == OwnedKey::Number(70),
                error => name == "indexed" && matches!(error, Error::NotUnique { .. }),
            };
            assert!(refused, "{protocol} {name}: {error}");
            assert_eq!(db.transact(|tx| present(tx, &table)).unwrap(), [70], "it was rolled back");
            // A closure that goes on keeps the rows before the refused one.
            db.transact(|tx| {
                assert!(many(tx).is_err());
                tx.insert_many(&table, lines(90..95))
            })
            .unwrap();
            let expected: Vec<u64> = (0..=70).chain(90..95).collect();
            let found = db.transact(|tx| present(tx, &table)).unwrap();
            assert_eq!(found, expected, "{protocol} {name}");
        }
    }
}

#[test]
fn bad_values_are_told_and_the_rows_before_them_are_inserted() {
    let db = open("SILO");
    let table = db.table("t").column("n", U64).ordered().create().unwrap();
    let row = |key: u64| match key {
        5 => vec![Value::U64(5), Value::U64(5)],
        _ => vec![Value::U64(key)],
    };
    let rows = || (0..9u64).map(|key| (key, row(key)));
    db.transact(|tx| {
        let error = tx.insert_many(&table, rows()).unwrap_err();
        assert!(matches!(error, Error::WrongCount { given: 2, allowed: 1, .. }), "{error}");
        Ok(())
    })
    .unwrap();
    let found = |key| db.get(&table, key).unwrap().is_some();
    assert!((0..5).all(found) && !(5..9).any(found));
    let error = db.transact(|tx| tx.insert_many(&table, [("seven", row(7))])).unwrap_err();
    assert!(matches!(error, Error::WrongKeyType { .. }), "{error}");
    let error = open("SILO").transact(|tx| tx.insert_many(&table, rows())).unwrap_err();
    assert!(matches!(error, Error::ForeignTable { .. }), "{error}");
}
