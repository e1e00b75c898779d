//! Reservations: the member of a batch that comes first of those that ask for something.
//!
//! Source: Lu, Yu, Cao and Madden, "Aria", PVLDB 13(11), 2020 (read and write reservations).
//!
//! A reservation is one word:
//!
//! ```text
//! | number of the batch: 35 bits | attempts: 15 | place: 14 |
//! ```
//!
//! Within a batch the greater word comes first. A word of another batch counts as none, so reservations need no cleaning.
//! Numbers of batches wrap. A word that has stayed from a batch with the same number can only refuse a transaction
//! without need.

use super::batches::BATCH_BITS;
use machine::{Arena, Core, Machine, OutOfMemory, Place, Shared, Word, Zeroed, cold::Arc};
use txn::TableId;

/// Place of the batch's number.
const BATCH_SHIFT: u32 = 64 - BATCH_BITS;
/// Number of bits of a place in the batch.
const PLACE_BITS: u32 = 14;
/// Largest number of attempts that is told apart.
const MOST_ATTEMPTS: u64 = (1 << (BATCH_SHIFT - PLACE_BITS)) - 1;

/// A transaction's batch, and its rank in it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Claim(u64);

impl Claim {
    /// Creates the claim of a transaction of `batch`. More attempts come first, then greater places. No two members of a
    /// batch have the same place.
    pub fn new(batch: u64, attempts: u32, place: u64) -> Claim {
        assert!(place < 1 << PLACE_BITS, "a place for each session");
        let attempts = u64::from(attempts).min(MOST_ATTEMPTS);
        Claim(batch << BATCH_SHIFT | attempts << PLACE_BITS | place)
    }

    /// Returns the number of the batch.
    #[inline(always)]
    pub fn batch(self) -> u64 {
        self.0 >> BATCH_SHIFT
    }
}

/// A word that members of a batch reserve. Zeros are no reservation.
#[repr(transparent)]
pub struct Reservation(Word);

// SAFETY: a word, for which zero is a valid value.
unsafe impl Zeroed for Reservation {}

impl Reservation {
    /// Reserves for `claim`, unless a member of the same batch that comes before has reserved.
    pub fn reserve<M: Machine>(&self, core: &M::Core, line: &M::Line, claim: Claim) {
        let mut seen = core.load(line, &self.0);
        // The word is checked before the exchange, because an exchange that fails still takes the cache line.
        while Claim(seen).batch() != claim.batch() || seen < claim.0 {
            match core.cas(line, &self.0, seen, claim.0) {
                Ok(_) => return,
                Err(now) => seen = now,
            }
        }
    }

    /// Returns true if a member of the batch has reserved that comes before `claim`. Call when all members have reserved.
    #[inline]
    pub fn is_before<M: Machine>(&self, core: &M::Core, line: &M::Line, claim: Claim) -> bool {
        let seen = core.load(line, &self.0);
        Claim(seen).batch() == claim.batch() && seen > claim.0
    }
}

/// Number of tables that are told apart. Beyond it, tables share reservations.
const TABLES: usize = 64;

/// Reservations of a table, for ranges.
#[repr(C, align(64))]
pub struct TableReservation<M: Machine> {
    /// Cache line of the words.
    pub line: M::Line,
    /// Reservation of the writers of records that were made in the same batch.
    pub fresh: Reservation,
    /// Reservation of the members that scan the table.
    pub scanned: Reservation,
}

// SAFETY: `TableReservation` consists of a line and words, which are valid as zeros.
unsafe impl<M: Machine> Zeroed for TableReservation<M> {}

/// Reservations of all tables.
pub struct TableReservations<M: Machine>(Vec<Shared<TableReservation<M>>>);

impl<M: Machine> TableReservations<M> {
    /// Creates them.
    pub fn new(arena: &Arc<Arena>) -> Result<TableReservations<M>, OutOfMemory> {
        let places = (0..TABLES).map(|_| arena.place(Place::Any));
        Ok(TableReservations(places.collect::<Result<_, _>>()?))
    }

    /// Returns the reservations of a table.
    pub fn of(&self, table: TableId) -> &TableReservation<M> {
        &self.0[usize::from(table.0) % TABLES]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use machine::{Native, NativeOptions};

    #[test]
    fn the_first_of_the_running_batch_stays() {
        let machine = Native::new(NativeOptions::default()).unwrap();
        let core = machine.core(0);
        let reservation = Reservation(Word::new(0));
        let (old, new, tired) = (Claim::new(7, 3, 9), Claim::new(8, 0, 4), Claim::new(8, 1, 0));
        let last = Claim::new(8, 0, 3);
        let before = |claim| reservation.is_before::<Native>(&core, &(), claim);
        reservation.reserve::<Native>(&core, &(), old);
        assert!(!before(new), "a word of another batch is none");
        reservation.reserve::<Native>(&core, &(), new);
        reservation.reserve::<Native>(&core, &(), last);
        assert!(before(last) && !before(new) && !before(tired));
        reservation.reserve::<Native>(&core, &(), tired);
        assert!(before(new) && before(last) && !before(tired));
    }

    #[test]
    fn ranks_have_room() {
        let last = u64::MAX >> BATCH_SHIFT;
        let most = Claim::new(last, u32::MAX, (1 << PLACE_BITS) - 1);
        assert_eq!((most.batch(), most.0), (last, u64::MAX));
        assert_eq!(Claim::new(5, 32_767, 1), Claim::new(5, 40_000, 1));
    }
}
