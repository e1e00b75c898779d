//! Parts of a machine: a run that fills only some of its sockets, or takes its cores in another order.

use super::{MachineDescription, SocketsDescription, WholeMachine};

impl MachineDescription {
    /// Returns the machine whose threads take cores in the order `steps`, as in
    /// [`SocketsDescription::thread_steps`]. Its last number is the number of threads that a core then has. A machine without
    /// sockets, and one whose cores have fewer threads, stays as it is.
    pub fn with_thread_steps(mut self, steps: &[u64]) -> MachineDescription {
        let (Some(sockets), Some(last)) = (&mut self.sockets, steps.last()) else { return self };
        if *last <= sockets.threads_per_core() {
            sockets.thread_steps = steps.to_vec();
            self.core.smt_throughput.truncate(*last as usize);
        }
        self
    }

    /// Returns the sockets that `threads` threads fill, from socket `first` on. After the last socket the first one
    /// follows. Idle sockets are left out, because their caches are not used. A machine without sockets stays as it is.
    pub fn filled_by(mut self, threads: u64, first: u64) -> MachineDescription {
        if let Some(sockets) = self.sockets.take() {
            self.sockets = Some(sockets.filled_by(threads, first));
        }
        self
    }
}

impl SocketsDescription {
    fn filled_by(self, threads: u64, first: u64) -> SocketsDescription {
        let order = || (0..self.count).map(|step| (first + step) % self.count);
        let mut before = 0;
        let needed = order().take_while(|socket| {
            let is_needed = before < threads;
            before += self.threads_of(*socket);
            is_needed
        });
        let chosen: Vec<u64> = needed.collect();
        let cores_by_socket = match self.cores_by_socket.is_empty() {
            true => Vec::new(),
            false => chosen.iter().map(|socket| self.cores_of(*socket)).collect(),
        };
        let count = chosen.len() as u64;
        let part_of = Some(self.whole_of(&chosen));
        if first == 0 {
            return SocketsDescription { count, cores_by_socket, part_of, ..self };
        }
        // The chosen sockets may begin in the middle of a chassis, so all their levels are listed.
        let level = |a: &u64, b: &u64| self.level_between(*a, *b) as u64;
        let row = |a| chosen.iter().map(|b| level(a, b)).collect();
        SocketsDescription {
            count,
            cores_by_socket,
            chassis_sockets: count,
            within_chassis: chosen.iter().map(row).collect(),
            between_chassis: None,
            same_position: None,
            part_of,
            ..self
        }
    }

    /// Returns the whole machine of which the sockets `chosen` are a part.
    fn whole_of(&self, chosen: &[u64]) -> WholeMachine {
        let numbers = self.numbers_in_whole();
        let sockets = chosen.iter().map(|socket| numbers[*socket as usize]).collect();
        match &self.part_of {
            Some(whole) => WholeMachine { sockets, ..whole.clone() },
            None => {
                let (count, chassis_sockets) = (self.count, self.chassis_sockets);
                WholeMachine { count, chassis_sockets, sockets }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_part_keeps_cores_and_distances_of_its_sockets() {
        let mut whole = MachineDescription::load("superdome-flex").unwrap();
        let sockets = whole.sockets.as_mut().unwrap();
        sockets.cores_by_socket = (0..28).map(|socket| 28 - u64::from(socket == 1)).collect();
        assert_eq!(whole.cores(), 1566);
        let sockets = whole.sockets.as_ref().unwrap();
        assert_eq!((sockets.socket_of_thread(109), sockets.socket_of_thread(110)), (1, 2));
        for (threads, count) in [(1, 1), (56, 1), (57, 2), (110, 2), (111, 3), (1566, 28)] {
            let part = whole.clone().filled_by(threads, 0).sockets.unwrap();
            assert_eq!(part.count, count, "{threads} threads");
        }
        let part = whole.clone().filled_by(113, 27).sockets.unwrap();
        assert_eq!(part.cores_by_socket, [28, 28, 27]);
        // Sockets 27, 0 and 1: the first is in another chassis than the two others.
        assert_eq!(part.within_chassis, [[0, 3, 3], [3, 0, 1], [3, 1, 0]]);
        let single = whole.with_thread_steps(&[1]);
        assert_eq!((single.cores(), single.core.smt_throughput.len()), (783, 1));
        assert_eq!(single.clone().with_thread_steps(&[2]), single, "a core has one thread now");
    }
}
