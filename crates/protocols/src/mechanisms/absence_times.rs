//! The times of absences: when an absence began, and until when transactions have seen it.
//!
//! An absent key has a record too, and this record carries two timestamps: `wts`, when the absence began, and `rts`,
//! the latest read of it. A retired record leaves its index, but the absence of its key goes on. So the two times are
//! kept elsewhere:
//!
//! - in an ordered table in the guard of the leaf that covers the key ([`range_times`]),
//! - in a table without order in two floors ([`AbsenceTimes`]), or in one floor where there are no versions
//!   ([`TimestampFloor`]).
//!
//! **Invariant.** The kept times are at least those of every retired record that they stand for. A record made later
//! for the same key starts with them. So it never starts with times below those of the key's last record. A transaction
//! does not read an absence that began after it, and a write older than a read of the absence is refused.

use super::{
    range_times::{self, Timed},
    timestamp_floor::TimestampFloor,
};
use crate::faults;
use machine::{Arena, Core, Machine, OutOfMemory, cold::Arc};
use storage::{GuardRef, RecordRef};

/// Memory of absences, kept in records and in the guards of ranges. It outlives the records.
pub trait Absences<M: Machine, C> {
    /// As [`Protocol::prepare_record`](crate::Protocol::prepare_record).
    fn start(
        &self,
        core: &M::Core,
        record: &RecordRef<'_, M, C>,
        guard: Option<GuardRef<'_, M, C>>,
    );

    /// As [`Protocol::retire`](crate::Protocol::retire).
    fn remember(
        &self,
        core: &M::Core,
        record: &RecordRef<'_, M, C>,
        guard: Option<GuardRef<'_, M, C>>,
    );

    /// Passes what is known of the range of `from` on to the range of `to`. Called when a leaf splits or merges.
    fn pass_on(core: &M::Core, from: GuardRef<'_, M, C>, to: GuardRef<'_, M, C>);
}

/// Times of all absences that were retired from tables without order.
pub struct AbsenceTimes<M: Machine> {
    /// Largest begin (`wts`) of these absences.
    written: TimestampFloor<M>,
    /// Largest time (`rts`) until which one of them was read.
    read: TimestampFloor<M>,
}

impl<M: Machine> AbsenceTimes<M> {
    /// Creates the floors; no absence is retired so far.
    pub fn new(arena: &Arc<Arena>) -> Result<Self, OutOfMemory> {
        let (written, read) = (TimestampFloor::new(arena)?, TimestampFloor::new(arena)?);
        Ok(AbsenceTimes { written, read })
    }
}

impl<M: Machine, C: Timed> Absences<M, C> for AbsenceTimes<M> {
    fn start(
        &self,
        core: &M::Core,
        record: &RecordRef<'_, M, C>,
        guard: Option<GuardRef<'_, M, C>>,
    ) {
        let floors = || (self.written.get(core), self.read.get(core));
        let times = guard.map_or_else(floors, |guard| range_times::times_in(core, guard));
        range_times::start(core, record, times);
    }

    /// Raises the kept times to those of the retired record.
    ///
    /// This refuses no active transaction a fresh record: the retired absence has no older versions left, so no active
    /// transaction is older than the absence. For the same reason no active transaction needs a state before it.
    fn remember(
        &self,
        core: &M::Core,
        record: &RecordRef<'_, M, C>,
        guard: Option<GuardRef<'_, M, C>>,
    ) {
        let mut times = range_times::times_of(core, record);
        if core.is_planted(faults::ABSENCE_FORGETS_READERS) {
            times.1 = 0;
        }
        match guard {
            Some(guard) => range_times::raise_both(core, guard, times),
            None => {
                self.written.raise(core, times.0);
                self.read.raise(core, times.1);
            }
        }
    }

    fn pass_on(core: &M::Core, from: GuardRef<'_, M, C>, to: GuardRef<'_, M, C>) {
        range_times::pass_on(core, from, to);
    }
}

/// One floor for both times, where there are no versions. A transaction older than the floor is refused.
impl<M: Machine, C: Timed> Absences<M, C> for TimestampFloor<M> {
    fn start(
        &self,
        core: &M::Core,
        record: &RecordRef<'_, M, C>,
        guard: Option<GuardRef<'_, M, C>>,
    ) {
        let floors = || {
            let floor = self.get(core);
            (floor, floor)
        };
        let times = guard.map_or_else(floors, |guard| range_times::times_in(core, guard));
        range_times::start(core, record, times);
    }

    fn remember(
        &self,
        core: &M::Core,
        record: &RecordRef<'_, M, C>,
        guard: Option<GuardRef<'_, M, C>>,
    ) {
        let times = range_times::times_of(core, record);
        match guard {
            Some(guard) => range_times::raise_both(core, guard, times),
            None => self.raise(core, times.0.max(times.1)),
        }
    }

    fn pass_on(core: &M::Core, from: GuardRef<'_, M, C>, to: GuardRef<'_, M, C>) {
        range_times::pass_on(core, from, to);
    }
}
