//! Describes this computer in words for a record.

use harness::run_record::ABSENT;
use machine::Native;
use std::fs;

/// Returns processor, memory and operating system.
pub fn host() -> String {
    format!("{}, {}, {}", processor(), memory(), kernel())
}

/// Returns a description of the native machine: cores, processor, caches. It corresponds to the title in a machine
/// file.
pub fn native_machine() -> String {
    let caches = caches();
    let caches = if caches.is_empty() { String::new() } else { format!(", {caches}") };
    format!("{} cores of {}{caches}", Native::available_cores(), processor())
}

fn processor() -> String {
    let text = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let field = |name: &str| {
        let line = text.lines().find(|line| line.starts_with(name))?;
        Some(line.split_once(':')?.1.trim().to_owned())
    };
    let model = field("model name").unwrap_or_else(|| format!("processor {ABSENT}"));
    match field("cpu MHz").and_then(|mhz| mhz.parse::<f64>().ok()) {
        Some(mhz) => format!("{model} at {mhz:.0} MHz"),
        None => model,
    }
}

fn caches() -> String {
    let of = |index: usize| {
        let read = |name: &str| {
            let path = format!("/sys/devices/system/cpu/cpu0/cache/index{index}/{name}");
            fs::read_to_string(path).ok().map(|text| text.trim().to_owned())
        };
        let (level, size) = (read("level")?, read("size")?);
        (read("type")? != "Instruction").then(|| format!("L{level} {size}iB"))
    };
    (0..8).filter_map(of).collect::<Vec<_>>().join(", ")
}

fn memory() -> String {
    let text = fs::read_to_string("/proc/meminfo").unwrap_or_default();
    let kib = text
        .lines()
        .find_map(|line| line.strip_prefix("MemTotal:"))
        .and_then(|rest| rest.trim().trim_end_matches("kB").trim().parse::<f64>().ok());
    kib.map_or(format!("memory {ABSENT}"), |kib| format!("{:.1} GiB", kib / 1024.0 / 1024.0))
}

fn kernel() -> String {
    let read = |name: &str| fs::read_to_string(format!("/proc/sys/kernel/{name}")).ok();
    match (read("ostype"), read("osrelease")) {
        (Some(system), Some(release)) => format!("{} {}", system.trim(), release.trim()),
        _ => std::env::consts::OS.to_owned(),
    }
}
