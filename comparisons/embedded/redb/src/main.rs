//! A small program that embeds redb, to see what it costs to compile.
use redb::{Builder, Error, ReadableDatabase, TableDefinition, backends::InMemoryBackend};

const TABLE: TableDefinition<u64, u64> = TableDefinition::new("numbers");

fn main() -> Result<(), Error> {
    let db = Builder::new().create_with_backend(InMemoryBackend::default())?;
    let tx = db.begin_write()?;
    tx.open_table(TABLE)?.insert(1, 42)?;
    tx.commit()?;
    let row = db.begin_read()?.open_table(TABLE)?.get(1)?.map(|value| value.value());
    println!("{row:?}");
    Ok(())
}
