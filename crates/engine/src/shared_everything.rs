//! Shared everything: a transaction stays on its core, and that core accesses all records itself, synchronized
//! by atomics (Trireme 3.1; the architecture of DBx1000). One owner has all data, so each session has one site.

use crate::{
    EngineError, EngineOptions,
    architecture::{Architecture, ArchitectureDeclaration, DirectSites, OwnersWork},
    owner::Owner,
    rows::{Place, Sites},
    site::{LocalSite, Site},
};
use machine::{Machine, Service, cold::Arc};
use protocols::Protocol;
use storage::Store;
use txn::{Key, KeyRange, TableId};

/// Description that `kilocore list` prints.
pub(crate) const DECLARATION: ArchitectureDeclaration = ArchitectureDeclaration {
    name: "shared_everything",
    summary: "each transaction stays on its core, which touches all records itself",
    source: "Trireme 3.1; the architecture of DBx1000",
    sites: Some(1),
    isolates: false,
    work: OwnersWork::Shared,
};

/// The one owner.
pub(crate) struct SharedEverything<M: Machine, P: Protocol<M>> {
    owner: Owner<M, P>,
    options: EngineOptions,
}

impl<M: Machine, P: Protocol<M>> Architecture<M, P> for SharedEverything<M, P> {
    const DECLARED: &'static ArchitectureDeclaration = &DECLARATION;
    const DIRECT: bool = true;
    type Sites<'s> = OneSite<'s, M, P>;

    fn create(machine: &Arc<M>, options: &EngineOptions) -> Result<Self, EngineError> {
        Ok(SharedEverything { owner: Owner::create(machine, options)?, options: options.clone() })
    }

    fn stores(&self) -> impl Iterator<Item = &Store<M>> {
        [self.owner.store()].into_iter()
    }

    fn sites<'s>(&'s self, core: &'s M::Core, session: usize) -> OneSite<'s, M, P> {
        OneSite(LocalSite::new(&self.owner, core, session))
    }

    fn services(&self) -> Vec<Service<'_, M>> {
        vec![self.owner.epochs_service(&self.options)]
    }
}

/// A session's only site.
pub(crate) struct OneSite<'s, M: Machine, P: Protocol<M>>(pub LocalSite<'s, M, P>);

impl<'s, M: Machine, P: Protocol<M>> Sites<'s, M> for OneSite<'s, M, P> {
    fn count(&self) -> usize {
        1
    }

    fn of_key(&self, _: TableId, _: Key<'_>) -> Option<usize> {
        Some(0)
    }

    fn of_range(&self, _: TableId, _: KeyRange) -> Place {
        Place::One(0)
    }

    fn site(&mut self, _: usize) -> &mut dyn Site<'s, M> {
        &mut self.0
    }

    fn age(&self) -> Option<u64> {
        self.0.priority()
    }
}

impl<'s, M: Machine, P: Protocol<M>> DirectSites<'s, M, P> for OneSite<'s, M, P> {
    #[inline(always)]
    fn direct(&mut self, _: TableId, _: u64) -> Option<&mut LocalSite<'s, M, P>> {
        Some(&mut self.0)
    }

    #[inline(always)]
    fn only(&mut self) -> Option<&mut LocalSite<'s, M, P>> {
        Some(&mut self.0)
    }

    #[inline(always)]
    fn alone(&mut self) -> Option<&mut LocalSite<'s, M, P>> {
        Some(&mut self.0)
    }
}
