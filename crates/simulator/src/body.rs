//! The places of the lines of a record's body.
//!
//! A body's lines have no entries of their own in the directory. The entry of the line that heads the record holds this
//! state for them. It distinguishes six groups of lines, because a core seldom moves a whole body at once: one access
//! moves a few columns, and the next access moves others.
//!
//! | group | lines of the body |
//! | --- | --- |
//! | 0, 1, 2 | line 1, line 2, lines 3 and 4 |
//! | 3, 4, 5 | lines 5 to 7, lines 8 to 11, all further lines |
//!
//! Line 0 is the line that heads the record. The first groups are small because most records are short.

/// Number of groups.
const GROUPS: u32 = 6;
/// The low bit of each group.
const LOW: u64 = 0b0101_0101_0101;

/// Way in which a core moves lines of a body.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Moved {
    /// The core reads them. Misses of one body overlap.
    Read,
    /// The core writes them. Misses of one body overlap.
    Written,
    /// The core writes them behind those that it has written before. Hardware fetches such lines ahead: as many at a time as a core
    /// prefetches.
    Appended,
}

/// Place of the newest contents of a group of lines.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Whereabouts {
    /// A shared cache: of which socket, the sockets' own tables tell ([`crate::world::World`]).
    Shared,
    /// The core that owns the record, which has written the group.
    Owner,
    /// Another socket, or a core that owned the record before.
    Away,
    /// Memory.
    Memory,
}

/// Whereabouts of all groups of a body, in two bits each. All zeros is a body whose lines are in the shared cache.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct BodyState(u64);

impl BodyState {
    /// Number of bits that a state takes.
    pub(crate) const BITS: u32 = 2 * GROUPS;
    /// State of a body of which all lines are in memory.
    pub(crate) const IN_MEMORY: BodyState = BodyState(LOW | LOW << 1);

    /// Returns the state whose bits are the lowest of `bits`.
    #[inline(always)]
    pub(crate) fn from_bits(bits: u64) -> BodyState {
        BodyState(bits & BodyState::IN_MEMORY.0)
    }

    /// Returns the bits of this state.
    #[inline(always)]
    pub(crate) fn bits(self) -> u64 {
        self.0
    }

    /// Returns the position of the bits for line `part`.
    #[inline(always)]
    fn shift(part: u64) -> u64 {
        2 * match part {
            0 | 1 => 0,
            2 => 1,
            3 | 4 => 2,
            5..=7 => 3,
            8..=11 => 4,
            _ => 5,
        }
    }

    /// Returns where line `part` is.
    #[inline(always)]
    pub(crate) fn of(self, part: u64) -> Whereabouts {
        match self.0 >> BodyState::shift(part) & 3 {
            0 => Whereabouts::Shared,
            1 => Whereabouts::Owner,
            2 => Whereabouts::Away,
            _ => Whereabouts::Memory,
        }
    }

    /// Notes where the group of line `part` is from now on.
    #[inline(always)]
    pub(crate) fn set(&mut self, part: u64, place: Whereabouts) {
        let shift = BodyState::shift(part);
        self.0 = self.0 & !(3 << shift) | (place as u64) << shift;
    }

    /// Returns true if one of the lines `first` to `last` is in memory.
    #[inline(always)]
    pub(crate) fn has_in_memory(self, first: u64, last: u64) -> bool {
        // Groups ascend with the lines, so those from the first line's to the last line's are looked at.
        let both = self.0 & self.0 >> 1 & LOW;
        let (from, to) = (BodyState::shift(first), BodyState::shift(last));
        both >> from & ((1 << (to - from + 1)) - 1) != 0
    }

    /// Returns the state after another core has become the owner: what the former owner wrote is away.
    #[inline(always)]
    pub(crate) fn after_change_of_owner(self) -> BodyState {
        let written = self.0 & !(self.0 >> 1) & LOW;
        BodyState(self.0 ^ (written | written << 1))
    }
}

#[cfg(test)]
mod tests {
    use super::{Whereabouts::*, *};

    #[test]
    fn groups_are_independent_and_changes_of_hands_move_them() {
        let mut body = BodyState::default();
        for (part, place) in [(1, Owner), (2, Away), (4, Memory), (6, Owner), (30, Memory)] {
            body.set(part, place);
        }
        let places = |body: BodyState| [0, 1, 2, 3, 5, 8, 11, 12].map(|part| body.of(part));
        assert_eq!(places(body), [Owner, Owner, Away, Memory, Owner, Shared, Shared, Memory]);
        let moved = body.after_change_of_owner();
        assert_eq!(places(moved), [Away, Away, Away, Memory, Away, Shared, Shared, Memory]);
        assert_eq!(BodyState::from_bits(body.bits()), body);
        assert_eq!(BodyState::IN_MEMORY.of(7), Memory);
    }

    #[test]
    fn lines_in_memory_are_found_within_a_range_only() {
        let mut body = BodyState::default();
        body.set(5, Memory);
        body.set(1, Away);
        body.set(2, Owner);
        assert!(body.has_in_memory(1, 5) && body.has_in_memory(7, 7) && body.has_in_memory(0, 20));
        assert!(!body.has_in_memory(0, 4) && !body.has_in_memory(8, 20));
    }
}
