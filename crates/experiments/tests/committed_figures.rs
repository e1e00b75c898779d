//! Checks that the committed verdicts of figures are what the committed records give, and that statements which do not
//! hold have an explanation.

use harness::run_record::read_json;
use kilocore_experiments::figures::report::{Outcome, Regenerated, overview_markdown};
use kilocore_experiments::figures::{PAPERS, Verdict};
use std::fs;
use std::path::Path;

#[test]
fn the_committed_verdicts_are_what_the_committed_records_give() {
    let results = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../results/figures");
    let mut outcomes = Vec::new();
    for figure in PAPERS.iter().flat_map(|paper| paper.figures) {
        let folder = results.join(figure.folder());
        let Ok(text) = fs::read_to_string(folder.join("verdict.json")) else { continue };
        let committed: Outcome = serde_json::from_str(&text).unwrap();
        let records = read_json(&folder.join("records.json")).unwrap();
        let done = Regenerated::of(figure, committed.effort, &records, &committed.command);
        let renew = "run `kilocore report results`";
        assert!(done.outcome == committed, "{} differs: {renew}", folder.display());
        for judged in committed.statements.iter().filter(|judged| judged.verdict == Verdict::Fails)
        {
            let name = figure.folder();
            let lacks = "has no explanation in data/explanations.toml";
            assert!(!judged.explanation.is_empty(), "{name}: {} {lacks}", judged.statement);
        }
        let svg = fs::read_to_string(folder.join("figure.svg")).unwrap();
        assert!(
            svg == done.picture().to_svg(),
            "the picture in {} differs: {renew}",
            folder.display()
        );
        outcomes.push(committed);
    }
    assert!(outcomes.len() > 20, "{} figures", outcomes.len());
    let readme = fs::read_to_string(results.join("README.md")).unwrap();
    assert!(readme == overview_markdown(&outcomes), "the overview differs");
}
