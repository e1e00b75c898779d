//! Finds what was measured in a run of the program, among the measurements that are compiled in.

use super::Program;
use crate::validate::{
    CARRIED_BREAKDOWN, CARRIED_THROUGHPUT, Line, MAPPING, Placement, Shares, Table, ValidateError,
    shares_of,
};
use std::sync::LazyLock;

/// Measured values of one run.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Measured {
    /// Number of hardware threads.
    pub cores: u64,
    /// Transactions per second.
    pub throughput_txn_per_s: f64,
    /// Aborts divided by attempts.
    pub abort_ratio: f64,
    /// Shares of time by measured category. Empty if there are none, or if they don't sum to 1.
    pub shares: Shares,
}

/// Columns that both files have.
const KEYS: [&str; 8] =
    ["platform", "variant", "scheme", "warehouses", "cores", "smt", "numa", "remote_neworder_pct"];

/// Values of a line's columns, in the order of [`KEYS`], and the order of threads.
type Key = Vec<String>;

/// All rows of `throughput.csv`: key, percentage of remote payments, throughput, abort ratio.
type Throughputs = Vec<(Key, String, f64, f64)>;

static ROWS: LazyLock<(Throughputs, Vec<(Key, Shares)>)> = LazyLock::new(|| {
    let throughputs = throughput_rows(CARRIED_THROUGHPUT);
    let shares = share_rows(CARRIED_BREAKDOWN);
    let read = throughputs.and_then(|throughputs| Ok((throughputs, shares?)));
    read.expect("the rows in the program are well-formed")
});

fn throughput_rows(text: &str) -> Result<Throughputs, ValidateError> {
    let values = ["remote_payment_pct", "throughput_txn_per_s", "abort_ratio"];
    let needed: Vec<&str> = KEYS.into_iter().chain(values).collect();
    let table = Table::parse(text, "throughput.csv", &needed, &["placement"])?;
    let mut rows = Vec::new();
    for line in table.lines() {
        let line = line?;
        let key = key_of(&line);
        let number = |column| line.number(column, "a number", |_| true);
        let payments = line.text("remote_payment_pct").to_owned();
        rows.push((key, payments, number("throughput_txn_per_s")?, number("abort_ratio")?));
    }
    Ok(rows)
}

fn share_rows(text: &str) -> Result<Vec<(Key, Shares)>, ValidateError> {
    let needed: Vec<&str> = KEYS.into_iter().chain(MAPPING.map(|(name, _)| name)).collect();
    let table = Table::parse(text, "breakdown.csv", &needed, &["placement"])?;
    let mut rows = Vec::new();
    for line in table.lines() {
        let line = line?;
        let key = key_of(&line);
        // Shares that overlap are no shares of time.
        rows.extend(shares_of(&line)?.ok().map(|shares| (key, shares)));
    }
    Ok(rows)
}

fn key_of(line: &Line<'_>) -> Key {
    key(&KEYS.map(|column| line.text(column)), line.text("placement"))
}

/// Returns the key of columns. Names of one thing are made alike: `opt8` and `optimised` have the same options, the Superdome
/// Flex fills both threads of a core by itself, and all sockets are alike.
fn key(columns: &[&str; 8], order: &str) -> Key {
    let order = order.split_once("-from-socket").map_or(order, |(word, _)| word);
    let order = if order.is_empty() && columns[0] == "hpe" { "ht2-adjacent" } else { order };
    let alike = |text: &&str| if *text == "opt8" { "optimised" } else { *text }.to_owned();
    columns.iter().map(alike).chain([order.to_owned()]).collect()
}

/// Returns what was measured in `run`: the geometric mean of the throughputs and the mean of the rest, if there are several
/// rows.
pub(super) fn of(run: &Program) -> Option<Measured> {
    // The measured program's remote warehouses were anywhere.
    if run.remote != super::Remote::Anywhere {
        return None;
    }
    // The measured program placed warehouses by its loader's rule unless a distance was forced.
    if run.numa == "all" && run.placement != Placement::Loader {
        return None;
    }
    let cores = run.beside.unwrap_or(run.cores);
    let numbers = [run.warehouses, cores, run.smt].map(|number| number.to_string());
    let lines = run.remote_pct.0.to_string();
    let [warehouses, threads, smt] = &numbers;
    let key = key(
        &[run.platform, run.variant, run.scheme, warehouses, threads, smt, run.numa, &lines],
        run.order,
    );
    let payments = run.remote_pct.1.to_string();
    let (throughputs, shares) = &*ROWS;
    let rows: Vec<_> =
        throughputs.iter().filter(|(other, p, ..)| *other == key && *p == payments).collect();
    if rows.is_empty() {
        return None;
    }
    let mean = |of: &dyn Fn(f64, f64) -> f64| {
        rows.iter().map(|(.., rate, aborts)| of(*rate, *aborts)).sum::<f64>() / rows.len() as f64
    };
    let shares = shares.iter().find(|(other, _)| *other == key);
    Some(Measured {
        cores,
        throughput_txn_per_s: mean(&|rate, _| rate.ln()).exp(),
        abort_ratio: mean(&|_, aborts| aborts),
        shares: shares.map(|(_, shares)| shares.clone()).unwrap_or_default(),
    })
}
