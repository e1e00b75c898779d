//! Turns of threads with sessions: panics, nesting, waiting, and handles that are created and dropped.

use kilocore::{ColumnType, Database, Error, Options, Table, Value};
use std::{
    panic::{AssertUnwindSafe, catch_unwind},
    sync::{
        Barrier,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    thread,
};

fn open(protocol: &str, max_sessions: usize) -> (Database, Table) {
    let options = Options { protocol: protocol.into(), max_sessions, ..Options::default() };
    let db = Database::open(options).unwrap();
    let table = db.table("t").columns(&[("n", ColumnType::U64)]).create().unwrap();
    db.transact(|tx| tx.insert(&table, 0, &[Value::U64(0)])).unwrap();
    (db, table)
}

/// Returns the newest value of the row. The transaction writes, because under a protocol that is not strict one that only
/// reads can read an older value.
fn n(db: &Database, table: &Table) -> u64 {
    let n = table.field::<u64>("n").unwrap();
    let newest = db.transact(|tx| {
        let newest = tx.get_field_for_update(n, 0)?.ok_or("gone")?;
        tx.set_field(n, 0, newest)?;
        Ok(newest)
    });
    newest.unwrap()
}

#[test]
fn a_panic_rolls_back_and_leaves_the_database_usable() {
    for protocol in Database::protocols() {
        let (db, table) = open(protocol, 2);
        for round in 0..20 {
            let caught = catch_unwind(AssertUnwindSafe(|| {
                db.transact(|tx| -> Result<(), Error> {
                    tx.update(&table, 0, &[("n", Value::U64(99))])?;
                    tx.insert(&table, 100 + round, &[Value::U64(1)])?;
                    panic!("on purpose")
                })
            }));
            assert_eq!(*caught.unwrap_err().downcast::<&str>().unwrap(), "on purpose");
            db.transact(|tx| {
                assert!(tx.get(&table, 100 + round)?.is_none());
                let was: u64 = tx.get_for_update(&table, 0)?.ok_or("gone")?.get("n")?;
                tx.update(&table, 0, &[("n", Value::U64(was + 1))])
            })
            .unwrap();
        }
        assert_eq!(n(&db, &table), 20, "{protocol}");
    }
}

#[test]
fn panics_of_many_threads() {
    for protocol in Database::protocols().into_iter().filter(|name| *name != "NO_CC") {
        let (db, table) = open(protocol, 3);
        let field = table.field::<u64>("n").unwrap();
        let panicked = AtomicU64::new(0);
        thread::scope(|scope| {
            for t in 0..6 {
                let (db, panicked) = (&db, &panicked);
                scope.spawn(move || {
                    for i in 0..300 {
                        let result = catch_unwind(AssertUnwindSafe(|| {
                            db.transact(|tx| {
                                let was = tx.get_field_for_update(field, 0)?.ok_or("gone")?;
                                tx.set_field(field, 0, was + 1)?;
                                if (i + t) % 50 == 0 {
                                    std::panic::resume_unwind(Box::new("quietly"));
                                }
                                Ok(())
                            })
                        }));
                        match result {
                            Ok(done) => done.unwrap(),
                            Err(_) => {
                                panicked.fetch_add(1, Ordering::Relaxed);
                            }
                        }
                    }
                });
            }
        });
        assert_eq!(n(&db, &table) + panicked.into_inner(), 1800, "{protocol}");
    }
}

#[test]
fn nesting_is_refused_wherever_the_outer_turn_is() {
    let (db, table) = open("NO_WAIT", 4);
    let nested = || matches!(db.transact(|_| Ok(())), Err(Error::Nested));
    assert!(db.transact(|_| Ok(nested())).unwrap());
    // Other threads hold all sessions but one, so the threads below are strays. Nesting must still be detected.
    let (taken, done) = (Barrier::new(4), Barrier::new(4));
    thread::scope(|scope| {
        for _ in 0..3 {
            scope.spawn(|| {
                db.transact(|_| {
                    taken.wait();
                    done.wait();
                    Ok(())
                })
            });
        }
        taken.wait();
        for _ in 0..10 {
            let refused = scope.spawn(|| db.transact(|_| Ok(nested())).unwrap());
            assert!(refused.join().unwrap());
        }
        done.wait();
    });
    // The refused inner transaction does not harm the outer one.
    db.transact(|tx| {
        tx.update(&table, 0, &[("n", Value::U64(5))])?;
        assert!(nested());
        Ok(())
    })
    .unwrap();
    assert_eq!(n(&db, &table), 5);
}

#[test]
fn another_database_inside_a_closure() {
    let ((one, in_one), (other, in_other)) = (open("SILO", 1), open("WAIT_DIE", 1));
    one.transact(|tx| {
        tx.update(&in_one, 0, &[("n", Value::U64(1))])?;
        other.transact(|tx| tx.update(&in_other, 0, &[("n", Value::U64(2))]))
    })
    .unwrap();
    assert_eq!((n(&one, &in_one), n(&other, &in_other)), (1, 2));
}

#[test]
fn threads_wait_for_a_session() {
    let (db, _table) = open("SILO", 1);
    let (inside, others) = (Barrier::new(4), AtomicU64::new(0));
    let leaving = AtomicBool::new(false);
    thread::scope(|scope| {
        for _ in 0..3 {
            scope.spawn(|| {
                inside.wait();
                db.transact(|_| {
                    assert!(leaving.load(Ordering::Relaxed), "a turn beside another's");
                    Ok(others.fetch_add(1, Ordering::Relaxed))
                })
                .unwrap();
            });
        }
        db.transact(|_| {
            inside.wait();
            // Gives the other threads time to begin a turn, if a bug lets them.
            (0..1000).for_each(|_| thread::yield_now());
            leaving.store(true, Ordering::Relaxed);
            Ok(())
        })
        .unwrap();
    });
    assert_eq!(others.into_inner(), 3);
}

#[test]
fn tables_are_created_while_others_transact() {
    for protocol in Database::protocols() {
        let (db, table) = open(protocol, 8);
        let stop = AtomicBool::new(false);
        thread::scope(|scope| {
            for key in 1..4 {
                let (db, table, stop) = (db.clone(), table.clone(), &stop);
                scope.spawn(move || {
                    let mut i = 0;
                    while !stop.load(Ordering::Relaxed) {
                        db.transact(|tx| tx.put(&table, key, &[Value::U64(i)])).unwrap();
                        // Looks up the newest table by its name, while the other thread goes on creating
                        // tables.
                        let newest = db.tables().pop().unwrap();
                        let newest = db.table(newest.name()).open().unwrap();
                        db.transact(|tx| tx.put(&newest, key, &[Value::U64(i)])).unwrap();
                        i += 1;
                    }
                });
            }
            for i in 0..50 {
                let columns = [("n", ColumnType::U64)];
                let made = db
                    .table(&format!("made{i}"))
                    .columns(&columns)
                    .sized_for(100)
                    .create()
                    .unwrap();
                db.transact(|tx| tx.insert(&made, 0, &[Value::U64(i)])).unwrap();
            }
            stop.store(true, Ordering::Relaxed);
        });
        for i in 0..50 {
            assert_eq!(n(&db, &db.table(&format!("made{i}")).open().unwrap()), i);
        }
    }
}

#[test]
fn handles_go_wherever_they_like() {
    fn anywhere<T: Send + Sync + Clone + 'static>() {}
    anywhere::<Database>();
    anywhere::<Table>();
    anywhere::<kilocore::Field<u64>>();
    fn to_another_thread<T: Send + 'static>() {}
    to_another_thread::<Error>();
}

#[test]
fn databases_come_and_go() {
    for _ in 0..30 {
        let (db, table) = open("SILO", 64);
        let (second, in_second) = (db.clone(), table.clone());
        drop(db);
        let thread = thread::spawn(move || {
            second.transact(|tx| tx.put(&in_second, 1, &[Value::U64(1)])).unwrap();
        });
        thread.join().unwrap();
        // A table's handle outlives its database.
        assert_eq!(table.name(), "t");
    }
}

#[test]
fn an_error_is_only_believed_when_its_reasons_were_true() {
    // The two rows always sum to 10. A closure that sees another sum returns an error, which must not reach the
    // caller.
    for protocol in Database::protocols().into_iter().filter(|name| *name != "NO_CC") {
        let (db, table) = open(protocol, 8);
        let field = table.field::<u64>("n").unwrap();
        db.transact(|tx| tx.insert(&table, 1, &[Value::U64(10)])).unwrap();
        let stop = AtomicBool::new(false);
        thread::scope(|scope| {
            scope.spawn(|| {
                for i in 0..4000 {
                    db.transact(|tx| {
                        tx.set_field(field, 0, i % 11)?;
                        tx.set_field(field, 1, 10 - i % 11)
                    })
                    .unwrap();
                }
                stop.store(true, Ordering::Relaxed);
            });
            while !stop.load(Ordering::Relaxed) {
                db.transact(|tx| {
                    let first = tx.get_field(field, 0)?.ok_or("gone")?;
                    thread::yield_now();
                    let second = tx.get_field(field, 1)?.ok_or("gone")?;
                    if first + second == 10 { Ok(()) } else { Err("torn".into()) }
                })
                .unwrap();
            }
        });
    }
}
