//! Writes records as comma-separated values (RFC 4180): one line per record, and every column in every line.

use super::{ArrivalRecord, RunRecord, Settings};
use machine::{Category, Movement};
use std::collections::BTreeSet;
use std::fmt::Write;
use txn::AbortReason;

/// Returns records as CSV with a header line.
///
/// Columns are named as in the JSON form, with a dot between the levels. There is a column for each option that any
/// of the records has. A value that a record does not have is empty, never zero.
pub fn to_csv(records: &[RunRecord]) -> String {
    let columns = Columns::of(records);
    let mut out = String::new();
    write_line(&mut out, &columns.names());
    for record in records {
        write_line(&mut out, &columns.values(record));
    }
    out
}

/// Names of the options that any record has, grouped by workload, protocol and architecture.
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

    /// Returns name and value of every column. The names do not depend on the record.
    fn cells(&self, r: &RunRecord) -> Vec<(String, String)> {
        let mut cells = Cells(Vec::new());
        cells.configuration(r);
        cells.outcome(r);
        cells.quality(r);
        cells.latency(r);
        cells.arrivals(r);
        cells.breakdown(r);
        cells.certificate(r);
        cells.put("operations_per_wall_s", shown(r.operations_per_wall_s));
        cells.put("wall_s", shown(r.wall_s));
        cells.put("simulated_s", shown(r.simulated_s));
        cells.lines_moved(r);
        cells.put("page_faults_per_txn", shown(r.page_faults_per_txn));
        cells.put("interrupted", r.interrupted.to_string());
        cells.options("workload_options", &self.workload, &r.workload_options);
        cells.options("protocol_options", &self.protocol, &r.protocol_options);
        cells.options("architecture_options", &self.architecture, &r.architecture_options);
        cells.put("placement", r.placement.clone());
        cells.put("machine_description", r.machine_description.clone());
        cells.origin(r);
        cells.0
    }
}

/// Columns in order. Each method adds those of one part of a record.
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
        self.put("adapted", r.adapted.is_some().to_string());
    }

    /// Adds the columns that differ between two runs of the same configuration.
    fn origin(&mut self, r: &RunRecord) {
        self.put("host", r.host.clone());
        let load = r.host_load;
        self.put("host_load.load_average_at_begin", shown(load.map(|l| l.load_average_at_begin)));
        self.put("host_load.load_average_at_end", shown(load.map(|l| l.load_average_at_end)));
        self.put("host_load.others", shown(load.and_then(|l| l.others)));
        self.put("disturbed", r.is_disturbed().to_string());
        let provenance = r.provenance.as_ref();
        self.put("provenance.version", shown(provenance.map(|p| &p.version)));
        self.put("provenance.rustc", shown(provenance.map(|p| &p.rustc)));
        self.put("provenance.profile", shown(provenance.map(|p| &p.profile)));
        self.put("provenance.date", shown(provenance.map(|p| &p.date)));
        self.put("provenance.command_line", shown(provenance.map(|p| &p.command_line)));
    }

    fn outcome(&mut self, r: &RunRecord) {
        self.put("throughput_txn_per_s", r.throughput_txn_per_s.to_string());
        self.put("spread.min_txn_per_s", r.spread.min_txn_per_s.to_string());
        self.put("spread.max_txn_per_s", r.spread.max_txn_per_s.to_string());
        self.put("spread.relative", r.spread.relative.to_string());
        self.put("spread.of", r.spread.of.name().into());
        self.put("commits", r.commits.to_string());
        for reason in AbortReason::ALL.into_iter().filter(|&reason| reason != AbortReason::User) {
            let count = r.aborts.get(reason.name()).copied().unwrap_or(0);
            self.put(&format!("aborts.{reason}"), count.to_string());
        }
        self.put("user_aborts", r.user_aborts.to_string());
        self.put("abort_ratio", r.abort_ratio.to_string());
    }

    fn latency(&mut self, r: &RunRecord) {
        let latency = &r.latency_ns;
        self.put("latency_ns.mean", shown(latency.mean));
        let percentiles = [
            ("p50", latency.p50),
            ("p90", latency.p90),
            ("p99", latency.p99),
            ("p999", latency.p999),
            ("max", latency.max),
        ];
        for (name, ns) in percentiles {
            self.put(&format!("latency_ns.{name}"), shown(ns));
        }
        self.put("latency_ns.at_least", latency.at_least.join(" "));
        self.put("in_flight.count", shown(r.in_flight.map(|found| found.count)));
        self.put("in_flight.oldest_ns", shown(r.in_flight.map(|found| found.oldest_ns)));
    }

    fn quality(&mut self, r: &RunRecord) {
        self.put("steady", shown(r.steady));
        let steadiness = r.steadiness.as_ref();
        self.put("steadiness.half_width", shown(steadiness.map(|found| found.half_width)));
        self.put("steadiness.drift", shown(steadiness.map(|found| found.drift)));
        self.put("steadiness.ended", shown(steadiness.map(|found| &found.ended)));
        let law = r.littles_law;
        self.put("littles_law.accounted_workers", shown(law.map(|law| law.accounted_workers)));
        self.put("littles_law.factor", shown(law.map(|law| law.factor)));
        self.put("littles_law.holds", shown(law.map(|law| law.holds)));
    }

    fn arrivals(&mut self, r: &RunRecord) {
        let arrivals = r.arrivals.as_ref();
        self.put("arrivals.process", arrivals.map(|a| a.process.clone()).unwrap_or_default());
        self.put("arrivals.rate_txn_per_s", shown(arrivals.map(|a| a.rate_txn_per_s)));
        let waiting = |of: fn(&ArrivalRecord) -> u64| arrivals.map(of).map(|n| n.to_string());
        self.put("arrivals.waiting_at_begin", waiting(|a| a.waiting_at_begin).unwrap_or_default());
        self.put("arrivals.waiting_at_end", waiting(|a| a.waiting_at_end).unwrap_or_default());
    }

    fn breakdown(&mut self, r: &RunRecord) {
        for category in Category::ALL {
            let share =
                r.breakdown.as_ref().map(|b| b.get(category.name()).copied().unwrap_or(0.0));
            self.put(&format!("breakdown.{}", category.name()), shown(share));
        }
    }

    fn lines_moved(&mut self, r: &RunRecord) {
        for movement in Movement::ALL {
            let lines =
                r.lines_per_txn.as_ref().and_then(|lines| lines.get(movement.name()).copied());
            self.put(&format!("lines_per_txn.{}", movement.name()), shown(lines));
        }
    }

    fn certificate(&mut self, r: &RunRecord) {
        let found = &r.certificate;
        self.put("certificate.read_committed", found.read_committed.name().into());
        self.put("certificate.snapshot", found.snapshot.name().into());
        self.put("certificate.strong_snapshot", found.strong_snapshot.name().into());
        self.put("certificate.serializable", found.serializable.name().into());
        self.put("certificate.strict", found.strict.name().into());
        self.put("broken_law", shown(r.broken_law.as_ref().map(|broken| &broken.law)));
        let promised = found.promised;
        self.put("certificate.promised.read_committed", promised.read_committed.to_string());
        self.put("certificate.promised.snapshot", promised.snapshot.to_string());
        self.put("certificate.promised.strong_snapshot", promised.strong_snapshot.to_string());
        self.put("certificate.promised.serializable", promised.serializable.to_string());
        self.put("certificate.promised.strict", promised.strict.to_string());
    }

    /// Adds the options called `names`. A value is empty if the record does not have the option.
    fn options(&mut self, of: &str, names: &BTreeSet<String>, settings: &Settings) {
        for name in names {
            let value = settings.get(name).map(ToString::to_string).unwrap_or_default();
            self.put(&format!("{of}.{name}"), value);
        }
    }
}

fn shown(value: Option<impl ToString>) -> String {
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
