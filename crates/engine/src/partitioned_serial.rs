//! Partitioned serial execution: each partition of the data has an owner with rows and indexes of its own, and a
//! transaction has its partitions to itself from its begin to its end (Trireme 2.2 and 3.3; after H-Store, Kallman et al.,
//! VLDB 2008).
//!
//! A transaction declares its partitions before it starts. At its begin its core latches their owners, in ascending order,
//! so that waits form no cycle. It releases the latches when the commit or the rollback has ended. In between nothing needs
//! protection, so the protocol under this architecture isolates nothing, and no transaction aborts except by its own wish.
//! The pair is strictly serializable: a transaction runs alone in its partitions within the time that it takes.
//!
//! - A transaction that declares nothing gets all partitions.
//! - An access to a partition that was not declared aborts the transaction for good
//!   ([`txn::AbortReason::UndeclaredPartition`]). Writes are buffered until commit, so nothing of it remains.
//! - Rows that are in all partitions ([`txn::Partitioning::Replicated`]) are loaded into each owner, and are constant. A
//!   transaction reads the copy of the partition that it declares first.
//! - A range can lie in several partitions. Then a scan merges the rows of their owners by key.
//! - Absent records are removed from the indexes under the latch too, so no transaction meets a retired record.
//!
//! Deviations:
//!
//! - A transaction stays on the core that begins it, as in Trireme. It is not sent to the core of a partition, so there can
//!   be more partitions than cores.
//! - The indexes are those of the other architectures. They synchronise inserts by latches of their own, which are always
//!   free here.
//! - There can be fewer owners than partitions: owner `p mod owners` has partition `p`.

use crate::{
    EngineError, EngineOptions,
    architecture::{Architecture, ArchitectureDeclaration, DirectSites, OwnersWork},
    owner::{Owner, arena_of},
    rows::{Place, RangeSites, Sites},
    site::{LocalSite, Site},
};
use machine::{Category, Core, Machine, Service, cold::Arc};
use protocols::{
    Protocol, Txn, faults,
    mechanisms::critical_section::{CriticalSection, Entrance},
};
use storage::{Store, Table, key_digest};
use txn::{ColumnSet, Key, KeyRange, Share, TableId};

/// Description that `kilocore list` prints.
pub(crate) const DECLARATION: ArchitectureDeclaration = ArchitectureDeclaration {
    name: "partitioned_serial",
    summary: "each partition is stored apart; a transaction latches its partitions and then runs alone in them",
    source: "Trireme 2.2, 3.3; H-Store (Kallman et al. 2008)",
    sites: None,
    isolates: true,
    work: OwnersWork::Shared,
};

/// Largest number of partitions. An owner takes a quarter of a megabyte before it has rows.
const MAX_PARTITIONS: u64 = 4096;

/// The only number under which epochs of an owner are pinned. The session that has entered the partition uses it.
const PIN: usize = 0;

/// The owners, by number.
pub(crate) struct PartitionedSerial<M: Machine, P: Protocol<M>>(Vec<Partition<M, P>>);

/// An owner, and the latch that a transaction holds while it uses the owner.
struct Partition<M: Machine, P: Protocol<M>> {
    owner: Owner<M, P>,
    latch: CriticalSection<M>,
}

impl<M: Machine, P: Protocol<M>> Architecture<M, P> for PartitionedSerial<M, P> {
    const DECLARED: &'static ArchitectureDeclaration = &DECLARATION;
    const SUPPORTED: bool = !P::ISOLATES;
    const DIRECT: bool = true;
    type Sites<'s> = PartitionSites<'s, M, P>;

    fn create(machine: &Arc<M>, options: &EngineOptions) -> Result<Self, EngineError> {
        let (partitions, most) = (options.partitions, MAX_PARTITIONS);
        if !(1..=most).contains(&partitions) {
            return Err(EngineError::Partitions { given: partitions, most });
        }
        let partitions = partitions as usize;
        let partition = |number| -> Result<_, EngineError> {
            let share = Share::of(number, partitions);
            Ok(Partition {
                owner: Owner::of_share(machine, options, share, PIN + 1, None)?,
                latch: CriticalSection::new(&arena_of(machine, number), options.sessions)
                    .map_err(storage::StoreError::OutOfMemory)?,
            })
        };
        (0..partitions).map(partition).collect::<Result<_, _>>().map(PartitionedSerial)
    }

    fn stores(&self) -> impl Iterator<Item = &Store<M>> {
        self.0.iter().map(|partition| partition.owner.store())
    }

    fn sites<'s>(&'s self, core: &'s M::Core, session: usize) -> PartitionSites<'s, M, P> {
        let sites = self.0.iter().map(|_| None).collect();
        PartitionSites { partitions: &self.0, core, session, sites, entered: Vec::new(), home: 0 }
    }

    /// Returns nothing: sessions advance an owner's epoch when they want to use memory again, and are never kept from it.
    fn services(&self) -> Vec<Service<'_, M>> {
        Vec::new()
    }
}

/// A session's sites, one at each owner that the session has used.
pub(crate) struct PartitionSites<'s, M: Machine, P: Protocol<M>> {
    partitions: &'s [Partition<M, P>],
    core: &'s M::Core,
    session: usize,
    /// Sites by the numbers of their owners. A session seldom uses all owners.
    sites: Vec<Option<Box<PartitionSite<'s, M, P>>>>,
    /// Numbers of the owners of which the running attempt has declared partitions, ascending.
    entered: Vec<usize>,
    /// The owner whose copies of replicated rows the attempt reads.
    home: usize,
}

/// A session's site at one owner, and its way in.
struct PartitionSite<'s, M: Machine, P: Protocol<M>> {
    site: LocalSite<'s, M, P>,
    entrance: Entrance<'s, M>,
}

impl<'s, M: Machine, P: Protocol<M>> PartitionSites<'s, M, P> {
    /// Returns the number of the owner of a partition.
    #[inline(always)]
    fn owner_of(&self, partition: u64) -> usize {
        let owners = self.partitions.len() as u64;
        (if partition < owners { partition } else { partition % owners }) as usize
    }

    /// Returns true if the running attempt has declared a partition of this owner.
    #[inline(always)]
    fn has_entered(&self, owner: usize) -> bool {
        match self.entered[..] {
            [only] => only == owner,
            _ => self.entered.binary_search(&owner).is_ok(),
        }
    }

    /// Returns the number of the owner that has the number `number` of `table`, if the attempt can access it.
    #[inline(always)]
    fn entered_owner(&self, table: &Table<M>, number: u64) -> Option<usize> {
        let Some(partition) = table.schema().partitioning.of(number) else {
            return Some(self.home);
        };
        let owner = self.owner_of(partition);
        self.has_entered(owner).then_some(owner)
    }

    /// Returns what the first owner has of a table. Its schema is the same at all owners.
    #[inline(always)]
    fn table(&self, table: TableId) -> &'s Table<M> {
        self.partitions[0].owner.store().table(table)
    }

    #[inline(always)]
    fn at(&mut self, owner: usize) -> &mut PartitionSite<'s, M, P> {
        if self.sites[owner].is_none() {
            self.make(owner);
        }
        self.sites[owner].as_mut().expect("it was just made")
    }

    #[cold]
    fn make(&mut self, owner: usize) {
        let partition = &self.partitions[owner];
        let site = LocalSite::pinning(&partition.owner, self.core, self.session, PIN);
        let entrance = partition.latch.entrance(self.session);
        self.sites[owner] = Some(Box::new(PartitionSite { site, entrance }));
    }
}

impl<'s, M: Machine, P: Protocol<M>> Sites<'s, M> for PartitionSites<'s, M, P> {
    fn count(&self) -> usize {
        self.partitions.len()
    }

    fn enter(&mut self, txn: &Txn<'_>) {
        let core = self.core;
        let before = core.account(Category::ConcurrencyControl);
        self.entered.clear();
        if txn.partitions.is_empty() {
            self.entered.extend(0..self.partitions.len());
        }
        for &partition in txn.partitions {
            let owner = self.owner_of(partition);
            if !self.entered.contains(&owner) {
                self.entered.push(owner);
            }
        }
        self.home = self.entered[0];
        let unlatched = core.is_planted(faults::PARTITION_LEFT_UNLATCHED) && self.entered.len() > 1;
        if !core.is_planted(faults::LATCHED_AS_DECLARED) {
            self.entered.sort_unstable();
        }
        for at in 0..self.entered.len() - usize::from(unlatched) {
            let owner = self.entered[at];
            self.at(owner).entrance.enter(core);
        }
        self.entered.sort_unstable();
        core.account(before);
    }

    fn exit(&mut self) {
        let core = self.core;
        let before = core.account(Category::ConcurrencyControl);
        for at in (0..self.entered.len()).rev() {
            let owner = self.entered[at];
            self.at(owner).entrance.leave(core);
        }
        core.account(before);
    }

    fn taking_part(&self) -> usize {
        self.entered.len()
    }

    fn part(&self, at: usize) -> usize {
        self.entered[at]
    }

    fn of_key(&self, table: TableId, key: Key<'_>) -> Option<usize> {
        let number = match key {
            Key::Number(number) => number,
            Key::Bytes(bytes) => key_digest(bytes),
        };
        self.entered_owner(self.table(table), number)
    }

    fn of_range(&self, table: TableId, keys: KeyRange) -> Place {
        let mut met = RangeSites::default();
        let declared = self.table(table).schema().partitioning.all_of_range(keys, |partition| {
            let owner = self.owner_of(partition);
            met.add(owner);
            self.has_entered(owner)
        });
        if declared { met.place(self.home) } else { Place::Undeclared }
    }

    fn site(&mut self, at: usize) -> &mut dyn Site<'s, M> {
        &mut self.at(at).site
    }

    fn is_used(&self, at: usize) -> bool {
        self.sites[at].is_some()
    }

    fn latches_partitions(&self) -> bool {
        true
    }

    fn age(&self) -> Option<u64> {
        None
    }
}

impl<'s, M: Machine, P: Protocol<M>> DirectSites<'s, M, P> for PartitionSites<'s, M, P> {
    #[inline(always)]
    fn direct(&mut self, table: TableId, key: u64) -> Option<&mut LocalSite<'s, M, P>> {
        let owner = self.entered_owner(self.table(table), key)?;
        Some(&mut self.at(owner).site)
    }

    #[inline(always)]
    fn only(&mut self) -> Option<&mut LocalSite<'s, M, P>> {
        None
    }

    #[inline(always)]
    fn alone(&mut self) -> Option<&mut LocalSite<'s, M, P>> {
        match self.entered[..] {
            [owner] => Some(&mut self.at(owner).site),
            _ => None,
        }
    }

    fn prefetch(&mut self, table: TableId, rows: &[(u64, ColumnSet)]) {
        if let Some(site) = self.alone() {
            return site.prefetch(table, rows);
        }
        let home = self.table(table);
        for at in 0..self.entered.len() {
            let owner = self.entered[at];
            let is_own = |row: &&(u64, ColumnSet)| self.entered_owner(home, row.0) == Some(owner);
            let own: Vec<_> = rows.iter().filter(is_own).copied().collect();
            self.at(owner).site.prefetch(table, &own);
        }
    }
}
