//! Measures how long the certificate of a million transactions takes.
//!
//! `cargo run --release -p kilocore-checker --example million -- [transactions] [records] [workers]`
//!
//! The history is a serial execution, dealt out to the workers. Each transaction has 8 reads and 8 updates of
//! random records. The history must pass. Then one stale read is planted, which the checker must find.

use kilocore_checker::{Requirements, Verdict, check};
use std::time::Instant;
use txn::{
    Digest, History, Read, TableId, Transaction, TxnId, Version, WorkerHistory, Write, WriteKind,
};

const READS: usize = 8;
const WRITES: usize = 8;

fn main() {
    let argument = |index, default| match std::env::args().nth(index) {
        Some(text) => text.parse().expect("a number"),
        None => default,
    };
    let transactions: usize = argument(1, 1_000_000);
    let records: usize = argument(2, 10_000_000);
    let workers: usize = argument(3, 2);

    let start = Instant::now();
    let mut history = serial(transactions, records as u64, workers);
    println!("generated in   {:.2} s", start.elapsed().as_secs_f64());

    let start = Instant::now();
    let certificate = check(&history, Requirements::STRICT);
    let seconds = start.elapsed().as_secs_f64();
    println!("{certificate}");
    let edges = certificate.edges;
    println!("dependencies   {} ww, {} wr, {} rw", edges.ww, edges.wr, edges.rw);
    let rate = transactions as f64 / seconds;
    println!("certified in   {seconds:.2} s, {:.0} thousand txn/s", rate / 1e3);
    assert!(certificate.satisfies(Requirements::STRICT));

    let reads = &mut history.workers[0].reads;
    if let Some(read) = reads.iter_mut().rev().find(|r| r.version != Version::INITIAL) {
        read.version = Version::INITIAL;
        let start = Instant::now();
        let certificate = check(&history, Requirements::STRICT);
        let seconds = start.elapsed().as_secs_f64();
        assert_eq!(certificate.strict, Verdict::Fail);
        println!("a stale read is found in {seconds:.2} s:");
        println!("{}", certificate.counterexample.expect("a counter-example"));
    }
}

fn serial(transactions: usize, records: u64, workers: usize) -> History {
    let mut history = History::of(vec![WorkerHistory::default(); workers], vec![]);
    let mut current = vec![Version::INITIAL; records as usize];
    let mut random = 42u64;
    let mut record = || {
        // Steele, Lea & Flood, "Fast splittable pseudorandom number generators", OOPSLA 2014.
        random = random.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let z = (random ^ random >> 30).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let z = (z ^ z >> 27).wrapping_mul(0x94D0_49BB_1331_11EB);
        (z ^ z >> 31) % records
    };
    let table = TableId(0);
    for number in 0..transactions {
        let worker = &mut history.workers[number % workers];
        // Every third attempt is aborted.
        let attempt = (number / workers) as u64 * 3 / 2;
        let id = TxnId::new(number % workers, attempt);
        let time = number as u64 * 10;
        worker.transactions.push(Transaction {
            id,
            begin: time,
            end: time + 15,
            commit_timestamp: 0,
            first_read: worker.reads.len(),
            first_write: worker.writes.len(),
            first_scan: worker.scans.len(),
        });
        for _ in 0..READS {
            let key = record();
            let version = current[key as usize];
            worker.reads.push(Read { table, key, version, present: true, values: Digest::UNKNOWN });
        }
        for _ in 0..WRITES {
            let key = record();
            let overwritten = current[key as usize];
            let own = overwritten.writer() == id;
            let version = Version::new(id, if own { overwritten.nth() + 1 } else { 1 });
            let kind = WriteKind::Update;
            worker.writes.push(Write {
                table,
                key,
                version,
                overwritten,
                kind,
                values: Digest::UNKNOWN,
            });
            current[key as usize] = version;
        }
    }
    history
}
