//! Values outside records: text and bytes whose length varies.
//!
//! A record holds one word for such a column. The word names the value (see `word.rs`). Protocols copy the word like
//! any other column, so every protocol isolates values of variable length without code of its own. An update of any
//! size writes a new value and replaces the word.
//!
//! **Slots.** A value lies in a slot of the arena, behind a header. Slots have sizes of powers of two and of one and a
//! half times powers of two. A slot has one size for ever, and all of its memory consists of words.
//!
//! **States** of a value:
//!
//! ```text
//!         store              commit                   a later commit                  two epochs later
//!  slot ---------> fresh ----------------> installed ------------------> retired -----------------------> free slot
//!                    |                                                      ^
//!                    |  rollback, or overwritten by its own transaction     |
//!                    +------------------------------------------------------+
//! ```
//!
//! The header of the slot holds the state.
//!
//! - *Fresh*: its transaction runs. Under protocols that expose uncommitted writes, others can read it.
//! - *Installed*: a record holds its word. A commit installs the values in its after-images. Those that are still fresh
//!   then were overwritten by their own transaction.
//! - *Retired*: a committed write has replaced the word, or its row was deleted. Transactions that
//!   began before can still find the word, in an older version or because they have read it already. They leave their
//!   epoch before the slot is reused, as for records ([`crate::Epochs`]).
//!
//! **Invariants.**
//!
//! 1. A value does not change from the moment its word is in a record or a pending version until its slot is free.
//! 2. A word leads to memory that was once handed out as a slot with room for the length in the word. So a stale word
//!    reads wrong bytes and never wrong memory.
//! 3. A value retires once. (Without isolation two transactions can replace the same word. The header makes the second
//!    one do nothing.)
//! 4. A transaction that begins after a value has retired does not find its word. Where transactions can begin with old
//!    timestamps, the protocol excludes those that would read the older version before the value retires.
//!
//! **Why a committed read is right.** A transaction reads the word under its protocol and copies the value at once, in
//! the same epoch. If it commits, it had found the word in a version that it could read. By invariant 4 the value had
//! not retired when the transaction began. So its slot was not reused before the transaction ended.
//!
//! **Limit.** A transaction that runs for long keeps the epoch from advancing, so replaced values accumulate while it
//! runs. Versions of fixed length do not ([`crate::Epochs`] are not used for them).

mod word;

use crate::Slots;
use machine::{
    Arena, Core, Machine, OutOfMemory, Word, Zeroed,
    cold::{Arc, Mutex},
};
use std::{collections::HashMap, marker::PhantomData};
use txn::TableSchema;
use word::ValueWord;

/// Number of sizes of slots.
const CLASSES: usize = 34;
/// Bytes of the smallest slot.
const LEAST_SLOT: u64 = 32;
/// Bytes that a session takes from the arena at a time for small slots.
const CHUNK_BYTES: u64 = 4096;
/// State of a value in a record.
const INSTALLED: u64 = 0;
/// State of a value that its transaction has stored and that no record holds by a commit.
const FRESH: u64 = 1;
/// State of an installed value that has retired, or is about to.
const REPLACED: u64 = 2;

/// Front of a slot.
#[repr(C)]
struct Header<M: Machine> {
    /// Line of the value.
    line: M::Line,
    /// [`FRESH`], [`INSTALLED`] or [`REPLACED`].
    state: Word,
}

// SAFETY: the type consists of a line and a word, and zeros are valid for both.
unsafe impl<M: Machine> Zeroed for Header<M> {}

/// Returns the bytes of a slot of number `class`: 32, 48, 64, 96, 128, ...
fn slot_bytes(class: usize) -> u64 {
    (LEAST_SLOT + LEAST_SLOT / 2 * (class as u64 % 2)) << (class / 2)
}

/// Returns the number of the smallest slot with room for `bytes` bytes.
fn class_for(bytes: u64) -> usize {
    (0..CLASSES).find(|class| slot_bytes(*class) >= bytes).expect("a value is at most 1 MiB long")
}

/// Returns the bytes that the values of a row of `schema` are expected to need outside the record, for sizing. A value is
/// expected to be three quarters as long as it can be, and at most 256 bytes long.
pub(crate) fn expected_bytes<M: Machine>(schema: &TableSchema) -> u64 {
    let apart = schema.columns.iter().filter(|column| column.is_apart());
    apart
        .map(|column| {
            let length = (column.kind.most_bytes() as u64 * 3 / 4).min(256);
            slot_bytes(class_for(size_of::<Header<M>>() as u64 + length))
        })
        .sum()
}

/// Slots of one session, by size.
#[derive(Default)]
pub struct ValueSpace {
    classes: Vec<Slots>,
}

impl ValueSpace {
    fn of(&mut self, class: usize) -> &mut Slots {
        if self.classes.is_empty() {
            self.classes.resize_with(CLASSES, Slots::default);
        }
        &mut self.classes[class]
    }
}

/// Things that sessions have left to other sessions.
#[derive(Default)]
struct Left {
    spaces: Vec<ValueSpace>,
    /// Number of slots taken from the arena by all sessions.
    slots: u64,
}

/// The values of one store.
pub struct Values<M: Machine> {
    arena: Arc<Arena>,
    left: Mutex<Left>,
    machine: PhantomData<fn() -> M>,
}

impl<M: Machine> Values<M> {
    /// Makes the values of a store whose records lie in `arena`.
    pub(crate) fn new(arena: &Arc<Arena>) -> Self {
        let (left, machine) = (Mutex::default(), PhantomData);
        Values { arena: arena.clone(), left, machine }
    }

    fn header(&self, offset: u64) -> &Header<M> {
        // SAFETY: words name only offsets that `take_slot` has taken for slots, which begin with a header.
        unsafe { self.arena.at(offset) }
    }

    /// Stores `value` and returns the word that names it.
    pub fn store(
        &self,
        core: &M::Core,
        space: &mut ValueSpace,
        value: &[u8],
    ) -> Result<u64, OutOfMemory> {
        if let Some(word) = ValueWord::inline(value) {
            return Ok(word);
        }
        let offset = self.take_slot(space, value.len())?;
        let header = self.header(offset);
        core.store_relaxed(&header.line, &header.state, FRESH);
        core.copy_in(&header.line, 0, words::<M>(&self.arena, offset, value.len()), value);
        Ok(ValueWord::slot(offset, value.len()))
    }

    /// Stores `value` as [`Values::store`] does, without a core, and installs it. For loaders.
    pub fn store_alone(&self, space: &mut ValueSpace, value: &[u8]) -> Result<u64, OutOfMemory> {
        if let Some(word) = ValueWord::inline(value) {
            return Ok(word);
        }
        let offset = self.take_slot(space, value.len())?;
        self.header(offset).state.poke(INSTALLED);
        let words = words::<M>(&self.arena, offset, value.len());
        for (word, chunk) in words.iter().zip(value.chunks(8)) {
            let mut bytes = [0; 8];
            bytes[..chunk.len()].copy_from_slice(chunk);
            word.poke(u64::from_le_bytes(bytes));
        }
        Ok(ValueWord::slot(offset, value.len()))
    }

    /// Appends the value that `word` names to `out`.
    pub fn load(&self, core: &M::Core, word: u64, out: &mut Vec<u8>) {
        match ValueWord::of(word) {
            ValueWord::Inline(bytes, length) => out.extend_from_slice(&bytes[..length]),
            ValueWord::Slot(offset, length) => {
                let (header, at) = (self.header(offset), out.len());
                out.resize(at + length, 0);
                let words = words::<M>(&self.arena, offset, length);
                core.copy_out(&header.line, 0, words, &mut out[at..]);
            }
        }
    }

    /// Asks the host to fetch the value that `word` names. The word can be stale: by invariant 2 it leads to a slot.
    #[inline]
    pub fn prefetch(&self, core: &M::Core, word: u64) {
        if let ValueWord::Slot(offset, length) = ValueWord::of(word)
            && offset > 0
        {
            let header: *const Header<M> = self.header(offset);
            core.prefetch(header.cast(), size_of::<Header<M>>() + length);
        }
    }

    /// Notes that a commit installs `word`, which its transaction has stored.
    pub fn install(&self, core: &M::Core, word: u64) {
        if let ValueWord::Slot(offset, _) = ValueWord::of(word) {
            let header = self.header(offset);
            core.store_relaxed(&header.line, &header.state, INSTALLED);
        }
    }

    /// Returns true if `word`, which the calling transaction has stored, was not installed and has a slot.
    pub fn is_fresh(&self, core: &M::Core, word: u64) -> bool {
        let ValueWord::Slot(offset, _) = ValueWord::of(word) else { return false };
        let header = self.header(offset);
        core.load_relaxed(&header.line, &header.state) == FRESH
    }

    /// Notes that a write replaces `word`. Returns true if the value has a slot and is replaced for the first time. The
    /// caller must retire it then.
    pub fn replace(&self, core: &M::Core, word: u64) -> bool {
        let ValueWord::Slot(offset, _) = ValueWord::of(word) else { return false };
        let header = self.header(offset);
        core.cas(&header.line, &header.state, INSTALLED, REPLACED).is_ok()
    }

    /// Retires the value that `word` names, in `epoch`. No transaction that begins from now on finds the word.
    pub fn retire(&self, space: &mut ValueSpace, word: u64, epoch: u64) {
        if let Some((offset, class)) = slot_of::<M>(word) {
            space.of(class).retire(epoch, offset);
        }
    }

    /// Frees the slots of retired values that no session can read in epoch `now`. If the session then has more than
    /// twice `keep` free slots of one size, all but `keep` of them are left to other sessions.
    pub fn reclaim(
        &self,
        space: &mut ValueSpace,
        now: u64,
        is_past: impl Fn(u64, u64) -> bool,
        keep: usize,
    ) {
        let mut surplus = ValueSpace::default();
        for (class, slots) in space.classes.iter_mut().enumerate() {
            slots.reclaim(now, &is_past);
            if keep == 0 {
                slots.free_rest(slot_bytes(class));
            }
            let more = slots.surplus(keep);
            if !more.is_empty() {
                *surplus.of(class) = more;
            }
        }
        if !surplus.classes.is_empty() {
            self.left.lock().spaces.push(surplus);
        }
    }

    /// Takes the slots of a session that ends.
    pub fn leave(&self, space: ValueSpace) {
        if !space.classes.is_empty() {
            self.left.lock().spaces.push(space);
        }
    }

    /// Checks that every slot is in exactly one place: free, retired, or named by one of the words `live`, which
    /// are those of all present rows. No session may be left. Returns what is wrong.
    pub fn audit(&self, live: impl Iterator<Item = u64>) -> Result<(), String> {
        let left = self.left.lock();
        let mut seen = HashMap::new();
        let mut wrong = Vec::new();
        let mut see = |offset: u64, place: &'static str| {
            if let Some(other) = seen.insert(offset, place) {
                wrong.push(format!("the value at offset {offset} is {other} and {place}"));
            }
        };
        for space in &left.spaces {
            for (class, slots) in space.classes.iter().enumerate() {
                slots.offsets(slot_bytes(class)).for_each(|offset| see(offset, "free"));
            }
        }
        for (offset, _) in live.filter_map(slot_of::<M>) {
            see(offset, "in a row");
        }
        let lost = left.slots.saturating_sub(seen.len() as u64);
        if lost > 0 {
            wrong.push(format!("{lost} values are lost: no row has them, and they are not free"));
        }
        if wrong.is_empty() { Ok(()) } else { Err(wrong.join("; ")) }
    }

    fn take_slot(&self, space: &mut ValueSpace, length: usize) -> Result<u64, OutOfMemory> {
        let class = class_for(size_of::<Header<M>>() as u64 + length as u64);
        let stride = slot_bytes(class);
        if let Some(offset) = space.of(class).pop(stride) {
            return Ok(offset);
        }
        let mut left = self.left.lock();
        while let Some(mut other) = left.spaces.pop() {
            for (class, slots) in other.classes.drain(..).enumerate() {
                space.of(class).absorb(slots, slot_bytes(class));
            }
            if let Some(offset) = space.of(class).pop(stride) {
                return Ok(offset);
            }
        }
        let slots = (CHUNK_BYTES / stride).max(1);
        space.of(class).refill(&self.arena, stride, slots)?;
        left.slots += slots;
        Ok(space.of(class).pop(stride).expect("just filled"))
    }
}

/// Returns the slot of the value that `word` names: its offset and the number of its size. None if it has no slot.
fn slot_of<M: Machine>(word: u64) -> Option<(u64, usize)> {
    match ValueWord::of(word) {
        ValueWord::Inline(..) => None,
        ValueWord::Slot(offset, length) => {
            Some((offset, class_for(size_of::<Header<M>>() as u64 + length as u64)))
        }
    }
}

/// Returns the words of a value of `length` bytes in the slot at `offset`.
fn words<M: Machine>(arena: &Arena, offset: u64, length: usize) -> &[Word] {
    let first = offset + size_of::<Header<M>>() as u64;
    // SAFETY: the slot has room for the value behind its header, and this room is used for words only.
    unsafe { arena.slice_at(first, length.div_ceil(8)) }
}

/// Appends the value that `word` names to `out`, for a recorder. This is no access of the modelled machine.
pub(crate) fn peek<M: Machine>(arena: &Arena, word: u64, out: &mut Vec<u8>) {
    match ValueWord::of(word) {
        ValueWord::Inline(bytes, length) => out.extend_from_slice(&bytes[..length]),
        ValueWord::Slot(offset, length) => {
            let at = out.len();
            let words = words::<M>(arena, offset, length);
            out.extend(words.iter().flat_map(|word| word.peek().to_le_bytes()));
            out.truncate(at + length);
        }
    }
}
