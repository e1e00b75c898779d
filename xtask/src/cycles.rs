//! Exact simulated runs: the same seed gives the same bits, on any machine, until somebody changes the
//! model. Then the difference is shown, and `--bless` accepts it.

use crate::{Outcome, cargo, must};
use std::path::Path;

/// Runs the test that compares, or has it write the committed values anew.
pub fn run(root: &Path, arguments: &[String]) -> Outcome {
    let mut test = cargo(root);
    // Of the workspace, so that it is built as for all tests.
    test.args(["test", "--workspace", "--test", "exact_cycles"]);
    if arguments.iter().any(|argument| argument == "--bless") {
        test.args(["--", "--ignored", "bless"]);
    }
    must(&mut test)
}
