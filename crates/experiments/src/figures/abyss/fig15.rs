//! Figure 15: transactions over several partitions.

use super::*;

/// Series of part (a), with the share of reads.
const MIXES: [(&str, &str); 2] = [("read-only", "1"), ("read-write", "0.5")];

fn series_a(effort: Effort) -> Vec<Series> {
    let shares = effort.pick(
        &["0", "0.1", "0.2", "0.3", "0.4", "0.5", "0.6", "0.7", "0.8", "0.9", "1"][..],
        &["0", "0.1", "0.2", "0.5", "1"][..],
    );
    let point = |reads: &str, share: &str| {
        let mix = format!("--records 20M --theta 0 --read-ratio {reads} --partitions 64");
        let options = format!("{mix} --multi-partition-share {share}");
        (share.parse().expect("a number"), Setting::new("ycsb", options, "HSTORE", 64))
    };
    let line = |(name, reads): (&str, &str)| Series {
        group: "",
        name: name.to_owned(),
        points: shares.iter().map(|share| point(reads, share)).map(Point::placed).collect(),
    };
    MIXES.into_iter().map(line).collect()
}

pub(super) const FIGURE_A: Figure = Figure {
    paper: "abyss",
    number: "15a",
    title: "HSTORE by share of multi-partition transactions, 64 cores",
    section: "5.5",
    machine: MACHINE,
    remarks: &[
        "A multi-partition transaction accesses two partitions; the paper does not say how many.",
    ],
    x: "Share of multi-partition transactions",
    series: series_a,
    panels: &[by_cores()],
    checks: &[Check {
        statement: "Read-only and read-write coincide, and both decline with the share of multi-partition transactions",
        section: "5.5",
        ours: "coincide: within 5 %",
        judge: |data| {
            let mut worst: f64 = 1.0;
            for x in data.places("read-only", |_| true)? {
                let ratio = data.throughput("read-write", x)? / data.throughput("read-only", x)?;
                worst = if (ratio - 1.0).abs() > (worst - 1.0).abs() { ratio } else { worst };
            }
            let saw = format!("read-write at {worst:.2} of read-only where they differ most");
            let mut finding = Finding::of((worst - 1.0).abs() <= 0.05, saw);
            for (name, _) in MIXES {
                let line = data.throughputs(name)?;
                let falls = never_rises(&line, 0.0) && line.len() > 1;
                finding = finding.and(falls, format!("{name} {}", curve(&line)));
            }
            Ok(finding)
        },
    }],
};

/// Series of part (b), with the number of partitions.
const PARTS: [(&str, usize); 5] = [
    ("1 partition", 1),
    ("2 partitions", 2),
    ("4 partitions", 4),
    ("8 partitions", 8),
    ("16 partitions", 16),
];

/// Returns the run of which a tenth of the transactions access `parts` partitions.
pub(super) fn over(parts: usize, cores: usize) -> Setting {
    let mix = format!("--records 20M --theta 0 --read-ratio 0.5 --partitions {cores}");
    let options = format!("{mix} --multi-partition-share 0.1 --partitions-per-transaction {parts}");
    Setting::new("ycsb", options, "HSTORE", cores)
}

fn series_b(effort: Effort) -> Vec<Series> {
    let cores = effort
        .pick(&[16, 64, 128, 256, 384, 512, 640, 800, 1024][..], &[16, 64, 256, 512, 1024][..]);
    let point = |parts: usize, cores: usize| (cores as f64, over(parts, cores));
    let line = |(name, parts): (&str, usize)| Series {
        group: "",
        name: name.to_owned(),
        points: cores.iter().map(|&cores| point(parts, cores)).map(Point::placed).collect(),
    };
    PARTS.into_iter().map(line).collect()
}

pub(super) const FIGURE_B: Figure = Figure {
    paper: "abyss",
    number: "15b",
    title: "HSTORE by cores, 10 % multi-partition transactions",
    section: "5.5",
    machine: MACHINE,
    remarks: &["The paper does not say which share of accesses are reads; half here."],
    x: CORES,
    series: series_b,
    panels: &[by_cores()],
    checks: &[
        Check {
            statement: "With one partition, throughput degrades on many cores and meets that of two at about 1000",
            section: "5.5",
            ours: "meets: within 10 % on 1024 cores",
            judge: |data| {
                let ((x, peak), one) =
                    (data.peak("1 partition")?, data.throughput("1 partition", 1024.0)?);
                let two = data.throughput("2 partitions", 1024.0)?;
                let fell = format!("peak {} on {x}, {} on 1024", short(peak), short(one));
                let met = format!("2 partitions at {} of it", percent(two / one));
                Ok(Finding::of(one < peak, fell).and((two / one - 1.0).abs() <= 0.1, met))
            },
        },
        Check {
            statement: "Transactions over four or more partitions do not scale",
            section: "5.5",
            ours: "less than twice the throughput from 64 to 1024 cores",
            judge: |data| {
                let mut finding = Finding::default();
                for (name, _) in &PARTS[2..] {
                    let gain = data.throughput(name, 1024.0)? / data.throughput(name, 64.0)?;
                    finding = finding.and(gain < 2.0, format!("{name} {gain:.2} times"));
                }
                Ok(finding)
            },
        },
    ],
};
