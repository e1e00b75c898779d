//! Unique, increasing timestamps, allocated in the five ways that Abyss 4.3 compares.

use super::queue_latch::{LatchNodes, Latcher};
use crate::TimestampAllocation;
use machine::{
    Arena, Category, Core, Machine, OutOfMemory, Place, Shared, Word, Zeroed, cold::Arc,
};

/// Value of the counter before the first reading of a clock.
const UNSET: u64 = 1;

#[repr(C, align(64))]
struct Counter<M: Machine> {
    line: M::Line,
    /// The next timestamp. Under a clock: the reading from which the clock is counted.
    next: Word,
    latch_line: M::Line,
    /// The latch over the counter, used by [`TimestampAllocation::Mutex`].
    latch: Word,
}

// SAFETY: lines and words, all valid as zeros.
unsafe impl<M: Machine> Zeroed for Counter<M> {}

/// The shared side.
pub struct TimestampAllocator<M: Machine> {
    counter: Shared<Counter<M>>,
    allocation: TimestampAllocation,
    /// Each session's access to the latch. Empty if the allocation uses no latch.
    latchers: Box<[Latcher<M>]>,
    /// Number of low bits of a clock timestamp that hold the session's number.
    session_bits: u32,
}

/// One session's side: the rest of its batch, or its last clock reading.
#[derive(Debug)]
pub struct TimestampSource {
    /// The session's number in the allocator, independent of the core that it runs on.
    session: usize,
    /// Next timestamp of the batch. Under a clock: the last reading that was used.
    next: u64,
    /// End of the batch.
    end: u64,
}

impl TimestampSource {
    /// Creates the source of session number `session`.
    pub fn new(session: usize) -> TimestampSource {
        TimestampSource { session, next: 0, end: 0 }
    }
}

impl<M: Machine> TimestampAllocator<M> {
    /// Creates an allocator of the given kind, for sessions numbered up to `sessions`. With a
    /// clock, its timestamps last for 2^63 / 2^b ticks from the first one, where b is the number of
    /// bits of `sessions`. That is 300 days with 64 sessions at 2.6 GHz.
    pub fn new(
        arena: &Arc<Arena>,
        allocation: TimestampAllocation,
        sessions: usize,
    ) -> Result<TimestampAllocator<M>, OutOfMemory> {
        let counter: Shared<Counter<M>> = arena.place(Place::Any)?;
        // Timestamp 0 belongs to the loader.
        counter.next.poke(1);
        let session_bits = usize::BITS - sessions.leading_zeros();
        let latchers = match allocation {
            TimestampAllocation::Mutex => {
                let nodes = LatchNodes::new::<M>(arena, sessions + 1)?;
                (0..=sessions).map(|session| nodes.latcher(session)).collect()
            }
            _ => Box::default(),
        };
        Ok(TimestampAllocator { counter, allocation, latchers, session_bits })
    }

    /// Returns a timestamp that no other session gets. It is larger than all earlier ones of this
    /// session.
    #[inline]
    pub fn draw(&self, core: &M::Core, source: &mut TimestampSource) -> u64 {
        let before = core.account(Category::TimestampAllocation);
        let counter = &*self.counter;
        let timestamp = match self.allocation {
            TimestampAllocation::Atomic => core.fetch_add(&counter.line, &counter.next, 1),
            TimestampAllocation::Mutex => {
                let latcher = &self.latchers[source.session];
                latcher.latch(core, &counter.latch_line, &counter.latch);
                let timestamp = core.load_relaxed(&counter.line, &counter.next);
                core.store_relaxed(&counter.line, &counter.next, timestamp + 1);
                latcher.unlatch(core, &counter.latch_line, &counter.latch);
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
        let counter = &*self.counter;
        core.compute_clock_reads(1);
        let now = core.now();
        // Counted from the first reading. On a host that has been up for long, the clock itself has
        // used up bits that the session's number needs.
        let mut origin = core.load_relaxed(&counter.line, &counter.next);
        if origin == UNSET {
            let proposed = now.max(UNSET + 1);
            origin = match core.cas(&counter.line, &counter.next, UNSET, proposed) {
                Ok(_) => proposed,
                Err(other) => other,
            };
        }
        // The clock can show the same value as at this session's last timestamp, so the reading is
        // at least that plus 1.
        source.next = (now.saturating_sub(origin) + 1).max(source.next + 1);
        (source.next << self.session_bits) | source.session as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use machine::{Body, Native, NativeOptions, cold::Mutex};

    #[test]
    fn timestamps_are_unique_and_grow_with_every_session() {
        for allocation in ["mutex", "atomic", "batch8", "clock"] {
            let machine = Native::new(NativeOptions::default()).unwrap();
            let allocator =
                TimestampAllocator::<Native>::new(machine.arena(), allocation.parse().unwrap(), 3)
                    .unwrap();
            let all = Mutex::new(Vec::new());
            let bodies = (0..3)
                .map(|session| -> Body<'_, Native> {
                    let (allocator, all) = (&allocator, &all);
                    Box::new(move |core| {
                        let mut source = TimestampSource::new(session);
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

    /// Two sessions share a core whose number is larger than both of theirs.
    #[test]
    fn sessions_of_one_core_get_timestamps_of_their_own() {
        for allocation in ["mutex", "atomic", "batch8", "clock"] {
            let machine = Native::new(NativeOptions::default()).unwrap();
            let allocator =
                TimestampAllocator::<Native>::new(machine.arena(), allocation.parse().unwrap(), 2)
                    .unwrap();
            let core = machine.core(100);
            let mut sources = [0, 1].map(TimestampSource::new);
            let draw = |i: usize| allocator.draw(&core, &mut sources[i % 2]);
            let mut all: Vec<u64> = (0..2000).map(draw).collect();
            all.sort_unstable();
            all.dedup();
            assert_eq!(all.len(), 2000, "{allocation}");
        }
    }
}
