//! What makes a record less than it seems, in the row itself: one sign each, and the words for it.

use harness::record::{RunRecord, SpreadOf};

/// A reservation about a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Mark {
    /// Stopped early.
    Interrupted,
    /// Others took part of the host.
    Disturbed,
    /// Throughput moved, or is not known well enough.
    NotSteady,
    /// Nobody can tell.
    TooFew,
    /// Throughput, latency and workers don't fit together.
    Little,
    /// Some latencies are lower bounds.
    LowerBound,
}

impl Mark {
    /// The marks of `record`, in their order.
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

    /// Its sign in a row.
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

    /// What it means, for below a table.
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

    /// The same in a few words, for a row of the page.
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

/// What the column of spreads shows: half of it, as a share; none where nothing tells.
pub(super) fn spread(record: &RunRecord) -> Option<f64> {
    let known = record.repetitions > 1 || record.spread.of == SpreadOf::Batches;
    let told = record.throughput_txn_per_s > 0.0;
    (known && told).then_some(record.spread.relative / 2.0)
}

/// What makes `record` less than it seems, in a few words; nothing if nothing does.
pub fn remarks(record: &RunRecord) -> String {
    let marks = Mark::all(record);
    marks.into_iter().map(|mark| mark.remark(record)).collect::<Vec<_>>().join("; ")
}
