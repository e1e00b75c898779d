//! Decides how long a comparison measures each configuration, so that it ends within three minutes on two cores.

use crate::arguments::MachineChoice;
use crate::measurement::{Configuration, Evidence};
use engine::AccessOptions;
use engine::admission::AdmissionPolicy;
use experiments::figures::slowness;
use harness::back_off::BackOff;
use harness::run::{Growth, Moves};
use harness::run_record::MachineKind;
use harness::steadiness::{Rule, TOLERANCE};
use protocols::ProtocolOptions;
use std::time::Duration;

/// Number of native configurations above which each is measured only once.
const REPEATED: usize = 16;

/// Number of seeds of a simulated configuration, if there is time for them.
const SEEDS: usize = 3;

/// Minimum length of a simulated run, in modelled seconds summed over the cores. This length and those below are of a machine
/// whose cores are as fast as today's. They are longer on a chip of simple cores.
const FIRST: f64 = 0.5;

/// Maximum busy time of a simulated run, in modelled seconds summed over the cores. The host takes about as long.
const MOST_BUSY: f64 = 1.5;

/// Maximum length of the runs of all seeds together, in modelled seconds summed over the cores.
const TOGETHER: f64 = 0.5;

/// Native measurements that begin later than this are not repeated.
const NATIVE_BUDGET: Duration = Duration::from_secs(45);

/// Returns the native numbers of cores: 1, 2, 4, ... and all.
pub fn native_cores(available: usize, quick: bool) -> Vec<usize> {
    let mut cores: Vec<usize> = (0..).map(|i| 1 << i).take_while(|&n| n < available).collect();
    if quick {
        cores.truncate(1);
    }
    cores.push(available);
    cores
}

/// Returns the simulated numbers of cores: the requested ones, or powers of four up to the size of the machine.
pub fn simulated_cores(available: usize, asked: &[u64], quick: bool) -> Vec<usize> {
    if !asked.is_empty() {
        return asked.iter().map(|&n| n as usize).collect();
    }
    let all: &[usize] = if quick { &[1, 32, 1024] } else { &[1, 4, 16, 64, 256, 1024] };
    let mut cores: Vec<usize> = all.iter().copied().filter(|&n| n <= available).collect();
    if available < 1024 && cores.last() != Some(&available) {
        cores.push(available);
    }
    cores
}

/// Returns one of `count` native configurations. Loading the table takes longer than measuring.
pub fn native_configuration(
    protocol: &'static str,
    cores: usize,
    count: usize,
    quick: bool,
) -> Configuration {
    let (warm_up_s, measured_s) = if quick { (0.1, 0.2) } else { (0.1, 0.5) };
    Configuration {
        machine: MachineChoice::Native,
        architecture: engine::registry::DEFAULT.to_owned(),
        protocol,
        protocol_options: ProtocolOptions::default(),
        access: AccessOptions::default(),
        partitions: None,
        fibers: 1,
        time_slice_s: None,
        servers: None,
        moves: Moves::default(),
        commits: None,
        small_pages: false,
        cores,
        warm_up_s,
        measured_s,
        growth: None,
        repetitions: if quick || count > REPEATED { 1 } else { 3 },
        seed: 1,
        breakdown: false,
        arrivals: None,
        back_off: BackOff::default(),
        admission: AdmissionPolicy::Off,
        evidence: Evidence::Companion(0.1),
        keep_history: false,
    }
}

/// Returns a simulated configuration. Runs with few cores are longer, because the host's cost depends on the number
/// of transactions.
pub fn simulated_configuration(
    machine: &MachineChoice,
    protocol: &'static str,
    cores: usize,
    quick: bool,
) -> Configuration {
    let slowness = match machine {
        MachineChoice::Simulated { description, .. } => slowness(description),
        MachineChoice::Native => 1.0,
    };
    let core_seconds = |n: f64| slowness * n / cores as f64;
    let first_s = match quick {
        true => core_seconds(0.05).clamp(0.0005, 0.02),
        false => core_seconds(FIRST).clamp(0.001, 0.03),
    };
    // Caches keep filling during a run of any length. Protocols are therefore compared after the same time and not at
    // the same drift.
    let rule = Rule { drift: TOLERANCE, ..Rule::default() };
    let (most_busy_s, together) = if quick { (0.3, 0.3) } else { (MOST_BUSY, TOGETHER) };
    let together_s = core_seconds(together).max(first_s);
    Configuration {
        machine: machine.clone(),
        architecture: engine::registry::DEFAULT.to_owned(),
        protocol,
        protocol_options: ProtocolOptions::default(),
        access: AccessOptions::default(),
        partitions: None,
        fibers: 1,
        time_slice_s: None,
        servers: None,
        moves: Moves::default(),
        commits: None,
        small_pages: false,
        cores,
        warm_up_s: 0.0,
        measured_s: first_s,
        growth: Some(Growth { most_s: 0.2, most_busy_s: slowness * most_busy_s, together_s, rule }),
        repetitions: SEEDS,
        seed: 1,
        breakdown: false,
        arrivals: None,
        back_off: BackOff::default(),
        admission: AdmissionPolicy::Off,
        // The bound on time also bounds the number of transactions: a core does a hundred thousand a second.
        evidence: Evidence::Companion((0.25 / cores as f64).clamp(0.0005, 0.01)),
        keep_history: false,
    }
}

/// Returns `planned` without repetitions if the computer is too slow or too busy for them. Simulated configurations
/// are not changed, because the same seed must give the same bits.
pub fn hurried(planned: &Configuration, elapsed: Duration) -> Configuration {
    let late = elapsed > NATIVE_BUDGET && planned.machine.kind() == MachineKind::Native;
    Configuration { repetitions: if late { 1 } else { planned.repetitions }, ..planned.clone() }
}

/// Returns the approximate time that a configuration takes on the host, in ms. Used for the progress bar.
pub fn expected_ms(configuration: &Configuration) -> u64 {
    let measured = configuration.warm_up_s + configuration.measured_s;
    let repeated = configuration.repetitions as f64 * measured;
    match configuration.growth {
        None => 2000 + (repeated * 1000.0) as u64,
        // Runs with few cores are steady at once, and many runs with more cores continue up to their limit.
        Some(growth) => {
            let few = configuration.cores <= 64;
            let busy_s =
                if few { repeated * configuration.cores as f64 } else { growth.most_busy_s };
            200 + (busy_s * 1000.0) as u64
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cores_end_with_what_the_machine_has() {
        assert_eq!(native_cores(1, false), [1]);
        assert_eq!(native_cores(2, false), [1, 2]);
        assert_eq!(native_cores(12, false), [1, 2, 4, 8, 12]);
        assert_eq!(native_cores(12, true), [1, 12]);
        assert_eq!(simulated_cores(1024, &[], false), [1, 4, 16, 64, 256, 1024]);
        assert_eq!(simulated_cores(72, &[], false), [1, 4, 16, 64, 72]);
        assert_eq!(simulated_cores(1568, &[8], false), [8]);
    }
}
