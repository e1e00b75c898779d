//! Shows the reports of invented records, for looking at the reports themselves.
//!
//! `cargo run -p kilocore-cli --example report_sample -- page.html [records.json]` prints a table and a chart and
//! writes the page. If a file of real records is given, it reports those instead.

#[path = "../src/report/synthetic.rs"]
mod synthetic;

use harness::run_record::{read_json, write_whole};
use kilocore_cli::report::{Terminal, chart, page, table};
use std::path::Path;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut arguments = std::env::args().skip(1);
    let to = arguments.next().unwrap_or_else(|| "report-sample.html".into());
    let (title, records) = match arguments.next() {
        Some(from) => (format!("Records of {from}"), read_json(Path::new(&from))?),
        None => ("Synthetic sample, not measured".to_owned(), synthetic::records()),
    };
    let terminal = Terminal { colour: std::env::var_os("COLOUR").is_some(), ..Terminal::default() };
    print!("{}{}", table(&records, terminal), chart(&records, terminal));
    write_whole(Path::new(&to), page(&title, &records).as_bytes())?;
    Ok(())
}
