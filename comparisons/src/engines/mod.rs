//! The engines, each used as its documentation recommends.

mod fjall;
mod hash_map;
mod kilocore;
mod redb;
mod surrealmx;

use crate::engine::{Engine, Shape};

/// Names of the engines, with what distinguishes them.
pub const ALL: &[(&str, &str)] = &[
    ("kilocore", "SILO, hash table"),
    (
        "kilocore direct",
        "the same, with the calls on the database that read one row: get_field and get",
    ),
    ("kilocore NO_WAIT", "NO_WAIT, hash table"),
    ("kilocore ordered", "SILO, ordered table"),
    ("kilocore MVCC", "MVCC, ordered table"),
    (
        "redb",
        "InMemoryBackend, Durability::None, cache of 4 GiB; a transaction and the table opened for every operation",
    ),
    (
        "fjall",
        "OptimisticTxDatabase on tmpfs, manual_journal_persist (commits write the journal into a buffer, and \
         nothing flushes or syncs it after a commit), block cache of 4 GiB; reads in a read_tx, writes in a write_tx",
    ),
    (
        "fjall single writer",
        "the same with SingleWriterTxDatabase, where one transaction writes at a time",
    ),
    (
        "HashMap",
        "one HashMap of the standard library behind one Mutex, without rollback; a transaction holds the mutex to its end",
    ),
    ("surrealmx", "Database::new(), without persistence; every operation in a transaction"),
    (
        "surrealmx direct",
        "the same, with the calls on the database that its documentation has for single operations: with_value, \
         scan_with, and set (which runs again by itself and does not count)",
    ),
];

/// Something to do with an engine.
pub trait Task {
    type Outcome;
    fn run(self, engine: &impl Engine) -> Self::Outcome;
}

/// Opens the named engine with an empty table of the given shape, and does `task` with it.
pub fn with<T: Task>(name: &str, shape: Shape, task: T) -> T::Outcome {
    match name {
        "kilocore" => task.run(&kilocore::Kilocore::open("SILO", false, shape)),
        "kilocore direct" => task.run(&kilocore::Kilocore::open_direct("SILO", shape)),
        "kilocore NO_WAIT" => task.run(&kilocore::Kilocore::open("NO_WAIT", false, shape)),
        "kilocore ordered" => task.run(&kilocore::Kilocore::open("SILO", true, shape)),
        "kilocore MVCC" => task.run(&kilocore::Kilocore::open("MVCC", true, shape)),
        "redb" => task.run(&redb::Redb::open(shape)),
        "fjall" => task.run(&fjall::Fjall::open(false, shape)),
        "fjall single writer" => task.run(&fjall::Fjall::open(true, shape)),
        "HashMap" => task.run(&hash_map::LockedMap::open(shape)),
        "surrealmx" => task.run(&surrealmx::Surrealmx::open(false, shape)),
        "surrealmx direct" => task.run(&surrealmx::Surrealmx::open(true, shape)),
        _ => panic!("unknown engine {name:?}"),
    }
}
