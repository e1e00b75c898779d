//! Counts the instructions that the machine trait adds to plain atomics, and those that a real transaction executes.
//! Instructions are counted because a count, unlike a time, is the same on a busy machine. Branches that callgrind's model of a
//! predictor gets wrong are counted beside them: one of them costs as much as dozens of instructions, so a change can add
//! instructions and save time.

use crate::{Outcome, cargo, json, must, target_directory};
use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
};

/// Largest allowed difference between the two loops, in per cent of the loop written by hand.
const MOST_PER_CENT: f64 = 3.0;
const RECORD: &str = "results/instructions.json";

/// Program, its arguments before the number of transactions, and two lengths of a run. The difference between the two
/// lengths excludes start-up, loading and shutdown.
struct Counted {
    program: PathBuf,
    arguments: Vec<String>,
    transactions: [u64; 2],
}

/// Loops that measure the machine trait: written by hand, through the trait, and with a stopwatch that is off.
const LOOPS: [&str; 3] = ["hand", "trait", "accounted"];
/// Workloads whose transactions are counted under every protocol.
const WORKLOADS: [&str; 5] = ["ycsb-reads", "ycsb-rows", "ycsb", "tpcc-narrow", "tpcc"];
const LOOP_LENGTHS: [u64; 2] = [2_000, 12_000];
const WORKLOAD_LENGTHS: [u64; 2] = [500, 2_500];

/// Counts, prints and records instructions. Fails if the trait costs too much.
pub fn run(root: &Path, _: &[String]) -> Outcome {
    if Command::new("valgrind").arg("--version").output().is_err() {
        println!("valgrind absent: no instructions counted");
        return Ok(());
    }
    let mut counts = Vec::new();
    for Counted { program, arguments, transactions } in counted(root)? {
        let example = program.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let name = format!("{example} {}", arguments.join(" "));
        let runs = transactions.map(|transactions| {
            let mut command = vec![program.display().to_string()];
            command.extend(arguments.iter().cloned());
            command.push(transactions.to_string());
            count(&target_directory(root), &command)
        });
        let [short, long] = runs;
        let (short, long) = (short?, long?);
        let each = per_transaction(transactions, [short.instructions, long.instructions]);
        let mispredicted = per_transaction(transactions, [short.mispredicted, long.mispredicted]);
        println!(
            "{name:<38} {each:>9.1} instructions a transaction, {mispredicted:>6.1} branches mispredicted"
        );
        counts.push(Count { name, transactions, short, long, each, mispredicted });
    }
    let cost = per_cent(counts[0].each, counts[1].each);
    println!("the trait costs {cost:+.2} % ({MOST_PER_CENT} % either way allowed)");
    let path = root.join(RECORD);
    fs::create_dir_all(path.parent().unwrap_or(root)).map_err(|e| e.to_string())?;
    fs::write(&path, record(&counts, cost)).map_err(|error| format!("{RECORD}: {error}"))?;
    println!("recorded in {RECORD}");
    // A large negative difference is an error too: it shows that two different loops were compared.
    if cost.abs() > MOST_PER_CENT {
        return Err(format!("the two loops differ by {cost:.2} %, more than {MOST_PER_CENT} %"));
    }
    Ok(())
}

/// Builds the programs whose instructions are counted.
fn counted(root: &Path) -> Result<Vec<Counted>, String> {
    let built = |package: &str, example: &str, features: &str| {
        let what = ["--package", package, "--example", example, "--features", features];
        must(cargo(root).args(["build", "--release"]).args(what))?;
        Ok::<_, String>(target_directory(root).join("release/examples").join(example))
    };
    let trait_cost = built("kilocore-machine", "trait_cost", "")?;
    let loops = LOOPS.map(|name| Counted {
        program: trait_cost.clone(),
        arguments: vec![name.to_owned()],
        transactions: LOOP_LENGTHS,
    });
    let transaction_cost = built("kilocore-harness", "transaction_cost", "instructions")?;
    let listed = Command::new(&transaction_cost).arg("protocols").output();
    let listed = listed.map_err(|error| format!("{}: {error}", transaction_cost.display()))?;
    let protocols = String::from_utf8_lossy(&listed.stdout).into_owned();
    let pairs = WORKLOADS.iter().flat_map(|workload| {
        protocols.lines().map(|protocol| vec![(*workload).to_owned(), protocol.to_owned()])
    });
    let transactions = pairs.map(|arguments| Counted {
        program: transaction_cost.clone(),
        arguments,
        transactions: WORKLOAD_LENGTHS,
    });
    Ok(loops.into_iter().chain(transactions).collect())
}

/// These counts are those of one run of a program. They include its start-up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Executed {
    instructions: u64,
    /// Branches and indirect jumps that go another way than the modelled predictor has said.
    mispredicted: u64,
}

struct Count {
    name: String,
    transactions: [u64; 2],
    short: Executed,
    long: Executed,
    /// Number of instructions a transaction.
    each: f64,
    /// Number of mispredicted branches a transaction.
    mispredicted: f64,
}

fn per_transaction(transactions: [u64; 2], counted: [u64; 2]) -> f64 {
    let more = counted[1] as f64 - counted[0] as f64;
    more / (transactions[1] - transactions[0]) as f64
}

fn per_cent(hand: f64, other: f64) -> f64 {
    (other - hand) / hand * 100.0
}

/// Returns the counts of a run of `command`.
fn count(target: &Path, command: &[String]) -> Result<Executed, String> {
    let out: PathBuf = target.join("callgrind.out");
    let output = Command::new("valgrind")
        .args(["--tool=callgrind", "--branch-sim=yes"])
        .arg(format!("--callgrind-out-file={}", out.display()))
        .args(command)
        .output()
        .map_err(|error| format!("valgrind: {error}"))?;
    let text = String::from_utf8_lossy(&output.stderr).into_owned();
    if !output.status.success() {
        return Err(format!("valgrind {}: {}\n{text}", command.join(" "), output.status));
    }
    collected(&text).ok_or_else(|| format!("valgrind said nothing of instructions:\n{text}"))
}

/// Returns the numbers behind valgrind's "Collected :": instructions, branches, those mispredicted, indirect jumps, those mispredicted.
fn collected(text: &str) -> Option<Executed> {
    let rest = text.lines().find_map(|line| line.split_once("Collected :"))?.1;
    let numbers: Vec<u64> = rest.split_whitespace().map_while(|one| one.parse().ok()).collect();
    let [instructions, _, branches, _, jumps] = numbers[..] else { return None };
    Some(Executed { instructions, mispredicted: branches + jumps })
}

fn record(counts: &[Count], cost: f64) -> String {
    let rows: Vec<String> = counts
        .iter()
        .map(|count| {
            format!(
                "    {{\"run\": {}, \"transactions\": [{}, {}], \"instructions\": [{}, {}], \
                 \"instructions_per_txn\": {:.1}, \"mispredicted_per_txn\": {:.1}}}",
                json::quoted(&count.name),
                count.transactions[0],
                count.transactions[1],
                count.short.instructions,
                count.long.instructions,
                count.each,
                count.mispredicted
            )
        })
        .collect();
    format!(
        "{{\n  \"counter\": \"callgrind\",\n  \"architecture\": {},\n  \
         \"trait_cost_per_cent\": {cost:.3},\n  \"counts\": [\n{}\n  ]\n}}\n",
        json::quoted(std::env::consts::ARCH),
        rows.join(",\n")
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn start_up_is_subtracted() {
        assert_eq!(per_transaction([10, 110], [1_500, 21_500]), 200.0);
        assert!((per_cent(200.0, 205.0) - 2.5).abs() < 1e-9);
    }

    #[test]
    fn valgrinds_count_is_read() {
        let text = "==1== Events    : Ir Bc Bcm Bi Bim\n==1== Collected : 123456 2000 300 40 5\n";
        let expected = Executed { instructions: 123_456, mispredicted: 305 };
        assert_eq!(collected(text), Some(expected));
        assert_eq!(collected("==1== Collected : 123456\n"), None);
        assert_eq!(collected("nothing"), None);
    }
}
