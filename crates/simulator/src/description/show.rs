//! Listing of a machine's figures for human readers.

use super::{MachineDescription, MeshDescription, SocketsDescription};
use std::fmt::Write;

/// Names and values, in the order in which they are shown.
#[derive(Default)]
struct Listing(Vec<(String, String)>);

impl Listing {
    fn line(&mut self, name: &str, value: String) {
        self.0.push((name.to_owned(), value));
    }

    /// Returns the listing as text, with one figure per line and the values in one column.
    fn text(&self) -> String {
        let width = self.0.iter().map(|(name, _)| name.len()).max().unwrap_or(0);
        let mut text = String::new();
        for (name, value) in &self.0 {
            writeln!(text, "{name:width$}  {value}").expect("a string takes everything");
        }
        text
    }
}

impl MachineDescription {
    /// Returns a listing of everything that the model knows about the machine, with one figure per line.
    pub fn describe(&self) -> String {
        let mut list = Listing::default();
        list.line("name", self.name.clone());
        list.line("what", self.title.clone());
        list.line("cores", self.cores().to_string());
        list.line("clock", format!("{} MHz", self.clock_mhz));
        list.line("page", format!("{} bytes", self.page_bytes));
        list.line("cache line", format!("{} bytes", self.line_bytes));
        self.list_core(&mut list);
        self.list_shared_cache(&mut list);
        if let Some(mesh) = &self.mesh {
            list_mesh(mesh, &mut list);
        }
        if let Some(sockets) = &self.sockets {
            list_sockets(sockets, &mut list);
        }
        let counter = self.hardware_counter.as_ref();
        let apart = counter.map(|counter| format!("{} cycles apart", counter.occupancy_cycles));
        list.line("hardware counter", apart.unwrap_or_else(|| "none".to_owned()));
        list.text()
    }

    /// Lists the figures of a core and of its private caches.
    fn list_core(&self, list: &mut Listing) {
        list.line("memory parallelism", format!("{} lines", self.core.memory_parallelism));
        if let Some(tlb) = &self.tlb {
            list.line("TLB", format!("{} pages of {} bytes", tlb.entries, self.page_bytes));
        }
        list.line("prefetched", format!("{} lines at a time", self.core.prefetched_lines));
        list.line("store buffer", format!("{} lines", self.core.store_buffer_lines));
        list.line("atomic on an owned line", format!("{} cycles", self.core.atomic_cycles));
        list.line("copying", format!("{} bytes a cycle", self.core.copy_bytes_per_cycle));
        list.line("SMT throughput", format!("{:?} of one thread", self.core.smt_throughput));
        list.line("L1", format!("{} KiB, {} cycles", self.l1.size_kib, self.l1.latency_cycles));
        if let Some(l2) = &self.l2 {
            list.line("L2, private", format!("{} KiB, {} cycles", l2.size_kib, l2.latency_cycles));
        }
    }

    fn list_shared_cache(&self, list: &mut Listing) {
        let shared = &self.shared_cache;
        let each = if self.mesh.is_some() { "tile" } else { "socket" };
        let size = format!("{} KiB a {each}, {} cycles", shared.size_kib, shared.latency_cycles);
        list.line("shared cache", size);
        list.line("directory", format!("{} cycles", shared.directory_cycles));
        list.line("out of another core's cache", format!("{} cycles more", shared.owner_cycles));
        let occupied = format!("{} cycles", shared.read_occupancy_cycles);
        list.line("a shared read occupies a line", occupied);
        list.line("coherence", if shared.exclusive_reads { "MESI" } else { "MSI" }.to_owned());
    }
}

fn list_mesh(mesh: &MeshDescription, list: &mut Listing) {
    list.line("mesh", format!("{} tiles, {} cycles a hop", mesh.tiles, mesh.hop_cycles));
    let smaller = if mesh.fitted { "fitted to its cores" } else { "the whole chip" };
    list.line("mesh of a smaller run", smaller.to_owned());
    list.line("rest of a line", format!("{} cycles", mesh.line_transfer_cycles));
    let (ns, gbps) = (mesh.memory_latency_ns, mesh.memory_bandwidth_gbps);
    list.line("memory", format!("{ns} ns, {gbps} GB/s a tile"));
}

fn list_sockets(s: &SocketsDescription, list: &mut Listing) {
    let (cores, threads) = (s.cores_per_socket, s.threads_per_core());
    list.line("sockets", format!("{} of {cores} cores, {threads} threads each", s.count));
    for socket in (0..s.count).filter(|socket| s.cores_of(*socket) != s.cores_per_socket) {
        list.line(&format!("socket {socket}"), format!("{} cores", s.cores_of(socket)));
    }
    let chassis = s.count.div_ceil(s.chassis_sockets);
    list.line("chassis", format!("{chassis} of {} sockets", s.chassis_sockets));
    list.line("threads take cores", format!("{:?} at a time", s.thread_steps));
    if let Some(gbps) = s.port_bandwidth_gbps {
        list.line("a socket to all others", format!("{gbps} GB/s"));
    }
    for level in &s.level {
        let figures = format!("{} ns, {} GB/s", level.latency_ns, level.bandwidth_gbps);
        list.line(&format!("memory, {}", level.name), figures);
    }
}
