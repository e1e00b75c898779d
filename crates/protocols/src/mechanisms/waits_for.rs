//! A waits-for graph with a row for each session, searched for deadlock cycles without locks.
//!
//! Source: Abyss 4.2. A session that begins to wait writes its edges into its own row. Then it
//! searches from there by reading the rows of other sessions. An edge names a session *and its
//! attempt*, and a row counts only while its attempt waits. So an edge to an attempt that has ended
//! is never followed.
//!
//! **Why every cycle found is a deadlock.** A search reads a cycle piece by piece, so it checks the
//! cycle again before it chooses a victim. If every member is still in the same wait whose edges
//! were read, there was a moment at which all of them waited. That is a deadlock. Edges stay true
//! while both ends stay in their attempts, because locks are kept to the end.
//!
//! **Why no deadlock is missed.** The last member of a cycle that publishes its edges finds the
//! edges of all others in place.
//!
//! For comparison, the whole graph can be put under one latch (a central graph). Then every change
//! and every search acquires that latch.

use super::{
    cancellable_queue::{ATTEMPT_SHIFT, SharedSession, SharedSessions, WAITING},
    queue_latch::{LatchNodes, Latcher},
};
use crate::faults;
use machine::{Arena, Core, Machine, OutOfMemory, Place, Word, Zeroed, cold::Arc};
use std::marker::PhantomData;

/// Number of low bits of an edge and of a row's word. An edge holds the session's number in them,
/// below the attempt. A row's word holds the number of edges in them, below the number of the wait.
const LOW_BITS: u32 = 16;
const LOW: u64 = (1 << LOW_BITS) - 1;

const EDGES_PER_LINE: usize = 6;

/// A cache line of a row's edges.
#[repr(C, align(64))]
struct Edges<M: Machine> {
    line: M::Line,
    edges: [Word; EDGES_PER_LINE],
}

// SAFETY: a line and words.
unsafe impl<M: Machine> Zeroed for Edges<M> {}

/// The latch of a central graph.
#[repr(C, align(64))]
struct CentralLatch<M: Machine> {
    line: M::Line,
    tail: Word,
}

// SAFETY: a line and a word.
unsafe impl<M: Machine> Zeroed for CentralLatch<M> {}

/// Returns the name of an attempt, as edges hold it.
#[inline(always)]
pub fn attempt_name(session: usize, attempt: u64) -> u64 {
    attempt << LOW_BITS | session as u64
}

fn slot_of(name: u64) -> usize {
    (name & LOW) as usize
}

/// The rows of all sessions.
pub struct WaitsFor<M: Machine> {
    arena: Arc<Arena>,
    first: u64,
    lines_per_row: u64,
    sessions: usize,
    /// Set for a central graph: offset of its latch, and the latch's nodes.
    central: Option<(u64, LatchNodes)>,
    machine: PhantomData<fn() -> M>,
}

/// A session's private state: its edges, and the state of its searches.
pub struct Searcher<M: Machine> {
    session: usize,
    /// Number of the session's last published wait.
    wait: u64,
    /// Names of the attempts that the session is about to wait for.
    edges: Vec<u64>,
    latcher: Option<Latcher<M>>,
    /// For each session: the last search that visited it.
    seen: Vec<u64>,
    /// Number of the running search.
    pass: u64,
    /// The path from the searching session to the session under visit.
    path: Vec<Step>,
}

/// A session on the path of a search.
#[derive(Clone, Copy)]
struct Step {
    name: u64,
    /// The row's word at the time when the row was read.
    row: u64,
    /// Index of the next edge to follow.
    next: u64,
}

/// Result of a search.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Found {
    /// The session is in no cycle. A session that closes a cycle later will find it.
    Nothing,
    /// A cycle was seen, but a member was leaving it at the same time. The session must search
    /// again.
    Unsettled,
    /// There is a deadlock, and this attempt must abort. It is the member that holds the fewest
    /// locks.
    Victim(u64),
}

impl<M: Machine> WaitsFor<M> {
    /// Creates a graph for `sessions` sessions. `central` puts it under one latch.
    pub fn new(
        arena: &Arc<Arena>,
        sessions: usize,
        central: bool,
    ) -> Result<WaitsFor<M>, OutOfMemory> {
        assert!(sessions as u64 <= LOW, "{sessions} sessions: an edge has room for {LOW}");
        let lines_per_row = sessions.div_ceil(EDGES_PER_LINE).max(1) as u64;
        let bytes = lines_per_row * sessions.max(1) as u64 * size_of::<Edges<M>>() as u64;
        let first = arena.allocate(bytes, 64, Place::Any)?;
        let central = match central {
            false => None,
            true => {
                let bytes = size_of::<CentralLatch<M>>() as u64;
                let latch = arena.allocate(bytes, 64, Place::Any)?;
                Some((latch, LatchNodes::new::<M>(arena, sessions)?))
            }
        };
        let arena = arena.clone();
        Ok(WaitsFor { arena, first, lines_per_row, sessions, central, machine: PhantomData })
    }

    /// Creates the private state of session number `session`.
    pub fn searcher(&self, session: usize) -> Searcher<M> {
        Searcher {
            session,
            wait: 0,
            edges: Vec::new(),
            latcher: self.central.as_ref().map(|(_, nodes)| nodes.latcher(session)),
            seen: vec![0; self.sessions],
            pass: 0,
            path: Vec::new(),
        }
    }

    #[inline(always)]
    fn edge(&self, session: usize, at: u64) -> (&M::Line, &Word) {
        let (line, at) = (at / EDGES_PER_LINE as u64, at as usize % EDGES_PER_LINE);
        assert!(session < self.sessions && line < self.lines_per_row, "beyond the graph");
        let line = session as u64 * self.lines_per_row + line;
        // SAFETY: `new` has allocated the lines of every row, and the assertion has checked both
        // indexes.
        let edges =
            unsafe { self.arena.at::<Edges<M>>(self.first + line * size_of::<Edges<M>>() as u64) };
        (&edges.line, &edges.edges[at])
    }

    /// Acquires the latch of a central graph.
    fn enter(&self, core: &M::Core, searcher: &Searcher<M>) {
        if let (Some((latch, _)), Some(latcher)) = (&self.central, &searcher.latcher) {
            // SAFETY: `new` has placed the latch there.
            let latch = unsafe { self.arena.at::<CentralLatch<M>>(*latch) };
            latcher.latch(core, &latch.line, &latch.tail);
        }
    }

    /// Releases the latch of a central graph.
    fn leave(&self, core: &M::Core, searcher: &Searcher<M>) {
        if let (Some((latch, _)), Some(latcher)) = (&self.central, &searcher.latcher) {
            // SAFETY: `new` has placed the latch there.
            let latch = unsafe { self.arena.at::<CentralLatch<M>>(*latch) };
            latcher.unlatch(core, &latch.line, &latch.tail);
        }
    }

    /// Publishes the edges that `searcher` has gathered, before its session is marked as waiting.
    /// `locks` is the number of locks that the session would lose as a victim.
    pub fn publish(
        &self,
        core: &M::Core,
        sessions: &SharedSessions<M>,
        searcher: &mut Searcher<M>,
        locks: u64,
    ) {
        self.enter(core, searcher);
        for (at, &name) in searcher.edges.iter().enumerate() {
            let (line, edge) = self.edge(searcher.session, at as u64);
            // Release: a session that reads this edge also sees that the previous wait is over.
            core.store(line, edge, name);
        }
        searcher.wait += 1;
        let session = sessions.at(searcher.session);
        let row = searcher.wait << LOW_BITS | searcher.edges.len() as u64;
        core.store_relaxed(&session.line, &session.locks, locks);
        core.store(&session.line, &session.published, row);
        self.leave(core, searcher);
    }

    /// Ends a wait. Without a central graph the row is void already. A central graph must be told.
    pub fn withdraw(&self, core: &M::Core, sessions: &SharedSessions<M>, searcher: &Searcher<M>) {
        if self.central.is_some() {
            self.enter(core, searcher);
            let session = sessions.at(searcher.session);
            core.store(&session.line, &session.published, 0);
            self.leave(core, searcher);
        }
    }

    /// Searches for a cycle through the attempt `own` of the searching session, which waits.
    pub fn search(
        &self,
        core: &M::Core,
        sessions: &SharedSessions<M>,
        searcher: &mut Searcher<M>,
        own: u64,
    ) -> Found {
        // The session's own edges must be visible before it reads the edges of other sessions.
        core.fence();
        self.enter(core, searcher);
        let found = self.walk(core, sessions, searcher, own);
        self.leave(core, searcher);
        found
    }

    /// Walks the graph depth-first from `own`.
    fn walk(
        &self,
        core: &M::Core,
        sessions: &SharedSessions<M>,
        searcher: &mut Searcher<M>,
        own: u64,
    ) -> Found {
        let Searcher { seen, pass, path, .. } = searcher;
        let stale = core.is_planted(faults::DL_DETECT_STALE_EDGES);
        *pass += 1;
        path.clear();
        path.extend(self.step_to(core, sessions, own));
        while let Some(step) = path.last_mut() {
            if step.next == step.row & LOW {
                path.pop();
                continue;
            }
            let (line, edge) = self.edge(slot_of(step.name), step.next);
            step.next += 1;
            let to = core.load(line, edge);
            if to == own || (stale && slot_of(to) == slot_of(own)) {
                return match self.victim(core, sessions, path) {
                    Some(victim) => Found::Victim(victim),
                    None => Found::Unsettled,
                };
            }
            if seen[slot_of(to)] != *pass
                && let Some(step) = self.step_to(core, sessions, to)
            {
                // Mark only now: an edge to an ended attempt must not hide an edge to its session's
                // next attempt.
                seen[slot_of(to)] = *pass;
                path.push(step);
            }
        }
        Found::Nothing
    }

    /// Returns a step to the attempt `name`, if that attempt waits.
    fn step_to(&self, core: &M::Core, sessions: &SharedSessions<M>, name: u64) -> Option<Step> {
        let session = sessions.at(slot_of(name));
        let row = core.load(&session.line, &session.published);
        waits(core, session, name).then_some(Step { name, row, next: 0 })
    }

    /// Chooses the victim of a cycle. None if a member has left the cycle.
    fn victim(&self, core: &M::Core, sessions: &SharedSessions<M>, circle: &[Step]) -> Option<u64> {
        let stale = core.is_planted(faults::DL_DETECT_STALE_EDGES);
        let mut fewest = None;
        for step in circle {
            let session = sessions.at(slot_of(step.name));
            // Load the fate before the row: a session that waits again has published a new row
            // before.
            let waits = waits(core, session, step.name);
            let row = core.load(&session.line, &session.published);
            if !stale && (!waits || row != step.row) {
                return None;
            }
            let locks = core.load_relaxed(&session.line, &session.locks);
            let rank = (locks, slot_of(step.name), step.name);
            fewest = Some(fewest.map_or(rank, |fewest| rank.min(fewest)));
        }
        fewest.map(|(.., name)| name)
    }

    /// Calls the waiting attempt `victim`. It can have been called already.
    pub fn call(&self, core: &M::Core, sessions: &SharedSessions<M>, victim: u64) {
        let session = sessions.at(slot_of(victim));
        session.call_waiting(core, victim >> LOW_BITS);
    }
}

/// Returns true if the attempt `name` of `session` waits and has not been called.
#[inline(always)]
fn waits<M: Machine>(core: &M::Core, session: &SharedSession<M>, name: u64) -> bool {
    let fate = core.load(&session.line, &session.fate);
    match core.is_planted(faults::DL_DETECT_STALE_EDGES) {
        false => fate == name >> LOW_BITS << ATTEMPT_SHIFT | WAITING,
        true => fate & WAITING != 0,
    }
}

impl<M: Machine> Searcher<M> {
    /// Removes all edges. Called before a wait can begin.
    pub fn clear(&mut self) {
        self.edges.clear();
    }

    /// Adds an edge to the attempt `name`.
    pub fn add(&mut self, name: u64) {
        self.edges.push(name);
    }
}
