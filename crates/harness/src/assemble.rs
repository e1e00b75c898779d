//! Turns repetitions into the record of a run.

mod quality;

pub use quality::adapted;

use crate::{
    back_off::BackOff,
    run::{Plan, Repetition},
    run_record::{
        AdmissionRecord, ArrivalRecord, Certificate, MachineKind, Promise, RunRecord, Setting,
        Settings, Verdict,
    },
};
use checker::{Level, Requirements};
use engine::{OwnersWork, admission::AdmissionPolicy};
use machine::{Category, LinesMoved, Machine, Movement, Native};
use protocols::{Declaration, Isolation, KNOBS, registry};
use std::collections::BTreeMap;
use txn::AbortReason;

/// Returns the declaration of the protocol of `plan` with the plan's options, under the plan's architecture. Returns none
/// if there is no such protocol or architecture, or if one does not run under the other.
pub fn declaration<M: Machine>(plan: &Plan) -> Option<Declaration> {
    let declared = registry::declarations::<M>(&plan.protocol_options)
        .into_iter()
        .find(|declaration| declaration.name == plan.protocol)?;
    let architecture = engine::registry::declaration(&plan.architecture).ok()?;
    engine::pair(&architecture, declared).ok()
}

/// Returns a protocol's promises as requirements of the checker.
pub fn promised(declaration: &Declaration) -> Requirements {
    match (declaration.isolation, declaration.strict) {
        (Isolation::Serializable, true) => Requirements::STRICT,
        (Isolation::Serializable, false) => Requirements::SERIALIZABLE,
        (Isolation::Snapshot, true) => Requirements::STRONG_SNAPSHOT,
        (Isolation::Snapshot, false) => Requirements::SNAPSHOT_ISOLATION,
        (Isolation::ReadCommitted, _) => Requirements::READ_COMMITTED,
        (Isolation::None, _) => Requirements::NOTHING,
    }
}

/// Checks the histories of `repetitions` and returns the worst certificate, or `None` without histories. Computes all
/// verdicts, even those that the protocol does not promise.
pub fn certify(repetitions: &[Repetition]) -> Option<checker::Certificate> {
    let check = |r: &Repetition| {
        r.history.as_ref().map(|history| checker::check(history, Requirements::ALL))
    };
    repetitions.iter().filter_map(check).max_by_key(badness)
}

/// Returns how bad a certificate is. The weaker the levels it fails, the larger the value.
pub fn badness(certificate: &checker::Certificate) -> u8 {
    let failed = |level| u8::from(certificate.verdict(level) == checker::Verdict::Fail);
    Level::ALL.into_iter().fold(0, |sum, level| 2 * sum + failed(level))
}

/// Returns the source of timestamps and every option that the protocol of `plan` heeds, including defaults.
pub fn protocol_settings(plan: &Plan) -> Settings {
    let timestamps = Setting::Text(plan.protocol_options.timestamps.to_string());
    let mut settings = BTreeMap::from([("timestamp_allocation".to_owned(), timestamps)]);
    if let Some(declaration) = declaration::<Native>(plan) {
        let isolation = Setting::Text(declaration.isolation.to_string());
        settings.insert("isolation".to_owned(), isolation);
    }
    if plan.back_off != BackOff::default() {
        settings.insert("back_off".to_owned(), Setting::Text(plan.back_off.to_string()));
    }
    let declared = registry::declarations::<Native>(&plan.protocol_options);
    let heeded = registry::knobs::<Native>().into_iter();
    let heeded = heeded.zip(registry::settled::<Native>(&plan.protocol_options));
    let of_each = declared.iter().zip(heeded);
    for (_, (knobs, options)) in of_each.filter(|(declared, _)| declared.name == plan.protocol) {
        for knob in KNOBS.iter().filter(|knob| knobs.contains(&knob.name)) {
            if let Some(value) = knob.value(&options) {
                settings.insert(knob.name.to_owned(), Setting::Text(value));
            }
        }
    }
    settings
}

/// Fills the measured values into `blank`, which holds what the caller knows: workload, machine, host.
pub fn record(
    blank: RunRecord,
    kind: MachineKind,
    plan: &Plan,
    declaration: &Declaration,
    repetitions: &[Repetition],
    certificate: Option<&checker::Certificate>,
) -> RunRecord {
    let mut record = blank;
    record.protocol = plan.protocol.clone();
    record.protocol_options = protocol_settings(plan);
    record.architecture = plan.architecture.clone();
    record.machine_kind = kind;
    record.cores = plan.cores;
    record.seed = plan.seed;
    (record.warm_up_s, record.measured_s) = quality::lengths(plan, repetitions);
    record.adapted = quality::adapted(plan);
    record.set_repetitions(repetitions.iter().map(|r| r.throughput_txn_per_s).collect());
    let mut aborts = BTreeMap::new();
    for (at, reason) in AbortReason::ALL.iter().enumerate() {
        let count: u64 = repetitions.iter().map(|r| r.total.aborts[at]).sum();
        if count > 0 && *reason != AbortReason::User {
            aborts.insert(reason.name().to_owned(), count);
        }
    }
    let user = AbortReason::ALL.iter().position(|r| *r == AbortReason::User);
    let user = user.expect("ALL has every reason");
    record.set_attempts(
        repetitions.iter().map(|r| r.total.commits()).sum(),
        aborts,
        repetitions.iter().map(|r| r.total.aborts[user]).sum(),
    );
    quality::fill(&mut record, plan, repetitions);
    record.arrivals = plan.arrivals.map(|arrivals| ArrivalRecord {
        process: arrivals.process.name().to_owned(),
        rate_txn_per_s: arrivals.rate_txn_per_s,
        waiting_at_begin: repetitions.iter().map(|r| r.total.waiting_at_begin).sum(),
        waiting_at_end: repetitions.iter().map(|r| r.total.waiting_at_end).sum(),
    });
    record.admission = (plan.admission != AdmissionPolicy::Off).then(|| AdmissionRecord {
        rule: plan.admission.to_string(),
        limits_at_end: repetitions.iter().filter_map(|r| r.limit).collect(),
    });
    (record.breakdown, record.wait_of_aborted) = breakdown(repetitions).unzip();
    record.certificate = verdicts(declaration, certificate);
    if kind == MachineKind::Simulated {
        let wall: f64 = repetitions.iter().map(|r| r.wall_s).sum();
        let operations: u64 = repetitions.iter().filter_map(|r| r.operations).sum();
        record.operations_per_wall_s = Some(operations as f64 / wall.max(1e-9));
        record.wall_s = Some(wall);
        record.lines_per_txn = lines_per_txn(repetitions);
        record.simulated_s = Some(repetitions.iter().map(|r| r.machine_s).sum());
    }
    record.page_faults_per_txn = page_faults_per_txn(plan, repetitions);
    // A run whose length adapts makes only as many repetitions as its time allows, so fewer do not mean an
    // interruption.
    let missing = plan.growth.is_none() && repetitions.len() < plan.repetitions.max(1);
    record.interrupted = repetitions.iter().any(|r| r.interrupted) || missing;
    record
}

/// Returns the cache lines moved for each transaction that committed, by kind of movement. Returns `None` if the machine
/// does not count them, or if nothing committed.
fn lines_per_txn(repetitions: &[Repetition]) -> Option<BTreeMap<String, f64>> {
    let mut moved = LinesMoved::default();
    for repetition in repetitions {
        moved += repetition.moved?;
    }
    let commits: u64 = repetitions.iter().map(|r| r.total.all_commits).sum();
    let each = |way: &Movement| (way.name().to_owned(), moved.of(*way) as f64 / commits as f64);
    (commits != 0).then(|| Movement::ALL.iter().map(each).collect())
}

/// Returns the page faults for each transaction that committed. Returns `None` if the machine does not count them, if workers
/// share a thread or move between threads, or if nothing committed.
fn page_faults_per_txn(plan: &Plan, repetitions: &[Repetition]) -> Option<f64> {
    let declared = engine::registry::declaration(&plan.architecture);
    let stays = plan.fibers == 1 && declared.is_ok_and(|a| a.work != OwnersWork::Visited);
    let faults: Option<u64> = repetitions.iter().map(|r| r.counts.page_faults).sum();
    let commits: u64 = repetitions.iter().map(|r| r.total.commits()).sum();
    faults.filter(|_| stays && commits != 0).map(|faults| faults as f64 / commits as f64)
}

/// Returns the commits of each of the procedures named `kinds`, or `None` if the workload names no procedures.
pub fn commits_by_procedure(
    kinds: &[&str],
    repetitions: &[Repetition],
) -> Option<BTreeMap<String, u64>> {
    let of = |kind: usize| repetitions.iter().map(|r| r.total.commits[kind]).sum();
    let named = kinds.iter().enumerate().map(|(kind, name)| ((*name).to_owned(), of(kind)));
    (!kinds.is_empty()).then(|| named.collect())
}

fn verdicts(declaration: &Declaration, found: Option<&checker::Certificate>) -> Certificate {
    let verdict = |verdict: checker::Verdict| match verdict {
        checker::Verdict::Pass => Verdict::Pass,
        checker::Verdict::Fail => Verdict::Fail,
        checker::Verdict::NotChecked => Verdict::NotChecked,
    };
    let promised = promised(declaration);
    let on = |level| found.map_or(Verdict::NotChecked, |c| verdict(c.verdict(level)));
    Certificate {
        read_committed: on(Level::ReadCommitted),
        snapshot: on(Level::Snapshot),
        strong_snapshot: on(Level::StrongSnapshot),
        serializable: on(Level::Serializable),
        strict: on(Level::Strict),
        promised: Promise {
            read_committed: promised.read_committed,
            snapshot: promised.snapshot,
            strong_snapshot: promised.strong_snapshot,
            serializable: promised.serializable,
            strict: promised.strict,
        },
    }
}

/// Returns the share of time of each category, and the share that aborted attempts waited.
fn breakdown(repetitions: &[Repetition]) -> Option<(BTreeMap<String, f64>, f64)> {
    let mut sums = [0u64; Category::ALL.len()];
    for spent in repetitions.iter().map(|r| r.counts.spent) {
        sums.iter_mut().zip(spent?).for_each(|(sum, ticks)| *sum += ticks);
    }
    let total: u64 = sums.iter().sum();
    let share = |(category, ticks): (&Category, &u64)| {
        (category.name().to_owned(), *ticks as f64 / total as f64)
    };
    let in_vain: u64 = repetitions.iter().map(|r| r.counts.waited_in_vain_ticks).sum();
    let shares = || Category::ALL.iter().zip(&sums).map(share).collect();
    (total > 0).then(|| (shares(), in_vain as f64 / total as f64))
}
