//! Delegation: each core owns a partition of the data, with its indexes and its metadata, and does the work of other cores'
//! transactions there (Trireme 2.3 and 3.4; Orthrus, Ren, Faleiro and Abadi, SIGMOD 2016).
//!
//! A transaction runs on the core that begins it. Data of the core's own partition it accesses directly. Work at another
//! partition is a message to the core that owns it ([`machine::mailbox`]): the owner looks a record up and locks it, and
//! the session then accesses the record itself. At the end of the transaction the owner releases the lock.
//! [`crate::site::DelegatedSite`] says which calls are messages.
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
    architecture::{Architecture, ArchitectureDeclaration, DirectSites},
    owner::{Owner, arena_of},
    rows::{Place, RangeSites, Sites},
    site::{DelegatedSite, LocalSite, Site},
};
use machine::{Machine, Service, cold::Arc, mailbox::Mailboxes};
use protocols::{Delegated, Protocol, Txn};
use storage::{Store, StoreError, Table, key_digest};
use txn::{ColumnSet, Key, KeyRange, Share, TableId, TxnId};

/// Description that `kilocore list` prints.
pub(crate) const DECLARATION: ArchitectureDeclaration = ArchitectureDeclaration {
    name: "delegation",
    summary: "each core owns a partition; it looks up, locks and validates for other cores' transactions, by messages",
    source: "Trireme 2.3, 3.4, 5.1; Orthrus (Ren et al. 2016)",
    sites: None,
    isolates: false,
    delegates: true,
};

/// Largest number of owners. Each has a slot for a message of each session.
const MAX_OWNERS: u64 = 4096;

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
    type Sites<'s> = DelegatedSites<'s, M, P>;

    fn create(machine: &Arc<M>, options: &EngineOptions) -> Result<Self, EngineError> {
        let (partitions, most) = (options.partitions, MAX_OWNERS);
        if !(1..=most).contains(&partitions) {
            return Err(EngineError::Partitions { given: partitions, most });
        }
        let partitions = partitions as usize;
        let mut owners: Vec<Owner<M, P>> = Vec::with_capacity(partitions);
        for number in 0..partitions {
            let (share, first) = (Share::of(number, partitions), owners.first());
            owners.push(Owner::of_share(machine, options, share, options.sessions, first)?);
        }
        let mailboxes =
            Mailboxes::new(partitions, options.sessions, |server| arena_of(machine, server));
        Ok(Delegation {
            owners,
            mailboxes: mailboxes.map_err(StoreError::OutOfMemory)?,
            options: options.clone(),
        })
    }

    fn stores(&self) -> impl Iterator<Item = &Store<M>> {
        self.owners.iter().map(Owner::store)
    }

    fn sites<'s>(&'s self, core: &'s M::Core, session: usize) -> DelegatedSites<'s, M, P> {
        let own = session / self.options.fibers.max(1);
        let symmetric = !self.options.dedicated_servers && own < self.owners.len();
        DelegatedSites {
            owners: &self.owners,
            mailboxes: self.mailboxes.is_open().then_some(&self.mailboxes),
            core,
            session,
            own: symmetric.then_some(own),
            sites: self.owners.iter().map(|_| None).collect(),
            joined: Vec::new(),
            begun: None,
            age: None,
        }
    }

    /// Returns one service that advances the epochs of all owners.
    fn services(&self) -> Vec<Service<'_, M>> {
        vec![Service {
            name: "epochs",
            interval_ticks: self.options.epoch_interval_ticks,
            tick: Box::new(|core| {
                for owner in &self.owners {
                    owner.store().epochs().try_advance(core);
                }
            }),
        }]
    }

    fn mailboxes(&self) -> Option<&Mailboxes<M>> {
        Some(&self.mailboxes)
    }
}

/// A session's sites, one at each owner that the session has used.
pub(crate) struct DelegatedSites<'s, M: Machine, P: Protocol<M>> {
    owners: &'s [Owner<M, P>],
    /// The mailboxes of the servers. None in a run without servers, in which the session is alone.
    mailboxes: Option<&'s Mailboxes<M>>,
    core: &'s M::Core,
    session: usize,
    /// The owner whose server is on the session's own core.
    own: Option<usize>,
    /// Sites by the numbers of their owners.
    sites: Vec<Option<Box<DelegatedSite<'s, M, P>>>>,
    /// Numbers of the sites at which the running attempt has begun, ascending.
    joined: Vec<usize>,
    /// The running attempt.
    begun: Option<Begun>,
    /// Timestamp of the last attempt. Its retry keeps it, and can begin at other sites.
    age: Option<u64>,
}

/// An attempt, for the sites that it has not reached yet.
#[derive(Clone, Copy)]
struct Begun {
    id: TxnId,
    attempt: u32,
    read_only: bool,
    /// Timestamp that the first site has drawn, if the protocol needs one.
    age: Option<u64>,
}

impl<'s, M: Machine, P: Protocol<M>> DelegatedSites<'s, M, P> {
    /// Returns the number of the owner of a partition.
    #[inline(always)]
    fn owner_of(&self, partition: u64) -> usize {
        let owners = self.owners.len() as u64;
        (if partition < owners { partition } else { partition % owners }) as usize
    }

    /// Returns the owner whose copies of replicated rows the session reads.
    #[inline(always)]
    fn home(&self) -> usize {
        self.own.unwrap_or_else(|| self.session % self.owners.len())
    }

    /// Returns the number of the owner that has the number `number` of `table`.
    #[inline(always)]
    fn owner_of_number(&self, table: &Table<M>, number: u64) -> usize {
        let partition = table.schema().partitioning.of(number);
        partition.map_or_else(|| self.home(), |partition| self.owner_of(partition))
    }

    /// Returns what the first owner has of a table. Its schema is the same at all owners.
    #[inline(always)]
    fn table(&self, table: TableId) -> &'s Table<M> {
        self.owners[0].store().table(table)
    }

    /// Returns true if sessions do the work of this owner that short accesses need themselves.
    #[inline(always)]
    fn is_direct(&self, owner: usize) -> bool {
        match P::DELEGATED {
            Delegated::Validation => true,
            // A short access could not wait.
            _ => self.is_own(owner) && !P::AWAITS,
        }
    }

    #[inline(always)]
    fn is_own(&self, owner: usize) -> bool {
        self.own == Some(owner) || self.mailboxes.is_none()
    }

    /// Returns a site. If an attempt is running, it takes part there from now on.
    #[inline(always)]
    fn at(&mut self, owner: usize) -> &mut DelegatedSite<'s, M, P> {
        if self.sites[owner].is_none() {
            self.make(owner);
        }
        if self.begun.is_some() {
            self.join(owner);
        }
        self.sites[owner].as_mut().expect("it was just made")
    }

    #[cold]
    fn make(&mut self, owner: usize) {
        let mailbox = match self.is_own(owner) {
            true => None,
            false => self.mailboxes.map(|mailboxes| mailboxes.at(owner, self.session)),
        };
        let site = DelegatedSite::new(&self.owners[owner], self.core, self.session, mailbox);
        self.sites[owner] = Some(Box::new(site));
    }

    /// Begins the running attempt at a site, unless it has begun there.
    fn join(&mut self, owner: usize) {
        let Err(place) = self.joined.binary_search(&owner) else { return };
        self.joined.insert(place, owner);
        let begun = self.begun.as_mut().expect("an attempt is running");
        let site = self.sites[owner].as_mut().expect("the site is made");
        let Begun { id, attempt, read_only, age } = *begun;
        site.begin(Txn { id, age, attempt, read_only, partitions: &[], planned: false });
        begun.age = age.or(site.age());
    }
}

impl<'s, M: Machine, P: Protocol<M>> Sites<'s, M> for DelegatedSites<'s, M, P> {
    fn count(&self) -> usize {
        self.owners.len()
    }

    fn enter(&mut self, txn: &Txn<'_>) {
        let Txn { id, attempt, read_only, .. } = *txn;
        self.joined.clear();
        let age = self.age.take().filter(|_| attempt > 0);
        self.begun = Some(Begun { id, attempt, read_only, age });
    }

    fn exit(&mut self) {
        if let Some(begun) = self.begun.take() {
            self.age = begun.age;
        }
    }

    fn taking_part(&self) -> usize {
        self.joined.len()
    }

    fn part(&self, at: usize) -> usize {
        self.joined[at]
    }

    fn of_key(&self, table: TableId, key: Key<'_>) -> Option<usize> {
        let number = match key {
            Key::Number(number) => number,
            Key::Bytes(bytes) => key_digest(bytes),
        };
        Some(self.owner_of_number(self.table(table), number))
    }

    fn of_range(&self, table: TableId, keys: KeyRange) -> Place {
        let mut met = RangeSites::default();
        self.table(table).schema().partitioning.all_of_range(keys, |partition| {
            met.add(self.owner_of(partition));
            true
        });
        met.place(self.home())
    }

    fn site(&mut self, at: usize) -> &mut dyn Site<'s, M> {
        self.at(at)
    }

    fn is_used(&self, at: usize) -> bool {
        self.sites[at].is_some()
    }

    fn age(&self) -> Option<u64> {
        let first = *self.joined.first()?;
        self.sites[first].as_ref()?.priority()
    }
}

impl<'s, M: Machine, P: Protocol<M>> DirectSites<'s, M, P> for DelegatedSites<'s, M, P> {
    #[inline(always)]
    fn direct(&mut self, table: TableId, key: u64) -> Option<&mut LocalSite<'s, M, P>> {
        let owner = self.owner_of_number(self.table(table), key);
        match self.is_direct(owner) {
            true => Some(self.at(owner).local()),
            false => None,
        }
    }

    #[inline(always)]
    fn only(&mut self) -> Option<&mut LocalSite<'s, M, P>> {
        None
    }

    #[inline(always)]
    fn alone(&mut self) -> Option<&mut LocalSite<'s, M, P>> {
        match self.joined[..] {
            [owner] if self.is_own(owner) => Some(self.at(owner).local()),
            _ => None,
        }
    }

    fn prefetch(&mut self, table: TableId, keys: &[u64], columns: ColumnSet) {
        let home = self.table(table);
        let mut left: Vec<(usize, u64)> =
            keys.iter().map(|key| (self.owner_of_number(home, *key), *key)).collect();
        left.retain(|(owner, _)| self.is_direct(*owner));
        left.sort_unstable();
        let mut own = Vec::with_capacity(left.len());
        for keys in left.chunk_by(|one, next| one.0 == next.0) {
            own.clear();
            own.extend(keys.iter().map(|(_, key)| *key));
            self.at(keys[0].0).local().prefetch(table, &own, columns);
        }
    }
}
