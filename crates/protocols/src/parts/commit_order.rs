//! The order of a log: consecutive numbers for the transactions that write, drawn between prepare and commit.
//!
//! *Claim.* Whatever the protocol: if one transaction overwrites, or reads, what another has written, it has the greater
//! number. So whoever replays after-images in the order of numbers leaves in each record what was installed there last,
//! finds every before-image in place when its turn comes, and has after each number a state in which nobody is
//! missing whose writes were read or overwritten by somebody who is there: a log may be cut behind any number.
//!
//! *Why.* A transaction is *running*, then *prepared*, then *numbered*, then *installed*; it does not go back once it is
//! prepared and all its sites have confirmed. From prepared to installed each record that it writes is its own:
//!
//! - locks (two-phase locking, HSTORE's partitions, the optimistic protocols' words) are held until then;
//! - an announcement, of which a record has one at most (timestamp ordering, multi-version protocols), stays until then;
//! - who sees writes before they are installed (BAMBOO) or decided (HEKATON) is not prepared before their writer has
//!   installed them or has committed, which it does after it was numbered.
//!
//! So whoever reads or overwrites what a transaction has installed is prepared after that was numbered, and is numbered
//! after it was prepared. The numbers come from one word by atomic additions, and follow the order in which they are
//! drawn. Commit timestamps would not do: locking protocols have none, and under optimistic ones a reader may have that of the writer.
//! Without isolation (NO_CC) no record is anybody's own, and there is no order.

use machine::{Arena, Core, Machine, OutOfMemory, Place, Shared, Word, Zeroed, cold::Arc};

#[repr(C, align(64))]
struct Counter<M: Machine> {
    line: M::Line,
    last: Word,
}

// SAFETY: a line and a word, both valid as zeros.
unsafe impl<M: Machine> Zeroed for Counter<M> {}

/// Where the numbers come from.
pub struct CommitOrder<M: Machine> {
    counter: Shared<Counter<M>>,
}

impl<M: Machine> CommitOrder<M> {
    /// Numbers from `last` + 1 on.
    pub fn after(arena: &Arc<Arena>, last: u64) -> Result<Self, OutOfMemory> {
        let counter: Shared<Counter<M>> = arena.place(Place::Any)?;
        counter.last.poke(last);
        Ok(CommitOrder { counter })
    }

    /// Draws the number of a transaction that is prepared at all its sites, and has installed nothing yet.
    pub fn draw(&self, core: &M::Core) -> u64 {
        core.fetch_add(&self.counter.line, &self.counter.last, 1) + 1
    }

    /// The last number drawn: of everything that a prepared transaction has read, none has a greater one.
    pub fn last(&self, core: &M::Core) -> u64 {
        core.load(&self.counter.line, &self.counter.last)
    }
}
