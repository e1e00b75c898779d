//! Measures what the system's allocator costs, for the constants of `src/system_memory.rs`: a block that is given back and
//! taken again, a block that is taken from memory that was never used, and the page that such blocks begin.
//!
//! A second thread does it, because glibc serves the first thread from another kind of arena. The threads' arenas grow
//! by whole pages (`mprotect`), and each page is then touched for the first time (a page fault).

use machine::{Machine, Native, NativeOptions};
use std::{hint::black_box, mem::take, time::Instant};

/// Bytes of a block that glibc places 112 bytes apart.
const BLOCK_BYTES: usize = 100;
const STRIDE_BYTES: usize = 112;
const PAGE_BYTES: usize = 4096;
/// Number of blocks: 28 MB, less than a heap of glibc's.
const BLOCKS: usize = 250_000;
/// Bytes of a large block, below the size from which glibc maps each block by itself.
const LARGE_BYTES: usize = 100 * 1024;
const LARGE_BLOCKS: usize = 200;
const ROUNDS: usize = 20;
/// Bytes of a transaction's entry, and number of its entries.
const ENTRY_BYTES: usize = 48;
const ENTRIES: usize = 13;
/// Number of transactions whose entries are timed together.
const TRANSACTIONS: usize = 10_000;

/// Costs of one round, in seconds.
struct Costs {
    /// A block that is taken and given back.
    pair: f64,
    /// A block that is taken while a transaction's others are.
    taken: f64,
    /// A block that is given back together with a transaction's others.
    given_back: f64,
    /// A block from memory that was never used.
    fresh: f64,
    /// The first touch of a page that the arena has already.
    fault: f64,
}

fn block(bytes: usize) -> Vec<u8> {
    let mut block = Vec::with_capacity(bytes);
    block.push(1);
    black_box(block)
}

/// Returns the time of `work` for each of `count` steps.
fn each(count: usize, work: impl FnOnce()) -> f64 {
    let begin = Instant::now();
    work();
    begin.elapsed().as_secs_f64() / count as f64
}

/// Touches each page of a large block.
fn touched() -> Vec<u8> {
    let mut block = block(LARGE_BYTES);
    block.resize(LARGE_BYTES, 0);
    black_box(block)
}

/// Returns the cost of taking an entry beside a transaction's others, and of giving it back.
fn entries() -> (f64, f64) {
    let (mut taken, mut given_back) = (0.0, 0.0);
    let mut blocks: [Vec<u8>; ENTRIES] = Default::default();
    for _ in 0..TRANSACTIONS {
        taken += each(ENTRIES, || blocks.iter_mut().for_each(|place| *place = block(ENTRY_BYTES)));
        given_back += each(ENTRIES, || blocks.iter_mut().for_each(|place| drop(take(place))));
    }
    (taken / TRANSACTIONS as f64, given_back / TRANSACTIONS as f64)
}

fn round() -> Costs {
    let (taken, given_back) = entries();
    let mut kept = vec![Vec::new(); BLOCKS];
    let fresh = each(BLOCKS, || kept.iter_mut().for_each(|place| *place = block(BLOCK_BYTES)));
    let pair = each(BLOCKS, || (0..BLOCKS).for_each(|_| drop(block(BLOCK_BYTES))));
    let mut large = vec![Vec::new(); LARGE_BLOCKS];
    let pages = LARGE_BLOCKS * LARGE_BYTES / PAGE_BYTES;
    let fault = each(pages, || large.iter_mut().for_each(|place| *place = touched()));
    // The blocks are not given back, so the next round's thread gets memory that was never used.
    std::mem::forget((kept, large));
    Costs { pair, taken, given_back, fresh, fault }
}

/// Prints the cheapest round of each kind: the others have waited for the hypervisor or for other programs.
fn main() {
    let machine = Native::new(NativeOptions::default()).expect("address space");
    let rounds = (0..ROUNDS).map(|_| std::thread::spawn(round).join().expect("no panic"));
    let rounds: Vec<Costs> = rounds.collect();
    let least = |cost: fn(&Costs) -> f64| rounds.iter().map(cost).fold(f64::INFINITY, f64::min);
    let cycles = |seconds: f64| seconds * machine.clock_hz() as f64;
    let (pair, fresh) = (cycles(least(|c| c.pair)), cycles(least(|c| c.fresh)));
    let page = (fresh - pair) * (PAGE_BYTES / STRIDE_BYTES) as f64;
    println!("cycles of {:.2} GHz:", machine.clock_hz() as f64 / 1e9);
    println!("  {pair:.0} for a block that is taken and given back");
    let (taken, given_back) = (cycles(least(|c| c.taken)), cycles(least(|c| c.given_back)));
    println!(
        "  {taken:.0} and {given_back:.0} if a transaction takes {ENTRIES} before it gives them back"
    );
    println!("  {fresh:.0} for a block that is kept, with {page:.0} more for each page of them");
    println!("  {:.0} of these for the page fault", cycles(least(|c| c.fault)));
}
