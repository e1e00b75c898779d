//! Requires a comment for sequentially consistent memory orderings. Acquire, release and relaxed need none. `SeqCst`
//! is rarely needed and often copied, so a comment must give the reason.

use super::{Problem, Tree, problem, source::Kind};

pub fn check(tree: &Tree) -> Vec<Problem> {
    let mut problems = Vec::new();
    for file in tree.rust() {
        for token in file.tokens.iter().filter(|t| t.kind == Kind::Word && t.text == "SeqCst") {
            if file.comment_above(token.line, 2).is_empty() {
                let message = "sequential consistency needs a comment that says why";
                problems.push(problem(file, token.line, message));
            }
        }
    }
    problems
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sequential_consistency_says_why() {
        let text = "fn a() {\n    x.load(Ordering::Acquire);\n    y();\n    fence(Ordering::SeqCst);\n}\n\
                    // Stores before loads of others.\nfence(Ordering::SeqCst);\n\
                    let a = 1;\nlet b = 2;\nlet c = 3;\nlet d = SeqCst; // Total order of both flags.\n";
        let tree = Tree::fixture(&[("crates/machine/src/a.rs", text)]);
        assert_eq!(check(&tree).iter().map(|p| p.line).collect::<Vec<_>>(), [4]);
    }
}
