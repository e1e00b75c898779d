//! Computes latencies, steadiness and Little's law from repetitions.

use crate::{
    run::{Plan, Repetition},
    run_record::{Adapted, InFlight, Latency, LittlesLaw, RunRecord, Spread, SteadinessRecord},
    steadiness::{LITTLE_FACTOR, Steadiness},
    survival::{Estimate, Survival},
};
use hdrhistogram::Histogram;

/// Returns the actual warm-up and measured time of each repetition, in seconds.
pub(super) fn lengths(plan: &Plan, repetitions: &[Repetition]) -> (f64, f64) {
    let Some(first) =
        repetitions.first().filter(|_| plan.growth.is_some() || plan.commits.is_some())
    else {
        return (plan.warm_up_s, plan.measured_s);
    };
    let seconds = |ticks: u64| ticks as f64 / first.ticks_per_second as f64;
    (seconds(first.warm_up_ticks), seconds(first.interval_ticks))
}

/// Returns the limits between which these times were chosen, if they adapt.
pub fn adapted(plan: &Plan) -> Option<Adapted> {
    let growth = plan.growth?;
    let finite = |seconds: f64| seconds.is_finite().then_some(seconds);
    Some(Adapted {
        first_s: plan.measured_s,
        most_s: growth.most_s,
        most_busy_s: finite(growth.most_busy_s),
        together_s: finite(growth.together_s),
    })
}

/// Fills in the latencies of `repetitions` of `plan`, and the values that show how reliable the numbers are.
pub(super) fn fill(record: &mut RunRecord, plan: &Plan, repetitions: &[Repetition]) {
    let Some(first) = repetitions.first() else { return };
    let ns = |ticks: f64| ticks * 1e9 / first.ticks_per_second as f64;
    let in_flight: Vec<u64> =
        repetitions.iter().flat_map(|r| r.in_flight.iter().copied()).collect();
    record.in_flight = Some(InFlight {
        count: in_flight.len() as u64,
        oldest_ns: ns(in_flight.iter().max().copied().unwrap_or(0) as f64).round() as u64,
    });
    let entered: Vec<u64> = repetitions.iter().flat_map(|r| r.entered.iter().copied()).collect();
    let survival = Survival::new(&latencies(repetitions), &in_flight, &entered);
    record.latency_ns = latency(&survival, ns);
    if plan.arrivals.is_none() && !plan.back_off.puts_aside() {
        record.littles_law = littles_law(plan.workers(), repetitions, &survival);
    }
    let judged: Vec<&Steadiness> =
        repetitions.iter().filter_map(|r| r.steadiness.as_ref()).collect();
    let told: Vec<bool> = judged.iter().filter_map(|found| found.steady).collect();
    record.steady = (!told.is_empty() && told.len() == repetitions.len())
        .then(|| told.iter().all(|steady| *steady));
    record.steadiness = worst(&judged).map(|found| {
        let per_s = record.throughput_txn_per_s / mean(&found.batch_means).max(f64::MIN_POSITIVE);
        SteadinessRecord {
            half_width: found.half_width,
            drift: found.drift,
            batch_means_txn_per_s: found.batch_means.iter().map(|n| n * per_s).collect(),
            ended: first.ended.name().to_owned(),
        }
    });
    if let ([_], Some(found)) = (repetitions, &record.steadiness) {
        record.spread = Spread::within(record.throughput_txn_per_s, found.half_width);
    }
}

fn latencies(repetitions: &[Repetition]) -> Histogram<u64> {
    let mut all = Histogram::<u64>::new(3).expect("three digits are allowed");
    for repetition in repetitions {
        all.add(&repetition.latencies).expect("it grows with what is added");
    }
    all
}

fn latency(survival: &Survival, ns: impl Fn(f64) -> f64) -> Latency {
    let mut at_least = Vec::new();
    let mut told = |name: &str, estimate: Option<Estimate>| {
        let Estimate { ticks, at_least: bound } = estimate?;
        if bound {
            at_least.push(name.to_owned());
        }
        Some(ns(ticks))
    };
    let mean = told("mean", survival.mean());
    let mut whole = |name, estimate| told(name, estimate).map(|ns| ns.round() as u64);
    Latency {
        mean,
        p50: whole("p50", survival.quantile(0.5)),
        p90: whole("p90", survival.quantile(0.9)),
        p99: whole("p99", survival.quantile(0.99)),
        p999: whole("p999", survival.quantile(0.999)),
        max: whole("max", survival.longest()),
        at_least,
    }
}

/// Compares throughput times mean latency with the number of workers. Returns `None` where there is no mean.
fn littles_law(
    workers: usize,
    repetitions: &[Repetition],
    survival: &Survival,
) -> Option<LittlesLaw> {
    let ticks: u64 = repetitions.iter().map(|r| r.interval_ticks).sum();
    let commits: u64 = repetitions.iter().map(|r| r.counts.commits()).sum();
    let beside: u64 =
        repetitions.iter().map(|r| r.counts.between_ticks + r.counts.given_up_ticks).sum();
    let in_transactions = commits as f64 * survival.mean()?.ticks;
    let accounted_workers = (in_transactions + beside as f64) / ticks.max(1) as f64;
    let factor = workers as f64 / accounted_workers.max(f64::MIN_POSITIVE);
    let holds = (1.0 / LITTLE_FACTOR..=LITTLE_FACTOR).contains(&factor);
    (accounted_workers > 0.0).then_some(LittlesLaw { accounted_workers, factor, holds })
}

/// Returns the repetition that is least steady.
fn worst<'a>(judged: &[&'a Steadiness]) -> Option<&'a Steadiness> {
    let rank = |found: &Steadiness| (found.steady != Some(true), found.half_width);
    judged.iter().copied().max_by(|a, b| {
        let (a, b) = (rank(a), rank(b));
        a.0.cmp(&b.0).then(a.1.total_cmp(&b.1))
    })
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len().max(1) as f64
}
