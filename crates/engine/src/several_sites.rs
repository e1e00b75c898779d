//! Several sites: three owners have the data, each is an engine of its own, and a transaction commits at all of
//! them with two-phase commit.
//!
//! Every session has a site at each owner and accesses all data itself, without messages. This corresponds to
//! hardware islands (Porobic 2016, chapter 3) with communication that costs nothing. The architecture exists to
//! prove that protocols keep their guarantees across sites. Each transaction begins at every site with the same
//! identity and the same age, prepares at every site, agrees on a commit timestamp, confirms where a site asks
//! for it, and commits at every site.
//!
//! Rows of a table without order are spread over the owners by their keys. A table in key order has one owner.

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
    name: "several_sites",
    summary: "three owners of data, each an engine of its own; transactions commit at all of them in two phases",
    source: "after hardware islands (Porobic 2016, chapter 3), without their messages",
    sites: Some(OWNERS),
    isolates: false,
    work: OwnersWork::Shared,
};

/// Number of owners of data.
const OWNERS: usize = 3;

/// The owners.
pub(crate) struct SeveralSites<M: Machine, P: Protocol<M>> {
    owners: Vec<Owner<M, P>>,
    options: EngineOptions,
}

impl<M: Machine, P: Protocol<M>> Architecture<M, P> for SeveralSites<M, P> {
    const DECLARED: &'static ArchitectureDeclaration = &DECLARATION;
    const DIRECT: bool = false;
    type Sites<'s> = AllSites<'s, M, P>;

    fn create(machine: &Arc<M>, options: &EngineOptions) -> Result<Self, EngineError> {
        let owners =
            (0..OWNERS).map(|_| Owner::create(machine, options)).collect::<Result<_, _>>()?;
        Ok(SeveralSites { owners, options: options.clone() })
    }

    fn stores(&self) -> impl Iterator<Item = &Store<M>> {
        self.owners.iter().map(Owner::store)
    }

    fn sites<'s>(&'s self, core: &'s M::Core, session: usize) -> AllSites<'s, M, P> {
        AllSites(self.owners.iter().map(|owner| LocalSite::new(owner, core, session)).collect())
    }

    fn services(&self) -> Vec<Service<'_, M>> {
        self.owners.iter().map(|owner| owner.epochs_service(&self.options)).collect()
    }
}

/// A session's sites, one at each owner.
pub(crate) struct AllSites<'s, M: Machine, P: Protocol<M>>(Vec<LocalSite<'s, M, P>>);

/// Returns the owner of a number in a table. Neighbouring numbers have different owners. So have rows with the
/// same number in tables with neighbouring table numbers.
fn owner_of(table: TableId, number: u64) -> usize {
    (number.wrapping_add(table.0.into()) % OWNERS as u64) as usize
}

impl<'s, M: Machine, P: Protocol<M>> Sites<'s, M> for AllSites<'s, M, P> {
    fn count(&self) -> usize {
        OWNERS
    }

    fn of_key(&self, table: TableId, key: Key<'_>) -> Option<usize> {
        if self.0[0].table(table).schema().index.is_ordered() {
            return Some(owner_of(table, 0));
        }
        Some(match key {
            Key::Number(number) => owner_of(table, number),
            Key::Bytes(bytes) => owner_of(table, bytes.iter().map(|byte| u64::from(*byte)).sum()),
        })
    }

    fn of_range(&self, table: TableId, _: KeyRange) -> Place {
        Place::One(owner_of(table, 0))
    }

    fn site(&mut self, at: usize) -> &mut dyn Site<'s, M> {
        &mut self.0[at]
    }

    fn age(&self) -> Option<u64> {
        self.0[0].priority()
    }
}

impl<'s, M: Machine, P: Protocol<M>> DirectSites<'s, M, P> for AllSites<'s, M, P> {
    #[inline(always)]
    fn direct(&mut self, _: TableId, _: u64) -> Option<&mut LocalSite<'s, M, P>> {
        None
    }

    #[inline(always)]
    fn only(&mut self) -> Option<&mut LocalSite<'s, M, P>> {
        None
    }

    #[inline(always)]
    fn alone(&mut self) -> Option<&mut LocalSite<'s, M, P>> {
        None
    }
}
