//! The mapping table of data-oriented execution: the core that has each owner's data.
//!
//! Data are partitioned logically (Trireme 2.4): an owner's store is shared memory, which any core can reach, and one core
//! works on it at a time. The table says which. It can change while transactions run, without moving any data.
//!
//! **Why two cores never work on an owner's metadata at the same time.** A session reads the table, moves to the core that it
//! names, and reads it again there ([`Seat::go`]). If it still names this core, the session works, and lets no other fiber run
//! before it has finished a call. The table is changed only by a fiber on the core that it names
//! ([`Assignment::reassign`]). So between the session's second look and the end of its work nobody changes it. A session
//! that has let other fibers run looks again before its next work.
//!
//! What the first core has done happens before what the second core does: the first stores the new number with release order
//! after its work, and every session on the second core has loaded the number before it works.

use crate::{TableOwners, owner::arena_of};
use machine::{Core, Machine, OutOfMemory, Place, Shared, Word, Zeroed, cold::Arc};
use protocols::faults;

/// The number of the core that has an owner, on a cache line of its own.
#[repr(C, align(64))]
struct Entry<M: Machine> {
    line: M::Line,
    core: Word,
}

// SAFETY: a line and a word, which are valid as zeros.
unsafe impl<M: Machine> Zeroed for Entry<M> {}

/// The mapping table.
pub(crate) struct Assignment<M: Machine>(Vec<Shared<Entry<M>>>);

impl<M: Machine> Assignment<M> {
    /// Makes the table of the owners of `partitions` partitions. Core number `n` has partition number `n`. If tables have owners of
    /// their own, owner number `t * partitions + n` has table number `t` of this partition.
    pub fn new(
        machine: &Arc<M>,
        partitions: usize,
        tables: Option<TableOwners>,
    ) -> Result<Self, OutOfMemory> {
        let entry = |owner| -> Result<Shared<Entry<M>>, OutOfMemory> {
            let partition = owner % partitions;
            let entry = arena_of(machine, partition).place::<Entry<M>>(Place::Any)?;
            let core = match tables {
                Some(TableOwners { tables, cores, apart: true }) => {
                    let table = owner / partitions;
                    (partition + table * cores.div_ceil(tables)) % cores
                }
                _ => partition,
            };
            entry.core.poke(core as u64);
            Ok(entry)
        };
        let owners = partitions * tables.map_or(1, |owners| owners.tables);
        (0..owners).map(entry).collect::<Result<_, _>>().map(Assignment)
    }

    /// Returns the way to the core of owner number `owner`.
    pub fn seat(&self, owner: usize) -> Seat<'_, M> {
        Seat(&self.0[owner])
    }

    /// Gives owner number `owner` to core number `to`. The calling fiber moves to the core that has the owner, and stays
    /// there.
    pub fn reassign(&self, core: &M::Core, owner: usize, to: usize) {
        let seat = self.seat(owner);
        if !core.is_planted(faults::REASSIGNS_FROM_AFAR) {
            seat.go(core);
        }
        core.store(&seat.0.line, &seat.0.core, to as u64);
    }
}

/// The way to the core of one owner.
pub(crate) struct Seat<'s, M: Machine>(&'s Entry<M>);

impl<M: Machine> Seat<'_, M> {
    /// Moves the calling fiber to the core that has the owner.
    #[inline]
    pub fn go(&self, core: &M::Core) {
        loop {
            let at = core.load(&self.0.line, &self.0.core) as usize;
            if core.host() == Some(at) {
                return;
            }
            core.move_to(at);
            if core.is_planted(faults::LOOKS_ONCE) {
                return;
            }
        }
    }

    /// Returns true if the calling fiber is on the core that has the owner.
    #[inline]
    pub fn is_here(&self, core: &M::Core) -> bool {
        core.host() == Some(core.load_uncharged(&self.0.core) as usize)
    }
}
