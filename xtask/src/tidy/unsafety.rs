//! Allows `unsafe` only in listed files, and requires a justification beside each use.

use super::{
    Problem, Tree, problem,
    source::{File, Kind},
};

/// Files in which `unsafe` may appear, with the reason. Tests, benchmarks and examples need no row here, but every
/// use in them still needs a justification.
const LISTED: &[(&str, &str)] = &[
    ("crates/machine/src/arena.rs", "maps memory and hands out values in it"),
    ("crates/machine/src/fiber.rs", "stacks of coroutines"),
    ("crates/machine/src/pages.rs", "calls of the system about memory"),
    ("crates/machine/src/mailbox.rs", "a slot belongs to whom its word says"),
    ("crates/machine/src/native.rs", "prefetching"),
    ("crates/machine/src/native/copies.rs", "vector instructions on words"),
    ("crates/harness/benches/limit.rs", "a loop over plain memory"),
    (
        "crates/machine/src/native/barrier.rs",
        "an instruction, and a system call that takes numbers",
    ),
    ("crates/machine/src/native/arrivals.rs", "fibers are handed on by their addresses"),
    ("crates/machine/src/native/clock.rs", "the time-stamp counter"),
    ("crates/machine/src/native/crew.rs", "fibers that borrow from the run that holds them"),
    ("crates/machine/src/native/parking.rs", "queues of sleepers go by addresses of words"),
    ("crates/machine/src/native/tags.rs", "vector instructions on words"),
    ("crates/machine/src/native/strangers.rs", "system calls that tell what was spent"),
    ("crates/machine/src/word.rs", "zeros are valid: the trait and its first members"),
    ("crates/machine/src/core.rs", "who makes a run says that its fibers may move"),
    ("crates/machine/src/explored.rs", "coroutines that borrow from the run that holds them"),
    ("crates/machine/src/explored/core.rs", "a core's turn lies on its coroutine's stack"),
    ("crates/weak-memory/src/machine.rs", "words of an arena; bodies that borrow from their run"),
    ("crates/simulator/src/crews.rs", "zeros are valid: a queue and a stack"),
    ("crates/simulator/src/cache.rs", "indices masked to the table's size"),
    ("crates/simulator/src/core.rs", "a core's turn lies on its coroutine's stack"),
    ("crates/simulator/src/simulated.rs", "coroutines that borrow from the run that holds them"),
    ("crates/simulator/src/queue.rs", "a path from a leaf to the root, checked at the leaf"),
    ("crates/simulator/src/line.rs", "zeros are valid: a line nobody has touched"),
    (
        "crates/simulator/src/scheduler.rs",
        "coroutines are moved between lists, not between threads",
    ),
    ("crates/simulator/src/slab.rs", "maps memory that costs nothing until touched"),
    ("crates/engine/src/admission/permits.rs", "zeros are valid: counts of permits"),
    ("crates/engine/src/admission/permits/group.rs", "zeros are valid: counts of tickets"),
    ("crates/txn/src/procedure.rs", "a workload promises that its procedures may change threads"),
    ("crates/workloads/src/movable.rs", "the bundled workloads promise it"),
    (
        "crates/harness/src/serving.rs",
        "fibers move where engine and workload promise that they may",
    ),
    ("crates/storage/src/appended.rs", "appended rows are words at offsets of an arena"),
    ("crates/storage/src/record.rs", "records are words at offsets of an arena"),
    ("crates/storage/src/shape.rs", "names records by their slots"),
    ("crates/storage/src/hot_columns.rs", "second parts lie at a distance in their slots"),
    ("crates/storage/src/ordered_rows.rs", "guards lie behind their leaves"),
    ("crates/storage/src/values/mod.rs", "values are words at offsets of an arena"),
    ("crates/storage/src/view.rs", "a record's words are seen as what a protocol keeps in them"),
    ("crates/storage/src/reclaim.rs", "zeros are valid: epoch slots"),
    ("crates/storage/src/table/mod.rs", "names records by their slots"),
    ("crates/storage/src/index/hash/mod.rs", "buckets are words at offsets of an arena"),
    ("crates/storage/src/index/hash/growth.rs", "a growth is words at an offset of an arena"),
    ("crates/storage/src/index/key.rs", "the rests of a node's keys are words behind the node"),
    ("crates/storage/src/index_pointers.rs", "zeros are valid: a pointer"),
    ("crates/storage/src/index/perfect.rs", "entries are words at offsets of an arena"),
    ("crates/storage/src/index/red_black/mod.rs", "zeros are valid: the head of the tree"),
    ("crates/storage/src/index/red_black/node.rs", "nodes are words at offsets of an arena"),
    ("crates/storage/src/index/ordered/mod.rs", "zeros are valid: the head of the tree"),
    ("crates/storage/src/index/ordered/node.rs", "nodes are words at offsets of an arena"),
    ("crates/storage/src/store.rs", "the memory of a dropped table is given back"),
    ("crates/engine/src/engine.rs", "the memory of a dropped table is given back"),
    ("crates/engine/src/assignment.rs", "zeros are valid: an entry"),
    ("crates/engine/src/bound_protocol.rs", "records found in an owner's store are its protocol's"),
    ("crates/engine/src/site/owned.rs", "a session's part belongs to whom the mailbox says"),
    ("crates/engine/src/executors.rs", "an errand belongs to whom the mailbox says"),
    ("crates/engine/src/handed.rs", "a value that a job uses belongs to whom the mailbox says"),
    ("crates/engine/src/owned_sites.rs", "actions of a stage belong to one fiber each"),
    ("crates/engine/src/site/alone.rs", "records found in an owner's store are its protocol's"),
    ("crates/engine/src/site/fetch.rs", "records found in an owner's store are its protocol's"),
    ("crates/engine/src/site/scan.rs", "records found in an owner's store are its protocol's"),
    ("crates/engine/src/site/mod.rs", "records found in an owner's store are its protocol's"),
    (
        "crates/protocols/src/mechanisms/lock_queue.rs",
        "queue entries are named by offsets of an arena",
    ),
    ("crates/protocols/src/mechanisms/critical_section.rs", "zeros are valid: a latch"),
    ("crates/protocols/src/mechanisms/commit_order.rs", "zeros are valid: a counter"),
    ("crates/protocols/src/mechanisms/temperature.rs", "zeros are valid: a word"),
    ("crates/protocols/src/mechanisms/versioned_readers.rs", "zeros are valid: a record's words"),
    (
        "crates/protocols/src/mechanisms/lock_table.rs",
        "entries lie by number and offset in an arena",
    ),
    (
        "crates/protocols/src/mechanisms/cancellable_queue.rs",
        "sessions are placed by number in an arena",
    ),
    (
        "crates/protocols/src/mechanisms/registered_readers.rs",
        "entries are named by offsets of an arena",
    ),
    ("crates/protocols/src/mechanisms/dependent_session.rs", "zeros are valid: a session"),
    (
        "crates/protocols/src/mechanisms/retiring_queue.rs",
        "requests and sessions are named by offsets of an arena",
    ),
    (
        "crates/protocols/src/mechanisms/retired_images.rs",
        "images are named by offsets of an arena",
    ),
    (
        "crates/protocols/src/mechanisms/waits_for.rs",
        "the rows of a graph lie by number in an arena",
    ),
    ("crates/protocols/src/mechanisms/turns.rs", "nodes are words at offsets of an arena"),
    (
        "crates/protocols/src/mechanisms/queue_latch.rs",
        "latch nodes are named by offsets of an arena",
    ),
    (
        "crates/protocols/src/mechanisms/version_chain.rs",
        "versions are named by offsets of an arena",
    ),
    (
        "crates/simulator/src/probe/memory.rs",
        "chases pointers through a buffer that it has laid out",
    ),
    ("crates/simulator/src/probe/threads.rs", "pins threads by system calls"),
    ("crates/kilocore/src/seats.rs", "a session and the engine that it borrows, in one seat"),
    ("crates/harness/src/measurement.rs", "zeros are valid: the gate at which workers meet"),
];

pub fn check(tree: &Tree) -> Vec<Problem> {
    let mut problems = Vec::new();
    for file in tree.rust() {
        let listed = LISTED.iter().any(|(path, _)| *path == file.path);
        for (at, token) in file.tokens.iter().enumerate() {
            if token.kind != Kind::Word || token.text != "unsafe" {
                continue;
            }
            // Attributes such as `#![forbid(unsafe)]` and types of function pointers mention `unsafe` but do not use
            // it.
            if !file.tokens.get(at + 1).is_some_and(|t| t.kind == Kind::Word || t.text == "{")
                || file.follows(at + 1, &["fn", "("])
            {
                continue;
            }
            if !listed && !is_free(file, at) && !file.is_test(token.line) {
                let message = "unsafe outside the listed files (tidy/unsafety.rs, with a reason)";
                problems.push(problem(file, token.line, message));
            }
            if !argued(file, at) {
                let message =
                    "unsafe without its argument: // SAFETY: ... (or # Safety on a fn, trait)";
                problems.push(problem(file, token.line, message));
            }
        }
    }
    problems
}

/// Returns whether the use only states that zeros are a valid state of the words that a protocol keeps. This is
/// allowed without a row here: a new protocol needs only one file and one line of the registry.
fn is_free(file: &File, at: usize) -> bool {
    let head = file.tokens[at..].iter().take_while(|token| token.text != "{");
    let words: Vec<&str> = head.map(|token| token.text.as_str()).collect();
    file.crate_name() == Some("protocols")
        && words.starts_with(&["unsafe", "impl"])
        && words.windows(2).any(|pair| pair == ["Zeroed", "for"])
}

fn argued(file: &File, at: usize) -> bool {
    let line = file.tokens[at].line;
    let block = file.tokens[at + 1].text == "{";
    // The comment on a block stands above its statement, which may begin some lines earlier. The comment on an item
    // stands above its attributes.
    let gap = if block { 4 } else { 2 };
    let comment = file.comment_above(line, gap);
    // The nearest comment may concern something else in the statement. The comment above it is then checked too.
    let further = file.comment_above(line.saturating_sub(1), gap);
    let states = |text: &str| text.contains("SAFETY:") || (!block && text.contains("# Safety"));
    states(&comment) || states(&further)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(path: &str, text: &str) -> Vec<usize> {
        check(&Tree::fixture(&[(path, text)])).iter().map(|p| p.line).collect()
    }

    #[test]
    fn only_listed_files_may() {
        let text = "// SAFETY: zeros.\nunsafe impl Zeroed for X {}\n";
        assert_eq!(lines("crates/workloads/src/a.rs", text), [2]);
        assert!(lines("crates/machine/src/word.rs", text).is_empty());
        assert!(lines("crates/workloads/tests/a.rs", text).is_empty());
        // Declaring zeros valid is allowed in a protocol. Other uses of `unsafe` are not.
        let generic = "// SAFETY: zeros.\nunsafe impl<M: Machine> Zeroed for X<M> {}\n";
        assert!(lines("crates/protocols/src/a.rs", text).is_empty());
        assert!(lines("crates/protocols/src/a.rs", generic).is_empty());
        let send = "// SAFETY: none.\nunsafe impl Send for Zeroed {}\n";
        assert_eq!(lines("crates/protocols/src/a.rs", send), [2]);
    }

    #[test]
    fn every_use_has_its_argument() {
        let text = "unsafe impl A for X {}\n\n// a remark\nfn f() {\n    unsafe { g() };\n}\n\n\
                    /// Does.\npub unsafe fn h() {}\n\n/// # Safety\n/// Never call it.\n#[inline]\n\
                    pub unsafe fn i() {}\n\nfn j() {\n    // SAFETY: read only.\n    let x =\n\
                    \u{20}       unsafe { g() };\n}\ntype K = unsafe fn();\n";
        assert_eq!(lines("crates/machine/src/word.rs", text), [1, 5, 9]);
    }
}
