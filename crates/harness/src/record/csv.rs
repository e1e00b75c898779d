//! Records as comma-separated values (RFC 4180): one line a record, every column in every line.

use super::{ArrivalRecord, RunRecord, Settings};
use machine::Category;
use std::collections::BTreeSet;
use std::fmt::Write;
use txn::AbortReason;

/// Records as CSV with a header line.
///
/// Columns are named as in the JSON form, with a dot between the levels. The options' columns are
/// those of any of the records; a value that a record does not have is empty, never zero.
pub fn to_csv(records: &[RunRecord]) -> String {
    let columns = Columns::of(records);
    let mut out = String::new();
    write_line(&mut out, &columns.names());
    for record in records {
        write_line(&mut out, &columns.values(record));
    }
    out
}

/// The options that some record has, by what they are options of.
struct Columns {
    workload: BTreeSet<String>,
    protocol: BTreeSet<String>,
    architecture: BTreeSet<String>,
}

impl Columns {
    fn of(records: &[RunRecord]) -> Columns {
        let all = |of: fn(&RunRecord) -> &Settings| {
            records.iter().flat_map(|r| of(r).keys().cloned()).collect()
        };
        Columns {
            workload: all(|r| &r.workload_options),
            protocol: all(|r| &r.protocol_options),
            architecture: all(|r| &r.architecture_options),
        }
    }

    fn names(&self) -> Vec<String> {
        self.cells(&RunRecord::blank()).into_iter().map(|(name, _)| name).collect()
    }

    fn values(&self, record: &RunRecord) -> Vec<String> {
        self.cells(record).into_iter().map(|(_, value)| value).collect()
    }

    /// Name and value of every column. Names do not depend on the record.
    fn cells(&self, r: &RunRecord) -> Vec<(String, String)> {
        let mut cells = Cells(Vec::new());
        cells.configuration(r);
        cells.outcome(r);
        cells.latency(r);
        cells.arrivals(r);
        cells.breakdown(r);
        cells.certificate(r);
        cells.put("operations_per_wall_s", optional(r.operations_per_wall_s));
        cells.put("wall_s", optional(r.wall_s));
        cells.put("simulated_s", optional(r.simulated_s));
        cells.put("interrupted", r.interrupted.to_string());
        cells.options("workload_options", &self.workload, &r.workload_options);
        cells.options("protocol_options", &self.protocol, &r.protocol_options);
        cells.options("architecture_options", &self.architecture, &r.architecture_options);
        cells.put("placement", r.placement.clone());
        cells.put("machine_description", r.machine_description.clone());
        cells.put("host", r.host.clone());
        cells.0
    }
}

/// Columns in their order: each method adds those of one part of a record.
struct Cells(Vec<(String, String)>);

impl Cells {
    fn put(&mut self, name: &str, value: String) {
        self.0.push((name.to_owned(), value));
    }

    fn configuration(&mut self, r: &RunRecord) {
        self.put("schema_version", r.schema_version.to_string());
        self.put("workload", r.workload.clone());
        self.put("protocol", r.protocol.clone());
        self.put("architecture", r.architecture.clone());
        self.put("machine", r.machine.clone());
        self.put("machine_kind", r.machine_kind.name().into());
        self.put("cores", r.cores.to_string());
        self.put("seed", r.seed.to_string());
        self.put("commit", r.commit.clone());
        self.put("repetitions", r.repetitions.to_string());
        self.put("warm_up_s", r.warm_up_s.to_string());
        self.put("measured_s", r.measured_s.to_string());
    }

    fn outcome(&mut self, r: &RunRecord) {
        self.put("throughput_txn_per_s", r.throughput_txn_per_s.to_string());
        self.put("spread.min_txn_per_s", r.spread.min_txn_per_s.to_string());
        self.put("spread.max_txn_per_s", r.spread.max_txn_per_s.to_string());
        self.put("spread.relative", r.spread.relative.to_string());
        self.put("commits", r.commits.to_string());
        for reason in AbortReason::ALL.into_iter().filter(|&reason| reason != AbortReason::User) {
            let count = r.aborts.get(reason.name()).copied().unwrap_or(0);
            self.put(&format!("aborts.{reason}"), count.to_string());
        }
        self.put("user_aborts", r.user_aborts.to_string());
        self.put("abort_ratio", r.abort_ratio.to_string());
    }

    fn latency(&mut self, r: &RunRecord) {
        self.put("latency_ns.mean", r.latency_ns.mean.to_string());
        self.put("latency_ns.p50", r.latency_ns.p50.to_string());
        self.put("latency_ns.p90", r.latency_ns.p90.to_string());
        self.put("latency_ns.p99", r.latency_ns.p99.to_string());
        self.put("latency_ns.p999", r.latency_ns.p999.to_string());
        self.put("latency_ns.max", r.latency_ns.max.to_string());
    }

    fn arrivals(&mut self, r: &RunRecord) {
        let arrivals = r.arrivals.as_ref();
        self.put("arrivals.process", arrivals.map(|a| a.process.clone()).unwrap_or_default());
        self.put("arrivals.rate_txn_per_s", optional(arrivals.map(|a| a.rate_txn_per_s)));
        let waiting = |of: fn(&ArrivalRecord) -> u64| arrivals.map(of).map(|n| n.to_string());
        self.put("arrivals.waiting_at_begin", waiting(|a| a.waiting_at_begin).unwrap_or_default());
        self.put("arrivals.waiting_at_end", waiting(|a| a.waiting_at_end).unwrap_or_default());
    }

    fn breakdown(&mut self, r: &RunRecord) {
        for category in Category::ALL {
            let share =
                r.breakdown.as_ref().map(|b| b.get(category.name()).copied().unwrap_or(0.0));
            self.put(&format!("breakdown.{}", category.name()), optional(share));
        }
    }

    fn certificate(&mut self, r: &RunRecord) {
        let found = &r.certificate;
        self.put("certificate.read_committed", found.read_committed.name().into());
        self.put("certificate.snapshot", found.snapshot.name().into());
        self.put("certificate.strong_snapshot", found.strong_snapshot.name().into());
        self.put("certificate.serializable", found.serializable.name().into());
        self.put("certificate.strict", found.strict.name().into());
        let promised = found.promised;
        self.put("certificate.promised.read_committed", promised.read_committed.to_string());
        self.put("certificate.promised.snapshot", promised.snapshot.to_string());
        self.put("certificate.promised.strong_snapshot", promised.strong_snapshot.to_string());
        self.put("certificate.promised.serializable", promised.serializable.to_string());
        self.put("certificate.promised.strict", promised.strict.to_string());
    }

    /// The options called `names`, of which the record has some.
    fn options(&mut self, of: &str, names: &BTreeSet<String>, settings: &Settings) {
        for name in names {
            let value = settings.get(name).map(ToString::to_string).unwrap_or_default();
            self.put(&format!("{of}.{name}"), value);
        }
    }
}

fn optional(value: Option<f64>) -> String {
    value.map(|v| v.to_string()).unwrap_or_default()
}

fn write_line(out: &mut String, cells: &[String]) {
    for (i, cell) in cells.iter().enumerate() {
        let separator = if i == 0 { "" } else { "," };
        if cell.contains(['"', ',', '\n', '\r']) {
            write!(out, "{separator}\"{}\"", cell.replace('"', "\"\"")).expect("a string grows");
        } else {
            write!(out, "{separator}{cell}").expect("a string grows");
        }
    }
    out.push_str("\r\n");
}
