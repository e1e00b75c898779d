//! Tests of known hardware behaviour that the model must show.

use kilocore_simulator::{Homes, MachineDescription, SimLine, Simulated, SimulatedOptions};
use machine::{Body, Core, Machine, Place, SettledRange, Word, Zeroed};
use std::sync::Arc;

#[repr(C, align(64))]
pub(crate) struct Cell {
    pub line: SimLine,
    pub word: Word,
}

// SAFETY: the type consists of a line and a word. Zeros are valid for both, and there is nothing to drop.
unsafe impl Zeroed for Cell {}

fn machine(name: &str, homes: Homes) -> Simulated {
    let description = Arc::new(MachineDescription::load(name).unwrap());
    let options = SimulatedOptions { reserve_bytes: 1 << 32, homes, ..SimulatedOptions::default() };
    Simulated::new(description, options).unwrap()
}

/// Returns the rate of increments of one shared counter, in millions per second.
fn counter_rate(cores: usize, hardware: bool) -> f64 {
    let machine = machine("graphite", Homes::default());
    let cell = machine.arena().place::<Cell>(Place::Any).unwrap();
    let each = (40_000 / cores).max(20);
    let body = |core: &kilocore_simulator::SimCore| {
        for _ in 0..each {
            if hardware {
                core.hardware_counter();
            } else {
                core.fetch_add(&cell.line, &cell.word, 1);
            }
            core.compute(10);
        }
    };
    let bodies = (0..cores).map(|_| Box::new(body) as Body<'_, Simulated>).collect();
    machine.run(bodies, vec![]).unwrap();
    (each * cores) as f64 / machine.clock() as f64 * 1000.0
}

#[test]
fn a_global_counter_saturates_as_on_graphite() {
    // Abyss 4.3: about 30 million per second on few cores, 8 to 10 million at 1024 cores. The hardware counter scales.
    let rates: Vec<f64> = [4, 16, 64, 256, 1024].map(|n| counter_rate(n, false)).to_vec();
    println!("atomic, 4 to 1024 cores: {rates:?}");
    assert!((20.0..60.0).contains(&rates[1]), "{rates:?}");
    assert!((6.0..12.0).contains(&rates[4]), "{rates:?}");
    assert!(rates[1] > 1.3 * rates[2] && rates[2] > 1.3 * rates[3] && rates[3] > 1.3 * rates[4]);
    let hardware = counter_rate(1024, true);
    println!("hardware counter, 1024 cores: {hardware}");
    assert!(hardware > 20.0 * rates[4]);
}

/// Returns the mean cycles of a load of untouched memory on `node`, by one core of socket 0.
fn memory_cycles(node: u16) -> u64 {
    let machine = machine("superdome-flex", Homes::ByNode);
    let cells = machine.arena().place::<[Cell; 1000]>(Place::Node(node)).unwrap();
    let body: Body<'_, Simulated> = Box::new(|core| {
        for cell in cells.iter() {
            core.load(&cell.line, &cell.word);
        }
    });
    machine.run(vec![body], vec![]).unwrap();
    machine.clock() / 1000
}

#[test]
fn memory_is_as_far_as_was_measured() {
    // Measured: 97, 242.5, 259 and 382.7 ns, at 2.5 GHz.
    for (node, expected) in [(0, 242), (1, 606), (3, 647), (27, 956)] {
        let cycles = memory_cycles(node);
        assert!(
            cycles.abs_diff(expected) < 12,
            "node {node}: {cycles} cycles, {expected} measured"
        );
    }
}

#[test]
fn what_belongs_to_a_session_lies_beside_its_worker() {
    let description = Arc::new(MachineDescription::load("superdome-flex").unwrap());
    let cycles = |sessions_at_home| {
        let homes = Homes::ByNode;
        let options = SimulatedOptions { homes, sessions_at_home, ..SimulatedOptions::default() };
        let machine = Simulated::new(description.clone(), options).unwrap();
        let arena = machine.arena();
        let cells: Vec<_> =
            (0..112).map(|session| arena.place::<Cell>(arena.beside(session)).unwrap()).collect();
        let nodes = [0, 55, 56, 111].map(|session: usize| arena.node_of(cells[session].offset()));
        assert_eq!(nodes, if sessions_at_home { [0, 0, 1, 1] } else { [0; 4] });
        // This is the first session of the second socket.
        let cycles = Word::new(0);
        let body = |core: &kilocore_simulator::SimCore| {
            if core.id() == 56 {
                let before = core.now();
                core.load(&cells[56].line, &cells[56].word);
                cycles.poke(core.now() - before);
            }
        };
        let bodies = (0..57).map(|_| Box::new(body) as Body<'_, Simulated>).collect();
        machine.run(bodies, vec![]).unwrap();
        cycles.peek()
    };
    assert!(cycles(true) + 300 < cycles(false));
}

#[test]
fn memory_bandwidth_is_shared() {
    // 56 threads of socket 0 stream from one remote socket. Together they get 12.5 GB/s, although alone they could
    // read more.
    let machine = machine("superdome-flex", Homes::ByNode);
    let cells = machine.arena().place::<[Cell; 56 * 500]>(Place::Node(27)).unwrap();
    let body = |core: &kilocore_simulator::SimCore| {
        for cell in &cells[core.id() * 500..][..500] {
            core.load(&cell.line, &cell.word);
        }
    };
    let bodies = (0..56).map(|_| Box::new(body) as Body<'_, Simulated>).collect();
    machine.run(bodies, vec![]).unwrap();
    let seconds = machine.clock() as f64 / 2.5e9;
    let rate = 56.0 * 500.0 * 64.0 / seconds / 1e9;
    println!("{rate} GB/s");
    assert!((7.0..13.0).contains(&rate), "{rate} GB/s");
}

/// Returns the rate, in GB/s, at which the threads of three sockets stream from the memory of a fourth one. If they
/// `write`, each line also returns there. `share` tells whether both directions of a link share its bandwidth.
fn rate_of_three_sockets(write: bool, share: bool) -> f64 {
    const LINES: usize = 200;
    let mut description = MachineDescription::load("superdome-flex").unwrap();
    let sockets = description.sockets.as_mut().unwrap();
    sockets.link.iter_mut().for_each(|link| link.directions_share = share);
    let options = SimulatedOptions { homes: Homes::ByNode, ..SimulatedOptions::default() };
    let machine = Simulated::new(Arc::new(description), options).unwrap();
    let cells = machine.arena().place::<[Cell; 168 * LINES]>(Place::Node(0)).unwrap();
    let body = |core: &kilocore_simulator::SimCore| {
        let Some(thread) = core.id().checked_sub(56) else { return };
        for cell in &cells[thread * LINES..][..LINES] {
            match write {
                true => core.store(&cell.line, &cell.word, 1),
                false => _ = core.load(&cell.line, &cell.word),
            }
        }
    };
    let bodies = (0..224).map(|_| Box::new(body) as Body<'_, Simulated>).collect();
    machine.run(bodies, vec![]).unwrap();
    (168 * LINES * 64) as f64 / (machine.clock() as f64 / 2.5)
}

#[test]
fn a_socket_sends_no_more_than_its_links_allow() {
    // Two of the three thirds of the lines pass the same link of 16.2 GB/s, so 24.3 is the most.
    let reading = rate_of_three_sockets(false, true);
    assert!((23.0..24.4).contains(&reading), "{reading} GB/s");
    // Lines that return take their share of links, unless a link has its bandwidth in each direction. Those of the socket
    // opposite return on the other side of the ring, so each of the two links carries three thirds.
    let writing = rate_of_three_sockets(true, true);
    assert!((0.62..0.70).contains(&(writing / reading)), "{writing} GB/s of {reading}");
    let beside = rate_of_three_sockets(true, false);
    assert!((0.9..1.1).contains(&(beside / reading)), "{beside} GB/s of {reading}");
}

#[test]
fn rows_of_partitions_lie_where_they_are_settled() {
    let description = Arc::new(MachineDescription::load("superdome-flex").unwrap());
    let options = SimulatedOptions { homes: Homes::ByNode, ..SimulatedOptions::default() };
    let machine = Simulated::new(description, options).unwrap();
    let cells = machine.arena().place::<[Cell; 2000]>(Place::Any).unwrap();
    let first = cells.offset();
    let unit_bytes = 1000 * size_of::<Cell>() as u64;
    let nodes = vec![0, 27].into();
    machine.arena().settle(SettledRange { first, unit_bytes, nodes }, false);
    let cycles = [Word::new(0), Word::new(0)];
    let body: Body<'_, Simulated> = Box::new(|core| {
        for (cells, cycles) in cells.chunks(1000).zip(&cycles) {
            let before = core.now();
            cells.iter().for_each(|cell| _ = core.load(&cell.line, &cell.word));
            cycles.poke((core.now() - before) / 1000);
        }
    });
    machine.run(vec![body], vec![]).unwrap();
    // Measured: 97 and 382.7 ns, at 2.5 GHz.
    let [near, far] = cycles.map(|cycles| cycles.peek());
    assert!(near.abs_diff(242) < 12 && far.abs_diff(956) < 12, "{near} {far}");
}

#[test]
fn a_working_set_beyond_a_cache_misses_it() {
    let machine = machine("superdome-flex", Homes::ByNode);
    let mut cycles = Vec::new();
    for (lines, rounds) in [(256usize, 40), (8192, 10)] {
        let cells = machine.arena().place::<[Cell; 8192]>(Place::Node(0)).unwrap();
        let start = machine.clock();
        let body: Body<'_, Simulated> = Box::new(|core| {
            for cell in (0..rounds).flat_map(|_| &cells[..lines]) {
                core.load(&cell.line, &cell.word);
            }
        });
        machine.run(vec![body], vec![]).unwrap();
        cycles.push((machine.clock() - start) as f64 / (lines * rounds) as f64);
    }
    // The accesses are mostly first-level hits, then second-level hits. A direct-mapped model has a few conflicts.
    assert!((4.0..25.0).contains(&cycles[0]), "{cycles:?}");
    assert!((14.0..70.0).contains(&cycles[1]), "{cycles:?}");
}
