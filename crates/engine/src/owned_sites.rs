//! The sites of a session where each owner's core alone works on the owner's metadata: one site at each owner.
//!
//! Delegation and data-oriented execution share this. They differ in the way to an owner's core ([`Ways`]). A site begins when
//! the transaction first needs it.

use crate::{
    EngineError, EngineOptions,
    architecture::DirectSites,
    assignment::Assignment,
    owner::Owner,
    rows::{Place, RangeSites, Sites},
    site::{LocalSite, OwnedSite, Site, Way},
};
use machine::{Core, Machine, Service, cold::Arc, mailbox::Mailboxes};
use protocols::{Delegated, Protocol, Txn};
use storage::{Table, key_digest};
use txn::{ColumnSet, Key, KeyRange, Share, TableId, TxnId};

/// Largest number of owners. Each has words for each session.
const MAX_OWNERS: u64 = 4096;

/// Makes the owners of an engine, as many as there are to be partitions.
pub(crate) fn owners<M: Machine, P: Protocol<M>>(
    machine: &Arc<M>,
    options: &EngineOptions,
) -> Result<Vec<Owner<M, P>>, EngineError> {
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
    Ok(owners)
}

/// Returns one service that advances the epochs of all owners.
pub(crate) fn epochs_service<'a, M: Machine, P: Protocol<M>>(
    owners: &'a [Owner<M, P>],
    options: &EngineOptions,
) -> Service<'a, M> {
    Service {
        name: "epochs",
        interval_ticks: options.epoch_interval_ticks,
        tick: Box::new(move |core| {
            for owner in owners {
                owner.store().epochs().try_advance(core);
            }
        }),
    }
}

/// The ways of a session to the cores of owners.
pub(crate) enum Ways<'s, M: Machine> {
    /// The session is alone and does all work itself.
    None,
    /// Servers do the work.
    Servers {
        mailboxes: &'s Mailboxes<M>,
        /// The owner whose server is on the session's own core.
        own: Option<usize>,
    },
    /// The session moves.
    Moves {
        assignment: &'s Assignment<M>,
        /// The core on which the session begins its transactions.
        home: usize,
    },
}

/// A session's sites, one at each owner that the session has used.
pub(crate) struct OwnedSites<'s, M: Machine, P: Protocol<M>> {
    owners: &'s [Owner<M, P>],
    ways: Ways<'s, M>,
    core: &'s M::Core,
    session: usize,
    /// Sites by the numbers of their owners.
    sites: Vec<Option<Box<OwnedSite<'s, M, P>>>>,
    /// Numbers of the sites at which the running attempt has begun, in the order in which they prepare and commit.
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

impl<'s, M: Machine, P: Protocol<M>> OwnedSites<'s, M, P> {
    /// Makes the sites of session number `session`, which `core` uses.
    pub fn new(
        owners: &'s [Owner<M, P>],
        ways: Ways<'s, M>,
        core: &'s M::Core,
        session: usize,
    ) -> Self {
        OwnedSites {
            owners,
            ways,
            core,
            session,
            sites: owners.iter().map(|_| None).collect(),
            joined: Vec::new(),
            begun: None,
            age: None,
        }
    }

    /// Returns the number of the owner of a partition.
    #[inline(always)]
    fn owner_of(&self, partition: u64) -> usize {
        let owners = self.owners.len() as u64;
        (if partition < owners { partition } else { partition % owners }) as usize
    }

    /// Returns the owner whose copies of replicated rows the session reads.
    #[inline(always)]
    fn home(&self) -> usize {
        let home = match self.ways {
            Ways::Servers { own: Some(own), .. } => own,
            Ways::Moves { home, .. } => home,
            _ => self.session,
        };
        self.owner_of(home as u64)
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

    /// Returns true if the session does the work of this owner that short accesses need itself.
    #[inline(always)]
    fn is_direct(&self, owner: usize) -> bool {
        match P::DELEGATED {
            Delegated::Validation => true,
            // A short access could not wait.
            _ => self.is_own(owner) && !P::AWAITS,
        }
    }

    /// Returns true if no server does work of this owner for the session.
    #[inline(always)]
    fn is_own(&self, owner: usize) -> bool {
        match self.ways {
            Ways::Servers { own, .. } => own == Some(owner),
            Ways::None | Ways::Moves { .. } => true,
        }
    }

    /// Returns true if it helps to fetch records of this owner into the cache of the session's core.
    fn is_near(&mut self, owner: usize) -> bool {
        match self.ways {
            Ways::Moves { .. } => self.at(owner).is_here(),
            _ => self.is_direct(owner),
        }
    }

    /// Returns the session's part of a site. The session is on a core on which it may use it.
    #[inline(always)]
    fn local(&mut self, owner: usize) -> &mut LocalSite<'s, M, P> {
        let site = self.at(owner);
        site.go();
        site.local()
    }

    /// Returns a site. If an attempt is running, it takes part there from now on.
    #[inline(always)]
    fn at(&mut self, owner: usize) -> &mut OwnedSite<'s, M, P> {
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
        let way = match self.ways {
            Ways::Servers { mailboxes, .. } if !self.is_own(owner) => {
                Way::Message(mailboxes.at(owner, self.session))
            }
            Ways::Moves { assignment, .. } => Way::Move(assignment.seat(owner)),
            _ => Way::Here,
        };
        let site = OwnedSite::new(&self.owners[owner], self.core, self.session, way);
        self.sites[owner] = Some(Box::new(site));
    }

    /// Begins the running attempt at a site, unless it has begun there.
    fn join(&mut self, owner: usize) {
        match self.ways {
            // The site that the session has moved to last comes first.
            Ways::Moves { .. } => {
                if self.joined.contains(&owner) {
                    return;
                }
                self.joined.insert(0, owner);
            }
            // Validations that wait for each other's locks form no cycle.
            _ => {
                let Err(place) = self.joined.binary_search(&owner) else { return };
                self.joined.insert(place, owner);
            }
        }
        let begun = self.begun.as_mut().expect("an attempt is running");
        let site = self.sites[owner].as_mut().expect("the site is made");
        let Begun { id, attempt, read_only, age } = *begun;
        site.begin(Txn { id, age, attempt, read_only, partitions: &[], planned: false });
        begun.age = age.or(site.age());
    }

    /// Moves to the core on which the session begins its transactions, if it is one that moves.
    fn go_home(&self) {
        if let Ways::Moves { home, .. } = self.ways {
            self.core.move_to(home);
        }
    }
}

impl<'s, M: Machine, P: Protocol<M>> Sites<'s, M> for OwnedSites<'s, M, P> {
    fn count(&self) -> usize {
        self.owners.len()
    }

    fn enter(&mut self, txn: &Txn<'_>) {
        self.go_home();
        let Txn { id, attempt, read_only, .. } = *txn;
        self.joined.clear();
        let age = self.age.take().filter(|_| attempt > 0);
        self.begun = Some(Begun { id, attempt, read_only, age });
    }

    fn exit(&mut self) {
        if let Some(begun) = self.begun.take() {
            self.age = begun.age;
        }
        self.go_home();
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

impl<'s, M: Machine, P: Protocol<M>> DirectSites<'s, M, P> for OwnedSites<'s, M, P> {
    #[inline(always)]
    fn direct(&mut self, table: TableId, key: u64) -> Option<&mut LocalSite<'s, M, P>> {
        let owner = self.owner_of_number(self.table(table), key);
        match self.is_direct(owner) {
            true => Some(self.local(owner)),
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
            [owner] if self.is_own(owner) => Some(self.local(owner)),
            _ => None,
        }
    }

    fn prefetch(&mut self, table: TableId, keys: &[u64], columns: ColumnSet) {
        let home = self.table(table);
        let mut left: Vec<(usize, u64)> =
            keys.iter().map(|key| (self.owner_of_number(home, *key), *key)).collect();
        left.retain(|(owner, _)| self.is_near(*owner));
        left.sort_unstable();
        let mut own = Vec::with_capacity(left.len());
        for keys in left.chunk_by(|one, next| one.0 == next.0) {
            own.clear();
            own.extend(keys.iter().map(|(_, key)| *key));
            self.at(keys[0].0).local().prefetch(table, &own, columns);
        }
    }
}
