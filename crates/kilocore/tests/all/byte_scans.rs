//! Ranges of byte keys through the embedded API, under every protocol that gives a guarantee.

use kilocore::{
    ColumnType::U64, Database, Error, Key, KeyBounds, Options, ReadTransaction, Row, Table,
    Transaction, Value,
};
use proptest::{prelude::*, test_runner::TestRunner};
use std::{
    collections::BTreeMap,
    ops::{
        Bound::{self, Excluded, Included, Unbounded},
        ControlFlow,
    },
};

fn open(protocol: &str) -> Database {
    Database::open(Options { protocol: protocol.into(), ..Options::default() }).unwrap()
}

fn protocols() -> impl Iterator<Item = &'static str> {
    Database::protocols().into_iter().filter(|name| *name != "NO_CC")
}

/// Returns the keys and values of a range, in the given direction.
fn rows(
    tx: &mut ReadTransaction<'_>,
    table: &Table,
    range: impl KeyBounds,
    forward: bool,
) -> Result<Vec<(Vec<u8>, u64)>, Error> {
    let mut rows = Vec::new();
    let visit = |key: Key<'_>, row: &Row<'_>| {
        rows.push((key.bytes().to_vec(), row.get::<u64>("n").expect("the column")));
        ControlFlow::Continue(())
    };
    match forward {
        true => tx.scan(table, range, visit)?,
        false => tx.scan_backward(table, range, visit)?,
    }
    Ok(rows)
}

/// An operation on the table and on the map that the table must behave like.
#[derive(Clone, Debug)]
enum Act {
    Put(Vec<u8>),
    Delete(Vec<u8>),
    Scan(Bound<Vec<u8>>, Bound<Vec<u8>>, bool),
    /// Ends the transaction: commits if true, rolls back if false. The next operation begins another
    /// transaction.
    End(bool),
}

/// Longest key of the table in bytes: more than a word has.
const MOST: usize = 11;

fn key() -> impl Strategy<Value = Vec<u8>> {
    let byte = || prop_oneof![Just(0u8), Just(b'a'), Just(b'b'), Just(255)];
    // Many keys share a prefix that is longer than a word, and many differ in length only.
    prop_oneof![
        prop::collection::vec(byte(), 0..=4),
        prop::collection::vec(byte(), 0..=2).prop_map(|rest| [&b"aaaaaaaaa"[..], &rest].concat()),
        (0..=MOST).prop_map(|length| vec![0; length]),
        (0..=MOST).prop_map(|length| vec![255; length]),
    ]
}

fn bound() -> impl Strategy<Value = Bound<Vec<u8>>> {
    prop_oneof![key().prop_map(Included), key().prop_map(Excluded), Just(Unbounded)]
}

fn acts() -> impl Strategy<Value = Vec<Act>> {
    let act = prop_oneof![
        6 => key().prop_map(Act::Put),
        3 => key().prop_map(Act::Delete),
        2 => (bound(), bound(), any::<bool>()).prop_map(|(a, b, forward)| Act::Scan(a, b, forward)),
        1 => any::<bool>().prop_map(Act::End),
    ];
    prop::collection::vec(act, 1..200)
}

/// Returns what the map contains in a range, or `None` for a range that starts after its end.
fn expected(
    map: &BTreeMap<Vec<u8>, u64>,
    start: &Bound<Vec<u8>>,
    end: &Bound<Vec<u8>>,
) -> Option<Vec<(Vec<u8>, u64)>> {
    let given = |bound: &Bound<Vec<u8>>| match bound {
        Included(key) | Excluded(key) => Some(key.clone()),
        Unbounded => None,
    };
    if let (Some(first), Some(last)) = (given(start), given(end))
        && first > last
    {
        return None;
    }
    let starts = |key: &Vec<u8>| match start {
        Included(first) => first <= key,
        Excluded(first) => first < key,
        Unbounded => true,
    };
    let ends = |key: &Vec<u8>| match end {
        Included(last) => key <= last,
        Excluded(last) => key < last,
        Unbounded => true,
    };
    let within = map.iter().filter(|(key, _)| starts(key) && ends(key));
    Some(within.map(|(key, n)| (key.clone(), *n)).collect())
}

/// Runs `acts` up to the first end in one transaction. Returns the remaining operations.
fn attempt<'a>(
    tx: &mut Transaction<'_>,
    table: &Table,
    map: &mut BTreeMap<Vec<u8>, u64>,
    acts: &'a [Act],
) -> Result<(&'a [Act], bool), Error> {
    for (number, act) in acts.iter().enumerate() {
        match act {
            Act::Put(key) => {
                let n = map.len() as u64 * 1000 + number as u64;
                tx.put(table, key, &[Value::U64(n)])?;
                map.insert(key.clone(), n);
            }
            Act::Delete(key) => {
                assert_eq!(tx.delete(table, key)?, map.remove(key).is_some());
            }
            Act::Scan(start, end, forward) => {
                let found = rows(tx, table, (start.clone(), end.clone()), *forward);
                match expected(map, start, end) {
                    None => {
                        assert!(matches!(found, Err(Error::ReversedRange { .. })), "{found:?}")
                    }
                    Some(mut wanted) => {
                        if !forward {
                            wanted.reverse();
                        }
                        assert_eq!(found?, wanted, "{start:?} {end:?}");
                    }
                }
            }
            Act::End(keep) => return Ok((&acts[number + 1..], *keep)),
        }
    }
    Ok((&[], true))
}

#[test]
fn a_table_behaves_as_a_map_of_bytes() {
    for protocol in protocols() {
        let config = ProptestConfig { cases: 40, failure_persistence: None, ..Default::default() };
        let outcome = TestRunner::new(config).run(&acts(), |acts| {
            let db = open(protocol);
            let table = db
                .table("t")
                .key(kilocore::ColumnType::VarBytesUpTo(MOST as u32))
                .columns(&[("n", U64)])
                .ordered()
                .create()
                .unwrap();
            let (mut map, mut left) = (BTreeMap::new(), &acts[..]);
            while !left.is_empty() {
                let (mut after, mut rest) = (BTreeMap::new(), left);
                let done = db.transact(|tx| {
                    after = map.clone();
                    let keep;
                    (rest, keep) = attempt(tx, &table, &mut after, left)?;
                    if keep { Ok(()) } else { Err("not to be kept".into()) }
                });
                match done {
                    Ok(()) => map = after,
                    Err(error) => assert_eq!(error.to_string(), "not to be kept"),
                }
                left = rest;
            }
            let all = db.read_only(|tx| rows(tx, &table, .., true)).unwrap();
            assert_eq!(all, map.into_iter().collect::<Vec<_>>());
            Ok(())
        });
        outcome.unwrap_or_else(|error| panic!("{protocol}: {error}"));
    }
}

#[test]
fn ranges_are_what_rust_means_by_them() {
    let db = open("SILO");
    let table = db
        .table("t")
        .key(kilocore::ColumnType::VarBytesUpTo(64))
        .columns(&[("n", U64)])
        .ordered()
        .create()
        .unwrap();
    let longest = [255u8; 64];
    let keys: [&[u8]; 6] = [b"", b"\0", b"a", b"a\0", b"b", &longest];
    db.transact(|tx| keys.iter().try_for_each(|key| tx.insert(&table, key, &[Value::U64(1)])))
        .unwrap();
    let scanned = |range: (Bound<&[u8]>, Bound<&[u8]>), forward| {
        let rows = db.read_only(|tx| rows(tx, &table, range, forward)).unwrap();
        rows.into_iter().map(|(key, _)| key).collect::<Vec<_>>()
    };
    assert_eq!(scanned((Unbounded, Unbounded), true), keys);
    assert_eq!(scanned((Included(b"a"), Included(b"b")), false), [&b"b"[..], b"a\0", b"a"]);
    assert_eq!(scanned((Excluded(b"a"), Excluded(b"b")), true), [b"a\0"]);
    assert_eq!(scanned((Included(b"a"), Excluded(b"a")), true), [b""; 0]);
    assert_eq!(scanned((Unbounded, Excluded(b"")), true), [b""; 0]);
    assert_eq!(scanned((Excluded(&longest), Unbounded), true), [b""; 0]);
    assert_eq!(scanned((Unbounded, Excluded(&longest)), true), &keys[..5]);
    let found = db.read_only(|tx| rows(tx, &table, "a".."b", true)).unwrap();
    assert_eq!(found.len(), 2);
    let found = db.read_only(|tx| rows(tx, &table, String::from("b").., true)).unwrap();
    assert_eq!(found.len(), 2);
}

#[test]
fn mistakes_are_named_and_change_nothing() {
    let db = open("SILO");
    let words = db
        .table("words")
        .key(kilocore::ColumnType::VarBytesUpTo(8))
        .columns(&[("n", U64)])
        .ordered()
        .create()
        .unwrap();
    let hashed = db
        .table("hashed")
        .key(kilocore::ColumnType::VarBytesUpTo(8))
        .columns(&[("n", U64)])
        .create()
        .unwrap();
    let numbers = db.table("numbers").columns(&[("n", U64)]).ordered().create().unwrap();
    assert!(matches!(
        db.table("long")
            .key(kilocore::ColumnType::VarBytesUpTo(65))
            .columns(&[("n", U64)])
            .ordered()
            .create(),
        Err(Error::InvalidTable { .. })
    ));
    db.transact(|tx| {
        tx.insert(&words, "a", &[Value::U64(1)])?;
        let message = |result: Result<(), Error>| result.unwrap_err().to_string();
        let stop = |_: Key<'_>, _: &Row<'_>| ControlFlow::Break(());
        let reversed = message(tx.scan(&words, "b".."a", stop));
        assert_eq!(
            reversed,
            "table \"words\": a range from \"b\" to \"a\": the start must not lie after the end"
        );
        let long = "table \"words\": a key of 9 bytes given, allowed are 8 at most";
        assert_eq!(message(tx.scan(&words, "ninebytes".., stop)), long);
        assert_eq!(message(tx.scan_backward(&words, .."ninebytes", stop)), long);
        let unordered = message(tx.scan(&hashed, .., stop));
        assert!(unordered.contains("\"hashed\" is not in key order"), "{unordered}");
        let kind = message(tx.scan(&numbers, .."b", stop));
        assert_eq!(kind, "table \"numbers\" has keys that are 64-bit integers");
        let kind = message(tx.scan(&words, 3.., stop));
        assert_eq!(kind, "table \"words\" has keys that are bytes");
        assert_eq!(rows(tx, &words, .., true)?, [(b"a".to_vec(), 1)]);
        Ok(())
    })
    .unwrap();
}

/// Inserts and deletes ever different long keys. The memory of nodes, records and keys must be reused.
#[test]
fn what_is_deleted_is_used_again() {
    for protocol in protocols() {
        let db = open(protocol);
        let table = db
            .table("t")
            .key(kilocore::ColumnType::VarBytesUpTo(64))
            .columns(&[("n", U64)])
            .ordered()
            .create()
            .unwrap();
        let key = |number: u64| format!("a common beginning that is long/{number:020}");
        let mut early = 0;
        for number in 0..30_000 {
            db.transact(|tx| tx.insert(&table, key(number), &[Value::U64(number)])).unwrap();
            if number >= 50 {
                assert!(db.transact(|tx| tx.delete(&table, key(number - 50))).unwrap());
            }
            if number == 5000 {
                early = db.memory_used_bytes();
            }
        }
        let grown = db.memory_used_bytes() - early;
        assert!(grown < 1 << 20, "{protocol}: {grown} bytes more");
        assert_eq!(db.read_only(|tx| rows(tx, &table, .., true)).unwrap().len(), 50);
    }
}
