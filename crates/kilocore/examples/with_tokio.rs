//! Transactions from asynchronous code: a [`Database`] is `Send` and `Sync`, and a transaction is a closure, so
//! `spawn_blocking` runs it on a thread that may block.
//!
//! `cargo run --release -p kilocore --example with_tokio`

use kilocore::{ColumnType::U64, Database, Error, Options};
use tokio::task::{JoinSet, spawn_blocking};

#[tokio::main(flavor = "multi_thread", worker_threads = 2)]
async fn main() -> Result<(), Error> {
    let db = Database::open(Options::default())?;
    let hits = db.table("hits").column("count", U64).create()?;
    db.transact(|tx| tx.insert(&hits, 1, &[0u64.into()]))?;
    let mut requests = JoinSet::new();
    for _ in 0..100 {
        let (db, hits) = (db.clone(), hits.clone());
        requests.spawn(async move {
            // A clone of the handles moves into the closure. The task waits, its thread does not.
            let done = spawn_blocking(move || db.transact(|tx| tx.add(&hits, 1, &[("count", 1)])));
            done.await.map_err(Error::user)?
        });
    }
    while let Some(done) = requests.join_next().await {
        done.map_err(Error::user)??;
    }
    let count: u64 = db.read_only(|tx| tx.get(&hits, 1)?.ok_or("no row")?.get("count"))?;
    assert_eq!(count, 100);
    println!("{count} requests were counted");
    Ok(())
}
