//! Rows that a session appends to memory of its own. No key leads to them, and no transaction reads them.
//!
//! Source: the narrow mix of The Full Story of 1000 Cores (Bang et al., 2022). The measured program inserts orders,
//! lines and history rows there without index maintenance: from a bump allocator for each thread, at consecutive
//! addresses.
//!
//! The memory is a ring. When it is full, the oldest rows are overwritten, so a long run does not exhaust the arena. A
//! ring is larger than the private caches of a core, so a row is never written into lines that are still there.

use crate::{Heap, SystemMemory};
use machine::{Arena, Core, Machine, OutOfMemory, Place, Word, cold::Arc};

/// Bytes that are taken from the arena at a time.
const CHUNK_BYTES: u64 = 1 << 16;

/// Number of chunks of a ring: 16 MiB.
const CHUNKS: usize = 256;

/// The appended rows of one session.
pub struct Appended {
    /// Arena, with the session's node as its own.
    arena: Arc<Arena>,
    /// Offsets of the chunks so far.
    chunks: Vec<u64>,
    /// Number of the chunk that the next row goes to.
    chunk: usize,
    /// Bytes of that chunk that are used.
    used: u64,
    /// Blocks of the rows, if each row takes its own.
    heap: Heap,
}

impl Appended {
    /// Longest row, in bytes.
    pub const MOST_BYTES: usize = CHUNK_BYTES as usize;

    /// Makes an empty ring for session number `session`. It takes no memory before the first row.
    pub fn new(arena: &Arena, session: usize) -> Appended {
        Appended {
            arena: arena.near(session),
            chunks: Vec::new(),
            chunk: 0,
            used: CHUNK_BYTES,
            heap: Heap::default(),
        }
    }

    /// Appends `row`, whose memory is taken from `memory` if there is one. On a modelled machine its lines are those of
    /// the ring nevertheless. Fails if the arena has no room for the first chunk. If it has none for a later one, the
    /// ring stays as it is. Panics if the row is longer than [`Appended::MOST_BYTES`].
    pub fn append<M: Machine>(
        &mut self,
        core: &M::Core,
        row: &[u8],
        memory: Option<&SystemMemory<M>>,
    ) -> Result<(), OutOfMemory> {
        if let Some(memory) = memory {
            memory.keep_row(core, &mut self.heap, row.len());
            if !M::MODELLED {
                return Ok(());
            }
        }
        const {
            assert!(
                !M::KEEPS_OPAQUE || size_of::<M::Line>() == 0,
                "a chunk holds either lines or words"
            );
        }
        assert!(row.len() <= Self::MOST_BYTES, "a row of {} bytes is appended", row.len());
        let stride = match M::KEEPS_OPAQUE {
            true => row.len().next_multiple_of(64) as u64,
            false => size_of::<M::Line>() as u64,
        };
        if self.used + stride > CHUNK_BYTES {
            self.next_chunk()?;
        }
        let at = self.chunks[self.chunk] + self.used;
        self.used += stride;
        // SAFETY: the chunk was handed out, and `stride` bytes from `at` on lie in it. All rows of a machine put
        // either lines of this type there, at multiples of their size, or words.
        let line = unsafe { self.arena.at::<M::Line>(at) };
        if M::KEEPS_OPAQUE {
            // SAFETY: as above, and a line has no bytes here. Words are aligned, because rows begin at multiples of 64.
            let words = unsafe { self.arena.slice_at::<Word>(at, row.len().div_ceil(8)) };
            core.copy_in(line, 0, words, row);
        } else {
            core.append(line, row.len());
        }
        Ok(())
    }

    /// Goes to the next chunk: to a new one while there is room, then around.
    fn next_chunk(&mut self) -> Result<(), OutOfMemory> {
        let next = if self.chunks.is_empty() { 0 } else { self.chunk + 1 };
        if next == self.chunks.len() && next < CHUNKS {
            match self.arena.allocate(CHUNK_BYTES, 64, Place::Any) {
                Ok(offset) => self.chunks.push(offset),
                Err(error) if self.chunks.is_empty() => return Err(error),
                Err(_) => {}
            }
        }
        (self.chunk, self.used) = (next % self.chunks.len(), 0);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use machine::{ArenaOptions, Native, NativeOptions};

    fn machine(reserve_bytes: u64) -> Native {
        let arena = ArenaOptions { reserve_bytes, ..ArenaOptions::default() };
        Native::new(NativeOptions { arena, ..NativeOptions::default() }).unwrap()
    }

    #[test]
    fn rows_follow_each_other_and_the_ring_goes_around() {
        let machine = machine(1 << 28);
        let core = machine.core(0);
        let mut rows = Appended::new(machine.arena(), 0);
        let before = machine.arena().used();
        for number in 0..CHUNKS as u64 * 1024 + 1 {
            let row = [number.to_le_bytes(), [7; 8], [8; 8]].concat();
            rows.append::<Native>(&core, &row[..20], None).unwrap();
        }
        assert_eq!(machine.arena().used() - before, CHUNKS as u64 * CHUNK_BYTES);
        // SAFETY: the first chunk holds words.
        let words = unsafe { machine.arena().slice_at::<Word>(rows.chunks[0], 16) };
        let found: Vec<u64> = words.iter().map(Word::peek).collect();
        assert_eq!((found[0], found[8]), (CHUNKS as u64 * 1024, 1));
        assert_eq!((found[1], found[2]), (u64::from_le_bytes([7; 8]), 0x0808_0808));
    }

    #[test]
    fn a_full_arena_refuses_the_first_row_and_no_later_one() {
        let machine = machine(1 << 26);
        let core = machine.core(0);
        machine.arena().limit(0, 0);
        let mut rows = Appended::new(machine.arena(), 0);
        assert!(rows.append::<Native>(&core, &[1; 80], None).is_err());
        machine.arena().lift_limit(0);
        machine.arena().limit(0, CHUNK_BYTES + 64);
        for _ in 0..3 * CHUNK_BYTES / 128 {
            rows.append::<Native>(&core, &[1; 80], None).unwrap();
        }
        assert_eq!(rows.chunks.len(), 1);
    }
}
