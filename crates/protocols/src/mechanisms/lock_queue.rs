//! A record's lock with a queue: a list of owners, and a list of waiters.
//!
//! **Structure.** A request is a session's entry in one of the lists. Requests lie in the memory of their sessions and
//! are named by arena offset (0 is none), so a lock needs three words: a latch, and the heads of the two lists. The
//! latch protects both lists. The words lie in the record itself or elsewhere ([`LockPlace`]).
//!
//! **States of a request.**
//!
//! ```text
//!             compatible, no waiters
//! not queued  ---------------------->  owner  -- release -->  not queued
//!     |                                  ^
//!     | must wait                        | grant
//!     +----------->  waiter  ------------+
//! ```
//!
//! An upgrade waits with a second request, which names the shared request of the same owner.
//!
//! **Invariant.** Either all owners hold the lock shared, or there is one owner, which holds it exclusively.
//!
//! **Why there is no deadlock.** Under WAIT_DIE a transaction waits only for younger ones. Waiters stand youngest
//! first. So each waiter is older than every owner, and every waiter ahead, that it waits for. These waits form no
//! cycle.
//!
//! A waiter here waits until the lock is granted. [`super::cancellable_queue`] uses the same lists for protocols that
//! call waiters away.

use super::{kept_request::Kept, queue_latch::Latcher, two_phase_locking::Mode};
use crate::ProtocolOptions;
use machine::{Arena, Core, Machine, OutOfMemory, Place, Word, Zeroed, cold::Arc};
use storage::RecordRef;

/// A lock: a latch, and the heads of two lists of requests.
#[repr(C)]
pub struct LockQueue {
    /// A [`super::queue_latch`] over both lists.
    pub(super) latch: Word,
    /// Offset of the first owner's request; 0 for none.
    pub(super) owners: Word,
    /// Offset of the first waiter's request, which is granted next; 0 for none.
    pub(super) waiters: Word,
}

// SAFETY: `LockQueue` consists of words, which are valid as zeros.
unsafe impl Zeroed for LockQueue {}

/// A protocol's words in a record, with a lock among them.
pub trait Queued: Zeroed + Send + Sync + 'static {
    /// Returns the lock.
    fn queue(&self) -> &LockQueue;
}

impl Queued for LockQueue {
    #[inline(always)]
    fn queue(&self) -> &LockQueue {
        self
    }
}

/// The place where the lock of a record lies.
pub trait LockPlace<M: Machine>: Sized + Send + Sync + 'static {
    /// Set if locks lie in tables, and not in their records.
    const IN_TABLES: bool;
    /// Words that the place keeps in each record.
    type Words: Zeroed + Send + Sync + 'static;

    /// Creates what the place keeps outside the records, as `options` ask for it.
    fn new(arena: &Arc<Arena>, options: &ProtocolOptions) -> Result<Self, OutOfMemory>;

    /// Finds the record's lock and acquires its latch.
    fn latch<'a>(
        &'a self,
        core: &M::Core,
        latcher: &Latcher<M>,
        record: &RecordRef<'a, M, Self::Words>,
    ) -> Result<Latched<'a, M>, OutOfMemory>;

    /// Releases the latch, when the caller has finished with the lock.
    fn unlatch(&self, core: &M::Core, latcher: &Latcher<M>, lock: Latched<'_, M>);
}

/// A record's lock whose latch is held.
pub struct Latched<'a, M: Machine> {
    /// Cache line of the lock's words.
    pub line: &'a M::Line,
    /// Words of the lock.
    pub queue: &'a LockQueue,
    /// For a place outside the record: the offset of what is latched, and that of the lock.
    pub at: (u64, u64),
}

/// Locks that lie in the records themselves.
pub struct InRecord;

impl<M: Machine> LockPlace<M> for InRecord {
    const IN_TABLES: bool = false;
    type Words = LockQueue;

    fn new(_: &Arc<Arena>, _: &ProtocolOptions) -> Result<Self, OutOfMemory> {
        Ok(InRecord)
    }

    #[inline(always)]
    fn latch<'a>(
        &'a self,
        core: &M::Core,
        latcher: &Latcher<M>,
        record: &RecordRef<'a, M, LockQueue>,
    ) -> Result<Latched<'a, M>, OutOfMemory> {
        let (line, queue) = (record.line(), record.cc());
        latcher.latch(core, line, &queue.latch);
        Ok(Latched { line, queue, at: (0, 0) })
    }

    #[inline(always)]
    fn unlatch(&self, core: &M::Core, latcher: &Latcher<M>, lock: Latched<'_, M>) {
        latcher.unlatch(core, lock.line, &lock.queue.latch);
    }
}

/// Set in a request's mode if this request alone wants, or holds, the lock.
pub(super) const EXCLUSIVE: u64 = 1;

/// One session's request for one lock.
#[repr(C, align(16))]
pub(super) struct Request<M: Machine> {
    /// Cache line of these words.
    pub(super) line: M::Line,
    /// Offset of the next request in the same list; 0 at its end.
    pub(super) next: Word,
    /// Age of the requester, or another name by which its protocol knows it.
    pub(super) timestamp: Word,
    /// [`EXCLUSIVE`] if the lock is wanted exclusively. Also has the flags and the count of [`super::overtaking`].
    pub(super) mode: Word,
    /// 1 once the lock is owned. The requester waits on this word. In a queue in order of arrival requesters are told
    /// elsewhere, and there the first waiter keeps the offset of the last one in this word.
    granted: Word,
    /// For a waiting upgrade the request by which its owner shares the lock already; otherwise 0.
    pub(super) upgrades: Word,
    /// Offset of the session that is told of the grant, if it does not wait on `granted`.
    pub(super) session: Word,
}

// SAFETY: `Request` consists of a line and words, which are valid as zeros.
unsafe impl<M: Machine> Zeroed for Request<M> {}

impl<M: Machine> Request<M> {
    /// Returns the word in which the first waiter keeps the offset of the last one, in order of arrival. It shares the
    /// word of `granted`, on which no requester waits there.
    fn last(&self) -> &Word {
        &self.granted
    }
}

/// A request that owns a lock. Give it back with [`Requests::release`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Held {
    /// Offset of the request, which is in the list of owners.
    pub(crate) request: u64,
    /// Mode in which the lock is held.
    pub mode: Mode,
}

/// Outcome of a request for a lock.
pub enum Asked {
    /// The lock is owned.
    Owned,
    /// The request waits.
    Waits,
    /// The request must not wait. It is in no list.
    Refused,
}

/// Decides from two timestamps, the requester's and the other's, whether a requester may wait for the holder of a
/// conflicting request.
pub type MayWait = fn(u64, u64) -> bool;

/// Requests of one session.
pub struct Requests<M: Machine> {
    /// The arena that holds the requests.
    arena: Arc<Arena>,
    /// The session's way to take latches.
    latcher: Latcher<M>,
    /// Offsets of the requests that are in no list.
    pub(super) free: Vec<u64>,
    /// Set if waiters stand in order of arrival, and none is an upgrade. Then the first waiter knows the last one.
    pub(super) in_order_of_arrival: bool,
    /// Set if a grant is final, although sessions can sleep ([`super::overtaking`]).
    pub(super) grants_for_good: bool,
    /// The request for which the session waits elsewhere ([`super::kept_request`]).
    pub(super) kept: Option<Kept>,
}

const REQUESTS_PER_CHUNK: u64 = 32;

impl<M: Machine> Requests<M> {
    /// Creates the requests of a session, in `arena`, on the arena's own node. `latcher` is the session's way to take latches.
    pub fn new(arena: &Arc<Arena>, latcher: Latcher<M>) -> Requests<M> {
        Requests {
            arena: arena.clone(),
            latcher,
            free: Vec::new(),
            in_order_of_arrival: false,
            grants_for_good: false,
            kept: None,
        }
    }

    /// Number of bytes of a chunk of requests. Requests are placed by the chunk.
    pub(super) const CHUNK_BYTES: u64 = size_of::<Request<M>>() as u64 * REQUESTS_PER_CHUNK;

    /// Adds the chunk of requests placed at `first`, which no other session uses.
    pub(super) fn supply(&mut self, first: u64) {
        let size = size_of::<Request<M>>() as u64;
        self.free.extend((0..REQUESTS_PER_CHUNK).rev().map(|i| first + i * size));
    }

    #[inline(always)]
    pub(super) fn at(&self, request: u64) -> &Request<M> {
        // SAFETY: an offset in a queue comes from `take`, whose chunks consist of requests only.
        unsafe { self.arena.at::<Request<M>>(request) }
    }

    /// Allocates more requests, and returns one of them.
    #[cold]
    fn take_fresh(&mut self) -> Result<u64, OutOfMemory> {
        let first = self.arena.allocate(Self::CHUNK_BYTES, 64, Place::Any)?;
        self.supply(first);
        Ok(self.free.pop().expect("supplied just now"))
    }

    #[inline(always)]
    pub(super) fn take(
        &mut self,
        core: &M::Core,
        timestamp: u64,
        mode: Mode,
    ) -> Result<u64, OutOfMemory> {
        let offset = match self.free.pop() {
            Some(offset) => offset,
            None => self.take_fresh()?,
        };
        let request = self.at(offset);
        core.store_relaxed(&request.line, &request.timestamp, timestamp);
        core.store_relaxed(
            &request.line,
            &request.mode,
            u64::from(mode == Mode::Exclusive) * EXCLUSIVE,
        );
        core.store_relaxed(&request.line, &request.granted, 0);
        core.store_relaxed(&request.line, &request.upgrades, 0);
        Ok(offset)
    }

    pub(super) fn latch(&self, core: &M::Core, line: &M::Line, queue: &LockQueue) {
        self.latcher.latch(core, line, &queue.latch);
    }

    pub(super) fn unlatch(&self, core: &M::Core, line: &M::Line, queue: &LockQueue) {
        self.latcher.unlatch(core, line, &queue.latch);
    }

    pub(super) fn timestamp_of(&self, core: &M::Core, request: u64) -> u64 {
        core.load_relaxed(&self.at(request).line, &self.at(request).timestamp)
    }

    pub(super) fn is_exclusive(&self, core: &M::Core, request: u64) -> bool {
        core.load_relaxed(&self.at(request).line, &self.at(request).mode) & EXCLUSIVE != 0
    }

    pub(super) fn make_exclusive(&self, core: &M::Core, request: u64) {
        core.store_relaxed(&self.at(request).line, &self.at(request).mode, EXCLUSIVE);
    }

    /// Puts a request ahead of all waiters. Only used in order of arrival.
    pub(super) fn prepend(&self, core: &M::Core, line: &M::Line, head: &Word, request: u64) {
        let (first, own) = (core.load_relaxed(line, head), self.at(request));
        let last = match first {
            0 => request,
            _ => core.load_relaxed(&self.at(first).line, self.at(first).last()),
        };
        core.store_relaxed(&own.line, own.last(), last);
        self.link_between(core, line, head, (0, first), request);
    }

    /// Puts a request between two neighbours in a list. 0 stands for no neighbour, at either end.
    pub(super) fn link_between(
        &self,
        core: &M::Core,
        line: &M::Line,
        head: &Word,
        (before, after): (u64, u64),
        request: u64,
    ) {
        let own = self.at(request);
        core.store_relaxed(&own.line, &own.next, after);
        match before {
            0 => core.store_relaxed(line, head, request),
            _ => core.store_relaxed(&self.at(before).line, &self.at(before).next, request),
        }
    }

    pub(super) fn next_of(&self, core: &M::Core, request: u64) -> u64 {
        core.load_relaxed(&self.at(request).line, &self.at(request).next)
    }

    /// Puts `request` at the front of the list `head`.
    pub(super) fn link(&self, core: &M::Core, line: &M::Line, head: &Word, request: u64) {
        let first = core.load_relaxed(line, head);
        core.store_relaxed(&self.at(request).line, &self.at(request).next, first);
        core.store_relaxed(line, head, request);
    }

    /// Takes `request` out of the list `head`.
    #[inline(always)]
    pub(super) fn unlink(&self, core: &M::Core, line: &M::Line, head: &Word, request: u64) {
        let after = self.next_of(core, request);
        let first = core.load_relaxed(line, head);
        match first == request {
            true => core.store_relaxed(line, head, after),
            false => self.unlink_behind(core, first, request, after),
        }
    }

    /// Takes `request`, which is followed by `after`, out of the list that begins with another one, `first`.
    #[inline(never)]
    fn unlink_behind(&self, core: &M::Core, first: u64, request: u64, after: u64) {
        let mut at = first;
        while self.next_of(core, at) != request {
            at = self.next_of(core, at);
        }
        core.store_relaxed(&self.at(at).line, &self.at(at).next, after);
    }

    /// Puts `request` behind all waiters in constant time. A request that comes late to a long queue must not hold the
    /// latch for as long as it takes to walk along the queue. Only used in order of arrival.
    pub(super) fn append(&self, core: &M::Core, line: &M::Line, head: &Word, request: u64) {
        let own = self.at(request);
        core.store_relaxed(&own.line, &own.next, 0);
        let first = core.load_relaxed(line, head);
        if first == 0 {
            core.store_relaxed(line, head, request);
            core.store_relaxed(&own.line, own.last(), request);
            return;
        }
        let first = self.at(first);
        let last = self.at(core.load_relaxed(&first.line, first.last()));
        core.store_relaxed(&last.line, &last.next, request);
        core.store_relaxed(&first.line, first.last(), request);
    }

    /// Takes `request` out of the list of waiters.
    pub(super) fn unlink_waiter(
        &self,
        core: &M::Core,
        line: &M::Line,
        queue: &LockQueue,
        request: u64,
    ) {
        if self.in_order_of_arrival {
            let first = core.load_relaxed(line, &queue.waiters);
            let (known, after) = (self.at(first), self.next_of(core, request));
            if first != request && after == 0 {
                let mut before = first;
                while self.next_of(core, before) != request {
                    before = self.next_of(core, before);
                }
                core.store_relaxed(&known.line, known.last(), before);
            } else if first == request && after != 0 {
                let last = core.load_relaxed(&known.line, known.last());
                core.store_relaxed(&self.at(after).line, self.at(after).last(), last);
            }
        }
        self.unlink(core, line, &queue.waiters, request);
    }

    /// Acquires the lock of `record`. On a conflict it waits, if `may_wait` allows that for every owner. Returns `None`
    /// if `may_wait` does not allow it. A requester without `may_wait` never waits. It does not even look at the others,
    /// whose requests can be on lines of distant cores, because the latch is held meanwhile.
    ///
    /// If there is no conflict but others have queued, the request may queue only if it may wait for all waiters.
    /// Otherwise it returns `None`. Under WAIT_DIE this means that it must be older than all of them. A request that
    /// passed the waiters would starve writers.
    pub fn acquire<P: LockPlace<M>>(
        &mut self,
        core: &M::Core,
        place: &P,
        record: &RecordRef<'_, M, P::Words>,
        timestamp: u64,
        mode: Mode,
        may_wait: Option<MayWait>,
    ) -> Result<Option<Held>, OutOfMemory> {
        let (held, asked) = self.ask(core, place, record, timestamp, mode, may_wait)?;
        match asked {
            Asked::Refused => return Ok(None),
            Asked::Waits => self.wait(core, held.request),
            Asked::Owned => {}
        }
        Ok(Some(held))
    }

    /// Requests the lock of `record` as [`Requests::acquire`] does, and does not wait. A request that waits owns the lock
    /// when [`Requests::wait`] has returned.
    pub fn ask<P: LockPlace<M>>(
        &mut self,
        core: &M::Core,
        place: &P,
        record: &RecordRef<'_, M, P::Words>,
        timestamp: u64,
        mode: Mode,
        may_wait: Option<MayWait>,
    ) -> Result<(Held, Asked), OutOfMemory> {
        let request = self.take(core, timestamp, mode)?;
        let lock = place.latch(core, &self.latcher, record);
        let lock = lock.inspect_err(|_| self.free.push(request))?;
        let (line, queue) = (lock.line, lock.queue);
        let first_owner = core.load_relaxed(line, &queue.owners);
        let first_waiter = core.load_relaxed(line, &queue.waiters);
        let conflict =
            first_owner != 0 && (mode == Mode::Exclusive || self.is_exclusive(core, first_owner));
        if !conflict && first_waiter == 0 {
            self.link(core, line, &queue.owners, request);
            place.unlatch(core, &self.latcher, lock);
            return Ok((Held { request, mode }, Asked::Owned));
        }
        let in_the_way = if conflict { first_owner } else { first_waiter };
        let asked = self.ask_others(core, place, lock, request, in_the_way, (timestamp, may_wait));
        Ok((Held { request, mode }, asked))
    }

    /// Enters a request that is not granted at once, if it may wait for all requests from `in_the_way` on. Releases the
    /// latch.
    #[inline(never)]
    fn ask_others<P: LockPlace<M>>(
        &mut self,
        core: &M::Core,
        place: &P,
        lock: Latched<'_, M>,
        request: u64,
        in_the_way: u64,
        (timestamp, may_wait): (u64, Option<MayWait>),
    ) -> Asked {
        let allowed = may_wait
            .filter(|may_wait| self.all(core, in_the_way, |other| may_wait(timestamp, other)));
        if let Some(may_wait) = allowed {
            self.enqueue(core, lock.line, lock.queue, request, timestamp, may_wait);
        }
        place.unlatch(core, &self.latcher, lock);
        if allowed.is_some() {
            return Asked::Waits;
        }
        self.free.push(request);
        Asked::Refused
    }

    /// Upgrades a shared lock to an exclusive one. Returns false if that would need a wait that `may_wait` forbids.
    pub fn upgrade<P: LockPlace<M>>(
        &mut self,
        core: &M::Core,
        place: &P,
        record: &RecordRef<'_, M, P::Words>,
        timestamp: u64,
        held: &mut Held,
        may_wait: Option<MayWait>,
    ) -> Result<bool, OutOfMemory> {
        let (request, asked) = self.ask_upgrade(core, place, record, timestamp, *held, may_wait)?;
        match asked {
            Asked::Refused => return Ok(false),
            Asked::Waits => {
                self.wait(core, request);
                self.free.push(request);
            }
            Asked::Owned => {}
        }
        held.mode = Mode::Exclusive;
        Ok(true)
    }

    /// Requests an upgrade as [`Requests::upgrade`] does, and does not wait. Returns the request with which it waits, if it
    /// waits.
    pub fn ask_upgrade<P: LockPlace<M>>(
        &mut self,
        core: &M::Core,
        place: &P,
        record: &RecordRef<'_, M, P::Words>,
        timestamp: u64,
        held: Held,
        may_wait: Option<MayWait>,
    ) -> Result<(u64, Asked), OutOfMemory> {
        let request = self.take(core, timestamp, Mode::Exclusive)?;
        let lock = place.latch(core, &self.latcher, record);
        let lock = lock.inspect_err(|_| self.free.push(request))?;
        let (line, queue) = (lock.line, lock.queue);
        let own = self.at(held.request);
        let first_owner = core.load_relaxed(line, &queue.owners);
        let alone = first_owner == held.request && self.next_of(core, held.request) == 0;
        let granted = alone
            || may_wait.is_some_and(|may_wait| {
                let may = |owner: u64| owner == timestamp || may_wait(timestamp, owner);
                self.all(core, first_owner, may)
            });
        if alone {
            core.store_relaxed(&own.line, &own.mode, 1);
        } else if granted {
            // Ahead of every waiter: all of them conflict with the shared lock that is held already.
            let upgrade = self.at(request);
            core.store_relaxed(&upgrade.line, &upgrade.upgrades, held.request);
            self.link(core, line, &queue.waiters, request);
        }
        place.unlatch(core, &self.latcher, lock);
        let asked = match (alone, granted) {
            (true, _) => Asked::Owned,
            (false, true) => return Ok((request, Asked::Waits)),
            (false, false) => Asked::Refused,
        };
        self.free.push(request);
        Ok((request, asked))
    }

    /// Releases the lock, and grants it to the next waiters.
    pub fn release<P: LockPlace<M>>(
        &mut self,
        core: &M::Core,
        place: &P,
        record: &RecordRef<'_, M, P::Words>,
        held: Held,
    ) {
        let lock = place.latch(core, &self.latcher, record);
        let lock = lock.expect("a lock that is held has its place");
        let (line, queue) = (lock.line, lock.queue);
        self.unlink(core, line, &queue.owners, held.request);
        self.grant(core, line, queue, |request| {
            core.store(&request.line, &request.granted, 1);
            core.wake(&request.line, &request.granted);
        });
        place.unlatch(core, &self.latcher, lock);
        self.free.push(held.request);
    }

    fn all(&self, core: &M::Core, first: u64, condition: impl Fn(u64) -> bool) -> bool {
        let mut at = first;
        while at != 0 {
            if !condition(self.timestamp_of(core, at)) {
                return false;
            }
            at = self.next_of(core, at);
        }
        true
    }

    /// Puts a waiter behind all waiters that it may wait for. A waiting upgrade stays first.
    fn enqueue(
        &self,
        core: &M::Core,
        line: &M::Line,
        queue: &LockQueue,
        request: u64,
        timestamp: u64,
        may_wait: MayWait,
    ) {
        let mut before = 0;
        let mut at = core.load_relaxed(line, &queue.waiters);
        while at != 0 {
            let upgrades = core.load_relaxed(&self.at(at).line, &self.at(at).upgrades) != 0;
            if !upgrades && !may_wait(timestamp, self.timestamp_of(core, at)) {
                break;
            }
            before = at;
            at = self.next_of(core, at);
        }
        core.store_relaxed(&self.at(request).line, &self.at(request).next, at);
        match before {
            0 => core.store_relaxed(line, &queue.waiters, request),
            _ => core.store_relaxed(&self.at(before).line, &self.at(before).next, request),
        }
    }

    /// Waits until a request that waits owns the lock.
    #[inline(never)]
    pub fn wait(&self, core: &M::Core, request: u64) {
        let request = self.at(request);
        core.wait_while(&request.line, &request.granted, |granted| granted == 0);
    }

    /// Grants the lock to the waiters in front for as long as they are compatible, and calls `tell` for each.
    #[inline(always)]
    pub(super) fn grant(
        &self,
        core: &M::Core,
        line: &M::Line,
        queue: &LockQueue,
        tell: impl Fn(&Request<M>),
    ) {
        let waiter = core.load_relaxed(line, &queue.waiters);
        if waiter != 0 {
            self.grant_from(core, line, queue, waiter, tell);
        }
    }

    /// Does the same as [`Requests::grant`] where somebody waits, first `waiter`.
    #[inline(never)]
    fn grant_from(
        &self,
        core: &M::Core,
        line: &M::Line,
        queue: &LockQueue,
        mut waiter: u64,
        tell: impl Fn(&Request<M>),
    ) {
        while waiter != 0 {
            let request = self.at(waiter);
            let first_owner = core.load_relaxed(line, &queue.owners);
            let upgrades = core.load_relaxed(&request.line, &request.upgrades);
            if upgrades != 0 {
                if first_owner != upgrades || self.next_of(core, upgrades) != 0 {
                    return;
                }
                let shared = self.at(upgrades);
                core.store_relaxed(&shared.line, &shared.mode, EXCLUSIVE);
                self.unlink(core, line, &queue.waiters, waiter);
                tell(request);
                return;
            }
            let compatible = first_owner == 0
                || (!self.is_exclusive(core, waiter) && !self.is_exclusive(core, first_owner));
            if !compatible {
                return;
            }
            self.unlink_waiter(core, line, queue, waiter);
            self.link(core, line, &queue.owners, waiter);
            tell(request);
            waiter = core.load_relaxed(line, &queue.waiters);
        }
    }
}
