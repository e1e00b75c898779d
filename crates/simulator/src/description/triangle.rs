//! Checks the triangle of distances: no way between two sockets is longer than one through a third socket.
//!
//! Hardware routes a message by the shortest way, and each latency of memory includes the access at its end. So the
//! latency from `a` to `c` can't exceed those from `a` to `b` and from `b` to `c` together. A file that breaks the rule has
//! swapped levels or a misplaced digit.

use super::SocketsDescription;
use super::check::{Fault, fault};

/// Number of chassis that stand for all: a triangle has at most three corners.
const CORNERS: u64 = 3;

impl SocketsDescription {
    /// Fails with the first three sockets whose latencies break the rule.
    pub(super) fn check_triangles(&self) -> Result<(), Fault> {
        let sockets = self.count.min(CORNERS * self.chassis_sockets);
        let level = |a, b| &self.level[self.level_between(a, b)];
        let rows = (0..sockets).map(|a| (0..sockets).map(|b| level(a, b).latency_ns).collect());
        let latency: Vec<Vec<f64>> = rows.collect();
        for a in 0..sockets {
            for b in 0..sockets {
                let first = latency[a as usize][b as usize];
                for c in 0..sockets {
                    let direct = latency[a as usize][c as usize];
                    if direct > first + latency[b as usize][c as usize] {
                        return Err(self.broken(a, b, c));
                    }
                }
            }
        }
        Ok(())
    }

    /// Returns the error for the way from `a` to `c`, which is longer than the one through `b`.
    fn broken(&self, a: u64, b: u64, c: u64) -> Fault {
        let way = |from, to| {
            let level = &self.level[self.level_between(from, to)];
            format!("{from} to {to} {} ns ({})", level.latency_ns, level.name)
        };
        let problem = format!(
            "socket {}, but {} and {}; allowed: no way longer than the way through a third socket",
            way(a, c),
            way(a, b),
            way(b, c)
        );
        fault(self.key_between(a, c), &problem)
    }

    /// Returns the key that gives two sockets their level.
    fn key_between(&self, a: u64, b: u64) -> &'static str {
        if a / self.chassis_sockets == b / self.chassis_sockets {
            "sockets.within_chassis"
        } else if self.same_position.is_some()
            && a % self.chassis_sockets == b % self.chassis_sockets
        {
            "sockets.same_position"
        } else {
            "sockets.between_chassis"
        }
    }
}
