//! Forbids meaningless words in identifiers and file names.

use super::{Problem, Tree, problem, source::Kind};

const BANNED: &[&str] =
    &["util", "utils", "common", "helper", "helpers", "manager", "managers", "misc", "v2", "tmp"];

/// Names from dependencies, which cannot be changed here, with their owners.
const THEIRS: &[(&str, &str)] = &[
    ("new_unchecked", "the standard library's NonNull"),
    ("new_spinner", "indicatif's ProgressBar"),
];

pub fn check(tree: &Tree) -> Vec<Problem> {
    let mut problems = Vec::new();
    for file in &tree.files {
        for part in file.path.split(['/', '.', '-']) {
            if let Some(word) = banned(part) {
                problems.push(problem(file, 1, format!("{word:?} in a file's name")));
            }
        }
        for token in file.tokens.iter().filter(|token| token.kind == Kind::Word) {
            if THEIRS.iter().any(|(name, _)| *name == token.text) {
                continue;
            }
            if let Some(word) = banned(&token.text) {
                let message = format!("{word:?} in {}: say what it is", token.text);
                problems.push(problem(file, token.line, message));
            }
        }
    }
    problems
}

/// Returns the forbidden word in an identifier, if it has one.
fn banned(identifier: &str) -> Option<String> {
    if identifier.starts_with("new_") {
        return Some("new_".to_owned());
    }
    let mut words = Vec::new();
    for part in identifier.split('_') {
        let mut word = String::new();
        let mut small = false;
        for letter in part.chars() {
            // A capital after a small letter starts a word, as in `LockManager`.
            if letter.is_uppercase() && small {
                words.push(std::mem::take(&mut word));
            }
            small = !letter.is_uppercase();
            word.extend(letter.to_lowercase());
        }
        words.push(word);
    }
    words.into_iter().find(|word| BANNED.contains(&word.as_str()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_that_say_nothing_are_found_in_identifiers_and_names() {
        let text = "fn lock_manager() {}\nstruct LockManager;\nlet new_value = 1;\nlet tmp = 2;\n\
                    let v2 = 3;\nconst UTIL: u8 = 1;\n";
        let tree =
            Tree::fixture(&[("a.rs", text), ("src/string_utils.rs", ""), ("docs/misc.md", "")]);
        let lines: Vec<_> = check(&tree).into_iter().map(|p| p.line).collect();
        assert_eq!(lines, [1, 2, 3, 4, 5, 6, 1, 1]);
    }

    #[test]
    fn longer_words_strings_and_prose_pass() {
        let text = "// the common case, a helper\nfn commonly(newer: u8, new: u8, renew_all: u8) {}\n\
                    let s = \"manager\"; let utilisation = 1;";
        assert!(check(&Tree::fixture(&[("a.rs", text)])).is_empty());
    }
}
