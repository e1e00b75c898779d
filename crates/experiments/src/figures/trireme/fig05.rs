//! Figure 5: the best architecture of each protocol under updates.

use super::*;

/// The protocols of the figure, under shared-everything.
const PROTOCOLS: [&str; 4] = ["SILO", "NO_WAIT", "2V_NO_WAIT", "DL_DETECT"];

/// Group of partitioned serial execution with all hot records in one partition.
const PACKED: &str = "packed";

/// Group of partitioned serial execution with reads, from figure 2c.
const READS: &str = "reads";

fn series(effort: Effort) -> Vec<Series> {
    let work = hot_cold(effort, UPDATES);
    let mut all = work.protocols("", &PROTOCOLS, effort);
    all.extend(work.architectures("", &[PSE], "", effort));
    let packed = hot_cold(effort, &format!("{UPDATES} --packed"));
    all.extend(packed.architectures(PACKED, &[PSE], "", effort));
    all.extend(hot_cold(effort, "").architectures(READS, &[PSE], "", effort));
    all
}

pub(super) const FIGURE: Figure = Figure {
    paper: "trireme",
    number: "5",
    title: "Hot and cold records, updates, the best pairs",
    section: "4.3.3",
    machine: MACHINE,
    remarks: &[RECORDS, PLACED, "Protocols are under shared-everything."],
    x: THREADS,
    series,
    panels: &[
        throughput("Throughput", ""),
        aborts(),
        throughput("Throughput of PSE with all hot records in the first partition", PACKED),
        throughput("Throughput of PSE with reads, from figure 2c", READS),
    ],
    checks: &[
        Check {
            statement: "NO_WAIT and 2V_NO_WAIT coincide, because all accesses are updates",
            section: "4.3.3",
            ours: "within 15 % at all places",
            judge: |data| {
                let mut finding = Finding::default();
                for x in data.places("NO_WAIT", |_| true)? {
                    let ratio = times(*data, "2V_NO_WAIT", "NO_WAIT", x)?;
                    let good = (ratio - 1.0).abs() <= 0.15;
                    finding = finding.and(good, format!("{ratio:.2} on {x}"));
                }
                Ok(finding)
            },
        },
        Check {
            statement: "Below 18 threads DL_DETECT is the best of the protocols and aborts least",
            section: "4.3.3",
            ours: "at the places from 2 to 17",
            judge: |data| {
                let mut finding = Finding::default();
                for x in data.places("DL_DETECT", |x| (2.0..18.0).contains(&x))? {
                    let rates = ranked(*data, &PROTOCOLS, x)?;
                    let aborts = ranked_by(*data, &PROTOCOLS, x, Measure::Aborts)?;
                    let own = data.value("DL_DETECT", x, Measure::Aborts)?;
                    let good = rates[0].0 == "DL_DETECT" && own <= aborts[3].1;
                    let saw = format!("on {x} {}; aborts {}", listed(&rates), listed(&aborts));
                    finding = finding.and(good, saw);
                }
                Ok(finding)
            },
        },
        Check {
            statement: "On 72 threads DL_DETECT aborts more than SILO and NO_WAIT and is slower",
            section: "4.3.3",
            ours: "",
            judge: |data| {
                let names = ["SILO", "NO_WAIT", "DL_DETECT"];
                let rates = ranked(*data, &names, ALL)?;
                let aborts = ranked_by(*data, &names, ALL, Measure::Aborts)?;
                Ok(Finding::of(rates[2].0 == "DL_DETECT", listed(&rates))
                    .and(aborts[0].0 == "DL_DETECT", format!("aborts {}", listed(&aborts))))
            },
        },
        Check {
            statement: "PSE leads at high thread counts",
            section: "4.3.3",
            ours: "on 54 and 72 threads",
            judge: |data| {
                let names = ["SILO", "NO_WAIT", "2V_NO_WAIT", "DL_DETECT", "PSE"];
                let mut finding = Finding::default();
                for x in [54.0, ALL] {
                    let rates = ranked(*data, &names, x)?;
                    finding =
                        finding.and(rates[0].0 == "PSE", format!("on {x} {}", listed(&rates)));
                }
                Ok(finding)
            },
        },
        Check {
            statement: "PSE is immune to updates: it is as fast as with reads",
            section: "4.3.3",
            ours: "within 15 % at all places",
            judge: |data| {
                let mut finding = Finding::default();
                for x in data.places("PSE", |_| true)? {
                    let ratio = to_group(*data, "PSE", READS, x)?;
                    let good = (ratio - 1.0).abs() <= 0.15;
                    finding = finding.and(good, format!("{ratio:.2} on {x}"));
                }
                Ok(finding)
            },
        },
        Check {
            statement: "PSE stops scaling beyond one socket, at 18 threads",
            section: "4.3.3",
            ours: "on 72 threads at most 1.25 times 18 threads",
            judge: |data| {
                let gain = gain(*data, "PSE", 18.0, ALL)?;
                Ok(Finding::of(gain <= 1.25, format!("{gain:.2} times")))
            },
        },
        Check {
            statement: "Hot records that are packed into few partitions cost PSE an order of magnitude",
            section: "4.3.3",
            ours: "at most 0.15 of the throughput on 72 threads",
            judge: |data| {
                let left = to_group(data.group(PACKED), "PSE", "", ALL)?;
                Ok(Finding::of(left <= 0.15, format!("{} is left", percent(left))))
            },
        },
        Check {
            statement: "Under PSE no transaction aborts",
            section: "3.3",
            ours: "",
            judge: |data| {
                let aborts = data.line("PSE")?.values(Measure::Aborts);
                let none = aborts.iter().all(|(_, aborts)| *aborts == 0.0);
                Ok(Finding::of(none, format!("aborts a commit: {}", curve(&aborts))))
            },
        },
    ],
};
