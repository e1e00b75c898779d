//! The sites of a session where each owner's core alone works on the owner's metadata: one site at each owner.
//!
//! Delegation and data-oriented execution share this. They differ in the way to an owner's core ([`Ways`]). A site begins when
//! the transaction first needs it. A session that moves can have [executors](crate::executors), to which it lends sites.

use crate::{
    EngineError, EngineOptions,
    architecture::DirectSites,
    assignment::Assignment,
    executors::Executor,
    owner::Owner,
    rows::{Ending, Place, RangeSites, Rows, Sites},
    site::{LocalSite, OwnedSite, Site, Way},
};
use machine::{Core, Machine, Service, cold::Arc, mailbox::Mailboxes};
use protocols::{Delegated, Protocol, Txn};
use std::panic::resume_unwind;
use storage::{Table, key_digest};
use txn::{Abort, Action, ColumnSet, Key, KeyRange, Share, TableId, TxnId};

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
    let pins = options.sessions * options.moving.owners_of_partition();
    let mut owners: Vec<Owner<M, P>> = Vec::with_capacity(partitions);
    for number in 0..partitions {
        let (share, first) = (Share::of(number, partitions), owners.first());
        owners.push(Owner::of_share(machine, options, share, pins, first)?);
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
///
/// Usually an owner has a partition of all tables. If tables have owners of their own, several owners have a partition, and
/// share the store of its rows: owner number `t * partitions + n` has table number `t` of partition number `n`.
pub(crate) struct OwnedSites<'s, M: Machine, P: Protocol<M>> {
    /// The stores of the partitions, with their protocols.
    owners: &'s [Owner<M, P>],
    /// Number of owners of each partition.
    tables: usize,
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
    /// Mailboxes of the executors, if there are any.
    mailboxes: Option<&'s Mailboxes<M>>,
    /// The executors that have worked.
    executors: Vec<Executor<'s, M, P>>,
    /// Numbers of the sites that executors have.
    lent: Vec<usize>,
    /// The only site of an executor.
    only: Option<usize>,
    /// Set while not all sites can be accessed.
    is_parted: bool,
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
            tables: 1,
            ways,
            core,
            session,
            sites: owners.iter().map(|_| None).collect(),
            joined: Vec::new(),
            begun: None,
            age: None,
            mailboxes: None,
            executors: Vec::new(),
            lent: Vec::new(),
            only: None,
            is_parted: false,
        }
    }

    /// Gives each partition `tables` owners. The session has not used any.
    pub fn with_tables(self, tables: usize) -> Self {
        let sites = (0..self.owners.len() * tables).map(|_| None).collect();
        OwnedSites { tables, sites, ..self }
    }

    /// Gives the session the executors that serve `mailboxes`.
    pub fn with_executors(self, mailboxes: Option<&'s Mailboxes<M>>) -> Self {
        OwnedSites { mailboxes, ..self }
    }

    /// Returns the number of the first owner of a partition.
    #[inline(always)]
    fn owner_of(&self, partition: u64) -> usize {
        let owners = self.owners.len() as u64;
        (if partition < owners { partition } else { partition % owners }) as usize
    }

    /// Returns the first owner of the partition whose copies of replicated rows the session reads.
    #[inline(always)]
    fn home(&self) -> usize {
        if let Some(only) = self.only {
            return only % self.owners.len();
        }
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
        let first = partition.map_or_else(|| self.home(), |partition| self.owner_of(partition));
        first + self.first_owner(table)
    }

    /// Returns how many owners lie before those of `table`.
    #[inline(always)]
    fn first_owner(&self, table: &Table<M>) -> usize {
        if self.tables == 1 {
            return 0;
        }
        let base = table.schema().index_of.as_ref().map_or(table.id(), |index| index.table);
        base.0 as usize % self.tables * self.owners.len()
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
        // The sites of a session at one store pin epochs under numbers of their own.
        let (partition, table) = (owner % self.owners.len(), owner / self.owners.len());
        let pin = self.session * self.tables + table;
        let site = OwnedSite::new(&self.owners[partition], self.core, (self.session, pin), way);
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
                if self.tables > 1 {
                    first_of_partition(&mut self.joined, owner, self.owners.len());
                }
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
        site.begin(Txn { age, attempt, read_only, ..Txn::new(id) });
        begun.age = age.or(site.age());
    }

    /// Returns false while site number `owner` is lent, and for an executor to which it is not.
    #[inline(always)]
    fn has(&self, owner: usize) -> bool {
        !self.is_parted || self.only.is_none_or(|only| only == owner) && !self.lent.contains(&owner)
    }

    /// Has the work of the session done on `core`. To be called for an executor, which has one site.
    pub fn use_core(&mut self, core: &'s M::Core) {
        self.core = core;
        if let Some(site) = self.only.and_then(|only| self.sites[only].as_mut()) {
            site.use_core(core);
        }
    }

    /// Returns the number of an executor that has nothing to do. It is one that is at `owner` already, if there is one.
    fn idle_executor(&mut self, rows: &Rows<'s, M>, owner: usize) -> Option<usize> {
        let idle = |executor: &Executor<'s, M, P>| !executor.is_busy;
        let there = |executor: &Executor<'s, M, P>| idle(executor) && executor.at == Some(owner);
        let found = self.executors.iter().position(there);
        let mailboxes = self.mailboxes?;
        if found.is_some() || self.executors.len() == mailboxes.servers() {
            return found.or_else(|| self.executors.iter().position(idle));
        }
        let Ways::Moves { assignment, home } = self.ways else { return None };
        let ways = Ways::Moves { assignment, home };
        let sites =
            OwnedSites::new(self.owners, ways, self.core, self.session).with_tables(self.tables);
        let mailbox = mailboxes.at(self.executors.len(), 0);
        let adds_at_commit = self.at(owner).adds_at_commit();
        self.executors.push(Executor::new(mailbox, (rows, sites), adds_at_commit));
        Some(self.executors.len() - 1)
    }

    /// Lends the site of `owner` to an executor: takes it out, and returns what moves it to the executor's sites.
    fn lend(&mut self, owner: usize) -> impl FnOnce(&mut OwnedSites<'s, M, P>) + use<'s, M, P> {
        self.at(owner);
        let (begun, site) = (self.begun, self.sites[owner].take());
        self.lent.push(owner);
        self.is_parted = true;
        move |sites| {
            sites.sites[owner] = site;
            sites.only = Some(owner);
            sites.is_parted = true;
            sites.begun = begun;
            sites.joined.clear();
            sites.joined.push(owner);
        }
    }

    /// Returns the site of an executor, on its owner's core.
    pub fn only(&mut self) -> &mut OwnedSite<'s, M, P> {
        let only = self.only.expect("an executor has a site");
        self.at(only)
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
        self.sites.len()
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
        Some(self.owner_of_number(self.table(table), number)).filter(|owner| self.has(*owner))
    }

    fn of_range(&self, table: TableId, keys: KeyRange) -> Place {
        let mut met = RangeSites::default();
        let table = self.table(table);
        let first = self.first_owner(table);
        table.schema().partitioning.all_of_range(keys, |partition| {
            met.add(first + self.owner_of(partition));
            true
        });
        match met.place(first + self.home()) {
            Place::One(owner) if !self.has(owner) => Place::Undeclared,
            Place::Several(_) if self.is_parted => Place::Undeclared,
            place => place,
        }
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

    #[inline(always)]
    fn splits(&self) -> bool {
        self.mailboxes.is_some()
    }

    fn start_actions(&mut self, rows: &mut Rows<'s, M>, actions: &mut [Action<'_>]) -> Vec<usize> {
        let home = |action: &Action<'_>| self.owner_of_number(self.table(action.table), action.key);
        let mut routed: Vec<(usize, usize)> = actions.iter().map(home).zip(0..).collect();
        routed.sort_unstable();
        let mut groups: Vec<&[(usize, usize)]> =
            routed.chunk_by(|one, next| one.0 == next.0).collect();
        let here = (0..groups.len()).find(|at| self.is_near(groups[*at][0].0)).unwrap_or(0);
        let mut own: Vec<usize> = groups.swap_remove(here).iter().map(|(_, at)| *at).collect();
        let actions = actions.as_mut_ptr();
        for group in groups {
            let mine = group.iter().map(|(_, at)| *at);
            match self.idle_executor(rows, group[0].0) {
                None => own.extend(mine),
                Some(executor) => {
                    let lend = self.lend(group[0].0);
                    let (executor, owner) = (&mut self.executors[executor], group[0].0);
                    // SAFETY: the session touches its own actions only, until `end_actions` has waited for all executors.
                    unsafe { executor.run((self.core, rows), owner, (actions, mine), lend) };
                }
            }
        }
        own
    }

    fn start_endings(&mut self, rows: &mut Rows<'s, M>, ending: Ending) -> Vec<usize> {
        let mut left = Vec::with_capacity(self.joined.len());
        for owner in self.joined.clone() {
            let there =
                |executor: &Executor<'s, M, P>| !executor.is_busy && executor.at == Some(owner);
            match self.executors.iter().position(there) {
                Some(executor) if !self.is_near(owner) => {
                    let lend = self.lend(owner);
                    self.executors[executor].end((self.core, rows), ending, lend);
                }
                _ => left.push(owner),
            }
        }
        left
    }

    fn end_actions(&mut self, rows: &mut Rows<'s, M>) -> Result<(), Abort> {
        let (mut ended, mut panicked) = (Ok(()), None);
        let mut executors = std::mem::take(&mut self.executors);
        for executor in executors.iter_mut().filter(|executor| executor.is_busy) {
            let owner = executor.at.expect("it works there");
            let done = executor.wait(self.core, rows, |sites| {
                self.sites[owner] = sites.sites[owner].take();
                sites.only = None;
            });
            match done {
                Ok(done) => ended = ended.and(done),
                Err(panic) => panicked = Some(panic),
            }
        }
        self.executors = executors;
        self.lent.clear();
        self.is_parted = false;
        match panicked {
            Some(panic) => resume_unwind(panic),
            None => ended,
        }
    }
}

impl<'s, M: Machine, P: Protocol<M>> DirectSites<'s, M, P> for OwnedSites<'s, M, P> {
    #[inline(always)]
    fn direct(&mut self, table: TableId, key: u64) -> Option<&mut LocalSite<'s, M, P>> {
        let owner = self.owner_of_number(self.table(table), key);
        match self.is_direct(owner) && self.has(owner) {
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

    fn prefetch(&mut self, table: TableId, rows: &[(u64, ColumnSet)]) {
        let home = self.table(table);
        let owned = |row: &(u64, ColumnSet)| (self.owner_of_number(home, row.0), *row);
        let mut left: Vec<_> = rows.iter().map(owned).collect();
        left.retain(|(owner, _)| self.has(*owner) && self.is_near(*owner));
        left.sort_unstable_by_key(|(owner, (key, _))| (*owner, *key));
        let mut own = Vec::with_capacity(left.len());
        for rows in left.chunk_by(|one, next| one.0 == next.0) {
            own.clear();
            own.extend(rows.iter().map(|(_, row)| *row));
            self.at(rows[0].0).local().prefetch(table, &own);
        }
    }
}

/// Moves the owners of `owner`'s partition to the front, and keeps the order of the others. The owners of a partition can be on
/// one core. `owners` is the number of all owners.
fn first_of_partition(joined: &mut [usize], owner: usize, owners: usize) {
    let partition = |owner: usize| owner % owners;
    joined.sort_by_key(|other| partition(*other) != partition(owner));
}
