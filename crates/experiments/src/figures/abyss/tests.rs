//! Tests checks on invented records: each with numbers under which it holds, and with others under which it does not.

use super::*;
use crate::figures::Line;
use crate::figures::judging::{at, both, line, run, spent};
use harness::run_record::RunRecord;
use std::collections::BTreeMap;

#[test]
fn linear_scaling_without_skew() {
    let of = |last| [line("theta 0", &[(1.0, 0.1), (1024.0, last)])];
    both(&fig04::FIGURE, 0, &of(80.0), &of(60.0));
    let peak = |last| [line("theta 0.6", &[(1.0, 0.1), (256.0, 10.0), (1024.0, last)])];
    both(&fig04::FIGURE, 1, &peak(5.0), &peak(12.0));
}

#[test]
fn timeouts() {
    let of = |values: [f64; 3]| {
        [line("DL_DETECT", &[(0.0, values[0]), (100.0, values[1]), (1e5, values[2])])]
    };
    both(&fig05::FIGURE, 0, &of([1.0, 2.0, 0.5]), &of([1.0, 2.0, 3.0]));
    let aborts = |counts: [u64; 3]| {
        let places = [0.0, 100.0, 1e5].into_iter().zip(counts);
        let aborted = |n| BTreeMap::from([("lock conflict".to_owned(), n)]);
        let points = places.map(|(x, n)| (x, RunRecord { aborts: aborted(n), ..run(1.0) }));
        [Line { name: "DL_DETECT".into(), points: points.collect(), ..Line::default() }]
    };
    both(&fig05::FIGURE, 1, &aborts([300, 20, 20]), &aborts([300, 20, 30]));
    let same = |other| [line("DL_DETECT", &[(0.0, 1.0)]), line("NO_WAIT", &[(0.0, other)])];
    both(&fig05::FIGURE, 2, &same(1.05), &same(1.5));
}

#[test]
fn allocators() {
    let clock = |last| {
        [line("hardware", &[(1024.0, 1000.0)]), line("clock", &[(1.0, 250.0), (1024.0, last)])]
    };
    both(&fig06::FIGURE, 2, &clock(250.0 * 1000.0), &clock(1000.0));
    let atomic = |first| [line("atomic", &[(1.0, first), (16.0, 20.0), (1024.0, 8.0)])];
    both(&fig06::FIGURE, 1, &atomic(30.0), &atomic(200.0));
    let order = |mutex| {
        let names = ["clock", "hardware", "batch16", "batch8", "atomic"];
        let mut lines: Vec<Line> = names.iter().map(|name| line(name, &[(1024.0, 10.0)])).collect();
        lines.push(line("mutex", &[(1024.0, mutex)]));
        lines
    };
    both(&fig06::FIGURE, 0, &order(1.2), &order(11.0));
    both(&fig07::FIGURE_A, 0, &order(1.2), &order(11.0));
    let batches = |batch| {
        let values = [("clock", 9.5), ("hardware", 10.5), ("atomic", 10.0)];
        at(1024.0, &[&values[..], &[("batch16", batch), ("batch8", batch)]].concat())
    };
    both(&fig07::FIGURE_B, 0, &batches(2.0), &batches(9.0));
}

#[test]
fn reads_only() {
    let ts = |share| spent(&[("useful", 1.0 - share), ("timestamp_allocation", share)]);
    let bars = |share: f64, none: f64| -> Vec<Line> {
        let of = |name: &str, share| Line {
            group: "",
            name: name.into(),
            points: vec![(1024.0, ts(share))],
            ..Line::default()
        };
        let drawing = ORDERED.map(|name| of(name, share));
        drawing.into_iter().chain(["DL_DETECT", "NO_WAIT"].map(|name| of(name, none))).collect()
    };
    both(&fig08::FIGURE_B, 0, &bars(0.8, 0.0), &bars(0.8, 0.1));
    let leaving = |occ| {
        let of = |name, middle| line(name, &[(1.0, 0.1), (256.0, middle), (1024.0, 10.0)]);
        [of("OCC", occ), of("TIMESTAMP", 25.0), of("MVCC", 25.0)]
    };
    both(&fig08::FIGURE_A, 1, &leaving(5.0), &leaving(25.0));
    let copying = |occ| {
        at(
            4.0,
            &[
                ("TIMESTAMP", 0.5),
                ("OCC", occ),
                ("DL_DETECT", 1.0),
                ("NO_WAIT", 1.0),
                ("WAIT_DIE", 1.0),
                ("MVCC", 1.0),
            ],
        )
    };
    both(&fig08::FIGURE_A, 2, &copying(0.5), &copying(1.0));
}

#[test]
fn medium_and_high_contention() {
    let growing = |last| {
        let of = |name, a, b, c| line(name, &[(256.0, a), (512.0, b), (1024.0, c)]);
        [
            of("NO_WAIT", 5.0, 6.0, 7.0),
            of("WAIT_DIE", 4.0, 5.0, last),
            of("DL_DETECT", 3.0, 1.0, 0.5),
        ]
    };
    both(&fig09::FIGURE_A, 0, &growing(6.0), &growing(2.0));
    let standing = |mvcc| at(64.0, &[("MVCC", mvcc), ("TIMESTAMP", 4.0), ("OCC", 3.0)]);
    both(&fig09::FIGURE_A, 1, &standing(4.1), &standing(3.5));
    let aborting = |share| -> Vec<Line> {
        let of = |name: &str, share| Line {
            group: "",
            name: name.into(),
            points: vec![(512.0, spent(&[("abort", share)]))],
            ..Line::default()
        };
        vec![of("OCC", share), of("MVCC", 0.3), of("TIMESTAMP", 0.2)]
    };
    both(&fig09::FIGURE_B, 1, &aborting(0.5), &aborting(0.25));
    let beyond = |last| -> Vec<Line> {
        SIX.iter().map(|name| line(name, &[(64.0, 1.0), (1024.0, last)])).collect()
    };
    both(&fig10::FIGURE_A, 0, &beyond(0.5), &beyond(2.0));
    let best = |occ| {
        let mut lines: Vec<Line> =
            SIX[..5].iter().map(|name| line(name, &[(1024.0, 0.2)])).collect();
        lines.push(line("OCC", &[(1024.0, occ)]));
        lines
    };
    both(&fig10::FIGURE_A, 2, &best(0.3), &best(0.1));
    let more = |share| -> Vec<Line> {
        let of = |group, x, share| {
            SIX.map(|name| Line {
                group,
                name: name.into(),
                points: vec![(x, spent(&[("abort", share)]))],
                ..Line::default()
            })
        };
        of("", 64.0, share).into_iter().chain(of("theta 0.6", 512.0, 0.3)).collect()
    };
    both(&fig10::FIGURE_B, 0, &more(0.5), &more(0.2));
}

#[test]
fn sensitivity() {
    let skew = |half, end| -> Vec<Line> {
        let points = [(0.0, 5.0), (0.5, half), (0.6, 4.5), (0.8, 1.0), (0.9, end)];
        SIX.iter().map(|name| line(name, &points)).collect()
    };
    both(&fig11::FIGURE, 0, &skew(4.8, 0.1), &skew(2.0, 0.1));
    both(&fig11::FIGURE, 1, &skew(4.8, 0.1), &skew(4.8, 3.0));
    let shares = |last: f64, mvcc: f64| -> Vec<Line> {
        let mut lines = Vec::new();
        for group in ["queries", "transactions"] {
            for name in SIX {
                let few = if name == "MVCC" { mvcc } else { 1.0 };
                let points = [(0.0, 0.1), (0.9, few), (1.0, last)];
                lines.push(Line { group, ..line(name, &points) });
            }
        }
        lines
    };
    both(&fig13::FIGURE, 0, &shares(2.0, 1.5), &shares(0.5, 1.5));
    both(&fig13::FIGURE, 1, &shares(2.0, 1.5), &shares(2.0, 0.5));
}

#[test]
fn partitions() {
    let ratio = |whole| -> Vec<Line> {
        let mut lines = at(64.0, &SIX.map(|name| (name, 5.0)));
        lines.extend(
            at(64.0, &SIX.map(|name| (name, whole)))
                .into_iter()
                .map(|line| Line { group: "one partition", ..line }),
        );
        lines
    };
    both(&fig14::FIGURE, 1, &ratio(5.2), &ratio(4.0));
    let meeting = |two| {
        [
            line("1 partition", &[(512.0, 9.0), (1024.0, 7.0)]),
            line("2 partitions", &[(1024.0, two)]),
        ]
    };
    both(&fig15::FIGURE_B, 0, &meeting(6.8), &meeting(3.0));
    let mixes = |write| {
        [
            line("read-only", &[(0.0, 5.0), (1.0, 1.0)]),
            line("read-write", &[(0.0, write), (1.0, 1.0)]),
        ]
    };
    both(&fig15::FIGURE_A, 0, &mixes(4.9), &mixes(4.0));
    let parts = |gain| -> Vec<Line> {
        ["4 partitions", "8 partitions", "16 partitions"]
            .map(|name| line(name, &[(64.0, 1.0), (1024.0, gain)]))
            .into()
    };
    both(&fig15::FIGURE_B, 1, &parts(1.5), &parts(3.0));
}

#[test]
fn warehouses() {
    let few = |last| -> Vec<Line> {
        SEVEN.iter().map(|name| line(name, &[(4.0, 1.0), (256.0, last)])).collect()
    };
    both(&fig16::FIGURE_B, 0, &few(1.1), &few(3.0));
    both(&fig16::FIGURE_A, 0, &few(1.1), &few(20.0));
    let ceiling = |most| {
        at(
            1024.0,
            &[
                ("TIMESTAMP", 9.0),
                ("MVCC", 9.0),
                ("OCC", most),
                ("DL_DETECT", 20.0),
                ("NO_WAIT", 25.0),
            ],
        )
    };
    both(&fig17::FIGURE_B, 0, &ceiling(5.0), &ceiling(15.0));
    let ahead = |mvcc| {
        let mut values = SEVEN.map(|name| (name, 1.0));
        values[3].1 = 3.0;
        values[4].1 = mvcc;
        at(64.0, &values)
    };
    both(&fig16::FIGURE_A, 1, &ahead(2.0), &ahead(0.5));
}

#[test]
fn numbers_have_three_digits_and_a_unit() {
    assert_eq!(
        [short(1.234e6), short(9.87e9), short(0.5), short(123_456.0)],
        ["1.23 M", "9.87 G", "0.50", "123 k"]
    );
}
