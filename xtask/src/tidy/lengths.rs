//! How long a file may be: who wants more has two things in one file.

use super::{Problem, Tree, problem, protocol_names::is_protocol_file};

const PROTOCOL_LINES: usize = 350;
const FILE_LINES: usize = 800;

pub fn check(tree: &Tree) -> Vec<Problem> {
    let mut problems = Vec::new();
    for file in tree.rust() {
        let most = if is_protocol_file(&file.path) { PROTOCOL_LINES } else { FILE_LINES };
        let lines = file.text.lines().count();
        if lines > most {
            problems.push(problem(file, most + 1, format!("{lines} lines, {most} are allowed")));
        }
    }
    problems
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_may_be_as_long_as_allowed_and_no_longer() {
        let lines = |count: usize| "\n".repeat(count);
        let tree = Tree::fixture(&[
            ("crates/protocols/src/a.rs", &lines(350)),
            ("crates/protocols/src/b.rs", &lines(351)),
            ("crates/x/src/c.rs", &lines(800)),
            ("crates/x/src/d.rs", &lines(801)),
        ]);
        let paths: Vec<_> = check(&tree).into_iter().map(|p| p.path).collect();
        assert_eq!(paths, ["crates/protocols/src/b.rs", "crates/x/src/d.rs"]);
    }
}
