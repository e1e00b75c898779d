//! Columns of every type, NULL, rows whose size changes, structs as rows, and iterators.

use kilocore::{
    ColumnType::{self, *},
    Database, Error, IndexOptions, Named, Options, OwnedKey, Protocol, Row, Table, Value,
};
use std::{
    collections::BTreeMap,
    ops::Bound,
    thread,
    time::{Duration, SystemTime, UNIX_EPOCH},
};

fn open(protocol: &str) -> Database {
    Database::open(Options { protocol: protocol.into(), ..Options::default() }).unwrap()
}

fn protocols() -> impl Iterator<Item = &'static str> {
    Database::protocols().into_iter().filter(|name| *name != "NO_CC")
}

#[derive(Clone, Debug, PartialEq, Row)]
struct Everything {
    yes: bool,
    small: u16,
    medium: u32,
    large: u64,
    less: i16,
    middle: i32,
    more: i64,
    single: f32,
    double: f64,
    at: SystemTime,
    code: [u8; 5],
    #[row(up_to = 12)]
    short: String,
    text: String,
    blob: Vec<u8>,
    maybe: Option<u64>,
    #[row(name = "maybe text")]
    maybe_text: Option<String>,
    maybe_time: Option<SystemTime>,
    maybe_code: Option<[u8; 2]>,
}

fn something(seed: u64) -> Everything {
    let micros = Duration::from_micros(seed * 1_000_003);
    let at = if seed.is_multiple_of(2) { UNIX_EPOCH + micros } else { UNIX_EPOCH - micros };
    let some = !seed.is_multiple_of(3);
    Everything {
        yes: seed % 2 == 1,
        small: seed as u16,
        medium: u32::MAX - seed as u32,
        large: u64::MAX - seed,
        less: -(seed as i16),
        middle: i32::MIN + seed as i32,
        more: i64::MIN + seed as i64,
        single: seed as f32 / 4.0,
        double: -(seed as f64) / 3.0,
        at,
        code: [seed as u8; 5],
        short: "s".repeat(seed as usize % 13),
        text: "te\u{df}t".repeat(seed as usize * 7 % 500),
        blob: vec![seed as u8; seed as usize * 31 % 3000],
        maybe: some.then_some(seed),
        maybe_text: some.then(|| "x".repeat(seed as usize % 40)),
        maybe_time: some.then_some(at),
        maybe_code: (!some).then_some([7; 2]),
    }
}

#[test]
fn every_type_comes_back_as_it_went_in() {
    for protocol in protocols() {
        let db = open(protocol);
        let table = db.table("everything").row::<Everything>().create().unwrap();
        for seed in 0..40 {
            db.transact(|tx| tx.insert(&table, seed, &something(seed))).unwrap();
        }
        // Updates change the sizes of rows.
        for seed in 0..40 {
            let other = something(seed + 40);
            db.transact(|tx| tx.put(&table, seed, &other)).unwrap();
            let found = db.read_only(|tx| tx.get_as::<Everything>(&table, seed)).unwrap();
            assert_eq!(found, Some(other), "{protocol}");
        }
        let row = |tx: &mut kilocore::Transaction<'_>| {
            let row = tx.get(&table, 2)?.ok_or("gone")?;
            assert_eq!((row.get::<u64>("small")?, row.get::<i64>("less")?), (42, -42));
            assert_eq!(row.get::<f64>("single")?, 10.5);
            assert_eq!(row.text("short")?, "sss");
            assert!(row.is_null("maybe")? && !row.is_null("yes")?);
            assert_eq!(row.get::<Option<u64>>("large")?, Some(u64::MAX - 42));
            assert!(format!("{row:?}").contains("\"maybe\": NULL"));
            Ok(())
        };
        db.transact(row).unwrap();
    }
}

#[test]
fn fields_read_and_write_one_column_of_any_type() {
    let db = open("SILO");
    let table = db.table("everything").row::<Everything>().create().unwrap();
    db.transact(|tx| tx.insert(&table, 1, &something(1))).unwrap();
    let text = table.field::<String>("text").unwrap();
    let maybe = table.field::<Option<u64>>("maybe").unwrap();
    let sure = table.field::<u64>("maybe").unwrap();
    let less = table.field::<i16>("less").unwrap();
    db.transact(|tx| {
        tx.set_field(text, 1, "longer than it was before")?;
        tx.set_field(maybe, 1, None::<u64>)?;
        tx.set_field(less, 1, -300)?;
        assert_eq!(tx.get_field(text, 1)?.as_deref(), Some("longer than it was before"));
        assert_eq!(tx.get_field(maybe, 1)?, Some(None));
        assert!(matches!(tx.get_field(sure, 1), Err(Error::UnexpectedNull { .. })));
        assert_eq!(tx.get_field(less, 1)?, Some(-300));
        assert_eq!(tx.get_field(text, 2)?, None);
        Ok(())
    })
    .unwrap();
}

#[test]
fn bad_values_are_named_with_their_table_and_column() {
    let db = open("SILO");
    let table = db.table("t").column("n", I16).column("name", TextUpTo(4)).nullable("m", F32);
    let table = table.create().unwrap();
    let refused = |row: &[Value<'_>]| {
        let error = db.transact(|tx| tx.insert(&table, 1, row)).unwrap_err();
        error.to_string()
    };
    let cases: [(&[Value<'_>], &str); 7] = [
        (&[Value::Null, "a".into(), Value::Null], "column \"n\": NULL given"),
        (
            &[40_000.into(), "a".into(), Value::Null],
            "column \"n\": 40000 given, the column holds i16",
        ),
        (&[1.into(), "abcde".into(), Value::Null], "column \"name\": 5 bytes given, allowed are 4"),
        (&[1.into(), Value::Bytes(&[0xFF]), Value::Null], "column \"name\": the text is not UTF-8"),
        (&[1.into(), Value::Null, Value::Null], "column \"name\": NULL given"),
        (&[1.into(), "a".into(), 0.1.into()], "column \"m\": F64(0.1) given, the column holds f32"),
        (&[1.into(), "a".into(), "x".into()], "column \"m\": text of 1 bytes given"),
    ];
    for (row, expected) in cases {
        let said = refused(row);
        assert!(said.contains(expected) && said.contains("table \"t\""), "{said}");
    }
    let named = |values: &[(&str, Value<'_>)]| {
        db.transact(|tx| tx.insert(&table, 1, &Named(values))).unwrap_err().to_string()
    };
    assert!(named(&[("n", 1.into())]).contains("column \"name\": NULL given"));
    assert!(named(&[("nam", "a".into())]).contains("did you mean \"name\""));
    assert!(named(&[("n", 1.into()), ("n", 1.into())]).contains("given twice"));
    db.transact(|tx| tx.insert(&table, 1, &Named(&[("name", "a".into()), ("n", 1.into())])))
        .unwrap();
    assert!(matches!(table.field::<u32>("n"), Err(Error::WrongType { .. })));
    // Only 64-bit integers without NULL are added to.
    let error = db.transact(|tx| tx.add(&table, 1, &[("n", 1)])).unwrap_err();
    assert!(matches!(error, Error::NotAnInteger { .. }), "{error}");
    let keyed = |key| db.table("keyed").key(key).column("n", U64).create().unwrap_err().to_string();
    assert!(keyed(F64).contains("keys of type f64"));
    assert!(keyed(TextUpTo(65)).contains("allowed are 1 to 64"));
    let index = db.table("indexed").column("story", Text).index("by_story", ["story"]).create();
    assert!(index.unwrap_err().to_string().contains("has no largest length"));
    let twice = db.table("u").column("n", U64).index("i", ["n"]).unique("i", ["n"]).create();
    assert!(matches!(twice, Err(Error::IndexExists { .. })));
}

/// Returns the keys that an index finds for a value.
fn found(db: &Database, table: &Table, index: &str, value: Value<'_>) -> Vec<u64> {
    let index = table.index(index).unwrap();
    let rows = db.read_only(|tx| tx.find_all(&index, &[value])).unwrap();
    rows.into_iter().map(|(key, _)| key.as_key().number()).collect()
}

#[test]
fn indexes_hold_text_and_null_and_null_comes_first() {
    for protocol in protocols() {
        let db = open(protocol);
        let table = db
            .table("people")
            .nullable("name", TextUpTo(10))
            .nullable("age", I16)
            .index("by_name", ["name"])
            .unique("by_age", ["age"])
            .create()
            .unwrap();
        let names = [None, Some(""), Some("b"), Some("ab"), Some("a\0"), Some("a"), Some("b")];
        for (key, name) in names.iter().enumerate() {
            let row = [(*name).into(), (key as i16 - 3).into()];
            db.transact(|tx| tx.insert(&table, key as u64, &row)).unwrap();
        }
        let by_name = table.index("by_name").unwrap();
        let all = |tx: &mut kilocore::ReadTransaction<'_>| {
            let rows = tx.find_all(&by_name, &[])?;
            Ok(rows.into_iter().map(|(key, _)| key.as_key().number()).collect::<Vec<_>>())
        };
        assert_eq!(db.read_only(all).unwrap(), [0, 1, 5, 4, 3, 2, 6], "{protocol}");
        assert_eq!(found(&db, &table, "by_name", Value::Null), [0]);
        assert_eq!(found(&db, &table, "by_name", "b".into()), [2, 6]);
        assert_eq!(found(&db, &table, "by_name", "".into()), [1]);
        assert_eq!(found(&db, &table, "by_age", (-3).into()), [0]);
        // A unique index has one NULL at most.
        db.transact(|tx| tx.update(&table, 0, &[("age", Value::Null)])).unwrap();
        let again = db.transact(|tx| tx.update(&table, 1, &[("age", Value::Null)]));
        assert!(matches!(again, Err(Error::NotUnique { .. })), "{protocol}");
        db.transact(|tx| tx.update(&table, 0, &[("name", "zz".into())])).unwrap();
        assert_eq!(db.read_only(all).unwrap(), [1, 5, 4, 3, 2, 6, 0], "{protocol}");
        db.transact(|tx| tx.delete(&table, 2)).unwrap();
        assert_eq!(found(&db, &table, "by_name", "b".into()), [6]);
    }
}

#[test]
fn order_indexes_and_keys_of_bytes_combine() {
    let db = open("TICTOC");
    let table = db
        .table("words")
        .key(TextUpTo(20))
        .column("length", U32)
        .column("text", Text)
        .ordered()
        .index_with(IndexOptions {
            name: "by_length",
            columns: &[("length", 8)],
            key_bits: Some(0),
        })
        .create()
        .unwrap();
    let words = ["kilo", "core", "a", "kilocore", "ki"];
    db.transact(|tx| {
        words.iter().try_for_each(|word| {
            tx.insert(&table, word, &[(word.len() as u32).into(), word.repeat(100).as_str().into()])
        })
    })
    .unwrap();
    let keys = |rows: Vec<(OwnedKey, Row<'_>)>| {
        let text = |(key, _): &(OwnedKey, Row<'_>)| String::from_utf8(key.as_key().bytes().into());
        rows.iter().map(|row| text(row).unwrap()).collect::<Vec<_>>()
    };
    let by_length = table.index("by_length").unwrap();
    db.read_only(|tx| {
        assert_eq!(keys(tx.find_all(&by_length, &[4u32.into()])?), ["core", "kilo"]);
        let rows = tx.range(&table, "k"..)?.collect::<Result<Vec<_>, _>>()?;
        assert_eq!(rows[0].1.get::<String>("text")?, "ki".repeat(100));
        assert_eq!(keys(rows), ["ki", "kilo", "kilocore"]);
        let rows = tx.range_backward(&table, .."kilo")?.collect::<Result<Vec<_>, _>>()?;
        assert_eq!(keys(rows), ["ki", "core", "a"]);
        Ok(())
    })
    .unwrap();
}

#[test]
fn iterators_and_range_deletes_cover_exactly_their_range() {
    let db = open("SILO");
    let table = db.table("t").column("n", U64).ordered().create().unwrap();
    db.transact(|tx| (0..1000).try_for_each(|key| tx.insert(&table, key * 2, &[key.into()])))
        .unwrap();
    let keys = |range: (u64, u64)| {
        db.read_only(|tx| {
            let forward = tx.range(&table, range.0..=range.1)?.collect::<Result<Vec<_>, _>>()?;
            let mut back =
                tx.range_backward(&table, range.0..=range.1)?.collect::<Result<Vec<_>, _>>()?;
            back.reverse();
            let key = |rows: &[(OwnedKey, Row<'_>)]| {
                rows.iter().map(|(key, _)| key.as_key().number()).collect::<Vec<_>>()
            };
            assert_eq!(key(&forward), key(&back));
            Ok(key(&forward))
        })
        .unwrap()
    };
    assert_eq!(keys((0, u64::MAX)).len(), 1000);
    assert_eq!(keys((3, 9)), [4, 6, 8]);
    assert_eq!(keys((5, 5)), []);
    assert_eq!(db.transact(|tx| tx.delete_range(&table, 100..1500)).unwrap(), 700);
    assert_eq!(db.transact(|tx| tx.delete_range(&table, 100..1500)).unwrap(), 0);
    assert_eq!(keys((90, 1510)), [90, 92, 94, 96, 98, 1500, 1502, 1504, 1506, 1508, 1510]);
    assert_eq!(db.transact(|tx| tx.delete_range(&table, ..)).unwrap(), 300);
    let error = db
        .read_only(|tx| tx.range(&table, (Bound::Included(3), Bound::Excluded(2))).map(|_| ()))
        .unwrap_err();
    assert!(matches!(error, Error::ReversedRange { .. }));
}

/// Texts of different lengths are written by several threads until memory would be exhausted many times over.
#[test]
fn memory_of_replaced_texts_is_used_again() {
    for protocol in protocols() {
        let memory_limit_bytes = Some(64 << 20);
        let options =
            Options { protocol: protocol.into(), memory_limit_bytes, ..Options::default() };
        let db = Database::open(options).unwrap();
        let table = db.table("t").column("text", Text).sized_for(64).create().unwrap();
        db.transact(|tx| (0..64).try_for_each(|key| tx.insert(&table, key, &["".into()]))).unwrap();
        thread::scope(|scope| {
            for worker in 0..2u64 {
                let (db, table) = (&db, &table);
                scope.spawn(move || {
                    for step in 0..3_000u64 {
                        let key = (step * 7 + worker * 31) % 64;
                        let text = "t".repeat((step * 1009 % 20_000) as usize);
                        let text = format!("{worker} {step} {text}");
                        db.transact(|tx| tx.update(table, key, &[("text", text.as_str().into())]))
                            .unwrap();
                    }
                });
            }
        });
        let lengths: BTreeMap<u64, usize> = (0..64)
            .map(|key| {
                let row =
                    db.read_only(|tx| tx.get(&table, key)?.ok_or("gone")?.get::<String>("text"));
                (key, row.unwrap().len())
            })
            .collect();
        assert!(lengths.values().all(|length| *length < 20_020), "{protocol}");
    }
}

#[test]
fn a_full_memory_refuses_texts_and_recovers() {
    for protocol in protocols() {
        let memory_limit_bytes = Some(24 << 20);
        let options =
            Options { protocol: protocol.into(), memory_limit_bytes, ..Options::default() };
        let db = Database::open(options).unwrap();
        let table = db.table("t").column("text", Text).sized_for(64).create().unwrap();
        let long = "x".repeat(50_000);
        let full = (0..).find_map(|key| {
            let done = db.transact(|tx| tx.insert(&table, key, &[long.as_str().into()]));
            done.err().map(|error| (key, error))
        });
        let (count, error) = full.expect("memory ends");
        assert!(matches!(error, Error::OutOfMemory) && count > 50, "{protocol}: {count} {error}");
        for key in 0..count / 2 {
            assert!(db.transact(|tx| tx.delete(&table, key)).unwrap());
        }
        for key in 0..count / 4 {
            db.transact(|tx| tx.insert(&table, key, &[long.as_str().into()])).unwrap();
        }
        let text =
            db.read_only(|tx| tx.get(&table, count - 1)?.ok_or("gone")?.get::<String>("text"));
        assert_eq!(text.unwrap(), long);
    }
}

#[test]
fn protocols_have_types_and_names() {
    let db = Database::open(Options { protocol: Protocol::Mvcc.into(), ..Options::default() });
    assert_eq!(db.unwrap().options().protocol, "MVCC");
    assert_eq!(Protocol::TwoVersionNoWait.to_string(), "2V_NO_WAIT");
    assert!(Database::protocols().contains(&Protocol::TicToc.as_str()));
}

#[test]
fn column_types_say_what_they_are() {
    let said = |kind: ColumnType| kind.to_string();
    assert_eq!(said(TextUpTo(4)), "text up to 4 bytes");
    assert_eq!((said(VarBytes), said(Bool)), ("bytes of any length".into(), "bool".into()));
}
