//! The interface of an architecture. An architecture decides which core executes an access, and how cores are
//! synchronized physically.

use crate::{EngineError, EngineOptions, assignment::Assignment, rows::Sites, site::LocalSite};
use machine::{Machine, Service, cold::Arc, mailbox::Mailboxes};
use protocols::{Delegated, Protocol};
use storage::Store;
use txn::{ColumnSet, TableId};

/// Description of an architecture: its name, a summary, its source, and the number of its sites.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ArchitectureDeclaration {
    /// Name on the command line and in records.
    pub name: &'static str,
    /// Summary in one line.
    pub summary: &'static str,
    /// Paper and section.
    pub source: &'static str,
    /// Number of sites that a transaction has, or none if it has one for each of its partitions. More than one is possible
    /// only under protocols that allow it ([`protocols::Declaration::one_site`]).
    pub sites: Option<usize>,
    /// Set if the architecture isolates transactions itself. Then only protocols that do not isolate them run under it
    /// ([`Protocol::ISOLATES`]), and the pair promises strict serializability.
    pub isolates: bool,
    /// The cores that work on an owner's metadata.
    pub work: OwnersWork,
}

/// The cores that work on the metadata of an owner: its locks, or the words that its transactions validate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OwnersWork {
    /// Any core.
    Shared,
    /// The core of the owner, which serves the transactions of other cores. Only protocols run so that can leave work to the
    /// owner of a record ([`Protocol::DELEGATED`]).
    Served,
    /// The core of the owner, to which transactions move. Only protocols run so that leave all work on metadata to the
    /// owner, and only workloads whose procedures may move ([`txn::Movable`]).
    Visited,
}

/// An architecture under protocol `P`. It has owners of data, and it decides which of their sites executes an
/// access. Everything else is the same for all architectures.
pub(crate) trait Architecture<M: Machine, P: Protocol<M>>:
    Sized + Send + Sync + 'static
{
    /// Description, for listings and for the check that the protocol allows this number of sites.
    const DECLARED: &'static ArchitectureDeclaration;

    /// False for protocols that [`crate::pair`] refuses for their type, and for forms of protocols for other architectures.
    /// Then no engine of this pair is compiled.
    const SUPPORTED: bool = !matches!(P::DELEGATED, Delegated::Metadata);

    /// True if [`DirectSites`] gives access to sites, so that native loops compiled for the pair are worth their time.
    const DIRECT: bool;

    /// The sites of one session.
    type Sites<'s>: DirectSites<'s, M, P>;

    /// Makes the owners, without tables.
    fn create(machine: &Arc<M>, options: &EngineOptions) -> Result<Self, EngineError>;

    /// Returns the stores of all owners. Each store has every table.
    fn stores(&self) -> impl Iterator<Item = &Store<M>>;

    /// Returns the sites of session number `session`, which `core` uses.
    fn sites<'s>(&'s self, core: &'s M::Core, session: usize) -> Self::Sites<'s>;

    /// Returns the background work that a run should do on service cores.
    fn services(&self) -> Vec<Service<'_, M>>;

    /// Returns the table of the cores that have the owners, if sessions move to them.
    fn assignment(&self) -> Option<&Assignment<M>> {
        None
    }

    /// Returns the mailboxes of each session's executors.
    fn executors(&self) -> &[Mailboxes<M>] {
        &[]
    }

    /// Returns the mailboxes of the servers that a run must have, if work is delegated to servers.
    fn mailboxes(&self) -> Option<&Mailboxes<M>> {
        None
    }
}

/// Sites of which the core can access some directly, with code that is compiled for the protocol.
pub(crate) trait DirectSites<'s, M: Machine, P: Protocol<M>>: Sites<'s, M> {
    /// Returns the site that has the row `key` of `table`, if the core can access it directly.
    fn direct(&mut self, table: TableId, key: u64) -> Option<&mut LocalSite<'s, M, P>>;

    /// Returns the only site of every transaction, if there is only one and the core can access it directly.
    fn only(&mut self) -> Option<&mut LocalSite<'s, M, P>>;

    /// Returns the only site that takes part in the running attempt, if there is only one and the core can access it
    /// directly.
    fn alone(&mut self) -> Option<&mut LocalSite<'s, M, P>>;

    /// Prefetches the memory that accesses to these columns of these rows will touch.
    #[inline(always)]
    fn prefetch(&mut self, table: TableId, rows: &[(u64, ColumnSet)]) {
        if let Some(site) = self.alone() {
            site.prefetch(table, rows);
        }
    }
}
