//! A queue of the sessions that are near each other, in which permits are granted in the order of requests.

use machine::{Arena, Core, Machine, OutOfMemory, Place, Shared, Word, Zeroed, cold::Arc};

/// Counts of a group.
#[repr(C, align(64))]
struct Counts<M: Machine> {
    line: M::Line,
    /// Number of tickets that sessions have drawn.
    drawn: Word,
    /// Number of tickets granted.
    granted: Word,
}

// SAFETY: `Counts` consists of a line and words, which are valid as zeros.
unsafe impl<M: Machine> Zeroed for Counts<M> {}

/// The end of a group's turn. It is on a line of its own, which changes once a turn.
#[repr(C, align(64))]
struct Turn<M: Machine> {
    line: M::Line,
    /// Ticket with which the turn ends.
    end: Word,
}

// SAFETY: `Turn` consists of a line and a word, and both are valid as zeros.
unsafe impl<M: Machine> Zeroed for Turn<M> {}

/// Number of grants of the tickets that share this slot.
#[repr(C, align(64))]
struct Slot<M: Machine> {
    line: M::Line,
    grants: Word,
}

// SAFETY: `Slot` consists of a line and a word, and both are valid as zeros.
unsafe impl<M: Machine> Zeroed for Slot<M> {}

/// Sessions that queue for permits together.
pub(super) struct Group<M: Machine> {
    counts: Shared<Counts<M>>,
    turn: Shared<Turn<M>>,
    slots: Vec<Shared<Slot<M>>>,
}

impl<M: Machine> Group<M> {
    /// Creates the group of a number of `sessions`, with its memory at `place`.
    pub fn new(arena: &Arc<Arena>, place: Place, sessions: usize) -> Result<Self, OutOfMemory> {
        let slots = (0..sessions).map(|_| arena.place(place));
        let slots = slots.collect::<Result<_, _>>()?;
        Ok(Group { counts: arena.place(place)?, turn: arena.place(place)?, slots })
    }

    /// Grants the first tickets, before a run.
    pub fn open_with(&self, permits: u64) {
        self.counts.granted.poke(permits);
        for ticket in 0..permits {
            let (slot, turn) = self.slot_of(ticket);
            slot.grants.poke(turn);
        }
    }

    /// Draws a ticket. Returns it, and true if it is granted already.
    pub fn draw(&self, core: &M::Core) -> (u64, bool) {
        let Counts { line, drawn, granted } = &*self.counts;
        let ticket = core.fetch_add(line, drawn, 1);
        (ticket, ticket < core.load(line, granted))
    }

    /// Waits until `ticket` is granted.
    pub fn wait_for(&self, core: &M::Core, ticket: u64) {
        let (slot, turn) = self.slot_of(ticket);
        core.wait_while(&slot.line, &slot.grants, |grants| grants < turn);
    }

    /// Returns the slot of a ticket, and which of the slot's grants is the ticket's.
    fn slot_of(&self, ticket: u64) -> (&Slot<M>, u64) {
        let all = self.slots.len() as u64;
        (&self.slots[(ticket % all) as usize], ticket / all + 1)
    }

    /// Grants the next ticket. Returns true if nobody has drawn it, so that the permit can be had.
    pub fn grant(&self, core: &M::Core) -> bool {
        let Counts { line, drawn, granted } = &*self.counts;
        let ticket = core.fetch_add(line, granted, 1);
        let (slot, _) = self.slot_of(ticket);
        core.fetch_add(&slot.line, &slot.grants, 1);
        core.wake(&slot.line, &slot.grants);
        core.load(line, drawn) <= ticket
    }

    /// Draws up to `most` tickets that are granted, so that no session gets them. Returns their number.
    pub fn withdraw(&self, core: &M::Core, most: u64) -> u64 {
        let Counts { line, drawn, granted } = &*self.counts;
        loop {
            let before = core.load(line, drawn);
            // Tickets that are granted stay granted, so a ticket that is drawn here was not missing to anybody.
            let count = core.load(line, granted).saturating_sub(before).min(most);
            if count == 0 || core.cas(line, drawn, before, before + count).is_ok() {
                return count;
            }
        }
    }

    /// Returns true if a session waits for a permit.
    pub fn waits(&self, core: &M::Core) -> bool {
        let Counts { line, drawn, granted } = &*self.counts;
        let granted = core.load(line, granted);
        core.load(line, drawn) > granted
    }

    /// Returns the number of permits that could be had at once, or the number of sessions that wait, as a negative one.
    pub fn balance(&self, core: &M::Core) -> i64 {
        let Counts { line, drawn, granted } = &*self.counts;
        let drawn = core.load_relaxed(line, drawn);
        core.load_relaxed(line, granted).wrapping_sub(drawn).cast_signed()
    }

    /// Begins a turn of as many tickets as there are sessions, and at least `least`, unless a turn has begun and not ended.
    pub fn begin_turn(&self, core: &M::Core, least: u64) {
        let granted = core.load(&self.counts.line, &self.counts.granted);
        if !self.is_in_turn(core, granted) {
            core.store(
                &self.turn.line,
                &self.turn.end,
                granted + least.max(self.slots.len() as u64),
            );
        }
    }

    /// Returns true if `ticket` is before the end of the group's turn.
    pub fn is_in_turn(&self, core: &M::Core, ticket: u64) -> bool {
        ticket < core.load(&self.turn.line, &self.turn.end)
    }

    /// Returns true if the next ticket is before the end of the group's turn, and a session waits for it.
    pub fn goes_on(&self, core: &M::Core) -> bool {
        let Counts { line, drawn, granted } = &*self.counts;
        let granted = core.load(line, granted);
        core.load(line, drawn) > granted && self.is_in_turn(core, granted)
    }
}
