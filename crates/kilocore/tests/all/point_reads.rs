//! Reads of one row without a transaction around them: `Database::get`, `get_as` and `get_field`. They must answer as a read-only
//! transaction does.

use kilocore::{ColumnType::*, Database, Error, Options, Row, Table, TableBuilder, Value};
use std::{
    sync::atomic::{AtomicBool, Ordering},
    thread,
};

fn open(protocol: &str) -> Database {
    Database::open(Options { protocol: protocol.into(), ..Options::default() }).unwrap()
}

#[derive(Debug, PartialEq, Row)]
struct Thing {
    count: u64,
    note: Option<String>,
    code: [u8; 80],
    #[row(up_to = 12)]
    name: String,
    #[row(up_to = 60)]
    nick: Option<String>,
}

fn thing(count: u64) -> Thing {
    // No text, and long ones outside of the record. The other texts lie in the record.
    let note =
        (!count.is_multiple_of(3)).then(|| "long ".repeat(if count % 3 == 1 { 2 } else { 100 }));
    let name = "n".repeat(count as usize % 13);
    let nick = (!count.is_multiple_of(4)).then(|| "k".repeat(count as usize * 20 % 61));
    Thing { count, note, code: [count as u8; 80], name, nick }
}

/// Checks that row `key` is read alone as a transaction reads it.
fn reads_alike(db: &Database, table: &Table, key: u64) {
    let within = db.read_only(|tx| tx.get_as::<Thing>(table, key)).unwrap();
    assert_eq!(db.get_as::<Thing>(table, key).unwrap(), within);
    let shown = |row: Option<Row<'_>>| format!("{row:?}");
    let row = db.read_only(|tx| Ok(shown(tx.get(table, key)?))).unwrap();
    assert_eq!(shown(db.get(table, key).unwrap()), row);
    let (count, note) = (table.field::<u64>("count").unwrap(), table.field("note").unwrap());
    let code = table.field::<Vec<u8>>("code").unwrap();
    assert_eq!(db.get_field(count, key).unwrap(), within.as_ref().map(|thing| thing.count));
    let found: Option<Option<String>> = db.get_field(note, key).unwrap();
    assert_eq!(found, within.as_ref().map(|thing| thing.note.clone()));
    let found = db.get_field(code, key).unwrap();
    assert_eq!(found, within.as_ref().map(|thing| thing.code.to_vec()));
    let name = table.field::<String>("name").unwrap();
    let nick = table.field::<Option<String>>("nick").unwrap();
    let fields = db.get_field(name, key).unwrap().zip(db.get_field(nick, key).unwrap());
    let in_transaction =
        db.read_only(|tx| Ok(tx.get_field(name, key)?.zip(tx.get_field(nick, key)?)));
    assert_eq!(in_transaction.unwrap(), fields);
    assert_eq!(fields, within.map(|thing| (thing.name, thing.nick)));
}

#[test]
fn rows_of_every_table_read_alone_as_in_a_transaction() {
    type Kind = for<'d> fn(TableBuilder<'d>) -> TableBuilder<'d>;
    let kinds: [(&str, Kind); 4] = [
        ("hashed", |table| table),
        ("ordered", |table| table.ordered()),
        ("dense", |table| table.dense(16)),
        ("hot", |table| table.hot(&["count"])),
    ];
    for protocol in Database::protocols() {
        let db = open(protocol);
        for (name, kind) in kinds {
            let table = kind(db.table(name).row::<Thing>()).create().unwrap();
            let insert = |keys: std::ops::Range<u64>| {
                let mut keys = keys.clone();
                db.transact(|tx| keys.try_for_each(|key| tx.insert(&table, key, &thing(key))))
            };
            insert(0..8).unwrap();
            (0..12).for_each(|key| reads_alike(&db, &table, key));
            db.transact(|tx| {
                tx.put(&table, 1, &thing(2))?;
                tx.update(&table, 2, &[("note", Value::Null)])?;
                tx.add(&table, 3, &[("count", 5)])?;
                tx.delete(&table, 4).map(|_| ())
            })
            .unwrap();
            (0..12).for_each(|key| reads_alike(&db, &table, key));
            assert_eq!(db.get_as::<Thing>(&table, 1).unwrap(), Some(thing(2)), "{protocol} {name}");
            assert!(db.get(&table, 4).unwrap().is_none(), "{protocol} {name}");
            db.transact(|tx| tx.insert(&table, 4, &thing(5))).unwrap();
            reads_alike(&db, &table, 4);
        }
        let old = db.table("changed").column("n", U64).create().unwrap();
        db.transact(|tx| (0..4).try_for_each(|key| tx.insert(&old, key, &[key.into()]))).unwrap();
        let changed = db.alter(&old).add("age", I16, 7).add_nullable("note", Text);
        let changed = changed.add("tag", TextUpTo(5), "new").add_nullable("nick", TextUpTo(9));
        let changed = changed.apply().unwrap();
        let note = "long ".repeat(50);
        let values = [("note", note.as_str().into()), ("tag", "".into()), ("nick", "two".into())];
        db.transact(|tx| tx.update(&changed, 2, &values)).unwrap();
        let (tag, nick) = (changed.field("tag").unwrap(), changed.field("nick").unwrap());
        let (age, kept) = (changed.field("age").unwrap(), changed.field("note").unwrap());
        for key in 0..4 {
            let found: (Option<i16>, Option<Option<String>>) =
                (db.get_field(age, key).unwrap(), db.get_field(kept, key).unwrap());
            assert_eq!(found, (Some(7), Some((key == 2).then(|| note.clone()))), "{protocol}");
            let found: (Option<String>, Option<Option<String>>) =
                (db.get_field(tag, key).unwrap(), db.get_field(nick, key).unwrap());
            let expected = if key == 2 { ("", Some("two")) } else { ("new", None) };
            let expected = (Some(expected.0.to_owned()), Some(expected.1.map(str::to_owned)));
            assert_eq!(found, expected, "{protocol}");
            let row = db.get(&changed, key).unwrap().unwrap();
            assert_eq!((row.get::<u64>("n").unwrap(), row.get::<i16>("age").unwrap()), (key, 7));
        }
        let names = db.table("names").key(TextUpTo(9)).column("n", I32).create().unwrap();
        db.transact(|tx| tx.insert(&names, "seven", &[7.into()])).unwrap();
        let n = names.field::<i32>("n").unwrap();
        assert_eq!(
            (db.get_field(n, "seven").unwrap(), db.get_field(n, "eight").unwrap()),
            (Some(7), None)
        );
        assert_eq!(db.get(&names, "seven").unwrap().unwrap().get::<i32>("n").unwrap(), 7);
    }
}

/// A value outside of its record is replaced again and again, and its memory is used again.
#[test]
fn rows_read_alone_are_whole_while_they_change() {
    for protocol in ["SILO", "TICTOC", "OCC", "MOCC", "NO_WAIT", "MVCC"] {
        let db = open(protocol);
        let table = db.table("t").row::<Thing>().create().unwrap();
        db.transact(|tx| (0..4).try_for_each(|key| tx.insert(&table, key, &thing(2)))).unwrap();
        let ended = AtomicBool::new(false);
        let read = || {
            let mut rows = 0;
            while !ended.load(Ordering::Relaxed) || rows < 4 {
                let found = db.get_as::<Thing>(&table, rows % 4).unwrap().expect("never deleted");
                assert_eq!(found, thing(found.count), "{protocol}");
                rows += 1;
            }
        };
        thread::scope(|scope| {
            let reader = scope.spawn(read);
            for count in 0..3000 {
                db.transact(|tx| tx.put(&table, count % 4, &thing(count))).unwrap();
            }
            ended.store(true, Ordering::Relaxed);
            reader.join().unwrap();
        });
    }
}

#[test]
fn bad_input_fails_as_in_a_transaction() {
    let (db, other) = (open("SILO"), open("SILO"));
    let table = db.table("t").column("n", U64).column("m", U64).create().unwrap();
    db.transact(|tx| tx.insert(&table, 7, &[1u64.into(), 2u64.into()])).unwrap();
    let n = table.field::<u64>("n").unwrap();
    let nested = db.transact(|_| db.get_field(n, 7));
    assert!(matches!(nested, Err(Error::Nested)), "{nested:?}");
    assert!(matches!(other.get(&table, 7), Err(Error::ForeignTable { .. })));
    assert!(matches!(other.get_field(n, 7), Err(Error::ForeignTable { .. })));
    assert!(matches!(db.get(&table, "seven"), Err(Error::WrongKeyType { .. })));
    assert!(matches!(db.get_field(n, "seven"), Err(Error::WrongKeyType { .. })));
    let changed = db.alter(&table).drop("m").apply().unwrap();
    assert!(matches!(db.get(&table, 7), Err(Error::TableChanged { .. })));
    assert_eq!(db.get(&changed, 7).unwrap().unwrap().get::<u64>("n").unwrap(), 1);
    db.drop_table(&changed).unwrap();
    assert!(matches!(db.get(&changed, 7), Err(Error::TableDropped { .. })));
    // The sessions are free, and usable.
    assert!(db.transact(|_| Ok(())).is_ok());
}
