//! Checks that no file depends on the machine on which it was written. Absolute paths of one machine are forbidden,
//! and so are package registries other than the public one.

use super::{Problem, Tree, problem};

/// First parts of absolute paths that exist on one person's machine.
const HOMES: &[&str] = &["home", "root", "Users", "work", "workspace", "mnt", "builds"];

/// Package index that a lock file may name.
const INDEX: &str = "registry+https://github.com/rust-lang/crates.io-index";

pub fn check(tree: &Tree) -> Vec<Problem> {
    let mut problems = Vec::new();
    for file in &tree.files {
        let settings = file.path.ends_with(".toml");
        let lock = file.name() == "Cargo.lock";
        for (at, line) in file.text.lines().enumerate() {
            if let Some(home) = HOMES.iter().find(|home| has_path(line, home)) {
                let message = format!("an absolute path of one machine, below /{home}");
                problems.push(problem(file, at + 1, message));
            }
            let elsewhere = ["[source", "[registries", "replace-with"];
            if settings && elsewhere.iter().any(|word| line.trim_start().starts_with(word)) {
                problems.push(problem(file, at + 1, "a package registry of one's own"));
            }
            if lock && line.starts_with("source = ") && !line.contains(INDEX) {
                problems.push(problem(
                    file,
                    at + 1,
                    "a package from elsewhere than the public index",
                ));
            }
        }
    }
    problems
}

/// Returns whether `line` has an absolute path that begins with the folder `home`.
fn has_path(line: &str, home: &str) -> bool {
    line.match_indices(home).any(|(at, _)| {
        let before = &line[..at];
        let outside = |c: char| !(c.is_alphanumeric() || "._-/<:)*}]".contains(c));
        before.ends_with('/')
            && before[..at - 1].chars().next_back().is_none_or(outside)
            && line[at + home.len()..].starts_with('/')
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_of_one_machine_are_found() {
        let path = |home: &str| format!("see \"/{home}/me/x\"");
        let text =
            format!("{}\n{}\nhome/x /home https://x.org/home/x\n", path("home"), path("root"));
        let tree = Tree::fixture(&[("docs/a.md", &text)]);
        assert_eq!(check(&tree).iter().map(|p| p.line).collect::<Vec<_>>(), [1, 2]);
    }

    #[test]
    fn other_registries_are_found() {
        let lock = format!("source = \"{INDEX}\"\nsource = \"registry+https://mirror/x\"\n");
        let settings = "[alias]\nx = \"y\"\n[source.crates-io]\nreplace-with = \"m\"\n";
        let tree = Tree::fixture(&[("Cargo.lock", &lock), (".cargo/config.toml", settings)]);
        assert_eq!(check(&tree).iter().map(|p| p.line).collect::<Vec<_>>(), [2, 3, 4]);
    }
}
