//! One lock for each partition, with a queue in the order of timestamps.
//!
//! A transaction requests all its partitions before it runs, and runs when it owns them all. A
//! transaction that owns some of its partitions and waits for others has done nothing yet. So a
//! partition can be taken back from it without an abort: an older transaction becomes the owner,
//! and the younger one is first in the queue again.
//!
//! Invariants:
//!
//! - An owner that has not begun to run is the oldest transaction at its partition.
//! - A transaction waits only for older or for running transactions.
//! - A running transaction waits for no lock.
//!
//! So waits form no cycle.
//!
//! A session's word counts the partitions that it still lacks. The run begins when the count
//! becomes zero. From then on no partition is taken back.
//!
//! A transaction first requests its partitions ([`PartitionLocks::request`]) and later waits for
//! them ([`PartitionLocks::begin`]). In between it can do anything that needs no partition and waits
//! for no transaction, such as prefetching.
//!
//! If sessions can sleep ([`Core::overtakes`]), a session that lacks nothing can sleep on while
//! other transactions wait for it. There its run begins when the session has noticed that it lacks
//! nothing and has set `RUNNING` in its word. Until then a transaction that needs this partition
//! and no other can take it, whatever its age. It runs at once, so transactions still wait only for
//! older or for running ones. A wait can be overtaken a limited number of times.

use super::{
    lock_queue::{LockQueue, Requests},
    overtaking::may_be_overtaken,
    queue_latch::LatchNodes,
    two_phase_locking::Mode,
};
use crate::LatchKind;
use crate::faults;
use machine::{Arena, Core, Machine, OutOfMemory, Place, Shared, Word, Zeroed, cold::Arc};

/// One partition's lock.
#[repr(C, align(64))]
struct Partition<M: Machine> {
    line: M::Line,
    /// The owner's request, and the waiters' requests, oldest first.
    queue: LockQueue,
    /// Offset of the last waiter's request; 0 for none. A transaction that has just drawn its
    /// timestamp is the youngest, so it mostly comes last. Without this word it would walk along the
    /// queue while it holds the latch, and each step would be a cache miss.
    last: Word,
}

// SAFETY: a line and words.
unsafe impl<M: Machine> Zeroed for Partition<M> {}

impl<M: Machine> Partition<M> {
    /// Puts a request ahead of all waiters.
    fn link_first(&self, core: &M::Core, requests: &Requests<M>, request: u64) {
        if core.load_relaxed(&self.line, &self.queue.waiters) == 0 {
            core.store_relaxed(&self.line, &self.last, request);
        }
        requests.link(core, &self.line, &self.queue.waiters, request);
    }

    /// Puts a request into the queue, before the first request that is younger.
    fn enqueue(&self, core: &M::Core, requests: &Requests<M>, request: u64, timestamp: u64) {
        let Partition { line, queue, last } = self;
        let is_older = |other| requests.timestamp_of(core, other) < timestamp;
        let youngest = core.load_relaxed(line, last);
        let (mut before, mut at) = (0, core.load_relaxed(line, &queue.waiters));
        if youngest != 0 && is_older(youngest) {
            (before, at) = (youngest, 0);
        }
        while at != 0 && is_older(at) {
            before = at;
            at = requests.next_of(core, at);
        }
        if at == 0 {
            core.store_relaxed(line, last, request);
        }
        requests.link_between(core, line, &queue.waiters, (before, at), request);
    }

    /// Takes a request out of the queue.
    fn unlink(&self, core: &M::Core, requests: &Requests<M>, request: u64) {
        let Partition { line, queue, last } = self;
        if core.load_relaxed(line, last) == request {
            let mut before = 0;
            let mut at = core.load_relaxed(line, &queue.waiters);
            while at != request {
                before = at;
                at = requests.next_of(core, at);
            }
            core.store_relaxed(line, last, before);
        }
        requests.unlink(core, line, &queue.waiters, request);
    }
}

/// The number of partitions that a session still lacks before it can run.
#[repr(C, align(64))]
struct Lacking<M: Machine> {
    line: M::Line,
    /// The number of partitions that the session lacks ([`NUMBER`]), how often it was overtaken in
    /// units of [`OVERTAKEN`], and the flag [`RUNNING`].
    partitions: Word,
}

/// Bits of a session's word that hold the number of partitions that it lacks.
const NUMBER: u64 = (1 << 32) - 1;
/// Unit of the counter in a session's word: how often its wait was overtaken.
const OVERTAKEN: u64 = 1 << 32;
/// Set in a session's word once the session has noticed that it lacks nothing. Used only where
/// sessions can be overtaken.
const RUNNING: u64 = 1 << 63;

// SAFETY: a line and a word.
unsafe impl<M: Machine> Zeroed for Lacking<M> {}

/// Treatment of a transaction that is older than the owner of a partition.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Older {
    /// The older transaction goes first if the owner has not begun to run. Transactions then only
    /// wait and never abort.
    GoesFirst,
    /// The older transaction is refused, and retries with a later timestamp.
    IsRefused,
}

/// Reason why a transaction does not get its partitions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// The transaction is older than an owner.
    TooOld,
    /// There is no memory for another request.
    OutOfMemory,
}

/// The locks of all partitions.
pub struct PartitionLocks<M: Machine> {
    partitions: Box<[Shared<Partition<M>>]>,
    sessions: Box<[Shared<Lacking<M>>]>,
    latches: LatchNodes,
    arena: Arc<Arena>,
}

/// One session's locks, owned or requested.
pub struct Claims<M: Machine> {
    session: usize,
    requests: Requests<M>,
    /// Each entry is a partition and the request for it. The request owns the partition or is in
    /// its queue.
    made: Vec<(usize, u64)>,
}

impl<M: Machine> PartitionLocks<M> {
    /// Creates the locks of `partitions` partitions, for `sessions` sessions. Their latches are of the kind `latch`.
    pub fn new(
        arena: &Arc<Arena>,
        (partitions, latch): (usize, LatchKind),
        sessions: usize,
    ) -> Result<PartitionLocks<M>, OutOfMemory> {
        Ok(PartitionLocks {
            partitions: (0..partitions)
                .map(|_| arena.place(Place::Any))
                .collect::<Result<_, _>>()?,
            sessions: (0..sessions)
                .map(|session| arena.place(arena.beside(session)))
                .collect::<Result<_, _>>()?,
            latches: LatchNodes::of_kind::<M>(arena, sessions, latch)?,
            arena: arena.clone(),
        })
    }

    /// Returns the number of partitions.
    pub fn partitions(&self) -> usize {
        self.partitions.len()
    }

    /// Creates the claims of session number `session`. There are none yet.
    pub fn claims(&self, session: usize) -> Claims<M> {
        let requests = Requests::new(&self.arena.near(session), self.latches.latcher(session));
        Claims { session, requests, made: Vec::new() }
    }

    /// Requests the locks of `partitions`, which must be distinct. [`PartitionLocks::begin`] waits for
    /// them. On failure nothing is requested, and the error says why.
    pub fn request(
        &self,
        core: &M::Core,
        claims: &mut Claims<M>,
        timestamp: u64,
        partitions: impl ExactSizeIterator<Item = usize>,
        older: Older,
    ) -> Result<(), Refusal> {
        let own = &*self.sessions[claims.session];
        let count = partitions.len();
        core.store_relaxed(&own.line, &own.partitions, count as u64);
        for partition in partitions {
            let asked = match claims.requests.take(core, timestamp, Mode::Exclusive) {
                Ok(request) => {
                    self.ask(core, claims, timestamp, (partition, count == 1), request, older)
                }
                Err(OutOfMemory { .. }) => Err(Refusal::OutOfMemory),
            };
            if let Err(refusal) = asked {
                self.release(core, claims);
                return Err(refusal);
            }
        }
        Ok(())
    }

    /// Waits until the session lacks nothing. From then on the session runs.
    pub fn begin(&self, core: &M::Core, claims: &Claims<M>) {
        let own = &*self.sessions[claims.session];
        if !core.overtakes() {
            core.wait_while(&own.line, &own.partitions, |lacking| lacking != 0);
            return;
        }
        let mut seen = core.load(&own.line, &own.partitions);
        while seen != RUNNING {
            if seen & NUMBER == 0 {
                match core.cas(&own.line, &own.partitions, seen, RUNNING) {
                    Ok(_) => seen = RUNNING,
                    Err(now) => seen = now,
                }
            } else {
                // After it was overtaken, the session spins for a while before it sleeps again.
                let times = seen / OVERTAKEN;
                let lacks = |now| now & NUMBER != 0 && now / OVERTAKEN == times;
                seen = core.wait_while(&own.line, &own.partitions, lacks);
            }
        }
    }

    /// Requests one partition. The request becomes the owner, joins the queue, or is refused.
    /// `only` is set if the transaction needs no other partition.
    fn ask(
        &self,
        core: &M::Core,
        claims: &mut Claims<M>,
        timestamp: u64,
        (partition, only): (usize, bool),
        request: u64,
        older: Older,
    ) -> Result<(), Refusal> {
        let locks = &*self.partitions[partition];
        let Partition { line, queue, .. } = locks;
        let requests = &claims.requests;
        let asked = requests.at(request);
        core.store_relaxed(&asked.line, &asked.session, claims.session as u64);
        requests.latch(core, line, queue);
        let owner = core.load_relaxed(line, &queue.owners);
        let may_overtake = only || core.is_planted(faults::HSTORE_OVERTAKES_IN_PART);
        let goes_first = owner != 0 && timestamp < requests.timestamp_of(core, owner);
        let granted = match older {
            _ if owner == 0 => true,
            _ if may_overtake && self.overtake(core, requests, owner) => {
                // An owner that does not run yet is the oldest at its partition, so it becomes the
                // first waiter.
                locks.link_first(core, requests, owner);
                if only {
                    // The overtaker runs as soon as it owns the lock. Otherwise a transaction that
                    // is younger than the overtaken one could take the lock from the overtaker.
                    let own = &*self.sessions[claims.session];
                    core.store_relaxed(&own.line, &own.partitions, RUNNING | 1);
                }
                true
            }
            _ if !goes_first => false,
            Older::GoesFirst if core.is_planted(faults::HSTORE_NEVER_GOES_FIRST) => false,
            Older::GoesFirst => {
                let given_up = self.take_back(core, requests, owner);
                if given_up {
                    // It is older than all waiters of this partition, so it becomes the first.
                    locks.link_first(core, requests, owner);
                }
                given_up
            }
            Older::IsRefused => {
                requests.unlatch(core, line, queue);
                claims.requests.free.push(request);
                return Err(Refusal::TooOld);
            }
        };
        if granted {
            core.store_relaxed(line, &queue.owners, request);
            self.grant(core, requests, request);
        } else {
            locks.enqueue(core, requests, request, timestamp);
        }
        requests.unlatch(core, line, queue);
        claims.made.push((partition, request));
        Ok(())
    }

    /// Returns the word of the session that made the request.
    fn session_of(&self, core: &M::Core, requests: &Requests<M>, request: u64) -> &Lacking<M> {
        let request = requests.at(request);
        &self.sessions[core.load_relaxed(&request.line, &request.session) as usize]
    }

    /// Counts one partition less for the session that made the request, and wakes it.
    fn grant(&self, core: &M::Core, requests: &Requests<M>, request: u64) {
        let session = self.session_of(core, requests, request);
        core.fetch_add(&session.line, &session.partitions, u64::MAX);
        core.wake(&session.line, &session.partitions);
    }

    /// Takes a partition back from its owner. Returns false if the owner runs.
    fn take_back(&self, core: &M::Core, requests: &Requests<M>, owner: u64) -> bool {
        let running = core.is_planted(faults::HSTORE_TAKES_FROM_RUNNING);
        let session = self.session_of(core, requests, owner);
        let mut lacking = core.load(&session.line, &session.partitions);
        let begun = |lacking: u64| match core.overtakes() {
            true => lacking & RUNNING != 0,
            false => lacking == 0,
        };
        while !begun(lacking) || running {
            match core.cas(&session.line, &session.partitions, lacking, lacking + 1) {
                Ok(_) => return true,
                Err(now) => lacking = now,
            }
        }
        false
    }

    /// Takes a partition from an owner that lacks nothing, does not run yet and seems to sleep.
    /// Returns true on success.
    fn overtake(&self, core: &M::Core, requests: &Requests<M>, owner: u64) -> bool {
        if !core.overtakes() {
            return false;
        }
        let session = self.session_of(core, requests, owner);
        let lacking = core.load(&session.line, &session.partitions);
        let taken = lacking + OVERTAKEN + 1;
        lacking & (RUNNING | NUMBER) == 0
            && may_be_overtaken::<M>(lacking / OVERTAKEN)
            && core.sleeps(&session.line, &session.partitions)
            && core.cas(&session.line, &session.partitions, lacking, taken).is_ok()
    }

    /// Releases every lock that the session owns, and withdraws every request that waits.
    pub fn release(&self, core: &M::Core, claims: &mut Claims<M>) {
        while let Some((partition, request)) = claims.made.pop() {
            let locks = &*self.partitions[partition];
            let Partition { line, queue, .. } = locks;
            let requests = &mut claims.requests;
            requests.latch(core, line, queue);
            if core.load_relaxed(line, &queue.owners) == request {
                let next = core.load_relaxed(line, &queue.waiters);
                core.store_relaxed(line, &queue.owners, next);
                if next != 0 {
                    locks.unlink(core, requests, next);
                    self.grant(core, requests, next);
                }
            } else {
                locks.unlink(core, requests, request);
            }
            requests.unlatch(core, line, queue);
            requests.free.push(request);
        }
    }
}
