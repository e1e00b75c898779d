//! Provides records computed by formulas, to test and view reports. Nothing here was measured.

use harness::run_record::{
    Certificate, Latency, MachineKind, Promise, RunRecord, Setting, Verdict,
};
use machine::Category;

/// Behaviour of an invented protocol.
struct Shape {
    name: &'static str,
    /// Transactions per second on one core.
    alone: f64,
    /// Share of work that does not scale.
    serial: f64,
    /// Abort ratio with very many cores.
    aborts: f64,
    promise: Promise,
    strict: Verdict,
}

const STRICT: Promise = Promise { serializable: true, strict: true, ..NOTHING };
const SERIALIZABLE: Promise = Promise { serializable: true, ..NOTHING };
const NOTHING: Promise = Promise {
    read_committed: false,
    snapshot: false,
    strong_snapshot: false,
    serializable: false,
    strict: false,
};

const SHAPES: [Shape; 6] = [
    Shape {
        name: "NO_CC",
        alone: 2.4e5,
        serial: 0.0001,
        aborts: 0.0,
        promise: NOTHING,
        strict: Verdict::Fail,
    },
    Shape {
        name: "NO_WAIT",
        alone: 2.0e5,
        serial: 0.0022,
        aborts: 0.55,
        promise: STRICT,
        strict: Verdict::Pass,
    },
    Shape {
        name: "WAIT_DIE",
        alone: 1.9e5,
        serial: 0.004,
        aborts: 0.4,
        promise: STRICT,
        strict: Verdict::Pass,
    },
    Shape {
        name: "TIMESTAMP",
        alone: 1.2e5,
        serial: 0.009,
        aborts: 0.3,
        promise: SERIALIZABLE,
        strict: Verdict::Fail,
    },
    Shape {
        name: "SILO",
        alone: 2.1e5,
        serial: 0.0012,
        aborts: 0.35,
        promise: STRICT,
        strict: Verdict::Pass,
    },
    Shape {
        name: "TICTOC",
        alone: 2.05e5,
        serial: 0.0009,
        aborts: 0.28,
        promise: SERIALIZABLE,
        strict: Verdict::Fail,
    },
];

/// Returns records of two machines, six protocols and some numbers of cores. The last record is an interrupted one.
pub fn records() -> Vec<RunRecord> {
    let native = [1, 2].map(|cores| (MachineKind::Native, cores));
    let simulated = [1, 4, 16, 64, 256, 1024].map(|cores| (MachineKind::Simulated, cores));
    let mut records = Vec::new();
    for (kind, cores) in native.into_iter().chain(simulated) {
        records.extend(SHAPES.iter().map(|shape| record(shape, kind, cores)));
    }
    records.last_mut().expect("there are records").interrupted = true;
    records
}

fn record(shape: &Shape, kind: MachineKind, cores: usize) -> RunRecord {
    let simulated = kind == MachineKind::Simulated;
    let n = cores as f64;
    let per_core = shape.alone * if simulated { 0.4 } else { 1.0 };
    let throughput =
        per_core * n / (1.0 + shape.serial * (n - 1.0) + (shape.serial * n).powi(2) / 8.0);
    let abort_ratio = shape.aborts * (1.0 - 1.0 / n).powi(2);
    let mean_ns = 1e9 * n / throughput;
    let contended = shape.aborts.max(0.02) * (1.0 - 1.0 / n);
    let shares = [6.0, 2.0, 1.5, 0.3, contended * 7.0, abort_ratio * 8.0, abort_ratio, 1.2, 0.0];
    let total: f64 = shares.iter().sum();
    let breakdown = Category::ALL.iter().zip(shares).map(|(c, s)| (c.name().to_owned(), s / total));
    let kept = if shape.promise == NOTHING { Verdict::Fail } else { Verdict::Pass };
    let text = |t: &str| Setting::Text(t.into());
    let mut record = RunRecord {
        workload: "ycsb".into(),
        workload_options: [
            ("records".to_owned(), Setting::Integer(10_000_000)),
            ("theta".to_owned(), Setting::Number(0.6)),
            ("read-ratio".to_owned(), Setting::Number(0.5)),
            ("accesses".to_owned(), Setting::Integer(16)),
        ]
        .into(),
        protocol: shape.name.into(),
        protocol_options: [("timestamp_allocation".to_owned(), text("atomic"))].into(),
        architecture: "shared_everything".into(),
        machine: if simulated { "graphite" } else { "native" }.into(),
        machine_kind: kind,
        machine_description: if simulated {
            "synthetic: 1024 tiles in a 2D mesh, 1 GHz, 32 KiB L1, 512 KiB L2 a tile"
        } else {
            "synthetic: 1 socket, 2 cores, 2.1 GHz"
        }
        .into(),
        cores,
        placement: "worker i on core i, memory first touched by the loader".into(),
        seed: 1,
        commit: "0123456789abcdef0123456789abcdef01234567".into(),
        host: "synthetic host, 2 cores, 16 GiB".into(),
        warm_up_s: if simulated { 0.0005 } else { 0.5 },
        measured_s: if simulated { 0.002 } else { 1.0 },
        latency_ns: latency(mean_ns, abort_ratio),
        breakdown: simulated.then(|| breakdown.collect()),
        certificate: Certificate {
            serializable: kept,
            read_committed: kept,
            strict: shape.strict,
            promised: shape.promise,
            ..Certificate::default()
        },
        operations_per_wall_s: simulated.then_some(2.6e7),
        wall_s: simulated.then_some(0.4 + n / 300.0),
        simulated_s: simulated.then_some(0.0025),
        ..RunRecord::blank()
    };
    record.set_repetitions(if simulated {
        vec![throughput]
    } else {
        vec![throughput * 0.985, throughput, throughput * 1.022]
    });
    let commits = (throughput * record.measured_s * record.repetitions as f64) as u64;
    let aborted = (commits as f64 * abort_ratio / (1.0 - abort_ratio)) as u64;
    record.set_attempts(commits, [("lock_conflict".to_owned(), aborted)].into(), 0);
    record
}

fn latency(mean_ns: f64, abort_ratio: f64) -> Latency {
    Latency {
        mean: Some(mean_ns),
        p50: Some((mean_ns * 0.9) as u64),
        p90: Some((mean_ns * 1.6) as u64),
        p99: Some((mean_ns * (2.5 + 30.0 * abort_ratio)) as u64),
        p999: Some((mean_ns * (4.0 + 160.0 * abort_ratio)) as u64),
        max: Some((mean_ns * (9.0 + 900.0 * abort_ratio)) as u64),
        at_least: Vec::new(),
    }
}
