//! The order in which threads take cores: the vocabulary of the column `placement`.
//!
//! Threads fill one socket after the other. Within a socket the word says how many threads a core gets at once. No core
//! gets more threads than the column `smt` says.
//!
//! | word | meaning |
//! | --- | --- |
//! | empty, `default` | the order of the platform: `thread_steps` in `hardware.toml`, else that of the machine file |
//! | `spreadN`, `htN-adjacent` | N threads on each core of the socket first, then twice as many, and so on |
//! | `os-order`, `packed` | as many threads on a core as it has, before the next core gets one |
//! | `...-from-socketK` | the same, but the first threads are on socket K; after the last socket the first follows |

use super::platforms::capped;
use serde::{Deserialize, Serialize};
use simulator::MachineDescription;

/// Order in which threads take cores.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ThreadOrder {
    /// Numbers of threads on each core of a socket, one after the other, as in a machine file. The last is the largest
    /// number of threads of a core.
    pub steps: Vec<u64>,
    /// Socket of the first thread.
    pub first_socket: u64,
}

/// Values that the column `placement` may have.
pub const ALLOWED: &str =
    "nothing, default, spreadN, htN-adjacent, os-order, packed, each also with -from-socketK";

impl ThreadOrder {
    /// Returns the order that `placement` means for at most `smt` threads on each core of `machine`. Returns none if the
    /// word is unknown, or if the machine lacks the socket.
    pub fn of(placement: &str, smt: u64, machine: &MachineDescription) -> Option<ThreadOrder> {
        let Some(sockets) = &machine.sockets else {
            let plain = matches!(placement, "" | "default") && smt == 1;
            return plain.then(|| ThreadOrder { steps: vec![1], first_socket: 0 });
        };
        let (word, first) = placement.split_once("-from-socket").unwrap_or((placement, "0"));
        let first_socket = first.parse().ok().filter(|first| *first < sockets.count)?;
        let spread = |word: &str| -> Option<Vec<u64>> {
            let at_once: u64 = word.parse().ok().filter(|threads| *threads > 0)?;
            let doubled = std::iter::successors(Some(at_once), |threads| threads.checked_mul(2));
            Some(doubled.take_while(|threads| *threads < smt).collect())
        };
        let steps = match word {
            "" | "default" => sockets.thread_steps.clone(),
            "os-order" | "packed" => Vec::new(),
            _ => match (word.strip_prefix("spread"), word.strip_prefix("ht")) {
                (Some(number), _) => spread(number)?,
                (None, Some(number)) => spread(number.strip_suffix("-adjacent")?)?,
                (None, None) => return None,
            },
        };
        Some(ThreadOrder { steps: capped(&steps, smt), first_socket })
    }

    /// Returns the largest number of threads of a core.
    pub fn smt(&self) -> u64 {
        self.steps.last().copied().unwrap_or(1)
    }

    /// Returns the order in a few words, such as `SMT 8 by 2, 4, 8`.
    pub fn words(&self) -> String {
        let steps: Vec<String> = self.steps.iter().map(u64::to_string).collect();
        let by = if steps.len() > 1 { format!(" by {}", steps.join(", ")) } else { String::new() };
        let from = match self.first_socket {
            0 => String::new(),
            socket => format!(" from socket {socket}"),
        };
        format!("SMT {}{by}{from}", self.smt())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_word_is_an_order() {
        let power = MachineDescription::load("power9").unwrap();
        let of = |word, smt| ThreadOrder::of(word, smt, &power).map(|order| order.steps);
        assert_eq!(of("", 8), Some(vec![2, 4, 8]));
        assert_eq!(of("default", 4), Some(vec![2, 4]));
        assert_eq!(of("spread1", 8), Some(vec![1, 2, 4, 8]));
        assert_eq!(of("spread2", 8), Some(vec![2, 4, 8]));
        assert_eq!(of("spread4", 4), Some(vec![4]));
        assert_eq!(of("spread2", 1), Some(vec![1]));
        assert_eq!(of("ht2-adjacent", 2), Some(vec![2]));
        assert_eq!((of("os-order", 8), of("packed", 2)), (Some(vec![8]), Some(vec![2])));
        let from = ThreadOrder::of("ht2-adjacent-from-socket14", 2, &power).expect("a word");
        assert_eq!((from.steps.clone(), from.first_socket), (vec![2], 14));
        assert_eq!(from.words(), "SMT 2 from socket 14");
        for word in
            ["spread", "spread0", "ht2", "near", "os-order-from-socket16", "spread2-from-socket"]
        {
            assert_eq!(of(word, 8), None, "{word}");
        }
        let chip = MachineDescription::load("graphite").unwrap();
        assert_eq!(ThreadOrder::of("", 1, &chip).map(|order| order.smt()), Some(1));
        assert_eq!(ThreadOrder::of("packed", 1, &chip), None);
    }
}
