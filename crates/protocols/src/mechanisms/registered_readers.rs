//! A record's lock whose readers and writer do not wait for each other until the writer commits.
//!
//! Source: after Chen et al., SIGMOD 2022, as far as [`crate::plor`] knows it. The lock has two
//! lists under one latch:
//!
//! ```text
//! queue:   the writer, and the requests that wait to write (see cancellable_queue)
//! readers: entries that are registered, registered and awaited, or waiting
//! ```
//!
//! A reader registers beside a writer. A writer that is about to install first excludes readers: it
//! sets the mark `EXCLUSIVE` in the list of readers. Then it treats each reader in the list by its
//! age:
//!
//! - A younger reader is wounded and no longer counts. The wound is a change of its *fate*, one
//!   word. So the reader either passed its commit point before the writer does, or it never will.
//! - An older reader is awaited until it has left the list.
//!
//! A reader that comes later is in the list too, and waits until the mark is removed. If it is
//! older than the writer, it wounds the writer first.
//!
//! A wounded reader that does not know it yet can read a row while it is installed. So every reader
//! checks its own fate after it has copied a row, and discards the torn read if it was wounded.
//!
//! The paper's code keeps a bit for each worker. Here there can be thousands of sessions, so
//! readers are entries in a list, in memory of their own. A registration at a record without other
//! readers touches only the record's cache line and its own entry.

use super::{
    cancellable_queue::{Claims, WAITING},
    lock_queue::{self, LockQueue, Queued},
    two_phase_locking::Mode,
    wounding::Wound,
};
use crate::faults;
use machine::{Arena, Core, Machine, OutOfMemory, Place, Word, Zeroed, cold::Arc};
use std::marker::PhantomData;
use storage::RecordRef;
use txn::AbortReason;

/// A lock with a list of readers.
#[repr(C)]
pub struct RegisteringLock {
    queue: LockQueue,
    /// Offset of the first entry in the list of readers, and the mark [`EXCLUSIVE`].
    readers: Word,
    /// Number of entries in state [`AWAITED`]. The writer that has set the mark is granted when it
    /// becomes 0.
    awaited: Word,
}

// SAFETY: words.
unsafe impl Zeroed for RegisteringLock {}

impl Queued for RegisteringLock {
    #[inline(always)]
    fn queue(&self) -> &LockQueue {
        &self.queue
    }
}

/// Set beside the first entry's offset while a writer excludes readers. Offsets of entries leave
/// this bit free.
const EXCLUSIVE: u64 = 1;

/// State of an entry: it is registered.
const REGISTERED: u64 = 0;
/// State of an entry: it is registered, and the writer that has set the mark waits for it to leave.
const AWAITED: u64 = 1;
/// State of an entry: it waits until the mark is removed.
const WAITS: u64 = 2;

/// One session's entry in one record's list of readers.
#[repr(C, align(16))]
struct Entry<M: Machine> {
    line: M::Line,
    next: Word,
    previous: Word,
    /// Offset of its session.
    session: Word,
    /// Timestamp of the session's transaction.
    timestamp: Word,
    /// [`REGISTERED`], [`AWAITED`] or [`WAITS`].
    state: Word,
}

// SAFETY: a line and words.
unsafe impl<M: Machine> Zeroed for Entry<M> {}

const ENTRIES_PER_CHUNK: u64 = 32;

/// The first entries of each session. They are allocated at the start, so that a session that
/// starts when memory is exhausted can read.
pub struct ReaderLists<M: Machine> {
    arena: Arc<Arena>,
    first: u64,
    count: usize,
    machine: PhantomData<fn() -> M>,
}

impl<M: Machine> ReaderLists<M> {
    const CHUNK_BYTES: u64 = size_of::<Entry<M>>() as u64 * ENTRIES_PER_CHUNK;

    /// Allocates the first entries for `sessions` sessions.
    pub fn new(arena: &Arc<Arena>, sessions: usize) -> Result<ReaderLists<M>, OutOfMemory> {
        let count = sessions.max(1);
        let first = arena.allocate_for_sessions(Self::CHUNK_BYTES, count)?;
        Ok(ReaderLists { arena: arena.clone(), first, count, machine: PhantomData })
    }

    /// Creates the reader of session number `session`. `claims` are its requests to write.
    pub fn reader(&self, session: usize, claims: Claims<M>) -> Reader<M> {
        assert!(session < self.count, "session {session} of {}", self.count);
        let entries = Entries { arena: self.arena.clone(), free: Vec::new(), machine: PhantomData };
        let mut reader = Reader { claims, entries };
        reader.entries.supply(self.first + session as u64 * Self::CHUNK_BYTES);
        reader
    }
}

/// The role in which a lock is held: reader, writer, or both.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Held {
    /// Offset of the entry among the readers; 0 for none.
    entry: u64,
    writer: Option<lock_queue::Held>,
    /// Set if readers are excluded.
    exclusive: bool,
}

impl Held {
    /// The lock is not held.
    pub const NOT: Held = Held { entry: 0, writer: None, exclusive: false };

    /// Returns true if it is held to write.
    #[inline(always)]
    pub fn writes(self) -> bool {
        self.writer.is_some()
    }
}

/// One session's free entries.
struct Entries<M: Machine> {
    arena: Arc<Arena>,
    free: Vec<u64>,
    machine: PhantomData<fn() -> M>,
}

/// One session's access to the locks, as reader and as writer.
pub struct Reader<M: Machine> {
    claims: Claims<M>,
    entries: Entries<M>,
}

type Record<'s, M> = RecordRef<'s, M, RegisteringLock>;

impl<M: Machine> Entries<M> {
    fn supply(&mut self, first: u64) {
        let size = size_of::<Entry<M>>() as u64;
        self.free.extend((0..ENTRIES_PER_CHUNK).rev().map(|i| first + i * size));
    }

    #[inline(always)]
    fn at(&self, entry: u64) -> &Entry<M> {
        // SAFETY: offsets in lists come from `free`, whose chunks hold entries only.
        unsafe { self.arena.at::<Entry<M>>(entry) }
    }

    /// Takes a free entry, and allocates more if there is none.
    fn take(&mut self) -> Result<u64, OutOfMemory> {
        if self.free.is_empty() {
            let bytes = ReaderLists::<M>::CHUNK_BYTES;
            let first = self.arena.allocate(bytes, 64, Place::Any)?;
            self.supply(first);
        }
        Ok(self.free.pop().expect("filled above"))
    }

    fn state(&self, core: &M::Core, entry: u64) -> u64 {
        core.load_relaxed(&self.at(entry).line, &self.at(entry).state)
    }

    fn set_state(&self, core: &M::Core, entry: u64, state: u64) {
        core.store_relaxed(&self.at(entry).line, &self.at(entry).state, state);
    }

    /// Calls `visit` with each entry in the list.
    fn each(&self, core: &M::Core, record: &Record<'_, M>, mut visit: impl FnMut(u64)) {
        let mut at = core.load_relaxed(record.line(), &record.cc().readers) & !EXCLUSIVE;
        while at != 0 {
            visit(at);
            at = core.load_relaxed(&self.at(at).line, &self.at(at).next);
        }
    }

    /// Puts an entry at the front of the list.
    fn link(&self, core: &M::Core, record: &Record<'_, M>, entry: u64) {
        let (line, readers) = (record.line(), &record.cc().readers);
        let own = self.at(entry);
        let before = core.load_relaxed(line, readers);
        let first = before & !EXCLUSIVE;
        core.store_relaxed(&own.line, &own.next, first);
        core.store_relaxed(&own.line, &own.previous, 0);
        if first != 0 {
            core.store_relaxed(&self.at(first).line, &self.at(first).previous, entry);
        }
        core.store_relaxed(line, readers, entry | (before & EXCLUSIVE));
    }

    /// Removes an entry from the list.
    fn unlink(&self, core: &M::Core, record: &Record<'_, M>, entry: u64) {
        let (line, readers) = (record.line(), &record.cc().readers);
        let own = self.at(entry);
        let next = core.load_relaxed(&own.line, &own.next);
        let previous = core.load_relaxed(&own.line, &own.previous);
        if next != 0 {
            core.store_relaxed(&self.at(next).line, &self.at(next).previous, previous);
        }
        if previous != 0 {
            core.store_relaxed(&self.at(previous).line, &self.at(previous).next, next);
        } else {
            let mark = core.load_relaxed(line, readers) & EXCLUSIVE;
            core.store_relaxed(line, readers, next | mark);
        }
    }

    /// Removes the mark, and grants the readers that wait.
    fn unmark(&self, core: &M::Core, claims: &Claims<M>, record: &Record<'_, M>) {
        let (line, readers) = (record.line(), &record.cc().readers);
        core.store_relaxed(line, readers, core.load_relaxed(line, readers) & !EXCLUSIVE);
        self.each(core, record, |at| {
            let state = self.state(core, at);
            if state != REGISTERED {
                self.set_state(core, at, REGISTERED);
            }
            if state == WAITS {
                let entry = self.at(at);
                let session = core.load_relaxed(&entry.line, &entry.session);
                claims.session_at(session).granted(core);
            }
        });
    }

    /// Removes a registered entry from the list. Grants the writer if it has waited only for this
    /// entry.
    fn leave(&self, core: &M::Core, claims: &Claims<M>, record: &Record<'_, M>, entry: u64) {
        let (line, lock) = (record.line(), record.cc());
        self.unlink(core, record, entry);
        if self.state(core, entry) == AWAITED {
            let left = core.load_relaxed(line, &lock.awaited) - 1;
            core.store_relaxed(line, &lock.awaited, left);
            if left == 0 {
                claims.owner(core, line, &lock.queue).0.granted(core);
            }
        }
    }
}

impl<M: Machine> Reader<M> {
    /// Returns the session's requests to write.
    #[inline(always)]
    pub fn claims(&mut self) -> &mut Claims<M> {
        &mut self.claims
    }

    /// Returns true if the attempt has been wounded. Then the row that it copied last can be a torn
    /// read.
    #[inline(always)]
    pub fn is_wounded(&self, core: &M::Core) -> bool {
        core.fence_acquire();
        self.claims.is_called(core)
    }

    /// Registers the session among the record's readers. A writer does not delay this unless it
    /// excludes readers. `wounded` is the reason of the abort if the attempt is wounded while it
    /// waits.
    #[inline]
    pub fn read(
        &mut self,
        core: &M::Core,
        record: &Record<'_, M>,
        mut wound: Wound,
        wounded: AbortReason,
    ) -> Result<Held, AbortReason> {
        let entry = self.entries.take().map_err(|_| AbortReason::OutOfMemory)?;
        let own = self.entries.at(entry);
        core.store_relaxed(&own.line, &own.session, self.claims.session_offset());
        core.store_relaxed(&own.line, &own.timestamp, wound.timestamp());
        let (line, lock) = (record.line(), record.cc());
        self.claims.latch(core, line, &lock.queue);
        let heeds = !core.is_planted(faults::PLOR_READS_EXCLUSIVE);
        let waits = heeds && core.load_relaxed(line, &lock.readers) & EXCLUSIVE != 0;
        core.store_relaxed(&own.line, &own.state, if waits { WAITS } else { REGISTERED });
        self.entries.link(core, record, entry);
        if waits {
            self.wait_for_writer(core, record, entry, &mut wound, wounded)?;
        } else {
            self.claims.unlatch(core, line, &lock.queue);
        }
        Ok(Held { entry, ..Held::NOT })
    }

    /// Acquires the lock to write. Readers do not delay this.
    #[inline]
    pub fn write(
        &mut self,
        core: &M::Core,
        record: &Record<'_, M>,
        held: &mut Held,
        mut wound: Wound,
        wounded: AbortReason,
    ) -> Result<(), AbortReason> {
        let (age, mode) = (wound.timestamp(), Mode::Exclusive);
        let writer = self.claims.acquire(core, record, age, mode, &mut wound, wounded)?;
        held.writer = Some(writer);
        Ok(())
    }

    /// Waits until readers are admitted. Called with the latch held, returns without it.
    #[cold]
    fn wait_for_writer(
        &mut self,
        core: &M::Core,
        record: &Record<'_, M>,
        entry: u64,
        wound: &mut Wound,
        wounded: AbortReason,
    ) -> Result<(), AbortReason> {
        let (line, queue) = (record.line(), &record.cc().queue);
        let (writer, timestamp) = self.claims.owner(core, line, queue);
        if wound.wounds(timestamp) {
            writer.call(core);
        }
        let session = self.claims.session();
        core.fetch_add(&session.line, &session.fate, WAITING);
        let told = self.claims.until_granted(core, (line, queue), wound, wounded, || {
            self.entries.unlink(core, record, entry);
            session.granted(core);
        });
        told.map_err(|(reason, granted)| {
            if granted {
                self.unregister(core, record, entry);
            } else {
                self.entries.free.push(entry);
            }
            reason
        })
    }

    /// Removes the session's entry from the list, under the latch, and frees it.
    fn unregister(&mut self, core: &M::Core, record: &Record<'_, M>, entry: u64) {
        let (line, queue) = (record.line(), &record.cc().queue);
        self.claims.latch(core, line, queue);
        self.entries.leave(core, &self.claims, record, entry);
        self.claims.unlatch(core, line, queue);
        self.entries.free.push(entry);
    }

    /// Excludes other readers from a record that is held to write, and waits until the earlier
    /// readers have left. `wounds` tells from a reader's timestamp whether the reader is wounded
    /// instead of awaited. On failure readers are admitted again.
    pub fn exclude(
        &mut self,
        core: &M::Core,
        record: &Record<'_, M>,
        held: &mut Held,
        mut wound: Wound,
        wounds: impl Fn(u64) -> bool,
        wounded: AbortReason,
    ) -> Result<(), AbortReason> {
        if held.exclusive {
            return Ok(());
        }
        let Reader { claims, entries } = self;
        let (line, lock) = (record.line(), record.cc());
        claims.latch(core, line, &lock.queue);
        // The session's own reads of this record are safe now, because no other session can
        // overwrite it.
        let own = std::mem::take(&mut held.entry);
        if own != 0 {
            entries.leave(core, claims, record, own);
            entries.free.push(own);
        }
        let first = core.load_relaxed(line, &lock.readers);
        core.store_relaxed(line, &lock.readers, first | EXCLUSIVE);
        held.exclusive = true;
        if first == 0 {
            claims.unlatch(core, line, &lock.queue);
            return Ok(());
        }
        let (mut awaited, mut called) = (0, false);
        entries.each(core, record, |at| {
            let entry = entries.at(at);
            if wounds(core.load_relaxed(&entry.line, &entry.timestamp)) {
                let session = core.load_relaxed(&entry.line, &entry.session);
                claims.session_at(session).call(core);
                called = true;
            } else {
                entries.set_state(core, at, AWAITED);
                awaited += 1;
            }
        });
        core.store_relaxed(line, &lock.awaited, awaited);
        if called {
            // Orders the wounds before the installed writes. A reader that copies an installed byte
            // also sees its wound.
            core.fence();
        }
        if awaited == 0 {
            claims.unlatch(core, line, &lock.queue);
            return Ok(());
        }
        let session = claims.session();
        core.fetch_add(&session.line, &session.fate, WAITING);
        let told = claims.until_granted(core, (line, &lock.queue), &mut wound, wounded, || {
            entries.unmark(core, claims, record);
            held.exclusive = false;
            session.granted(core);
        });
        told.map_err(|(reason, _)| reason)
    }

    /// Releases the lock.
    #[inline]
    pub fn release(&mut self, core: &M::Core, record: &Record<'_, M>, held: Held) {
        let Some(writer) = held.writer else {
            return self.unregister(core, record, held.entry);
        };
        let Reader { claims, entries } = self;
        claims.release_after(core, record, writer, |claims| {
            if held.entry != 0 {
                entries.leave(core, claims, record, held.entry);
            }
            if held.exclusive {
                entries.unmark(core, claims, record);
            }
        });
        if held.entry != 0 {
            entries.free.push(held.entry);
        }
    }
}
