//! A small program that embeds surrealmx, to see what it costs to compile.
use surrealmx::{Database, Error};

fn main() -> Result<(), Error> {
    let db = Database::new();
    let mut tx = db.transaction(true);
    tx.put(1u64.to_be_bytes(), 42u64.to_le_bytes())?;
    tx.commit()?;
    println!("{:?}", db.get(1u64.to_be_bytes())?);
    Ok(())
}
