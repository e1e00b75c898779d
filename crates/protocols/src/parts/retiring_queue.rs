//! A record's lock whose writes can be retired: given to others before their transaction has ended.
//!
//! Source: Guo, Wu, Yan and Yu, SIGMOD 2021 (retired lists, commit semaphore, cascading aborts, and the
//! optimizations 1, 3 and 4). The paper keeps owners, retired and waiters apart; here they stand in one list, in
//! the order in which they are to commit, and a request says of itself what it is:
//!
//! ```text
//! first -> retired write (with its image) -> retired reads -> owner -> waiters
//! ```
//!
//! Requests that conflict stand by their timestamps, the older first, but behind any that is committing already.
//! A requester is put where it belongs. Who is younger, has the lock and conflicts with it is called away; but
//! a read does not call a write away, it stands before it and does not see it. A request is granted when all
//! that stands before it and conflicts with it is retired, and its transaction may commit when nothing that
//! conflicts with it stands before it any more. So whoever waits, for a lock or to commit, waits for
//! older ones, for called ones and for committing ones: there are no circles.
//!
//! Guards of ranges are locked in the same lists, but their locks are not retired. A change of a range is
//! made at once and not undone, so nobody stands before somebody who may be at it, called away or not.
//!
//! Most requesters are the youngest in the list, and find that out by a word of the lock: they are put at its end
//! without a look at the others.

use super::{
    dependent_session::DependentSession,
    queue_latch::{LatchNodes, Latcher},
    timestamp_allocator::{TimestampAllocator, TimestampSource},
    two_phase_locking::Mode,
};
use crate::ProtocolOptions;
use machine::{Arena, Core, Machine, OutOfMemory, Place, Word, Zeroed, cold::Arc};
use storage::RecordRef;
use txn::{Abort, AbortReason, ColumnSet};

/// A lock.
#[repr(C)]
pub struct RetiringLock {
    latch: Word,
    /// The head of the list.
    first: Word,
    /// Its end.
    last: Word,
    /// Number of requests in it that are exclusive, or want to be.
    exclusives: Word,
    /// No request in it is younger, and all have timestamps; 0 if that is not known.
    youngest: Word,
}

// SAFETY: words.
unsafe impl Zeroed for RetiringLock {}

/// Exclusive, or waiting to be.
const EXCLUSIVE: u64 = 1;
/// Has the lock.
const GRANTED: u64 = 2;
/// Has the lock and keeps nobody else from having it.
const RETIRED: u64 = 4;
/// Counts among what its transaction waits for before it commits.
const BLOCKED: u64 = 8;
/// Has the lock shared, and waits to have it exclusively.
const UPGRADES: u64 = 16;
/// Was called away because of what happened in this list.
const DOOMED: u64 = 32;

/// One session's request for one lock.
#[repr(C, align(16))]
pub(super) struct Request<M: Machine> {
    pub(super) line: M::Line,
    next: Word,
    previous: Word,
    /// Offset of its session.
    session: Word,
    /// Its session's timestamp, once it is needed here.
    timestamp: Word,
    /// What it is: the flags above.
    state: Word,
    /// Offset of the image; 0 if the write changes nothing.
    pub(super) image: Word,
    /// The columns that the image holds.
    pub(super) columns: Word,
}

// SAFETY: a line and words.
unsafe impl<M: Machine> Zeroed for Request<M> {}

const REQUESTS_PER_CHUNK: u64 = 32;

/// What all locks share.
pub struct RetiringLocks<M: Machine> {
    arena: Arc<Arena>,
    sessions: u64,
    /// Where each session's first requests are: a session that comes when memory is exhausted can lock.
    requests: u64,
    latches: LatchNodes,
    allocator: TimestampAllocator<M>,
}

/// One session's side.
pub struct Claims<M: Machine> {
    latcher: Latcher<M>,
    session: u64,
    free: Vec<u64>,
    source: TimestampSource,
}

pub(super) type Record<'s, M> = RecordRef<'s, M, RetiringLock>;

impl<M: Machine> RetiringLocks<M> {
    const CHUNK_BYTES: u64 = size_of::<Request<M>>() as u64 * REQUESTS_PER_CHUNK;
    const SESSION_BYTES: u64 = size_of::<DependentSession<M>>() as u64;

    /// For `sessions` sessions.
    pub fn new(
        arena: &Arc<Arena>,
        options: &ProtocolOptions,
        sessions: usize,
    ) -> Result<RetiringLocks<M>, OutOfMemory> {
        let count = sessions.max(1) as u64;
        Ok(RetiringLocks {
            arena: arena.clone(),
            sessions: arena.allocate(Self::SESSION_BYTES * count, 64, Place::Any)?,
            requests: arena.allocate(Self::CHUNK_BYTES * count, 64, Place::Any)?,
            latches: LatchNodes::new::<M>(arena, sessions)?,
            allocator: TimestampAllocator::new(arena, options.timestamps, sessions)?,
        })
    }

    /// The side of session number `slot`.
    pub fn claims(&self, slot: usize) -> Claims<M> {
        let mut claims = Claims {
            // Which checks the slot.
            latcher: self.latches.latcher(slot),
            session: self.sessions + slot as u64 * Self::SESSION_BYTES,
            free: Vec::new(),
            source: TimestampSource::new(slot),
        };
        claims.supply(self.requests + slot as u64 * Self::CHUNK_BYTES);
        claims
    }

    /// What others may know of the session.
    #[inline(always)]
    pub fn session_of(&self, claims: &Claims<M>) -> &DependentSession<M> {
        self.session_at(claims.session)
    }

    #[inline(always)]
    fn session_at(&self, offset: u64) -> &DependentSession<M> {
        // SAFETY: offsets of sessions are those that `claims` makes, in memory that `new` has allocated.
        unsafe { self.arena.at::<DependentSession<M>>(offset) }
    }

    #[inline(always)]
    pub(super) fn at(&self, request: u64) -> &Request<M> {
        // SAFETY: offsets in lists come from `Claims::free`, whose chunks hold requests only.
        unsafe { self.arena.at::<Request<M>>(request) }
    }

    fn session(&self, core: &M::Core, request: u64) -> &DependentSession<M> {
        let request = self.at(request);
        self.session_at(core.load_relaxed(&request.line, &request.session))
    }

    #[inline(always)]
    fn state(&self, core: &M::Core, request: u64) -> u64 {
        core.load_relaxed(&self.at(request).line, &self.at(request).state)
    }

    #[inline(always)]
    fn set_state(&self, core: &M::Core, request: u64, state: u64) {
        core.store_relaxed(&self.at(request).line, &self.at(request).state, state);
    }

    #[inline(always)]
    pub(super) fn next(&self, core: &M::Core, request: u64) -> u64 {
        core.load_relaxed(&self.at(request).line, &self.at(request).next)
    }

    #[inline(always)]
    pub(super) fn previous(&self, core: &M::Core, request: u64) -> u64 {
        core.load_relaxed(&self.at(request).line, &self.at(request).previous)
    }

    pub(super) fn first(&self, core: &M::Core, record: &Record<'_, M>) -> u64 {
        core.load_relaxed(record.line(), &record.cc().first)
    }

    fn last(&self, core: &M::Core, record: &Record<'_, M>) -> u64 {
        core.load_relaxed(record.line(), &record.cc().last)
    }

    /// Latches the record's lock.
    #[inline]
    pub fn latch(&self, core: &M::Core, claims: &Claims<M>, record: &Record<'_, M>) {
        claims.latcher.latch(core, record.line(), &record.cc().latch);
    }

    /// Gives the latch back.
    #[inline]
    pub fn unlatch(&self, core: &M::Core, claims: &Claims<M>, record: &Record<'_, M>) {
        claims.latcher.unlatch(core, record.line(), &record.cc().latch);
    }

    /// A request that stands in no list.
    pub fn take(&self, core: &M::Core, claims: &mut Claims<M>) -> Result<u64, OutOfMemory> {
        if claims.free.is_empty() {
            claims.supply(self.arena.allocate(Self::CHUNK_BYTES, 64, Place::Any)?);
        }
        let offset = claims.free.pop().expect("filled above");
        let request = self.at(offset);
        core.store_relaxed(&request.line, &request.session, claims.session);
        core.store_relaxed(&request.line, &request.timestamp, 0);
        core.store_relaxed(&request.line, &request.image, 0);
        Ok(offset)
    }

    /// Puts `request` into the list and returns with the lock granted and latched. On failure the attempt has been
    /// called, and the request stands in the list without being latched.
    #[inline]
    pub fn acquire(
        &self,
        core: &M::Core,
        claims: &mut Claims<M>,
        record: &Record<'_, M>,
        request: u64,
        mode: Mode,
    ) -> Result<(), Abort> {
        let exclusive = u64::from(mode == Mode::Exclusive) * EXCLUSIVE;
        self.latch(core, claims, record);
        let alone = self.first(core, record) == 0;
        let exclusives = core.load_relaxed(record.line(), &record.cc().exclusives);
        if alone || (exclusive == 0 && exclusives == 0) {
            // Nobody conflicts, so nobody's age matters.
            self.set_state(core, request, exclusive | granted(record, exclusive));
            self.link(core, record, 0, request);
            self.count(core, record, exclusive);
            return Ok(());
        }
        self.set_state(core, request, exclusive);
        self.place(core, claims, record, request);
        self.until_granted(core, claims, record, request)
    }

    /// As [`RetiringLocks::acquire`], of a request that has the lock shared.
    pub fn upgrade(
        &self,
        core: &M::Core,
        claims: &mut Claims<M>,
        record: &Record<'_, M>,
        request: u64,
    ) -> Result<(), Abort> {
        self.latch(core, claims, record);
        if self.first(core, record) == request && self.next(core, request) == 0 {
            self.set_state(core, request, EXCLUSIVE | GRANTED);
            self.count(core, record, EXCLUSIVE);
            return Ok(());
        }
        self.unlink(core, record, request);
        let blocked = self.state(core, request) & BLOCKED;
        self.set_state(core, request, EXCLUSIVE | UPGRADES | blocked);
        self.place(core, claims, record, request);
        self.until_granted(core, claims, record, request)
    }

    /// Puts a request behind all others if it is the youngest, and grants it if nobody there keeps it from having
    /// the lock.
    fn append(
        &self,
        core: &M::Core,
        claims: &mut Claims<M>,
        record: &Record<'_, M>,
        request: u64,
    ) -> bool {
        let youngest = core.load_relaxed(record.line(), &record.cc().youngest);
        if youngest == 0 || record.is_guard() {
            return false;
        }
        let own = self.age(core, claims, request);
        if own < youngest {
            return false;
        }
        core.store_relaxed(record.line(), &record.cc().youngest, own);
        let last = self.last(core, record);
        // Behind somebody who has not retired nobody has the lock but those who were called away.
        if self.state(core, last) & (RETIRED | DOOMED) == RETIRED {
            // It conflicts with one of them, or its age would not matter.
            let mut state = self.state(core, request) & !UPGRADES;
            if state & BLOCKED == 0 && self.session_of(claims).block(core) {
                state |= BLOCKED;
            }
            self.set_state(core, request, state | granted(record, state & EXCLUSIVE));
        }
        self.link(core, record, last, request);
        true
    }

    /// Finds the request's place among others, calls away whom it may, and links it.
    fn place(&self, core: &M::Core, claims: &mut Claims<M>, record: &Record<'_, M>, request: u64) {
        let exclusive = self.state(core, request) & EXCLUSIVE;
        self.count(core, record, exclusive);
        if self.append(core, claims, record, request) {
            return;
        }
        let mut youngest = 0;
        let mut at = self.first(core, record);
        while at != 0 {
            youngest = self.age(core, claims, at).max(youngest);
            at = self.next(core, at);
        }
        // The last to be drawn, and known before it is compared: others may be drawing it elsewhere.
        let own = self.age(core, claims, request);
        core.store_relaxed(record.line(), &record.cc().youngest, own.max(youngest));
        let mut before = 0;
        at = self.first(core, record);
        while at != 0 {
            let state = self.state(core, at);
            let has = state & (GRANTED | UPGRADES) != 0;
            let writes = state & (GRANTED | EXCLUSIVE) == GRANTED | EXCLUSIVE;
            let stands = if self.age(core, claims, at) < own {
                false
            } else if writes && record.is_guard() {
                // It may be changing the range just now, called or not: that is not undone.
                self.call(core, at);
                false
            } else if exclusive != 0 && has {
                self.call(core, at)
            } else if writes {
                self.stands_behind(core, at, state)
            } else {
                true
            };
            if !stands {
                before = at;
            }
            at = self.next(core, at);
        }
        self.link(core, record, before, request);
    }

    /// Calls the request's attempt away; false if it commits.
    fn call(&self, core: &M::Core, request: u64) -> bool {
        let called = self.session(core, request).call(core);
        if called {
            self.set_state(core, request, self.state(core, request) | DOOMED);
        }
        called
    }

    /// Lets a write that has the lock stand behind an older read that has just come; false if it commits.
    fn stands_behind(&self, core: &M::Core, request: u64, state: u64) -> bool {
        if state & BLOCKED != 0 {
            return true;
        }
        let blocked = self.session(core, request).block(core);
        if blocked {
            self.set_state(core, request, state | BLOCKED);
        }
        blocked
    }

    fn age(&self, core: &M::Core, claims: &mut Claims<M>, request: u64) -> u64 {
        let (line, known) = (&self.at(request).line, &self.at(request).timestamp);
        let mut age = core.load_relaxed(line, known);
        if age == 0 {
            let session = self.session(core, request);
            age = session.timestamp(core, &self.allocator, &mut claims.source);
            core.store_relaxed(line, known, age);
        }
        age
    }

    /// Waits for the request that has just been placed, unless it can be granted at once.
    fn until_granted(
        &self,
        core: &M::Core,
        claims: &Claims<M>,
        record: &Record<'_, M>,
        request: u64,
    ) -> Result<(), Abort> {
        if self.state(core, request) & GRANTED == 0 {
            self.refresh(core, record, request);
        }
        if self.state(core, request) & GRANTED != 0 {
            return Ok(());
        }
        let session = self.session_of(claims);
        session.expects_grant(core);
        self.unlatch(core, claims, record);
        if !session.until_granted(core) {
            return Err(Abort::because(AbortReason::Wounded));
        }
        self.latch(core, claims, record);
        Ok(())
    }

    /// Grants what can be granted, and tells who need not wait for others any more. `own` is a request whose
    /// session does not wait.
    fn refresh(&self, core: &M::Core, record: &Record<'_, M>, own: u64) {
        let first = self.first(core, record);
        self.refresh_from(core, record, first, false, own);
    }

    /// As [`RetiringLocks::refresh`], from the request `at` on. What stands before it is retired, and `exclusive`
    /// if there is anything.
    fn refresh_from(
        &self,
        core: &M::Core,
        record: &Record<'_, M>,
        mut at: u64,
        mut exclusive: bool,
        own: u64,
    ) {
        let (mut any, mut kept) = (exclusive, false);
        let end = self.last(core, record);
        // Nobody waits before one who has the lock and was not called away.
        let granted_all = at != 0 && self.state(core, end) & (GRANTED | DOOMED) == GRANTED;
        while at != 0 && !(exclusive && granted_all) {
            let mut state = self.state(core, at);
            let wants = state & EXCLUSIVE;
            let blocked = if wants != 0 { any } else { exclusive };
            if state & GRANTED == 0 && (wants == 0 || !kept) {
                let session = self.session(core, at);
                state = state & !UPGRADES | granted(record, wants);
                // Before it is told that it has the lock, or it might commit in between.
                if blocked && state & BLOCKED == 0 && session.block(core) {
                    state |= BLOCKED;
                }
                self.set_state(core, at, state);
                if at != own {
                    session.granted(core);
                }
            } else if !blocked && state & (GRANTED | BLOCKED) == GRANTED | BLOCKED {
                self.set_state(core, at, state & !BLOCKED);
                self.session(core, at).unblock(core);
            }
            if wants != 0 && state & (RETIRED | DOOMED) != RETIRED {
                // Who stands behind it waits, or has been called. What a called one has written is not worth
                // seeing.
                return;
            }
            any = true;
            exclusive |= wants != 0;
            kept |= state & RETIRED == 0;
            at = self.next(core, at);
        }
    }

    /// Lets others have the lock beside the request's exclusive one, and see `image`, which holds `columns`; none
    /// if the write changes nothing. Call with the lock latched, and [`RetiringLocks::leave`] afterwards.
    pub fn retire(&self, core: &M::Core, request: u64, image: Option<(&Record<'_, M>, ColumnSet)>) {
        let own = self.at(request);
        let (image, columns) =
            image.map_or((0, ColumnSet::NONE), |(slot, columns)| (slot.name().offset, columns));
        core.store_relaxed(&own.line, &own.image, image);
        core.store_relaxed(&own.line, &own.columns, columns.0);
        self.set_state(core, request, self.state(core, request) | RETIRED);
    }

    /// Takes back a lock that was retired too early: who has seen what is about to change is called away. Call
    /// with the lock latched.
    pub fn take_back(&self, core: &M::Core, request: u64) {
        let state = self.state(core, request);
        if state & RETIRED != 0 {
            self.set_state(core, request, state & !RETIRED);
            self.call_behind(core, request);
        }
    }

    /// Gives the latch back, and the lock to whoever may have it now.
    pub fn leave(&self, core: &M::Core, claims: &Claims<M>, record: &Record<'_, M>, request: u64) {
        if self.is_retired_write(core, request) {
            let next = self.next(core, request);
            self.refresh_from(core, record, next, true, request);
        }
        self.unlatch(core, claims, record);
    }

    /// Calls away all that have the lock behind `request`: they have seen what it has written. Call with the lock
    /// latched.
    pub fn call_behind(&self, core: &M::Core, request: u64) {
        let mut at = self.next(core, request);
        while at != 0 {
            if self.state(core, at) & (GRANTED | UPGRADES) != 0 {
                self.call(core, at);
            }
            at = self.next(core, at);
        }
    }

    /// Whether others may have seen what `request` has written.
    pub fn is_retired_write(&self, core: &M::Core, request: u64) -> bool {
        let both = EXCLUSIVE | RETIRED;
        self.state(core, request) & both == both
    }

    /// Takes the request out of the list, gives the lock to whoever is next, and the latch back, which is held.
    pub fn release(
        &self,
        core: &M::Core,
        claims: &mut Claims<M>,
        record: &Record<'_, M>,
        request: u64,
    ) {
        self.unlink(core, record, request);
        let exclusive = self.state(core, request) & EXCLUSIVE;
        let exclusives = self.count(core, record, exclusive.wrapping_neg());
        if exclusives == 0 {
            // From here on requests may come whose age nobody asks for.
            core.store_relaxed(record.line(), &record.cc().youngest, 0);
        }
        if exclusive + exclusives != 0 {
            self.refresh(core, record, 0);
        }
        self.unlatch(core, claims, record);
        claims.free.push(request);
    }

    /// Adds to the number of exclusive requests, and returns it.
    fn count(&self, core: &M::Core, record: &Record<'_, M>, change: u64) -> u64 {
        let (line, exclusives) = (record.line(), &record.cc().exclusives);
        let count = core.load_relaxed(line, exclusives).wrapping_add(change);
        if change != 0 {
            core.store_relaxed(line, exclusives, count);
        }
        count
    }

    /// Puts `request` behind `before`, or first if that is 0.
    fn link(&self, core: &M::Core, record: &Record<'_, M>, before: u64, request: u64) {
        let after = match before {
            0 => self.first(core, record),
            _ => self.next(core, before),
        };
        self.join(core, record, before, request);
        self.join(core, record, request, after);
    }

    fn unlink(&self, core: &M::Core, record: &Record<'_, M>, request: u64) {
        self.join(core, record, self.previous(core, request), self.next(core, request));
    }

    /// Lets one request follow another; 0 for an end of the list.
    fn join(&self, core: &M::Core, record: &Record<'_, M>, before: u64, after: u64) {
        let (line, next) = match before {
            0 => (record.line(), &record.cc().first),
            _ => (&self.at(before).line, &self.at(before).next),
        };
        core.store_relaxed(line, next, after);
        let (line, previous) = match after {
            0 => (record.line(), &record.cc().last),
            _ => (&self.at(after).line, &self.at(after).previous),
        };
        core.store_relaxed(line, previous, before);
    }
}

impl<M: Machine> Claims<M> {
    /// Adds the requests placed at `first`, which nobody else uses.
    fn supply(&mut self, first: u64) {
        let size = size_of::<Request<M>>() as u64;
        self.free.extend((0..REQUESTS_PER_CHUNK).rev().map(|i| first + i * size));
    }
}

/// The flags of a request that has the lock: reads of rows keep nobody from writing, those of ranges do.
#[inline(always)]
fn granted<M: Machine>(record: &Record<'_, M>, exclusive: u64) -> u64 {
    match exclusive == 0 && !record.is_guard() {
        true => GRANTED | RETIRED,
        false => GRANTED,
    }
}
