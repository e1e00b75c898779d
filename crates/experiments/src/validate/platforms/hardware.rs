//! Turns a table of `hardware.toml` into a machine description.
//!
//! The table has what an operating system tells about a machine. What it can't tell (latencies of caches in cycles,
//! memory parallelism, width of copies, gain of SMT, links between sockets) comes from a built-in machine file with a
//! processor of the same family. The key `processor` names that file. Without it the text in `name` decides
//! ([`FAMILIES`]). The key `machine` names a machine file that is taken as a whole.

use super::distances::{Distances, Level};
use super::{NUMA, Source};
use crate::validate::ValidateError;
use serde::Deserialize;
use simulator::{
    CacheDescription, DescriptionError, LevelDescription, MachineDescription,
    SharedCacheDescription, SocketsDescription, assumed_smt_throughput,
};

/// Texts in a platform's name, in small letters, each with the built-in machine whose processor is of the same family.
const FAMILIES: &[(&str, &str)] = &[
    ("power9", "power9"),
    ("power8", "power8"),
    ("skylake", "superdome-flex"),
    ("cascade lake", "superdome-flex"),
    ("superdome flex", "superdome-flex"),
];

/// The machine file that stands for all other processors.
const OTHERS: &str = "generic";

/// One table of `hardware.toml`. Other keys are remarks for readers.
#[derive(Debug, Deserialize)]
#[expect(non_snake_case, reason = "the file's keys end in their units")]
pub(super) struct Hardware {
    #[serde(default)]
    name: String,
    /// Machine file, by its name or its path from the directory on, that is taken as a whole.
    machine: Option<String>,
    /// Built-in machine whose processor is of the same family.
    processor: Option<String>,
    sockets: Option<u64>,
    cores_per_socket: Option<u64>,
    smt: Option<u64>,
    sockets_per_chassis: Option<u64>,
    /// Hardware threads of each socket, where some have fewer cores.
    threads_per_socket: Option<Vec<u64>>,
    logical_cores: Option<u64>,
    /// Order in which threads take the cores of a socket, as in a machine file.
    thread_steps: Option<Vec<u64>>,
    clock_GHz: Option<f64>,
    line_bytes: Option<u64>,
    page_KiB: Option<u64>,
    l1d_KiB: Option<u64>,
    l2_KiB: Option<u64>,
    l3_KiB_per_socket: Option<u64>,
    l3_KiB_per_core: Option<u64>,
}

impl Hardware {
    /// Returns the machine of the table `table` in `source`, and notes what was assumed.
    pub(super) fn machine(
        self,
        source: &Source,
        table: &str,
        notes: &mut Vec<String>,
    ) -> Result<MachineDescription, ValidateError> {
        if let Some(machine) = &self.machine {
            return source.load(machine, &format!("{table}.machine"));
        }
        let family = match &self.processor {
            Some(name) => source.load(name, &format!("{table}.processor"))?,
            None => {
                let family = self.family();
                notes.push(format!(
                    "{table}: what hardware.toml does not say is taken from the machine file {family}"
                ));
                MachineDescription::load(family)?
            }
        };
        let Some(like) = &family.sockets else {
            let problem =
                format!("{} has no sockets; allowed: a machine with sockets", family.name);
            return Err(source.bad(&format!("{table}.processor"), problem));
        };
        let sockets = self.sockets(source, table, like)?;
        let machine = self.with_sockets(table, &family, sockets);
        // The result must be a machine file that loads, so it is checked as one.
        let machine = MachineDescription::parse(&machine.to_toml(), table).map_err(|error| {
            let problem = match error {
                DescriptionError::Invalid { key, problem, .. } => format!("{key}: {problem}"),
                other => other.to_string(),
            };
            source.bad(&format!("{table} as a machine file"), problem)
        })?;
        if let Some(said) = self.logical_cores.filter(|said| *said != machine.cores() as u64) {
            let problem = format!("{said}, but the sockets have {} threads", machine.cores());
            return Err(source.bad(&format!("{table}.logical_cores"), problem));
        }
        Ok(machine)
    }

    /// Returns the built-in machine with a processor of the same family, by the platform's name.
    fn family(&self) -> &'static str {
        let name = self.name.to_lowercase();
        FAMILIES.iter().find(|(text, _)| name.contains(text)).map_or(OTHERS, |(_, family)| family)
    }

    /// Returns the sockets, with their distances.
    fn sockets(
        &self,
        source: &Source,
        table: &str,
        like: &SocketsDescription,
    ) -> Result<SocketsDescription, ValidateError> {
        let needed = |value: Option<u64>, key: &str| {
            let value = value.filter(|value| *value > 0);
            let problem = "missing; allowed: a whole number from 1".to_owned();
            value.ok_or_else(|| source.bad(&format!("{table}.{key}"), problem))
        };
        let count = needed(self.sockets, "sockets")?;
        let cores_per_socket = needed(self.cores_per_socket, "cores_per_socket")?;
        let smt = needed(self.smt, "smt")?;
        let threads = self.threads_per_socket.as_deref().unwrap_or(&[]);
        if let Some(odd) = threads.iter().find(|threads| !threads.is_multiple_of(smt)) {
            let problem =
                format!("{odd} is not allowed; allowed: multiples of smt, which is {smt}");
            return Err(source.bad(&format!("{table}.threads_per_socket"), problem));
        }
        let mut levels = source.levels(table)?;
        let chassis = self.sockets_per_chassis.unwrap_or(count).clamp(1, count);
        let distances = Distances::of(source, table, (count, chassis), &mut levels)?;
        let usual = capped(&like.thread_steps, smt);
        let described = |level: Level| LevelDescription {
            name: level.name,
            latency_ns: level.latency_ns,
            bandwidth_gbps: level.bandwidth_gbps,
        };
        // Links are those of one machine. Another one of the family has a link for each two sockets.
        let same = (like.count, like.chassis_sockets) == (count, distances.chassis_sockets);
        Ok(SocketsDescription {
            count,
            cores_per_socket,
            cores_by_socket: threads.iter().map(|threads| threads / smt).collect(),
            chassis_sockets: distances.chassis_sockets,
            thread_steps: self.thread_steps.clone().unwrap_or(usual),
            within_chassis: distances.within_chassis,
            between_chassis: distances.between_chassis,
            same_position: distances.same_position,
            level: levels.into_iter().map(described).collect(),
            link: if same { like.link.clone() } else { Vec::new() },
            part_of: None,
        })
    }

    /// Returns a machine of the `family` with the table's figures.
    fn with_sockets(
        &self,
        table: &str,
        family: &MachineDescription,
        sockets: SocketsDescription,
    ) -> MachineDescription {
        let like = family.sockets.as_ref().map_or(1, |sockets| sockets.cores_per_socket);
        let threads = sockets.threads_per_core() as usize;
        let mut core = family.core.clone();
        let known = core.smt_throughput.len().min(threads);
        let assumed = assumed_smt_throughput(threads);
        core.smt_throughput.truncate(known);
        let gain = core.smt_throughput.last().copied().unwrap_or(1.0) / assumed[known - 1];
        core.smt_throughput.extend(assumed[known..].iter().map(|throughput| throughput * gain));
        let sized = |size: Option<u64>, cache: &CacheDescription| CacheDescription {
            size_kib: size.unwrap_or(cache.size_kib),
            ..cache.clone()
        };
        let each = self.l3_KiB_per_core.unwrap_or(family.shared_cache.size_kib / like);
        let shared = self.l3_KiB_per_socket.unwrap_or(each * sockets.cores_per_socket);
        let title: String = self.name.chars().filter(|letter| !letter.is_control()).collect();
        MachineDescription {
            name: table.to_owned(),
            title: if title.is_empty() { table.to_owned() } else { title },
            clock_mhz: self.clock_GHz.map_or(family.clock_mhz, |ghz| (ghz * 1000.0).round() as u64),
            page_bytes: self.page_KiB.map_or(family.page_bytes, |kib| kib * 1024),
            line_bytes: self.line_bytes.unwrap_or(family.line_bytes),
            core,
            l1: sized(self.l1d_KiB, &family.l1),
            l2: family.l2.as_ref().map(|l2| sized(self.l2_KiB, l2)),
            tlb: family.tlb.clone(),
            shared_cache: SharedCacheDescription {
                size_kib: shared,
                ..family.shared_cache.clone()
            },
            mesh: None,
            sockets: Some(sockets),
            hardware_counter: family.hardware_counter.clone(),
        }
    }
}

/// Returns the order `steps` for cores with `smt` threads.
pub(in crate::validate) fn capped(steps: &[u64], smt: u64) -> Vec<u64> {
    let below = steps.iter().copied().filter(|step| *step < smt);
    below.chain([smt]).collect()
}

/// Distances of a platform, as `[numa.PLATFORM]` has them.
#[derive(Debug, Deserialize)]
#[expect(non_snake_case, reason = "the file's keys end in their units")]
struct Distance {
    slit: Option<u64>,
    latency_ns: f64,
    bandwidth_GBps: f64,
}

impl Source {
    /// Loads a machine file by its name, or by its path from this directory on.
    fn load(&self, name: &str, key: &str) -> Result<MachineDescription, ValidateError> {
        let path = self.directory.join(name);
        let named = if path.is_file() { path.display().to_string() } else { name.to_owned() };
        MachineDescription::load(&named).map_err(|error| self.bad(key, error.to_string()))
    }

    /// Returns the levels of a platform, with local memory first and the others by their distance.
    fn levels(&self, table: &str) -> Result<Vec<Level>, ValidateError> {
        let key = format!("{NUMA}.{table}");
        let own = self.tables.get(NUMA).and_then(|numa| numa.get(table)?.as_table());
        let mut levels = Vec::new();
        for (name, value) in own.into_iter().flatten() {
            let distance: Distance =
                value.clone().try_into().map_err(|error: toml::de::Error| {
                    self.bad(&format!("{key}.{name}"), error.message().replace('\n', " "))
                })?;
            levels.push(Level {
                name: name.clone(),
                slit: distance.slit,
                latency_ns: distance.latency_ns,
                bandwidth_gbps: distance.bandwidth_GBps,
            });
        }
        let rank = |level: &Level| {
            (level.name != "local", level.slit.unwrap_or(u64::MAX), level.latency_ns.to_bits())
        };
        levels.sort_by_key(rank);
        match levels.first() {
            Some(first) if first.name == "local" => Ok(levels),
            _ => {
                let problem =
                    "missing; allowed: { slit = 10, latency_ns = 97, bandwidth_GBps = 101 }";
                Err(self.bad(&format!("{key}.local"), problem.to_owned()))
            }
        }
    }
}
