//! Parses a machine file, and finds the line that causes an error.

use super::{DescriptionError, MachineDescription, SocketsDescription};

impl MachineDescription {
    /// Parses the text of a machine file. `file` is its name in errors.
    pub fn parse(text: &str, file: &str) -> Result<MachineDescription, DescriptionError> {
        let description: MachineDescription =
            toml::from_str(text).map_err(|error| explain(&error, text, file))?;
        match description.check() {
            Ok(()) => Ok(description),
            Err(Fault { key, problem }) => Err(DescriptionError::Invalid {
                file: file.to_owned(),
                line: line_of_key(text, &key),
                key,
                problem,
            }),
        }
    }

    fn check(&self) -> Result<(), Fault> {
        name("name", &self.name)?;
        line("title", &self.title)?;
        whole("clock_mhz", self.clock_mhz, 1, 100_000)?;
        whole("page_bytes", self.page_bytes, 4096, 1 << 30)?;
        if !matches!(self.line_bytes, 64 | 128) {
            let given = self.line_bytes;
            return Err(fault("line_bytes", &format!("{given} is not allowed; allowed: 64, 128")));
        }
        real("core.memory_parallelism", self.core.memory_parallelism, 1.0, 64.0)?;
        whole("core.prefetched_lines", self.core.prefetched_lines, 0, 1024)?;
        whole("core.store_buffer_lines", self.core.store_buffer_lines, 0, 1024)?;
        whole("core.atomic_cycles", self.core.atomic_cycles, 0, 10_000)?;
        whole("core.copy_bytes_per_cycle", self.core.copy_bytes_per_cycle, 1, 1024)?;
        whole("core.record_access_cycles", self.core.record_access_cycles, 0, 1 << 20)?;
        whole("core.clock_read_cycles", self.core.clock_read_cycles, 0, 10_000)?;
        whole("core.pause_cycles", self.core.pause_cycles, 1, 10_000)?;
        whole("core.yield_cycles", self.core.yield_cycles, 1, 1_000_000)?;
        whole("core.late_wake_up_ns", self.core.late_wake_up_ns, 0, 1_000_000_000)?;
        let throughput = &self.core.smt_throughput;
        for (i, factor) in throughput.iter().enumerate() {
            real("core.smt_throughput", *factor, if i == 0 { 1.0 } else { 0.1 }, i as f64 + 1.0)?;
        }
        for (i, share) in self.core.smt_parallelism.iter().enumerate() {
            real("core.smt_parallelism", *share, if i == 0 { 1.0 } else { 0.01 }, 1.0)?;
        }
        for (table, cache) in [("l1", Some(&self.l1)), ("l2", self.l2.as_ref())] {
            if let Some(cache) = cache {
                whole(&format!("{table}.size_kib"), cache.size_kib, 1, 1 << 20)?;
                whole(&format!("{table}.latency_cycles"), cache.latency_cycles, 0, 10_000)?;
            }
        }
        if let Some(tlb) = &self.tlb {
            whole("tlb.entries", tlb.entries, 1, 1 << 20)?;
            if !self.page_bytes.is_power_of_two() {
                return Err(fault(
                    "page_bytes",
                    "a machine with [tlb] has pages of a power of two",
                ));
            }
        }
        let shared = &self.shared_cache;
        whole("shared_cache.size_kib", shared.size_kib, 1, 1 << 30)?;
        whole("shared_cache.latency_cycles", shared.latency_cycles, 1, 10_000)?;
        whole("shared_cache.directory_cycles", shared.directory_cycles, 1, 10_000)?;
        whole("shared_cache.owner_cycles", shared.owner_cycles, 0, 10_000)?;
        whole("shared_cache.read_occupancy_cycles", shared.read_occupancy_cycles, 0, 10_000)?;
        match (&self.mesh, &self.sockets) {
            (Some(_), None) => self.check_mesh()?,
            (None, Some(_)) => self.check_sockets()?,
            (Some(_), Some(_)) => {
                return Err(fault("sockets", "a machine has [mesh] or [sockets], not both"));
            }
            (None, None) => {
                return Err(fault("mesh", "missing; a machine has [mesh] or [sockets]"));
            }
        }
        let threads = self.sockets.as_ref().map_or(1, |s| s.threads_per_core());
        if throughput.len() as u64 != threads {
            let allowed = format!(
                "{} numbers given; allowed: {threads}, one per thread of a core",
                throughput.len()
            );
            return Err(fault("core.smt_throughput", &allowed));
        }
        if let Some(counter) = &self.hardware_counter {
            whole("hardware_counter.occupancy_cycles", counter.occupancy_cycles, 1, 10_000)?;
        }
        Ok(())
    }

    fn check_mesh(&self) -> Result<(), Fault> {
        let mesh = self.mesh.as_ref().expect("asked for by the caller");
        whole("mesh.tiles", mesh.tiles, 1, 4096)?;
        whole("mesh.hop_cycles", mesh.hop_cycles, 1, 1000)?;
        whole("mesh.line_transfer_cycles", mesh.line_transfer_cycles, 0, 1000)?;
        real("mesh.memory_latency_ns", mesh.memory_latency_ns, 1.0, 100_000.0)?;
        real("mesh.memory_bandwidth_gbps", mesh.memory_bandwidth_gbps, 0.001, 100_000.0)
    }

    fn check_sockets(&self) -> Result<(), Fault> {
        let s = self.sockets.as_ref().expect("asked for by the caller");
        s.check_counts()?;
        s.check_levels_between()?;
        // The latency of memory includes the caches that were searched before.
        let l2 = self.l2.as_ref().map_or(0, |l2| l2.latency_cycles);
        let searched = (l2.max(self.l1.latency_cycles) + self.shared_cache.latency_cycles) as f64;
        let mut least = searched * 1000.0 / self.clock_mhz as f64;
        for (i, level) in s.level.iter().enumerate() {
            let key = |name: &str| format!("sockets.level[{i}].{name}");
            line(&key("name"), &level.name)?;
            real(&key("latency_ns"), level.latency_ns, least, 100_000.0)?;
            real(&key("bandwidth_gbps"), level.bandwidth_gbps, 0.001, 100_000.0)?;
            if i == 0 {
                least = level.latency_ns;
            }
        }
        s.check_triangles()?;
        s.check_links()
    }
}

impl SocketsDescription {
    /// Checks the numbers of sockets, cores and threads.
    fn check_counts(&self) -> Result<(), Fault> {
        whole("sockets.count", self.count, 1, 1024)?;
        whole("sockets.cores_per_socket", self.cores_per_socket, 1, 4096)?;
        whole("sockets.chassis_sockets", self.chassis_sockets, 1, self.count)?;
        let (given, wanted) = (self.cores_by_socket.len() as u64, self.count);
        if given != 0 && given != wanted {
            let allowed = format!("{given} numbers given; allowed: {wanted}, one for each socket");
            return Err(fault("sockets.cores_by_socket", &allowed));
        }
        for cores in &self.cores_by_socket {
            whole("sockets.cores_by_socket", *cores, 1, self.cores_per_socket)?;
        }
        let steps = &self.thread_steps;
        if steps.is_empty() || !steps.is_sorted_by(|a, b| a < b) || steps[0] == 0 {
            return Err(fault(
                "sockets.thread_steps",
                "allowed: increasing numbers of threads, from 1 to 8",
            ));
        }
        whole("sockets.thread_steps", self.threads_per_core(), 1, 8)
    }

    /// Checks that each two sockets have a level that exists.
    fn check_levels_between(&self) -> Result<(), Fault> {
        let last = self.level.len().saturating_sub(1) as u64;
        if self.level.is_empty() {
            return Err(fault(
                "sockets.level",
                "missing; at least [[sockets.level]] for local memory",
            ));
        }
        let side = self.chassis_sockets as usize;
        let within = &self.within_chassis;
        if within.len() != side || within.iter().any(|row| row.len() != side) {
            let allowed = format!("allowed: {side} rows of {side} levels, as chassis_sockets says");
            return Err(fault("sockets.within_chassis", &allowed));
        }
        for (i, row) in within.iter().enumerate() {
            for (j, level) in row.iter().enumerate() {
                let (least, most) = if i == j { (0, 0) } else { (1, last) };
                whole("sockets.within_chassis", *level, least, most)?;
            }
        }
        if self.chassis_sockets < self.count {
            let level = self.between_chassis.ok_or_else(|| {
                fault("sockets.between_chassis", "missing; needed where there are several chassis")
            })?;
            whole("sockets.between_chassis", level, 1, last)?;
        }
        self.same_position.map_or(Ok(()), |level| whole("sockets.same_position", level, 1, last))
    }
}

/// A value that is not allowed.
#[derive(Debug)]
pub(super) struct Fault {
    key: String,
    problem: String,
}

pub(super) fn fault(key: &str, problem: &str) -> Fault {
    Fault { key: key.to_owned(), problem: problem.to_owned() }
}

/// Maximum length of a machine's name and of a line of text.
const MOST_IN_NAME: usize = 64;
const MOST_IN_LINE: usize = 200;

/// Checks a machine's name. It appears in tables, records and file names.
fn name(key: &str, name: &str) -> Result<(), Fault> {
    if name == "native" {
        return Err(fault(key, "native is the machine at hand; allowed: another name"));
    }
    let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
    if (1..=MOST_IN_NAME).contains(&name.len()) && name.chars().all(plain) {
        return Ok(());
    }
    let allowed =
        format!("allowed: 1 to {MOST_IN_NAME} of the characters a-z, A-Z, 0-9, -, _ and .");
    Err(fault(key, &format!("{name:?} is not allowed; {allowed}")))
}

/// Checks a text that is printed in one line.
pub(super) fn line(key: &str, text: &str) -> Result<(), Fault> {
    let count = text.chars().count();
    if (1..=MOST_IN_LINE).contains(&count) && !text.chars().any(char::is_control) {
        return Ok(());
    }
    let allowed = format!("allowed: 1 to {MOST_IN_LINE} characters without control characters");
    Err(fault(key, &format!("{text:?} is not allowed; {allowed}")))
}

fn whole(key: &str, value: u64, least: u64, most: u64) -> Result<(), Fault> {
    if (least..=most).contains(&value) {
        return Ok(());
    }
    Err(fault(key, &format!("{value} is not allowed; allowed: {least} to {most}")))
}

pub(super) fn real(key: &str, value: f64, least: f64, most: f64) -> Result<(), Fault> {
    if value >= least && value <= most {
        return Ok(());
    }
    Err(fault(key, &format!("{value} is not allowed; allowed: {least} to {most}")))
}

/// Turns the parser's error into ours: finds the key of the line at which it points, and replaces the names of types
/// by words.
fn explain(error: &toml::de::Error, text: &str, file: &str) -> DescriptionError {
    let at = error.span().map_or(0, |span| span.start).min(text.len());
    let line = text[..at].matches('\n').count() + 1;
    let message = error.message().replace('\n', " ");
    let (table, name) = key_of_line(text, line);
    let missing = message.strip_prefix("missing field `").and_then(|rest| rest.strip_suffix('`'));
    let (name, problem) = match missing {
        Some(field) => (field.to_owned(), "missing".to_owned()),
        None => {
            let words = [
                ("expected u64", "allowed: whole numbers from 0"),
                ("expected f64", "allowed: a number"),
                ("expected a boolean", "allowed: true or false"),
                ("expected one of", "allowed:"),
                ("expected `", "allowed: `"),
            ];
            let said = |m: String, (from, to): &(&str, &str)| m.replace(from, to);
            (name, words.iter().fold(message, said))
        }
    };
    let key = [table, name].into_iter().filter(|s| !s.is_empty()).collect::<Vec<_>>().join(".");
    DescriptionError::Invalid { file: file.to_owned(), line, key, problem }
}

/// Returns the table and the key to which line number `line` of `text` belongs.
fn key_of_line(text: &str, line: usize) -> (String, String) {
    let mut table = String::new();
    let mut key = String::new();
    for l in text.lines().take(line) {
        match header(l) {
            Some(name) => (table, key) = (name.to_owned(), String::new()),
            None if l.trim_start().starts_with('[') && !l.contains('=') => {
                (table, key) = (l.trim().to_owned(), String::new());
            }
            None => {
                if let Some((name, _)) =
                    l.split_once('=').filter(|_| !l.trim_start().starts_with('#'))
                {
                    key = name.trim().to_owned();
                }
            }
        }
    }
    (table, key)
}

/// Returns the line of `key` (`table.name`, `table[2].name`). If the key is missing, returns the line of its table.
fn line_of_key(text: &str, key: &str) -> usize {
    let (table, name) = key.rsplit_once('.').unwrap_or(("", key));
    let (table, skipped) = match table.split_once('[') {
        Some((table, index)) => (table, index.trim_end_matches(']').parse().unwrap_or(0)),
        None => (table, 0usize),
    };
    let mut seen = 0;
    let mut inside = table.is_empty();
    let mut found = 1;
    for (i, line) in text.lines().enumerate() {
        if let Some(header) = header(line) {
            inside = header == table && seen == skipped;
            seen += usize::from(header == table);
            if inside || header == key {
                found = i + 1;
            }
        } else if inside && line.split_once('=').is_some_and(|(k, _)| k.trim() == name) {
            return i + 1;
        }
    }
    found
}

/// Returns the line of `text` that gives `key` its value, if there is one.
pub(super) fn value_line<'t>(text: &'t str, key: &str) -> Option<&'t str> {
    let name = key.rsplit('.').next()?;
    let line = text.lines().nth(line_of_key(text, key) - 1)?;
    line.split_once('=').filter(|(found, _)| found.trim() == name)?;
    Some(line)
}

/// Returns the name in a table's header line.
fn header(line: &str) -> Option<&str> {
    let line = line.trim();
    let end = line.find(']').filter(|_| line.starts_with('['))?;
    Some(line[..end].trim_start_matches('[').trim())
}
