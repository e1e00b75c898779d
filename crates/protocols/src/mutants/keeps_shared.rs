//! Locks that are not exchanged when what was read is written.

use crate::{
    Declaration, ProtocolOptions, Start,
    parts::two_phase_locking::{Locks, Mode},
};
use machine::{Arena, Machine, OutOfMemory, cold::Arc};
use storage::RecordRef;
use txn::Abort;

/// `L`, but a shared lock stays shared.
pub struct KeepsShared<L>(L);

impl<M: Machine, L: Locks<M>> Locks<M> for KeepsShared<L> {
    type Record = L::Record;
    type Held = L::Held;
    type Owner = L::Owner;

    fn declare(options: &ProtocolOptions) -> Declaration {
        L::declare(options)
    }

    fn create(
        arena: &Arc<Arena>,
        options: &ProtocolOptions,
        sessions: usize,
    ) -> Result<Self, OutOfMemory> {
        L::create(arena, options, sessions).map(KeepsShared)
    }

    fn owner(&self, slot: usize) -> L::Owner {
        self.0.owner(slot)
    }

    fn begin(&self, core: &M::Core, owner: &mut L::Owner, start: Start) {
        self.0.begin(core, owner, start);
    }

    fn acquire(
        &self,
        core: &M::Core,
        owner: &mut L::Owner,
        record: &RecordRef<'_, M, L::Record>,
        mode: Mode,
    ) -> Result<L::Held, Abort> {
        self.0.acquire(core, owner, record, mode)
    }

    fn upgrade(
        &self,
        _: &M::Core,
        _: &mut L::Owner,
        _: &RecordRef<'_, M, L::Record>,
        _: &mut L::Held,
    ) -> Result<(), Abort> {
        Ok(())
    }

    fn release(
        &self,
        core: &M::Core,
        owner: &mut L::Owner,
        record: &RecordRef<'_, M, L::Record>,
        held: L::Held,
    ) {
        self.0.release(core, owner, record, held);
    }

    fn mode(held: &L::Held) -> Mode {
        L::mode(held)
    }
}
