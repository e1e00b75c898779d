//! Divides levels of distance by the latencies that were measured from socket 0, if the directory has `numa_row0.csv`.
//!
//! The firmware's numbers are coarse: on Power a socket in the same position of another chassis is nearer than its neighbours
//! there, and the diagonal of a chassis can be farther than its edges. Only socket 0 was measured. An assumption carries its
//! latencies over: two sockets of a chassis whose positions differ in the same bits are equally far, and so are all pairs of
//! different chassis with the same position, and all with different ones. A level is divided where the latencies of its
//! kinds of pairs differ by more than a tenth.

use super::Source;
use super::distances::Level;
use crate::validate::ValidateError;
use crate::validate::statistics::mean;
use crate::validate::table::Table;

/// Factor by which latencies of one level may differ.
const ALIKE: f64 = 1.1;

/// A kind of pairs of sockets that are equally far by symmetry.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Kind {
    /// In one chassis, with positions that differ in these bits.
    Within(usize),
    /// In the same position of different chassis.
    SamePosition,
    /// In different positions of different chassis.
    Apart,
}

impl Kind {
    fn of(a: usize, b: usize, chassis: usize) -> Kind {
        match (a / chassis == b / chassis, (a % chassis) ^ (b % chassis)) {
            (true, bits) => Kind::Within(bits),
            (false, 0) => Kind::SamePosition,
            (false, _) => Kind::Apart,
        }
    }
}

/// Latencies and bandwidths of one kind of pairs.
struct Measured {
    kind: Kind,
    pairs: usize,
    latency_ns: f64,
    bandwidth_gbps: f64,
}

impl Source {
    /// Divides `levels`, and changes `matrix`, which has the level of each two sockets, to the new ones.
    pub(super) fn divide_levels(
        &self,
        table: &str,
        chassis: usize,
        levels: &mut Vec<Level>,
        matrix: &mut [Vec<u64>],
    ) -> Result<(), ValidateError> {
        let row = self.row0(table, matrix.len())?;
        if row.is_empty() || !chassis.is_power_of_two() {
            return Ok(());
        }
        for level in 1..levels.len() {
            let at_level: Vec<usize> =
                (0..matrix.len()).filter(|to| matrix[0][*to] == level as u64).collect();
            let mut groups = grouped(&at_level, &row, chassis);
            // The largest group keeps the level, so that rows which name it mean most of its sockets.
            groups.sort_by_key(|group| {
                std::cmp::Reverse(group.iter().map(|m| m.pairs).sum::<usize>())
            });
            for (at, group) in groups.iter().enumerate().filter(|_| groups.len() > 1) {
                let average = |of: fn(&Measured) -> f64| {
                    mean(&group.iter().map(of).collect::<Vec<_>>()).unwrap_or(0.0)
                };
                let (latency_ns, bandwidth_gbps) =
                    (average(|m| m.latency_ns), average(|m| m.bandwidth_gbps));
                let name = levels[level].name.clone();
                if at == 0 {
                    levels[level] = Level { latency_ns, bandwidth_gbps, ..levels[level].clone() };
                    continue;
                }
                let nearer = latency_ns < levels[level].latency_ns;
                let name = format!("{name}, {}", if nearer { "nearer" } else { "farther" });
                for (a, row) in matrix.iter_mut().enumerate() {
                    for (b, between) in row.iter_mut().enumerate() {
                        let own = group.iter().any(|m| m.kind == Kind::of(a, b, chassis));
                        if own && *between == level as u64 {
                            *between = levels.len() as u64;
                        }
                    }
                }
                levels.push(Level { name, slit: None, latency_ns, bandwidth_gbps });
            }
        }
        Ok(())
    }

    /// Returns latency and bandwidth from socket 0 to each socket, or nothing if they were not all measured.
    fn row0(&self, table: &str, count: usize) -> Result<Vec<(f64, f64)>, ValidateError> {
        if self.row0.is_empty() {
            return Ok(Vec::new());
        }
        let file = self.directory.join("numa_row0.csv").display().to_string();
        let needed = ["platform", "cpu_node", "memory_node", "latency_ns", "bandwidth_GBps"];
        let mut row = vec![None; count];
        for line in Table::parse(&self.row0, &file, &needed, &[])?.lines() {
            let line = line?;
            if line.text("platform") != table || line.text("cpu_node") != "0" {
                continue;
            }
            let allowed = format!("a socket's number below {count}");
            let below = |n: f64| n >= 0.0 && n < count as f64;
            let to = line.number("memory_node", &allowed, below)? as usize;
            let positive = |column| line.number(column, "more than 0", |n| n > 0.0);
            row[to] = Some((positive("latency_ns")?, positive("bandwidth_GBps")?));
        }
        Ok(row.into_iter().collect::<Option<Vec<_>>>().unwrap_or_default())
    }
}

/// Returns the kinds of pairs from socket 0 to the sockets `to`, in groups of like latency, the nearest first.
fn grouped(to: &[usize], row: &[(f64, f64)], chassis: usize) -> Vec<Vec<Measured>> {
    let mut kinds: Vec<Kind> = Vec::new();
    for socket in to {
        let kind = Kind::of(0, *socket, chassis);
        if !kinds.contains(&kind) {
            kinds.push(kind);
        }
    }
    let measured = |kind: Kind| {
        let own = || to.iter().filter(move |to| Kind::of(0, **to, chassis) == kind);
        let average = |of: fn(&(f64, f64)) -> f64| {
            mean(&own().map(|to| of(&row[*to])).collect::<Vec<_>>()).unwrap_or(0.0)
        };
        let (latency_ns, bandwidth_gbps) = (average(|pair| pair.0), average(|pair| pair.1));
        Measured { kind, pairs: own().count(), latency_ns, bandwidth_gbps }
    };
    let mut all: Vec<Measured> = kinds.into_iter().map(measured).collect();
    all.sort_by(|a, b| a.latency_ns.total_cmp(&b.latency_ns));
    let mut groups: Vec<Vec<Measured>> = Vec::new();
    for kind in all {
        match groups.last_mut() {
            Some(group) if kind.latency_ns <= group[0].latency_ns * ALIKE => group.push(kind),
            _ => groups.push(vec![kind]),
        }
    }
    groups
}
