//! One lock for each partition, with a queue in the order of timestamps.
//!
//! A transaction asks for all its partitions before it runs, and runs when it has them all. Whoever has some
//! of them and waits for others has done nothing yet, so a partition can be taken back from it without an
//! abort: an older transaction takes its turn, and the younger stands first in the queue again. So an owner
//! that has not begun to run is the oldest at its partition, everybody waits for older transactions
//! or for running ones, and running ones wait for nobody: waits form no circle.
//!
//! A session's word counts the partitions that it still lacks. Zero is the begin of its run, and from then on
//! nothing is taken back.
//!
//! Where sessions can sleep ([`Core::overtakes`]) one that lacks nothing may sleep on, and everybody waits for it. There its run begins
//! when it has noticed, and says so in its word. Until then a transaction that needs one partition and no other may
//! take that partition, whatever its age: it runs at once, so everybody waits for older transactions or for running
//! ones as before. A wait can be overtaken a limited number of times.

use super::{
    lock_queue::{LockQueue, Requests},
    overtaking::may_be_overtaken,
    queue_latch::LatchNodes,
    two_phase_locking::Mode,
};
use crate::faults;
use machine::{Arena, Core, Machine, OutOfMemory, Place, Shared, Word, Zeroed, cold::Arc};

/// One partition's lock.
#[repr(C, align(64))]
struct Partition<M: Machine> {
    line: M::Line,
    /// The owner's request, and those of who waits, oldest first.
    queue: LockQueue,
}

// SAFETY: a line and words.
unsafe impl<M: Machine> Zeroed for Partition<M> {}

/// What a session still lacks.
#[repr(C, align(64))]
struct Lacking<M: Machine> {
    line: M::Line,
    /// The number of partitions ([`NUMBER`]); how often it was overtaken, in units of [`OVERTAKEN`]; and [`RUNNING`].
    partitions: Word,
}

/// Of a session's word: the number of partitions that it lacks.
const NUMBER: u64 = (1 << 32) - 1;
/// Its wait was overtaken once.
const OVERTAKEN: u64 = 1 << 32;
/// It has noticed that it lacks nothing. Only where it can be overtaken.
const RUNNING: u64 = 1 << 63;

// SAFETY: a line and a word.
unsafe impl<M: Machine> Zeroed for Lacking<M> {}

/// What becomes of a transaction that is older than the owner of a partition.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Older {
    /// It goes first, if the owner has not begun to run. Waiting is all that ever happens.
    GoesFirst,
    /// It is turned away, and comes back with a later timestamp.
    IsRefused,
}

/// Why a transaction does not get its partitions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// It is older than an owner.
    TooOld,
    /// No memory for another request.
    OutOfMemory,
}

/// The locks of all partitions.
pub struct PartitionLocks<M: Machine> {
    partitions: Box<[Shared<Partition<M>>]>,
    sessions: Box<[Shared<Lacking<M>>]>,
    latches: LatchNodes,
    arena: Arc<Arena>,
}

/// One session's locks, held or asked for.
pub struct Claims<M: Machine> {
    slot: usize,
    requests: Requests<M>,
    /// Partition and request.
    made: Vec<(usize, u64)>,
}

impl<M: Machine> PartitionLocks<M> {
    /// Locks of `partitions` partitions for `sessions` sessions.
    pub fn new(
        arena: &Arc<Arena>,
        partitions: usize,
        sessions: usize,
    ) -> Result<PartitionLocks<M>, OutOfMemory> {
        Ok(PartitionLocks {
            partitions: (0..partitions)
                .map(|_| arena.place(Place::Any))
                .collect::<Result<_, _>>()?,
            sessions: (0..sessions)
                .map(|slot| arena.place(arena.beside(slot)))
                .collect::<Result<_, _>>()?,
            latches: LatchNodes::new::<M>(arena, sessions)?,
            arena: arena.clone(),
        })
    }

    /// Number of partitions.
    pub fn partitions(&self) -> usize {
        self.partitions.len()
    }

    /// The claims of session `slot`: none yet.
    pub fn claims(&self, slot: usize) -> Claims<M> {
        let requests = Requests::new(&self.arena, self.latches.latcher(slot));
        Claims { slot, requests, made: Vec::new() }
    }

    /// Takes the locks of `partitions`, none of them twice, and returns when all are held; or none is, and
    /// why.
    pub fn acquire(
        &self,
        core: &M::Core,
        claims: &mut Claims<M>,
        timestamp: u64,
        partitions: impl ExactSizeIterator<Item = usize>,
        older: Older,
    ) -> Result<(), Refusal> {
        let own = &*self.sessions[claims.slot];
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
        self.begin(core, own);
        Ok(())
    }

    /// Waits until nothing is lacking. From then on the session runs.
    fn begin(&self, core: &M::Core, own: &Lacking<M>) {
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
                // When it is overtaken it looks for a while before it sleeps again.
                let times = seen / OVERTAKEN;
                let lacks = |now| now & NUMBER != 0 && now / OVERTAKEN == times;
                seen = core.wait_while(&own.line, &own.partitions, lacks);
            }
        }
    }

    fn ask(
        &self,
        core: &M::Core,
        claims: &mut Claims<M>,
        timestamp: u64,
        (partition, only): (usize, bool),
        request: u64,
        older: Older,
    ) -> Result<(), Refusal> {
        let Partition { line, queue } = &*self.partitions[partition];
        let requests = &claims.requests;
        let asked = requests.at(request);
        core.store_relaxed(&asked.line, &asked.session, claims.slot as u64);
        requests.latch(core, line, queue);
        let owner = core.load_relaxed(line, &queue.owners);
        let may_overtake = only || core.is_planted(faults::HSTORE_OVERTAKES_IN_PART);
        let goes_first = owner != 0 && timestamp < requests.timestamp_of(core, owner);
        let granted = match older {
            _ if owner == 0 => true,
            _ if may_overtake && self.overtake(core, requests, owner) => {
                // As long as an owner does not run it is the oldest at its partition.
                requests.link(core, line, &queue.waiters, owner);
                if only {
                    // It runs once it has the lock, so that nobody goes first who is younger than the one overtaken.
                    let own = &*self.sessions[claims.slot];
                    core.store_relaxed(&own.line, &own.partitions, RUNNING | 1);
                }
                true
            }
            _ if !goes_first => false,
            Older::GoesFirst if core.is_planted(faults::HSTORE_NEVER_GOES_FIRST) => false,
            Older::GoesFirst => {
                let given_up = self.take_back(core, requests, owner);
                if given_up {
                    // It is older than all others at this partition.
                    requests.link(core, line, &queue.waiters, owner);
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
            self.enqueue(core, requests, partition, request, timestamp);
        }
        requests.unlatch(core, line, queue);
        claims.made.push((partition, request));
        Ok(())
    }

    /// Puts a request before the first that is younger.
    fn enqueue(
        &self,
        core: &M::Core,
        requests: &Requests<M>,
        partition: usize,
        request: u64,
        timestamp: u64,
    ) {
        let Partition { line, queue } = &*self.partitions[partition];
        let mut before = 0;
        let mut at = core.load_relaxed(line, &queue.waiters);
        while at != 0 && requests.timestamp_of(core, at) < timestamp {
            before = at;
            at = requests.next_of(core, at);
        }
        let asked = requests.at(request);
        core.store_relaxed(&asked.line, &asked.next, at);
        if before == 0 {
            core.store_relaxed(line, &queue.waiters, request);
        } else {
            let before = requests.at(before);
            core.store_relaxed(&before.line, &before.next, request);
        }
    }

    fn session_of(&self, core: &M::Core, requests: &Requests<M>, request: u64) -> &Lacking<M> {
        let request = requests.at(request);
        &self.sessions[core.load_relaxed(&request.line, &request.session) as usize]
    }

    fn grant(&self, core: &M::Core, requests: &Requests<M>, request: u64) {
        let session = self.session_of(core, requests, request);
        core.fetch_add(&session.line, &session.partitions, u64::MAX);
        core.wake(&session.line, &session.partitions);
    }

    /// Takes a partition from its owner; false when that one runs.
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

    /// Takes a partition from an owner that lacks nothing and seems to sleep.
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

    /// Gives back every lock that is held and every place in a queue.
    pub fn release(&self, core: &M::Core, claims: &mut Claims<M>) {
        while let Some((partition, request)) = claims.made.pop() {
            let Partition { line, queue } = &*self.partitions[partition];
            let requests = &mut claims.requests;
            requests.latch(core, line, queue);
            if core.load_relaxed(line, &queue.owners) == request {
                let next = core.load_relaxed(line, &queue.waiters);
                core.store_relaxed(line, &queue.owners, next);
                if next != 0 {
                    requests.unlink(core, line, &queue.waiters, next);
                    self.grant(core, requests, next);
                }
            } else {
                requests.unlink(core, line, &queue.waiters, request);
            }
            requests.unlatch(core, line, queue);
            requests.free.push(request);
        }
    }
}
