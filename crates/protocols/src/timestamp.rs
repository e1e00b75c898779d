//! TIMESTAMP: basic timestamp ordering.
//!
//! Source: Bernstein and Goodman 1981; Abyss 2.2.
//!
//! - A transaction draws a timestamp when an attempt begins, and is serialized at it. A retry draws a new one.
//! - A read is refused if a later transaction has written the row. It waits for the prewrite of an earlier
//!   transaction to be decided.
//! - A write is announced (prewrite) when it is made. It is refused if a later transaction has read or written the
//!   row.
//! - Waits always go from later to earlier timestamps, so they cannot form a cycle.
//!
//! TIMESTAMP is strict unless timestamps come in batches. With batches, an old timestamp can be used after a later
//! one has committed.
//!
//! Deviations:
//!
//! - A record has one undecided prewrite instead of a list. A second one waits if it is later, and is refused if it
//!   is earlier. With `waiting-writers=in-turn` the earliest of those that wait goes first.
//! - A read for update announces its write at once.
//! - No copy of the row is kept for repeated reads, because `rts` protects what was read. A repeated read returns
//!   the same version or is refused.

use crate::{
    CommitLog, Declaration, Isolation, ProtocolOptions, TimestampAllocation, Txn, faults,
    mechanisms::{
        announced_writes::{Access, AnnouncedWrites, Announces, Rules},
        prewrite::{Prewriter, Prewritten, Waiting, too_late},
        queue_latch::LatchNodes,
        range_times::{self, Timed},
        timestamp_allocator::{TimestampAllocator, TimestampSource},
        timestamp_floor::TimestampFloor,
        write_set::WriteSet,
    },
};
use machine::{Arena, Core, Machine, OutOfMemory, Word, Zeroed, cold::Arc};
use storage::{GuardRef, RecordRef, RowHead};
use txn::{Abort, ColumnSet};

/// The TIMESTAMP protocol.
pub type Timestamp<M> = AnnouncedWrites<TimestampRules<M>>;

/// TIMESTAMP's rules: when a transaction reads and writes.
pub struct TimestampRules<M: Machine> {
    allocator: TimestampAllocator<M>,
    floor: TimestampFloor<M>,
    latches: LatchNodes,
    waiting: Waiting<M>,
}

/// Timestamps of a record, under a latch.
#[repr(C)]
pub struct Times {
    latch: Word,
    /// Timestamp of the last write installed.
    wts: Word,
    /// Latest timestamp of any read.
    rts: Word,
    /// Timestamp of the write that is announced and not decided; 0 if none.
    pending: Word,
    /// First node of the queue for that decision; 0 if none.
    queue: Word,
}

// SAFETY: all fields are words, for which zeros are a valid value.
unsafe impl Zeroed for Times {}

/// State of a session: its timestamp and the ranges that it has scanned.
pub struct Own<'s, M: Machine> {
    prewrites: Prewriter<M>,
    source: TimestampSource,
    scanned: Vec<GuardRef<'s, M, Times>>,
}

impl Prewritten for Times {
    fn latch_word(&self) -> &Word {
        &self.latch
    }

    fn pending(&self) -> &Word {
        &self.pending
    }

    fn queue(&self) -> &Word {
        &self.queue
    }
}

impl Timed for Times {
    fn wts(&self) -> &Word {
        &self.wts
    }

    fn rts(&self) -> &Word {
        &self.rts
    }
}

type Record<'s, M> = RecordRef<'s, M, Times>;

impl<M: Machine> Rules<M> for TimestampRules<M> {
    const KEEPS_VERSIONS: bool = false;
    type Words = Times;
    type Announcer = Prewriter<M>;
    type Absences = TimestampFloor<M>;
    type Own<'s>
        = Own<'s, M>
    where
        M: 's;

    fn declare(options: &ProtocolOptions) -> Declaration {
        Declaration {
            name: "TIMESTAMP",
            summary: "basic timestamp ordering; late operations are refused, early ones wait",
            source: "Bernstein and Goodman 1981; Abyss 2.2",
            isolation: Isolation::Serializable,
            strict: !matches!(options.timestamps, TimestampAllocation::Batched(_)),
            one_site: None,
        }
    }

    fn knobs() -> &'static [&'static str] {
        &["waiting-writers", "latch"]
    }

    fn create(
        arena: &Arc<Arena>,
        options: &ProtocolOptions,
        sessions: usize,
    ) -> Result<Self, OutOfMemory> {
        Ok(TimestampRules {
            allocator: TimestampAllocator::new(arena, options.timestamps, sessions)?,
            floor: TimestampFloor::new(arena)?,
            latches: LatchNodes::of_kind::<M>(arena, sessions, options.latch)?,
            waiting: Waiting::new(arena, options.waiting_writers, sessions)?,
        })
    }

    fn own<'s>(&'s self, session: usize) -> Own<'s, M> {
        Own {
            prewrites: Prewriter::new(&self.latches, session, &self.waiting),
            source: TimestampSource::new(session),
            scanned: Vec::new(),
        }
    }

    fn announcer<'a>(own: &'a Own<'_, M>) -> &'a Prewriter<M> {
        &own.prewrites
    }

    fn absences(&self) -> &TimestampFloor<M> {
        &self.floor
    }

    #[inline]
    fn begin<'s>(&'s self, core: &M::Core, own: &mut Own<'s, M>, txn: Txn<'_>) {
        let drawn = txn.age.unwrap_or_else(|| self.allocator.draw(core, &mut own.source));
        own.prewrites.timestamp = match core.is_planted(faults::TIMESTAMPS_CUT_SHORT) {
            false => drawn,
            // Acts on longer timestamps than a short run draws.
            true => (drawn + u64::from(u32::MAX) - 10) & u64::from(u32::MAX),
        };
    }

    fn age(own: &Own<'_, M>) -> Option<u64> {
        Some(own.prewrites.timestamp)
    }

    #[inline]
    fn latch_for_write<'s>(
        &'s self,
        core: &M::Core,
        own: &mut Own<'s, M>,
        record: &Record<'s, M>,
    ) -> Result<(), Abort> {
        own.prewrites.latch_for_write(core, record)
    }

    #[inline]
    fn read<'s>(
        &'s self,
        core: &M::Core,
        own: &mut Own<'s, M>,
        record: Record<'s, M>,
        access: Access,
        columns: ColumnSet,
        out: &mut [u8],
    ) -> Result<RowHead, Abort> {
        let prewrites = &own.prewrites;
        if access != Access::Announced {
            prewrites.latch_decided(core, &record);
            if core.load_relaxed(record.line(), &record.cc().wts) > prewrites.timestamp {
                prewrites.unlatch(core, &record);
                return Err(too_late());
            }
        }
        let head = record.copy_out(core, columns, out);
        prewrites.mark_read(core, &record);
        prewrites.unlatch(core, &record);
        Ok(head)
    }

    #[inline]
    fn prepare<'s>(
        &'s self,
        core: &M::Core,
        own: &mut Own<'s, M>,
        _: &WriteSet<'s, M, Times>,
    ) -> Result<u64, Abort> {
        // A scan may have missed a record because a later transaction retired it.
        let late = |guard: &GuardRef<'s, M, Times>| {
            core.load(guard.line(), &guard.cc().wts) > own.prewrites.timestamp
        };
        if own.scanned.iter().any(late) {
            return Err(too_late());
        }
        Ok(own.prewrites.timestamp)
    }

    fn commit<'s>(
        &'s self,
        core: &M::Core,
        own: &mut Own<'s, M>,
        writes: &WriteSet<'s, M, Times>,
        timestamp: u64,
        log: &mut CommitLog<'_>,
    ) {
        for at in 0..writes.len() {
            let record = writes.record(at);
            own.prewrites.latch(core, &record);
            writes.install(core, at, log);
            core.store_relaxed(record.line(), &record.cc().wts, timestamp);
            own.prewrites.hand_over(core, &record);
            own.prewrites.unlatch(core, &record);
        }
        self.end(core, own, writes);
    }

    fn end<'s>(&'s self, _: &M::Core, own: &mut Own<'s, M>, _: &WriteSet<'s, M, Times>) {
        own.scanned.clear();
    }

    fn scan<'s>(&'s self, core: &M::Core, own: &mut Own<'s, M>, guard: GuardRef<'s, M, Times>) {
        range_times::announce(core, guard, own.prewrites.timestamp);
        own.scanned.push(guard);
    }
}
