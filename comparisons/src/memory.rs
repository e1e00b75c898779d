//! Memory that rows take.

use crate::engine::{Engine, Shape};
use crate::engines::{self, Task};
use crate::machine::resident_bytes;
use crate::runs::child;
use crate::workloads::{Extent, load};
use serde_json::{Value, json};
use std::{thread, time::Duration};

/// Tables whose memory is measured, with their names.
const SHAPES: &[(&str, Shape)] =
    &[("8-byte values", Shape::Numbers), ("100-byte strings", Shape::Strings(100, 100))];

struct Loading {
    rows: u64,
    /// Memory of the process before the database was opened.
    before: u64,
}

impl Task for Loading {
    type Outcome = Value;
    fn run(self, engine: &impl Engine) -> Value {
        load(engine, self.rows);
        // The pause lets background work of the engines end.
        thread::sleep(Duration::from_secs(3));
        let resident = resident_bytes().saturating_sub(self.before);
        let outside = engine.outside_bytes();
        let (own, what) = engine.own_bytes();
        json!({
            "rows": self.rows, "resident_bytes": resident, "file_bytes": outside, "own_bytes": own, "own": what,
        })
    }
}

/// Loads a table in this process and returns its memory.
pub fn one(engine: &str, shape: &str, extent: &Extent) -> Value {
    let found = SHAPES.iter().find(|(name, _)| *name == shape);
    let (_, shape) = found.unwrap_or_else(|| panic!("unknown table {shape:?}"));
    let task = Loading { rows: extent.numbers, before: resident_bytes() };
    engines::with(engine, *shape, task)
}

/// Measures the memory of all tables in all engines.
pub fn all(quick: bool) -> Value {
    let mut rows = Vec::new();
    for (name, _) in SHAPES {
        // These differ from others in their transactions alone.
        let same = ["kilocore direct", "surrealmx direct", "fjall single writer"];
        for (engine, _) in engines::ALL.iter().filter(|(engine, _)| !same.contains(engine)) {
            let mut row = child(&["one-load", engine, name], quick);
            row["engine"] = (*engine).into();
            row["table"] = (*name).into();
            eprintln!("{row}");
            rows.push(row);
        }
    }
    rows.into()
}
