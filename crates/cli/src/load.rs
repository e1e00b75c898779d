//! Measures the load that other programs put on the host during a measurement, as Linux counts it (proc(5)).

use harness::run_record::HostLoad;
use std::fs;

/// Counters of the host at one moment.
#[derive(Clone, Copy, Debug)]
pub struct Moment {
    average: f64,
    /// Ticks of all processors: busy ticks and all ticks.
    processors: Option<(u64, u64)>,
    /// Ticks of this process, with all its threads.
    own: Option<u64>,
}

/// Number of ticks below which a share is only noise. A tick lasts ten milliseconds.
const LEAST_TICKS: u64 = 20;

impl Moment {
    /// Reads the counters. Returns None where the system does not provide them.
    pub fn now() -> Option<Moment> {
        let average = fs::read_to_string("/proc/loadavg").ok()?;
        Some(Moment {
            average: average.split_whitespace().next()?.parse().ok()?,
            processors: fs::read_to_string("/proc/stat").ok().and_then(|text| processors(&text)),
            own: fs::read_to_string("/proc/self/stat").ok().and_then(|text| own(&text)),
        })
    }

    /// Returns the load from `begin` to this moment.
    pub fn since(&self, begin: &Moment) -> HostLoad {
        HostLoad {
            load_average_at_begin: begin.average,
            load_average_at_end: self.average,
            others: self.others(begin),
        }
    }

    fn others(&self, begin: &Moment) -> Option<f64> {
        let ((busy, all), (busy_before, all_before)) = (self.processors?, begin.processors?);
        let (busy, all) = (busy.saturating_sub(busy_before), all.saturating_sub(all_before));
        let own = self.own?.saturating_sub(begin.own?);
        (all >= LEAST_TICKS).then(|| busy.saturating_sub(own) as f64 / all as f64)
    }
}

/// Returns busy ticks and all ticks, from the first line: user, nice, system, idle, iowait, irq, softirq, steal.
/// Guests' time is already included in user.
fn processors(text: &str) -> Option<(u64, u64)> {
    let line = text.lines().next()?.strip_prefix("cpu ")?;
    let ticks: Vec<u64> =
        line.split_whitespace().take(8).map(str::parse).collect::<Result<_, _>>().ok()?;
    let idle = ticks.get(3)? + ticks.get(4)?;
    let all: u64 = ticks.iter().sum();
    Some((all - idle, all))
}

/// Returns the ticks in user and system mode: the 12th and 13th field behind the name. The name may contain any
/// character.
fn own(text: &str) -> Option<u64> {
    let fields: Vec<&str> = text.rsplit_once(')')?.1.split_whitespace().collect();
    let ticks = |at: usize| fields.get(at)?.parse::<u64>().ok();
    Some(ticks(11)? + ticks(12)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counters_are_found_in_their_places() {
        let stat = "cpu  100 1 20 700 9 3 4 50 30 0\ncpu0 50 0 10 350 4 1 2 25 15 0\n";
        assert_eq!(processors(stat), Some((178, 887)));
        assert_eq!(processors("cpu  1 2"), None);
        let process = "42 (a) b) R 1 42 42 0 -1 4194304 100 0 0 0 77 33 5 6 20 0 4 0";
        assert_eq!(own(process), Some(110));
    }

    #[test]
    fn what_this_process_does_is_not_counted_as_others() {
        let at = |busy, all, own| Moment { average: 0.5, processors: Some((busy, all)), own };
        let begin = at(1000, 5000, Some(300));
        let load = at(1150, 5200, Some(430)).since(&begin);
        assert_eq!((load.others, load.load_average_at_begin), (Some(0.1), 0.5));
        assert_eq!(at(1005, 5010, Some(300)).since(&begin).others, None, "too short");
        assert_eq!(at(1150, 5200, None).since(&begin).others, None);
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn this_system_tells() {
        let now = Moment::now().expect("proc is there");
        assert!(now.processors.is_some() && now.own.is_some());
    }
}
