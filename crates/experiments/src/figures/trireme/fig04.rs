//! Figures 4a to 4c: updates under NO_WAIT and SILO.

use super::*;

/// Group of the runs without a hot set.
const CALM: &str = "calm";

const LATER: [&str; 2] = ["Delegation", "DORA"];

fn no_wait(effort: Effort) -> Vec<Series> {
    hot_cold(effort, UPDATES).architectures("", &THREE, "NO_WAIT", effort)
}

/// Returns a finding that each of `names` collapses when a second thread is added.
fn collapse(data: Data<'_>, names: &[&str]) -> Judgement {
    let mut finding = Finding::default();
    for name in names {
        let gain = gain(data, name, 1.0, 2.0)?;
        finding = finding.and(gain < 1.0, format!("{name} {} of one thread", percent(gain)));
    }
    Ok(finding)
}

/// Returns a finding that shared-everything gains from a second thread.
fn gains(data: Data<'_>) -> Judgement {
    let gain = gain(data, "SE", 1.0, 2.0)?;
    Ok(Finding::of(gain > 1.0, format!("{} of one thread", percent(gain))))
}

pub(super) const FIGURE_A: Figure = Figure {
    paper: "trireme",
    number: "4a",
    title: "Hot and cold records, updates, NO_WAIT, by architecture",
    section: "4.3.2",
    machine: MACHINE,
    remarks: &[RECORDS, PLACED],
    x: THREADS,
    series: no_wait,
    panels: &[throughput("", "")],
    checks: &[
        Check {
            statement: "Delegation and DORA collapse as soon as a second thread is added",
            section: "4.3.2",
            ours: "",
            judge: |data| collapse(*data, &LATER),
        },
        Check {
            statement: "Shared-everything does not collapse with the second thread",
            section: "4.3.2",
            ours: "implied by the contrast: two threads make more than one",
            judge: |data| gains(*data),
        },
    ],
};

pub(super) const FIGURE_B: Figure = Figure {
    paper: "trireme",
    number: "4b",
    title: "Hot and cold records, updates, SILO, by architecture",
    section: "4.3.2",
    machine: MACHINE,
    remarks: &[RECORDS, PLACED, "SILO has no data-oriented version (3.5)."],
    x: THREADS,
    series: |effort| {
        let work = hot_cold(effort, UPDATES);
        work.architectures("", &[SE, DELEGATION], "SILO", effort)
    },
    panels: &[throughput("", "")],
    checks: &[
        Check {
            statement: "Delegation collapses under SILO as it does under NO_WAIT",
            section: "4.3.2",
            ours: "less with two threads than with one",
            judge: |data| collapse(*data, &["Delegation"]),
        },
        Check {
            statement: "Shared-everything does not collapse with the second thread",
            section: "4.3.2",
            ours: "implied by the contrast: two threads make more than one",
            judge: |data| gains(*data),
        },
    ],
};

/// Returns a finding that the attempts of `name` that commit take about `expected_us` on all threads.
fn takes(data: Data<'_>, name: &str, expected_us: f64) -> Judgement {
    let us = 1e6 * data.value(name, ALL, Measure::Attempt)?;
    let mut saw = format!("{name} {us:.1} us");
    if let Some(mean) = data.record(name, ALL)?.latency_ns.mean {
        saw.push_str(&format!(", {:.1} us with the attempts that aborted before", mean / 1e3));
    }
    Ok(Finding::of((0.5..=2.0).contains(&(us / expected_us)), saw))
}

/// Returns the finding that each of `names` takes about as long as is said beside it.
fn each_takes(data: Data<'_>, names: &[(&str, f64)]) -> Judgement {
    let mut finding = Finding::default();
    for (name, expected_us) in names {
        let one = takes(data, name, *expected_us)?;
        finding = finding.and(one.holds(), one.to_string());
    }
    Ok(finding)
}

pub(super) const FIGURE_C: Figure = Figure {
    paper: "trireme",
    number: "4c",
    title: "Hot and cold records, updates, NO_WAIT: aborts and latencies",
    section: "4.3.2",
    machine: MACHINE,
    remarks: &[
        RECORDS,
        PLACED,
        "The paper's commit latency is how long locks are held. It is that of the attempts that commit, without the aborted \
         attempts before.",
        "Runs without a hot set have two remote records of any partition and eight local ones, on 72 threads.",
    ],
    x: THREADS,
    series: |effort| {
        let mut all = no_wait(effort);
        let options = format!("--hot-records 0 --hot-accesses 0 --remote 2 {UPDATES}");
        let calm = hot_cold(effort, &options);
        let threads = ALL as usize;
        // Under shared-everything keys are drawn in the same way, though nothing is stored apart.
        let divided = hot_cold(effort, &format!("{options} --partitions 72"));
        for on in THREE {
            let work = if on.name == SE.name { &divided } else { &calm };
            let points = vec![Point::placed((ALL, work.under(on, "NO_WAIT", threads)))];
            all.push(Series { group: CALM, name: on.name.to_owned(), points });
        }
        all
    },
    panels: &[
        aborts(),
        abort_ratio(),
        Panel::new("Time of the attempts that commit", "", lines(Measure::Attempt)),
    ],
    checks: &[
        Check {
            statement: "With many threads shared-everything aborts an order of magnitude less than Delegation and DORA",
            section: "4.3.2",
            ours: "on 72 threads at most a tenth of the aborts a commit",
            judge: |data| {
                let own = data.value("SE", ALL, Measure::Aborts)?;
                let mut finding = Finding::default();
                for name in LATER {
                    let other = data.value(name, ALL, Measure::Aborts)?;
                    let saw = format!("SE {own:.2}, {name} {other:.2}");
                    finding = finding.and(own <= 0.1 * other, saw);
                }
                Ok(finding)
            },
        },
        Check {
            statement: "On 72 threads the mean commit latency is 5 us under shared-everything",
            section: "4.3.2",
            ours: "within 2 times",
            judge: |data| takes(*data, "SE", 5.0),
        },
        Check {
            statement: "On 72 threads the mean commit latency is 70 us under Delegation and 600 us under DORA",
            section: "4.3.2",
            ours: "within 2 times",
            judge: |data| each_takes(*data, &[("Delegation", 70.0), ("DORA", 600.0)]),
        },
        Check {
            statement: "Without a hot set it is 15 us under Delegation and DORA",
            section: "4.3.2",
            ours: "within 2 times",
            judge: |data| each_takes(data.group(CALM), &[("Delegation", 15.0), ("DORA", 15.0)]),
        },
        Check {
            statement: "The hot set makes locks under shared-everything hardly longer held than without it",
            section: "4.3.2",
            ours: "implied by the contrast of 5 and 15 us with 70 and 600 us: at most 2 times as long",
            judge: |data| {
                let hot = data.value("SE", ALL, Measure::Attempt)?;
                let calm = data.group(CALM).value("SE", ALL, Measure::Attempt)?;
                let saw = format!("{:.1} us, {:.1} us without it", 1e6 * hot, 1e6 * calm);
                Ok(Finding::of(hot <= 2.0 * calm, saw))
            },
        },
    ],
};
