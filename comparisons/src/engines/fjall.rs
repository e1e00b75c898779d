//! fjall, in a file system that is memory.

use crate::engine::{Engine, Shape, Text, number, word};
use fjall::{
    Keyspace, KeyspaceCreateOptions, OptimisticTxDatabase, OptimisticTxKeyspace, OptimisticWriteTx,
    Readable, SingleWriterTxDatabase, SingleWriterTxKeyspace, SingleWriterWriteTx, Snapshot,
};
use std::{fs, ops::Range, path::Path, path::PathBuf};

/// Size of the cache of blocks. All rows fit.
const CACHE: u64 = 4 << 30;

/// The two kinds of databases with transactions that write.
enum Kind {
    Optimistic(OptimisticTxDatabase, OptimisticTxKeyspace),
    SingleWriter(SingleWriterTxDatabase, SingleWriterTxKeyspace),
}

/// A transaction of either kind.
trait Writing {
    fn number(&self, key: u64) -> Option<u64>;
    fn insert(&mut self, key: u64, value: &[u8]);
}

impl Writing for (OptimisticWriteTx, &OptimisticTxKeyspace) {
    fn number(&self, key: u64) -> Option<u64> {
        self.0.get(self.1, key.to_be_bytes()).expect("read").map(|value| word(&value))
    }

    fn insert(&mut self, key: u64, value: &[u8]) {
        self.0.insert(self.1, key.to_be_bytes(), value);
    }
}

impl Writing for (SingleWriterWriteTx<'_>, &SingleWriterTxKeyspace) {
    fn number(&self, key: u64) -> Option<u64> {
        self.0.get(self.1, key.to_be_bytes()).expect("read").map(|value| word(&value))
    }

    fn insert(&mut self, key: u64, value: &[u8]) {
        self.0.insert(self.1, key.to_be_bytes(), value);
    }
}

pub struct Fjall {
    kind: Kind,
    shape: Shape,
    folder: PathBuf,
}

impl Fjall {
    pub fn open(single_writer: bool, shape: Shape) -> Fjall {
        let folder =
            Path::new("/dev/shm").join(format!("comparisons-fjall-{}", std::process::id()));
        let options = || KeyspaceCreateOptions::default().manual_journal_persist(true);
        let kind = if single_writer {
            let builder = SingleWriterTxDatabase::builder(&folder).temporary(true);
            let builder = builder.cache_size(CACHE).manual_journal_persist(true);
            let db = builder.open().expect("a database");
            let table = db.keyspace("rows", options).expect("a keyspace");
            Kind::SingleWriter(db, table)
        } else {
            let builder = OptimisticTxDatabase::builder(&folder).temporary(true);
            let builder = builder.cache_size(CACHE).manual_journal_persist(true);
            let db = builder.open().expect("a database");
            let table = db.keyspace("rows", options).expect("a keyspace");
            Kind::Optimistic(db, table)
        };
        Fjall { kind, shape, folder }
    }

    /// Returns a transaction that reads, and the table.
    fn reading(&self) -> (Snapshot, &Keyspace) {
        match &self.kind {
            Kind::Optimistic(db, table) => (db.read_tx(), table.inner()),
            Kind::SingleWriter(db, table) => (db.read_tx(), table.inner()),
        }
    }

    /// Runs `body` until it commits. Returns the number of conflicts.
    fn write(&self, mut body: impl FnMut(&mut dyn Writing)) -> u64 {
        let mut conflicts = 0;
        loop {
            let committed = match &self.kind {
                Kind::Optimistic(db, table) => {
                    let mut tx = (db.write_tx().expect("a transaction"), table);
                    body(&mut tx);
                    tx.0.commit().expect("committed").is_ok()
                }
                Kind::SingleWriter(db, table) => {
                    let mut tx = (db.write_tx(), table);
                    body(&mut tx);
                    tx.0.commit().expect("committed");
                    true
                }
            };
            if committed {
                return conflicts;
            }
            conflicts += 1;
        }
    }
}

impl Engine for Fjall {
    fn load(&self, keys: Range<u64>) {
        self.write(|tx| match self.shape {
            Shape::Numbers => {
                for key in keys.clone() {
                    tx.insert(key, &number(key).to_le_bytes());
                }
            }
            Shape::Strings(..) => {
                let mut text = Text::of(self.shape);
                for key in keys.clone() {
                    tx.insert(key, text.fill(key, key));
                }
            }
        });
    }

    fn number(&self, key: u64) -> Option<u64> {
        let (tx, table) = self.reading();
        tx.get(table, key.to_be_bytes()).expect("read").map(|value| word(&value))
    }

    fn insert(&self, key: u64, value: u64) -> u64 {
        self.write(|tx| tx.insert(key, &value.to_le_bytes()))
    }

    fn range(&self, keys: Range<u64>, mut see: impl FnMut(u64, u64)) {
        let (tx, table) = self.reading();
        for row in tx.range(table, keys.start.to_be_bytes()..keys.end.to_be_bytes()) {
            let (key, value) = row.into_inner().expect("read");
            see(u64::from_be_bytes(key[..].try_into().expect("a key")), word(&value));
        }
    }

    fn add_one(&self, keys: [u64; 4]) -> u64 {
        self.write(|tx| {
            for key in keys {
                let was = tx.number(key).expect("a row");
                tx.insert(key, &was.wrapping_add(1).to_le_bytes());
            }
        })
    }

    fn string(&self, key: u64, mut see: impl FnMut(&[u8])) -> bool {
        let (tx, table) = self.reading();
        let value = tx.get(table, key.to_be_bytes()).expect("read");
        value.map(|value| see(&value)).is_some()
    }

    fn overwrite(&self, key: u64, value: &[u8]) -> u64 {
        self.write(|tx| tx.insert(key, value))
    }

    fn own_bytes(&self) -> (u64, &'static str) {
        let (tables, memtables) = match &self.kind {
            Kind::Optimistic(db, table) => (table.inner().disk_space(), db.write_buffer_size()),
            Kind::SingleWriter(db, table) => (table.inner().disk_space(), db.write_buffer_size()),
        };
        (tables + memtables, "tables and memtables, without journal and cache")
    }

    fn outside_bytes(&self) -> u64 {
        size_of_files(&self.folder)
    }
}

/// Returns the number of bytes of memory that the files below `folder` take.
fn size_of_files(folder: &Path) -> u64 {
    use std::os::unix::fs::MetadataExt;
    let Ok(entries) = fs::read_dir(folder) else { return 0 };
    let size = |entry: fs::DirEntry| match entry.metadata() {
        Ok(data) if data.is_dir() => size_of_files(&entry.path()),
        Ok(data) => data.blocks() * 512,
        Err(_) => 0,
    };
    entries.flatten().map(size).sum()
}
