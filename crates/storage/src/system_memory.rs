//! Memory from the system's allocator: what it costs a modelled machine to take blocks as glibc's malloc takes them.
//!
//! Source: The Full Story of 1000 Cores (Bang et al., 2022), sections 3.2.3 and 3.3.1: before its first optimisation the
//! measured program took all memory by malloc. The steps are those of glibc and Linux:
//!
//! - A thread has an arena of blocks of its own, so malloc itself meets nobody. A block that is given back is soon taken
//!   again, which costs [`REUSE_CYCLES`] in all. A transaction takes entries for all records before it gives them back, which
//!   costs [`TAKE_CYCLES`] and [`GIVE_BACK_CYCLES`] each. A block that is kept comes from the end of the arena and costs
//!   [`FRESH_CYCLES`].
//! - An arena grows by whole pages (`mprotect`). For this it changes the address space, which all threads share. It holds
//!   the lock of the address space alone for [`GROW_CYCLES`].
//! - The first access to a page is a page fault. It holds the same lock together with other faults, for
//!   [`FAULT_CYCLES`].
//!
//! The lock is a word of the simulated machine. Its line moves from core to core, so distance and contention follow from
//! the machine.
//!
//! The constants are those that `cargo bench -p kilocore-storage --bench system_memory` prints on a virtual machine of 2
//! cores at 2.6 GHz with glibc 2.36: 18 cycles for a block that is given back at once, 16 and 20 for one of 13, and 8300 for each page of kept blocks, 4300
//! of them for the page fault. A page is dearer there than on a machine without a hypervisor. All of a system call is taken
//! to be under the lock.
//!
//! Natively the blocks are really taken, and the system's allocator does the rest.

use crate::reclaim::LoneWord;
use machine::{Arena, Core, Machine, OutOfMemory, Place, Shared, cold::Arc};
use std::{collections::VecDeque, hint::black_box};

/// Cost of a block that is taken and given back at once, in cycles.
const REUSE_CYCLES: u64 = 18;
/// Cost of a block that a transaction takes beside others, in cycles.
const TAKE_CYCLES: u64 = 16;
/// Cost of giving back one of a transaction's blocks, in cycles. A thread keeps few blocks of a size at hand.
const GIVE_BACK_CYCLES: u64 = 20;
/// Cost of a block from the end of an arena, in cycles, without its pages.
const FRESH_CYCLES: u64 = 18;
/// Cost of the system call that lengthens an arena by a page, in cycles.
const GROW_CYCLES: u64 = 4000;
/// Cost of the first access to a page, in cycles: the trap, a cleared page, and its entry in the page table.
const FAULT_CYCLES: u64 = 4300;

/// Bytes that the measured program keeps for each row beside its columns and the words of the protocol: the row's table,
/// key, partition, number, and the places of its parts.
const ROW_HEAD_BYTES: usize = 48;
/// Bytes of a block that stands for an entry or a part of a copy, natively.
const ENTRY_BYTES: usize = 64;
/// Bytes of kept rows after which the oldest one is given back, natively.
const KEPT_BYTES: usize = 16 << 20;

/// Bytes of a page, and of the step by which an arena grows.
const PAGE_BYTES: u64 = 4096;
/// Bytes that a block takes beside its content, and the multiple to which it is rounded up.
const BLOCK_HEAD_BYTES: u64 = 8;
const BLOCK_ALIGN: u64 = 16;

/// The lock's word while a thread changes the address space.
const CHANGES: u64 = 1;
/// Added to the lock's word for each thread that handles a page fault.
const FAULTS: u64 = 2;

/// The memory that the operating system gives to the process of a store.
pub struct SystemMemory<M: Machine> {
    /// Lock of the address space of the process.
    lock: Shared<LoneWord<M>>,
    /// Bytes of the block that a row needs beside its columns.
    head_bytes: usize,
}

/// The end of one thread's arena of blocks.
#[derive(Default)]
pub struct Heap {
    /// Bytes that are mapped, touched and not taken.
    left: u64,
    /// Number of entries that the running attempt has taken.
    entries: u64,
    /// These entries natively.
    taken: Vec<Vec<u8>>,
    /// Blocks that are kept natively, the oldest first.
    kept: VecDeque<Vec<u8>>,
    /// Number of their bytes.
    kept_bytes: usize,
}

impl Heap {
    /// Really takes a block of `bytes` bytes and writes to all of it.
    fn take(&mut self, bytes: usize) {
        self.kept.push_back(black_box(vec![1; bytes]));
        self.kept_bytes += bytes;
        while self.kept_bytes > KEPT_BYTES
            && let Some(oldest) = self.kept.pop_front()
        {
            self.kept_bytes -= oldest.len();
        }
    }
}

impl<M: Machine> SystemMemory<M> {
    /// Makes the lock of the address space, in `arena`, for rows with `words_bytes` bytes of the protocol's words.
    pub fn new(arena: &Arc<Arena>, words_bytes: usize) -> Result<SystemMemory<M>, OutOfMemory> {
        let lock = arena.place(Place::Any)?;
        Ok(SystemMemory { lock, head_bytes: ROW_HEAD_BYTES + words_bytes })
    }

    /// Takes `blocks` blocks and gives them back.
    #[inline]
    pub fn reuse(core: &M::Core, blocks: u64) {
        match M::MODELLED {
            true => core.compute(REUSE_CYCLES * blocks),
            false => {
                (0..blocks).for_each(|_| drop(black_box(Vec::<u8>::with_capacity(ENTRY_BYTES))))
            }
        }
    }

    /// Takes `blocks` blocks for entries of the running attempt.
    #[inline]
    pub fn take_entries(core: &M::Core, heap: &mut Heap, blocks: u64) {
        heap.entries += blocks;
        match M::MODELLED {
            true => core.compute(TAKE_CYCLES * blocks),
            false => (0..blocks)
                .for_each(|_| heap.taken.push(black_box(Vec::with_capacity(ENTRY_BYTES)))),
        }
    }

    /// Gives back the entries of the running attempt, if it has taken any.
    #[inline(always)]
    pub fn give_back_entries(core: &M::Core, heap: &mut Heap) {
        if heap.entries != 0 {
            Self::give_back(core, heap);
        }
    }

    #[cold]
    #[inline(never)]
    fn give_back(core: &M::Core, heap: &mut Heap) {
        if M::MODELLED {
            core.compute(GIVE_BACK_CYCLES * heap.entries);
        }
        heap.taken.clear();
        heap.entries = 0;
    }

    /// Takes the two blocks of a row whose columns have `bytes` bytes, and keeps them.
    pub fn keep_row(&self, core: &M::Core, heap: &mut Heap, bytes: usize) {
        for bytes in [self.head_bytes, bytes] {
            match M::MODELLED {
                true => self.keep(core, heap, bytes as u64),
                false => heap.take(bytes),
            }
        }
    }

    /// Charges for a block of `bytes` bytes that is kept. Takes pages from the operating system if `heap` has no room.
    fn keep(&self, core: &M::Core, heap: &mut Heap, bytes: u64) {
        core.compute(FRESH_CYCLES);
        let size = (bytes + BLOCK_HEAD_BYTES).next_multiple_of(BLOCK_ALIGN);
        while heap.left < size {
            self.grow(core);
            self.fault(core);
            heap.left += PAGE_BYTES;
        }
        heap.left -= size;
    }

    /// Lengthens an arena by a page.
    fn grow(&self, core: &M::Core) {
        let LoneWord { line, word: lock } = &*self.lock;
        while core.load(line, lock) != 0 || core.cas(line, lock, 0, CHANGES).is_err() {
            core.wait_to_take(line, lock, |holders| holders != 0);
        }
        core.compute(GROW_CYCLES);
        core.fetch_add(line, lock, CHANGES.wrapping_neg());
        core.wake(line, lock);
    }

    /// Handles a page fault. It waits while a thread changes the address space.
    fn fault(&self, core: &M::Core) {
        let LoneWord { line, word: lock } = &*self.lock;
        if core.fetch_add(line, lock, FAULTS) & CHANGES != 0 {
            core.wait_while(line, lock, |holders| holders & CHANGES != 0);
        }
        core.compute(FAULT_CYCLES);
        core.fetch_add(line, lock, FAULTS.wrapping_neg());
        core.wake(line, lock);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use machine::{Body, Explored, ExploredOptions, Native, NativeOptions, Schedule};

    const CORES: usize = 4;

    /// Lets `CORES` cores take pages under schedule `seed`, and calls `work` on each.
    fn explored(
        seed: u64,
        work: &(impl Fn(&SystemMemory<Explored>, &<Explored as Machine>::Core) + Sync),
    ) {
        let schedule =
            if seed.is_multiple_of(2) { Schedule::Random } else { Schedule::Pct { depth: 3 } };
        let mut machine =
            Explored::new(ExploredOptions { schedule, ..Default::default() }).unwrap();
        machine.renew(seed).unwrap();
        let memory = SystemMemory::<Explored>::new(machine.arena(), 8).unwrap();
        let bodies = (0..CORES)
            .map(|_| -> Body<'_, Explored> { Box::new(|core| work(&memory, core)) })
            .collect();
        machine.run(bodies, vec![]).unwrap();
        assert_eq!(memory.lock.word.peek(), 0, "the lock is free in the end");
    }

    #[test]
    fn an_arena_grows_by_the_pages_that_its_blocks_need() {
        explored(1, &|memory, core| {
            let mut heap = Heap::default();
            memory.keep(core, &mut heap, 100);
            assert_eq!(heap.left, PAGE_BYTES - 112);
            for _ in 1..36 {
                memory.keep(core, &mut heap, 100);
            }
            assert_eq!(heap.left, PAGE_BYTES - 36 * 112);
            memory.keep(core, &mut heap, 100);
            assert_eq!(heap.left, 2 * PAGE_BYTES - 37 * 112);
            memory.keep(core, &mut heap, 3 * PAGE_BYTES);
            assert!(heap.left < PAGE_BYTES);
        });
    }

    #[test]
    fn natively_rows_are_kept_until_there_are_many() {
        let machine = Native::new(NativeOptions::default()).unwrap();
        let memory = SystemMemory::<Native>::new(machine.arena(), 16).unwrap();
        let (core, mut heap) = (machine.core(0), Heap::default());
        memory.keep_row(&core, &mut heap, 1000);
        assert_eq!((heap.kept.len(), heap.kept_bytes), (2, 1000 + ROW_HEAD_BYTES + 16));
        (0..20_000).for_each(|_| memory.keep_row(&core, &mut heap, 1000));
        assert!((KEPT_BYTES - 1000..=KEPT_BYTES).contains(&heap.kept_bytes));
    }

    #[test]
    fn whoever_waits_for_the_address_space_is_woken() {
        for seed in 0..2000 {
            explored(seed, &|memory, core| {
                let mut heap = Heap::default();
                (0..3).for_each(|_| memory.keep(core, &mut heap, PAGE_BYTES));
            });
        }
    }
}
