//! Permits to run a transaction, granted in the order of requests within groups of sessions, which take turns.
//!
//! Sources: Reed and Kanodia, "Synchronization with Eventcounts and Sequencers", CACM 1979 (tickets and counts); Anderson,
//! "The Performance of Spin Lock Alternatives", IEEE TPDS 1990 (each waiter has a line of its own); Dice, Marathe and Shavit,
//! "Lock Cohorting", PPoPP 2012 (a latch stays on a socket for a while).
//!
//! **Groups.** One queue for all sessions would be a hot spot. So sessions form groups: those of each socket, or up to 128
//! consecutive ones where there are no sockets.
//!
//! **Grants in order.** A session draws a ticket of its group. A group counts the tickets drawn and the tickets granted:
//!
//! ```text
//!   ticket    0 .................................... granted ............... drawn
//!             ended, admitted, or to be had           sessions that wait
//! ```
//!
//! At the begin as many tickets are granted as the limit says. A session that releases a permit grants a ticket, which need
//! not be one of its own group. To raise the limit is to release permits that nobody had. To lower it is to draw tickets that
//! were to be had, and to make a *debt* of the rest. While there is a debt, a session that releases a permit pays one unit of
//! the debt instead, and grants nothing. Each grant, each debt and each payment is one step, in any order. So the sum over all
//! groups is exact whatever interleaves:
//!
//! ```text
//!   granted = first limit + releases + raises - payments          admitted + to be had = limit + debt
//! ```
//!
//! **Groups take turns.** If few transactions may run, they should run near each other: what they contend for then stays in
//! one socket's cache for a while. So permits stay in a group for a *turn*. It has one ticket for each of its sessions,
//! and at least two for each permit, because a permit that changes groups costs its session a look at several groups.
//! A session that releases a permit looks at the permit's ticket. If the ticket is before the end of the turn, the session
//! grants a ticket of its own group. Otherwise it passes the permit on to the group whose turn began last. If that turn does
//! not go on, the next group in which sessions wait begins a turn, and gets the permit. So permits that have left a group meet
//! again. If there are more permits than one group can use, several turns go on at the same time. Groups begin their turns in
//! the order of a ring, none in which a session waits is left out, and turns end. So each session is served.
//! (Measured: YCSB, theta 0.8, 16 permits, 896 threads on 16 sockets of the Superdome Flex. DL_DETECT commits 448 thousand
//! transactions a second, and 316 thousand if each of four groups of 224 threads always has four permits. MVCC 487 and 402,
//! SILO 869 and 808, NO_WAIT 522 and 497. With turns four times as long they commit 6 to 16 % more, but then most
//! transactions wait for 0.1 ms and some for 7 ms, instead of all for 2 ms.)
//!
//! **A permit that can be had is not left where nobody wants it.** A session that finds no permit in its group could wait
//! while another group has one to spare. So a session that leaves a spare permit *settles*: it moves spare permits to groups
//! in which sessions wait, and sets the word `idle` if one is left. A session that has drawn a ticket and must wait settles,
//! too, if `idle` is set. A session that leaves a spare permit while `idle` is set does nothing. No session is forgotten, because
//! of the order of steps (a fence is between the two steps of each point):
//!
//! 1. A session that settles clears `idle` first, and then looks for spare permits. So it finds all that were left before,
//!    and sets `idle` again if one stays.
//! 2. After it has set `idle`, it looks whether a session waits, and begins again if so.
//! 3. A session that must wait draws its ticket first, and then looks at `idle`. If `idle` is clear while a permit is spare,
//!    another session is between points 1 and 2, and will see the ticket.
//! 4. A session that leaves a spare permit grants it first, and then looks at `idle`. If `idle` is set, the session that clears it
//!    will look for spare permits later, and find this one.
//! 5. One session settles at a time. Another one that wants to settle has granted its permit or drawn its ticket before, and
//!    asks the first to begin again. In one step the first says that it has ended, or finds that it was asked.
//!
//! (Points 4 and 5 are for speed, as is that `idle` is not beside the limit, which all sessions read. SmallBank with 100 hot
//! accounts, NO_WAIT, 512 permits, 1024 Graphite cores: 5.2 million transactions a second, and 0.6 million without the three,
//! because nearly all sessions settled nearly all the time.)
//!
//! A transaction that aborts while there is a debt *gives way*: it pays, and asks for another permit before its next
//! attempt. A system that has collapsed aborts far more often than it commits, so it has as few transactions as the lower
//! limit allows almost at once. (Measured, with YCSB, theta 0.6, DL_DETECT, 1024 Graphite cores: it took 30 ms and more
//! from 256 permits to 4 while only commits released them.)
//!
//! How a debt is paid by many sessions at the same time is described in `permits/debt.rs`.
//!
//! A waiter waits on a line of its own (a slot). Tickets that are far apart share a slot, and a slot counts its
//! grants. The waiter with the k-th ticket of a slot waits for the k-th grant. So it does not matter in which order
//! two slow sessions report their grants. A grant repeats no step: with compare-and-swap, many sessions that release at the same time
//! would try each other's grants, and fetch the group's line as often as there are pairs of them. (This was measured: the
//! sessions of 256 permits spent nearly all their time in it.)
//!
//! **Why an MCS latch for each permit is not enough.** With such a queue for each permit, a change of the limit would
//! leave the waiters in the old queues, and those would be served beside the new ones: for as long as a queue is, twice as
//! many transactions run as were asked for.
//!
//! **Grants without order.** If a running session can overtake one that does not run ([`machine::Core::overtakes`]), a
//! permit that is granted to a sleeping session is unused until that session runs. There all sessions share a count of free
//! permits, and the first session that comes takes one, as with latches ([`protocols::mechanisms::queue_latch`]). The
//! count is negative while a lower limit has not taken effect.

mod debt;
mod group;

use debt::Debt;
use group::Group;
use machine::{Arena, Core, Machine, OutOfMemory, Place, Shared, Word, Zeroed, cold::Arc};
use protocols::faults;
use std::collections::BTreeMap;

/// Number of sessions of a group where there are no sockets, usually and where runs are miniatures.
const SESSIONS_OF_GROUP: usize = 128;
const SESSIONS_OF_MINIATURE: usize = 2;

/// Least number of tickets of a turn for each permit.
const USES_IN_A_TURN: u64 = 2;

/// The limit, and the debt. All sessions read this line for each transaction, and it changes only with the limit.
#[repr(C, align(64))]
struct Limit<M: Machine> {
    line: M::Line,
    limit: Word,
    /// Number of permits that are out beyond the limit.
    debt: Debt,
    /// Largest limit so far. Read only outside of runs.
    largest: Word,
}

// SAFETY: `Limit` consists of a line, words and a debt, which are valid as zeros.
unsafe impl<M: Machine> Zeroed for Limit<M> {}

/// The ring of turns. It changes once a turn.
#[repr(C, align(64))]
struct Ring<M: Machine> {
    line: M::Line,
    /// Number of the group whose turn began last.
    latest: Word,
}

// SAFETY: `Ring` consists of a line and a word, and both are valid as zeros.
unsafe impl<M: Machine> Zeroed for Ring<M> {}

/// The words in which sessions tell each other of spare permits.
#[repr(C, align(64))]
struct Spares<M: Machine> {
    line: M::Line,
    /// 1 if a group may have a permit to spare.
    idle: Word,
    /// State of the session that settles: [`NOBODY`], [`SETTLES`] or [`AGAIN`].
    settler: Word,
}

// SAFETY: `Spares` consists of a line and words, which are valid as zeros.
unsafe impl<M: Machine> Zeroed for Spares<M> {}

/// No session settles.
const NOBODY: u64 = 0;
/// A session settles.
const SETTLES: u64 = 1;
/// A session settles, and another one has asked it to begin again.
const AGAIN: u64 = 2;

/// Number of free permits in two's complement. Used instead of groups where grants have no order.
#[repr(C, align(64))]
struct Free<M: Machine> {
    line: M::Line,
    count: Word,
}

// SAFETY: `Free` consists of a line and a word, and both are valid as zeros.
unsafe impl<M: Machine> Zeroed for Free<M> {}

/// The words that one session shows to the regulator.
#[repr(C, align(64))]
struct Shown<M: Machine> {
    line: M::Line,
    /// Number of its commits.
    commits: Word,
    /// 1 while it has a permit, and 0 otherwise.
    holds: Word,
}

// SAFETY: `Shown` consists of a line and words, which are valid as zeros.
unsafe impl<M: Machine> Zeroed for Shown<M> {}

/// The permits of all sessions.
pub struct Permits<M: Machine> {
    limit: Shared<Limit<M>>,
    ring: Shared<Ring<M>>,
    spares: Shared<Spares<M>>,
    free: Shared<Free<M>>,
    groups: Vec<Group<M>>,
    /// Number of the group of each session.
    group_of: Vec<u16>,
    shown: Vec<Shared<Shown<M>>>,
}

impl<M: Machine> Permits<M> {
    /// Creates the permits for `sessions` sessions, with a first limit. It is at least 1.
    pub fn new(
        arena: &Arc<Arena>,
        sessions: usize,
        limit: usize,
    ) -> Result<Permits<M>, OutOfMemory> {
        let group_of = groups_of(arena, sessions.max(1), M::MINIATURE);
        let groups = usize::from(group_of.iter().max().map_or(0, |last| *last)) + 1;
        let group = |number: usize| {
            let members = || (0..group_of.len()).filter(|s| usize::from(group_of[*s]) == number);
            let place = members().next().map_or(Place::Any, |first| arena.beside(first));
            Group::new(arena, place, members().count())
        };
        let shown = (0..group_of.len()).map(|session| arena.place(arena.beside(session)));
        let permits = Permits {
            limit: arena.place(Place::Any)?,
            ring: arena.place(Place::Any)?,
            spares: arena.place(Place::Any)?,
            free: arena.place(Place::Any)?,
            groups: (0..groups).map(group).collect::<Result<_, _>>()?,
            shown: shown.collect::<Result<_, _>>()?,
            group_of,
        };
        let limit = permits.allowed(limit) as u64;
        permits.groups[0].open_with(limit);
        permits.free.count.poke(limit);
        permits.limit.limit.poke(limit);
        permits.limit.largest.poke(limit);
        // The first permits can be had by all groups.
        permits.spares.idle.poke(1);
        Ok(permits)
    }

    /// Returns the number of sessions.
    pub fn sessions(&self) -> usize {
        self.shown.len()
    }

    fn allowed(&self, limit: usize) -> usize {
        limit.clamp(1, self.sessions())
    }

    /// Sets the limit. It is at least 1, and at most the number of sessions. Only one core at a time calls this.
    pub fn set_limit(&self, core: &M::Core, limit: usize) {
        let to = self.allowed(limit) as u64;
        let Limit { line, limit, largest, debt, .. } = &*self.limit;
        largest.poke(largest.peek().max(to));
        let from = core.load(line, limit);
        if from == to {
            return;
        }
        if to > from {
            (from..to).for_each(|_| self.release_anywhere(core));
        } else if core.overtakes() {
            core.fetch_add(&self.free.line, &self.free.count, to.wrapping_sub(from));
        } else {
            let spare = self
                .groups
                .iter()
                .fold(0, |spare, group| spare + group.withdraw(core, from - to - spare));
            debt.rise(core, line, from - to - spare);
        }
        core.store(line, limit, to);
    }

    /// Returns the limit in force. To be called outside of runs, or for a report.
    pub fn limit(&self) -> usize {
        self.limit.limit.peek() as usize
    }

    /// Returns the largest limit that was in force.
    pub fn largest_limit(&self) -> usize {
        self.limit.largest.peek() as usize
    }

    /// Returns true if the limit in force is below the number of sessions.
    fn limits(&self, core: &M::Core) -> bool {
        let at = &*self.limit;
        core.load_relaxed(&at.line, &at.limit) < self.sessions() as u64
    }

    /// Returns the number of commits that sessions have shown.
    pub fn commits(&self, core: &M::Core) -> u64 {
        self.shown.iter().map(|shown| core.load_relaxed(&shown.line, &shown.commits)).sum()
    }

    /// Returns the number of sessions that have a permit. It is less than the number of permits that are out, because a
    /// permit that was granted is on its way for a while.
    pub fn held(&self, core: &M::Core) -> u64 {
        self.shown.iter().map(|shown| core.load_relaxed(&shown.line, &shown.holds)).sum()
    }

    /// Returns the number of permits that are out beyond the limit, because it was lowered.
    pub fn excess(&self, core: &M::Core) -> u64 {
        if core.overtakes() {
            return self.free(core).min(0).unsigned_abs();
        }
        self.limit.debt.left(core, &self.limit.line)
    }

    /// Returns the number of permits that nobody wants. A permit on its way to a group in which sessions wait is not one
    /// of them, although it can be had for a moment.
    pub fn spare(&self, core: &M::Core) -> u64 {
        let balance = match core.overtakes() {
            true => self.free(core),
            false => self.groups.iter().map(|group| group.balance(core)).sum(),
        };
        balance.max(0).unsigned_abs()
    }

    fn free(&self, core: &M::Core) -> i64 {
        core.load_relaxed(&self.free.line, &self.free.count).cast_signed()
    }

    /// Waits for a permit. Returns the ticket with which the session of `group` got it.
    fn enter(&self, core: &M::Core, group: usize) -> u64 {
        if core.overtakes() {
            let Free { line, count } = &*self.free;
            loop {
                let left = core.wait_to_take(line, count, |free| free.cast_signed() <= 0);
                if core.cas(line, count, left, left - 1).is_ok() {
                    return 0;
                }
            }
        }
        let (ticket, granted) = self.groups[group].draw(core);
        if granted {
            return ticket;
        }
        core.fence();
        if core.load(&self.spares.line, &self.spares.idle) != 0 {
            self.settle(core);
        }
        self.groups[group].wait_for(core, ticket);
        ticket
    }

    /// Releases the permit that a session of `group` got with `ticket`.
    fn release(&self, core: &M::Core, group: usize, ticket: u64) {
        let stays = || self.groups.len() == 1 || self.groups[group].is_in_turn(core, ticket);
        if core.overtakes() {
            self.release_anywhere(core);
        } else if !self.pays(core) {
            self.grant(core, if stays() { group } else { self.heir(core) });
        }
    }

    /// Releases a permit that belongs to no group.
    fn release_anywhere(&self, core: &M::Core) {
        if core.overtakes() {
            let Free { line, count } = &*self.free;
            core.fetch_add(line, count, 1);
            core.wake(line, count);
        } else if !self.pays(core) {
            self.grant(core, self.heir(core));
        }
    }

    /// Pays one unit of the debt with a permit, if there is a debt.
    fn pays(&self, core: &M::Core) -> bool {
        self.limit.debt.pays(core, &self.limit.line)
    }

    /// Returns the group that gets a permit that leaves its group. Begins the turn of this group, if it does not go on.
    fn heir(&self, core: &M::Core) -> usize {
        let Ring { line, latest } = &*self.ring;
        let last = core.load(line, latest) as usize;
        if self.groups.len() == 1 || self.groups[last].goes_on(core) {
            return last;
        }
        let Some(next) = self.waiting_after(core, last) else { return last };
        let limit = core.load_relaxed(&self.limit.line, &self.limit.limit);
        self.groups[next].begin_turn(core, USES_IN_A_TURN * limit);
        if next != last {
            core.store(line, latest, next as u64);
        }
        next
    }

    /// Returns the first group after `last` in which a session waits. Groups are in a ring, so `last` itself comes last.
    fn waiting_after(&self, core: &M::Core, last: usize) -> Option<usize> {
        let all = self.groups.len();
        (1..=all).map(|step| (last + step) % all).find(|group| self.groups[*group].waits(core))
    }

    /// Grants the next ticket of a group.
    fn grant(&self, core: &M::Core, group: usize) {
        let is_spare = self.groups[group].grant(core);
        if !is_spare || self.groups.len() == 1 || core.is_planted(faults::SPARE_PERMIT_STAYS) {
            return;
        }
        core.fence();
        if core.load(&self.spares.line, &self.spares.idle) == 0 {
            self.settle(core);
        }
    }

    /// Moves spare permits. If another session does so already, asks that session to begin again when it has ended.
    #[cold]
    fn settle(&self, core: &M::Core) {
        let Spares { line, settler, .. } = &*self.spares;
        let mut seen = core.load(line, settler);
        while seen != AGAIN {
            let asked = if seen == NOBODY { SETTLES } else { AGAIN };
            match core.cas(line, settler, seen, asked) {
                Ok(NOBODY) => return self.settle_alone(core),
                Ok(_) => return,
                Err(now) => seen = now,
            }
        }
    }

    /// Settles until no session asks for it any more.
    fn settle_alone(&self, core: &M::Core) {
        let Spares { line, settler, .. } = &*self.spares;
        loop {
            self.move_spares(core);
            if core.is_planted(faults::SETTLER_FORGETS) {
                return core.store(line, settler, NOBODY);
            }
            if core.cas(line, settler, SETTLES, NOBODY).is_ok() {
                return;
            }
            core.store(line, settler, SETTLES);
            core.fence();
        }
    }

    /// Moves permits that can be had to groups in which sessions wait, until there are none of the former or of the latter.
    fn move_spares(&self, core: &M::Core) {
        let Spares { line, idle, .. } = &*self.spares;
        loop {
            core.store(line, idle, 0);
            core.fence();
            let mut is_one_left = false;
            for (number, group) in self.groups.iter().enumerate() {
                while group.balance(core) > 0
                    && let Some(to) = self.waiting_after(core, number)
                {
                    let moves = core.is_planted(faults::SPARE_PERMIT_DOUBLED)
                        || group.withdraw(core, 1) == 1;
                    // The session that waited there can have got another permit meanwhile. Then this one is spare again.
                    is_one_left |= moves && self.groups[to].grant(core);
                }
                is_one_left |= group.balance(core) > 0;
            }
            if !is_one_left {
                return;
            }
            core.store(line, idle, 1);
            core.fence();
            if self.waiting_after(core, 0).is_none() {
                return;
            }
        }
    }

    /// Gives a permit back if more are out than the limit allows. Returns true if it did.
    fn gives_way(&self, core: &M::Core) -> bool {
        if !core.overtakes() {
            return self.pays(core);
        }
        if self.free(core) >= 0 {
            return false;
        }
        self.release_anywhere(core);
        true
    }
}

/// Returns the number of each session's group.
fn groups_of(arena: &Arena, sessions: usize, miniature: bool) -> Vec<u16> {
    let size = if miniature { SESSIONS_OF_MINIATURE } else { SESSIONS_OF_GROUP };
    let groups = sessions.div_ceil(size);
    let mut numbers = BTreeMap::new();
    let group = |session: usize| match arena.socket_of(session) {
        Some(socket) => {
            let next = numbers.len() as u16;
            *numbers.entry(socket).or_insert(next)
        }
        None => (session * groups / sessions) as u16,
    };
    (0..sessions).map(group).collect()
}

/// One session's means to get permits. It has at most one at a time.
pub struct Applicant<'a, M: Machine> {
    permits: Option<&'a Permits<M>>,
    session: usize,
    commits: u64,
}

impl<'a, M: Machine> Applicant<'a, M> {
    /// Creates an applicant of a run without a limit.
    pub fn unlimited() -> Applicant<'a, M> {
        Applicant { permits: None, session: 0, commits: 0 }
    }

    /// Creates the applicant of session number `session`, if there are permits.
    pub fn of(permits: Option<&'a Permits<M>>, session: usize) -> Applicant<'a, M> {
        Applicant { permits, session, commits: 0 }
    }

    /// Waits for a permit to run a transaction, if there is a limit. The session must hold no permit, and nothing that
    /// another transaction can wait for.
    #[inline(always)]
    pub fn enter<'c>(&self, core: &'c M::Core) -> Permit<'c, M>
    where
        'a: 'c,
    {
        match self.permits {
            None => Permit { of: None, core },
            Some(permits) => Self::enter_limited(permits, self.session, core),
        }
    }

    #[inline(never)]
    fn enter_limited<'c>(
        permits: &'c Permits<M>,
        session: usize,
        core: &'c M::Core,
    ) -> Permit<'c, M> {
        if !permits.limits(core) {
            return Permit { of: None, core };
        }
        let ticket = permits.enter(core, usize::from(permits.group_of[session]));
        let granted = Granted { permits, session, ticket };
        granted.show(core, true);
        Permit { of: Some(granted), core }
    }

    /// Gives `permit` back after an abort, if more transactions run than the limit allows. Returns true if it did. Then the
    /// transaction must [`enter`](Applicant::enter) again before its next attempt.
    #[inline(always)]
    pub fn gives_way(&self, permit: &mut Permit<'_, M>) -> bool {
        self.permits.is_some_and(|permits| permit.gives_way(permits))
    }

    /// Shows that the session has committed one more transaction.
    #[inline(always)]
    pub fn committed(&mut self, core: &M::Core) {
        if let Some(permits) = self.permits {
            self.commits += 1;
            let shown = &permits.shown[self.session];
            // A count that becomes visible late counts in the next interval.
            core.store_relaxed(&shown.line, &shown.commits, self.commits);
        }
    }
}

/// Where a permit comes from.
struct Granted<'c, M: Machine> {
    permits: &'c Permits<M>,
    session: usize,
    ticket: u64,
}

impl<M: Machine> Granted<'_, M> {
    /// Shows whether the session has this permit.
    fn show(&self, core: &M::Core, holds: bool) {
        let shown = &self.permits.shown[self.session];
        core.store_relaxed(&shown.line, &shown.holds, u64::from(holds));
    }

    fn release(&self, core: &M::Core) {
        self.permits.release(core, usize::from(self.permits.group_of[self.session]), self.ticket);
    }
}

/// The permission to run one transaction. It is released when it is dropped.
#[must_use = "the permit is released when it is dropped"]
pub struct Permit<'c, M: Machine> {
    /// Where it comes from, or none if there was no limit.
    of: Option<Granted<'c, M>>,
    core: &'c M::Core,
}

impl<M: Machine> Permit<'_, M> {
    /// Returns true if the permit is one of a limited number.
    #[inline(always)]
    pub fn is_limited(&self) -> bool {
        self.of.is_some()
    }

    #[inline(never)]
    fn gives_way(&mut self, permits: &Permits<M>) -> bool {
        let gives = match &self.of {
            Some(granted) => granted.permits.gives_way(self.core),
            // There was no limit when the transaction began.
            None => permits.limits(self.core),
        };
        if gives && let Some(granted) = self.of.take() {
            granted.show(self.core, false);
        }
        gives
    }
}

impl<M: Machine> Drop for Permit<'_, M> {
    #[inline(always)]
    fn drop(&mut self) {
        if let Some(granted) = self.of.take() {
            granted.show(self.core, false);
            if self.core.is_planted(faults::PERMITS_BEYOND_THE_LIMIT) {
                granted.release(self.core);
            }
            granted.release(self.core);
        }
    }
}
