//! Measures how long it takes to draw a YCSB transaction, in nanoseconds, for several skews.
//!
//! `cargo run --release -p kilocore-workloads --example drawing_speed`

use kilocore_workloads::ycsb::{Ycsb, YcsbOptions};
use std::time::Instant;
use txn::{Client, Workload};

fn main() {
    println!("theta  creation_ms  draw_ns_per_transaction");
    for theta in [0.0, 0.3, 0.5, 0.6, 0.7, 0.8, 0.9, 0.99] {
        let begin = Instant::now();
        let options = YcsbOptions { records: 10_000_000, theta, ..YcsbOptions::default() };
        let workload = Ycsb::new(options).expect("the options are right");
        let created = begin.elapsed();
        let mut client = workload.client(0, 1, 1);
        let draws = 1_000_000u32;
        let begin = Instant::now();
        let mut sum = 0u64;
        for _ in 0..draws {
            client.next();
            sum = sum.wrapping_add(client.keys()[0]);
        }
        std::hint::black_box(sum);
        let draw_ns = begin.elapsed().as_nanos() / u128::from(draws);
        println!("{theta:5}  {:11.3}  {draw_ns:23}", created.as_secs_f64() * 1e3);
    }
}
