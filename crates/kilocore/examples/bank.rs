//! Several threads move money between accounts while another one audits the bank.
//!
//! `cargo run --release -p kilocore --example bank [PROTOCOL]`

use kilocore::{ColumnType, Database, Error, Options, Value};
use std::{
    sync::atomic::{AtomicBool, AtomicU64, Ordering},
    thread,
    time::{Duration, Instant},
};

const ACCOUNTS: u64 = 10_000;
const THREADS: u64 = 4;

fn main() -> Result<(), Error> {
    let protocol = std::env::args().nth(1).unwrap_or_else(|| Options::default().protocol);
    let db = Database::open(Options { protocol, ..Options::default() })?;
    let columns = [("owner", ColumnType::Bytes(32)), ("balance", ColumnType::I64)];
    let accounts = db.table("accounts").columns(&columns).create()?;
    let balance = accounts.field::<i64>("balance")?;
    db.transact(|tx| {
        let row = ["somebody".into(), Value::I64(1000)];
        tx.insert_many(&accounts, (0..ACCOUNTS).map(|key| (key, row)))
    })?;

    let (stop, transfers, audits) = (AtomicBool::new(false), AtomicU64::new(0), AtomicU64::new(0));
    let running = || !stop.load(Ordering::Relaxed);
    let start = Instant::now();
    thread::scope(|scope| {
        for seed in 0..THREADS {
            let (db, running, transfers) = (&db, &running, &transfers);
            scope.spawn(move || {
                let mut random = seed;
                while running() {
                    random = random.wrapping_mul(6364136223846793005).wrapping_add(1);
                    let (from, to) = ((random >> 32) % ACCOUNTS, (random >> 48) % ACCOUNTS);
                    let moved = db.transact(|tx| {
                        let left = tx.get_field_for_update(balance, from)?.ok_or("no account")?;
                        if left < 10 {
                            return Err("insufficient funds".into());
                        }
                        tx.set_field(balance, from, left - 10)?;
                        let there = tx.get_field_for_update(balance, to)?.ok_or("no account")?;
                        tx.set_field(balance, to, there + 10)
                    });
                    match moved {
                        Ok(()) => transfers.fetch_add(1, Ordering::Relaxed),
                        Err(Error::User(_)) => 0,
                        Err(error) => panic!("{error}"),
                    };
                }
            });
        }
        scope.spawn(|| {
            while running() {
                let total = db.read_only(|tx| {
                    (0..ACCOUNTS).try_fold(0, |sum, key| {
                        Ok(sum + tx.get_field(balance, key)?.ok_or("no account")?)
                    })
                });
                assert_eq!(total.expect("an audit"), ACCOUNTS as i64 * 1000, "money has vanished");
                audits.fetch_add(1, Ordering::Relaxed);
                thread::sleep(Duration::from_millis(10));
            }
        });
        thread::sleep(Duration::from_secs(2));
        stop.store(true, Ordering::Relaxed);
    });
    println!(
        "{}: {:.2} million transfers a second by {THREADS} threads, {} audits, every one right",
        db.options().protocol,
        transfers.into_inner() as f64 / start.elapsed().as_secs_f64() / 1e6,
        audits.into_inner(),
    );
    Ok(())
}
