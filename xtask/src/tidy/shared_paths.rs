//! Checks that code that runs on every machine synchronises only through a `Core`. An atomic, a mutex or a
//! thread-local of the standard library would be invisible to the explorer and free in simulation.

use super::{
    Problem, Tree, problem,
    source::{File, Kind},
};

/// Crates whose code runs on simulated cores and explored schedules.
const SHARED: &[&str] =
    &["txn", "storage", "protocols", "engine", "workloads", "kilocore", "checker"];

/// Files in these crates that may block with the operating system's primitives (`machine::cold`), with the reason.
const COLD: &[(&str, &str)] = &[
    (
        "crates/storage/src/table/mod.rs",
        "spaces are taken and returned when sessions start and end",
    ),
    ("crates/storage/src/aside.rs", "recorded runs only: what is evidence is put aside"),
    ("crates/storage/src/ordered_rows.rs", "loading: what goes into the index is noted"),
    ("crates/storage/src/loader.rs", "loading: nothing runs yet"),
    ("crates/engine/src/admission/limits.rs", "one service alone uses the regulator"),
    ("crates/storage/src/values/mod.rs", "sessions hand over free slots by the dozen"),
    (
        "crates/protocols/src/mechanisms/version_chain.rs",
        "sessions hand over free slots by the dozen",
    ),
];

pub fn check(tree: &Tree) -> Vec<Problem> {
    let mut problems = Vec::new();
    let in_shared = |file: &&File| file.crate_name().is_some_and(|name| SHARED.contains(&name));
    for file in tree.rust().filter(in_shared) {
        let cold = COLD.iter().any(|(path, _)| *path == file.path)
            // The embeddable database runs on its own threads. It must start and stop them and manage slots.
            || file.crate_name() == Some("kilocore");
        for (at, token) in file.tokens.iter().enumerate() {
            if token.kind != Kind::Word || file.is_test(token.line) {
                continue;
            }
            let message = match token.text.as_str() {
                "thread_local" => {
                    "no thread-locals on shared paths: a core is passed on explicitly"
                }
                "sync" if file.is_within(at, &["std", "core", "alloc"]) => {
                    "no std::sync on shared paths: words go through a Core, cold paths through machine::cold"
                }
                "parking_lot" if !cold => {
                    "no locks on shared paths; cold paths go through machine::cold"
                }
                "Mutex" | "RwLock" | "Condvar" if !cold && file.is_within(at, &["cold"]) => {
                    "blocks by the operating system's means; cold files are listed in tidy/shared_paths.rs"
                }
                _ => continue,
            };
            problems.push(problem(file, token.line, message));
        }
    }
    problems
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(path: &str, text: &str) -> Vec<usize> {
        check(&Tree::fixture(&[(path, text)])).iter().map(|p| p.line).collect()
    }

    #[test]
    fn the_standard_librarys_synchronisation_is_found() {
        let text = "use std::sync::Arc;\nuse std::{\n    fmt::{self},\n    sync::atomic::AtomicU64,\n};\n\
                    thread_local! { static X: u8 = 0; }\nuse machine::cold::Mutex;\n";
        assert_eq!(lines("crates/protocols/src/a.rs", text), [1, 4, 6, 7]);
    }

    #[test]
    fn other_crates_other_words_and_tests_pass() {
        let text = "use std::sync::Arc;";
        assert!(lines("crates/machine/src/a.rs", text).is_empty());
        assert!(lines("crates/storage/tests/a.rs", text).is_empty());
        let text = "use disk::sync;\nuse disk::{sync};\nfn sync() {}\nuse machine::cold::Arc; f(Allocation::Mutex);";
        assert!(lines("crates/storage/src/a.rs", text).is_empty());
        assert!(lines("crates/storage/src/table/mod.rs", "use machine::cold::Mutex;").is_empty());
    }
}
