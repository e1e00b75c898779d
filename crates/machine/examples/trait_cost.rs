//! Measures the cost of the machine trait. One NO_WAIT loop is written twice, by hand over plain atomics and
//! against [`Core`]. Both have the same algorithm, the same layout and the same keys.
//!
//! A transaction makes 16 accesses, half of them updates. An access searches a bucket of hash tags, tests and
//! acquires the record's lock word by compare-and-swap, and copies 28 bytes out of the record or into it, word
//! by word with relaxed atomics. The transaction releases all locks at its end. It aborts if it finds a lock
//! taken.
//!
//! `cargo xtask instructions` counts the instructions of both. `accounted` is the same loop again, with the
//! changes of category that sessions make around an access (time breakdown off). It is for information only,
//! and no test depends on it. `trait_cost hand|trait|accounted TRANSACTIONS` prints a checksum, which is equal
//! for all three.

const RECORDS: usize = 4096;
const BUCKETS: usize = 1024;
const SLOTS: usize = 7;
const ACCESSES: usize = 16;
/// Few enough that the machine copies word by word too. Longer copies are made by vector instructions, which the loop by hand
/// does not have.
const BYTES: usize = 28;
const BODY_WORDS: usize = BYTES.div_ceil(8);
const WRITER: u64 = 1 << 63;
const OFFSET_BITS: u32 = 48;

/// An access: its key, and whether it writes.
#[derive(Clone, Copy, Default)]
struct Step {
    key: u64,
    update: bool,
}

/// Draws the accesses of a transaction. All keys are different.
fn draw(random: &mut u64, steps: &mut [Step; ACCESSES]) {
    for (number, step) in steps.iter_mut().enumerate() {
        *random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        let bits = *random >> 20;
        let key = bits % RECORDS as u64 / ACCESSES as u64 * ACCESSES as u64 + number as u64;
        *step = Step { key, update: bits >> 40 & 1 == 1 };
    }
}

#[inline(always)]
fn hash(key: u64) -> u64 {
    let folded = (key ^ (key >> 32)).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    (folded ^ (folded >> 29)).wrapping_mul(0xBF58_476D_1CE4_E5B9)
}

#[inline(always)]
fn bucket_of(hash: u64) -> usize {
    (hash >> (64 - BUCKETS.trailing_zeros())) as usize
}

mod by_hand {
    use super::*;
    use std::sync::atomic::{
        AtomicU64,
        Ordering::{AcqRel, Acquire, Relaxed, Release},
    };

    #[repr(C, align(64))]
    #[derive(Default)]
    struct Bucket {
        header: AtomicU64,
        slots: [AtomicU64; SLOTS],
    }

    #[repr(C, align(64))]
    #[derive(Default)]
    struct Record {
        lock: AtomicU64,
        key: AtomicU64,
        body: [AtomicU64; BODY_WORDS],
    }

    type Buckets = [Bucket; BUCKETS * 2];
    type Records = [Record; RECORDS];

    struct Table {
        buckets: Box<Buckets>,
        records: Box<Records>,
    }

    fn zeroed<T: Default, const N: usize>() -> Box<[T; N]> {
        let all: Box<[T]> = (0..N).map(|_| T::default()).collect();
        all.try_into().unwrap_or_else(|_| unreachable!("as many as asked for"))
    }

    fn load() -> Table {
        let buckets: Box<Buckets> = zeroed();
        let records: Box<Records> = zeroed();
        let mut spare = BUCKETS as u64;
        for (at, record) in records.iter().enumerate() {
            record.key.store(at as u64, Relaxed);
            let hash = hash(at as u64);
            let mut bucket = &buckets[bucket_of(hash)];
            loop {
                if let Some(slot) = bucket.slots.iter().find(|slot| slot.load(Relaxed) == 0) {
                    slot.store((hash << OFFSET_BITS) | (at as u64 + 1), Relaxed);
                    break;
                }
                if bucket.header.load(Relaxed) == 0 {
                    bucket.header.store(spare, Relaxed);
                    spare += 1;
                }
                bucket = &buckets[bucket.header.load(Relaxed) as usize];
            }
        }
        Table { buckets, records }
    }

    #[inline(always)]
    fn find<'t>(buckets: &'t Buckets, records: &'t Records, key: u64) -> Option<&'t Record> {
        let hash = hash(key);
        let mut bucket = &buckets[bucket_of(hash)];
        loop {
            let next = bucket.header.load(Acquire);
            for slot in &bucket.slots {
                let entry = slot.load(Acquire);
                if entry >> OFFSET_BITS == hash & 0xFFFF && entry != 0 {
                    let record = &records[(entry << 16 >> 16) as usize - 1];
                    if record.key.load(Relaxed) == key {
                        return Some(record);
                    }
                }
            }
            if next == 0 {
                return None;
            }
            bucket = &buckets[next as usize];
        }
    }

    #[inline(always)]
    fn acquire(record: &Record, update: bool) -> bool {
        let mut seen = record.lock.load(Acquire);
        loop {
            let wanted = match update {
                true if seen == 0 => WRITER,
                false if seen != WRITER => seen + 1,
                _ => return false,
            };
            match record.lock.compare_exchange(seen, wanted, AcqRel, Acquire) {
                Ok(_) => return true,
                Err(now) => seen = now,
            }
        }
    }

    #[inline(always)]
    fn release(record: &Record, update: bool) {
        match update {
            true => record.lock.store(0, Release),
            false => {
                record.lock.fetch_sub(1, AcqRel);
            }
        }
    }

    #[inline(always)]
    fn copy_out(body: &[AtomicU64], into: &mut [u8]) {
        let mut chunks = into.chunks_exact_mut(8);
        let mut words = body.iter();
        for (chunk, word) in (&mut chunks).zip(&mut words) {
            chunk.copy_from_slice(&word.load(Relaxed).to_le_bytes());
        }
        let rest = chunks.into_remainder();
        if let Some(word) = words.next() {
            rest.copy_from_slice(&word.load(Relaxed).to_le_bytes()[..rest.len()]);
        }
    }

    #[inline(always)]
    fn copy_in(body: &[AtomicU64], from: &[u8]) {
        let mut chunks = from.chunks_exact(8);
        let mut words = body.iter();
        for (chunk, word) in (&mut chunks).zip(&mut words) {
            word.store(u64::from_le_bytes(chunk.try_into().expect("chunks of 8")), Relaxed);
        }
        let rest = chunks.remainder();
        if let Some(word) = words.next() {
            let mut last = [0; 8];
            last[..rest.len()].copy_from_slice(rest);
            word.store(u64::from_le_bytes(last), Relaxed);
        }
    }

    #[inline(never)]
    fn transaction(
        buckets: &Buckets,
        records: &Records,
        steps: &[Step; ACCESSES],
        buffer: &mut [u8; BYTES],
    ) -> bool {
        let mut held: [Option<&Record>; ACCESSES] = [None; ACCESSES];
        let mut committed = true;
        for (step, held) in steps.iter().zip(&mut held) {
            let Some(record) = find(buckets, records, step.key) else { continue };
            if !acquire(record, step.update) {
                committed = false;
                break;
            }
            *held = Some(record);
            match step.update {
                true => copy_in(&record.body, buffer),
                false => copy_out(&record.body, buffer),
            }
            buffer[step.key as usize % BYTES] ^= step.key as u8;
        }
        for (step, held) in steps.iter().zip(held) {
            if let Some(record) = held {
                release(record, step.update);
            }
        }
        committed
    }

    pub fn run(transactions: u64) -> u64 {
        let table = load();
        let (buckets, records) = (&*table.buckets, &*table.records);
        let (mut random, mut steps) = (1, [Step::default(); ACCESSES]);
        let (mut buffer, mut checksum) = ([7; BYTES], 0u64);
        for _ in 0..transactions {
            draw(&mut random, &mut steps);
            checksum += u64::from(transaction(buckets, records, &steps, &mut buffer));
            checksum = checksum.rotate_left(1) ^ u64::from(buffer[3]);
        }
        checksum
    }
}

mod by_trait {
    use super::*;
    use kilocore_machine::{Category, Core, Machine, Place, Shared, Word, Zeroed};

    #[repr(C, align(64))]
    struct Bucket<M: Machine> {
        line: M::Line,
        header: Word,
        slots: [Word; SLOTS],
    }

    // SAFETY: it consists of a line and words, which are valid as zeros.
    unsafe impl<M: Machine> Zeroed for Bucket<M> {}

    #[repr(C, align(64))]
    struct Record<M: Machine> {
        line: M::Line,
        lock: Word,
        key: Word,
        body: [Word; BODY_WORDS],
    }

    // SAFETY: it consists of a line and words, which are valid as zeros.
    unsafe impl<M: Machine> Zeroed for Record<M> {}

    type Buckets<M> = [Bucket<M>; BUCKETS * 2];
    type Records<M> = [Record<M>; RECORDS];

    struct Table<M: Machine> {
        buckets: Shared<Buckets<M>>,
        records: Shared<Records<M>>,
    }

    fn load<M: Machine>(machine: &M) -> Table<M> {
        let buckets: Shared<Buckets<M>> = machine.arena().place(Place::Any).expect("room");
        let records: Shared<Records<M>> = machine.arena().place(Place::Any).expect("room");
        let mut spare = BUCKETS as u64;
        for (at, record) in records.iter().enumerate() {
            record.key.poke(at as u64);
            let hash = hash(at as u64);
            let mut bucket = &buckets[bucket_of(hash)];
            loop {
                if let Some(slot) = bucket.slots.iter().find(|slot| slot.peek() == 0) {
                    slot.poke((hash << OFFSET_BITS) | (at as u64 + 1));
                    break;
                }
                if bucket.header.peek() == 0 {
                    bucket.header.poke(spare);
                    spare += 1;
                }
                bucket = &buckets[bucket.header.peek() as usize];
            }
        }
        Table { buckets, records }
    }

    #[inline(always)]
    fn find<'t, M: Machine>(
        core: &M::Core,
        buckets: &'t Buckets<M>,
        records: &'t Records<M>,
        key: u64,
    ) -> Option<&'t Record<M>> {
        let hash = hash(key);
        let mut bucket = &buckets[bucket_of(hash)];
        loop {
            let next = core.load(&bucket.line, &bucket.header);
            for slot in &bucket.slots {
                let entry = core.load(&bucket.line, slot);
                if entry >> OFFSET_BITS == hash & 0xFFFF && entry != 0 {
                    let record = &records[(entry << 16 >> 16) as usize - 1];
                    if core.load_const(&record.line, &record.key) == key {
                        return Some(record);
                    }
                }
            }
            if next == 0 {
                return None;
            }
            bucket = &buckets[next as usize];
        }
    }

    #[inline(always)]
    fn acquire<M: Machine>(core: &M::Core, record: &Record<M>, update: bool) -> bool {
        let mut seen = core.load(&record.line, &record.lock);
        loop {
            let wanted = match update {
                true if seen == 0 => WRITER,
                false if seen != WRITER => seen + 1,
                _ => return false,
            };
            match core.cas(&record.line, &record.lock, seen, wanted) {
                Ok(_) => return true,
                Err(now) => seen = now,
            }
        }
    }

    #[inline(always)]
    fn release<M: Machine>(core: &M::Core, record: &Record<M>, update: bool) {
        match update {
            true => core.store(&record.line, &record.lock, 0),
            false => {
                core.fetch_add(&record.line, &record.lock, u64::MAX);
            }
        }
    }

    #[inline(never)]
    fn transaction<M: Machine, const ACCOUNTED: bool>(
        core: &M::Core,
        buckets: &Buckets<M>,
        records: &Records<M>,
        steps: &[Step; ACCESSES],
        buffer: &mut [u8; BYTES],
    ) -> bool {
        let account = |category| {
            if ACCOUNTED {
                core.account(category);
            }
        };
        let mut held: [Option<&Record<M>>; ACCESSES] = [const { None }; ACCESSES];
        let mut committed = true;
        for (step, held) in steps.iter().zip(&mut held) {
            account(Category::Index);
            let Some(record) = find(core, buckets, records, step.key) else { continue };
            account(Category::ConcurrencyControl);
            if !acquire(core, record, step.update) {
                committed = false;
                break;
            }
            *held = Some(record);
            match step.update {
                true => core.copy_in(&record.line, 0, &record.body, buffer),
                false => core.copy_out(&record.line, 0, &record.body, buffer),
            }
            account(Category::Useful);
            buffer[step.key as usize % BYTES] ^= step.key as u8;
        }
        account(Category::Commit);
        for (step, held) in steps.iter().zip(held) {
            if let Some(record) = held {
                release(core, record, step.update);
            }
        }
        account(Category::Useful);
        committed
    }

    pub fn run<M: Machine, const ACCOUNTED: bool>(
        machine: &M,
        core: &M::Core,
        transactions: u64,
    ) -> u64 {
        let table = load(machine);
        let (buckets, records) = (&*table.buckets, &*table.records);
        let (mut random, mut steps) = (1, [Step::default(); ACCESSES]);
        let (mut buffer, mut checksum) = ([7; BYTES], 0u64);
        for _ in 0..transactions {
            draw(&mut random, &mut steps);
            let committed =
                transaction::<M, ACCOUNTED>(core, buckets, records, &steps, &mut buffer);
            checksum += u64::from(committed);
            checksum = checksum.rotate_left(1) ^ u64::from(buffer[3]);
        }
        checksum
    }
}

fn main() {
    use kilocore_machine::{ArenaOptions, Native, NativeOptions};
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let mode = arguments.first().map_or("", String::as_str);
    let transactions = arguments.get(1).and_then(|count| count.parse().ok());
    let Some(transactions) =
        transactions.filter(|_| ["hand", "trait", "accounted"].contains(&mode))
    else {
        eprintln!("usage: trait_cost hand|trait|accounted TRANSACTIONS");
        std::process::exit(2);
    };
    let arena = ArenaOptions { reserve_bytes: 64 << 20, ..ArenaOptions::default() };
    let options = NativeOptions { arena, ..NativeOptions::default() };
    let machine = Native::new(options).expect("64 MiB of address space");
    let core = machine.core(0);
    let checksum = match mode {
        "hand" => by_hand::run(transactions),
        "trait" => by_trait::run::<_, false>(&machine, &core, transactions),
        _ => by_trait::run::<_, true>(&machine, &core, transactions),
    };
    println!("{mode}: {transactions} transactions, checksum {checksum:016x}");
}
