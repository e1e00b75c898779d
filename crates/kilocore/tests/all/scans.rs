//! Range scans through the embedded API, under every protocol that gives a guarantee.

use kilocore::{
    ColumnType::I64, Database, Error, Key, KeyBounds, Options, ReadTransaction, Row, Table,
    Transaction, Value,
};
use std::{ops::ControlFlow, thread};

fn open(protocol: &str) -> Database {
    Database::open(Options { protocol: protocol.into(), ..Options::default() }).unwrap()
}

fn protocols() -> impl Iterator<Item = &'static str> {
    Database::protocols().into_iter().filter(|name| *name != "NO_CC")
}

/// Returns the keys and values of a range, in the given direction. Scans of rows and of their column see the same.
fn rows(
    tx: &mut ReadTransaction<'_>,
    table: &Table,
    range: impl KeyBounds + Clone,
    forward: bool,
) -> Result<Vec<(u64, i64)>, Error> {
    let (mut rows, mut values) = (Vec::new(), Vec::new());
    let field = table.field::<i64>("n")?;
    let keep = |key: Key<'_>, value| {
        values.push((key.number(), value));
        ControlFlow::Continue(())
    };
    match forward {
        true => tx.scan_field(field, range.clone(), keep)?,
        false => tx.scan_field_backward(field, range.clone(), keep)?,
    }
    let visit = |key: Key<'_>, row: &Row<'_>| {
        rows.push((key.number(), row.get::<i64>("n").expect("the column")));
        ControlFlow::Continue(())
    };
    match forward {
        true => tx.scan(table, range, visit)?,
        false => tx.scan_backward(table, range, visit)?,
    }
    assert_eq!(rows, values);
    Ok(rows)
}

#[test]
fn ranges_are_what_rust_means_by_them() {
    for protocol in protocols() {
        let db = open(protocol);
        let table = db.table("t").columns(&[("n", I64)]).ordered().create().unwrap();
        let keys = [0, 3, 5, 8, 1000, u64::MAX];
        db.transact(|tx| {
            keys.iter().try_for_each(|key| tx.insert(&table, *key, &[Value::I64(*key as i64)]))
        })
        .unwrap();
        let scanned = |range: (std::ops::Bound<u64>, std::ops::Bound<u64>), forward| {
            let rows = db.read_only(|tx| rows(tx, &table, range, forward)).unwrap();
            rows.into_iter().map(|(key, _)| key).collect::<Vec<_>>()
        };
        use std::ops::Bound::{Excluded, Included, Unbounded};
        assert_eq!(scanned((Unbounded, Unbounded), true), keys);
        assert_eq!(scanned((Included(3), Included(8)), true), [3, 5, 8]);
        assert_eq!(scanned((Included(3), Included(8)), false), [8, 5, 3]);
        assert_eq!(scanned((Excluded(3), Excluded(8)), true), [5]);
        assert_eq!(scanned((Included(6), Included(7)), true), []);
        assert_eq!(scanned((Included(5), Excluded(5)), true), []);
        assert_eq!(scanned((Included(9), Unbounded), false), [u64::MAX, 1000]);
        assert_eq!(scanned((Excluded(u64::MAX), Unbounded), true), []);
        assert_eq!(scanned((Unbounded, Excluded(0)), true), []);
    }
}

#[test]
fn a_transaction_sees_its_own_writes_and_loses_them_when_it_rolls_back() {
    for protocol in protocols() {
        let db = open(protocol);
        let table = db.table("t").columns(&[("n", I64)]).ordered().create().unwrap();
        let before: Vec<(u64, i64)> = (0..200).map(|key| (key * 2, 1)).collect();
        db.transact(|tx| {
            before.iter().try_for_each(|(key, n)| tx.insert(&table, *key, &[Value::I64(*n)]))
        })
        .unwrap();
        let rolled_back = db.transact(|tx| {
            let mut expected: std::collections::BTreeMap<_, _> =
                rows(tx, &table, .., true)?.into_iter().collect();
            for key in (0..400).step_by(3) {
                let even = key % 2 == 0;
                match (even, key % 4) {
                    (true, 0) => {
                        tx.update(&table, key, &[("n", Value::I64(7))])?;
                        expected.insert(key, 7);
                    }
                    (true, _) => {
                        tx.delete(&table, key)?;
                        expected.remove(&key);
                    }
                    (false, _) => {
                        tx.insert(&table, key, &[Value::I64(9)])?;
                        expected.insert(key, 9);
                    }
                }
            }
            let seen = rows(tx, &table, .., true)?;
            assert_eq!(seen, expected.into_iter().collect::<Vec<_>>(), "{protocol}");
            let mut backward = rows(tx, &table, .., false)?;
            backward.reverse();
            assert_eq!(backward, seen);
            Err::<(), _>("no".into())
        });
        assert!(matches!(rolled_back, Err(Error::User(_))), "{rolled_back:?}");
        assert_eq!(db.read_only(|tx| rows(tx, &table, .., true)).unwrap(), before, "{protocol}");
    }
}

#[test]
fn mistakes_are_named_and_change_nothing() {
    let db = Database::open(Options::default()).unwrap();
    let ordered = db.table("ordered").columns(&[("n", I64)]).ordered().create().unwrap();
    let plain = db.table("plain").columns(&[("n", I64)]).create().unwrap();
    db.transact(|tx| {
        tx.insert(&ordered, 1, &[Value::I64(1)])?;
        let message = |result: Result<(), Error>| result.unwrap_err().to_string();
        let stop = |_: Key<'_>, _: &Row<'_>| ControlFlow::Break(());
        #[allow(clippy::reversed_empty_ranges, reason = "that is the mistake")]
        let reversed = message(tx.scan(&ordered, 9..=3, stop));
        assert!(
            reversed.contains("from 9 to 3: the start must not lie after the end"),
            "{reversed}"
        );
        let unordered = message(tx.scan_backward(&plain, .., stop));
        assert!(unordered.contains("\"plain\" is not in key order"), "{unordered}");
        let (n, none) = (ordered.field::<i64>("n")?, ordered.field::<Option<i64>>("n")?);
        let field = message(tx.scan_field(n, "a".."b", |_, _| ControlFlow::Break(())));
        assert!(field.contains("\"ordered\"") && field.contains("64-bit integers"), "{field}");
        #[allow(clippy::reversed_empty_ranges, reason = "that is the mistake")]
        let reversed = message(tx.scan_field(none, 9..=3, |_, _| ControlFlow::Break(())));
        assert!(reversed.contains("\"ordered\": a range from 9 to 3"), "{reversed}");
        let plain =
            message(tx.scan_field(plain.field::<i64>("n")?, .., |_, _| ControlFlow::Break(())));
        assert!(plain.contains("\"plain\" is not in key order"), "{plain}");
        assert_eq!(rows(tx, &ordered, .., true)?, [(1, 1)]);
        Ok(())
    })
    .unwrap();
}

#[test]
fn a_scanned_field_without_a_value_is_named() {
    let db = Database::open(Options::default()).unwrap();
    let table = db.table("t").nullable("n", I64).ordered().create().unwrap();
    db.transact(|tx| {
        tx.insert(&table, 1, &[Value::I64(4)])?;
        tx.insert(&table, 2, &[Value::Null])?;
        tx.insert(&table, 3, &[Value::I64(5)])
    })
    .unwrap();
    let (strict, option) =
        (table.field::<i64>("n").unwrap(), table.field::<Option<i64>>("n").unwrap());
    db.read_only(|tx| {
        let (mut seen, mut all) = (Vec::new(), Vec::new());
        let scanned = tx.scan_field(strict, .., |_, n| {
            seen.push(n);
            ControlFlow::Continue(())
        });
        assert!(matches!(scanned, Err(Error::UnexpectedNull { .. })), "{scanned:?}");
        assert_eq!(seen, [4]);
        tx.scan_field(option, .., |_, n| {
            all.push(n);
            ControlFlow::Continue(())
        })?;
        assert_eq!(all, [Some(4), None, Some(5)]);
        Ok(())
    })
    .unwrap();
}

/// Threads append numbers to a queue and take the first one. No number is lost or taken twice, and the memory
/// of deleted rows is reused.
#[test]
fn a_queue_keeps_its_order_and_its_memory() {
    for protocol in protocols() {
        let db = open(protocol);
        let queue = db.table("queue").columns(&[("n", I64)]).ordered().create().unwrap();
        let push = |tx: &mut Transaction<'_>| {
            let mut last = 0;
            tx.scan_backward(&queue, .., |key, _| {
                last = key.number();
                ControlFlow::Break(())
            })?;
            tx.insert(&queue, last + 1, &[Value::I64(last as i64)])?;
            Ok(last + 1)
        };
        let pop = |tx: &mut Transaction<'_>| {
            let mut first = None;
            tx.scan(&queue, .., |key, _| {
                first = Some(key.number());
                ControlFlow::Break(())
            })?;
            let key = first.ok_or("nothing there")?;
            tx.delete(&queue, key)?;
            Ok(key)
        };
        // The queue never becomes empty. Otherwise its keys would start from the beginning.
        for _ in 0..3 {
            db.transact(push).unwrap();
        }
        let mut early = 0;
        for half in 0..2 {
            let taken: Vec<u64> = thread::scope(|scope| {
                let workers: Vec<_> = (0..2)
                    .map(|_| {
                        scope.spawn(|| {
                            let turn = |_| {
                                db.transact(push).unwrap();
                                db.transact(pop).unwrap()
                            };
                            (0..1500).map(turn).collect::<Vec<u64>>()
                        })
                    })
                    .collect();
                workers.into_iter().flat_map(|w| w.join().unwrap()).collect()
            });
            let mut sorted = taken;
            sorted.sort_unstable();
            let first = half * 3000 + 1;
            assert_eq!(sorted, (first..first + 3000).collect::<Vec<_>>(), "{protocol}");
            if half == 0 {
                early = db.memory_used_bytes();
            }
        }
        let grown = db.memory_used_bytes() - early;
        assert!(grown < 256 << 10, "{protocol}: {grown} bytes more for the second half");
    }
}

/// Rows of a range gain and lose values, leave it and come back at other keys. A scan sees all of this at one moment: the sum of
/// the values never changes.
#[test]
fn a_range_is_seen_at_one_moment() {
    const KEYS: u64 = 400;
    const ROUNDS: u64 = 150;
    for protocol in protocols() {
        let db = open(protocol);
        let table = db.table("t").column("n", I64).ordered().create().unwrap();
        let n = table.field::<i64>("n").unwrap();
        // Half of the keys have rows, so that rows can move. The range has many leaves.
        let total = db.transact(|tx| {
            (0..KEYS).step_by(2).try_for_each(|key| tx.insert(&table, key, &[Value::I64(100)]))?;
            Ok((KEYS / 2 * 100) as i64)
        });
        let total = total.unwrap();
        let change = |mut seed: u64| {
            for _ in 0..ROUNDS {
                seed = seed.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
                let (from, to) = ((seed >> 33) % KEYS, (seed >> 43) % KEYS);
                let changed = db.transact(|tx| {
                    let Some(value) = tx.get_field_for_update(n, from)? else { return Ok(()) };
                    match tx.get_field_for_update(n, to)? {
                        Some(_) if from == to => {}
                        Some(other) => {
                            tx.set_field(n, from, value - 1)?;
                            tx.set_field(n, to, other + 1)?;
                        }
                        None => {
                            tx.delete(&table, from)?;
                            tx.insert(&table, to, &[Value::I64(value)])?;
                        }
                    }
                    Ok(())
                });
                changed.unwrap();
            }
        };
        thread::scope(|scope| {
            let writers = [1, 2].map(|seed| scope.spawn(move || change(seed << 32)));
            while !writers.iter().all(|writer| writer.is_finished()) {
                for forward in [true, false] {
                    // An attempt can see what no serial execution shows. Then it is run again, so sums are compared afterwards.
                    let seen = db.read_only(|tx| {
                        let mut seen = Vec::new();
                        let see = |key: Key<'_>, value| {
                            seen.push((key.number(), value));
                            ControlFlow::Continue(())
                        };
                        match forward {
                            true => tx.scan_field(n, .., see)?,
                            false => tx.scan_field_backward(n, .., see)?,
                        }
                        Ok(seen)
                    });
                    let seen = seen.unwrap();
                    let sum: i64 = seen.iter().map(|(_, value)| value).sum();
                    assert_eq!((sum, seen.len() as u64), (total, KEYS / 2), "{protocol}");
                    assert!(seen.is_sorted_by(|a, b| (a.0 < b.0) == forward), "{protocol}");
                }
            }
        });
    }
}
