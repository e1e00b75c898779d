//! The builds of the measured program, and the options by which each is simulated.
//!
//! Source: The Full Story of 1000 Cores (Bang et al., 2022), sections 3.1 to 3.3. The builds form a ladder: each one has the
//! changes of all before. `data/full-story/README.md` has the same table in words.

use engine::{AccessOptions, Allocator, ColumnLookup, ConstantReads};
use protocols::{CommitLocks, LatchKind, ProtocolOptions, TimestampAllocation};
use workloads::{IndexChoice, tpcc_accesses::TpccAccessesOptions};

/// Bounded spinning in the measured program: it looks again after 1, 3, 7 and 15 PAUSE instructions, and then aborts.
const SPINS: CommitLocks = CommitLocks::Bounded { pauses: 26 };

/// Options that differ from build to build.
#[derive(Clone, Debug, PartialEq)]
pub struct Build {
    /// Options of the protocol.
    pub protocol: ProtocolOptions,
    /// Options by which accesses are executed, apart from copies, which depend on the scheme.
    pub access: AccessOptions,
    /// Options of the workload. The number of copies of the items is that of the sockets, or 1.
    pub workload: TpccAccessesOptions,
    /// Set if each socket has a copy of the items. Otherwise they lie where their loader ran, on the first socket.
    pub replicates_items: bool,
}

/// A change of a build to the one before it.
type Step = fn(&mut Build);

/// The builds in their order, and what each changes. A build without a change differs in something that is not modelled.
const LADDER: &[(&str, Step)] = &[
    ("original", |_| {}),
    ("hw-clock", |build| build.protocol.timestamps = TimestampAllocation::Clock),
    ("hw-clock+full-schema", |build| build.workload.full_schema = true),
    ("hw-clock+full-schema+inserts", |build| build.workload.inserts = true),
    ("opt0", |_| {}),
    ("opt1", |build| build.access.rows = Allocator::Arena),
    ("opt2", |build| build.workload.index = IndexChoice::Perfect),
    ("opt3", |build| build.protocol.latch = LatchKind::Yielding),
    ("opt4", |build| build.replicates_items = true),
    ("opt5", |build| {
        build.workload.bulk_insert = true;
        build.workload.prefetch = true;
    }),
    ("opt6", |build| build.access.columns = ColumnLookup::Compiled),
    ("opt7", |build| build.protocol.commit_locks = Some(SPINS)),
    ("opt8", |build| build.access.constants = ConstantReads::Bypass),
    ("optimised", |_| {}),
];

/// Series that were measured with the last build.
const OPTIMISED: &[&str] = &["numa-isolated", "numa-home+remote"];

impl Build {
    /// Returns the build `name`, if it is one of the ladder or was measured with its last build.
    pub fn named(name: &str) -> Option<Build> {
        let last = LADDER.len() - 1;
        let at = match OPTIMISED.contains(&name) {
            true => last,
            false => LADDER.iter().position(|(other, _)| *other == name)?,
        };
        let mut build = Build::before_all();
        LADDER[..=at].iter().for_each(|(_, step)| step(&mut build));
        Some(build)
    }

    /// Returns the options of the program before any change: that of "Staring into the Abyss" (2014).
    fn before_all() -> Build {
        Build {
            protocol: ProtocolOptions {
                timestamps: TimestampAllocation::Atomic,
                latch: LatchKind::Mutex,
                ..ProtocolOptions::default()
            },
            access: AccessOptions {
                constants: ConstantReads::Controlled,
                columns: ColumnLookup::Catalogue,
                rows: Allocator::Malloc,
                // Entries of locks and the copies of OCC are taken by malloc in every build.
                entries: Allocator::Malloc,
                ..AccessOptions::default()
            },
            workload: TpccAccessesOptions {
                full_schema: false,
                inserts: false,
                bulk_insert: false,
                prefetch: false,
                index: IndexChoice::Hash,
                ..TpccAccessesOptions::default()
            },
            replicates_items: false,
        }
    }

    /// Returns true if procedures know the places of columns, so that their own work is all that is not modelled.
    pub fn compiles_procedures(&self) -> bool {
        self.access.columns == ColumnLookup::Compiled
    }

    /// Returns true if warehouses and items bypass concurrency control.
    pub fn bypasses(&self) -> bool {
        self.access.constants == ConstantReads::Bypass
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_build_has_the_changes_of_those_before() {
        let build = |name| Build::named(name).expect(name);
        let original = build("original");
        assert_eq!(original.protocol.timestamps, TimestampAllocation::Atomic);
        assert!(!original.workload.full_schema && !original.workload.inserts);
        assert_eq!(build("opt0"), build("hw-clock+full-schema+inserts"));
        assert_eq!(build("opt0").access.rows, Allocator::Malloc);
        let opt2 = build("opt2");
        assert_eq!((opt2.access.rows, opt2.access.entries), (Allocator::Arena, Allocator::Malloc));
        assert_eq!(
            (opt2.workload.index, opt2.protocol.latch),
            (IndexChoice::Perfect, LatchKind::Mutex)
        );
        assert!(!build("opt3").replicates_items && build("opt4").replicates_items);
        assert!(!build("opt5").compiles_procedures() && build("opt6").compiles_procedures());
        assert!(!build("opt7").bypasses() && build("opt8").bypasses());
        for name in ["optimised", "numa-isolated", "numa-home+remote"] {
            assert_eq!(build(name), build("opt8"));
        }
        assert_eq!(Build::named("opt9"), None);
    }
}
