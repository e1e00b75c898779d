//! Data-oriented execution: cores own data, and a transaction moves to the core that owns what it accesses next
//! (Trireme 2.4 and 3.5; DORA, Pandis et al., PVLDB 2010; PLP, Pandis et al., PVLDB 2011).
//!
//! Each session is a fiber. It begins a transaction on its home core. Before an access it moves to the core that has the owner
//! of the row ([`crate::assignment`]), looks the row up and locks it there, and stays until it needs another owner's data. At
//! the end it moves to each core on which it has locked something, the last one first, to install its writes and to release its
//! locks, and then home ([`crate::owned_sites`], [`crate::site::OwnedSite`]).
//!
//! A core runs one fiber at a time, and a fiber lets others run only where it waits or moves, never amid the work on a
//! lock. So locks need no atomic instructions ([`protocols::mechanisms::physical`]), and indexes are never contended: each owner has a
//! tree of its own for each table, as PLP's multi-rooted trees have one root for each partition. Only protocols that lock run here.
//! An optimistic protocol's reads change no metadata, so they would move for nothing (Trireme 3.5).
//!
//! A fiber that waits for a lock stays on the owner's core, and other fibers run there meanwhile. With one fiber that begins on
//! each core (`--fibers 1`), a core whose fiber is away executes those that have come.
//!
//! **What a fiber holds when it moves.** Natively a move is one between threads, and the compiler does not check what lies on the
//! stack. The session's own frames hold references to shared memory, plain values, and its [`Core`](machine::Core), which stays
//! the same value. No function of the engine, the protocols or the storage layer keeps a lock guard or a reference to a
//! thread-local variable across an access, since each of their calls can also wait. The frames of a procedure are the
//! workload's: it promises the same with [`txn::Movable`]. The embedded database runs closures that nobody has audited, so it does
//! not offer this architecture.
//!
//! A panic of a procedure is caught before the attempt is rolled back, because threads count their panics
//! (`harness::drive`).
//!
//! Deviations:
//!
//! - Indexes keep the latches of the other architectures, which are always free here.
//! - Data are stored by partition, so that each has an index of its own. In DORA one index serves all.
//!
//! A transaction that is split into actions can be on several cores at once ([`crate::executors`]).

use crate::{
    EngineError, EngineOptions,
    architecture::{Architecture, ArchitectureDeclaration, OwnersWork},
    assignment::Assignment,
    owned_sites::{OwnedSites, Ways, epochs_service, owners},
    owner::{Owner, arena_of},
    pair::with_executors,
};
use machine::{Core, Machine, OutOfMemory, Service, cold::Arc, mailbox::Mailboxes};
use protocols::{Delegated, Protocol};
use storage::{Store, StoreError};

/// Description that `kilocore list` prints.
pub(crate) const DECLARATION: ArchitectureDeclaration = ArchitectureDeclaration {
    name: "data_oriented",
    summary: "each core owns a partition; a transaction is a fiber that moves to the core that owns its next access",
    source: "Trireme 2.4, 3.5; DORA (Pandis et al. 2010)",
    sites: None,
    isolates: false,
    work: OwnersWork::Visited,
};

/// The owners, and the cores that have them.
pub(crate) struct DataOriented<M: Machine, P: Protocol<M>> {
    owners: Vec<Owner<M, P>>,
    assignment: Assignment<M>,
    options: EngineOptions,
    /// Mailboxes of the executors of each session, if there are executors.
    executors: Vec<Mailboxes<M>>,
}

impl<M: Machine, P: Protocol<M>> Architecture<M, P> for DataOriented<M, P> {
    const DECLARED: &'static ArchitectureDeclaration = &DECLARATION;
    const SUPPORTED: bool = matches!(P::DELEGATED, Delegated::Metadata);
    const DIRECT: bool = false;
    type Sites<'s> = OwnedSites<'s, M, P>;

    fn create(machine: &Arc<M>, options: &EngineOptions) -> Result<Self, EngineError> {
        let owners = owners(machine, options)?;
        let partitions = owners.len();
        let assignment = Assignment::new(machine, partitions, options.moving.table_owners);
        let assignment = assignment.map_err(StoreError::OutOfMemory)?;
        let executors = executors::<M, P>(machine, options)?;
        Ok(DataOriented { owners, assignment, options: options.clone(), executors })
    }

    fn stores(&self) -> impl Iterator<Item = &Store<M>> {
        self.owners.iter().map(Owner::store)
    }

    fn sites<'s>(&'s self, core: &'s M::Core, session: usize) -> OwnedSites<'s, M, P> {
        let ways = match core.host() {
            Some(home) => Ways::Moves { assignment: &self.assignment, home },
            None => Ways::None,
        };
        let executors = self.executors.get(session).filter(|mailboxes| mailboxes.is_open());
        let tables = self.options.moving.owners_of_partition();
        OwnedSites::new(&self.owners, ways, core, session)
            .with_tables(tables)
            .with_executors(executors)
    }

    fn services(&self) -> Vec<Service<'_, M>> {
        vec![epochs_service(&self.owners, &self.options)]
    }

    fn assignment(&self) -> Option<&Assignment<M>> {
        Some(&self.assignment)
    }

    fn executors(&self) -> &[Mailboxes<M>] {
        &self.executors
    }
}

/// Makes the mailboxes of the executors of all sessions. Fails if the protocol cannot have executors.
fn executors<M: Machine, P: Protocol<M>>(
    machine: &Arc<M>,
    options: &EngineOptions,
) -> Result<Vec<Mailboxes<M>>, EngineError> {
    if options.moving.executors == 0 {
        return Ok(Vec::new());
    }
    if P::WAITS_ONCE {
        let protocol = P::declare(&options.protocol).name;
        return Err(EngineError::WaitsOnce { protocol, supported: with_executors() });
    }
    let of_session = |session: usize| {
        let core = session / options.fibers.max(1);
        let mailboxes = Mailboxes::new(options.moving.executors, 1, |_| arena_of(machine, core))?;
        Ok(mailboxes.sleeping_at_once())
    };
    let all: Result<_, OutOfMemory> = (0..options.sessions).map(of_session).collect();
    Ok(all.map_err(StoreError::OutOfMemory)?)
}
