//! Permits to run a transaction, granted in the order of requests within groups of sessions.
//!
//! Sources: Reed and Kanodia, "Synchronization with Eventcounts and Sequencers", CACM 1979 (tickets and counts); Anderson,
//! "The Performance of Spin Lock Alternatives", IEEE TPDS 1990 (each waiter has a line of its own).
//!
//! **Groups.** One queue for all sessions would be a hot spot. So sessions with consecutive numbers, which are on cores
//! near each other, form groups of up to 256. The limit is divided evenly among the groups. The share of a group is its
//! *capacity*, and it is at least 1, so the number of groups is the smallest limit that can be regulated to.
//!
//! **Grants in order.** A session draws a ticket. A group counts the tickets drawn and the tickets granted:
//!
//! ```text
//!   ticket    0 .................................... granted ............... drawn
//!             ended, admitted, or to be had           sessions that wait
//! ```
//!
//! At the begin as many tickets are granted as the capacity says. Who releases a permit grants the next ticket. To raise
//! the capacity is to release permits that nobody had. To lower it is to draw tickets that were to be had, and to make a
//! *debt* of the rest: who releases a permit while there is a debt pays one unit of it instead, and grants nothing. Each
//! grant, each debt and each payment is one step, in any order. So the sum is exact whatever interleaves:
//!
//! ```text
//!   granted = first capacity + releases + raises - payments          admitted + to be had = capacity + debt
//! ```
//!
//! A transaction that aborts while there is a debt *gives way*: it pays, and asks for another permit before its next
//! attempt. A system that has collapsed aborts far more often than it commits, so it has as few transactions as the lower
//! limit allows almost at once. (Measured, with YCSB, theta 0.6, DL_DETECT, 1024 Graphite cores: it took 30 ms and more
//! from 256 permits to 4 while only commits released them.)
//!
//! A payment is a compare-and-swap, so that a debt is never negative. With an addition, two sessions that see the last unit both
//! paid, and one of them took its payment back. Meanwhile the next debt was hidden, and a raise granted a permit instead of paying
//! it: one transaction more than the limit was admitted.
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
//! permit that is granted to a sleeping session is unused until that session runs. There a group has a count of free
//! permits, and the first session that comes takes one, as with latches ([`protocols::mechanisms::queue_latch`]). The
//! count is negative while a lower capacity has not taken effect.

use machine::{Arena, Core, Machine, OutOfMemory, Place, Shared, Word, Zeroed, cold::Arc};
use protocols::faults;

/// Number of sessions that share a group's line, usually and where runs are miniatures.
const SESSIONS_OF_GROUP: usize = 256;
const SESSIONS_OF_MINIATURE: usize = 2;

/// Counts of a group.
#[repr(C, align(64))]
struct Counts<M: Machine> {
    line: M::Line,
    /// Number of tickets that sessions have drawn.
    drawn: Word,
    /// Number of tickets granted.
    granted: Word,
    /// Number of free permits in two's complement. Used instead of the counts above where grants have no order.
    free: Word,
}

// SAFETY: `Counts` consists of a line and words, which are valid as zeros.
unsafe impl<M: Machine> Zeroed for Counts<M> {}

/// Changes of a group's capacity. They are on a line that hardly ever changes.
#[repr(C, align(64))]
struct Changes<M: Machine> {
    line: M::Line,
    /// Number of permits that may be out at the same time. Only who sets the limit uses it.
    capacity: Word,
    /// Number of permits that are out beyond the capacity.
    debt: Word,
}

// SAFETY: `Changes` consists of a line and words, which are valid as zeros.
unsafe impl<M: Machine> Zeroed for Changes<M> {}

/// Number of grants of the tickets that share this slot.
#[repr(C, align(64))]
struct Slot<M: Machine> {
    line: M::Line,
    grants: Word,
}

// SAFETY: `Slot` consists of a line and a word, and both are valid as zeros.
unsafe impl<M: Machine> Zeroed for Slot<M> {}

/// Sessions that share permits.
struct Group<M: Machine> {
    counts: Shared<Counts<M>>,
    changes: Shared<Changes<M>>,
    slots: Vec<Shared<Slot<M>>>,
}

impl<M: Machine> Group<M> {
    fn enter(&self, core: &M::Core) {
        let Counts { line, drawn, granted, free, .. } = &*self.counts;
        if core.overtakes() {
            loop {
                let left = core.wait_to_take(line, free, |free| free.cast_signed() <= 0);
                if core.cas(line, free, left, left - 1).is_ok() {
                    return;
                }
            }
        }
        let ticket = core.fetch_add(line, drawn, 1);
        if ticket < core.load(line, granted) {
            return;
        }
        let (slot, turn) = self.slot_of(ticket);
        core.wait_while(&slot.line, &slot.grants, |grants| grants < turn);
    }

    /// Returns the slot of a ticket, and which of the slot's grants is the ticket's.
    fn slot_of(&self, ticket: u64) -> (&Slot<M>, u64) {
        let all = self.slots.len() as u64;
        (&self.slots[(ticket % all) as usize], ticket / all + 1)
    }

    /// Releases a permit: pays for a lower capacity, or grants the next ticket.
    fn release(&self, core: &M::Core) {
        let Counts { line, granted, free, .. } = &*self.counts;
        if core.overtakes() {
            core.fetch_add(line, free, 1);
            return core.wake(line, free);
        }
        if self.pays(core) {
            return;
        }
        let ticket = core.fetch_add(line, granted, 1);
        let (slot, _) = self.slot_of(ticket);
        core.fetch_add(&slot.line, &slot.grants, 1);
        core.wake(&slot.line, &slot.grants);
    }

    /// Pays one unit of the debt with a permit, if there is a debt.
    fn pays(&self, core: &M::Core) -> bool {
        let Changes { line, debt, .. } = &*self.changes;
        let mut left = core.load(line, debt);
        while left != 0 {
            match core.cas(line, debt, left, left - 1) {
                Ok(_) => return true,
                Err(now) => left = now,
            }
        }
        false
    }

    /// Gives a permit back if more are out than the capacity allows. Returns true if it did.
    fn gives_way(&self, core: &M::Core) -> bool {
        if !core.overtakes() {
            return self.pays(core);
        }
        let Counts { line, free, .. } = &*self.counts;
        if core.load(line, free).cast_signed() >= 0 {
            return false;
        }
        self.release(core);
        true
    }

    /// Sets the capacity. Only one core at a time calls this.
    fn resize(&self, core: &M::Core, to: u64) {
        let Changes { line, capacity, debt } = &*self.changes;
        let from = core.load(line, capacity);
        if from == to {
            return;
        }
        core.store(line, capacity, to);
        (from..to).for_each(|_| self.release(core));
        if to < from {
            match core.overtakes() {
                true => {
                    let Counts { line, free, .. } = &*self.counts;
                    core.fetch_add(line, free, to.wrapping_sub(from))
                }
                false => core.fetch_add(line, debt, from - to - self.withdraw(core, from - to)),
            };
        }
    }

    /// Draws up to `most` tickets that are granted, so that no session gets them. Returns their number.
    fn withdraw(&self, core: &M::Core, most: u64) -> u64 {
        let Counts { line, drawn, granted, .. } = &*self.counts;
        loop {
            let before = core.load(line, drawn);
            // Tickets that are granted stay granted, so a ticket that is drawn here was not missing to anybody.
            let count = core.load(line, granted).saturating_sub(before).min(most);
            if count == 0 || core.cas(line, drawn, before, before + count).is_ok() {
                return count;
            }
        }
    }

    /// Returns the number of permits that are out beyond the capacity.
    fn excess(&self, core: &M::Core) -> u64 {
        if core.overtakes() {
            let Counts { line, free, .. } = &*self.counts;
            return core.load_relaxed(line, free).cast_signed().min(0).unsigned_abs();
        }
        let Changes { line, debt, .. } = &*self.changes;
        core.load_relaxed(line, debt)
    }

    /// Returns the number of permits that could be had at once.
    fn spare(&self, core: &M::Core) -> u64 {
        let Counts { line, drawn, granted, free, .. } = &*self.counts;
        if core.overtakes() {
            return core.load_relaxed(line, free).cast_signed().max(0).cast_unsigned();
        }
        let drawn = core.load_relaxed(line, drawn);
        core.load_relaxed(line, granted).saturating_sub(drawn)
    }
}

/// The limit, on a line that is read by all sessions.
#[repr(C, align(64))]
struct Limit<M: Machine> {
    line: M::Line,
    limit: Word,
    /// Largest limit so far. Read only outside of runs.
    largest: Word,
}

// SAFETY: `Limit` consists of a line and words, which are valid as zeros.
unsafe impl<M: Machine> Zeroed for Limit<M> {}

/// Commit count that one session shows.
#[repr(C, align(64))]
struct Shown<M: Machine> {
    line: M::Line,
    commits: Word,
}

// SAFETY: `Shown` consists of a line and a word, and both are valid as zeros.
unsafe impl<M: Machine> Zeroed for Shown<M> {}

/// The permits of all sessions.
pub struct Permits<M: Machine> {
    limit: Shared<Limit<M>>,
    groups: Vec<Group<M>>,
    shown: Vec<Shared<Shown<M>>>,
}

impl<M: Machine> Permits<M> {
    /// Creates the permits for `sessions` sessions, with a limit that later ones are not to be below. It is at least 1.
    pub fn new(
        arena: &Arc<Arena>,
        sessions: usize,
        least: usize,
    ) -> Result<Permits<M>, OutOfMemory> {
        let sessions = sessions.max(1);
        let of_group = if M::MINIATURE { SESSIONS_OF_MINIATURE } else { SESSIONS_OF_GROUP };
        let groups = sessions.div_ceil(of_group).min(least.max(1));
        let group = |number: usize| -> Result<Group<M>, OutOfMemory> {
            let members = sessions.div_ceil(groups);
            let first = (number * sessions).div_ceil(groups);
            let slots = (0..members).map(|at| arena.place(arena.beside(first + at)));
            let slots = slots.collect::<Result<_, _>>()?;
            let place = arena.beside(first);
            Ok(Group { counts: arena.place(place)?, changes: arena.place(place)?, slots })
        };
        let shown = (0..sessions).map(|session| arena.place(arena.beside(session)));
        let permits = Permits {
            limit: arena.place(Place::Any)?,
            groups: (0..groups).map(group).collect::<Result<_, _>>()?,
            shown: shown.collect::<Result<_, _>>()?,
        };
        permits.open_with(least);
        Ok(permits)
    }

    /// Sets the first limit, before a run.
    fn open_with(&self, limit: usize) {
        let limit = self.allowed(limit);
        for (number, group) in self.groups.iter().enumerate() {
            let share = self.share(number, limit);
            group.changes.capacity.poke(share);
            group.counts.granted.poke(share);
            group.counts.free.poke(share);
            for ticket in 0..share {
                let (slot, turn) = group.slot_of(ticket);
                slot.grants.poke(turn);
            }
        }
        self.limit.limit.poke(limit as u64);
        self.limit.largest.poke(limit as u64);
    }

    /// Returns the number of sessions.
    pub fn sessions(&self) -> usize {
        self.shown.len()
    }

    /// Returns the smallest limit.
    pub fn least(&self) -> usize {
        self.groups.len()
    }

    fn allowed(&self, limit: usize) -> usize {
        limit.clamp(self.least(), self.sessions().max(self.least()))
    }

    /// Returns the share of group `number` in `limit`.
    fn share(&self, number: usize, limit: usize) -> u64 {
        let groups = self.groups.len();
        ((number + 1) * limit / groups - number * limit / groups) as u64
    }

    /// Sets the limit. It is at least [`Permits::least`], and at most the number of sessions. Only one core at a time calls
    /// this.
    pub fn set_limit(&self, core: &M::Core, limit: usize) {
        let limit = self.allowed(limit);
        let at = &*self.limit;
        at.largest.poke(at.largest.peek().max(limit as u64));
        for (number, group) in self.groups.iter().enumerate() {
            group.resize(core, self.share(number, limit));
        }
        core.store(&at.line, &at.limit, limit as u64);
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

    /// Returns the number of permits that are out beyond the limit, because it was lowered.
    pub fn excess(&self, core: &M::Core) -> u64 {
        self.groups.iter().map(|group| group.excess(core)).sum()
    }

    /// Returns the number of permits that could be had at once.
    pub fn spare(&self, core: &M::Core) -> u64 {
        self.groups.iter().map(|group| group.spare(core)).sum()
    }
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
            None => Permit { group: None, core },
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
            return Permit { group: None, core };
        }
        let group = &permits.groups[session * permits.groups.len() / permits.sessions()];
        group.enter(core);
        Permit { group: Some(group), core }
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

/// The permission to run one transaction. It is released when it is dropped.
#[must_use = "the permit is released when it is dropped"]
pub struct Permit<'c, M: Machine> {
    /// Group that granted it, or none if there was no limit.
    group: Option<&'c Group<M>>,
    core: &'c M::Core,
}

impl<M: Machine> Permit<'_, M> {
    /// Returns true if the permit is one of a limited number.
    #[inline(always)]
    pub fn is_limited(&self) -> bool {
        self.group.is_some()
    }

    #[inline(never)]
    fn gives_way(&mut self, permits: &Permits<M>) -> bool {
        let gives = match self.group {
            Some(group) => group.gives_way(self.core),
            // There was no limit when the transaction began.
            None => permits.limits(self.core),
        };
        if gives {
            self.group = None;
        }
        gives
    }
}

impl<M: Machine> Drop for Permit<'_, M> {
    #[inline(always)]
    fn drop(&mut self) {
        if let Some(group) = self.group {
            if self.core.is_planted(faults::PERMITS_BEYOND_THE_LIMIT) {
                group.release(self.core);
            }
            group.release(self.core);
        }
    }
}
