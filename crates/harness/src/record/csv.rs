//! Records as comma-separated values (RFC 4180): one line a record, every column in every line.

use super::{ArrivalRecord, RunRecord};
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
        let all = |of: fn(&RunRecord) -> &super::Settings| {
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
        let mut cells = Vec::new();
        let mut put = |name: &str, value: String| cells.push((name.to_owned(), value));
        put("schema_version", r.schema_version.to_string());
        put("workload", r.workload.clone());
        put("protocol", r.protocol.clone());
        put("architecture", r.architecture.clone());
        put("machine", r.machine.clone());
        put("machine_kind", r.machine_kind.name().into());
        put("cores", r.cores.to_string());
        put("seed", r.seed.to_string());
        put("commit", r.commit.clone());
        put("repetitions", r.repetitions.to_string());
        put("warm_up_s", r.warm_up_s.to_string());
        put("measured_s", r.measured_s.to_string());
        put("throughput_txn_per_s", r.throughput_txn_per_s.to_string());
        put("spread.min_txn_per_s", r.spread.min_txn_per_s.to_string());
        put("spread.max_txn_per_s", r.spread.max_txn_per_s.to_string());
        put("spread.relative", r.spread.relative.to_string());
        put("commits", r.commits.to_string());
        for reason in AbortReason::ALL.into_iter().filter(|&reason| reason != AbortReason::User) {
            let count = r.aborts.get(reason.name()).copied().unwrap_or(0);
            put(&format!("aborts.{reason}"), count.to_string());
        }
        put("user_aborts", r.user_aborts.to_string());
        put("abort_ratio", r.abort_ratio.to_string());
        put("latency_ns.mean", r.latency_ns.mean.to_string());
        put("latency_ns.p50", r.latency_ns.p50.to_string());
        put("latency_ns.p90", r.latency_ns.p90.to_string());
        put("latency_ns.p99", r.latency_ns.p99.to_string());
        put("latency_ns.p999", r.latency_ns.p999.to_string());
        put("latency_ns.max", r.latency_ns.max.to_string());
        let arrivals = r.arrivals.as_ref();
        put("arrivals.process", arrivals.map(|a| a.process.clone()).unwrap_or_default());
        put("arrivals.rate_txn_per_s", optional(arrivals.map(|a| a.rate_txn_per_s)));
        let waiting = |of: fn(&ArrivalRecord) -> u64| arrivals.map(of).map(|n| n.to_string());
        put("arrivals.waiting_at_begin", waiting(|a| a.waiting_at_begin).unwrap_or_default());
        put("arrivals.waiting_at_end", waiting(|a| a.waiting_at_end).unwrap_or_default());
        for category in Category::ALL {
            let share =
                r.breakdown.as_ref().map(|b| b.get(category.name()).copied().unwrap_or(0.0));
            put(&format!("breakdown.{}", category.name()), optional(share));
        }
        put("certificate.read_committed", r.certificate.read_committed.name().into());
        put("certificate.snapshot", r.certificate.snapshot.name().into());
        put("certificate.strong_snapshot", r.certificate.strong_snapshot.name().into());
        put("certificate.serializable", r.certificate.serializable.name().into());
        put("certificate.strict", r.certificate.strict.name().into());
        let promised = r.certificate.promised;
        put("certificate.promised.read_committed", promised.read_committed.to_string());
        put("certificate.promised.snapshot", promised.snapshot.to_string());
        put("certificate.promised.strong_snapshot", promised.strong_snapshot.to_string());
        put("certificate.promised.serializable", promised.serializable.to_string());
        put("certificate.promised.strict", promised.strict.to_string());
        put("operations_per_wall_s", optional(r.operations_per_wall_s));
        put("wall_s", optional(r.wall_s));
        put("simulated_s", optional(r.simulated_s));
        put("interrupted", r.interrupted.to_string());
        for (of, names, settings) in [
            ("workload_options", &self.workload, &r.workload_options),
            ("protocol_options", &self.protocol, &r.protocol_options),
            ("architecture_options", &self.architecture, &r.architecture_options),
        ] {
            for name in names {
                let value = settings.get(name).map(ToString::to_string).unwrap_or_default();
                put(&format!("{of}.{name}"), value);
            }
        }
        put("placement", r.placement.clone());
        put("machine_description", r.machine_description.clone());
        put("host", r.host.clone());
        cells
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
