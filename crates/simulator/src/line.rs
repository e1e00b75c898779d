//! State of one modelled cache line, in 16 bytes that lie beside the words it covers. This is the directory's entry
//! for the line.
//!
//! ```text
//!            63         28 27        23 22     15 14    3 2     0
//!  time:    | busy until | body hands | version | body  | flags |
//!            63        46 45            45 44      32 31                0
//!  holders: | fill stamp | body is shared | owner + 1 | sharers by cluster |
//! ```
//!
//! Invariants:
//! - All zeros is a line that no core has touched. Any other line has a version other than 0.
//! - A core that acquires the line for writing changes the version. A private copy is valid only if it has the line's
//!   current version.
//! - The lines of a record's body have a version of their own, `body hands`. A core that writes one of them while others can
//!   have copies changes it. A write of the head line alone leaves their copies valid.
//! - With [`EXCLUSIVE`] set, only the owner holds the line, as far as the directory knows. The owner can write the
//!   line without asking the directory.
//!
//! The fields are atomic only because the type must be shareable between threads. One thread runs the whole
//! simulation, so all accesses are relaxed.

use crate::body::BodyState;
use machine::{Line, Zeroed};
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

const FLAG_BITS: u32 = 3;
const VERSION_BITS: u32 = 8;
const HANDS_BITS: u32 = 5;
const SHARER_BITS: u32 = 32;
const OWNER_BITS: u32 = 13;
const STAMP_BITS: u32 = 18;

const BODY_SHIFT: u32 = FLAG_BITS;
const VERSION_SHIFT: u32 = BODY_SHIFT + BodyState::BITS;
const HANDS_SHIFT: u32 = VERSION_SHIFT + VERSION_BITS;
const BUSY_SHIFT: u32 = HANDS_SHIFT + HANDS_BITS;
const OWNER_SHIFT: u32 = SHARER_BITS;
const BODY_SHARED_SHIFT: u32 = SHARER_BITS + OWNER_BITS;
const STAMP_SHIFT: u32 = BODY_SHARED_SHIFT + 1;

/// Latest time until which a line can be busy.
pub(crate) const LATEST_BUSY: u64 = (1 << (64 - BUSY_SHIFT)) - 1;
/// Mask of a version. Versions count the changes of hands of a line, modulo 2^8. Private caches distinguish no more.
const VERSION_MASK: u32 = (1 << VERSION_BITS) - 1;
/// Mask of the version of a body. A copy that is 32 changes of hands old is taken for a valid one.
const HANDS_MASK: u32 = (1 << HANDS_BITS) - 1;
/// Mask of a fill stamp. Stamps count modulo 2^18.
pub(crate) const STAMP_MASK: u32 = (1 << STAMP_BITS) - 1;
const OWNER_MASK: u64 = (1 << OWNER_BITS) - 1;

/// Flag: only the owner holds the line, and can write it without asking.
pub(crate) const EXCLUSIVE: u64 = 1;
/// Flag: a core is parked on the line.
pub(crate) const WAITERS: u64 = 2;
/// Flag: the line was written since it came from memory.
pub(crate) const WRITTEN: u64 = 4;

/// Modelled cache line: until when it is busy, its version, its owner, the clusters that share it, and when it was
/// last filled. All zeros is a line that no core has touched.
#[repr(C)]
#[derive(Default, Debug)]
pub struct SimLine {
    /// From the highest bits: busy until (36 bits), hands of the body (5), version (8), body (12), flags (3).
    time: AtomicU64,
    /// From the highest bits: fill stamp (18 bits), whether the body is shared (1), owner + 1 (13), sharers by cluster (32).
    holders: AtomicU64,
}

impl Line for SimLine {}
// SAFETY: the type consists of two atomic integers. Zeros are valid for them, and there is nothing to drop.
unsafe impl Zeroed for SimLine {}

/// Owner of a line that no core has held.
pub(crate) const NOBODY: u32 = u32::MAX;

/// Fields of a line, unpacked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct State {
    /// Time until which the line serves no other request.
    pub busy: u64,
    /// Number of changes of hands, modulo 2^8. It is 0 only if no core has touched the line.
    pub version: u32,
    pub flags: u64,
    /// Places of the lines of the record's body.
    pub body: BodyState,
    /// Number of changes of hands of the lines of the body, modulo 2^5.
    pub body_hands: u32,
    /// Set if cores other than the owner can have copies of lines of the body.
    pub body_shared: bool,
    /// Fill stamp of the last fetch: it tells whether the shared cache still has the line.
    pub stamp: u32,
    /// Physical core that owns the line. [`NOBODY`] if no core has held it yet.
    pub owner: u32,
    /// Clusters of nodes in which a core shares the line, one bit each.
    pub sharers: u32,
}

impl State {
    /// Returns the fields of the body, at their places.
    #[inline(always)]
    fn body_fields(&self) -> u64 {
        self.body.bits() << BODY_SHIFT | u64::from(self.body_hands & HANDS_MASK) << HANDS_SHIFT
    }
}

impl SimLine {
    /// Returns version and flags. They decide whether a private copy is still valid.
    #[inline(always)]
    pub(crate) fn version_and_flags(&self) -> (u32, u64) {
        let time = self.time.load(Relaxed);
        ((time >> VERSION_SHIFT) as u32 & VERSION_MASK, time & ((1 << FLAG_BITS) - 1))
    }

    /// Returns where the lines of the record's body are.
    #[inline(always)]
    pub(crate) fn body(&self) -> BodyState {
        BodyState::from_bits(self.time.load(Relaxed) >> BODY_SHIFT)
    }

    /// Notes what `state` says about the record's body: where its lines are, the number of their changes of hands, and whether
    /// others than the owner can have copies.
    #[inline(always)]
    pub(crate) fn set_body(&self, state: &State) {
        let fields =
            BodyState::IN_MEMORY.bits() << BODY_SHIFT | u64::from(HANDS_MASK) << HANDS_SHIFT;
        self.time.store(self.time.load(Relaxed) & !fields | state.body_fields(), Relaxed);
        let others = self.holders.load(Relaxed) & !(1 << BODY_SHARED_SHIFT);
        self.holders.store(others | u64::from(state.body_shared) << BODY_SHARED_SHIFT, Relaxed);
    }

    /// Returns true if physical core `core` alone holds the line, as far as the directory knows.
    #[inline(always)]
    pub(crate) fn is_owner(&self, core: u32) -> bool {
        (self.holders.load(Relaxed) >> OWNER_SHIFT) & OWNER_MASK == u64::from(core) + 1
    }

    #[inline]
    pub(crate) fn state(&self) -> State {
        let (version, flags) = self.version_and_flags();
        let holders = self.holders.load(Relaxed);
        let owner = (holders >> OWNER_SHIFT) & OWNER_MASK;
        State {
            busy: self.time.load(Relaxed) >> BUSY_SHIFT,
            version,
            flags,
            body: self.body(),
            body_hands: (self.time.load(Relaxed) >> HANDS_SHIFT) as u32 & HANDS_MASK,
            body_shared: holders >> BODY_SHARED_SHIFT & 1 != 0,
            stamp: (holders >> STAMP_SHIFT) as u32,
            owner: NOBODY.wrapping_add(owner as u32),
            sharers: holders as u32,
        }
    }

    #[inline]
    pub(crate) fn set_state(&self, state: &State) {
        debug_assert!(state.busy <= LATEST_BUSY, "the modelled time exceeds its bits");
        let time = state.busy.min(LATEST_BUSY) << BUSY_SHIFT
            | u64::from(state.version) << VERSION_SHIFT
            | state.body_fields()
            | state.flags;
        let owner = u64::from(state.owner.wrapping_sub(NOBODY));
        let holders = u64::from(state.stamp & STAMP_MASK) << STAMP_SHIFT
            | u64::from(state.body_shared) << BODY_SHARED_SHIFT
            | owner << OWNER_SHIFT
            | u64::from(state.sharers);
        self.time.store(time, Relaxed);
        self.holders.store(holders, Relaxed);
    }

    /// Makes the line busy until `time` at least.
    #[inline]
    pub(crate) fn delay(&self, time: u64) {
        let fields = self.time.load(Relaxed);
        let busy = (fields >> BUSY_SHIFT).max(time.min(LATEST_BUSY));
        self.time.store(busy << BUSY_SHIFT | fields & ((1 << BUSY_SHIFT) - 1), Relaxed);
    }

    #[inline]
    pub(crate) fn set_flag(&self, flag: u64) {
        self.time.store(self.time.load(Relaxed) | flag, Relaxed);
    }

    #[inline]
    pub(crate) fn clear_flag(&self, flag: u64) {
        self.time.store(self.time.load(Relaxed) & !flag, Relaxed);
    }
}

/// Returns the version after `version`. 0 is reserved for lines that no core has touched.
#[inline]
pub(crate) fn next_version(version: u32) -> u32 {
    let next = (version + 1) & VERSION_MASK;
    if next == 0 { 1 } else { next }
}

/// Returns the number of changes of hands of a body after one more.
#[inline]
pub(crate) fn next_hands(hands: u32) -> u32 {
    (hands + 1) & HANDS_MASK
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_16_bytes_and_keeps_every_field() {
        assert_eq!(size_of::<SimLine>(), 16);
        let line = SimLine::default();
        assert_eq!((line.state().owner, line.state().version, line.state().busy), (NOBODY, 0, 0));
        let state = State {
            busy: LATEST_BUSY,
            version: VERSION_MASK,
            flags: EXCLUSIVE | WRITTEN,
            body: BodyState::IN_MEMORY,
            body_hands: HANDS_MASK - 1,
            body_shared: true,
            stamp: STAMP_MASK - 1,
            owner: 4095,
            sharers: 0x8000_0001,
        };
        line.set_state(&state);
        assert_eq!(line.state(), state);
        line.set_flag(WAITERS);
        line.clear_flag(EXCLUSIVE);
        assert_eq!(line.state(), State { flags: WAITERS | WRITTEN, ..state });
        let changed = State {
            body: BodyState::default(),
            body_hands: 1,
            body_shared: false,
            flags: WAITERS | WRITTEN,
            ..state
        };
        line.set_body(&changed);
        assert_eq!(line.state(), changed);
        assert!(line.is_owner(4095) && !line.is_owner(4094));
        assert_eq!((next_version(VERSION_MASK), next_hands(HANDS_MASK)), (1, 0));
    }
}
