//! surrealmx, in memory.

use crate::engine::{Engine, Shape, Text, number, word};
use std::ops::Range;
use surrealmx::{Database, Error, Transaction};

pub struct Surrealmx {
    db: Database,
    shape: Shape,
    /// Set if single operations use the database's own calls instead of a transaction.
    direct: bool,
}

impl Surrealmx {
    pub fn open(direct: bool, shape: Shape) -> Surrealmx {
        Surrealmx { db: Database::new(), shape, direct }
    }

    /// Runs `body` until it commits. Returns the number of conflicts.
    fn write(&self, mut body: impl FnMut(&mut Transaction) -> Result<(), Error>) -> u64 {
        let mut conflicts = 0;
        loop {
            let mut tx = self.db.transaction(true);
            match body(&mut tx).and_then(|()| tx.commit()) {
                Ok(()) => return conflicts,
                Err(Error::KeyReadConflict | Error::KeyWriteConflict) => conflicts += 1,
                Err(error) => panic!("{error}"),
            }
        }
    }
}

impl Engine for Surrealmx {
    fn load(&self, keys: Range<u64>) {
        self.write(|tx| match self.shape {
            Shape::Numbers => keys
                .clone()
                .try_for_each(|key| tx.put(key.to_be_bytes(), number(key).to_le_bytes())),
            Shape::Strings(..) => {
                let mut text = Text::of(self.shape);
                keys.clone().try_for_each(|key| tx.put(key.to_be_bytes(), text.fill(key, key)))
            }
        });
    }

    fn number(&self, key: u64) -> Option<u64> {
        if self.direct {
            return self.db.with_value(key.to_be_bytes(), word).expect("read");
        }
        let mut tx = self.db.transaction(false);
        let found = tx.with_value(key.to_be_bytes(), word).expect("read");
        tx.cancel().expect("ended");
        found
    }

    fn insert(&self, key: u64, value: u64) -> u64 {
        self.write(|tx| tx.put(key.to_be_bytes(), value.to_le_bytes()))
    }

    fn range(&self, keys: Range<u64>, mut see: impl FnMut(u64, u64)) {
        let range = keys.start.to_be_bytes()..keys.end.to_be_bytes();
        let mut see = |key: &[u8], value: &[u8]| {
            see(u64::from_be_bytes(key.try_into().expect("a key")), word(value));
            true
        };
        if self.direct {
            self.db.scan_with(range, None, None, |key, value| see(key, value)).expect("scanned");
            return;
        }
        let mut tx = self.db.transaction(false);
        tx.scan_with(range, None, None, |key, value| see(key, value)).expect("scanned");
        tx.cancel().expect("ended");
    }

    fn add_one(&self, keys: [u64; 4]) -> u64 {
        self.write(|tx| {
            keys.iter().try_for_each(|key| {
                let key = key.to_be_bytes();
                let was = word(&tx.get(key)?.expect("a row"));
                tx.set(key, was.wrapping_add(1).to_le_bytes())
            })
        })
    }

    fn string(&self, key: u64, see: impl FnMut(&[u8])) -> bool {
        let key = key.to_be_bytes();
        if self.direct {
            return self.db.with_value(key, see).expect("read").is_some();
        }
        let mut tx = self.db.transaction(false);
        let found = tx.with_value(key, see).expect("read").is_some();
        tx.cancel().expect("ended");
        found
    }

    fn overwrite(&self, key: u64, value: &[u8]) -> u64 {
        if self.direct {
            // It runs again by itself after a conflict, and does not count.
            self.db.set(key.to_be_bytes(), value).expect("written");
            return 0;
        }
        self.write(|tx| tx.set(key.to_be_bytes(), value))
    }

    fn own_bytes(&self) -> (u64, &'static str) {
        (
            self.db.stats().approx_data_bytes as u64,
            "stats().approx_data_bytes: keys and values alone",
        )
    }
}
