//! Unique, increasing timestamps, in the five ways that Abyss 4.3 compares.

use crate::TimestampAllocation;
use machine::{
    Arena, Category, Core, Machine, OutOfMemory, Place, Shared, Word, Zeroed, cold::Arc,
};

/// Bits of a clock timestamp that hold the core's number.
const CORE_BITS: u32 = 12;

#[repr(C, align(64))]
struct Counter<M: Machine> {
    line: M::Line,
    next: Word,
    latch_line: M::Line,
    latch: Word,
}

// SAFETY: lines and words, all valid as zeros.
unsafe impl<M: Machine> Zeroed for Counter<M> {}

/// The shared side.
pub struct TimestampAllocator<M: Machine> {
    counter: Shared<Counter<M>>,
    allocation: TimestampAllocation,
}

/// One worker's side: what is left of its batch, and its last clock reading.
#[derive(Clone, Copy, Debug, Default)]
pub struct TimestampSource {
    next: u64,
    end: u64,
}

impl<M: Machine> TimestampAllocator<M> {
    /// An allocator of the given kind.
    pub fn new(
        arena: &Arc<Arena>,
        allocation: TimestampAllocation,
    ) -> Result<TimestampAllocator<M>, OutOfMemory> {
        let counter: Shared<Counter<M>> = arena.place(Place::Any)?;
        // Timestamp 0 belongs to the loader.
        counter.next.poke(1);
        Ok(TimestampAllocator { counter, allocation })
    }

    /// A timestamp that nobody else gets, larger than all that this worker got before.
    #[inline]
    pub fn draw(&self, core: &M::Core, source: &mut TimestampSource) -> u64 {
        let before = core.account(Category::TimestampAllocation);
        let counter = &*self.counter;
        let timestamp = match self.allocation {
            TimestampAllocation::Atomic => core.fetch_add(&counter.line, &counter.next, 1),
            TimestampAllocation::Mutex => {
                loop {
                    core.wait_while(&counter.latch_line, &counter.latch, |latch| latch != 0);
                    if core.cas(&counter.latch_line, &counter.latch, 0, 1).is_ok() {
                        break;
                    }
                }
                let timestamp = core.load_relaxed(&counter.line, &counter.next);
                core.store_relaxed(&counter.line, &counter.next, timestamp + 1);
                core.store(&counter.latch_line, &counter.latch, 0);
                timestamp
            }
            TimestampAllocation::Batched(size) => {
                if source.next == source.end {
                    source.next = core.fetch_add(&counter.line, &counter.next, u64::from(size));
                    source.end = source.next + u64::from(size);
                }
                source.next += 1;
                source.next - 1
            }
            TimestampAllocation::Clock => self.draw_from_clock(core, source),
            TimestampAllocation::Hardware => match core.hardware_counter() {
                Some(value) => value,
                None => core.fetch_add(&counter.line, &counter.next, 1),
            },
        };
        core.account(before);
        timestamp
    }

    fn draw_from_clock(&self, core: &M::Core, source: &mut TimestampSource) -> u64 {
        // The clock may not have moved since this worker's last timestamp, so it is pushed.
        source.next = core.now().max(source.next + 1);
        (source.next << CORE_BITS) | core.id() as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use machine::{Body, Native, NativeOptions, cold::Mutex};

    #[test]
    fn timestamps_are_unique_and_grow_with_every_worker() {
        for allocation in ["mutex", "atomic", "batch8", "clock"] {
            let machine = Native::new(NativeOptions::default()).unwrap();
            let allocator =
                TimestampAllocator::<Native>::new(machine.arena(), allocation.parse().unwrap())
                    .unwrap();
            let all = Mutex::new(Vec::new());
            let bodies = (0..3)
                .map(|_| -> Body<'_, Native> {
                    Box::new(|core| {
                        let mut source = TimestampSource::default();
                        let mine: Vec<u64> =
                            (0..2000).map(|_| allocator.draw(core, &mut source)).collect();
                        assert!(mine.is_sorted_by(|a, b| a < b), "{allocation}");
                        all.lock().extend(mine);
                    })
                })
                .collect();
            machine.run(bodies, vec![]).unwrap();
            let mut all = all.into_inner();
            all.sort_unstable();
            all.dedup();
            assert_eq!(all.len(), 6000, "{allocation}");
        }
    }
}
