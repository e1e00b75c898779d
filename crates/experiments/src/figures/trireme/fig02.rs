//! Figures 2a and 2b: reads of hot and cold records, by architecture.

use super::*;

const READS: &str = "";

/// Group of the runs under DL_DETECT beside those under NO_WAIT.
const DETECTING: &str = "DL_DETECT";

pub(super) const FIGURE_A: Figure = Figure {
    paper: "trireme",
    number: "2a",
    title: "Hot and cold records, reads, DL_DETECT, by architecture",
    section: "4.2.1",
    machine: MACHINE,
    remarks: &[RECORDS, PLACED],
    x: THREADS,
    series: |effort| hot_cold(effort, READS).architectures("", &THREE, "DL_DETECT", effort),
    panels: &[throughput("", "")],
    checks: &[
        Check {
            statement: "With few threads shared-everything is ahead of Delegation and DORA",
            section: "4.2.1",
            ours: "few: up to 8",
            judge: |data| ahead_on_few(*data, "SE", &["Delegation", "DORA"]),
        },
        Check {
            statement: "On 72 threads Delegation is 7 times and DORA 3 times as fast as shared-everything",
            section: "4.2.1",
            ours: "at least half as many times",
            judge: |data| {
                let of = |name| times(*data, name, "SE", ALL);
                let (delegation, dora) = (of("Delegation")?, of("DORA")?);
                Ok(Finding::of(delegation >= 3.5, format!("Delegation {delegation:.1}"))
                    .and(dora >= 1.5, format!("DORA {dora:.1}")))
            },
        },
        Check {
            statement: "Latches over the locks' lists of hot records keep shared-everything from scaling",
            section: "4.2.1",
            ours: "on 72 threads manager and waits take more than half of the time; less than a quarter of linear",
            judge: |data| {
                let parts = [Component::ConcurrencyControl, Component::Wait];
                let mut share = 0.0;
                for part in parts {
                    share += data.share("SE", ALL, part.categories())?;
                }
                let linear = of_linear(*data, "SE", ALL)?;
                Ok(Finding::of(share > 0.5, format!("manager and waits {}", percent(share)))
                    .and(linear < 0.25, format!("{} of linear", percent(linear))))
            },
        },
    ],
};

pub(super) const FIGURE_B: Figure = Figure {
    paper: "trireme",
    number: "2b",
    title: "Hot and cold records, reads, NO_WAIT, by architecture",
    section: "4.2.2",
    machine: MACHINE,
    remarks: &[RECORDS, PLACED],
    x: THREADS,
    series: |effort| {
        let work = hot_cold(effort, READS);
        let mut all = work.architectures("", &THREE, "NO_WAIT", effort);
        all.extend(work.architectures(DETECTING, &[SE], "DL_DETECT", effort));
        all
    },
    panels: &[
        throughput("NO_WAIT", "").beside(DETECTING),
        throughput("DL_DETECT, from figure 2a", DETECTING).beside(""),
    ],
    checks: &[
        Check {
            statement: "On 72 threads shared-everything is 1.5 times as fast as Delegation and 3 times as fast as DORA",
            section: "4.2.2",
            ours: "ahead of both, and further of DORA",
            judge: |data| {
                let of = |name| times(*data, "SE", name, ALL);
                let (delegation, dora) = (of("Delegation")?, of("DORA")?);
                Ok(Finding::of(delegation > 1.0, format!("{delegation:.2} times Delegation"))
                    .and(dora > delegation, format!("{dora:.2} times DORA")))
            },
        },
        Check {
            statement: "Under shared-everything NO_WAIT scales much further than DL_DETECT",
            section: "4.2.2",
            ours: "at least 2 times as fast on 72 threads",
            judge: |data| {
                let (own, other) =
                    (data.throughput("SE", ALL)?, data.group(DETECTING).throughput("SE", ALL)?);
                let saw = format!("NO_WAIT {}, DL_DETECT {}", short(own), short(other));
                Ok(Finding::of(own >= 2.0 * other, saw))
            },
        },
        Check {
            statement: "Under shared-everything NO_WAIT flattens at high thread counts, from 54 on",
            section: "4.4.1",
            ours: "from 54 to 72 threads less than half of the linear gain, which is 33 %",
            judge: |data| {
                let gain = gain(*data, "SE", 54.0, ALL)?;
                Ok(Finding::of(gain < 1.17, format!("gain {}", percent(gain - 1.0))))
            },
        },
    ],
};
