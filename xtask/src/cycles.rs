//! Compares exact simulated runs with committed values. The same seed gives the same bits on any machine until the
//! model is changed. After a change the test shows the difference, and `--bless` accepts it.

use crate::{Outcome, cargo, must};
use std::path::Path;

/// Runs the test that compares the values, or has it write the committed values again.
pub fn run(root: &Path, arguments: &[String]) -> Outcome {
    let mut test = cargo(root);
    // Uses the whole workspace, so that the test is built as it is for all tests.
    test.args(["test", "--workspace", "--test", "exact_cycles"]);
    if arguments.iter().any(|argument| argument == "--bless") {
        test.args(["--", "--ignored", "bless"]);
    }
    must(&mut test)
}
