//! Tests of the links between sockets: exact cycles of lines that share them, and errors of machine files that list them.
//!
//! The machine has 1 GHz and links of 1 GB/s, so a line keeps a link busy for 64 cycles. A request for memory takes its
//! place in the queues after 1 cycle of the private cache, its trip, and 5 cycles of the directory. Among cores that act at
//! the same time the one with the lowest number is first.

use crate::shapes::Cell;
use kilocore_simulator::{Homes, MachineDescription, SimCore, Simulated, SimulatedOptions};
use machine::{Body, Core, Machine, Place, Shared, Word};
use std::sync::Arc;

/// Everything but links.
const SOCKETS: &str = r#"
name = "ring"
title = "One or two chassis of four sockets with two cores each"
clock_mhz = 1000
page_bytes = 4096

[core]
memory_parallelism = 1
atomic_cycles = 1
copy_bytes_per_cycle = 8
smt_throughput = [1.0]

[l1]
size_kib = 32
latency_cycles = 1

[shared_cache]
size_kib = 1024
latency_cycles = 10
directory_cycles = 5
owner_cycles = 7
read_occupancy_cycles = 1
exclusive_reads = true

[sockets]
count = 4
cores_per_socket = 2
chassis_sockets = 4
thread_steps = [1]
within_chassis = [[0, 1, 1, 2], [1, 0, 2, 1], [1, 2, 0, 1], [2, 1, 1, 0]]
between_chassis = 2

[[sockets.level]]
name = "local"
latency_ns = 100
bandwidth_gbps = 64000

[[sockets.level]]
name = "near"
latency_ns = 140
bandwidth_gbps = 1

[[sockets.level]]
name = "far"
latency_ns = 180
bandwidth_gbps = 1
"#;

/// A ring of four sockets.
const RING: &str = r#"
[[sockets.link]]
name = "ring"
bandwidth_gbps = 1
within_chassis = ["0-1", "0-2", "1-3", "2-3"]
"#;

/// Cycles of a read of memory: local, in the next socket, in the socket opposite.
const LOCAL: u64 = 100;
const NEAR: u64 = 140;
const FAR: u64 = 180;

/// Time at which all cores start.
const START: u64 = 10_000;

/// The first step of a core in a test.
#[derive(Clone, Copy)]
enum Does {
    /// Reads an untouched line of this socket's memory.
    Reads(u16),
    /// Writes an untouched line of this socket's memory.
    Writes(u16),
}

/// Returns the cycles that each core takes, if all start at the same time. Cores 2 and 3 are those of socket 1.
fn cycles(links: &str, does: &[(usize, Does)]) -> Vec<u64> {
    let machine = machine(links);
    let cells = cells(&machine);
    let took: Vec<Word> = does.iter().map(|_| Word::new(0)).collect();
    run(&machine, |core| {
        let Some(at) = does.iter().position(|(id, _)| *id == core.id()) else { return };
        let cell = |socket: u16| &cells[usize::from(socket)][core.id()];
        match does[at].1 {
            Does::Reads(socket) => _ = core.load(&cell(socket).line, &cell(socket).word),
            Does::Writes(socket) => core.store(&cell(socket).line, &cell(socket).word, 1),
        }
        took[at].poke(core.now() - START);
    });
    took.iter().map(Word::peek).collect()
}

fn machine(links: &str) -> Simulated {
    let description = MachineDescription::parse(&format!("{SOCKETS}{links}"), "ring.toml").unwrap();
    let options = SimulatedOptions { homes: Homes::ByNode, ..SimulatedOptions::default() };
    Simulated::new(Arc::new(description), options).unwrap()
}

/// Returns a line for each core in each socket's memory.
fn cells(machine: &Simulated) -> Vec<Shared<[Cell; 8]>> {
    (0..4).map(|node| machine.arena().place(Place::Node(node)).unwrap()).collect()
}

fn run(machine: &Simulated, body: impl Fn(&SimCore) + Sync) {
    let started = |core: &SimCore| {
        core.compute(START - core.now());
        body(core);
    };
    let bodies = (0..8).map(|_| Box::new(started) as Body<'_, Simulated>).collect();
    machine.run(bodies, vec![]).unwrap();
}

use Does::{Reads, Writes};

#[test]
fn readers_of_one_socket_share_its_outgoing_links() {
    assert_eq!(cycles(RING, &[(0, Reads(0))]), [LOCAL]);
    assert_eq!(cycles(RING, &[(2, Reads(0))]), [NEAR]);
    assert_eq!(cycles(RING, &[(6, Reads(0))]), [FAR]);
    // The way from 0 to 3 leads through 1. The line for 1 has the link from cycle 26 to 90, and the other one asks for it
    // in cycle 46.
    assert_eq!(cycles(RING, &[(2, Reads(0)), (6, Reads(0))]), [NEAR, FAR + 44]);
    // The line for 2 has a link of its own.
    assert_eq!(cycles(RING, &[(2, Reads(0)), (4, Reads(0))]), [NEAR, NEAR]);
    // If each two sockets have a link of their own, nobody waits for another socket, but for cores of the same one.
    assert_eq!(cycles("", &[(2, Reads(0)), (6, Reads(0))]), [NEAR, FAR]);
    assert_eq!(cycles("", &[(2, Reads(0)), (3, Reads(0))]), [NEAR, NEAR + 64]);
}

#[test]
fn a_diagonal_occupies_two_links() {
    // The line from 1 has the second link of the way 0-1-3 from cycle 26 to 90.
    assert_eq!(cycles(RING, &[(6, Reads(1)), (7, Reads(0))]), [NEAR, FAR + 44]);
    assert_eq!(cycles(RING, &[(6, Reads(2)), (7, Reads(0))]), [NEAR, FAR]);
}

#[test]
fn the_ways_between_opposite_corners_use_each_link_alike() {
    // Each socket reads the memory of the one opposite. Each link carries two lines, one in each direction.
    let all = [(0, Reads(3)), (2, Reads(2)), (4, Reads(1)), (6, Reads(0))];
    assert_eq!(cycles(RING, &all), [FAR; 4]);
    let shared = RING.replace("within", "directions_share = true\nwithin");
    let took = cycles(&shared, &all);
    assert!(took.iter().all(|took| *took <= FAR + 2 * 64), "{took:?}");
}

#[test]
fn directions_are_independent() {
    assert_eq!(cycles(RING, &[(0, Reads(1)), (2, Reads(0))]), [NEAR, NEAR]);
    assert_eq!(cycles(RING, &[(0, Reads(3)), (6, Reads(0))]), [FAR, FAR]);
}

#[test]
fn a_line_that_returns_occupies_the_way_to_its_home() {
    // The return of the line from 0 to 1 has the link from the time of the write, cycle 0, to 64. Its read uses the other
    // direction.
    assert_eq!(cycles(RING, &[(0, Writes(1)), (2, Reads(0))]), [NEAR, NEAR + 64 - 26]);
    assert_eq!(cycles(RING, &[(0, Writes(0)), (2, Reads(0))]), [LOCAL, NEAR]);
}

/// Returns the cycles in which core 7 of socket 3 reads a line of socket 0 that core 4 of socket 2 has `written`, or else
/// read, while core 6 reads from the memory of socket `busy`.
fn transfer(written: bool, busy: u16) -> u64 {
    let machine = machine(RING);
    let cells = cells(&machine);
    let line = &cells[0][0];
    let took = Word::new(0);
    run(&machine, |core| {
        let start = 2 * START;
        if core.id() == 4 && written {
            core.store(&line.line, &line.word, 1);
        } else if core.id() == 4 {
            core.load(&line.line, &line.word);
        }
        core.compute(start - core.now());
        let other = &cells[usize::from(busy)][6];
        match core.id() {
            6 => _ = core.load(&other.line, &other.word),
            7 => _ = core.load(&line.line, &line.word),
            _ => (),
        }
        if core.id() == 7 {
            took.poke(core.now() - start);
        }
    });
    took.peek()
}

#[test]
fn a_changed_line_comes_from_its_owners_socket() {
    // Cache, trip to the directory of 0, the directory, trip to the owner in 2, the owner, trip from there.
    let idle = 1 + 40 + 5 + 20 + 7 + 20;
    assert_eq!(transfer(true, 3), idle);
    // The way from 1 is another one than that from 2. The other line has it from cycle 26 to 90. This one's request takes
    // its place in cycle 41, and the line is ready to leave in cycle 73.
    assert_eq!(transfer(true, 1), idle);
    assert_eq!(transfer(true, 2), idle + 90 - 73);
    assert_eq!(transfer(false, 2), idle + 90 - 73, "an exclusive line can have been changed");
}

/// Returns the cycles in which core 2 of socket 1 reads from socket 0 while core 0 writes a line of socket 1 again that it
/// has written before, and that socket 2 has `read` since.
fn second_write(read: bool) -> u64 {
    let machine = machine(RING);
    let cells = cells(&machine);
    let line = &cells[1][0];
    let took = Word::new(0);
    run(&machine, |core| {
        if core.id() == 0 {
            core.store(&line.line, &line.word, 1);
        }
        core.compute(2 * START - core.now());
        if core.id() == 4 && read {
            core.load(&line.line, &line.word);
        }
        core.compute(3 * START - core.now());
        if core.id() == 0 {
            core.store(&line.line, &line.word, 2);
        }
        if core.id() == 2 {
            core.load(&cells[0][2].line, &cells[0][2].word);
            took.poke(core.now() - 3 * START);
        }
    });
    took.peek()
}

#[test]
fn a_changed_line_that_another_socket_has_read_returns_once_more() {
    assert_eq!(second_write(false), NEAR);
    assert_eq!(second_write(true), NEAR + 64 - 26);
}

#[test]
fn a_permission_to_write_moves_no_line() {
    let machine = machine(RING);
    let cells = cells(&machine);
    let line = &cells[0][0];
    let took = [Word::new(0), Word::new(0)];
    run(&machine, |core| {
        for reader in [2, 4] {
            if core.id() == reader {
                core.load(&line.line, &line.word);
            }
            core.compute(START * reader as u64 - core.now());
        }
        let (start, other) = (core.now(), &cells[0][3]);
        match core.id() {
            2 => core.store(&line.line, &line.word, 1),
            3 => _ = core.load(&other.line, &other.word),
            _ => return,
        }
        took[core.id() - 2].poke(core.now() - start);
    });
    // The directory of 0 is asked, and invalidates the copy in 2. A line that comes from 0 at the same time does not wait.
    assert_eq!(took.map(|took| took.peek()), [1 + 20 + 5 + 2 * 20 + 20, NEAR]);
}

#[test]
fn links_lead_through_controllers_and_skip_idle_sockets() {
    let two = SOCKETS.replace("count = 4", "count = 8");
    let links = |uplink: &str| {
        format!(
            "[[sockets.link]]\nname = \"fabric\"\nbandwidth_gbps = 4\nbetween_chassis = [\"hub-hub\"]\n\
             [[sockets.link]]\nname = \"uplink\"\nbandwidth_gbps = {uplink}\nwithin_chassis = [\"*-hub\"]\n"
        )
    };
    let machine = |uplink: &str| {
        let text = format!("{two}{RING}{}", links(uplink));
        MachineDescription::parse(&text, "two.toml").unwrap()
    };
    let ways = |machine: &MachineDescription| -> Vec<String> {
        let listed = machine.describe(None);
        listed.lines().filter(|l| l.starts_with("way ")).map(str::to_owned).collect()
    };
    // Of two ways with two links the wider one is taken.
    let listed = ways(&machine("2"));
    assert!(
        listed[1].ends_with("0-hub.0-3 1-hub.0-2 2-hub.0-1 3-hub.0-0 and 4 more"),
        "{listed:?}"
    );
    // Among equally wide ones those over sockets are preferred.
    assert_eq!(ways(&machine("1")), ways(&machine("0.5")));
    let machine = machine("0.5");
    let listed = ways(&machine);
    assert!(listed[0].ends_with("0-1 0-2 1-0 1-3 and 12 more"), "{listed:?}");
    assert!(listed[1].ends_with("0-1-3 1-0-2 2-3-1 3-2-0 and 4 more"), "{listed:?}");
    assert!(listed[2].starts_with("way by uplink, fabric, uplink"), "{listed:?}");
    assert!(
        listed[2].ends_with(
            "0-hub.0-hub.1-4 0-hub.0-hub.1-5 0-hub.0-hub.1-6 0-hub.0-hub.1-7 and 28 more"
        )
    );
    // Sockets 7, 0 and 1 are in use. The way from 1 to 0 is that of the whole machine.
    let part = ways(&machine.clone().filled_by(5, 7));
    assert!(
        part[0].ends_with(" 7-hub.1-hub.0-0 7-hub.1-hub.0-1 0-hub.0-hub.1-7 1-hub.0-hub.1-7"),
        "{part:?}"
    );
    assert!(part[1].ends_with(" 0-1 1-0") && part.len() == 2, "{part:?}");
    // A part of a part keeps the numbers of the whole.
    let part = ways(&machine.filled_by(6, 1).filled_by(3, 1));
    assert!(part[0].ends_with(" 2-3 3-2"), "{part:?}");
}

/// Returns the error for the list of links `links`.
fn error(links: &str) -> String {
    let text = format!("{SOCKETS}[[sockets.link]]\n{links}\n");
    let error = MachineDescription::parse(&text, "my.toml").unwrap_err().to_string();
    assert!(!error.contains('\n'), "{error}");
    error
}

#[test]
fn bad_lists_of_links_are_refused_with_their_lines() {
    let first = SOCKETS.lines().count() + 2;
    let told = |line: usize, key: &str, problem: &str| {
        format!("my.toml:{}: sockets.link[0].{key}: {problem}", first + line)
    };
    let listed = |list: &str| error(&format!("name = \"l\"\nbandwidth_gbps = 1\n{list}"));
    let within = |list: &str| listed(&format!("within_chassis = [{list}]"));
    let allowed = r#"allowed: two ends such as "0-1", "0-controller" or "*-controller""#;
    for bad in ["0", "0-", "0-1-2", "0-a b", "0--1", "0-1st"] {
        let problem = format!("{bad:?} is not allowed; {allowed}");
        assert_eq!(within(&format!("{bad:?}")), told(2, "within_chassis", &problem));
    }
    let unknown = r#""1-4" has the unknown socket 4; allowed: 0 to 3, the sockets of a chassis"#;
    assert_eq!(within(r#""0-1", "1-4""#), told(2, "within_chassis", unknown));
    let itself = r#""1-1" connects an end with itself; allowed: two different ends"#;
    assert_eq!(within(r#""1-1""#), told(2, "within_chassis", itself));
    let twice = r#""1-0" repeats a link of "0-1"; allowed: one link between two ends"#;
    assert_eq!(within(r#""0-1", "1-0""#), told(2, "within_chassis", twice));
    let single = r#""0-hub" has the only link of hub.0; allowed: an end with several links"#;
    assert_eq!(within(r#""*-*", "0-hub""#), told(2, "within_chassis", single));
    let chassis = r#""0-0" needs several chassis; allowed: chassis_sockets below count"#;
    assert_eq!(listed("between_chassis = [\"0-0\"]"), told(2, "between_chassis", chassis));
    let none = "missing; allowed: within_chassis, between_chassis or within_machine";
    assert_eq!(
        listed(""),
        told(0, "within_chassis", none).replace(&first.to_string(), &(first - 1).to_string())
    );
    let zero = error("name = \"l\"\nbandwidth_gbps = 0\nwithin_chassis = [\"*-*\"]");
    assert_eq!(zero, told(1, "bandwidth_gbps", "0 is not allowed; allowed: 0.001 to 100000"));
    let taken = within(
        "\"0-1\"]\n[[sockets.link]]\nname = \"l\"\nbandwidth_gbps = 1\nwithin_chassis = [\"0-2\"",
    );
    assert!(
        taken.ends_with("sockets.link[1].name: \"l\" is taken; allowed: a name of its own"),
        "{taken}"
    );
    let way = within(r#""0-1", "2-3""#);
    let problem = "no way from socket 0 to 2; allowed: links that connect all sockets";
    assert_eq!(way, format!("my.toml:{}: sockets.link: {problem}", first - 1));
    let unknown = listed("width = 2\nwithin_chassis = [\"*-*\"]");
    assert!(unknown.contains("unknown field `width`, allowed: `name`"), "{unknown}");
}

#[test]
fn built_in_machines_have_the_ways_that_were_measured() {
    let ways = |name: &str| {
        let machine = MachineDescription::load(name).unwrap();
        let listed = machine.describe(MachineDescription::builtin_text(name));
        listed
            .lines()
            .filter(|l| l.starts_with("way ") || l.starts_with("link "))
            .collect::<Vec<_>>()
            .join("\n")
    };
    let flex = ways("superdome-flex");
    for part in [
        "0-1-3 1-0-2 2-3-1 3-2-0",
        "0-controller.0-controller.1-4",
        "12.5 GB/s both ways together",
        "# [M] from a socket to one",
    ] {
        assert!(flex.contains(part), "{part}: {flex}");
    }
    let power = ways("power9");
    for part in ["way by drawer", "0-cables-4", "89.5 GB/s each way"] {
        assert!(power.contains(part), "{part}: {power}");
    }
}
