//! OCC: optimistic, with two timestamps a transaction, validated record by record.
//!
//! Source: Kung and Robinson 1981; Larson et al., VLDB 2011 (validation in parallel); Abyss 2.2, 4.3, 5.1.
//! A start timestamp is drawn when an attempt begins, and a read of a version later than it is refused: with
//! one counter of timestamps a transaction sees the rows as they were at its start, or ends. At commit the
//! records to be written are latched in name order, an end timestamp is drawn, and every record read must
//! have the version that was read and no latch of another's; what is installed carries the end timestamp.
//!
//! Serialized by the moment at which the end timestamp is drawn: by then a writer has all its latches,
//! and whoever overwrites what another has read can latch it only after the other has drawn and
//! validated. With one counter that is the order of the end timestamps; in batches or from clocks they
//! only name versions, and an old one costs needless refusals, never an anomaly. So it is always strict.
//!
//! Option, for comparison: the whole of that in one critical section (Kung and Robinson, section 4, serial
//! validation; what Abyss 4.3 began with). Then nobody finds a record latched but readers, who wait for the row
//! to be whole.
//! Reading, writing and installing are those of [`Optimistic`]; at read committed what is not validated is not
//! refused either.
//! Deviations: one version per record, so a read of the past is refused instead of answered (as in the
//! papers' simulation); scanned ranges are validated as SILO's are; only written records are latched, not read
//! ones; serial validation asks each record read for its version instead of every transaction since the start
//! for its write set: the answer is the same; a fresh record for an absent key carries no timestamp, so an
//! absence may be later than the start (validation still guards it).

use crate::{
    CommitLocks, Declaration, Isolation, ProtocolOptions, Txn, Validation, faults,
    parts::{
        critical_section::{CriticalSection, Entrance},
        optimistic::{End, Footprint, Optimistic, Rules},
        tid_word::TidRecord,
        timestamp_allocator::{TimestampAllocator, TimestampSource},
    },
};
use machine::{Arena, Core, Machine, OutOfMemory, Word, Zeroed, cold::Arc};
use storage::Epochs;
use txn::{Abort, AbortReason};

/// The protocol.
pub type Occ<M> = Optimistic<OccRules<M>>;

/// How it validates.
pub struct OccRules<M: Machine> {
    allocator: TimestampAllocator<M>,
    section: Option<CriticalSection<M>>,
}

/// `| end timestamp of the version's writer: 63 bits | latched: 1 bit |`
#[repr(transparent)]
pub struct WriteTime(Word);

// SAFETY: a word.
unsafe impl Zeroed for WriteTime {}

impl TidRecord for WriteTime {
    #[inline(always)]
    fn word(&self) -> &Word {
        &self.0
    }
}

/// The word of a version written at `timestamp`.
#[inline(always)]
fn written_at(timestamp: u64) -> u64 {
    timestamp << 1
}

/// What a session keeps.
pub struct Own<'s, M: Machine> {
    start: u64,
    source: TimestampSource,
    entrance: Option<Entrance<'s, M>>,
}

impl<M: Machine> Rules<M> for OccRules<M> {
    type Record = WriteTime;
    type Own<'s>
        = Own<'s, M>
    where
        M: 's;

    fn declare() -> Declaration {
        Declaration {
            name: "OCC",
            summary: "optimistic; a timestamp at the start and one at the end, reads validated one by one",
            source: "Kung and Robinson 1981; Larson et al., VLDB 2011; Abyss 2.2, 4.3, 5.1",
            isolation: Isolation::Serializable,
            strict: true,
            one_site: None,
        }
    }

    fn knobs() -> &'static [&'static str] {
        &["validation", "commit-updates"]
    }

    fn create(
        arena: &Arc<Arena>,
        options: &ProtocolOptions,
        sessions: usize,
    ) -> Result<Self, OutOfMemory> {
        let allocator = TimestampAllocator::new(arena, options.timestamps, sessions)?;
        let section = match options.validation {
            Validation::Parallel => None,
            Validation::Central => Some(CriticalSection::new(arena, sessions)?),
        };
        Ok(OccRules { allocator, section })
    }

    fn own<'s>(&'s self, _: &'s Epochs<M>, slot: usize) -> Own<'s, M> {
        let entrance = self.section.as_ref().map(|section| section.entrance(slot));
        Own { start: 0, source: TimestampSource::new(slot), entrance }
    }

    #[inline]
    fn begin<'s>(&'s self, core: &M::Core, own: &mut Own<'s, M>, _: Txn<'_>) {
        own.start = self.allocator.draw(core, &mut own.source);
    }

    #[inline]
    fn admit(&self, own: &Own<'_, M>, version: u64) -> Result<(), Abort> {
        if version > written_at(own.start) {
            return Err(Abort::because(AbortReason::TimestampOrder));
        }
        Ok(())
    }

    #[inline]
    fn prepare<'s>(
        &'s self,
        core: &M::Core,
        own: &mut Own<'s, M>,
        sets: &mut Footprint<'s, M, WriteTime>,
    ) -> Result<u64, Abort> {
        sets.writes.sort();
        let outside = core.is_planted(faults::OCC_VALIDATES_OUTSIDE);
        if outside {
            sets.validate(core)?;
        } else if let Some(entrance) = &mut own.entrance {
            entrance.enter(core);
        }
        // Waiting keeps others waiting, but an attempt given up would have drawn its timestamps in vain,
        // and those are what many cores wait for.
        sets.lock_writes(core, CommitLocks::Wait, |_| ())?;
        // The serialisation point: behind every latch, before anything is validated.
        core.fence();
        let end = self.allocator.draw(core, &mut own.source);
        core.fence();
        if !outside {
            sets.validate(core)?;
        }
        Ok(end)
    }

    #[inline(always)]
    fn version_at(end: u64) -> u64 {
        written_at(end)
    }

    #[inline]
    fn ended<'s>(
        &'s self,
        core: &M::Core,
        own: &mut Own<'s, M>,
        _: &Footprint<'s, M, WriteTime>,
        _: End,
    ) {
        if let Some(entrance) = &mut own.entrance {
            entrance.leave(core);
        }
    }
}
