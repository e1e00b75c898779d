//! Listing of a machine's figures for human readers.

use super::check::value_line;
use super::{LinkDescription, MachineDescription, MeshDescription, SocketsDescription};
use std::fmt::{Display, Write};

/// Maximum number of ways that are listed for the same kinds of links.
const MOST_WAYS: usize = 4;

/// Names and values, in the order in which they are shown.
struct Listing<'t> {
    /// Text of the machine file, if its comments are to be shown.
    text: Option<&'t str>,
    lines: Vec<(String, String)>,
}

impl Listing<'_> {
    fn line(&mut self, name: &str, value: String) {
        self.lines.push((name.to_owned(), value));
    }

    /// Lists figures that the machine file has under `keys`, with the comments there.
    fn figures(&mut self, name: &str, value: String, keys: &[&str]) {
        let mut value = value;
        let comments = keys.iter().filter_map(|key| {
            let line = value_line(self.text?, key)?;
            Some(line.split_once('#')?.1.trim().to_owned())
        });
        let mut shown: Vec<String> = Vec::new();
        comments.for_each(|comment| shown.extend((!shown.contains(&comment)).then_some(comment)));
        if !shown.is_empty() {
            value = format!("{value}  # {}", shown.join("; "));
        }
        self.line(name, value);
    }

    /// Returns the listing as text, with one figure per line and the values in one column.
    fn text(&self) -> String {
        let width = self.lines.iter().map(|(name, _)| name.len()).max().unwrap_or(0);
        let mut text = String::new();
        for (name, value) in &self.lines {
            writeln!(text, "{name:width$}  {value}").expect("a string takes everything");
        }
        text
    }
}

impl MachineDescription {
    /// Returns a listing of everything that the model knows about the machine, with one figure per line. If `text`, the
    /// text of the machine file, is given, the comment beside each figure follows it: its source.
    pub fn describe(&self, text: Option<&str>) -> String {
        let mut list = Listing { text, lines: Vec::new() };
        list.line("name", self.name.clone());
        list.line("what", self.title.clone());
        list.line("cores", self.cores().to_string());
        list.figures("clock", format!("{} MHz", self.clock_mhz), &["clock_mhz"]);
        list.figures("page", format!("{} bytes", self.page_bytes), &["page_bytes"]);
        list.figures("cache line", format!("{} bytes", self.line_bytes), &["line_bytes"]);
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
        let apart = apart.unwrap_or_else(|| "none".to_owned());
        list.figures("hardware counter", apart, &["hardware_counter.occupancy_cycles"]);
        list.text()
    }

    /// Lists the figures of a core and of its private caches.
    fn list_core(&self, list: &mut Listing<'_>) {
        let core = &self.core;
        let mut figure = |name: &str, number: &dyn Display, unit: &str, key: &str| {
            list.figures(name, format!("{number} {unit}"), &[&format!("core.{key}")]);
        };
        figure("memory parallelism", &core.memory_parallelism, "lines", "memory_parallelism");
        figure("prefetched", &core.prefetched_lines, "lines at a time", "prefetched_lines");
        figure("store buffer", &core.store_buffer_lines, "lines", "store_buffer_lines");
        figure("atomic on an owned line", &core.atomic_cycles, "cycles", "atomic_cycles");
        figure("copying", &core.copy_bytes_per_cycle, "bytes a cycle", "copy_bytes_per_cycle");
        let access = "instructions of an access to a record";
        figure(access, &core.record_access_cycles, "cycles", "record_access_cycles");
        figure("reading of the clock", &core.clock_read_cycles, "cycles", "clock_read_cycles");
        figure("pause while spinning", &core.pause_cycles, "cycles", "pause_cycles");
        figure("yield of the processor", &core.yield_cycles, "cycles", "yield_cycles");
        figure("late wake-up", &core.late_wake_up_ns, "ns", "late_wake_up_ns");
        let throughput = format!("{:?}", core.smt_throughput);
        figure("SMT throughput", &throughput, "of one thread", "smt_throughput");
        if !core.smt_parallelism.is_empty() {
            let share = format!("{:?}", core.smt_parallelism);
            figure("SMT parallelism", &share, "of one thread, for each", "smt_parallelism");
        }
        if let Some(tlb) = &self.tlb {
            let pages = format!("{} pages of {} bytes", tlb.entries, self.page_bytes);
            list.figures("TLB", pages, &["tlb.entries"]);
        }
        let l1 = format!("{} KiB, {} cycles", self.l1.size_kib, self.l1.latency_cycles);
        list.figures("L1", l1, &["l1.size_kib", "l1.latency_cycles"]);
        if let Some(l2) = &self.l2 {
            let l2 = format!("{} KiB, {} cycles", l2.size_kib, l2.latency_cycles);
            list.figures("L2, private", l2, &["l2.size_kib", "l2.latency_cycles"]);
        }
    }

    fn list_shared_cache(&self, list: &mut Listing<'_>) {
        let shared = &self.shared_cache;
        let each = if self.mesh.is_some() { "tile" } else { "socket" };
        let size = format!("{} KiB a {each}, {} cycles", shared.size_kib, shared.latency_cycles);
        let keys = ["shared_cache.size_kib", "shared_cache.latency_cycles"];
        list.figures("shared cache", size, &keys);
        let mut figure = |name: &str, value: String, key: &str| {
            list.figures(name, value, &[&format!("shared_cache.{key}")]);
        };
        figure("directory", format!("{} cycles", shared.directory_cycles), "directory_cycles");
        let more = format!("{} cycles more", shared.owner_cycles);
        figure("out of another core's cache", more, "owner_cycles");
        let occupied = format!("{} cycles", shared.read_occupancy_cycles);
        figure("a shared read occupies a line", occupied, "read_occupancy_cycles");
        let coherence = if shared.exclusive_reads { "MESI" } else { "MSI" };
        figure("coherence", coherence.to_owned(), "exclusive_reads");
    }
}

fn list_mesh(mesh: &MeshDescription, list: &mut Listing<'_>) {
    let tiles = format!("{} tiles, {} cycles a hop", mesh.tiles, mesh.hop_cycles);
    list.figures("mesh", tiles, &["mesh.tiles", "mesh.hop_cycles"]);
    let smaller = if mesh.fitted { "fitted to its cores" } else { "the whole chip" };
    list.figures("mesh of a smaller run", smaller.to_owned(), &["mesh.fitted"]);
    let rest = format!("{} cycles", mesh.line_transfer_cycles);
    list.figures("rest of a line", rest, &["mesh.line_transfer_cycles"]);
    let memory =
        format!("{} ns, {} GB/s a tile", mesh.memory_latency_ns, mesh.memory_bandwidth_gbps);
    list.figures("memory", memory, &["mesh.memory_latency_ns", "mesh.memory_bandwidth_gbps"]);
}

fn list_sockets(s: &SocketsDescription, list: &mut Listing<'_>) {
    let (cores, threads) = (s.cores_per_socket, s.threads_per_core());
    let sockets = format!("{} of {cores} cores, {threads} threads each", s.count);
    list.figures("sockets", sockets, &["sockets.count", "sockets.cores_per_socket"]);
    for socket in (0..s.count).filter(|socket| s.cores_of(*socket) != s.cores_per_socket) {
        let cores = format!("{} cores", s.cores_of(socket));
        list.figures(&format!("socket {socket}"), cores, &["sockets.cores_by_socket"]);
    }
    let chassis = s.count.div_ceil(s.chassis_sockets);
    let chassis = format!("{chassis} of {} sockets", s.chassis_sockets);
    list.figures("chassis", chassis, &["sockets.chassis_sockets"]);
    let steps = format!("{:?} at a time", s.thread_steps);
    list.figures("threads take cores", steps, &["sockets.thread_steps"]);
    for (i, level) in s.level.iter().enumerate() {
        let figures = format!("{} ns, {} GB/s", level.latency_ns, level.bandwidth_gbps);
        let keys = ["latency_ns", "bandwidth_gbps"].map(|key| format!("sockets.level[{i}].{key}"));
        list.figures(&format!("memory, {}", level.name), figures, &[&keys[0], &keys[1]]);
    }
    if s.link.is_empty() && s.count > 1 {
        list.line("links", "one for each two sockets, with its level's GB/s each way".to_owned());
    }
    for (i, link) in s.link.iter().enumerate() {
        list_link(i, link, list);
    }
    if !s.link.is_empty() {
        list_ways(s, list);
    }
}

fn list_link(i: usize, link: &LinkDescription, list: &mut Listing<'_>) {
    let lists = [
        ("in each chassis", "within_chassis", &link.within_chassis),
        ("for each two chassis", "between_chassis", &link.between_chassis),
        ("in the machine", "within_machine", &link.within_machine),
    ];
    let present = || lists.iter().filter(|(_, _, links)| !links.is_empty());
    let where_it_is = present().map(|(words, _, links)| format!("{words} {}", links.join(" ")));
    let (directions, shared) = match link.directions_share {
        true => ("both ways together", Some("directions_share")),
        false => ("each way", None),
    };
    let value = format!(
        "{} GB/s {directions}: {}",
        link.bandwidth_gbps,
        where_it_is.collect::<Vec<_>>().join(", ")
    );
    let keys = ["bandwidth_gbps"].into_iter().chain(shared);
    let keys = keys.chain(present().map(|(_, key, _)| *key));
    let keys: Vec<String> = keys.map(|key| format!("sockets.link[{i}].{key}")).collect();
    let keys: Vec<&str> = keys.iter().map(String::as_str).collect();
    list.figures(&format!("link {}", link.name), value, &keys);
}

/// Lists the ways that lines take, with one line for all pairs whose ways have the same kinds of links.
fn list_ways(s: &SocketsDescription, list: &mut Listing<'_>) {
    let (graph, sockets) = (s.graph(), s.numbers_in_whole());
    let mut groups: Vec<(Vec<usize>, Vec<String>)> = Vec::new();
    for (at, way) in graph.ways(&sockets).iter().enumerate().filter(|(_, way)| !way.is_empty()) {
        let kinds: Vec<usize> = way.iter().map(|link| graph.links[link / 2].kind).collect();
        let stations = graph.stations(sockets[at / sockets.len()], way);
        match groups.iter_mut().find(|(known, _)| *known == kinds) {
            Some((_, ways)) => ways.push(stations),
            None => groups.push((kinds, vec![stations])),
        }
    }
    for (kinds, ways) in groups {
        let names: Vec<&str> = kinds.iter().map(|kind| s.link[*kind].name.as_str()).collect();
        let shown = ways.iter().take(MOST_WAYS).map(String::as_str).collect::<Vec<_>>().join(" ");
        let more = match ways.len().saturating_sub(MOST_WAYS) {
            0 => String::new(),
            more => format!(" and {more} more"),
        };
        list.line(&format!("way by {}", names.join(", ")), format!("{shown}{more}"));
    }
}
