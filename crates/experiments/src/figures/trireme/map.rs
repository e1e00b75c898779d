//! A map of the best pairs of an architecture and a protocol, on three machines. It is ours: the paper has one server of 72
//! cores.

use super::*;
use crate::figures::Grid;
use crate::figures::map::Spot;
use engine::registry::declaration;
use machine::Native;
use protocols::{ProtocolOptions, registry};

/// The protocols of the map, of which an architecture runs those that it supports. With `--quick` it runs the first ones.
const PROTOCOLS: [&str; 7] =
    ["NO_WAIT", "SILO", "DL_DETECT", "TICTOC", "2V_NO_WAIT", "WAIT_DIE", "MVCC"];
const QUICK_PROTOCOLS: usize = 3;

/// The architectures of the map.
const ARCHITECTURES: [Architecture; 4] = [SE, PSE, DELEGATION, DORA];

const UPDATED: &str = "--updates --whole-records ";
const NONE_HOT: &str = "--hot-records 0 --hot-accesses 0 ";
const SOME_HOT: &str = "--hot-records 1024 ";
const FEW_HOT: &str = "--hot-records 16 ";

/// Options of the rows: contention rises from top to bottom. Reads without a lock do not conflict.
const ROWS: [(&str, &str); 5] =
    [("", NONE_HOT), ("", FEW_HOT), (UPDATED, NONE_HOT), (UPDATED, SOME_HOT), (UPDATED, FEW_HOT)];

/// Shares of the transactions that are multi-site.
const SHARES: [&str; 3] = ["0", "0.2", "1"];

/// Returns the cells of a machine whose blocks have these numbers of cores.
const fn grid(cores: &'static [usize]) -> Grid {
    Grid {
        cores,
        rows: &[
            "reads, none hot",
            "reads, 16 hot",
            "updates, none hot",
            "updates, 1024 hot",
            "updates, 16 hot",
        ],
        columns: &["0 %", "20 %", "100 %"],
        across: "multi-site",
    }
}

static SERVER: Grid = grid(&[18, 72]);
static CHASSIS: Grid = grid(&[112, 448]);
static CHIP: Grid = grid(&[256, 1024]);

/// Machines with their cells.
static MACHINES: [(&str, &Grid); 3] =
    [("haswell-ex", &SERVER), ("superdome-flex", &CHASSIS), ("graphite", &CHIP)];

/// Returns the protocols that run under `architecture`.
fn protocols_under(architecture: Architecture, effort: Effort) -> Vec<&'static str> {
    let declared = declaration(architecture.engine).expect("the engine has it");
    if declared.isolates {
        // Its only protocol is that of a run under it, whatever the name that is given.
        return vec![""];
    }
    let all = registry::declarations::<Native>(&ProtocolOptions::default());
    let runs = |name: &&str| {
        let protocol = all.iter().find(|protocol| protocol.name == *name);
        protocol.is_some_and(|protocol| engine::pair(&declared, *protocol).is_ok())
    };
    let quick = &PROTOCOLS[..QUICK_PROTOCOLS];
    effort.pick(&PROTOCOLS[..], quick).iter().copied().filter(runs).collect()
}

/// Returns the run of a pair in a cell. Under shared-everything the records are drawn as if there were partitions, so that
/// all architectures run the same transactions.
fn run_in(
    (machine, grid): (&'static str, &Grid),
    (architecture, protocol): (Architecture, &'static str),
    Spot { block, row, column }: Spot,
    effort: Effort,
) -> Setting {
    let cores = grid.cores[block];
    let (updates, hot) = ROWS[row];
    let cold = if hot == NONE_HOT { 10 } else { 8 };
    let share = match SHARES[column] {
        "0" => "--remote 0".to_owned(),
        share => format!("--remote {cold} --multisite {share}"),
    };
    let divided = match architecture.name {
        "SE" => format!(" --partitions {cores}"),
        _ => String::new(),
    };
    let work = hot_cold(effort, &format!("{updates}{hot}{share}{divided}"));
    let (longer, longest) = limits(cores, ROWS[row]);
    work.under(architecture, protocol, cores).on(machine).within(longer, longest)
}

/// Returns the limits of a run's length, as factors of the usual limit of busy time. They are the same for all architectures,
/// because caches that fill make a run faster for as long as it lasts. Updates of few hot records need more time, in
/// which most cores wait. The first factor is more than one, so that 1024 cores take a second interval.
fn limits(cores: usize, row: (&str, &str)) -> (f64, f64) {
    match row {
        (UPDATED, FEW_HOT) => ((cores as f64 / 256.0).max(1.05), 16.0),
        _ => (1.05, 1.05),
    }
}

fn series(effort: Effort) -> Vec<Series> {
    let mut all = Vec::new();
    for (machine, grid) in MACHINES {
        for architecture in ARCHITECTURES {
            for protocol in protocols_under(architecture, effort) {
                let of = |spot: Spot| {
                    let run = run_in((machine, grid), (architecture, protocol), spot, effort);
                    (grid.x(spot), run)
                };
                let runs: Vec<(f64, Setting)> = grid.spots().into_iter().map(of).collect();
                let name = format!("{} {}", architecture.name, runs[0].1.protocol);
                let points = runs.into_iter().map(Point::placed).collect();
                all.push(Series { group: machine, name, points });
            }
        }
    }
    all
}

pub(super) const FIGURE: Figure = Figure {
    paper: "trireme",
    number: "map",
    title: "The fastest architecture and protocol by contention, multi-site share and cores (ours)",
    section: "4",
    machine: MACHINE,
    remarks: &[
        "The map is ours, and the paper has no such figure. It asks the paper's question, which architecture and which protocol \
         win, on more cores and on other machines. The paper makes no statement that it could judge.",
        "A cell shows the fastest pair of an architecture and a protocol: the colour of its architecture, the name of its \
         protocol, its transactions a second, and how many times as fast it is as the best pair of the second-best \
         architecture. The table below has all pairs.",
        "A cell of two colours is a tie: the throughputs of the best two architectures differ by less than 5 %, or their \
         95 % confidence intervals meet. The intervals say how a throughput varies within one run. Every run has one seed.",
        "Workload: ten records of 80 bytes, read or updated as a whole, as in figures 2 to 5. With a hot set two of them \
         are hot ones, which are spread over the whole table. So a transaction with hot records accesses records of other partitions \
         in all columns. The column is the share of the transactions whose cold records all belong to other partitions, \
         each drawn anew. The cold records of the others belong to the partition of their thread.",
        "The corners are runs of the paper: none hot and 0 % or 100 % are the ends of figure 2d, and 16 hot and 0 % are \
         figures 2 and 5. Shared-everything runs the same transactions, whose records are drawn as if it had partitions.",
        RECORDS,
        PLACED,
        "With --quick the protocols are NO_WAIT, SILO and DL_DETECT, and otherwise also TICTOC, 2V_NO_WAIT, WAIT_DIE and \
         MVCC, as far as an architecture runs them. Partitioned serial execution needs none.",
        "A run lasts until it is steady, or until a limit of its time, which is the same for all architectures: 8.4 seconds of all cores \
         together, 128 with updates of 16 hot records, a quarter with --quick, and five times as long on graphite. In the latter \
         row a run also ends when its cores have been busy, and not waiting, for 8.4 seconds together, and for up to 32 on 1024 \
         cores.",
        "Under Delegation SILO reads without the servers, which only validate writes. Where it is ahead with reads, memory is the \
         reason: on 72 cores of haswell-ex a transaction without hot and remote records fetches 8 lines from the memory of other \
         sockets, and 29 under shared-everything, whose pages alternate over the sockets. On one socket, and with 100 % \
         multi-site transactions, the two are within 4 % of each other.",
        "A core of superdome-flex is one of the two hardware threads of a core there. 112 of them are two sockets, and 448 are eight, \
         which are two chassis.",
        "On superdome-flex and graphite such a run is over before the caches are warm. The records of a thread would fit into them in \
         part, because the table is smaller than the paper's. So the columns with 0 % show how fast the pairs are with a \
         table that is many times as large as the caches. Longer runs are faster there, most of all those of partitioned \
         architectures. A ~ marks many of such values.",
        "Not modelled: logging, a network, replicas, threads that are placed by hand, partitions that move to where they are \
         used, transactions that are sent to the thread of their hot records, and threads that only serve. All architectures \
         pause after aborts by the same rule.",
    ],
    x: "Cell",
    series,
    panels: &[
        Panel::new("Machine haswell-ex: 4 sockets of 18 cores", "haswell-ex", Kind::Map(&SERVER)),
        Panel::new(
            "Machine superdome-flex: sockets of 28 cores",
            "superdome-flex",
            Kind::Map(&CHASSIS),
        ),
        Panel::new("Machine graphite: a chip of 1024 cores", "graphite", Kind::Map(&CHIP)),
    ],
    checks: &[],
};

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn each_pair_has_one_run_in_each_cell() {
        for effort in [Effort::Quick, Effort::Full] {
            let all = series(effort);
            for line in &all {
                let panel = FIGURE.panels.iter().find(|panel| panel.group == line.group).unwrap();
                let Kind::Map(grid) = panel.kind else { panic!("a map") };
                let places: Vec<f64> = line.points.iter().map(|(x, _)| *x).collect();
                let cells: Vec<f64> = grid.spots().iter().map(|spot| grid.x(*spot)).collect();
                assert_eq!(places, cells, "{} {}", line.group, line.name);
                for ((_, point), spot) in line.points.iter().zip(grid.spots()) {
                    assert_eq!(point.cores(), grid.cores[spot.block]);
                    assert_eq!((point.machine(), point.unable()), (Some(line.group), None));
                }
            }
            // No two cells of a machine are the same run.
            let points: Vec<&Point> =
                all.iter().flat_map(|line| line.points.iter().map(|(_, point)| point)).collect();
            let commands: BTreeSet<String> = points
                .iter()
                .map(|point| match point {
                    Point::Setting(setting) => {
                        setting.command(setting.machine.unwrap(), &setting.cores.to_string())
                    }
                    Point::Program(_) => unreachable!("no measured program"),
                })
                .collect();
            assert_eq!(commands.len(), points.len());
        }
    }

    #[test]
    fn the_map_has_all_pairs_that_the_engine_allows() {
        let names = |effort| -> BTreeSet<String> {
            series(effort).into_iter().map(|series| series.name).collect()
        };
        let quick = names(Effort::Quick);
        for name in ["SE SILO", "SE DL_DETECT", "PSE NO_CC", "Delegation NO_WAIT"] {
            assert!(quick.contains(name), "{name}: {quick:?}");
        }
        assert!(quick.is_subset(&names(Effort::Full)));
        for architecture in ARCHITECTURES {
            let first = format!("{} ", architecture.name);
            assert!(quick.iter().any(|name| name.starts_with(&first)), "{}", architecture.name);
        }
        // A pair that the engine refuses is not there.
        assert!(!names(Effort::Full).contains("Delegation MVCC"));
    }

    #[test]
    fn all_architectures_run_the_same_transactions() {
        let spot = Spot { block: 1, row: 4, column: 1 };
        let options = [SE, PSE, DELEGATION].map(|architecture| {
            let run = run_in(MACHINES[0], (architecture, "NO_WAIT"), spot, Effort::Quick);
            run.workload_options().unwrap()
        });
        assert!(options.iter().all(|own| *own == options[0]));
        let shown = |name: &str| options[0][name].to_string();
        assert_eq!(["partitions", "hot-records", "remote"].map(shown), ["72", "16", "8"]);
        assert_eq!((shown("multisite"), shown("updates")), ("0.2".to_owned(), "true".to_owned()));
    }
}
