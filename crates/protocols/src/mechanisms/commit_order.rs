//! The commit order of a log: consecutive numbers for the transactions that write. A transaction draws its number
//! between prepare and commit.
//!
//! **Claim.** Under every protocol with isolation: if one transaction overwrites or reads what another has written, it
//! has the greater number. A replay of after-images in the order of the numbers therefore has three properties:
//!
//! - Each record ends with the image that was installed there last.
//! - Every before-image is in place when its turn comes.
//! - The state after each number is complete: if a transaction is in it, so is every transaction whose writes it has
//!   read or overwritten. So a log can be cut behind any number.
//!
//! **Why.** A transaction passes through four states:
//!
//! ```text
//! running -> prepared -> numbered -> installed
//! ```
//!
//! It does not go back once it is prepared and all its sites have confirmed. From *prepared* to *installed* each record
//! that it writes belongs to it alone:
//!
//! - Locks are held until then (two-phase locking, HSTORE's partitions, the optimistic protocols' words).
//! - An announced write, of which a record has at most one, stays until then (timestamp ordering, multi-version
//!   protocols).
//! - A transaction that sees writes before they are installed (BAMBOO) or decided (HEKATON) is not prepared before
//!   their writer has installed them or has committed. The writer does so after it was numbered.
//!
//! So a transaction that reads or overwrites what another has installed is prepared after the other was numbered. It is
//! numbered after it is prepared. The numbers come from one word by atomic additions, so they follow the order in which
//! they are drawn.
//!
//! Commit timestamps would not serve: locking protocols have none, and under optimistic protocols a reader can have the
//! timestamp of the writer. Without isolation (NO_CC) no record belongs to one transaction alone, and there is no
//! order.

use machine::{Arena, Core, Machine, OutOfMemory, Place, Shared, Word, Zeroed, cold::Arc};

#[repr(C, align(64))]
struct Counter<M: Machine> {
    /// Cache line of the word.
    line: M::Line,
    /// The last number drawn. Only grows.
    last: Word,
}

// SAFETY: `Counter` consists of a line and a word, and both are valid as zeros.
unsafe impl<M: Machine> Zeroed for Counter<M> {}

/// Source of the numbers.
pub struct CommitOrder<M: Machine> {
    /// The counter, which all sessions share.
    counter: Shared<Counter<M>>,
}

impl<M: Machine> CommitOrder<M> {
    /// Creates a source whose first number is `last` + 1.
    pub fn after(arena: &Arc<Arena>, last: u64) -> Result<Self, OutOfMemory> {
        let counter: Shared<Counter<M>> = arena.place(Place::Any)?;
        counter.last.poke(last);
        Ok(CommitOrder { counter })
    }

    /// Draws the number of a transaction that is prepared at all its sites and has installed nothing yet.
    pub fn draw(&self, core: &M::Core) -> u64 {
        core.fetch_add(&self.counter.line, &self.counter.last, 1) + 1
    }

    /// Returns the last number drawn. A prepared transaction has read from no transaction with a greater number.
    pub fn last(&self, core: &M::Core) -> u64 {
        core.load(&self.counter.line, &self.counter.last)
    }
}
