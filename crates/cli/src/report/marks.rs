//! Defines reservations about a record. Each has a sign in the record's row and a text that explains it.

use harness::run_record::{RunRecord, SpreadOf};

/// A reservation about a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Mark {
    /// The run was stopped early.
    Interrupted,
    /// Other programs used part of the host.
    Disturbed,
    /// Throughput changed during the run, or it is not known precisely enough.
    NotSteady,
    /// There were too few commits to judge steadiness.
    TooFew,
    /// Throughput, latency and the number of workers are inconsistent.
    Little,
    /// Some latencies are lower bounds.
    LowerBound,
}

impl Mark {
    /// Returns the marks of `record`, in order.
    pub(super) fn all(record: &RunRecord) -> Vec<Mark> {
        let latency = &record.latency_ns;
        let bounds = ["p50", "p99"].iter().any(|name| latency.is_at_least(name));
        let found = [
            (record.interrupted, Mark::Interrupted),
            (record.is_disturbed(), Mark::Disturbed),
            (record.steady == Some(false), Mark::NotSteady),
            (record.steady.is_none() && record.steadiness.is_some(), Mark::TooFew),
            (record.littles_law.is_some_and(|law| !law.holds), Mark::Little),
            (bounds, Mark::LowerBound),
        ];
        found.into_iter().filter(|(holds, _)| *holds).map(|(_, mark)| mark).collect()
    }

    /// Returns the mark's sign in a row.
    pub(super) fn sign(self, unicode: bool) -> &'static str {
        match self {
            Mark::Interrupted => "*",
            Mark::Disturbed => "!",
            Mark::NotSteady | Mark::TooFew => "~",
            Mark::Little => "#",
            Mark::LowerBound if unicode => "≥",
            Mark::LowerBound => ">=",
        }
    }

    /// Returns the mark's meaning, for the notes below a table.
    pub(super) fn meaning(self) -> &'static str {
        match self {
            Mark::Interrupted => "interrupted: fewer repetitions than asked for",
            Mark::Disturbed => {
                "busy host: other processes took more than 5 % of its processors meanwhile"
            }
            Mark::NotSteady | Mark::TooFew => {
                "not steady: throughput moved while it was measured, or too little was measured to tell"
            }
            Mark::Little => "throughput x mean latency is not the number of workers (Little's law)",
            Mark::LowerBound => "at least: transactions in flight at the end had taken so long",
        }
    }

    /// Returns the mark's meaning in a few words, for a row of the page.
    pub(super) fn remark(self, record: &RunRecord) -> String {
        match self {
            Mark::Interrupted => "interrupted".into(),
            Mark::Disturbed => {
                let share = record.host_load.and_then(|load| load.others).unwrap_or(0.0);
                format!("busy host, others took {:.0} %", 100.0 * share)
            }
            Mark::NotSteady => "not steady".into(),
            Mark::TooFew => "too short to be called steady".into(),
            Mark::Little => {
                let factor = record.littles_law.map_or(1.0, |law| law.factor);
                format!("Little's law fails by a factor of {:.2}", factor.max(1.0 / factor))
            }
            Mark::LowerBound => "latencies are lower bounds".into(),
        }
    }
}

/// Returns half of the spread, as a share, for the column of spreads. Returns none where the spread is unknown.
pub(super) fn spread(record: &RunRecord) -> Option<f64> {
    let known = record.repetitions > 1 || record.spread.of == SpreadOf::Batches;
    let told = record.throughput_txn_per_s > 0.0;
    (known && told).then_some(record.spread.relative / 2.0)
}

/// Returns the reservations about `record` in a few words. The text is empty if there are none.
pub fn remarks(record: &RunRecord) -> String {
    let marks = Mark::all(record);
    marks.into_iter().map(|mark| mark.remark(record)).collect::<Vec<_>>().join("; ")
}
