//! SSN: snapshot isolation made serializable by the serial safety net.
//!
//! Source: Wang, Johnson, Fekete and Pandis, "Efficiently making (almost) any concurrency control mechanism
//! serializable", VLDB Journal 2017.
//!
//! SSN runs on top of [`snapshot`]. A transaction T keeps two stamps:
//!
//! - η(T), in `pstamp`: the latest commit among the transactions that must precede T and have committed before it.
//! - π(T), in `sstamp`: the earliest commit that T can reach through the transactions that must follow it and have
//!   committed before it.
//!
//! If π(T) ≤ η(T), a path back to π(T) may close a cycle, so T aborts. Every version therefore carries the stamp of
//! its writer and the latest stamp of its readers (`rts`). A superseded version carries the π of its overwriter in
//! the `rts` word, which has no other use by then.
//!
//! SSN is serializable but not strict: a transaction that overlaps another which precedes it in the serial order
//! may drag a later one along.
//!
//! Commits are certified concurrently, in the order of their stamps. A transaction that has read a version waits
//! for the outcome of an overwriter with an earlier stamp, and takes over its π.
//!
//! Ranges: the guards of leaves carry stamps as versions do, and scanned leaves must not have gained records (a
//! node set as SILO's). So a transaction that inserts finds the stamps of all transactions that scanned the range.
//!
//! Deviation: the paper keeps a list of readers in each version. Here there is none. If the overwriter's stamp is
//! later, the overwriter may have read `rts` already, so the reader aborts.
//!
//! [`snapshot`]: crate::snapshot

use crate::{
    Declaration, Isolation, faults,
    mechanisms::{
        announced_writes::Announces,
        certifier::{Candidate, Certifier},
        node_set::NodeSet,
        range_times, version_chain,
        version_times::Times,
    },
    snapshot::Snapshot,
};
use machine::{Core, Machine};
use storage::{GuardRef, RecordRef, RowState};
use txn::{Abort, AbortReason};

/// The SSN protocol.
pub type Ssn<M> = Snapshot<M, SafetyNet>;

/// The certifier of SSN.
pub struct SafetyNet;

type Record<'s, M> = RecordRef<'s, M, Times>;

/// State of a transaction: η, π, and the reads that can still be overwritten.
pub struct Stamps<'s, M: Machine> {
    /// η: the latest commit that precedes the transaction.
    pstamp: u64,
    /// π: the earliest commit that follows it.
    sstamp: u64,
    /// Newest versions that were read, with the stamps of their writers.
    reads: Vec<(Record<'s, M>, u64)>,
    leaves: NodeSet<'s, M, Times>,
}

impl<M: Machine> Default for Stamps<'_, M> {
    fn default() -> Self {
        Stamps { pstamp: 0, sstamp: u64::MAX, reads: Vec::new(), leaves: NodeSet::default() }
    }
}

fn unsafe_structure() -> Abort {
    Abort::because(AbortReason::Validation)
}

impl<'s, M: Machine> Stamps<'s, M> {
    fn precede(&mut self, stamp: u64) {
        self.pstamp = self.pstamp.max(stamp);
    }

    fn follow(&mut self, stamp: u64) {
        self.sstamp = self.sstamp.min(stamp);
    }

    fn check(&self, core: &M::Core) -> Result<(), Abort> {
        let excludes = !core.is_planted(faults::SSN_WITHOUT_EXCLUSION);
        match excludes && self.sstamp <= self.pstamp {
            true => Err(unsafe_structure()),
            false => Ok(()),
        }
    }

    /// Leaves the transaction's stamp at the version of `record` that it has read, if that version is still the
    /// newest. Otherwise takes over the π of the overwriter.
    fn settle(
        &mut self,
        core: &M::Core,
        candidate: &Candidate<'_, 's, M>,
        record: &Record<'s, M>,
        written: u64,
    ) -> Result<(), Abort> {
        let Candidate { stamp, announcer, clock, .. } = candidate;
        loop {
            announcer.latch(core, record);
            // The record's words have been passed on, so no transaction would find a stamp left here.
            if record.head(core).state == RowState::RETIRED {
                announcer.unlatch(core, record);
                return Err(Abort::because(AbortReason::RecordRetired));
            }
            if version_chain::wts(core, record) != written {
                let seen = version_chain::seen_at(core, record, announcer.begin);
                let (version, superseded) = seen.expect("a version that was read stays");
                let successor = core.load_relaxed(version.line(), &version.cc().rts);
                announcer.unlatch(core, record);
                // A later overwriter has committed without seeing this reader's stamp.
                if superseded > *stamp {
                    return Err(unsafe_structure());
                }
                self.follow(successor);
                return Ok(());
            }
            let other = announcer.other_committing(core, record);
            let awaits = !core.is_planted(faults::SSN_WITHOUT_WAITING);
            let Some(other) = other.filter(|_| awaits) else {
                if !core.is_planted(faults::SSN_WITHOUT_READ_STAMPS) {
                    raise(core, record, *stamp);
                }
                announcer.unlatch(core, record);
                return Ok(());
            };
            announcer.unlatch(core, record);
            if clock.is_later(core, other, *stamp) {
                return Err(unsafe_structure());
            }
        }
    }

    /// Does the same as [`Stamps::settle`] for the scanned ranges.
    fn settle_ranges(&mut self, core: &M::Core, stamp: u64) -> Result<(), Abort> {
        for guard in self.leaves.guards() {
            range_times::raise_both(core, guard, (0, stamp));
        }
        // An insertion has been counted by now, or will find the stamp.
        core.fence();
        let absences = self.leaves.guards().map(|guard| range_times::times_in(core, guard).0);
        let latest = absences.max().unwrap_or(0);
        if !core.is_planted(faults::SSN_IGNORES_ABSENCES) {
            self.precede(latest);
        }
        self.leaves.validate(core)
    }
}

/// Raises the latest stamp of the readers of the record's newest version to `stamp`. The caller holds the record's
/// latch.
fn raise<M: Machine>(core: &M::Core, record: &Record<'_, M>, stamp: u64) {
    let (line, rts) = (record.line(), &record.cc().rts);
    if core.load_relaxed(line, rts) < stamp {
        core.store_relaxed(line, rts, stamp);
    }
}

impl<M: Machine> Certifier<M> for SafetyNet {
    type Stamps<'s>
        = Stamps<'s, M>
    where
        M: 's;

    const ASKS_READERS: bool = true;

    fn declare() -> Declaration {
        Declaration {
            name: "SSN",
            summary: "snapshot isolation with the serial safety net: aborts who may close a cycle",
            source: "Wang et al., VLDB Journal 2017",
            isolation: Isolation::Serializable,
            strict: false,
            one_site: Some(
                "stamps are of one site's clock, and exclude each other at one site only",
            ),
        }
    }

    fn read<'s>(
        core: &M::Core,
        stamps: &mut Stamps<'s, M>,
        record: Record<'s, M>,
        begin: u64,
    ) -> Result<(), Abort> {
        let seen = version_chain::seen_at(core, &record, begin);
        let (version, superseded) = seen.expect("read just now");
        let written = version_chain::wts(core, &version);
        if superseded == u64::MAX {
            return Self::read_newest(core, stamps, record, written);
        }
        stamps.precede(written);
        stamps.follow(core.load_relaxed(version.line(), &version.cc().rts));
        stamps.check(core)
    }

    fn read_newest<'s>(
        core: &M::Core,
        stamps: &mut Stamps<'s, M>,
        record: Record<'s, M>,
        written: u64,
    ) -> Result<(), Abort> {
        stamps.precede(written);
        stamps.reads.push((record, written));
        stamps.check(core)
    }

    fn scan<'s>(core: &M::Core, stamps: &mut Stamps<'s, M>, guard: GuardRef<'s, M, Times>) {
        if !core.is_planted(faults::PHANTOM_UNCERTIFIED_RANGE) {
            stamps.leaves.observe(core, guard);
        }
    }

    fn made<'s>(
        core: &M::Core,
        stamps: &mut Stamps<'s, M>,
        guard: GuardRef<'s, M, Times>,
        record: Record<'s, M>,
        counted: u64,
    ) {
        if stamps.leaves.made(guard, counted) {
            let written = version_chain::wts(core, &record);
            stamps.precede(written);
            stamps.reads.push((record, written));
        }
    }

    fn split<'s>(
        core: &M::Core,
        stamps: &mut Stamps<'s, M>,
        guard: GuardRef<'s, M, Times>,
        right: GuardRef<'s, M, Times>,
        counted: u64,
    ) {
        stamps.leaves.split(core, guard, right, counted);
    }

    fn certify<'s>(
        core: &M::Core,
        stamps: &mut Stamps<'s, M>,
        candidate: Candidate<'_, 's, M>,
    ) -> Result<(), Abort> {
        stamps.follow(candidate.stamp);
        let reads = std::mem::take(&mut stamps.reads);
        let mut unwritten = reads.iter().filter(|(r, _)| candidate.writes.find(r).is_none());
        let settled = unwritten
            .try_for_each(|(record, written)| stamps.settle(core, &candidate, record, *written));
        stamps.reads = reads;
        settled?;
        stamps.settle_ranges(core, candidate.stamp)?;
        for record in candidate.writes.records() {
            // The record is marked, so a transaction that leaves a later stamp there has found this commit.
            let (written, read) = range_times::times_of(core, &record);
            stamps.precede(written.max(read));
        }
        stamps.check(core)
    }

    fn installed<'s>(
        core: &M::Core,
        stamps: &Stamps<'s, M>,
        record: &Record<'s, M>,
        older: Option<&Record<'s, M>>,
        stamp: u64,
    ) {
        if let Some(older) = older {
            core.store_relaxed(older.line(), &older.cc().rts, stamps.sstamp);
        }
        raise(core, record, stamp);
    }

    fn forget(stamps: &mut Stamps<'_, M>) {
        (stamps.pstamp, stamps.sstamp) = (0, u64::MAX);
        stamps.reads.clear();
        stamps.leaves.clear();
    }
}
