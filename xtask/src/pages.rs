//! Writes the pages under `results/` from the raw records there: the findings in `README.md`, their charts, and the
//! tables. A test checks that the committed pages are what the committed records give.

mod bars;
mod findings;
mod lines;
mod numbers;
mod picture;
mod records;
mod tables;

use crate::Outcome;
use records::Results;
use std::{fs, path::Path};

/// First line of a generated page. It does not show when the page is rendered.
const ORIGIN: &str =
    "<!-- Written by `cargo xtask pages` from the raw records. Do not edit it by hand. -->\n";

const INTRODUCTION: &str = "\
# What was measured

Ten findings, each with its numbers, a chart, the raw records and the command. Behind them are:

- all numbers in tables: [native](tables/native.md), [simulated](tables/simulated.md), [checks and costs](tables/checks.md);
- [Kilocore beside redb, fjall and surrealmx](tables/comparisons.md), all in memory;
- [what is left of the peak under contention](tables/admission.md), with and without a limit on the number of transactions;
- [figures/README.md](figures/README.md): the figures of three papers, with a verdict on each of their statements;
- [validate/README.md](validate/README.md): the simulated machine beside a real one;
- [diary.md](diary.md): what was tried, what did not work, and what was measured without a raw record.

*Simulated* results are in modelled time, on the 1024-core chip of the Abyss paper (machine `graphite`). *Native* results
are from two virtual cores of a shared host, where neighbours disturb. Compare numbers within one table only. A `~`
marks a result that is not known to be steady, and a `#` one whose mean latency can't be right by Little's law
([how that is judged](../docs/run-record.md#steady)). A file holds the raw records of one command, with the fields in
[docs/run-record.md](../docs/run-record.md). `cargo xtask results` measures what is missing, and `cargo xtask pages` writes
this page, the tables and the charts anew. A command here is today's. The lengths and the commit of the committed
records stand beside their tables.

";

const MISSING: &str = "\
## Not measured yet

- Native runs of several seconds with repetitions on a quiet machine, and any native run on more than two cores.
- Hardware counters: the host has none.
";

/// Returns all pages by their paths below `results/`.
fn pages(root: &Path) -> Result<Vec<(String, String)>, String> {
    let results = Results::of(root);
    let findings = findings::all(&results)?;
    let told: String = findings.iter().enumerate().map(|(at, one)| one.text(at + 1)).collect();
    let mut pages = vec![("README.md".into(), format!("{ORIGIN}{INTRODUCTION}{told}{MISSING}"))];
    pages.extend(findings.into_iter().map(|one| (format!("charts/{}.svg", one.chart), one.svg)));
    for (name, text) in tables::all(&results)? {
        pages.push((format!("tables/{name}.md"), format!("{ORIGIN}{text}")));
    }
    Ok(pages)
}

/// Writes all pages. A page that is as it should be is not touched.
pub fn run(root: &Path, _: &[String]) -> Outcome {
    for (name, text) in pages(root)? {
        let path = root.join("results").join(&name);
        if fs::read_to_string(&path).is_ok_and(|before| before == text) {
            continue;
        }
        let folder = path.parent().unwrap_or(root);
        let written = fs::create_dir_all(folder).and_then(|()| fs::write(&path, text));
        written.map_err(|error| format!("{}: {error}", path.display()))?;
        println!("results/{name}: written");
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn the_committed_pages_are_what_the_committed_records_give() {
        let root = crate::root();
        for (name, text) in pages(&root).unwrap() {
            let committed = fs::read_to_string(root.join("results").join(&name));
            let differs = committed.ok().as_deref() != Some(&text);
            assert!(!differs, "results/{name} differs: run `cargo xtask pages`");
        }
    }

    #[test]
    fn no_generated_page_is_left_over() {
        let root = crate::root();
        let names: BTreeSet<String> =
            pages(&root).unwrap().into_iter().map(|page| page.0).collect();
        for folder in ["charts", "tables"] {
            for entry in fs::read_dir(root.join("results").join(folder)).unwrap() {
                let name = format!("{folder}/{}", entry.unwrap().file_name().to_string_lossy());
                assert!(names.contains(&name), "results/{name} is written by nothing");
            }
        }
    }

    #[test]
    fn every_record_has_a_table() {
        let root = crate::root();
        let told: String = pages(&root).unwrap().into_iter().map(|page| page.1).collect();
        for folder in ["", "admission", "native", "simulated", "explore", "validate"] {
            for entry in fs::read_dir(root.join("results").join(folder)).unwrap() {
                let name = entry.unwrap().file_name().to_string_lossy().into_owned();
                let raw = name.ends_with(".json") || name.ends_with(".jsonl");
                assert!(!raw || told.contains(&name), "results/{folder}/{name} is in no table");
            }
        }
    }
}
