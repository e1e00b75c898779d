//! Runs of the paper's workloads under its architectures.

use super::{Effort, Point, Series, Setting};
use engine::registry::DEFAULT;

/// An architecture: its name in legends, and its name in the engine.
#[derive(Clone, Copy)]
pub(super) struct Architecture {
    pub name: &'static str,
    pub engine: &'static str,
    /// Set if half of the threads only serve the others.
    pub serves_apart: bool,
}

const fn architecture(name: &'static str, engine: &'static str) -> Architecture {
    Architecture { name, engine, serves_apart: false }
}

pub(super) const SE: Architecture = architecture("SE", DEFAULT);
pub(super) const PSE: Architecture = architecture("PSE", "partitioned_serial");
pub(super) const DELEGATION: Architecture = architecture("Delegation", "delegation");
pub(super) const DORA: Architecture = architecture("DORA", "data_oriented");

/// Delegation with threads that only serve (section 5.1).
pub(super) const ASYMMETRIC: Architecture =
    Architecture { name: "Asymmetric", serves_apart: true, ..DELEGATION };

/// The architectures that run the protocols of the paper.
pub(super) const THREE: [Architecture; 3] = [SE, DELEGATION, DORA];

/// The only protocol of partitioned serial execution, which needs none.
const BARE: &str = "NO_CC";

/// A workload with its options.
#[derive(Clone)]
pub(super) struct Work {
    name: &'static str,
    options: String,
    /// Options that partitions need, without their number.
    divided: &'static str,
    /// Set if records are updated in part. A protocol that can abort then keeps a copy of the record.
    undone: bool,
}

/// Returns the work on hot and cold records with `options` (section 4.1).
pub(super) fn hot_cold(effort: Effort, options: &str) -> Work {
    let records = effort.pick("40M", "10M");
    let options = format!("--records {records} {options}").trim_end().to_owned();
    Work { name: "hot-cold", options, divided: "", undone: false }
}

/// Options of updates of hot and cold records.
pub(super) const UPDATES: &str = "--updates --whole-records";

/// Returns the updates of ten of 72 records (section 5.1).
pub(super) fn few_records() -> Work {
    let options =
        "--records 72 --hot-records 0 --hot-accesses 0 --anywhere --updates --whole-records";
    Work { name: "hot-cold", options: options.into(), divided: "", undone: false }
}

/// Returns reads of YCSB with `options` (section 4.1).
pub(super) fn ycsb(options: &str) -> Work {
    let options = format!("--records 20M {options}");
    Work { name: "ycsb", options, divided: "--scattered ", undone: false }
}

/// Returns YCSB with `options`, some of whose transactions update.
pub(super) fn ycsb_updates(options: &str) -> Work {
    Work { undone: true, ..ycsb(options) }
}

impl Work {
    /// Returns a run of `protocol` under `architecture`, with a partition for each thread where it has partitions.
    pub(super) fn under(
        &self,
        architecture: Architecture,
        protocol: &'static str,
        threads: usize,
    ) -> Setting {
        let Work { name, options, divided, undone } = self;
        let servers = if architecture.serves_apart { threads / 2 } else { 0 };
        let options = match architecture.engine {
            DEFAULT => options.clone(),
            _ if architecture.serves_apart => format!("{options} {divided}--partitions {servers}"),
            _ => format!("{options} {divided}--partitions {threads}"),
        };
        let protocol = if architecture.engine == PSE.engine { BARE } else { protocol };
        let setting = scheme(name, options, protocol, threads);
        let setting = setting.under(architecture.engine).served_by(servers);
        // Nothing is ever undone without aborts.
        let optimistic = ["SILO", "TICTOC", "OCC", "MOCC"].contains(&protocol);
        let copies = optimistic || *undone && protocol != BARE;
        if copies { setting.accessing("copies=records") } else { setting }
    }

    /// Returns a line of `protocol` under `architecture`, called `name`, with a run for each number of threads.
    pub(super) fn line(
        &self,
        (group, name): (&'static str, &'static str),
        (architecture, protocol): (Architecture, &'static str),
        effort: Effort,
    ) -> Series {
        let run = |n: &usize| (*n as f64, self.under(architecture, protocol, *n));
        // One thread cannot serve others and execute too.
        let fewest = if architecture.serves_apart { 2 } else { 1 };
        let possible = threads(effort).iter().filter(|n| **n >= fewest);
        let points = possible.map(run).map(Point::placed).collect();
        Series { group, name: name.to_owned(), points }
    }

    /// Returns a line for each of `protocols` under shared-everything, with its name.
    pub(super) fn protocols(
        &self,
        group: &'static str,
        protocols: &[&'static str],
        effort: Effort,
    ) -> Vec<Series> {
        protocols.iter().map(|name| self.line((group, name), (SE, name), effort)).collect()
    }

    /// Returns a line of `protocol` for each of `architectures`, with its name.
    pub(super) fn architectures(
        &self,
        group: &'static str,
        architectures: &[Architecture],
        protocol: &'static str,
        effort: Effort,
    ) -> Vec<Series> {
        let line = |on: &Architecture| self.line((group, on.name), (*on, protocol), effort);
        architectures.iter().map(line).collect()
    }
}

/// Returns the run of a protocol with the options that it has in Trireme.
fn scheme(
    workload: &'static str,
    options: String,
    protocol: &'static str,
    threads: usize,
) -> Setting {
    let setting = Setting::new(workload, options, protocol, threads);
    match protocol {
        "DL_DETECT" => setting.with("lock-timeout=off waits-for=per-core"),
        "NO_WAIT" => setting.with("lock-form=counter write-locks=access"),
        _ => setting,
    }
}

/// Returns the numbers of threads of a figure.
pub(super) fn threads(effort: Effort) -> &'static [usize] {
    effort
        .pick(&[1, 2, 4, 8, 12, 18, 24, 30, 36, 42, 48, 54, 60, 66, 72], &[1, 2, 8, 18, 36, 54, 72])
}
