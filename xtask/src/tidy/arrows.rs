//! Checks the layers: which crate may use which. No dependency may point to a higher layer.

use super::{Problem, Tree, problem};

/// A crate and the crates of this workspace that its `[dependencies]` may name.
const ARROWS: &[(&str, &[&str])] = &[
    ("txn", &[]),
    ("machine", &[]),
    ("simulator", &["machine"]),
    ("storage", &["machine", "txn"]),
    ("protocols", &["storage", "machine", "txn"]),
    ("engine", &["protocols", "storage", "machine", "txn"]),
    ("derive", &[]),
    ("kilocore", &["engine", "protocols", "storage", "machine", "txn", "derive"]),
    ("workloads", &["txn"]),
    ("checker", &["txn"]),
    ("weak-memory", &["machine"]),
    (
        "harness",
        &["engine", "protocols", "storage", "machine", "simulator", "workloads", "checker", "txn"],
    ),
    (
        "experiments",
        &["harness", "engine", "protocols", "machine", "simulator", "workloads", "txn"],
    ),
    (
        "cli",
        &[
            "experiments",
            "harness",
            "kilocore",
            "checker",
            "workloads",
            "engine",
            "protocols",
            "simulator",
            "machine",
            "txn",
        ],
    ),
    ("xtask", &[]),
];

/// Leaf crates. No other crate may use them, even in tests. The one exception is that `cli` uses `experiments`.
const LEAVES: &[&str] = &["cli", "experiments", "weak-memory", "xtask"];

pub fn check(tree: &Tree) -> Vec<Problem> {
    let mut problems = Vec::new();
    for file in tree.files.iter().filter(|file| file.name() == "Cargo.toml") {
        let Some(from) = file.crate_name() else { continue };
        let Some((_, allowed)) = ARROWS.iter().find(|(name, _)| *name == from) else {
            let message =
                format!("crate {from} has no row in the table of layers (tidy/arrows.rs)");
            problems.push(problem(file, 1, message));
            continue;
        };
        for dependency in dependencies(&file.text) {
            let to = dependency.name.strip_prefix("kilocore-").unwrap_or(dependency.name);
            let ours = ARROWS.iter().any(|(name, _)| *name == to);
            let leaf = LEAVES.contains(&to) && !(from == "cli" && to == "experiments");
            let message = if !ours {
                continue;
            } else if leaf {
                format!("{from} uses {to}, a leaf")
            } else if !dependency.development && !allowed.contains(&to) {
                format!("{from} must not use {to}: the arrows allow {allowed:?}")
            } else {
                continue;
            };
            problems.push(problem(file, dependency.line, message));
        }
    }
    problems
}

struct Dependency<'a> {
    name: &'a str,
    line: usize,
    development: bool,
}

/// Returns the dependencies in a `Cargo.toml`. A renamed dependency is listed under its package's name.
fn dependencies(text: &str) -> Vec<Dependency<'_>> {
    let mut found = Vec::new();
    // Set if the section lists dependencies. True if these are development dependencies.
    let mut section = None;
    for (at, line) in text.lines().enumerate() {
        let line = line.trim();
        let mut add = |name, development| {
            found.push(Dependency { name, line: at + 1, development });
        };
        if let Some(header) = line.strip_prefix('[') {
            let header = header.trim_end_matches(']');
            let kind = |name: &str| match name.rsplit('.').next() {
                Some("dependencies" | "build-dependencies") => Some(false),
                Some("dev-dependencies") => Some(true),
                _ => None,
            };
            section = kind(header);
            // [dependencies.name]
            if let Some((parent, name)) = header.rsplit_once('.')
                && let Some(development) = kind(parent)
            {
                add(name, development);
            }
            continue;
        }
        let Some(development) = section else { continue };
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        let package = line.split_once("package").and_then(|(_, rest)| rest.split('"').nth(1));
        let key = line.split(['=', '.', ' ']).next().unwrap_or(line);
        add(package.unwrap_or(key), development);
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(path: &str, text: &str) -> Vec<usize> {
        check(&Tree::fixture(&[(path, text)])).iter().map(|p| p.line).collect()
    }

    #[test]
    fn an_arrow_that_points_back_is_found_however_it_is_written() {
        let toml = "[dependencies]\nmachine.workspace = true\nprotocols.workspace = true\n\
                    x = { package = \"kilocore-harness\", path = \"..\" }\n\n[dependencies.kilocore]\n\
                    path = \"x\"\n[target.'cfg(unix)'.dependencies]\nchecker = \"1\"\n";
        assert_eq!(lines("crates/storage/Cargo.toml", toml), [3, 4, 6, 9]);
    }

    #[test]
    fn arrows_of_the_design_pass_and_tests_are_freer() {
        let toml = "[package]\nname = \"kilocore-txn\"\n[dependencies]\nserde = \"1\"\n\
                    [dev-dependencies]\nmachine.workspace = true\n";
        assert!(lines("crates/txn/Cargo.toml", toml).is_empty());
        assert_eq!(lines("crates/txn/Cargo.toml", "[dev-dependencies]\ncli = \"1\"\n"), [2]);
    }

    #[test]
    fn a_crate_without_a_row_is_named() {
        assert_eq!(lines("crates/surprise/Cargo.toml", ""), [1]);
    }
}
