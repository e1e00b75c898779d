//! redb, with its backend in memory.

use crate::engine::{Engine, Shape, Text, number};
use redb::{
    Builder, Database, Durability, ReadableDatabase, ReadableTable, TableDefinition,
    WriteTransaction, backends::InMemoryBackend,
};
use std::ops::Range;

const NUMBERS: TableDefinition<u64, u64> = TableDefinition::new("numbers");
const STRINGS: TableDefinition<u64, &[u8]> = TableDefinition::new("strings");

/// Size of the cache. All rows fit.
const CACHE: usize = 4 << 30;

pub struct Redb {
    db: Database,
    shape: Shape,
}

impl Redb {
    pub fn open(shape: Shape) -> Redb {
        let backend = InMemoryBackend::default();
        let mut builder = Builder::new();
        let db = builder.set_cache_size(CACHE).create_with_backend(backend).expect("a database");
        let redb = Redb { db, shape };
        redb.load(0..0);
        redb
    }

    fn write(&self, body: impl FnOnce(&WriteTransaction)) {
        let mut tx = self.db.begin_write().expect("a transaction");
        tx.set_durability(Durability::None).expect("no durability");
        body(&tx);
        tx.commit().expect("committed");
    }
}

impl Engine for Redb {
    fn load(&self, keys: Range<u64>) {
        self.write(|tx| match self.shape {
            Shape::Numbers => {
                let mut table = tx.open_table(NUMBERS).expect("a table");
                for key in keys {
                    table.insert(key, number(key)).expect("inserted");
                }
            }
            Shape::Strings(..) => {
                let mut table = tx.open_table(STRINGS).expect("a table");
                let mut text = Text::of(self.shape);
                for key in keys {
                    table.insert(key, text.fill(key, key)).expect("inserted");
                }
            }
        });
    }

    fn number(&self, key: u64) -> Option<u64> {
        let tx = self.db.begin_read().expect("a transaction");
        let table = tx.open_table(NUMBERS).expect("a table");
        table.get(key).expect("read").map(|value| value.value())
    }

    fn insert(&self, key: u64, value: u64) -> u64 {
        self.write(|tx| {
            let mut table = tx.open_table(NUMBERS).expect("a table");
            let before = table.insert(key, value).expect("inserted");
            assert!(before.is_none(), "a key that exists");
        });
        0
    }

    fn range(&self, keys: Range<u64>, mut see: impl FnMut(u64, u64)) {
        let tx = self.db.begin_read().expect("a transaction");
        let table = tx.open_table(NUMBERS).expect("a table");
        for row in table.range(keys).expect("a range") {
            let (key, value) = row.expect("read");
            see(key.value(), value.value());
        }
    }

    fn add_one(&self, keys: [u64; 4]) -> u64 {
        self.write(|tx| {
            let mut table = tx.open_table(NUMBERS).expect("a table");
            for key in keys {
                let was = table.get(key).expect("read").expect("a row").value();
                table.insert(key, was.wrapping_add(1)).expect("written");
            }
        });
        0
    }

    fn string(&self, key: u64, mut see: impl FnMut(&[u8])) -> bool {
        let tx = self.db.begin_read().expect("a transaction");
        let table = tx.open_table(STRINGS).expect("a table");
        table.get(key).expect("read").map(|value| see(value.value())).is_some()
    }

    fn overwrite(&self, key: u64, value: &[u8]) -> u64 {
        self.write(|tx| {
            let mut table = tx.open_table(STRINGS).expect("a table");
            table.insert(key, value).expect("written");
        });
        0
    }

    fn own_bytes(&self) -> (u64, &'static str) {
        let tx = self.db.begin_write().expect("a transaction");
        let stats = tx.stats().expect("statistics");
        (stats.allocated_pages() * stats.page_size() as u64, "pages allocated, without the cache")
    }
}
