//! Probe: describes the machine on which it runs, from the topology that the system reports and from a few seconds of
//! measurements.

mod memory;
mod threads;
mod topology;

use crate::description::{
    CacheDescription, CoreDescription, DescriptionError, LevelDescription, MachineDescription,
    SharedCacheDescription, SocketsDescription, USUAL_LINE_BYTES, assumed_smt_throughput,
};
use machine::{USUAL_CLOCK_READ_CYCLES, USUAL_PAUSE_CYCLES, USUAL_YIELD_CYCLES};
use std::path::Path;
use topology::Topology;

/// Lines in a store buffer of today's processors: about 56 entries of up to 32 bytes, for two threads.
const STORE_BUFFER_LINES: u64 = 14;

/// Lines that a core of today fetches at the same time: line-fill buffers.
const PREFETCHED_LINES: u64 = 10;

/// Options that say how thorough a probe is.
#[derive(Clone, Debug)]
pub struct ProbeOptions {
    /// Largest size of a buffer, in bytes. Memory can be measured only with buffers that are larger than the
    /// last-level cache.
    pub largest_buffer: usize,
    /// Number of attempts per figure. The best one counts, because disturbances only ever slow the machine down.
    pub attempts: usize,
}

impl Default for ProbeOptions {
    fn default() -> Self {
        ProbeOptions { largest_buffer: 1 << 30, attempts: 3 }
    }
}

/// Result of a probe.
#[derive(Clone, Debug)]
pub struct Probe {
    /// Description of the machine.
    pub description: MachineDescription,
    /// Notes on what was assumed instead of measured, and why.
    pub notes: Vec<String>,
}

impl Probe {
    /// Returns a machine file: the notes as comments, then the figures.
    pub fn to_toml(&self) -> String {
        let mut text = String::from("# Measured by a probe of the machine at hand.\n");
        for note in &self.notes {
            text.push_str("# ");
            text.push_str(note);
            text.push('\n');
        }
        text + "\n" + &self.description.to_toml()
    }
}

/// Measures the machine on which it runs, in a few seconds.
pub fn probe(options: &ProbeOptions) -> Result<Probe, DescriptionError> {
    // The measurement runs on a thread of its own, because it pins its thread.
    threads::apart(|| measure(options))
}

fn measure(options: &ProbeOptions) -> Result<Probe, DescriptionError> {
    let topology = Topology::read(Path::new("/sys/devices/system"));
    let memory = machine::available_memory().map_or(usize::MAX, |bytes| (bytes / 4) as usize);
    let limit = options.largest_buffer.min(memory).max(1 << 20);
    let attempts = options.attempts.max(1);
    threads::pin(topology.cpu(0, 0));
    let mhz = memory::clock_mhz(attempts).round().max(100.0);
    let notes = topology.notes.clone();
    Measuring { topology, attempts, limit, mhz, notes }.run()
}

/// State of a probe that is running.
struct Measuring {
    topology: Topology,
    attempts: usize,
    /// Largest size of a buffer, in bytes.
    limit: usize,
    mhz: f64,
    notes: Vec<String>,
}

/// Latencies of the caches, in cycles.
struct CacheLatencies {
    l1: u64,
    l2: Option<u64>,
    /// Time until the private caches have been searched.
    lookup: u64,
    shared: u64,
}

impl Measuring {
    fn run(mut self) -> Result<Probe, DescriptionError> {
        let latencies = self.caches();
        let (level, memory_parallelism) = self.levels(latencies.shared);
        let owner_cycles = self.owner_cycles(latencies.shared);
        let (mhz, attempts) = (self.mhz, self.attempts);
        let core = CoreDescription {
            memory_parallelism,
            prefetched_lines: PREFETCHED_LINES,
            store_buffer_lines: STORE_BUFFER_LINES,
            atomic_cycles: self.cycles(memory::atomic_ns(attempts)).saturating_sub(latencies.l1),
            copy_bytes_per_cycle: memory::copy_bytes_per_cycle(mhz, attempts),
            record_access_cycles: 0,
            clock_read_cycles: USUAL_CLOCK_READ_CYCLES,
            pause_cycles: USUAL_PAUSE_CYCLES,
            yield_cycles: USUAL_YIELD_CYCLES,
            late_wake_up_ns: 0,
            smt_throughput: self.smt_throughput(),
            smt_parallelism: Vec::new(),
        };
        self.notes.push(format!("a store buffer of {STORE_BUFFER_LINES} lines is assumed"));
        self.notes.push(format!("{PREFETCHED_LINES} prefetched lines at a time are assumed"));
        self.notes.push("translations of addresses are taken to cost nothing".to_owned());
        self.notes.push("directory and read occupancy of the shared cache are assumed".to_owned());
        let CacheLatencies { l1, l2, lookup, shared } = latencies;
        let kib = |bytes: usize| (bytes as u64 / 1024).max(1);
        let cache =
            |bytes, latency_cycles| CacheDescription { size_kib: kib(bytes), latency_cycles };
        let caches = &self.topology.caches;
        let description = MachineDescription {
            name: "probed".to_owned(),
            title: self.topology.model.clone(),
            clock_mhz: mhz as u64,
            page_bytes: threads::page_bytes(),
            line_bytes: USUAL_LINE_BYTES,
            core,
            l1: cache(caches.l1, l1),
            l2: caches.l2.zip(l2).map(|(bytes, cycles)| cache(bytes, cycles)),
            tlb: None,
            shared_cache: SharedCacheDescription {
                size_kib: kib(caches.shared),
                latency_cycles: shared - lookup,
                directory_cycles: ((shared - lookup) * 2 / 3).max(1),
                owner_cycles,
                read_occupancy_cycles: 2,
                exclusive_reads: true,
            },
            mesh: None,
            sockets: Some(self.sockets(level)),
            hardware_counter: None,
        };
        // The result must be a machine file that loads, so it is parsed here.
        let description = MachineDescription::parse(&description.to_toml(), "probed.toml")?;
        Ok(Probe { description, notes: self.notes })
    }

    fn cycles(&self, ns: f64) -> u64 {
        (ns * self.mhz / 1000.0).round().max(0.0) as u64
    }

    fn caches(&self) -> CacheLatencies {
        let chase = |bytes: usize| memory::chase_ns(bytes.clamp(4096, self.limit), self.attempts);
        let caches = &self.topology.caches;
        let l1 = self.cycles(chase(caches.l1 / 2)).max(1);
        let l2 = caches.l2.map(|bytes| self.cycles(chase(bytes / 2)).max(l1));
        let lookup = l2.unwrap_or(l1);
        // The size is far beyond the second level and well inside the third.
        let inside = (caches.shared / 4).min(caches.l2.unwrap_or(caches.l1) * 16);
        let shared = self.cycles(chase(inside)).max(lookup + 1);
        CacheLatencies { l1, l2, lookup, shared }
    }

    /// Measures memory by its distance, the nearest first, and how many lines of it are fetched at the same time.
    fn levels(&mut self, shared_cycles: u64) -> (Vec<LevelDescription>, f64) {
        let shared_bytes = self.topology.caches.shared;
        let large = (shared_bytes * 4).min(self.limit);
        if large <= shared_bytes {
            self.notes.push(format!(
                "the last-level cache ({} MiB) is too large to get past it with {} MiB: memory figures are its own",
                shared_bytes >> 20,
                large >> 20
            ));
        }
        let (topology, attempts) = (&self.topology, self.attempts);
        let mut level: Vec<LevelDescription> = Vec::new();
        let mut memory_parallelism = 1.0;
        for (number, (distance, from, to)) in topology.levels().into_iter().enumerate() {
            let near = topology.cpu(from, 0);
            let buffer = threads::on(topology.cpu(to, 0), || memory::Chase::new(large));
            let ns = threads::on(near, || buffer.ns(attempts));
            if number == 0 {
                let measured = threads::on(near, || memory::parallelism(&buffer, attempts));
                memory_parallelism = tenths(measured).clamp(1.0, 16.0);
            }
            drop(buffer);
            let cpus = topology.cpus_of(from);
            let gbps = threads::bandwidth_gbps(&cpus, topology.cpu(to, 0), to != from, large);
            let least = shared_cycles as f64 * 1000.0 / self.mhz;
            let latency_ns = tenths(if number == 0 { ns.max(least + 0.1) } else { ns });
            level.push(LevelDescription {
                name: if number == 0 { "local".to_owned() } else { format!("distance {distance}") },
                latency_ns,
                bandwidth_gbps: tenths(gbps).max(0.1),
            });
        }
        // If farther memory was measured as nearer, this is noise. The model needs ordered distances.
        let local = level[0].latency_ns;
        for far in &mut level {
            far.latency_ns = far.latency_ns.max(local);
        }
        (level, memory_parallelism)
    }

    /// Measures how many cycles longer a line takes that another core holds, compared with a line of the shared cache.
    fn owner_cycles(&mut self, shared_cycles: u64) -> u64 {
        let neighbours = self.topology.neighbours();
        let transfer = neighbours.map(|(a, b)| threads::transfer_ns(a, b, self.attempts));
        if transfer.is_none() {
            let note = "one core only: what a line takes from core to core is assumed";
            self.notes.push(note.to_owned());
        }
        let measured = transfer.filter(|ns| ns.is_finite());
        measured.map_or(60, |ns| self.cycles(ns).saturating_sub(shared_cycles))
    }

    fn smt_throughput(&mut self) -> Vec<f64> {
        let threads_per_core = self.topology.threads_per_core();
        if threads_per_core > 1 {
            let note =
                "throughput of SMT siblings is assumed: 1.3 for two, 0.1 more for each other";
            self.notes.push(note.to_owned());
        }
        assumed_smt_throughput(threads_per_core)
    }

    fn sockets(&self, level: Vec<LevelDescription>) -> SocketsDescription {
        let topology = &self.topology;
        SocketsDescription {
            count: topology.nodes() as u64,
            cores_per_socket: topology.cores_per_node() as u64,
            cores_by_socket: Vec::new(),
            chassis_sockets: topology.nodes() as u64,
            thread_steps: vec![topology.threads_per_core() as u64],
            within_chassis: topology.level_matrix(),
            between_chassis: None,
            same_position: None,
            link: Vec::new(),
            part_of: None,
            level,
        }
    }
}

fn tenths(value: f64) -> f64 {
    (value * 10.0).round() / 10.0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_probe_finds_is_a_machine_file() {
        let found = probe(&ProbeOptions { largest_buffer: 4 << 20, attempts: 1 }).unwrap();
        let text = found.to_toml();
        assert_eq!(MachineDescription::parse(&text, "probed.toml").unwrap(), found.description);
        assert!(found.description.cores() >= 1, "{text}");
    }
}
