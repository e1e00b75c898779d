//! Kilocore.

use crate::engine::{Engine, Shape, Text, number};
use kilocore::{ColumnType, Database, Field, Options, Table, Value};
use std::ops::{ControlFlow, Range};

pub struct Kilocore {
    db: Database,
    table: Table,
    shape: Shape,
    /// The column of numbers, in a table of numbers.
    number: Option<Field<u64>>,
    /// The column of strings, in a table of strings.
    string: Option<Field<Vec<u8>>>,
    /// Set if rows are read by calls on the database.
    direct: bool,
}

impl Kilocore {
    pub fn open(protocol: &str, ordered: bool, shape: Shape) -> Kilocore {
        let options = Options { protocol: protocol.into(), ..Options::default() };
        let db = Database::open(options).expect("a database");
        let kind = match shape {
            Shape::Numbers => ColumnType::U64,
            Shape::Strings(..) => ColumnType::VarBytes,
        };
        let described = db.table("rows").column("value", kind);
        let described = if ordered { described.ordered() } else { described };
        let table = described.create().expect("a table");
        let number = table.field("value").ok();
        let string = table.field("value").ok();
        Kilocore { db, table, shape, number, string, direct: false }
    }

    /// Opens a database whose rows are read by the calls that read one row.
    pub fn open_direct(protocol: &str, shape: Shape) -> Kilocore {
        Kilocore { direct: true, ..Kilocore::open(protocol, false, shape) }
    }

    fn number(&self) -> Field<u64> {
        self.number.expect("a table of numbers")
    }
}

impl Engine for Kilocore {
    fn load(&self, keys: Range<u64>) {
        let loaded = self.db.transact(|tx| match self.shape {
            Shape::Numbers => keys
                .clone()
                .try_for_each(|key| tx.insert(&self.table, key, &[Value::U64(number(key))])),
            Shape::Strings(..) => {
                let mut text = Text::of(self.shape);
                keys.clone().try_for_each(|key| {
                    tx.insert(&self.table, key, &[Value::Bytes(text.fill(key, key))])
                })
            }
        });
        loaded.expect("loaded");
    }

    fn number(&self, key: u64) -> Option<u64> {
        if self.direct {
            return self.db.get_field(self.number(), key).expect("read");
        }
        self.db.read_only(|tx| tx.get_field(self.number(), key)).expect("read")
    }

    fn insert(&self, key: u64, value: u64) -> u64 {
        let mut runs = 0;
        let inserted = self.db.transact(|tx| {
            runs += 1;
            tx.insert(&self.table, key, &[Value::U64(value)])
        });
        inserted.expect("inserted");
        runs - 1
    }

    fn range(&self, keys: Range<u64>, mut see: impl FnMut(u64, u64)) {
        let scanned = self.db.read_only(|tx| {
            tx.scan_field(self.number(), keys.clone(), |key, number| {
                see(key.number(), number);
                ControlFlow::Continue(())
            })
        });
        scanned.expect("scanned");
    }

    fn add_one(&self, keys: [u64; 4]) -> u64 {
        let mut runs = 0;
        let field = self.number();
        let added = self.db.transact(|tx| {
            runs += 1;
            tx.announce(&self.table, &keys)?;
            keys.iter().try_for_each(|&key| {
                let was = tx.get_field_for_update(field, key)?.ok_or("no such row")?;
                tx.set_field(field, key, was.wrapping_add(1))
            })
        });
        added.expect("added");
        runs - 1
    }

    fn string(&self, key: u64, mut see: impl FnMut(&[u8])) -> bool {
        if self.direct {
            let row = self.db.get(&self.table, key).expect("read");
            return row.map(|row| see(row.bytes("value").expect("a string"))).is_some();
        }
        let found = self.db.read_only(|tx| {
            let row = tx.get(&self.table, key)?;
            row.map(|row| row.bytes("value").map(&mut see)).transpose()
        });
        found.expect("read").is_some()
    }

    fn overwrite(&self, key: u64, value: &[u8]) -> u64 {
        let mut runs = 0;
        let field = self.string.expect("a table of strings");
        let written = self.db.transact(|tx| {
            runs += 1;
            tx.set_field(field, key, value)
        });
        written.expect("written");
        runs - 1
    }

    fn own_bytes(&self) -> (u64, &'static str) {
        (self.db.memory_used_bytes(), "Database::memory_used_bytes")
    }
}
