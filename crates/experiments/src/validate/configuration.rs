//! Turns a measured row into a simulation.

use super::{ValidateError, ValidateOptions, measurements::Measurement, placement::home_sockets};
use harness::{back_off::BackOff, run::Plan};
use machine::cold::Arc;
use protocols::{ProtocolOptions, TimestampAllocation};
use serde::{Deserialize, Serialize};
use simulator::{Homes, LINE_BYTES, MachineDescription};
use workloads::tpcc_accesses::TpccAccessesOptions;

/// Amount of simulation for each row.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Effort {
    /// All rows, at full length.
    Full,
    /// Only rows with few cores, for a shorter time.
    Quick,
}

/// Largest number of cores simulated with [`Effort::Quick`].
const QUICK_CORES: u64 = 112;

impl Effort {
    /// Returns the reason for leaving out a row, if it is left out.
    pub fn leaves_out(self, row: &Measurement) -> Option<String> {
        let large = self == Effort::Quick && row.cores > QUICK_CORES;
        large.then(|| format!("with more than {QUICK_CORES} cores"))
    }

    /// Returns the length of the warm-up, which is also that of the measurement, in seconds of the machine's time.
    /// Few cores need longer to fill the caches that they use. Many cores do as much work in less time.
    fn seconds(self, cores: u64) -> f64 {
        let cores = cores as f64;
        let full = (0.1 / cores).max(0.002).min(0.3 / cores);
        if self == Effort::Full { full } else { full / 4.0 }
    }
}

/// Placement of the simulated warehouses.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Placement {
    /// Only one socket is used.
    OneSocket,
    /// All warehouses are on the first socket, as in the measured program.
    FirstSocket,
    /// Pages alternate over the used sockets. The measured program had a different placement.
    Alternating,
}

impl Placement {
    /// Returns the placement's name in reports.
    pub const fn name(self) -> &'static str {
        match self {
            Placement::OneSocket => "one socket",
            Placement::FirstSocket => "first socket",
            Placement::Alternating => "alternating (not as measured)",
        }
    }
}

/// A simulation to run.
#[derive(Clone, Debug)]
pub struct Configuration {
    /// The measured row.
    pub measured: Measurement,
    /// The used part of the machine.
    pub machine: Arc<MachineDescription>,
    /// Placement of memory.
    pub placement: Placement,
    /// Options of the workload.
    pub workload: TpccAccessesOptions,
    /// Plan of the run.
    pub plan: Plan,
}

impl Configuration {
    /// Returns the simulation for `row`.
    pub fn of(
        row: &Measurement,
        options: &ValidateOptions,
    ) -> Result<Configuration, ValidateError> {
        let whole = MachineDescription::load(row.machine())?;
        let available = whole.cores() as u64;
        if row.cores > available {
            return Err(ValidateError::BadValue {
                file: format!("a row of {} with {}", row.platform, row.scheme),
                line: 0,
                column: "cores",
                given: row.cores.to_string(),
                allowed: format!("1 to {available} on {}", whole.name),
            });
        }
        let used = used_part(whole, row.cores);
        let sockets = used.memory_nodes() as u64;
        let per_socket = used.cores() as u64 / sockets;
        let homes = home_sockets(row.warehouses, row.cores, per_socket);
        let placement = match (sockets, row.numa.as_str(), homes) {
            (1, ..) => Placement::OneSocket,
            (_, "all", 1) => Placement::FirstSocket,
            _ => Placement::Alternating,
        };
        let seconds = options.effort.seconds(row.cores);
        Ok(Configuration {
            workload: workload(row, &used, sockets),
            plan: Plan {
                architecture: engine::registry::DEFAULT.to_owned(),
                protocol: row.scheme.clone(),
                // The measured program takes timestamps from the clock since its first optimisation step.
                protocol_options: ProtocolOptions {
                    timestamps: TimestampAllocation::Clock,
                    ..ProtocolOptions::default()
                },
                cores: row.cores as usize,
                warm_up_s: seconds,
                measured_s: seconds,
                growth: None,
                repetitions: 1,
                seed: options.seed,
                record_history: false,
                back_off: BackOff::default(),
                arrivals: None,
                load_threads: 1,
                epoch_interval_s: 0.04,
            },
            machine: Arc::new(used),
            placement,
            measured: row.clone(),
        })
    }

    /// Returns the simulator's rule for placing pages.
    pub fn homes(&self) -> Homes {
        match self.placement {
            // All memory without an explicit placement is on the first node.
            Placement::FirstSocket => Homes::ByNode,
            Placement::OneSocket | Placement::Alternating => Homes::Interleaved,
        }
    }

    /// Returns a one-line description for progress and errors.
    pub fn title(&self) -> String {
        let m = &self.measured;
        let (warehouses, cores) = (m.warehouses, m.cores);
        format!("{} {} {} {warehouses} warehouses {cores} cores", m.platform, m.variant, m.scheme)
    }
}

/// Returns the sockets that `cores` threads fill. Idle sockets are removed, because their caches are not used.
fn used_part(mut machine: MachineDescription, cores: u64) -> MachineDescription {
    if let Some(sockets) = &mut machine.sockets {
        let per_socket = sockets.cores_per_socket * sockets.threads_per_core();
        sockets.count = cores.div_ceil(per_socket);
    }
    machine
}

/// Returns the workload of a row. Its costs outside of the protocol follow only from the machine file.
fn workload(row: &Measurement, machine: &MachineDescription, sockets: u64) -> TpccAccessesOptions {
    let options = TpccAccessesOptions {
        warehouses: row.warehouses,
        full_schema: true,
        bypass: row.bypasses(),
        remote_lines: row.remote_lines_pct / 100.0,
        remote_payments: row.remote_payments_pct / 100.0,
        // From the fourth optimisation on, read-only tables are replicated for each socket.
        item_replicas: sockets,
        ..TpccAccessesOptions::default()
    };
    let cycles = |ns: f64| ns * machine.clock_mhz as f64 / 1000.0;
    let memory = match (&machine.sockets, &machine.mesh) {
        (Some(sockets), _) => cycles(sockets.level[0].latency_ns),
        (None, Some(mesh)) => cycles(mesh.memory_latency_ns),
        (None, None) => unreachable!("a machine file has one of them"),
    };
    let private = machine.l2.as_ref().unwrap_or(&machine.l1).latency_cycles;
    let shared = (private + machine.shared_cache.latency_cycles) as f64;
    let overlap = machine.core.memory_parallelism;
    // Cost of a row of so many bytes: the first line has full latency, and the others overlap.
    let row_cycles = |bytes: u64, latency: f64| {
        latency * (1.0 + (bytes.div_ceil(LINE_BYTES) - 1) as f64 / overlap)
    };
    let records = options.records();
    TpccAccessesOptions {
        // All workers read this row constantly, and payments write it, so it comes from the shared cache.
        bypassed_warehouse_cycles: row_cycles(records.warehouse, shared) as u64,
        // The index entry comes from the shared cache, the row from the socket's own memory.
        bypassed_item_cycles: (shared + row_cycles(records.item, memory)) as u64,
        insert_line_cycles: (memory / overlap) as u64,
        ..options
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::validate::Measurements;

    fn of(row: &str) -> Configuration {
        let header = "platform,variant,scheme,warehouses,cores,smt,numa,remote_neworder_pct,\
                      remote_payment_pct,throughput_txn_per_s,abort_ratio,split";
        let rows = Measurements::parse(&format!("{header}\n{row}\n"), "t.csv").unwrap().rows;
        Configuration::of(&rows[0], &ValidateOptions::default()).unwrap()
    }

    #[test]
    fn only_used_sockets_are_modelled_and_placement_is_known_where_it_is() {
        let one = of("hpe,opt8,SILO,4,56,2,all,1,15,1,0,calib");
        assert_eq!((one.machine.memory_nodes(), one.placement), (1, Placement::OneSocket));
        let two = of("hpe,opt8,SILO,4,57,2,all,1,15,1,0,calib");
        assert_eq!((two.machine.memory_nodes(), two.placement), (2, Placement::FirstSocket));
        assert_eq!((two.homes(), two.workload.item_replicas), (Homes::ByNode, 2));
        let many = of("hpe,opt7,SILO,1568,448,2,all,1,15,1,0,calib");
        assert_eq!((many.machine.memory_nodes(), many.placement), (8, Placement::Alternating));
        let forced = of("hpe,numa-isolated,SILO,1568,1568,2,local,0,0,1,0,calib");
        assert_eq!((forced.machine.memory_nodes(), forced.placement), (28, Placement::Alternating));
        assert_eq!((forced.workload.remote_lines, forced.workload.bypass), (0.0, true));
    }

    #[test]
    fn private_costs_follow_from_the_machine_file() {
        let row = of("hpe,opt8,SILO,4,1,2,all,1,15,1,0,calib");
        // 97 ns at 2.5 GHz are 242.5 cycles, and four misses overlap. The shared cache takes 14 + 56 cycles.
        assert_eq!(row.workload.insert_line_cycles, 60);
        assert_eq!(row.workload.bypassed_item_cycles, 70 + 303);
        assert_eq!(row.workload.bypassed_warehouse_cycles, 87);
    }
}
