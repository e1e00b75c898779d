//! Checks that protocols' names appear only in permitted places. These are the protocol's own file, the registry, the
//! planted bugs, tests, benchmarks, examples, experiments and chores. All other code must also work for protocols
//! that are added later.
//!
//! Comments and sentences may name protocols. Identifiers may not, and neither may strings that consist only of names
//! (a default list).

use super::{Problem, Tree, problem, source::Kind};

/// Files in the protocols' folder that are not protocols.
const NOT_PROTOCOLS: &[&str] = &["lib.rs", "protocol.rs", "options.rs", "registry.rs", "faults.rs"];

/// Ordinary words that are also protocols' names. Only their spelling in capitals counts as a name.
const ORDINARY: &[&str] = &["timestamp", "snapshot"];

/// Returns whether `path` is the file of a protocol.
pub fn is_protocol_file(path: &str) -> bool {
    path.strip_prefix("crates/protocols/src/").is_some_and(|name| {
        name.ends_with(".rs") && !name.contains('/') && !NOT_PROTOCOLS.contains(&name)
    })
}

pub fn check(tree: &Tree) -> Vec<Problem> {
    // Compares names without underscores and in small letters: `no_wait`, `NoWait` and `NO_WAIT` are one name.
    let plain = |word: &str| word.replace('_', "").to_lowercase();
    let stem = |path: &str| {
        let name = path.rsplit('/').next().unwrap_or(path);
        name.trim_end_matches(".rs").to_owned()
    };
    let names: Vec<String> = tree
        .rust()
        .filter(|file| is_protocol_file(&file.path))
        .map(|file| plain(&stem(&file.path)))
        .collect();
    let mut problems = Vec::new();
    for file in tree.rust() {
        let own = is_protocol_file(&file.path).then(|| plain(&stem(&file.path)));
        let free = ["crates/protocols/src/registry.rs", "crates/protocols/src/faults/"];
        let exempt = free.iter().any(|free| file.path.starts_with(free))
            || ["experiments", "xtask"].iter().any(|free| file.crate_name() == Some(free))
            || file.crate_name().is_none();
        if exempt {
            continue;
        }
        let is_name = |word: &str| {
            let name = plain(word);
            let ordinary = ORDINARY.contains(&name.as_str()) && word != word.to_uppercase();
            names.contains(&name) && own.as_ref() != Some(&name) && !ordinary
        };
        for (at, token) in file.tokens.iter().enumerate() {
            let named = match token.kind {
                Kind::Word => is_name(&token.text),
                Kind::Text => token.text.split(',').all(|part| is_name(part.trim())),
                Kind::Mark => false,
            };
            let declared = at > 0
                && file.tokens[at - 1].text == "mod"
                && file.path == "crates/protocols/src/lib.rs";
            if named && !declared && !file.is_test(token.line) {
                let message = format!("{} is a protocol's name; ask the registry", token.text);
                problems.push(problem(file, token.line, message));
            }
        }
    }
    problems
}

#[cfg(test)]
mod tests {
    use super::*;

    const PROTOCOLS: [(&str, &str); 3] = [
        ("crates/protocols/src/no_wait.rs", "pub struct NoWait; const N: &str = \"NO_WAIT\";"),
        ("crates/protocols/src/timestamp.rs", "pub struct Timestamp;"),
        ("crates/protocols/src/lib.rs", "pub mod no_wait;\npub mod timestamp;"),
    ];

    fn lines(path: &str, text: &str) -> Vec<usize> {
        let mut files = PROTOCOLS.to_vec();
        files.push((path, text));
        check(&Tree::fixture(&files)).iter().map(|p| p.line).collect()
    }

    #[test]
    fn names_are_found_in_code_and_in_lists() {
        let text = "use protocols::no_wait;\nlet a = NoWait;\nlet b = \"NO_WAIT\";\n\
                    let c = \"TIMESTAMP, NO_WAIT\";\n";
        assert_eq!(lines("crates/cli/src/lib.rs", text), [1, 2, 3, 4]);
        assert_eq!(lines("crates/protocols/src/timestamp.rs", "use crate::no_wait;"), [1]);
    }

    #[test]
    fn sentences_ordinary_words_and_tests_may_name_them() {
        let text = "// NO_WAIT\nlet timestamp: Timestamp = 1;\nlet c = \"try --cc NO_WAIT\";\n\
                    #[cfg(test)]\nmod tests { const N: &str = \"NO_WAIT\"; }\n";
        assert!(lines("crates/cli/src/lib.rs", text).is_empty());
        assert!(lines("crates/cli/tests/x.rs", "let n = \"NO_WAIT\";").is_empty());
    }
}
