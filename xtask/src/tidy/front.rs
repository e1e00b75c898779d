//! Checks the first lines of files: every crate says what it is, every protocol cites its paper.

use super::{Problem, Tree, problem, protocol_names::is_protocol_file};

pub fn check(tree: &Tree) -> Vec<Problem> {
    let mut problems = Vec::new();
    for file in tree.rust() {
        let root = file.path.ends_with("src/lib.rs") || file.path.ends_with("src/main.rs");
        if root && !file.text.starts_with("//!") {
            problems.push(problem(file, 1, "a crate starts with //! and what it is"));
        }
        let cites = |line: &str| line.starts_with("//! Source:");
        if is_protocol_file(&file.path) && !file.text.lines().any(cites) {
            problems.push(problem(file, 1, "a protocol cites its paper: //! Source: ..."));
        }
    }
    problems
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn crates_and_protocols_without_their_first_lines_are_found() {
        let tree = Tree::fixture(&[
            ("crates/a/src/lib.rs", "pub mod x;"),
            ("crates/b/src/lib.rs", "//! B."),
            ("crates/protocols/src/one.rs", "//! ONE.\nfn source() {}"),
            ("crates/protocols/src/two.rs", "//! TWO.\n//!\n//! Source: a paper.\n"),
            ("crates/protocols/src/mechanisms/three.rs", "//! Three."),
        ]);
        let paths: Vec<_> = check(&tree).into_iter().map(|p| p.path).collect();
        assert_eq!(paths, ["crates/a/src/lib.rs", "crates/protocols/src/one.rs"]);
    }
}
