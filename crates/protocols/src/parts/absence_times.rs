//! When absences began and until when they were seen, for records that come and go.
//!
//! An absence that was retired with its record goes on: a record made later for the same key starts with the times
//! that the last one has come to. In an ordered table the leaf's guard knows them
//! ([`range_times`]), elsewhere two floors do.

use super::{
    range_times::{self, Timed},
    timestamp_floor::TimestampFloor,
};
use machine::{Arena, Machine, OutOfMemory, cold::Arc};
use storage::{GuardRef, RecordRef};

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

    /// As [`Protocol::prepare_record`](crate::Protocol::prepare_record).
    pub fn start<C: Timed>(
        &self,
        core: &M::Core,
        record: &RecordRef<'_, M, C>,
        guard: Option<GuardRef<'_, M, C>>,
    ) {
        let floors = || (self.written.get(core), self.read.get(core));
        let times = guard.map_or_else(floors, |guard| range_times::times_in(core, guard));
        range_times::start(core, record, times);
    }

    /// As [`Protocol::retire`](crate::Protocol::retire).
    pub fn remember<C: Timed>(
        &self,
        core: &M::Core,
        record: &RecordRef<'_, M, C>,
        guard: Option<GuardRef<'_, M, C>>,
    ) {
        let times = range_times::times_of(core, record);
        match guard {
            Some(guard) => range_times::raise_both(core, guard, times),
            None => {
                self.written.raise(core, times.0);
                self.read.raise(core, times.1);
            }
        }
    }
}
