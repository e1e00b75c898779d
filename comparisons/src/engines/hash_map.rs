//! One hash map of the standard library behind one mutex: what a program has that needs no database. A transaction holds the mutex
//! from its begin to its end, so transactions are serializable, and no two run at once. There is no rollback.

use crate::engine::{Engine, Shape, Text, number, word};
use std::collections::HashMap;
use std::ops::Range;
use std::sync::{Mutex, MutexGuard};

enum Rows {
    Numbers(HashMap<u64, u64>),
    Strings(HashMap<u64, Vec<u8>>),
}

pub struct LockedMap {
    rows: Mutex<Rows>,
}

impl LockedMap {
    pub fn open(shape: Shape) -> LockedMap {
        let rows = match shape {
            Shape::Numbers => Rows::Numbers(HashMap::new()),
            Shape::Strings(..) => Rows::Strings(HashMap::new()),
        };
        LockedMap { rows: Mutex::new(rows) }
    }

    fn lock(&self) -> MutexGuard<'_, Rows> {
        self.rows.lock().expect("nobody panics under the mutex")
    }
}

impl Rows {
    fn numbers(&mut self) -> &mut HashMap<u64, u64> {
        match self {
            Rows::Numbers(rows) => rows,
            Rows::Strings(_) => panic!("a table of strings"),
        }
    }
}

impl Engine for LockedMap {
    fn load(&self, keys: Range<u64>) {
        match &mut *self.lock() {
            Rows::Numbers(rows) => rows.extend(keys.map(|key| (key, number(key)))),
            Rows::Strings(rows) => {
                // The shortest and the longest string do not matter to rows that are there already.
                let mut text = Text::of(crate::workloads::Workload::Update.shape());
                rows.extend(keys.map(|key| (key, text.fill(key, key).to_vec())));
            }
        }
    }

    fn number(&self, key: u64) -> Option<u64> {
        self.lock().numbers().get(&key).copied()
    }

    fn insert(&self, key: u64, value: u64) -> u64 {
        self.lock().numbers().insert(key, value);
        0
    }

    fn range(&self, keys: Range<u64>, mut see: impl FnMut(u64, u64)) {
        let mut rows = self.lock();
        for key in keys {
            if let Some(value) = rows.numbers().get(&key) {
                see(key, *value);
            }
        }
    }

    fn add_one(&self, keys: [u64; 4]) -> u64 {
        let mut rows = self.lock();
        for key in keys {
            let value = rows.numbers().get_mut(&key).expect("a row");
            *value = value.wrapping_add(1);
        }
        0
    }

    fn string(&self, key: u64, mut see: impl FnMut(&[u8])) -> bool {
        match &*self.lock() {
            Rows::Strings(rows) => rows.get(&key).map(|row| see(row)).is_some(),
            Rows::Numbers(rows) => rows.get(&key).map(|row| see(&row.to_le_bytes())).is_some(),
        }
    }

    fn overwrite(&self, key: u64, value: &[u8]) -> u64 {
        match &mut *self.lock() {
            Rows::Strings(rows) => {
                let row = rows.get_mut(&key).expect("a row");
                row.clear();
                row.extend_from_slice(value);
            }
            Rows::Numbers(rows) => _ = rows.insert(key, word(value)),
        }
        0
    }

    fn own_bytes(&self) -> (u64, &'static str) {
        // An entry has its key, its value, and a byte of its hash.
        let bytes = match &*self.lock() {
            Rows::Numbers(rows) => rows.capacity() * (size_of::<(u64, u64)>() + 1),
            Rows::Strings(rows) => {
                let values: usize = rows.values().map(Vec::capacity).sum();
                rows.capacity() * (size_of::<(u64, Vec<u8>)>() + 1) + values
            }
        };
        (bytes as u64, "capacity of the map and of the strings")
    }
}
