//! Delegation: each core owns a partition of the data, with its indexes and its metadata, and does the work of other cores'
//! transactions there (Trireme 2.3 and 3.4; Orthrus, Ren, Faleiro and Abadi, SIGMOD 2016).
//!
//! A transaction runs on the core that begins it. Data of the core's own partition it accesses directly. Work at another
//! partition is a message to the core that owns it ([`machine::mailbox`]): the owner looks a record up and locks it, and
//! the session then accesses the record itself. At the end of the transaction the owner releases the lock.
//! [`crate::site::OwnedSite`] says which calls are messages.
//!
//! Nobody but the owner touches the metadata of its records, so protocols whose metadata is delegated run without atomic
//! instructions there ([`protocols::mechanisms::physical`]). Optimistic protocols read without the owner. Only the
//! validation of writes is delegated, and their metadata is synchronised as usual.
//!
//! Transactions have a site at each owner whose data they access, and commit in two phases. A site begins when the
//! transaction first needs it.
//!
//! A server is a fiber of the core that owns the partition. It runs while the sessions of that core wait, and between their
//! transactions. If servers are dedicated, they have cores of their own (asymmetric delegation, Trireme 5.1).
//!
//! **Why there is no deadlock among messages.** A server does a job to its end. The job waits for nobody under protocols
//! whose metadata is delegated: a request for a lock stays in the queue, and its session waits for it
//! ([`protocols::mechanisms::kept_request`]). A validation can wait for a record that another transaction is committing. Transactions
//! validate at their sites in the order of the owners' numbers, and commit without messages. So a server waits only for
//! transactions that have validated there, and these wait only for servers with greater numbers.
//!
//! Outside a run with servers, when one session is alone in the database, it does all work itself.
//!
//! Deviations:
//!
//! - Indexes are those of the other architectures. They synchronise insertions by latches of their own, which are always
//!   free where metadata is delegated.
//! - There can be fewer owners than cores. The cores that are left own nothing.
//! - Rows that are in all partitions are loaded into each owner, and are constant. A session reads the copy of its own
//!   core's partition.

use crate::{
    EngineError, EngineOptions,
    architecture::{Architecture, ArchitectureDeclaration, OwnersWork},
    owned_sites::{OwnedSites, Ways, epochs_service, owners},
    owner::{Owner, arena_of},
};
use machine::{Machine, Service, cold::Arc, mailbox::Mailboxes};
use protocols::{Delegated, Protocol};
use storage::{Store, StoreError};

/// Description that `kilocore list` prints.
pub(crate) const DECLARATION: ArchitectureDeclaration = ArchitectureDeclaration {
    name: "delegation",
    summary: "each core owns a partition; it looks up, locks and validates for other cores' transactions, by messages",
    source: "Trireme 2.3, 3.4, 5.1; Orthrus (Ren et al. 2016)",
    sites: None,
    isolates: false,
    work: OwnersWork::Served,
};

/// The owners, and the mailboxes of their servers.
pub(crate) struct Delegation<M: Machine, P: Protocol<M>> {
    owners: Vec<Owner<M, P>>,
    mailboxes: Mailboxes<M>,
    options: EngineOptions,
}

impl<M: Machine, P: Protocol<M>> Architecture<M, P> for Delegation<M, P> {
    const DECLARED: &'static ArchitectureDeclaration = &DECLARATION;
    const SUPPORTED: bool = !matches!(P::DELEGATED, Delegated::Nothing);
    const DIRECT: bool = false;
    type Sites<'s> = OwnedSites<'s, M, P>;

    fn create(machine: &Arc<M>, options: &EngineOptions) -> Result<Self, EngineError> {
        let owners = owners(machine, options)?;
        let mailboxes =
            Mailboxes::new(owners.len(), options.sessions, |server| arena_of(machine, server));
        Ok(Delegation {
            owners,
            mailboxes: mailboxes.map_err(StoreError::OutOfMemory)?,
            options: options.clone(),
        })
    }

    fn stores(&self) -> impl Iterator<Item = &Store<M>> {
        self.owners.iter().map(Owner::store)
    }

    fn sites<'s>(&'s self, core: &'s M::Core, session: usize) -> OwnedSites<'s, M, P> {
        let own = session / self.options.fibers.max(1);
        let symmetric = !self.options.dedicated_servers && own < self.owners.len();
        let ways = match self.mailboxes.is_open() {
            true => Ways::Servers { mailboxes: &self.mailboxes, own: symmetric.then_some(own) },
            false => Ways::None,
        };
        OwnedSites::new(&self.owners, ways, core, session)
    }

    fn services(&self) -> Vec<Service<'_, M>> {
        vec![epochs_service(&self.owners, &self.options)]
    }

    fn mailboxes(&self) -> Option<&Mailboxes<M>> {
        Some(&self.mailboxes)
    }
}
