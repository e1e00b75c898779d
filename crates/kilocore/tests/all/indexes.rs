//! Secondary indexes through the embedded API, under every protocol that gives a guarantee.

use kilocore::{
    ColumnType::{Bytes, I64, U64},
    Database, Error, Index, IndexOptions, Key, Options, OwnedKey, ReadTransaction, Table, Value,
};
use std::{ops::ControlFlow, thread};

fn open(protocol: &str) -> (Database, Table) {
    let db = Database::open(Options { protocol: protocol.into(), ..Options::default() }).unwrap();
    let by_team = IndexOptions {
        name: "by_team",
        columns: &[("team", 16), ("score", 16)],
        key_bits: Some(32),
    };
    let by_code = IndexOptions { name: "by_code", columns: &[("code", 32)], key_bits: None };
    let columns = [("team", U64), ("score", I64), ("code", Bytes(4)), ("note", Bytes(20))];
    let table = db
        .table("players")
        .columns(&columns)
        .index_with(by_team)
        .index_with(by_code)
        .create()
        .unwrap();
    (db, table)
}

fn protocols() -> impl Iterator<Item = &'static str> {
    Database::protocols().into_iter().filter(|name| *name != "NO_CC")
}

fn player(team: u64, score: i64, code: &str) -> [Value<'_>; 4] {
    [Value::U64(team), Value::I64(score), code.into(), "a note".into()]
}

/// Returns the keys of a range of an index, in the given direction.
fn keys(
    tx: &mut ReadTransaction<'_>,
    index: &Index,
    first: &[Value<'_>],
    last: &[Value<'_>],
    forward: bool,
) -> Result<Vec<u64>, Error> {
    let mut keys = Vec::new();
    let visit = |key: Key<'_>, row: &kilocore::Row<'_>| {
        assert_eq!(&row.bytes("note").expect("the column")[..6], b"a note");
        keys.push(key.number());
        ControlFlow::Continue(())
    };
    match forward {
        true => tx.scan_index(index, first, last, visit)?,
        false => tx.scan_index_backward(index, first, last, visit)?,
    }
    Ok(keys)
}

#[test]
fn rows_are_found_by_their_values_and_follow_them() {
    for protocol in protocols() {
        let (db, table) = open(protocol);
        let by_team = table.index("by_team").unwrap();
        let by_code = table.index("by_code").unwrap();
        assert!(by_code.is_unique() && !by_team.is_unique());
        let players = [(5, 1, -3, "aa"), (9, 1, 7, "ab"), (2, 1, 7, "b"), (1, 2, 0, "zzzz")];
        db.transact(|tx| {
            players.iter().try_for_each(|(key, team, score, code)| {
                tx.insert(&table, *key, &player(*team, *score, code))
            })
        })
        .unwrap();
        let team = |number| [Value::U64(number)];
        db.transact(|tx| {
            assert_eq!(keys(tx, &by_team, &team(1), &team(1), true)?, [5, 2, 9]);
            assert_eq!(keys(tx, &by_team, &team(1), &team(1), false)?, [9, 2, 5]);
            assert_eq!(keys(tx, &by_team, &[], &[], true)?, [5, 2, 9, 1]);
            assert_eq!(keys(tx, &by_team, &team(2), &[], true)?, [1]);
            let from = [Value::U64(1), Value::I64(0)];
            assert_eq!(keys(tx, &by_team, &from, &team(1), true)?, [2, 9]);
            assert_eq!(keys(tx, &by_code, &["ab".into()], &["b".into()], true)?, [9, 2]);
            // The index finds rows by the transaction's own changes at once, and no longer by the old values.
            tx.update(&table, 2, &[("score", Value::I64(-4)), ("team", Value::U64(2))])?;
            tx.delete(&table, 5)?;
            tx.put(&table, 77, &player(1, 0, "aa"))?;
            tx.put(&table, 9, &player(1, -1, "ac"))?;
            assert_eq!(keys(tx, &by_team, &team(1), &team(1), true)?, [9, 77]);
            assert_eq!(keys(tx, &by_team, &team(2), &team(2), true)?, [2, 1]);
            assert_eq!(keys(tx, &by_code, &["ab".into()], &["ab".into()], true)?, []);
            Ok(())
        })
        .unwrap();
        let rolled_back = db.transact(|tx| {
            tx.delete(&table, 77)?;
            tx.update(&table, 9, &[("team", Value::U64(3))])?;
            Err::<(), _>(Error::user("no"))
        });
        assert!(rolled_back.is_err());
        let left = db.read_only(|tx| keys(tx, &by_team, &[], &[], true)).unwrap();
        assert_eq!(left, [9, 77, 2, 1], "{protocol}");
    }
}

#[test]
fn what_is_unique_stays_so_and_the_transaction_may_go_on() {
    for protocol in protocols() {
        let (db, table) = open(protocol);
        db.transact(|tx| {
            tx.insert(&table, 1, &player(1, 0, "a"))?;
            tx.insert(&table, 2, &player(1, 0, "b"))?;
            let refused = |result: Result<(), Error>| {
                let error = result.expect_err("not unique");
                let expected = "table \"players\" has a row already with the values that index \
                                \"by_code\" wants unique";
                assert_eq!(error.to_string(), expected);
            };
            refused(tx.insert(&table, 3, &player(1, 0, "b")));
            refused(tx.update(&table, 1, &[("code", "b".into()), ("team", Value::U64(9))]));
            refused(tx.put(&table, 1, &player(9, 9, "b")));
            refused(tx.put(&table, 3, &player(9, 9, "a")));
            refused(tx.set_field(table.field::<[u8; 4]>("code")?, 1, b"b\0\0\0"));
            let again = tx.insert(&table, 1, &player(1, 0, "c"));
            assert!(
                matches!(again, Err(Error::DuplicateKey { key: OwnedKey::Number(1), .. })),
                "{again:?}"
            );
            let missing = tx.update(&table, 4, &[("code", "b".into())]);
            assert!(
                matches!(missing, Err(Error::MissingKey { key: OwnedKey::Number(4), .. })),
                "{missing:?}"
            );
            // A row can be updated to the unique value that it already has. A value that one row gave up is
            // free for other rows.
            tx.update(&table, 1, &[("code", "a".into())])?;
            tx.update(&table, 2, &[("code", "c".into())])?;
            tx.insert(&table, 3, &player(1, 0, "b"))
        })
        .unwrap();
        let by_team = table.index("by_team").unwrap();
        let all = db.read_only(|tx| keys(tx, &by_team, &[], &[], true)).unwrap();
        assert_eq!(all, [1, 2, 3], "{protocol}: nothing of what was refused remains");
    }
}

#[test]
fn errors_say_what_was_given_and_leave_the_database_usable() {
    let (db, table) = open("SILO");
    let message = |error: Error| error.to_string();
    let unknown = message(table.index("by_tea").unwrap_err());
    assert!(unknown.contains("did you mean \"by_team\"?"), "{unknown}");
    assert!(matches!(db.table("by_team").open(), Err(Error::UnknownTable { .. })));
    assert_eq!(db.tables().len(), 1);
    let by_team = table.index("by_team").unwrap();
    let scan = |first: &[Value<'_>], last: &[Value<'_>]| {
        db.transact(|tx| keys(tx, &by_team, first, last, true)).unwrap_err()
    };
    let one = [Value::U64(1)];
    assert!(matches!(scan(&one, &[Value::U64(0)]), Error::ReversedIndexRange { .. }));
    assert!(matches!(scan(&[Value::U64(1 << 16)], &[]), Error::BeyondIndex { bits: 16, .. }));
    assert!(matches!(scan(&[Value::I64(-1)], &[]), Error::OutOfRange { .. }));
    assert!(matches!(scan(&[Value::F64(1.0)], &[]), Error::WrongType { .. }));
    let three = [Value::U64(1), Value::I64(1), Value::U64(1)];
    assert!(matches!(scan(&three, &[]), Error::WrongCount { given: 3, allowed: 2, .. }));
    for (key, team) in [(1, 1 << 16), (1 << 32, 1)] {
        let refused = db.transact(|tx| tx.insert(&table, key, &player(team, 0, "x")));
        assert!(matches!(refused, Err(Error::KeyOutsideIndex)), "{refused:?}");
    }
    let index = |name, columns, key_bits| {
        let index = IndexOptions { name, columns, key_bits };
        db.table("other").columns(&[("a", U64)]).index_with(index).create().map(|_| ()).unwrap_err()
    };
    assert!(matches!(index("by_b", &[("b", 8)], None), Error::UnknownColumn { .. }));
    assert!(message(index("by_a", &[("a", 60)], Some(80))).contains("140 bits"));
    db.table("other").columns(&[("a", U64)]).create().unwrap();
    db.transact(|tx| tx.insert(&table, 1, &player(1, 0, "x"))).unwrap();
    let (_, foreign) = open("SILO");
    let foreign = foreign.index("by_team").unwrap();
    let error = db.transact(|tx| keys(tx, &foreign, &[], &[], true)).unwrap_err();
    assert!(matches!(error, Error::ForeignTable { .. }), "{error}");
}

/// Threads move players between two teams and reuse codes that other players gave up. Another thread counts the
/// players.
#[test]
fn teams_are_whole_whenever_somebody_looks() {
    const PLAYERS: u64 = 20;
    for protocol in protocols() {
        let (db, table) = open(protocol);
        let by_team = table.index("by_team").unwrap();
        let by_code = table.index("by_code").unwrap();
        db.transact(|tx| {
            (0..PLAYERS).try_for_each(|key| {
                tx.insert(&table, key, &player(key % 2, 0, &format!("{key:04}")))
            })
        })
        .unwrap();
        thread::scope(|scope| {
            for worker in 0..2u64 {
                let (db, table) = (&db, &table);
                scope.spawn(move || {
                    for round in 0..150 {
                        let key = (round * 7 + worker * 3) % PLAYERS;
                        let code = format!("{:04}", (round * 11 + worker) % (PLAYERS + 5));
                        let moved = db.transact(|tx| {
                            let row = tx.get_for_update(table, key)?.ok_or("nobody goes")?;
                            let team = Value::U64(1 - row.get::<u64>("team")?);
                            let code: Value<'_> = code.as_str().into();
                            match tx.update(table, key, &[("team", team), ("code", code)]) {
                                Err(Error::NotUnique { .. }) => {
                                    tx.update(table, key, &[("team", team)])
                                }
                                result => result,
                            }
                        });
                        moved.unwrap();
                    }
                });
            }
            for _ in 0..50 {
                let (teams, codes) = db
                    .read_only(|tx| {
                        let teams = keys(tx, &by_team, &[], &[], true)?;
                        Ok((teams, keys(tx, &by_code, &[], &[], false)?))
                    })
                    .unwrap();
                for mut found in [teams, codes] {
                    found.sort_unstable();
                    assert!(found.into_iter().eq(0..PLAYERS), "{protocol}");
                }
            }
        });
    }
}

#[test]
fn what_an_index_has_refused_is_no_reason_for_what_comes_later() {
    let db = Database::open(Options::default()).unwrap();
    let by_badge = IndexOptions { name: "by_badge", columns: &[("badge", 64)], key_bits: None };
    let columns = [("badge", U64), ("floor", U64)];
    let people = db.table("people").columns(&columns).index_with(by_badge).create().unwrap();
    db.transact(|tx| {
        tx.insert(&people, 1, &[7u64.into(), 1u64.into()])?;
        let refused = tx.insert(&people, 2, &[7u64.into(), 1u64.into()]).unwrap_err();
        assert!(matches!(refused, Error::NotUnique { .. }), "{refused}");
        // No index refuses this update: the row does not exist.
        let missing = tx.update(&people, 3, &[("floor", 2u64.into())]).unwrap_err();
        assert!(matches!(missing, Error::MissingKey { .. }), "{missing}");
        let missing = tx.add(&people, 3, &[("floor", 2)]).unwrap_err();
        assert!(matches!(missing, Error::MissingKey { .. }), "{missing}");
        Ok(())
    })
    .unwrap();
}
