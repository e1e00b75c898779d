//! A record's lock with a queue: who owns it, who waits for it.
//!
//! Requests live in the sessions' own memory and are named by arena offset, so a lock needs three words. A
//! latch protects both lists. They are in the record itself, or elsewhere ([`LockPlace`]). Waiters stand youngest first: each is older than everybody
//! that it waits for, owners and waiters before it alike, so waits never form a circle (WAIT_DIE's rule).
//! Who waits here waits to the end; [`super::cancellable_queue`] keeps the same lists for protocols that
//! call waiters away.

use super::{queue_latch::Latcher, two_phase_locking::Mode};
use crate::ProtocolOptions;
use machine::{Arena, Core, Machine, OutOfMemory, Place, Word, Zeroed, cold::Arc};
use storage::RecordRef;

/// A lock: a latch, and the heads of two lists of requests.
#[repr(C)]
pub struct LockQueue {
    pub(super) latch: Word,
    pub(super) owners: Word,
    pub(super) waiters: Word,
}

// SAFETY: words.
unsafe impl Zeroed for LockQueue {}

/// The words of a record, with a lock among them.
pub trait Queued: Zeroed + Send + Sync + 'static {
    /// The lock.
    fn queue(&self) -> &LockQueue;
}

impl Queued for LockQueue {
    #[inline(always)]
    fn queue(&self) -> &LockQueue {
        self
    }
}

/// Where the lock of a record is.
pub trait LockPlace<M: Machine>: Sized + Send + Sync + 'static {
    /// Whether it is not the record.
    const IN_TABLES: bool;
    /// What it keeps in each record.
    type Record: Zeroed + Send + Sync + 'static;

    /// What it keeps elsewhere, as `options` ask for it.
    fn new(arena: &Arc<Arena>, options: &ProtocolOptions) -> Result<Self, OutOfMemory>;

    /// Finds the record's lock and latches it.
    fn latch<'a>(
        &'a self,
        core: &M::Core,
        latcher: &Latcher<M>,
        record: &RecordRef<'a, M, Self::Record>,
    ) -> Result<Latched<'a, M>, OutOfMemory>;

    /// Gives the latch back, when all that is to be done about the lock has been done.
    fn unlatch(&self, core: &M::Core, latcher: &Latcher<M>, lock: Latched<'_, M>);
}

/// A record's lock, latched.
pub struct Latched<'a, M: Machine> {
    /// On which its words lie.
    pub line: &'a M::Line,
    /// Its words.
    pub queue: &'a LockQueue,
    /// For its place, if that is not the record: the offsets of what is latched, and of the lock.
    pub at: (u64, u64),
}

/// In the record itself.
pub struct InRecord;

impl<M: Machine> LockPlace<M> for InRecord {
    const IN_TABLES: bool = false;
    type Record = LockQueue;

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

/// In a request's mode: the lock is wanted, or held, by this request alone.
pub(super) const EXCLUSIVE: u64 = 1;

/// One session's request for one lock.
#[repr(C, align(16))]
pub(super) struct Request<M: Machine> {
    pub(super) line: M::Line,
    pub(super) next: Word,
    /// The requester's age, or another name by which its protocol knows it.
    pub(super) timestamp: Word,
    /// [`EXCLUSIVE`] if the lock is wanted for itself alone; and whether it can be overtaken, see [`super::overtaking`].
    pub(super) mode: Word,
    /// 1 once the lock is owned; waited on. Where all stand in the order in which they came, and are told elsewhere: of
    /// the first waiter the last one.
    granted: Word,
    /// For a waiting upgrade: the request by which its owner shares the lock already.
    pub(super) upgrades: Word,
    /// Where the requester is told, if not in `granted`.
    pub(super) session: Word,
}

// SAFETY: a line and words.
unsafe impl<M: Machine> Zeroed for Request<M> {}

impl<M: Machine> Request<M> {
    /// Of the first waiter, in the order of arrival: the last one. It needs no word of its own, as nobody waits for
    /// `granted` there.
    fn last(&self) -> &Word {
        &self.granted
    }
}

/// A request that is in a queue; give it back with [`Requests::release`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Held {
    pub(super) request: u64,
    /// How the lock is held.
    pub mode: Mode,
}

/// Whether a requester may wait for the holder of a conflicting request, by their timestamps
/// (own, other's).
pub type MayWait = fn(u64, u64) -> bool;

/// The requests of one session.
pub struct Requests<M: Machine> {
    arena: Arc<Arena>,
    latcher: Latcher<M>,
    pub(super) free: Vec<u64>,
    /// Waiters stand in the order in which they came, and none is an upgrade: the first knows the last.
    pub(super) in_order_of_arrival: bool,
}

const REQUESTS_PER_CHUNK: u64 = 32;

impl<M: Machine> Requests<M> {
    /// A session's requests, in `arena`, and its way to take latches.
    pub fn new(arena: &Arc<Arena>, latcher: Latcher<M>) -> Requests<M> {
        Requests { arena: arena.clone(), latcher, free: Vec::new(), in_order_of_arrival: false }
    }

    /// Bytes of the requests that are placed at a time.
    pub(super) const CHUNK_BYTES: u64 = size_of::<Request<M>>() as u64 * REQUESTS_PER_CHUNK;

    /// Adds the requests placed at `first`, which nobody else uses.
    pub(super) fn supply(&mut self, first: u64) {
        let size = size_of::<Request<M>>() as u64;
        self.free.extend((0..REQUESTS_PER_CHUNK).rev().map(|i| first + i * size));
    }

    #[inline(always)]
    pub(super) fn at(&self, request: u64) -> &Request<M> {
        // SAFETY: offsets in queues come from `take`, whose chunks hold requests only.
        unsafe { self.arena.at::<Request<M>>(request) }
    }

    pub(super) fn take(
        &mut self,
        core: &M::Core,
        timestamp: u64,
        mode: Mode,
    ) -> Result<u64, OutOfMemory> {
        if self.free.is_empty() {
            let first = self.arena.allocate(Self::CHUNK_BYTES, 64, Place::Any)?;
            self.supply(first);
        }
        let offset = self.free.pop().expect("filled above");
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

    /// Puts a request ahead of all waiters, in the order of arrival.
    pub(super) fn prepend(&self, core: &M::Core, line: &M::Line, head: &Word, request: u64) {
        let (first, own) = (core.load_relaxed(line, head), self.at(request));
        let last = match first {
            0 => request,
            _ => core.load_relaxed(&self.at(first).line, self.at(first).last()),
        };
        core.store_relaxed(&own.line, own.last(), last);
        self.link_between(core, line, head, (0, first), request);
    }

    /// Puts a request between two of a list, or before its first, or behind its last.
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
    pub(super) fn unlink(&self, core: &M::Core, line: &M::Line, head: &Word, request: u64) {
        let after = self.next_of(core, request);
        let mut at = core.load_relaxed(line, head);
        if at == request {
            core.store_relaxed(line, head, after);
            return;
        }
        while self.next_of(core, at) != request {
            at = self.next_of(core, at);
        }
        core.store_relaxed(&self.at(at).line, &self.at(at).next, after);
    }

    /// Puts `request` behind all waiters, however many there are: who comes late to a long queue must not hold its latch
    /// for as long as it takes to walk along it. Only in the order of arrival.
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

    /// Takes `request` out of the waiters.
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

    /// Takes the lock of `record`, waiting for it if `may_wait` allows that for every conflicting owner.
    /// `None` when it does not, or when the lock is free for the asking but others have queued: then
    /// only who is older than all of them may queue too, or writers would starve.
    pub fn acquire<P: LockPlace<M>>(
        &mut self,
        core: &M::Core,
        place: &P,
        record: &RecordRef<'_, M, P::Record>,
        timestamp: u64,
        mode: Mode,
        may_wait: MayWait,
    ) -> Result<Option<Held>, OutOfMemory> {
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
            return Ok(Some(Held { request, mode }));
        }
        let allowed = match conflict {
            true => self.all(core, first_owner, |owner| may_wait(timestamp, owner)),
            false => self.all(core, first_waiter, |waiter| may_wait(timestamp, waiter)),
        };
        if allowed {
            self.enqueue(core, line, queue, request, timestamp, may_wait);
        }
        place.unlatch(core, &self.latcher, lock);
        if !allowed {
            self.free.push(request);
            return Ok(None);
        }
        self.wait(core, request);
        Ok(Some(Held { request, mode }))
    }

    /// Makes a shared lock exclusive; false when that would need a wait that `may_wait` forbids.
    pub fn upgrade<P: LockPlace<M>>(
        &mut self,
        core: &M::Core,
        place: &P,
        record: &RecordRef<'_, M, P::Record>,
        timestamp: u64,
        held: &mut Held,
        may_wait: MayWait,
    ) -> Result<bool, OutOfMemory> {
        let request = self.take(core, timestamp, Mode::Exclusive)?;
        let lock = place.latch(core, &self.latcher, record);
        let lock = lock.inspect_err(|_| self.free.push(request))?;
        let (line, queue) = (lock.line, lock.queue);
        let own = self.at(held.request);
        let first_owner = core.load_relaxed(line, &queue.owners);
        let alone = first_owner == held.request && self.next_of(core, held.request) == 0;
        let may = |owner: u64| owner == timestamp || may_wait(timestamp, owner);
        let granted = alone || self.all(core, first_owner, may);
        if alone {
            core.store_relaxed(&own.line, &own.mode, 1);
        } else if granted {
            // Ahead of every waiter: they all conflict with the shared lock that is held already.
            let upgrade = self.at(request);
            core.store_relaxed(&upgrade.line, &upgrade.upgrades, held.request);
            self.link(core, line, &queue.waiters, request);
        }
        place.unlatch(core, &self.latcher, lock);
        if granted && !alone {
            self.wait(core, request);
        }
        self.free.push(request);
        if granted {
            held.mode = Mode::Exclusive;
        }
        Ok(granted)
    }

    /// Gives the lock back and grants it to whoever is next.
    pub fn release<P: LockPlace<M>>(
        &mut self,
        core: &M::Core,
        place: &P,
        record: &RecordRef<'_, M, P::Record>,
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

    /// Puts a waiter behind everybody that it may wait for; a waiting upgrade stays first.
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

    fn wait(&self, core: &M::Core, request: u64) {
        let request = self.at(request);
        core.wait_while(&request.line, &request.granted, |granted| granted == 0);
    }

    /// Grants the lock to waiters from the front for as long as they are compatible, and tells them.
    pub(super) fn grant(
        &self,
        core: &M::Core,
        line: &M::Line,
        queue: &LockQueue,
        tell: impl Fn(&Request<M>),
    ) {
        loop {
            let waiter = core.load_relaxed(line, &queue.waiters);
            if waiter == 0 {
                return;
            }
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
        }
    }
}
