//! Facts that the operating system reports about the machine, about this process and about other processes.

use std::{fs, time::Instant};

/// Number of clock ticks a second in which Linux reports times to programs.
const TICKS: f64 = 100.0;

/// Times of processors at the start of a measurement.
pub struct Busy {
    start: Instant,
    all: f64,
    own: f64,
}

impl Busy {
    pub fn start() -> Busy {
        Busy { start: Instant::now(), all: all_seconds(), own: own_seconds().0 }
    }

    /// Returns the number of processors that others have kept busy since the start. Time taken by other virtual machines
    /// counts.
    pub fn others(&self) -> f64 {
        let own = own_seconds().0 - self.own;
        let others = (all_seconds() - self.all - own) / self.start.elapsed().as_secs_f64();
        (others.max(0.0) * 100.0).round() / 100.0
    }
}

/// Returns the seconds in which processors were busy.
fn all_seconds() -> f64 {
    let text = fs::read_to_string("/proc/stat").unwrap_or_default();
    let line = text.lines().next().unwrap_or_default();
    let ticks: Vec<f64> = line.split_whitespace().filter_map(|word| word.parse().ok()).collect();
    // Numbers 3 and 4 are idle time. Numbers after 7 are counted in others too.
    let busy = |(at, ticks): (usize, &f64)| if at == 3 || at == 4 { 0.0 } else { *ticks };
    ticks.iter().take(8).enumerate().map(busy).sum::<f64>() / TICKS
}

/// Returns the seconds of processor time that this process has taken, and those of its ended children.
pub fn own_seconds() -> (f64, f64) {
    let text = fs::read_to_string("/proc/self/stat").unwrap_or_default();
    let rest = text.rsplit(')').next().unwrap_or_default();
    let field = |at: usize| {
        let word = rest.split_whitespace().nth(at - 3);
        word.and_then(|word| word.parse::<f64>().ok()).unwrap_or(0.0) / TICKS
    };
    (field(14) + field(15), field(16) + field(17))
}

/// Returns the resident memory of this process in bytes.
pub fn resident_bytes() -> u64 {
    let text = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = text.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap_or_default();
    let kib: u64 = line.split_whitespace().next().and_then(|w| w.parse().ok()).unwrap_or(0);
    kib * 1024
}

/// Returns the load averages of the last 1, 5 and 15 minutes.
pub fn load_average() -> Vec<f64> {
    let text = fs::read_to_string("/proc/loadavg").unwrap_or_default();
    text.split_whitespace().take(3).filter_map(|word| word.parse().ok()).collect()
}

/// Returns processor, memory and operating system, without the machine's name.
pub fn description() -> String {
    let of = |file: &str, key: &str| {
        let text = fs::read_to_string(file).unwrap_or_default();
        let line = text.lines().find(|line| line.starts_with(key)).unwrap_or_default();
        line.split(':').nth(1).unwrap_or_default().trim().to_owned()
    };
    let kib = of("/proc/meminfo", "MemTotal").replace(" kB", "").parse().unwrap_or(0.0);
    format!(
        "{}, {} virtual cores, {:.1} GiB, {}",
        of("/proc/cpuinfo", "model name"),
        std::thread::available_parallelism().map_or(0, usize::from),
        kib / f64::from(1 << 20),
        std::env::consts::OS,
    )
}
