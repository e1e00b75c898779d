//! When absences began and until when they were seen, for records that come and go.
//!
//! An absence that was retired with its record goes on: a record made later for the same key starts with the times
//! that the last one has come to. In an ordered table the leaf's guard knows them
//! ([`range_times`]), elsewhere two floors do.

use super::{
    range_times::{self, Timed},
    timestamp_floor::TimestampFloor,
};
use crate::faults;
use machine::{Arena, Core, Machine, OutOfMemory, cold::Arc};
use storage::{GuardRef, RecordRef};

/// What is known of absences, in records and in the guards of ranges, and goes on when records go.
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

    /// What is known of the range of `from` now holds of that of `to` as well: a leaf splits, or merges.
    fn pass_on(core: &M::Core, from: GuardRef<'_, M, C>, to: GuardRef<'_, M, C>);
}

/// Of all absences that were retired from tables without order.
pub struct AbsenceTimes<M: Machine> {
    /// When the latest of them began.
    written: TimestampFloor<M>,
    /// Until when any of them was read.
    read: TimestampFloor<M>,
}

impl<M: Machine> AbsenceTimes<M> {
    /// None so far.
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

    /// Nobody is active who is older than the absence, as it has no history: so nobody is refused a fresh record for
    /// being older than it, or would have to see something before it.
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

/// One floor for both, where there are no versions: whoever is older than it is refused.
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
