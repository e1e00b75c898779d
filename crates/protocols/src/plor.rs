//! PLOR: two-phase locking in which readers and writers conflict only when a writer commits.
//!
//! Source: Chen et al., SIGMOD 2022 (Plor: General Transactions with Predictable, Low Tail Latency). Only the
//! paper's abstract was at hand. This description is from secondary knowledge of the paper, and our own where that
//! says nothing.
//!
//! - Locks are pessimistic: a read registers the transaction with the record, and a write acquires the record's
//!   write lock. Both are kept to the end. Writers follow WOUND_WAIT's rule: the older wounds the younger, and the
//!   younger waits. A transaction keeps its timestamp when it is retried.
//! - Reads are optimistic: a write lock does not keep readers out. A reader reads the committed version. The
//!   writer's new version stays private until it commits.
//! - To commit, a writer makes its locks exclusive, one by one. An exclusive lock admits no more readers. The
//!   writer wounds the registered readers that are younger, and waits for those that are older. Then it passes its
//!   commit point, which is a compare-and-swap on one word of its session. It fails if the transaction has been
//!   wounded. Then the writer installs its writes and releases its locks. A transaction without writes has only the
//!   compare-and-swap.
//! - A reader that finds an exclusive lock waits until it is gone. If the reader is older than the writer, it
//!   wounds the writer, because the writer can be waiting elsewhere for an older reader that in turn waits for this
//!   one.
//!
//! So a transaction waits only for older transactions, for wounded ones, and for those past their commit points.
//! Waits form no cycle, and the oldest transaction is never wounded. At its commit point a transaction's reads are
//! still registered, and no record read has been overwritten, because a writer would have had to wound the reader
//! first. Its writes are exclusive. So transactions are ordered by their commit points, which is strict.
//!
//! Option: `write-locks=commit` acquires write locks at commit, in the order of the records' names. Until then
//! these records are only read (the paper's delayed acquisition of write locks).
//!
//! Deviations, as far as the original is known:
//!
//! - Readers are in a list under the latch of the record's lock. The paper has one bit for each worker, set without
//!   a latch. See [`crate::mechanisms::registered_readers`].
//! - A writer does not wait for a wounded reader, because that reader cannot commit any more. The reader notices
//!   the wound after it has copied a row (which may have been overwritten meanwhile), when it asks for a lock,
//!   while it waits, and when it is about to commit.
//! - Ranges are registered with and locked like records. A transaction that makes a record in a range keeps readers
//!   out for that instant, or to its end if it has scanned the range itself ([`crate::mechanisms::two_phase_locking`]).
//! - Natively, a running session can take a write lock that was granted to a sleeping one
//!   ([`crate::mechanisms::overtaking`]).

use crate::{
    Declaration, Isolation, ProtocolOptions, Txn, WriteLocks, faults,
    mechanisms::{
        cancellable_queue::{Claims, SharedSessions},
        registered_readers::{Held, Reader, ReaderLists, RegisteringLock},
        timestamp_allocator::{TimestampAllocator, TimestampSource},
        two_phase_locking::{Locks, Mode, TwoPhaseLocking},
        wounding::Wound,
    },
};
use machine::{Arena, Core, Machine, OutOfMemory, cold::Arc};
use storage::RecordRef;
use txn::{Abort, AbortReason};

/// The PLOR protocol.
pub type Plor<M> = TwoPhaseLocking<RegisteringLocks<M>>;

/// Locks that allow readers beside a writer.
pub struct RegisteringLocks<M: Machine> {
    allocator: TimestampAllocator<M>,
    sessions: SharedSessions<M>,
    readers: ReaderLists<M>,
    at_commit: bool,
}

/// State of a session: its age and its locks.
pub struct Owner<M: Machine> {
    timestamp: u64,
    source: TimestampSource,
    reader: Reader<M>,
}

const WOUNDED: AbortReason = AbortReason::Wounded;

/// Returns true if the transaction checks for wounds and does not commit with one. False only with a planted bug.
#[inline(always)]
fn heeds_wounds<C: Core>(core: &C) -> bool {
    !core.is_planted(faults::PLOR_COMMITS_WOUNDED)
}

impl<M: Machine> RegisteringLocks<M> {
    /// Checks that the transaction has not been wounded. Reads one word of its own session.
    #[inline(always)]
    fn look(core: &M::Core, owner: &Owner<M>) -> Result<Wound, Abort> {
        match heeds_wounds(core) && owner.reader.is_wounded(core) {
            true => Err(Abort::because(WOUNDED)),
            false => Ok(Wound::by(owner.timestamp)),
        }
    }
}

impl<M: Machine> Locks<M> for RegisteringLocks<M> {
    type Words = RegisteringLock;
    type Held = Held;
    type Owner = Owner<M>;

    const CERTIFIES: bool = true;
    const DEFERS: bool = true;
    const IN_ORDER: bool = true;

    fn declare(_: &ProtocolOptions) -> Declaration {
        Declaration {
            name: "PLOR",
            summary: "two-phase locking; readers meet writers at commit, where the older wounds the younger",
            source: "Chen et al. 2022",
            isolation: Isolation::Serializable,
            strict: true,
            one_site: Some(
                "a wound reaches a transaction at one site only, which may be waiting at another",
            ),
        }
    }

    fn knobs() -> &'static [&'static str] {
        &["write-locks"]
    }

    #[inline(always)]
    fn locks_writes_at_commit(&self) -> bool {
        self.at_commit
    }

    fn create(
        arena: &Arc<Arena>,
        options: &ProtocolOptions,
        sessions: usize,
    ) -> Result<Self, OutOfMemory> {
        Ok(RegisteringLocks {
            allocator: TimestampAllocator::new(arena, options.timestamps, sessions)?,
            sessions: SharedSessions::new(arena, sessions)?,
            readers: ReaderLists::new(arena, sessions)?,
            at_commit: options.write_locks == WriteLocks::Commit,
        })
    }

    fn owner(&self, session: usize) -> Owner<M> {
        Owner {
            timestamp: 0,
            source: TimestampSource::new(session),
            reader: self.readers.reader(session, Claims::new(&self.sessions, session)),
        }
    }

    #[inline]
    fn begin(&self, core: &M::Core, owner: &mut Owner<M>, txn: Txn<'_>) {
        if let Some(age) = txn.age {
            owner.timestamp = age;
        } else if txn.attempt == 0 {
            owner.timestamp = self.allocator.draw(core, &mut owner.source);
        }
        owner.reader.claims().begin(core);
    }

    #[inline(always)]
    fn acquire(
        &self,
        core: &M::Core,
        owner: &mut Owner<M>,
        record: &RecordRef<'_, M, RegisteringLock>,
        mode: Mode,
    ) -> Result<Held, Abort> {
        let wound = Self::look(core, owner)?;
        let reader = &mut owner.reader;
        let held = match mode {
            Mode::Shared => reader.read(core, record, wound, WOUNDED),
            Mode::Exclusive => {
                let mut held = Held::NOT;
                reader.write(core, record, &mut held, wound, WOUNDED).map(|()| held)
            }
        };
        held.map_err(Abort::because)
    }

    /// Keeps the read registered until the write lock is exclusive: an earlier holder of the write lock may
    /// overwrite what was read.
    fn upgrade(
        &self,
        core: &M::Core,
        owner: &mut Owner<M>,
        record: &RecordRef<'_, M, RegisteringLock>,
        held: &mut Held,
    ) -> Result<(), Abort> {
        let wound = Self::look(core, owner)?;
        let upgraded = owner.reader.write(core, record, held, wound, WOUNDED);
        upgraded.map_err(Abort::because)
    }

    #[inline]
    fn certify(
        &self,
        core: &M::Core,
        owner: &mut Owner<M>,
        record: &RecordRef<'_, M, RegisteringLock>,
        held: &mut Held,
    ) -> Result<(), Abort> {
        let wound = Self::look(core, owner)?;
        let spares = core.is_planted(faults::PLOR_SPARES_READERS);
        let younger = |reader| !spares && wound.wounds(reader);
        let excluded = owner.reader.exclude(core, record, held, wound, younger, WOUNDED);
        excluded.map_err(Abort::because)
    }

    #[inline(always)]
    fn confirm(&self, core: &M::Core, owner: &Owner<M>) -> Result<(), Abort> {
        Self::look(core, owner).map(|_| ())
    }

    #[inline]
    fn release(
        &self,
        core: &M::Core,
        owner: &mut Owner<M>,
        record: &RecordRef<'_, M, RegisteringLock>,
        held: Held,
    ) {
        owner.reader.release(core, record, held);
    }

    /// Passes the commit point.
    #[inline]
    fn prepare(&self, core: &M::Core, owner: &mut Owner<M>) -> Result<(), Abort> {
        match owner.reader.claims().begin_commit(core) || !heeds_wounds(core) {
            true => Ok(()),
            false => Err(Abort::because(WOUNDED)),
        }
    }

    #[inline(always)]
    fn mode(held: &Held) -> Mode {
        if held.writes() { Mode::Exclusive } else { Mode::Shared }
    }

    fn priority(owner: &Owner<M>) -> Option<u64> {
        Some(owner.timestamp)
    }
}
