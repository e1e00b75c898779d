//! Threads insert and delete the same rows. Natively an insertion looks for a row and writes its own in one step, on a way of its own.

use kilocore::{ColumnType::*, Database, Error, Options, Value};
use std::{sync::Barrier, thread};

const THREADS: u64 = 3;
const KEYS: u64 = 12;
const STEPS: u64 = 300;

fn databases() -> impl Iterator<Item = (&'static str, Database)> {
    Database::protocols().into_iter().filter(|name| *name != "NO_CC").map(|name| {
        let db = Database::open(Options { protocol: name.into(), ..Options::default() }).unwrap();
        (name, db)
    })
}

/// Each thread inserts a row, or deletes it if it is there, and counts in a row of its own how many it has inserted more than deleted.
/// A row that is inserted twice, or an insertion that is lost, makes the counts differ from the rows.
#[test]
fn a_row_is_inserted_once_between_two_deletions() {
    for (protocol, db) in databases() {
        for ordered in [false, true] {
            let rows = db.table(if ordered { "ordered" } else { "hashed" });
            let rows = if ordered { rows.ordered() } else { rows };
            let rows = rows.columns(&[("of", U64), ("text", TextUpTo(30))]).create().unwrap();
            let counts = format!("counts {ordered}");
            let counts = db.table(&counts).columns(&[("net", I64)]).create().unwrap();
            let none = (0..THREADS).map(|thread| (thread, [Value::I64(0)]));
            db.transact(|tx| tx.insert_many(&counts, none.clone())).unwrap();
            let start = Barrier::new(THREADS as usize);
            thread::scope(|scope| {
                for thread in 0..THREADS {
                    let (db, rows, counts, start) = (&db, &rows, &counts, &start);
                    scope.spawn(move || {
                        start.wait();
                        let mut random = thread + 1;
                        for _ in 0..STEPS {
                            random = random.wrapping_mul(6364136223846793005).wrapping_add(1);
                            let key = (random >> 33) % KEYS;
                            let text = format!("text {key} of {thread}");
                            let row = [Value::U64(thread), Value::Text(&text)];
                            db.transact(|tx| {
                                let change = match tx.insert(rows, key, &row) {
                                    Ok(()) => 1,
                                    Err(Error::DuplicateKey { .. }) => {
                                        // An attempt that has read before and after another transaction can miss the row. It is
                                        // tried again, and this error is believed only if it was not such an attempt.
                                        if !tx.delete(rows, key)? {
                                            return Err("a row that was there is gone".into());
                                        }
                                        -1
                                    }
                                    Err(error) => return Err(error),
                                };
                                tx.add(counts, thread, &[("net", change)])
                            })
                            .unwrap();
                        }
                    });
                }
            });
            // The rows are read for update, because a read alone can be of the past under protocols that are not strict.
            let (there, net) = db
                .transact(|tx| {
                    let (mut there, mut net) = (0, 0);
                    for key in 0..KEYS {
                        if let Some(row) = tx.get_for_update(&rows, key)? {
                            let text = format!("text {key} of {}", row.get::<u64>("of")?);
                            assert_eq!(row.get::<String>("text")?, text, "{protocol}");
                            there += 1;
                        }
                    }
                    for thread in 0..THREADS {
                        let row = tx.get_for_update(&counts, thread)?.ok_or("gone")?;
                        net += row.get::<i64>("net")?;
                    }
                    Ok::<_, Error>((there, net))
                })
                .unwrap();
            assert_eq!(there, net, "{protocol}, ordered: {ordered}");
        }
    }
}
