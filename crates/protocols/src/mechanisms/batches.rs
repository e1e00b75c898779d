//! Batches: transactions that run together, decide together, and end together.
//!
//! Source: Lu, Yu, Cao and Madden, "Aria", PVLDB 13(11), 2020 (the two barriers of a batch). Which transactions make a
//! batch is ours.
//!
//! ```text
//!              the last pending member meets                the last member ends
//! batch b open ------------------------------> b closed ----------------------------> b + 1 open
//! members run                                  members decide and install             and so on
//! sessions join                                sessions that begin wait
//! ```
//!
//! - A session [joins](Batches::join) the batch that is open. It is then a member, and *pending*.
//! - A member that has run [meets](Batches::meet) the others: it is not pending any more, and waits until the batch is
//!   closed. A member that gives up before [leaves](Batches::leave).
//! - Once no member is pending, the batch closes. All its members are pending again, until they
//!   [end](Batches::end). Then the next batch is open.
//!
//! So a batch consists of the transactions that began before the last of its members had run. A session without a
//! transaction is in no batch, and holds up nobody. A member that runs for long holds up all others of its batch.
//!
//! **Words.** One word, the *gate*, counts:
//!
//! ```text
//! | number of the batch: 35 bits | closed: 1 | members: 14 | pending members: 14 |
//! ```
//!
//! Every change of the two counts is one atomic addition. Whoever brings the pending ones to zero moves the batch on, by
//! a compare-and-swap from exactly this state. If that fails, another session has joined, and this session will bring
//! the count to zero again. A session can find that the batch has closed when it has added itself. It takes the addition
//! back at once, as any member that leaves.
//!
//! Waiters watch another word, the *turn*, which changes only when a batch closes or opens. It follows the gate, and it
//! never goes back: a session that was delayed between its two changes finds the turn ahead of it.
//!
//! **Memory.** All changes of the gate are read-modify-writes. So a session that joins a batch sees what the members of
//! the batch before have installed, and a member that was met sees what the others did before they met.

use machine::{
    Arena, Category, Core, Machine, OutOfMemory, Place, Shared, Word, Zeroed, cold::Arc,
};

/// Number of bits of a count.
const COUNT_BITS: u32 = 14;
/// The counts of pending members.
const PENDING: u64 = (1 << COUNT_BITS) - 1;
/// Addition of one pending member.
const ONE_PENDING: u64 = 1;
/// Addition of one member.
const ONE_MEMBER: u64 = 1 << COUNT_BITS;
/// Set if the batch is closed.
const CLOSED: u64 = 1 << (2 * COUNT_BITS);
/// Place of the batch's number.
const BATCH_SHIFT: u32 = 2 * COUNT_BITS + 1;

/// Number of bits of a batch's number. Numbers wrap.
pub const BATCH_BITS: u32 = 64 - BATCH_SHIFT;

/// Largest number of sessions.
pub const MOST_SESSIONS: usize = PENDING as usize;

#[repr(C, align(64))]
struct Cell<M: Machine> {
    /// Cache line of the word.
    line: M::Line,
    word: Word,
}

// SAFETY: `Cell` consists of a line and a word, and both are valid as zeros.
unsafe impl<M: Machine> Zeroed for Cell<M> {}

/// The batches of a database.
pub struct Batches<M: Machine> {
    gate: Shared<Cell<M>>,
    turn: Shared<Cell<M>>,
}

/// Returns the number of the batch in a gate.
fn batch_of(gate: u64) -> u64 {
    gate >> BATCH_SHIFT
}

/// Returns the turn that follows a gate: the batch's number, and whether the batch is closed.
fn turn_of(gate: u64) -> u64 {
    batch_of(gate) << 1 | u64::from(gate & CLOSED != 0)
}

/// Returns true if `turn` is before `goal`. Turns wrap with the batch's number, and differ by little.
fn is_before(turn: u64, goal: u64) -> bool {
    let ahead = goal.wrapping_sub(turn) << (63 - BATCH_BITS);
    ahead != 0 && ahead < 1 << 63
}

impl<M: Machine> Batches<M> {
    /// Creates the first batch, which is open. Its number is 1, so zeros belong to no batch.
    pub fn new(arena: &Arc<Arena>, sessions: usize) -> Result<Batches<M>, OutOfMemory> {
        assert!(sessions <= MOST_SESSIONS, "batches of at most {MOST_SESSIONS} sessions");
        let (gate, turn): (Shared<Cell<M>>, Shared<Cell<M>>) =
            (arena.place(Place::Any)?, arena.place(Place::Any)?);
        let first = 1 << BATCH_SHIFT;
        gate.word.poke(first);
        turn.word.poke(turn_of(first));
        Ok(Batches { gate, turn })
    }

    /// Joins the open batch, and waits for it while a batch is closed. Returns its number.
    pub fn join(&self, core: &M::Core) -> u64 {
        let before = core.account(Category::ConcurrencyControl);
        let mut seen = core.load(&self.gate.line, &self.gate.word);
        loop {
            if seen & CLOSED == 0 {
                let addition = ONE_MEMBER + ONE_PENDING;
                seen = core.fetch_add(&self.gate.line, &self.gate.word, addition);
                if seen & CLOSED == 0 {
                    core.account(before);
                    return batch_of(seen);
                }
                self.subtract(core, addition);
            }
            let closed = turn_of(seen);
            let over = |turn| is_before(closed, turn);
            core.wait_while(&self.turn.line, &self.turn.word, |turn| !over(turn));
            seen = core.load(&self.gate.line, &self.gate.word);
        }
    }

    /// Waits until `batch` is closed. The caller is a pending member.
    pub fn meet(&self, core: &M::Core, batch: u64) {
        self.subtract(core, ONE_PENDING);
        let closed = batch << 1 | 1;
        core.wait_while(&self.turn.line, &self.turn.word, |turn| is_before(turn, closed));
    }

    /// Leaves the open batch. The caller is a pending member.
    pub fn leave(&self, core: &M::Core) {
        self.subtract(core, ONE_MEMBER + ONE_PENDING);
    }

    /// Ends the caller's part in the closed batch.
    pub fn end(&self, core: &M::Core) {
        self.subtract(core, ONE_PENDING);
    }

    fn subtract(&self, core: &M::Core, amount: u64) {
        let before = core.fetch_add(&self.gate.line, &self.gate.word, amount.wrapping_neg());
        let now = before.wrapping_sub(amount);
        if now & PENDING == 0 {
            self.move_on(core, now);
        }
    }

    /// Closes the batch or opens the next one, unless the gate has changed since it was `now`, with no member pending.
    fn move_on(&self, core: &M::Core, now: u64) {
        let members = (now >> COUNT_BITS) & PENDING;
        let next = match (now & CLOSED != 0, members) {
            // All members have left. The batch stays open for others.
            (false, 0) => return,
            (false, members) => now | CLOSED | members,
            (true, _) => batch_of(now).wrapping_add(1) << BATCH_SHIFT,
        };
        if core.cas(&self.gate.line, &self.gate.word, now, next).is_err() {
            return;
        }
        let goal = turn_of(next);
        let mut seen = core.load(&self.turn.line, &self.turn.word);
        while is_before(seen, goal) {
            match core.cas(&self.turn.line, &self.turn.word, seen, goal) {
                Ok(_) => return core.wake(&self.turn.line, &self.turn.word),
                Err(other) => seen = other,
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use machine::{Native, NativeOptions};

    #[test]
    fn a_batch_closes_when_its_last_member_has_run() {
        let machine = Native::new(NativeOptions::default()).unwrap();
        let core = machine.core(0);
        let batches = Batches::<Native>::new(machine.arena(), 3).unwrap();
        assert_eq!([batches.join(&core), batches.join(&core)], [1, 1]);
        batches.leave(&core);
        batches.meet(&core, 1);
        assert_eq!(batches.turn.word.peek(), 0b11, "closed, as nobody else is pending");
        batches.end(&core);
        assert_eq!(batches.join(&core), 2);
        batches.leave(&core);
        assert_eq!(batches.join(&core), 2, "nobody has run in it");
    }

    #[test]
    fn turns_wrap() {
        let last = u64::MAX >> (63 - BATCH_BITS);
        assert!(is_before(last, 0) && !is_before(0, last) && !is_before(last, last));
        assert!(is_before(2, 3) && !is_before(3, 2));
        let machine = Native::new(NativeOptions::default()).unwrap();
        let core = machine.core(0);
        let batches = Batches::<Native>::new(machine.arena(), 1).unwrap();
        let end = u64::MAX << BATCH_SHIFT;
        batches.gate.word.poke(end);
        batches.turn.word.poke(turn_of(end));
        for _ in 0..2 {
            let batch = batches.join(&core);
            batches.meet(&core, batch);
            batches.end(&core);
        }
        assert_eq!(batches.join(&core), 1);
    }
}
