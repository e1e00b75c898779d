//! Who waits for whom: a graph with a row for each session, searched for circles without locks.
//!
//! Source: Abyss 4.2. A session that begins to wait writes its edges into its own row and searches from there by
//! reading the rows of others. An edge names a session *and the attempt* that it is about, and a row counts
//! only while its attempt waits, so an edge of an attempt that has ended is never followed.
//!
//! A circle was read piece by piece, so it is looked at again before anybody is made to abort: if every member
//! is still in the very wait whose edges were read, then there was a moment at which all of them
//! waited, and it is a deadlock. Edges stay true while both ends stay in their attempts, because locks
//! are kept to the end. What is found is therefore exact; and a deadlock cannot be missed, because
//! the last of its members to publish its edges finds those of all others in place.
//!
//! For comparison the whole graph can be put under one latch, which every change and every search then takes.

use super::{
    cancellable_queue::{ATTEMPT_SHIFT, Session, Sessions, WAITING},
    queue_latch::{LatchNodes, Latcher},
};
use crate::faults;
use machine::{Arena, Core, Machine, OutOfMemory, Place, Word, Zeroed, cold::Arc};
use std::marker::PhantomData;

/// An edge holds the number of a session below its attempt; a row's word holds the number of edges
/// below the number of the wait.
const LOW_BITS: u32 = 16;
const LOW: u64 = (1 << LOW_BITS) - 1;

const EDGES_PER_LINE: usize = 6;

/// A line's worth of a row.
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

/// The name of an attempt: what edges say.
#[inline(always)]
pub fn attempt_name(slot: usize, attempt: u64) -> u64 {
    attempt << LOW_BITS | slot as u64
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
    central: Option<(u64, LatchNodes)>,
    machine: PhantomData<fn() -> M>,
}

/// What a session keeps for its own row and its own searches.
pub struct Searcher<M: Machine> {
    slot: usize,
    wait: u64,
    edges: Vec<u64>,
    latcher: Option<Latcher<M>>,
    /// By session: the last pass that came by.
    seen: Vec<u64>,
    pass: u64,
    path: Vec<Step>,
}

/// A session on the path from the searching one.
#[derive(Clone, Copy)]
struct Step {
    name: u64,
    /// Its row's word when the row was read.
    row: u64,
    next: u64,
}

/// What a search has come to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Found {
    /// The session is in no circle. Whoever closes one later will find it.
    Nothing,
    /// A circle was seen that others were leaving at the same time: to be searched again.
    Unsettled,
    /// There is a deadlock, and this attempt must end: of its members the one with the fewest locks.
    Victim(u64),
}

impl<M: Machine> WaitsFor<M> {
    /// A graph for `sessions` sessions; `central` puts it under one latch.
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

    /// What session `slot` keeps.
    pub fn searcher(&self, slot: usize) -> Searcher<M> {
        Searcher {
            slot,
            wait: 0,
            edges: Vec::new(),
            latcher: self.central.as_ref().map(|(_, nodes)| nodes.latcher(slot)),
            seen: vec![0; self.sessions],
            pass: 0,
            path: Vec::new(),
        }
    }

    #[inline(always)]
    fn edge(&self, slot: usize, at: u64) -> (&M::Line, &Word) {
        let (line, at) = (at / EDGES_PER_LINE as u64, at as usize % EDGES_PER_LINE);
        assert!(slot < self.sessions && line < self.lines_per_row, "beyond the graph");
        let line = slot as u64 * self.lines_per_row + line;
        // SAFETY: `new` has allocated the lines of every row.
        let edges =
            unsafe { self.arena.at::<Edges<M>>(self.first + line * size_of::<Edges<M>>() as u64) };
        (&edges.line, &edges.edges[at])
    }

    /// Takes the latch of a central graph.
    fn enter(&self, core: &M::Core, searcher: &Searcher<M>) {
        if let (Some((latch, _)), Some(latcher)) = (&self.central, &searcher.latcher) {
            // SAFETY: `new` has placed it there.
            let latch = unsafe { self.arena.at::<CentralLatch<M>>(*latch) };
            latcher.latch(core, &latch.line, &latch.tail);
        }
    }

    /// Gives it back.
    fn leave(&self, core: &M::Core, searcher: &Searcher<M>) {
        if let (Some((latch, _)), Some(latcher)) = (&self.central, &searcher.latcher) {
            // SAFETY: `new` has placed it there.
            let latch = unsafe { self.arena.at::<CentralLatch<M>>(*latch) };
            latcher.unlatch(core, &latch.line, &latch.tail);
        }
    }

    /// Publishes the edges that `searcher` has gathered, before its session is marked as waiting.
    /// `locks` is what it would lose.
    pub fn publish(
        &self,
        core: &M::Core,
        sessions: &Sessions<M>,
        searcher: &mut Searcher<M>,
        locks: u64,
    ) {
        self.enter(core, searcher);
        for (at, &name) in searcher.edges.iter().enumerate() {
            let (line, edge) = self.edge(searcher.slot, at as u64);
            // A store that releases: who reads it, knows too that the wait before is over.
            core.store(line, edge, name);
        }
        searcher.wait += 1;
        let session = sessions.at(searcher.slot);
        let row = searcher.wait << LOW_BITS | searcher.edges.len() as u64;
        core.store_relaxed(&session.line, &session.locks, locks);
        core.store(&session.line, &session.published, row);
        self.leave(core, searcher);
    }

    /// The wait is over. A row of its own is void by then; a central graph has to be told.
    pub fn withdraw(&self, core: &M::Core, sessions: &Sessions<M>, searcher: &Searcher<M>) {
        if self.central.is_some() {
            self.enter(core, searcher);
            let session = sessions.at(searcher.slot);
            core.store(&session.line, &session.published, 0);
            self.leave(core, searcher);
        }
    }

    /// Searches for a circle through the attempt `own` of the searching session, which waits.
    pub fn search(
        &self,
        core: &M::Core,
        sessions: &Sessions<M>,
        searcher: &mut Searcher<M>,
        own: u64,
    ) -> Found {
        // The own edges are in place before those of others are read.
        core.fence();
        self.enter(core, searcher);
        let found = self.walk(core, sessions, searcher, own);
        self.leave(core, searcher);
        found
    }

    fn walk(
        &self,
        core: &M::Core,
        sessions: &Sessions<M>,
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
                // Only now: an edge to an ended attempt must not hide one to its session's next.
                seen[slot_of(to)] = *pass;
                path.push(step);
            }
        }
        Found::Nothing
    }

    /// A step to the attempt `name`, if that waits.
    fn step_to(&self, core: &M::Core, sessions: &Sessions<M>, name: u64) -> Option<Step> {
        let session = sessions.at(slot_of(name));
        let row = core.load(&session.line, &session.published);
        waits(core, session, name).then_some(Step { name, row, next: 0 })
    }

    /// Who of a circle has to go; none if somebody has left it.
    fn victim(&self, core: &M::Core, sessions: &Sessions<M>, circle: &[Step]) -> Option<u64> {
        let stale = core.is_planted(faults::DL_DETECT_STALE_EDGES);
        let mut fewest = None;
        for step in circle {
            let session = sessions.at(slot_of(step.name));
            // In this order: whoever waits again has published a new row before.
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

    /// Calls the waiting attempt `victim`; it may have been called already.
    pub fn call(&self, core: &M::Core, sessions: &Sessions<M>, victim: u64) {
        let session = sessions.at(slot_of(victim));
        session.call_waiting(core, victim >> LOW_BITS);
    }
}

/// Whether the attempt `name` of `session` waits and has not been called away from it.
#[inline(always)]
fn waits<M: Machine>(core: &M::Core, session: &Session<M>, name: u64) -> bool {
    let fate = core.load(&session.line, &session.fate);
    match core.is_planted(faults::DL_DETECT_STALE_EDGES) {
        false => fate == name >> LOW_BITS << ATTEMPT_SHIFT | WAITING,
        true => fate & WAITING != 0,
    }
}

impl<M: Machine> Searcher<M> {
    /// A wait may begin: no edges yet.
    pub fn clear(&mut self) {
        self.edges.clear();
    }

    /// The wait is for the attempt `name`.
    pub fn add(&mut self, name: u64) {
        self.edges.push(name);
    }
}
