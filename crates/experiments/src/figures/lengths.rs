//! Decides how long a figure's runs are.

use super::{Effort, Setting};
use harness::run::Growth;
use harness::steadiness::{Rule, TOLERANCE};
use simulator::MachineDescription;

/// Returns by how much longer runs on `machine` are than on today's machines. A transaction on the chip, whose cores are
/// simple, takes that much longer.
pub fn slowness(machine: &MachineDescription) -> f64 {
    if machine.core.record_access_cycles == 0 { 1.0 } else { 5.0 }
}

/// Returns the largest busy time of a run in core seconds, unless the caller gives another. A transaction that only
/// draws a timestamp takes a few cycles, so its runs are shorter. A setting can ask for longer ones.
fn most_busy_s(effort: Effort, setting: &Setting, slowness: f64) -> f64 {
    let share = if setting.workload == "timestamps" { 0.05 } else { slowness };
    setting.longer * share * effort.pick(8.0, 2.0)
}

/// Returns the first interval of a run in seconds, and the limits within which it grows until it is steady. The host's
/// cost follows the time in which cores are busy, so that time is limited: to `busy_s` core seconds, or without it to 8
/// as in `kilocore run`, or to 2 for a quick figure, and to five times as much on the chip. There this is about 100
/// transactions of each core.
pub fn growth(
    effort: Effort,
    setting: &Setting,
    machine: &MachineDescription,
    busy_s: Option<f64>,
) -> (f64, Growth) {
    let slowness = slowness(machine);
    let most_busy_s = busy_s.unwrap_or(most_busy_s(effort, setting, slowness));
    let cores = setting.cores as f64;
    let together_s = f64::INFINITY;
    let (first_s, most_s, rule) = match effort {
        Effort::Full => (0.001 * (64.0 / cores).max(1.0), 1.0, Rule::default()),
        // Caches keep filling during a run of any length, so quick runs end at a larger drift. Where most cores wait,
        // throughput can seem steady for some transactions of each core before it falls.
        Effort::Quick => {
            let commits = 100 * setting.cores.max(5) as u64;
            let rule = Rule { commits, drift: TOLERANCE, ..Rule::default() };
            ((0.05 / cores).clamp(0.001, 0.02), 0.1, rule)
        }
    };
    // A limit below the usual first interval shortens it.
    let first_s = (slowness * first_s).min(most_busy_s / cores);
    let most_s = (slowness * most_s).min(setting.longest * most_busy_s / setting.longer / cores);
    (first_s, Growth { most_s, most_busy_s, together_s, rule })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_setting_can_have_limits_of_its_own() {
        let server = MachineDescription::load("haswell-ex").unwrap();
        let of = |setting: Setting| growth(Effort::Quick, &setting, &server, None).1;
        let usual = Setting::new("ycsb", "", "OCC", 64);
        assert_eq!((of(usual.clone()).most_busy_s, of(usual.clone()).most_s), (2.0, 0.1));
        let within = of(usual.within(4.0, 1.6));
        assert_eq!((within.most_busy_s, within.most_s), (8.0, 0.05));
    }

    #[test]
    fn a_small_limit_shortens_the_first_interval() {
        let of = |cores| Setting::new("ycsb", "", "OCC", cores);
        let chip = MachineDescription::load("graphite").unwrap();
        let growth = |effort, setting: &Setting, busy_s| growth(effort, setting, &chip, busy_s);
        let (usual, limits) = growth(Effort::Quick, &of(64), None);
        assert_eq!((usual, limits.most_busy_s), (0.005, 10.0));
        let (short, limits) = growth(Effort::Quick, &of(64), Some(0.0064));
        assert_eq!((short, limits.most_busy_s), (0.0001, 0.0064));
        assert_eq!(
            growth(Effort::Full, &of(1), Some(100.0)).0,
            growth(Effort::Full, &of(1), None).0
        );
    }
}
