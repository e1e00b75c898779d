//! Models where the measured program's loader placed the warehouses that its workers then used.
//!
//! Thread `t` of `T` loaded the `t`-th block of the `W` warehouses. The first `W mod T` blocks have one more
//! warehouse. Memory belongs to the socket that touches it first. Worker `t`, however, works on warehouse `t mod W`.
//! With many warehouses, a few threads loaded the first `T` of them, so most data lie on few sockets.

/// Returns the thread, out of `threads`, that loaded `warehouse` of `warehouses`.
fn loader_of(warehouse: u64, warehouses: u64, threads: u64) -> u64 {
    let (block, longer) = (warehouses / threads, warehouses % threads);
    let in_longer = longer * (block + 1);
    if warehouse < in_longer {
        warehouse / (block + 1)
    } else {
        longer + (warehouse - in_longer) / block.max(1)
    }
}

/// Returns the number of sockets, counted from the first, that hold the home warehouses of `threads` workers.
/// `per_socket` workers fill a socket.
pub fn home_sockets(warehouses: u64, threads: u64, per_socket: u64) -> u64 {
    let last_home = threads.min(warehouses) - 1;
    loader_of(last_home, warehouses, threads) / per_socket + 1
}

#[cfg(test)]
mod tests {
    use super::*;

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
            assert_eq!(home_sockets(warehouses, threads, 56), sockets, "{threads} {warehouses}");
        }
    }
}
