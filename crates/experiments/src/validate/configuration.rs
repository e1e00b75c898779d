//! Turns a measured row into a simulation.

use super::builds::Build;
use super::{Measurement, Measurements, Placement, ValidateOptions};
use engine::{AccessOptions, ConstantReads, Copies, StateLine, Timing};
use harness::{
    back_off::BackOff,
    run::{Growth, Plan},
    steadiness::Rule,
};
use machine::cold::Arc;
use protocols::{
    CommitLocks, KeptVersions, LatchKind, LockForm, OlderAtPartition, ProtocolOptions,
    WaitingWriters, registry,
};
use serde::{Deserialize, Serialize};
use simulator::{Homes, MachineDescription, Simulated, SimulatedOptions};
use workloads::tpcc_accesses::TpccAccessesOptions;

/// Amount of simulation for each row.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Effort {
    /// At full length.
    Full,
    /// For a quarter of the time or less.
    Quick,
}

impl Effort {
    /// Returns the least length of the warm-up, which is also that of the measurement, in seconds of the machine's time.
    ///
    /// Few cores need longer to fill the caches that they use. Many cores do as much work in less time. The interval has room
    /// for the transactions that fill a shared cache, if they run at the measured rate of `row`: where most cores wait, a
    /// shorter run would measure cold caches. It is long beside `timeout_s`, the longest time for which a transaction waits
    /// by itself.
    fn seconds(self, row: &Measurement, timeout_s: f64) -> f64 {
        let share = if self == Effort::Full { 1.0 } else { 0.25 };
        let filled_s = FILLING_TXN / row.throughput_txn_per_s.max(FILLING_TXN);
        let busy_s = 0.1 / row.cores as f64;
        (share * busy_s.max(filled_s)).max(LONG * timeout_s)
    }

    /// Returns the limits of a run that goes on until it is steady.
    fn growth(self) -> Growth {
        let most_busy_s = if self == Effort::Full { 12.0 } else { 2.0 };
        Growth { most_s: 1.0, most_busy_s, together_s: f64::INFINITY, rule: Rule::default() }
    }
}

/// Number of transactions that fill a shared cache: it holds 600,000 lines, of which each transaction uses some ten.
const FILLING_TXN: f64 = 60_000.0;

/// Number of times that the longest timeout fits into a measured interval, at least.
const LONG: f64 = 20.0;

/// A simulation to run.
#[derive(Clone, Debug)]
pub struct Configuration {
    /// The measured row.
    pub measured: Measurement,
    /// The used part of the machine.
    pub machine: Arc<MachineDescription>,
    /// Placement of the warehouses.
    pub placement: Placement,
    /// Socket of each warehouse, or none if there is only one socket.
    pub warehouse_sockets: Option<Arc<[u16]>>,
    /// Options of the workload.
    pub workload: TpccAccessesOptions,
    /// Plan of the run.
    pub plan: Plan,
}

impl Configuration {
    /// Returns the simulation for `row`, which is one of `measurements`. The procedures' own work costs `work_cycles` for
    /// each record.
    pub fn of(
        row: &Measurement,
        measurements: &Measurements,
        options: &ValidateOptions,
        work_cycles: u64,
    ) -> Configuration {
        let platform = measurements.platform_of(row);
        let whole = (*platform.machine).clone().with_thread_steps(&row.threads.steps);
        let placement = match row.numa.as_str() {
            "all" => options.placement,
            "local" => Placement::Home,
            distance => Placement::Distance(platform.level(distance).unwrap_or(0)),
        };
        // Idle sockets are left out, because their caches are not used. Only memory at a distance can be on one of them.
        let threads = match placement {
            Placement::Distance(_) => whole.cores() as u64,
            Placement::Loader | Placement::Home => row.cores,
        };
        let used = whole.filled_by(threads, row.threads.first_socket);
        let warehouse_sockets = placement.sockets(&used, row.warehouses, row.cores);
        let build = row.build();
        let protocol_options = program_options(row, &build);
        let back_off = BackOff::DBX1000;
        let seconds = options.effort.seconds(row, longest_wait_s(row, &protocol_options, back_off));
        Configuration {
            workload: TpccAccessesOptions {
                work_cycles,
                ..workload(row, &build, used.memory_nodes() as u64)
            },
            plan: Plan {
                protocol_options,
                access: access_options(row, &build),
                growth: Some(options.effort.growth()),
                seed: options.seed,
                back_off,
                ..Plan::new(&row.scheme, row.cores as usize, seconds)
            },
            machine: Arc::new(used),
            placement,
            warehouse_sockets: warehouse_sockets.map(Arc::from),
            measured: row.clone(),
        }
    }

    /// Returns the name of the warehouses' placement.
    pub fn placement_name(&self) -> String {
        match self.warehouse_sockets {
            Some(_) => self.placement.name(),
            None => "one socket".to_owned(),
        }
    }

    /// Returns the options of the simulated machine.
    pub fn machine_options(&self, seed: u64) -> SimulatedOptions {
        let placed = self.warehouse_sockets.is_some();
        SimulatedOptions {
            seed,
            homes: if placed { Homes::ByNode } else { Homes::Interleaved },
            sessions_at_home: placed,
            partition_nodes: self.warehouse_sockets.clone(),
            // Thousands of warehouses are touched at scattered places, so huge pages would fill the host's memory.
            huge_pages: false,
            // The sockets share the address space equally, and one of them may have all warehouses.
            reserve_bytes: 1 << 43,
            ..SimulatedOptions::default()
        }
    }

    /// Returns a one-line description for progress and errors.
    pub fn title(&self) -> String {
        let m = &self.measured;
        let (warehouses, cores, smt) = (m.warehouses, m.cores, m.threads.smt());
        let what = format!("{} {} {}", m.platform, m.variant, m.scheme);
        format!("{what} {warehouses} warehouses {cores} cores SMT {smt}")
    }
}

/// Returns the options of the measured program, as far as its engine differs from ours by default.
fn program_options(row: &Measurement, build: &Build) -> ProtocolOptions {
    let commit_locks =
        build.protocol.commit_locks.map(|locks| match (locks, row.scheme.as_str()) {
            // SILO and TICTOC unlock all before they try again. OCC keeps what it has locked.
            (CommitLocks::Bounded { pauses }, "SILO" | "TICTOC") => CommitLocks::Retry { pauses },
            _ => locks,
        });
    ProtocolOptions {
        commit_locks,
        // The latch of MVCC is a word in every build.
        latch: if row.scheme == "MVCC" { LatchKind::Spin } else { build.protocol.latch },
        // A lock is a list of owners under a latch.
        lock_form: LockForm::List,
        // OCC latches a record while it copies it.
        read_locks: true,
        waiting_writers: WaitingWriters::InTurn,
        // Each write of MVCC keeps the version before.
        kept_versions: KeptVersions::All,
        // A search for deadlocks after 1 us, and no wait beyond 1 ms.
        deadlock_search_ns: 1_000,
        lock_timeout_ns: Some(1_000_000),
        // A transaction that is older than the owner of a partition aborts.
        older_at_partition: OlderAtPartition::Aborts,
        ..build.protocol.clone()
    }
}

/// Returns how the measured program executes accesses.
fn access_options(row: &Measurement, build: &Build) -> AccessOptions {
    AccessOptions {
        copies: copies_of(&row.scheme),
        timing: timing_of(&row.scheme),
        // The state is aligned to a line under SILO, and too large for the front line under MVCC.
        state: match row.scheme.as_str() {
            "SILO" | "MVCC" => StateLine::Own,
            _ => StateLine::Front,
        },
        ..build.access
    }
}

/// Returns how often the measured program reads the clock for its breakdown of time. Under HSTORE an access returns before
/// the clock is read (`data/full-story/README.md`).
fn timing_of(scheme: &str) -> Timing {
    match scheme {
        "HSTORE" => Timing::LookUps,
        "MVCC" => Timing::Versions,
        _ => Timing::Accesses,
    }
}

/// Returns what the measured program copies under a scheme. SILO, TICTOC and OCC copy whole records when they access them. MVCC and
/// two-phase locking copy them before a write. HSTORE copies nothing, and touches only the columns that a procedure needs
/// (`data/full-story/README.md`).
fn copies_of(scheme: &str) -> Copies {
    match scheme {
        "HSTORE" => Copies::Columns,
        "SILO" | "TICTOC" | "OCC" => Copies::Records,
        "MVCC" => Copies::Updates,
        _ => Copies::BeforeImages,
    }
}

/// Returns the longest time for which a transaction of `row` waits by itself, in seconds.
fn longest_wait_s(row: &Measurement, options: &ProtocolOptions, back_off: BackOff) -> f64 {
    let declared = registry::declarations::<Simulated>(options);
    let knobs = registry::knobs::<Simulated>();
    let heeds_timeout = declared
        .iter()
        .zip(&knobs)
        .any(|(declared, knobs)| declared.name == row.scheme && knobs.contains(&"lock-timeout"));
    let timeout_ns = options.lock_timeout_ns.filter(|_| heeds_timeout).unwrap_or(0);
    let bound_ns = match back_off {
        BackOff::Wait { cap_ns, .. } => cap_ns,
        BackOff::Aside { bound_ns, .. } => bound_ns,
    };
    timeout_ns.max(bound_ns) as f64 * 1e-9
}

/// Returns the workload of a row, on a machine of which `sockets` sockets are used.
fn workload(row: &Measurement, build: &Build, sockets: u64) -> TpccAccessesOptions {
    TpccAccessesOptions {
        warehouses: row.warehouses,
        remote_lines: row.remote_lines_pct / 100.0,
        remote_payments: row.remote_payments_pct / 100.0,
        row_head_bytes: row_head_bytes(&row.scheme),
        prefetch_items: !copies_items(&row.scheme, build),
        item_replicas: if build.replicates_items { sockets } else { 1 },
        ..build.workload.clone()
    }
}

/// Returns whether the measured program copies an item before it prefetches its data, which is useless then.
fn copies_items(scheme: &str, build: &Build) -> bool {
    build.access.constants == ConstantReads::Controlled && copies_of(scheme) == Copies::Records
}

/// Returns the bytes that an inserted row of the measured program has beside its data, when its memory comes from chunks
/// (`data/full-story/README.md`). MVCC also makes arrays of four versions and of four requests.
fn row_head_bytes(scheme: &str) -> u64 {
    const MVCC_ARRAYS: u64 = 128 + 128;
    match scheme {
        "HSTORE" => 40,
        "TICTOC" => 56,
        "SILO" => 192,
        "OCC" => 64,
        "MVCC" => 192 + MVCC_ARRAYS,
        _ => 96,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use engine::Allocator;
    use protocols::{CommitLocks, TimestampAllocation};

    fn of(row: &str) -> Configuration {
        let header = "platform,variant,scheme,warehouses,cores,smt,numa,remote_neworder_pct,\
                      remote_payment_pct,throughput_txn_per_s,abort_ratio,split";
        let read = Measurements::parse(&format!("{header}\n{row}\n"), "t.csv").unwrap();
        Configuration::of(&read.rows[0], &read, &ValidateOptions::default(), 0)
    }

    #[test]
    fn only_used_sockets_are_modelled_and_warehouses_lie_where_they_did() {
        let one = of("hpe,opt8,SILO,4,56,2,all,1,15,1,0,calib");
        assert_eq!((one.machine.memory_nodes(), &one.warehouse_sockets), (1, &None));
        let two = of("hpe,opt8,SILO,4,57,2,all,1,15,1,0,calib");
        assert_eq!((two.machine.memory_nodes(), two.placement), (2, Placement::Loader));
        assert_eq!(two.warehouse_sockets.as_deref(), Some(&[0, 0, 0, 0][..]));
        assert_eq!((two.machine_options(1).homes, two.workload.item_replicas), (Homes::ByNode, 2));
        let many = of("hpe,opt7,SILO,1568,448,2,all,1,15,1,0,calib");
        let sockets = many.warehouse_sockets.expect("there are 8");
        assert_eq!((sockets[0], sockets[447], sockets[1567]), (0, 1, 7));
        let far = of("hpe,numa-isolated,SILO,1568,1568,2,remote,0,0,1,0,calib");
        assert_eq!((far.machine.memory_nodes(), far.placement), (28, Placement::Distance(3)));
        assert_eq!(far.workload.remote_lines, 0.0);
        // The only used socket of 8 has its memory in the other chassis.
        let one = of("power8,numa-isolated,SILO,8,88,8,remote,0,0,1,0,calib");
        let sockets = one.warehouse_sockets.expect("there are 8");
        let level =
            |to: &u16| one.machine.sockets.as_ref().unwrap().level_between(0, u64::from(*to));
        assert!(sockets.iter().all(|to| level(to) == 2), "{sockets:?}");
    }

    #[test]
    fn intervals_are_long_beside_the_longest_wait() {
        let seconds = |row| of(row).plan.measured_s;
        assert_eq!(seconds("hpe,opt8,SILO,4,1,2,all,1,15,600000,0,calib"), 0.1);
        assert_eq!(seconds("hpe,opt8,SILO,4,1568,2,all,1,15,60000000,0,calib"), 0.002);
        assert_eq!(seconds("hpe,opt8,DL_DETECT,4,1568,2,all,1,15,60000000,0,calib"), 0.02);
        // Most cores wait, so the caches fill slowly.
        assert_eq!(seconds("hpe,opt8,HSTORE,4,56,2,all,1,15,1000000,0,calib"), 0.06);
    }

    #[test]
    fn a_build_decides_the_options() {
        let row = |build| of(&format!("hpe,{build},SILO,1024,112,2,all,1,15,1,0,calib"));
        let original = row("original");
        assert_eq!(original.plan.protocol_options.timestamps, TimestampAllocation::Atomic);
        assert!(!original.workload.full_schema && !original.workload.inserts);
        assert_eq!(
            (original.plan.access.rows, original.workload.item_replicas),
            (Allocator::Malloc, 1)
        );
        let last = row("opt7");
        let retries = Some(CommitLocks::Retry { pauses: 26 });
        assert_eq!(last.plan.protocol_options.commit_locks, retries);
        assert_eq!(last.plan.protocol_options.timestamps, TimestampAllocation::Clock);
        assert!(last.workload.full_schema && last.workload.inserts && last.workload.bulk_insert);
        assert_eq!((last.plan.access.rows, last.workload.item_replicas), (Allocator::Arena, 2));
    }

    #[test]
    fn the_eighth_optimisation_reads_constant_columns_without_the_protocol() {
        let access = |row| of(row).plan.access;
        let silo = access("hpe,opt8,SILO,4,1,2,all,1,15,1,0,calib");
        assert_eq!((silo.constants, silo.copies), (ConstantReads::Bypass, Copies::Records));
        let before = access("hpe,opt7,SILO,4,1,2,all,1,15,1,0,calib");
        assert_eq!(before.constants, ConstantReads::Controlled);
        let hstore = access("hpe,opt8,HSTORE,4,1,2,all,1,15,1,0,calib");
        assert_eq!((hstore.copies, hstore.timing), (Copies::Columns, Timing::LookUps));
    }

    #[test]
    fn a_scheme_decides_what_is_copied_and_how_records_lie() {
        let row = |build, scheme| of(&format!("hpe,{build},{scheme},4,1,2,all,1,15,1,0,calib"));
        let no_wait = row("opt7", "NO_WAIT");
        assert_eq!(no_wait.plan.access.copies, Copies::BeforeImages);
        assert_eq!(no_wait.plan.access.state, StateLine::Front);
        assert_eq!((no_wait.workload.row_head_bytes, no_wait.workload.prefetch_items), (96, true));
        let silo = row("opt7", "SILO");
        assert_eq!(
            (silo.plan.access.copies, silo.plan.access.state),
            (Copies::Records, StateLine::Own)
        );
        assert_eq!((silo.workload.row_head_bytes, silo.workload.prefetch_items), (192, false));
        assert!(row("opt8", "SILO").workload.prefetch_items, "items are read without a copy");
        let mvcc = row("opt8", "MVCC");
        assert_eq!((mvcc.plan.access.copies, mvcc.workload.row_head_bytes), (Copies::Updates, 448));
    }
}
