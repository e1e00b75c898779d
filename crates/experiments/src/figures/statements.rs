//! Tests that the papers' statements are checks of their figures, and that the machine files have what the papers say of
//! the machines. `data/statements.tsv` has a row for each statement, with the beginnings of its checks.

use super::*;
use simulator::MachineDescription;

const ROWS: &str = include_str!("../../data/statements.tsv");

/// Returns figure, statement and checks of each row.
fn rows() -> Vec<[&'static str; 3]> {
    let row = |line: &'static str| {
        let fields: Vec<&str> = line.split('\t').collect();
        <[&str; 3]>::try_from(fields).unwrap_or_else(|fields| panic!("three fields: {fields:?}"))
    };
    ROWS.lines().skip(1).map(row).collect()
}

fn machine(name: &str) -> MachineDescription {
    MachineDescription::load(name).expect("a built-in machine")
}

#[test]
fn every_statement_is_a_check_of_its_figure() {
    let mut checked = 0;
    for [figure, statement, checks] in rows() {
        for check in checks.split("; ") {
            let (place, words) = check.split_once(": ").expect("a place and words");
            if let Some((paper, number)) = place.split_once(' ') {
                let paper = Paper::named(paper).unwrap_or_else(|| panic!("{figure}: {paper}"));
                let found = paper.figures_called(number);
                let is_there = found
                    .iter()
                    .any(|figure| figure.checks.iter().any(|c| c.statement.starts_with(words)));
                assert!(is_there && found.len() == 1, "{figure}: {statement}: {words}");
                checked += 1;
            } else {
                assert!(["machines", "none"].contains(&place) && !words.is_empty(), "{figure}");
            }
        }
    }
    assert!(rows().len() == 104 && checked >= 140, "{} rows, {checked} checks", rows().len());
}

#[test]
fn the_target_of_the_first_paper_is_its_figure_2() {
    let graphite = machine("graphite");
    let mesh = graphite.mesh.as_ref().expect("tiles");
    assert_eq!((graphite.clock_mhz, graphite.core.memory_parallelism), (1000, 1.0));
    assert_eq!((graphite.l1.size_kib, graphite.shared_cache.size_kib), (32, 512));
    // The second level is shared: no tile has one of its own.
    assert!(graphite.l2.is_none());
    assert_eq!((mesh.tiles, mesh.hop_cycles), (1024, 2));
}

#[test]
fn the_machines_of_the_second_paper_are_its_figure_1() {
    let flex = machine("superdome-flex");
    let sockets = flex.sockets.as_ref().expect("28 sockets");
    assert_eq!((sockets.count, sockets.chassis_sockets, flex.cores()), (28, 4, 1568));
    assert_eq!((sockets.cores_of(0), sockets.threads_per_core()), (28, 2));
    let levels = |from: u64, to: std::ops::Range<u64>| -> Vec<usize> {
        to.map(|to| sockets.level_between(from, to)).collect()
    };
    // Two neighbours in one hop and one in two; every other chassis is at the farthest distance.
    for from in 0..28 {
        let chassis = from / 4 * 4;
        let mut own = levels(from, chassis..chassis + 4);
        own.sort_unstable();
        assert_eq!(own, [0, 1, 1, 2], "socket {from}");
        assert!(levels(from, 0..chassis).iter().all(|level| *level == 3));
        assert!(levels(from, chassis + 4..28).iter().all(|level| *level == 3));
    }
    for (name, count, threads) in [("power9", 16, 1504), ("power8", 8, 752)] {
        let power = machine(name);
        let sockets = power.sockets.as_ref().expect("sockets");
        assert_eq!((sockets.count, power.cores(), sockets.threads_per_core()), (count, threads, 8));
        for (from, to) in (0..count).flat_map(|from| (0..count).map(move |to| (from, to))) {
            let chassis = sockets.chassis_sockets;
            let near = usize::from(from != to) + usize::from(from / chassis != to / chassis);
            assert_eq!(sockets.level_between(from, to), near, "{name}: {from} to {to}");
        }
    }
}

#[test]
fn the_machine_of_the_third_paper_is_the_server_of_its_section_4() {
    let server = machine("haswell-ex");
    let sockets = server.sockets.as_ref().expect("4 sockets");
    assert_eq!((sockets.count, sockets.cores_per_socket, server.cores()), (4, 18, 72));
    assert_eq!((server.clock_mhz, sockets.threads_per_core()), (2500, 1));
    let l2 = server.l2.as_ref().expect("a private second level");
    let sizes = (server.l1.size_kib, l2.size_kib, server.shared_cache.size_kib);
    assert_eq!(sizes, (32, 256, 45 * 1024));
    // Threads fill one socket before the next, and all sockets are neighbours.
    let of = [0, 17, 18, 71].map(|thread| sockets.socket_of_thread(thread));
    assert_eq!(of, [0, 0, 1, 3]);
    let mut all = (0..4).flat_map(|from| (0..4).map(move |to| (from, to)));
    assert!(all.all(|(a, b)| sockets.level_between(a, b) == usize::from(a != b)));
}
