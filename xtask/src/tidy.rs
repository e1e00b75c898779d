//! Checks the house rules. Each rule is a file in this folder. Its tests are small texts that break the rule.

mod arrows;
mod front;
mod lengths;
mod orderings;
mod places;
mod protocol_names;
mod shared_paths;
mod source;
mod unsafety;
mod words;

use crate::Outcome;
use source::File;
use std::{fmt, path::Path, process::Command};

/// A place where a rule is broken.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Problem {
    path: String,
    line: usize,
    message: String,
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}: {}", self.path, self.line, self.message)
    }
}

fn problem(file: &File, line: usize, message: impl Into<String>) -> Problem {
    Problem { path: file.path.clone(), line, message: message.into() }
}

/// All files that git tracks or would track.
struct Tree {
    files: Vec<File>,
}

impl Tree {
    fn read(root: &Path) -> Result<Tree, String> {
        let listed = Command::new("git")
            .args(["ls-files", "--cached", "--others", "--exclude-standard", "-z"])
            .current_dir(root)
            .output()
            .map_err(|error| format!("git ls-files: {error}"))?;
        if !listed.status.success() {
            return Err(format!("git ls-files: {}", String::from_utf8_lossy(&listed.stderr)));
        }
        let names = String::from_utf8_lossy(&listed.stdout).into_owned();
        let mut names: Vec<&str> = names.split('\0').filter(|name| !name.is_empty()).collect();
        names.sort_unstable();
        names.dedup();
        let read = |name: &&str| {
            let bytes = std::fs::read(root.join(name)).ok()?;
            // A file that is not text gets an empty text, so that rules on names still apply.
            Some(File::new(name, &String::from_utf8(bytes).unwrap_or_default()))
        };
        Ok(Tree::of(names.iter().filter_map(read).collect()))
    }

    fn of(mut files: Vec<File>) -> Tree {
        source::mark_test_modules(&mut files);
        Tree { files }
    }

    #[cfg(test)]
    fn fixture(files: &[(&str, &str)]) -> Tree {
        Tree::of(files.iter().map(|(path, text)| File::new(path, text)).collect())
    }

    /// Returns the Rust sources.
    fn rust(&self) -> impl Iterator<Item = &File> {
        self.files.iter().filter(|file| file.path.ends_with(".rs"))
    }

    fn problems(&self) -> Vec<Problem> {
        let rules: [fn(&Tree) -> Vec<Problem>; 9] = [
            arrows::check,
            front::check,
            lengths::check,
            orderings::check,
            places::check,
            protocol_names::check,
            shared_paths::check,
            unsafety::check,
            words::check,
        ];
        let mut problems: Vec<Problem> = rules.iter().flat_map(|rule| rule(self)).collect();
        problems.sort();
        problems
    }
}

/// Prints every broken rule. Fails if there is one.
pub fn run(root: &Path, _: &[String]) -> Outcome {
    let tree = Tree::read(root)?;
    let problems = tree.problems();
    for problem in &problems {
        println!("{problem}");
    }
    match problems.len() {
        0 => {
            println!("tidy: {} files, nothing to complain about", tree.files.len());
            Ok(())
        }
        count => Err(format!("tidy: {count} broken rules")),
    }
}
