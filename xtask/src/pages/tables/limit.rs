//! Writes the table of read-only YCSB beside a loop over plain memory.

use super::{Column, table};
use crate::pages::numbers::three;
use crate::pages::records::Results;
use serde_json::Value;

/// Records of `cargo bench --bench limit`, and how many rows they have.
const FILES: [(&str, &str); 2] =
    [("1 million records", "native/limit-1M.json"), ("10 million", "native/limit-10M.json")];

/// Returns the section.
pub fn section(results: &Results) -> Result<String, String> {
    let read = |(title, file)| Ok::<_, String>((title, results.value(file)?));
    let measured = FILES.into_iter().map(read).collect::<Result<Vec<(&str, Value)>, _>>()?;
    let rows = measured[0].1["rows"].as_array().cloned().unwrap_or_default();
    let names: Vec<String> = rows.iter().map(name_of).collect();
    let mut columns = Vec::new();
    for (title, value) in &measured {
        columns.push(Column::new(format!("{title}: engine"), move |name: &str| {
            three(field(value, name, "engine_txn_per_s") / 1e3)
        }));
        columns.push(Column::new("loop, announced / not", move |name: &str| {
            let rate = |which| three(field(value, name, which) / 1e3);
            format!("{} / {}", rate("announced_loop_txn_per_s"), rate("loop_txn_per_s"))
        }));
        columns.push(Column::new("announced loop / engine", move |name: &str| {
            let engine = field(value, name, "engine_txn_per_s");
            three(field(value, name, "announced_loop_txn_per_s") / engine)
        }));
    }
    let files = FILES.map(|(_, file)| format!("[`{file}`](../{file})")).join(", ");
    Ok(format!(
        "## Beside a loop over memory\n\nRead-only YCSB without skew, and a loop that only adds up 100 bytes each of 16 random records of \
         1 KB, with and without a prefetch of all 16 ahead. Thousand transactions a second:\n\n{}{files}, by `cargo bench -p \
         kilocore-harness --features limit --bench limit -- RECORDS {} FILE`. The engine's rate is the median of three runs. The loop runs \
         before and after them, and its rate is the mean.\n\n",
        table("", &names, &columns),
        measured[0].1["seconds"],
    ))
}

fn name_of(row: &Value) -> String {
    let threads = row["threads"].as_u64().unwrap_or(0);
    let unit = if threads == 1 { "thread" } else { "threads" };
    format!("{}, {threads} {unit}", row["protocol"].as_str().unwrap_or(""))
}

/// Returns a number of the row with this name, or the mean of its numbers.
fn field(value: &Value, name: &str, field: &str) -> f64 {
    let rows = value["rows"].as_array().map_or(&[][..], Vec::as_slice);
    let found =
        rows.iter().find(|row| name_of(row) == name).map_or(&Value::Null, |row| &row[field]);
    match found.as_array() {
        Some(several) => {
            several.iter().filter_map(Value::as_f64).sum::<f64>() / several.len() as f64
        }
        None => found.as_f64().unwrap_or(f64::NAN),
    }
}
