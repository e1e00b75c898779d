//! A small program that embeds fjall, to see what it costs to compile.
use fjall::{KeyspaceCreateOptions, OptimisticTxDatabase};

fn main() -> fjall::Result<()> {
    let db = OptimisticTxDatabase::builder(std::env::temp_dir().join("embeds-fjall"))
        .temporary(true)
        .open()?;
    let table = db.keyspace("numbers", KeyspaceCreateOptions::default)?;
    table.insert(1u64.to_be_bytes(), 42u64.to_le_bytes())?;
    println!("{:?}", table.get(1u64.to_be_bytes())?);
    Ok(())
}
