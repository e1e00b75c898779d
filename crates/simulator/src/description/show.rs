//! A machine's figures as a person reads them.

use super::MachineDescription;
use std::fmt::Write;

impl MachineDescription {
    /// A listing of everything that the model knows about the machine, one figure a line.
    pub fn describe(&self) -> String {
        let mut lines: Vec<(String, String)> = Vec::new();
        let mut line = |name: &str, value: String| lines.push((name.to_owned(), value));
        line("name", self.name.clone());
        line("what", self.title.clone());
        line("cores", self.cores().to_string());
        line("clock", format!("{} MHz", self.clock_mhz));
        line("page", format!("{} bytes", self.page_bytes));
        line("memory parallelism", format!("{} lines", self.core.memory_parallelism));
        line("atomic on an owned line", format!("{} cycles", self.core.atomic_cycles));
        line("copying", format!("{} bytes a cycle", self.core.copy_bytes_per_cycle));
        line("SMT throughput", format!("{:?} of one thread", self.core.smt_throughput));
        line("L1", format!("{} KiB, {} cycles", self.l1.size_kib, self.l1.latency_cycles));
        if let Some(l2) = &self.l2 {
            line("L2, private", format!("{} KiB, {} cycles", l2.size_kib, l2.latency_cycles));
        }
        let shared = &self.shared_cache;
        let each = if self.mesh.is_some() { "tile" } else { "socket" };
        line(
            "shared cache",
            format!("{} KiB a {each}, {} cycles", shared.size_kib, shared.latency_cycles),
        );
        line("directory", format!("{} cycles", shared.directory_cycles));
        line("out of another core's cache", format!("{} cycles more", shared.owner_cycles));
        line("a shared read occupies a line", format!("{} cycles", shared.read_occupancy_cycles));
        line("coherence", if shared.exclusive_reads { "MESI" } else { "MSI" }.to_owned());
        if let Some(mesh) = &self.mesh {
            line("mesh", format!("{} tiles, {} cycles a hop", mesh.tiles, mesh.hop_cycles));
            line(
                "mesh of a smaller run",
                if mesh.fitted { "fitted to its cores" } else { "the whole chip" }.to_owned(),
            );
            line("rest of a line", format!("{} cycles", mesh.line_transfer_cycles));
            line(
                "memory",
                format!(
                    "{} ns, {} GB/s a tile",
                    mesh.memory_latency_ns, mesh.memory_bandwidth_gbps
                ),
            );
        }
        if let Some(s) = &self.sockets {
            line(
                "sockets",
                format!(
                    "{} of {} cores, {} threads each",
                    s.count,
                    s.cores_per_socket,
                    s.threads_per_core()
                ),
            );
            line(
                "chassis",
                format!("{} of {} sockets", s.count.div_ceil(s.chassis_sockets), s.chassis_sockets),
            );
            line("threads take cores", format!("{:?} at a time", s.thread_steps));
            for level in &s.level {
                line(
                    &format!("memory, {}", level.name),
                    format!("{} ns, {} GB/s", level.latency_ns, level.bandwidth_gbps),
                );
            }
        }
        match &self.hardware_counter {
            Some(counter) => {
                line("hardware counter", format!("{} cycles apart", counter.occupancy_cycles))
            }
            None => line("hardware counter", "none".to_owned()),
        }
        let width = lines.iter().map(|(name, _)| name.len()).max().unwrap_or(0);
        let mut text = String::new();
        for (name, value) in lines {
            writeln!(text, "{name:width$}  {value}").expect("a string takes everything");
        }
        text
    }
}
