//! What an architecture is: it decides which core executes an access and how cores are synchronised physically.

use crate::{EngineOptions, rows::Sites, site::LocalSite};
use machine::{Machine, Service, cold::Arc};
use protocols::Protocol;
use storage::{Store, StoreError};
use txn::TableId;

/// An architecture's description: a name, a summary, a source, and the number of sites.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ArchitectureDeclaration {
    /// Its name, on the command line and in records.
    pub name: &'static str,
    /// One line.
    pub summary: &'static str,
    /// Paper and section.
    pub source: &'static str,
    /// How many sites a transaction has: more than one only under protocols that allow it
    /// ([`protocols::Declaration::one_site`]).
    pub sites: usize,
}

/// An architecture under protocol `P`: owners of data, and which of their sites executes an access. Everything else is
/// the same for all of them.
pub(crate) trait Architecture<M: Machine, P: Protocol<M>>:
    Sized + Send + Sync + 'static
{
    /// Its description, for listings and for the check that the protocol allows so many sites.
    const DECLARED: &'static ArchitectureDeclaration;

    /// A session's way to the sites.
    type Sites<'s>: DirectSites<'s, M, P>;

    /// Its owners, without tables.
    fn create(machine: &Arc<M>, options: &EngineOptions) -> Result<Self, StoreError>;

    /// The stores of its owners: each has every table.
    fn stores(&self) -> impl Iterator<Item = &Store<M>>;

    /// The sites of session number `slot`, which `core` uses.
    fn sites<'s>(&'s self, core: &'s M::Core, slot: usize) -> Self::Sites<'s>;

    /// Background work that a run should do on service cores.
    fn services(&self) -> Vec<Service<'_, M>>;
}

/// Sites of which this core reaches some itself, by code that is compiled for the protocol.
pub(crate) trait DirectSites<'s, M: Machine, P: Protocol<M>>: Sites<'s, M> {
    /// The site that has the row `key` of `table`, if the core reaches it itself.
    fn direct(&mut self, table: TableId, key: u64) -> Option<&mut LocalSite<'s, M, P>>;

    /// The only site of all transactions, if there is just one and the core reaches it itself.
    fn only(&mut self) -> Option<&mut LocalSite<'s, M, P>>;
}
