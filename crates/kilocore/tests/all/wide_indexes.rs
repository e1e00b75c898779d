//! Secondary indexes of more than 64 bits, and of tables with byte keys, under every protocol that gives a
//! guarantee.

use kilocore::{
    ColumnType::{Bytes, I64, U64},
    Database, Error, Index, IndexOptions, Key, Options, ReadTransaction, Row, Table, Transaction,
    Value,
};
use std::{collections::BTreeMap, ops::ControlFlow};

fn open(protocol: &str) -> Database {
    Database::open(Options { protocol: protocol.into(), ..Options::default() }).unwrap()
}

fn protocols() -> impl Iterator<Item = &'static str> {
    Database::protocols().into_iter().filter(|name| *name != "NO_CC")
}

const COLUMNS: [(&str, kilocore::ColumnType); 3] =
    [("town", Bytes(12)), ("score", I64), ("badge", U64)];
const BY_TOWN: IndexOptions<'_> =
    IndexOptions { name: "by_town", columns: &[("town", 96), ("score", 64)], key_bits: Some(64) };
const BY_BADGE: IndexOptions<'_> =
    IndexOptions { name: "by_badge", columns: &[("badge", 64), ("town", 96)], key_bits: None };

/// A person: town, score, badge.
type Person = (&'static str, i64, u64);

fn values(person: &Person) -> [Value<'static>; 3] {
    [person.0.into(), Value::I64(person.1), Value::U64(person.2)]
}

const TOWNS: [&str; 3] = ["Ash", "Ashby", "Ashby-on-Sea"];

/// Runs writes of all kinds on the table and on a map. Compares the map's order by town with the index after
/// each transaction.
fn follow<K: Clone + Ord + std::fmt::Debug>(
    db: &Database,
    key_of: impl Fn(u64) -> K,
    insert: impl Fn(&mut Transaction<'_>, &K, &Person) -> Result<(), Error>,
    update: impl Fn(&mut Transaction<'_>, &K, &[(&str, Value<'_>)]) -> Result<(), Error>,
    delete: impl Fn(&mut Transaction<'_>, &K) -> Result<bool, Error>,
    found: impl Fn(&mut ReadTransaction<'_>, &[Value<'_>], &[Value<'_>], bool) -> Result<Vec<K>, Error>,
) {
    let mut people: BTreeMap<K, Person> = BTreeMap::new();
    for step in 0..300u64 {
        let key = key_of(step * 7 % 40);
        let person = (TOWNS[(step % 3) as usize], step as i64 % 5 - 2, step);
        let mut after = people.clone();
        let kept = step % 11 != 0;
        let done = db.transact(|tx| {
            after = people.clone();
            match after.remove(&key) {
                None => {
                    insert(tx, &key, &person)?;
                    after.insert(key.clone(), person);
                }
                Some(_) if step % 4 == 0 => assert!(delete(tx, &key)?),
                Some(old) => {
                    update(
                        tx,
                        &key,
                        &[("town", person.0.into()), ("score", Value::I64(person.1))],
                    )?;
                    after.insert(key.clone(), (person.0, person.1, old.2));
                }
            }
            if kept { Ok(()) } else { Err("not to be kept".into()) }
        });
        if kept {
            done.unwrap();
            people = after;
        }
        let of_town = |town: &str, scores: std::ops::RangeInclusive<i64>| {
            let of = people.iter().filter(|(_, p)| p.0 == town && scores.contains(&p.1));
            let mut of: Vec<_> = of.map(|(key, p)| (p.1, key.clone())).collect();
            of.sort();
            of.into_iter().map(|(_, key)| key).collect::<Vec<_>>()
        };
        for town in TOWNS {
            let look = |forward| {
                let town = [town.into()];
                db.read_only(|tx| found(tx, &town, &town, forward)).unwrap()
            };
            let (expected, mut backward) = (of_town(town, -2..=2), look(false));
            assert_eq!(look(true), expected);
            backward.reverse();
            assert_eq!(backward, expected);
            let (first, last) = ([town.into(), Value::I64(-1)], [town.into(), Value::I64(1)]);
            let some = db.read_only(|tx| found(tx, &first, &last, true)).unwrap();
            assert_eq!(some, of_town(town, -1..=1));
        }
    }
    assert!(people.len() > 10);
}

#[test]
fn rows_with_integer_keys_are_found_by_long_values() {
    for protocol in protocols() {
        let db = open(protocol);
        let table = db
            .table("people")
            .columns(&COLUMNS)
            .index_with(BY_TOWN)
            .index_with(BY_BADGE)
            .create()
            .unwrap();
        let by_town = table.index("by_town").unwrap();
        let found =
            |tx: &mut ReadTransaction<'_>, first: &[Value<'_>], last: &[Value<'_>], forward| {
                let mut keys = Vec::new();
                let visit = |key: Key<'_>, _: &Row<'_>| {
                    keys.push(key.number());
                    ControlFlow::Continue(())
                };
                match forward {
                    true => tx.scan_index(&by_town, first, last, visit)?,
                    false => tx.scan_index_backward(&by_town, first, last, visit)?,
                }
                Ok(keys)
            };
        follow(
            &db,
            |number| number * 0x0101_0101_0101,
            |tx, key, person| tx.insert(&table, *key, &values(person)),
            |tx, key, columns| tx.update(&table, *key, columns),
            |tx, key| tx.delete(&table, *key),
            found,
        );
    }
}

fn keys_by(
    tx: &mut ReadTransaction<'_>,
    index: &Index,
    first: &[Value<'_>],
    last: &[Value<'_>],
    forward: bool,
) -> Result<Vec<Vec<u8>>, Error> {
    let mut keys = Vec::new();
    let visit = |key: Key<'_>, _: &Row<'_>| {
        keys.push(key.bytes().to_vec());
        ControlFlow::Continue(())
    };
    match forward {
        true => tx.scan_index(index, first, last, visit)?,
        false => tx.scan_index_backward(index, first, last, visit)?,
    }
    Ok(keys)
}

fn by_bytes(protocol: &str) -> (Database, Table) {
    let db = open(protocol);
    let table = db
        .table("people")
        .key(kilocore::ColumnType::VarBytesUpTo(40))
        .columns(&COLUMNS)
        .index_with(BY_TOWN)
        .index_with(BY_BADGE)
        .create()
        .unwrap();
    (db, table)
}

#[test]
fn rows_with_keys_of_bytes_are_found_by_their_values() {
    for protocol in protocols() {
        let (db, table) = by_bytes(protocol);
        let by_town = table.index("by_town").unwrap();
        follow(
            &db,
            |number| {
                [&b"somebody"[..], &vec![b'\0'; number as usize % 30], &[number as u8]].concat()
            },
            |tx, key, person| tx.insert(&table, key, &values(person)),
            |tx, key, columns| tx.update(&table, key, columns),
            |tx, key| tx.delete(&table, key),
            |tx, first, last, forward| keys_by(tx, &by_town, first, last, forward),
        );
    }
}

#[test]
fn mistakes_are_named_and_change_nothing() {
    let (db, table) = by_bytes("SILO");
    let [by_town, by_badge] = ["by_town", "by_badge"].map(|name| table.index(name).unwrap());
    let ada = ("Ash", 3, 1007);
    db.transact(|tx| {
        tx.insert(&table, "ada", &values(&ada))?;
        tx.put(&table, "bob", &values(&("Ash", 3, 1008)))?;
        let refused = [
            tx.insert(&table, "eve", &values(&ada)),
            tx.put(&table, "eve", &values(&ada)),
            tx.put(&table, "bob", &values(&ada)),
            tx.update(&table, "bob", &[("badge", Value::U64(1007))]),
        ];
        for error in refused {
            assert!(matches!(error, Err(Error::NotUnique { .. })), "{error:?}");
        }
        let double = tx.insert(&table, "ada", &values(&("Ash", 3, 1009)));
        assert!(matches!(double, Err(Error::DuplicateKey { .. })), "{double:?}");
        let reversed = keys_by(tx, &by_town, &["b".into()], &["a".into()], true);
        assert!(matches!(reversed, Err(Error::ReversedIndexRange { .. })), "{reversed:?}");
        let kind = keys_by(tx, &by_badge, &["b".into()], &[], true);
        assert!(matches!(kind, Err(Error::WrongType { .. })), "{kind:?}");
        assert_eq!(keys_by(tx, &by_town, &[], &[], true)?, [b"ada", b"bob"]);
        assert_eq!(keys_by(tx, &by_badge, &[Value::U64(1008)], &[], true)?, [b"bob"]);
        Ok(())
    })
    .unwrap();
    let long = IndexOptions { name: "by_all", key_bits: Some(0), ..BY_TOWN };
    let error = db
        .table("long")
        .key(kilocore::ColumnType::VarBytesUpTo(64))
        .columns(&COLUMNS)
        .index_with(long)
        .create()
        .unwrap_err();
    assert!(
        matches!(&error, Error::InvalidTable { message } if message.contains("672 bits")),
        "{error}"
    );
}
