//! Money moves between accounts under every protocol. The total must be the same in every transaction's view.

use kilocore::{ColumnType, Database, Error, Options, Table, Value};
use std::{sync::mpsc, thread};

const ACCOUNTS: u64 = 20;
const START: i64 = 1000;

fn serializable() -> impl Iterator<Item = &'static str> {
    Database::protocols().into_iter().filter(|name| *name != "NO_CC")
}

fn open(protocol: &str, max_sessions: usize) -> (Database, Table) {
    let options = Options { protocol: protocol.into(), max_sessions, ..Options::default() };
    let db = Database::open(options).unwrap();
    let columns = [("owner", ColumnType::Bytes(16)), ("balance", ColumnType::I64)];
    let accounts = db.table("accounts").columns(&columns).create().unwrap();
    db.transact(|tx| {
        for key in 0..ACCOUNTS {
            tx.insert(&accounts, key, &["somebody".into(), START.into()])?;
        }
        Ok(())
    })
    .unwrap();
    (db, accounts)
}

fn sum(db: &Database, accounts: &Table) -> i64 {
    let balance = accounts.field::<i64>("balance").unwrap();
    db.read_only(|tx| {
        let mut sum = 0;
        for key in 0..ACCOUNTS {
            sum += tx.get_field(balance, key)?.ok_or("an account is gone")?;
        }
        Ok(sum)
    })
    .unwrap()
}

/// Moves money by rows or by fields, with and without reading for update. Some transactions return an error
/// after their writes.
fn move_money(db: &Database, accounts: &Table, mut seed: u64, times: u64) {
    let balance = accounts.field::<i64>("balance").unwrap();
    for i in 0..times {
        seed = seed.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        let (from, to) = ((seed >> 33) % ACCOUNTS, (seed >> 43) % ACCOUNTS);
        let amount = (seed >> 53) as i64 % 50;
        let done = db.transact(|tx| {
            if i % 2 == 0 {
                let left: i64 = tx.get(accounts, from)?.ok_or("gone")?.get("balance")?;
                tx.update(accounts, from, &[("balance", (left - amount).into())])?;
                let there: i64 = tx.get(accounts, to)?.ok_or("gone")?.get("balance")?;
                tx.update(accounts, to, &[("balance", (there + amount).into())])?;
            } else {
                let left = tx.get_field_for_update(balance, from)?.ok_or("gone")?;
                tx.set_field(balance, from, left - amount)?;
                let there = tx.get_field_for_update(balance, to)?.ok_or("gone")?;
                tx.set_field(balance, to, there + amount)?;
            }
            if amount == 13 { Err("cold feet".into()) } else { Ok(()) }
        });
        match done {
            Ok(()) => assert_ne!(amount, 13),
            Err(Error::User(message)) => assert_eq!(message.to_string(), "cold feet"),
            Err(other) => panic!("{other}"),
        }
    }
}

fn run(protocol: &str, sessions: usize, threads: u64) {
    let (db, accounts) = open(protocol, sessions);
    // Runs one audit for every so many transfers, while the other threads go on.
    let (moved, audits) = mpsc::sync_channel(1);
    thread::scope(|scope| {
        let (db, accounts) = (&db, &accounts);
        for t in 0..threads {
            let moved = moved.clone();
            scope.spawn(move || {
                for round in 0..20 {
                    move_money(db, accounts, t << 32 | round, 100);
                    moved.send(()).expect("somebody audits");
                }
            });
        }
        drop(moved);
        for () in audits {
            assert_eq!(sum(db, accounts), ACCOUNTS as i64 * START, "{protocol}");
        }
    });
    assert_eq!(sum(&db, &accounts), ACCOUNTS as i64 * START, "{protocol}");
}

#[test]
fn more_threads_than_cores() {
    serializable().for_each(|protocol| run(protocol, 64, 8));
}

#[test]
fn more_threads_than_sessions() {
    serializable().for_each(|protocol| run(protocol, 2, 7));
}

#[test]
fn one_session_for_all() {
    serializable().for_each(|protocol| run(protocol, 1, 4));
}

#[test]
fn every_timestamp_allocation() {
    for timestamps in ["mutex", "atomic", "batch16", "clock", "hardware"] {
        for protocol in ["TIMESTAMP", "WAIT_DIE"] {
            let options = Options {
                protocol: protocol.into(),
                timestamps: timestamps.into(),
                ..Options::default()
            };
            let db = Database::open(options).unwrap();
            let counters =
                db.table("counters").columns(&[("n", ColumnType::U64)]).create().unwrap();
            let n = counters.field::<u64>("n").unwrap();
            db.transact(|tx| tx.insert(&counters, 0, &[Value::U64(0)])).unwrap();
            thread::scope(|scope| {
                for _ in 0..4 {
                    scope.spawn(|| {
                        for _ in 0..1000 {
                            db.transact(|tx| {
                                let was = tx.get_field_for_update(n, 0)?.ok_or("gone")?;
                                tx.set_field(n, 0, was + 1)
                            })
                            .unwrap();
                        }
                    });
                }
            });
            let total = db.read_only(|tx| tx.get_field(n, 0)).unwrap();
            assert_eq!(total, Some(4000), "{protocol} {timestamps}");
        }
    }
}
