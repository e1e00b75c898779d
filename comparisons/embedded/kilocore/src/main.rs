//! A small program that embeds Kilocore, to see what it costs to compile.
use kilocore::{ColumnType::U64, Database, Error, Options};

fn main() -> Result<(), Error> {
    let db = Database::open(Options::default())?;
    let table = db.table("numbers").column("n", U64).create()?;
    db.transact(|tx| tx.insert(&table, 1, &[42u64.into()]))?;
    let row = db.read_only(|tx| tx.get(&table, 1)?.map(|row| row.get::<u64>("n")).transpose())?;
    println!("{row:?}");
    Ok(())
}
