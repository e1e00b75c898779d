//! Limits the length of files and functions. A longer one usually combines two tasks.

use super::{
    Problem, Tree, problem,
    protocol_names::is_protocol_file,
    source::{File, Kind, Token},
};

const PROTOCOL_LINES: usize = 350;
const FILE_LINES: usize = 800;
const FUNCTION_LINES: usize = 70;

pub fn check(tree: &Tree) -> Vec<Problem> {
    let mut problems = Vec::new();
    for file in tree.rust() {
        let most = if is_protocol_file(&file.path) { PROTOCOL_LINES } else { FILE_LINES };
        let lines = file.text.lines().count();
        if lines > most {
            problems.push(problem(file, most + 1, format!("{lines} lines, {most} are allowed")));
        }
        for function in functions(file).into_iter().filter(|f| f.lines > FUNCTION_LINES) {
            let Function { name, first, lines } = function;
            let told = format!("`{name}` has {lines} lines, {FUNCTION_LINES} are allowed");
            problems.push(problem(file, first, told));
        }
    }
    problems
}

/// A function with a body, from its `fn` to its closing brace.
struct Function<'a> {
    name: &'a str,
    first: usize,
    lines: usize,
}

fn functions(file: &File) -> Vec<Function<'_>> {
    let tokens = &file.tokens;
    let mut functions = Vec::new();
    let is_fn = |token: &Token| (token.kind, &*token.text) == (Kind::Word, "fn");
    for at in (0..tokens.len()).filter(|at| is_fn(&tokens[*at])) {
        // A type `fn(...)` has no name.
        let Some(name) = tokens.get(at + 1).filter(|token| token.kind == Kind::Word) else {
            continue;
        };
        // The body starts at the first brace outside of parentheses. A declaration without a body ends before one.
        let mut depth = 0usize;
        let mut body = false;
        for token in tokens[at + 2..].iter().filter(|token| token.kind == Kind::Mark) {
            match token.text.as_str() {
                ";" if depth == 0 => break,
                "{" | "(" | "[" => {
                    body |= depth == 0 && token.text == "{";
                    depth += 1;
                }
                "}" | ")" | "]" => depth = depth.saturating_sub(1),
                _ => continue,
            }
            if body && depth == 0 {
                let first = tokens[at].line;
                let lines = token.line + 1 - first;
                functions.push(Function { name: &name.text, first, lines });
                break;
            }
        }
    }
    functions
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

    #[test]
    fn functions_may_be_as_long_as_allowed_and_no_longer() {
        let function = |name: &str, lines: usize| {
            let rest = "\n".repeat(lines - 1);
            format!("    fn {name}(a: [u8; 2]) -> u8 {{ \"{{\";{rest}    }}\n")
        };
        let text = format!(
            "trait T {{\n    fn declared(f: fn());\n{}{}}}\n",
            function("short", 70),
            function("long", 71),
        );
        let tree = Tree::fixture(&[("crates/x/src/a.rs", &text)]);
        let found: Vec<_> = check(&tree).into_iter().map(|p| (p.path, p.line, p.message)).collect();
        let told = "`long` has 71 lines, 70 are allowed".to_owned();
        assert_eq!(found, [("crates/x/src/a.rs".to_owned(), 73, told)]);
    }
}
