//! Models where the rows of each warehouse lie.
//!
//! In the measured program, thread `t` of `T` loads the `t`-th block of the `W` warehouses. The first `W mod T` blocks have
//! one more warehouse. Memory belongs to the socket that touches it first. Worker `t`, however, works on warehouse
//! `t mod W`. With many warehouses, a few threads load the first `T` of them, so most data lie on few sockets.

use serde::{Deserialize, Serialize};
use simulator::MachineDescription;

/// Rule for the sockets of the warehouses.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Placement {
    /// Each warehouse lies on the socket of the thread that loads it, as in the released program.
    Loader,
    /// Each warehouse lies on the socket of the first worker whose home it is.
    Home,
    /// Each warehouse lies on a socket at this level of distance from the first worker whose home it is.
    Distance(usize),
}

impl Placement {
    /// Returns the placement's name in reports.
    pub fn name(self) -> String {
        match self {
            Placement::Loader => "where it is loaded".to_owned(),
            Placement::Home => "at its worker".to_owned(),
            Placement::Distance(level) => format!("at distance {level}"),
        }
    }

    /// Returns the socket of each warehouse, for `threads` workers on the sockets of `machine`, which fill one after
    /// the other. Returns `None` if there is only one socket, or none at the distance.
    pub fn sockets(
        self,
        machine: &MachineDescription,
        warehouses: u64,
        threads: u64,
    ) -> Option<Vec<u16>> {
        let sockets = machine.memory_nodes() as u64;
        let socket_of = |thread| match &machine.sockets {
            Some(sockets) => sockets.socket_of_thread(thread) as u16,
            None => 0,
        };
        let homes = |warehouse: u64| socket_of(warehouse % threads);
        if sockets == 1 {
            return None;
        }
        match self {
            Placement::Loader => {
                let loader = |warehouse| socket_of(loader_of(warehouse, warehouses, threads));
                Some((0..warehouses).map(loader).collect())
            }
            Placement::Home => Some((0..warehouses).map(homes).collect()),
            Placement::Distance(level) => {
                let far = partners(machine, level)?;
                Some((0..warehouses).map(|w| far[usize::from(homes(w))]).collect())
            }
        }
    }
}

/// Returns for each socket another one at the given level of distance. As few sockets as possible are chosen twice.
/// Returns `None` if a socket has none at that distance.
fn partners(machine: &MachineDescription, level: usize) -> Option<Vec<u16>> {
    let sockets = machine.sockets.as_ref()?;
    let count = sockets.count;
    let mut chosen = vec![0; count as usize];
    (0..count)
        .map(|from| {
            let others = (0..count).map(|step| (from + step) % count);
            let far = others.filter(|to| sockets.level_between(from, *to) == level);
            let partner = far.min_by_key(|to| chosen[*to as usize])?;
            chosen[partner as usize] += 1;
            Some(partner as u16)
        })
        .collect()
}

/// Returns the thread, out of `threads`, that loads `warehouse` of `warehouses`.
fn loader_of(warehouse: u64, warehouses: u64, threads: u64) -> u64 {
    let (block, longer) = (warehouses / threads, warehouses % threads);
    let in_longer = longer * (block + 1);
    if warehouse < in_longer {
        warehouse / (block + 1)
    } else {
        longer + (warehouse - in_longer) / block.max(1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn flex() -> MachineDescription {
        MachineDescription::load("superdome-flex").expect("a built-in machine")
    }

    /// Returns the number of sockets, counted from the first, that hold the home warehouses of `threads` workers.
    fn home_sockets(warehouses: u64, threads: u64) -> u64 {
        let sockets = Placement::Loader.sockets(&flex(), warehouses, threads).expect("28 sockets");
        let homes = &sockets[..threads.min(warehouses) as usize];
        u64::from(*homes.iter().max().expect("there are warehouses")) + 1
    }

    #[test]
    fn sockets_are_those_that_the_measurements_document() {
        // Threads, warehouses and sockets with memory on the HPE machine, from the published description.
        let documented = [
            (56, 1024, 1),
            (112, 4, 1),
            (112, 64, 2),
            (112, 128, 2),
            (112, 256, 1),
            (224, 128, 3),
            (224, 256, 4),
            (224, 512, 2),
            (224, 1568, 1),
            (448, 1024, 3),
            (448, 1568, 2),
            (784, 1568, 7),
            (896, 1024, 14),
            (896, 1568, 8),
            (1024, 1024, 19),
            (1344, 1568, 20),
            (1568, 1568, 28),
        ];
        for (threads, warehouses, sockets) in documented {
            assert_eq!(home_sockets(warehouses, threads), sockets, "{threads} {warehouses}");
        }
    }

    #[test]
    fn every_socket_is_one_partner_at_each_distance() {
        let flex = flex();
        let sockets = flex.sockets.as_ref().expect("28 sockets");
        for level in 1..=3 {
            let far = Placement::Distance(level).sockets(&flex, 1568, 1568).expect("all distances");
            let home = Placement::Home.sockets(&flex, 1568, 1568).expect("28 sockets");
            let mut loads = [0; 28];
            for (home, far) in home.iter().zip(&far) {
                let (home, far) = (usize::from(*home), usize::from(*far));
                assert_eq!(sockets.level_between(home as u64, far as u64), level);
                loads[far] += 1;
            }
            assert_eq!(loads, [56; 28], "level {level}");
        }
        assert_eq!(Placement::Distance(4).sockets(&flex, 10, 10), None);
    }
}
