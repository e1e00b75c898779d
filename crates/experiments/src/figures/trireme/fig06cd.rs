//! Figures 6c and 6d: YCSB by skew, and threads that read beside threads that write.

use super::*;

/// The protocols of the figures, under shared-everything.
const PROTOCOLS: [&str; 4] = ["SILO", "NO_WAIT", "2V_NO_WAIT", "DL_DETECT"];

const ON_ALL: usize = 72;

/// Returns a line for each protocol and for partitioned serial execution, with the work that `of` returns for each place.
fn by(places: &[f64], of: fn(f64) -> Work) -> Vec<Series> {
    let line = |(name, architecture, protocol): (&str, Architecture, &'static str)| Series {
        group: "",
        name: name.to_owned(),
        points: places
            .iter()
            .map(|&x| Point::placed((x, of(x).under(architecture, protocol, ON_ALL))))
            .collect(),
    };
    let protocols = PROTOCOLS.map(|name| (name, SE, name));
    protocols.into_iter().chain([(PSE.name, PSE, "")]).map(line).collect()
}

/// Returns the fastest protocol at `x` and how many times as fast as partitioned serial execution it is.
fn best(data: Data<'_>, x: f64) -> Result<(&'static str, f64), Missing> {
    let (name, _) = ranked(data, &PROTOCOLS, x)?[0];
    Ok((name, times(data, name, "PSE", x)?))
}

pub(super) const FIGURE_C: Figure = Figure {
    paper: "trireme",
    number: "6c",
    title: "YCSB, updates, by skew, 72 threads",
    section: "4.4.2",
    machine: MACHINE,
    remarks: &[SCATTERED, UNDONE, "Protocols are under shared-everything."],
    x: "Theta",
    series: |effort| {
        let full = &[0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9][..];
        let thetas = effort.pick(full, &[0.0, 0.4, 0.6, 0.8, 0.9]);
        by(thetas, |theta| ycsb_updates(&format!("--theta {theta} --read-ratio 0")))
    },
    panels: &[throughput("", "")],
    checks: &[
        Check {
            statement: "The lead of the best pair of shared-everything over PSE shrinks as skew grows",
            section: "4.4.2",
            ours: "smaller at theta 0.9 than at theta 0",
            judge: |data| {
                let ((flat, before), (steep, after)) = (best(*data, 0.0)?, best(*data, 0.9)?);
                let saw = format!("{flat} {before:.1} at theta 0, {steep} {after:.1} at 0.9");
                Ok(Finding::of(after < before, saw))
            },
        },
        Check {
            statement: "That lead is 30 at theta 0 and 5.5 at theta 0.9",
            section: "4.4.2",
            ours: "within 2 times of each",
            judge: |data| {
                let mut finding = Finding::default();
                for (theta, expected) in [(0.0, 30.0), (0.9, 5.5)] {
                    let (name, lead) = best(*data, theta)?;
                    let good = (0.5..=2.0).contains(&(lead / expected));
                    finding = finding.and(good, format!("{name} {lead:.1} at theta {theta}"));
                }
                Ok(finding)
            },
        },
    ],
};

/// Returns YCSB with so many writers among all threads, and readers otherwise.
fn with_writers(writers: f64) -> Work {
    match ON_ALL - writers as usize {
        // The option binds no thread if there are no readers.
        0 => ycsb_updates("--theta 0.8 --read-ratio 0"),
        readers => ycsb_updates(&format!("--theta 0.8 --reader-workers {readers}")),
    }
}

pub(super) const FIGURE_D: Figure = Figure {
    paper: "trireme",
    number: "6d",
    title: "YCSB, theta 0.8, threads that read beside threads that write, 72 threads",
    section: "4.4.3",
    machine: MACHINE,
    remarks: &[SCATTERED, UNDONE, "Protocols are under shared-everything."],
    x: "Writers",
    series: |effort| {
        let full = &[0.0, 9.0, 18.0, 27.0, 36.0, 45.0, 54.0, 63.0, 72.0][..];
        by(effort.pick(full, &[0.0, 18.0, 36.0, 54.0, 72.0]), with_writers)
    },
    panels: &[throughput("", "")],
    checks: &[
        Check {
            statement: "2V_NO_WAIT's lead over NO_WAIT is largest where half or more of the threads write, and is 1.35 there",
            section: "4.4.3",
            ours: "from 36 to 54 writers, and at least 1.15",
            judge: |data| {
                let mut largest = (0.0, 0.0);
                for x in data.places("NO_WAIT", |_| true)? {
                    let lead = times(*data, "2V_NO_WAIT", "NO_WAIT", x)?;
                    if lead > largest.1 {
                        largest = (x, lead);
                    }
                }
                let good = (36.0..=54.0).contains(&largest.0) && largest.1 >= 1.15;
                let saw = format!("{:.2} with {} writers", largest.1, largest.0);
                Ok(Finding::of(good, saw))
            },
        },
        Check {
            statement: "2V_NO_WAIT and NO_WAIT coincide without writers and without readers",
            section: "4.4.3",
            ours: "within 10 %",
            judge: |data| {
                let mut finding = Finding::default();
                for x in [0.0, ALL] {
                    let ratio = times(*data, "2V_NO_WAIT", "NO_WAIT", x)?;
                    let good = (ratio - 1.0).abs() <= 0.1;
                    finding = finding.and(good, format!("{ratio:.2} with {x} writers"));
                }
                Ok(finding)
            },
        },
        Check {
            statement: "PSE does not react to the share of writers",
            section: "4.4.3",
            ours: "within 15 % of no writers",
            judge: |data| {
                let values = data.throughputs("PSE")?;
                let none = data.throughput("PSE", 0.0)?;
                let flat = values.iter().all(|(_, y)| (y / none - 1.0).abs() <= 0.15);
                Ok(Finding::of(flat, curve(&values)))
            },
        },
        Check {
            statement: "PSE is below shared-everything throughout",
            section: "4.4.3",
            ours: "below the best pair",
            judge: |data| {
                let mut finding = Finding::default();
                for x in data.places("PSE", |_| true)? {
                    let (name, lead) = best(*data, x)?;
                    let saw = format!("{name} {lead:.1} times with {x} writers");
                    finding = finding.and(lead > 1.0, saw);
                }
                Ok(finding)
            },
        },
    ],
};
