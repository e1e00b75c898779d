//! Hardware threads that share a core (simultaneous multithreading), and how much they slow each other down.
//!
//! A thread's local work takes longer for each sibling that works at the same time. A thread that waits does not count: it
//! spins with an instruction that leaves the core to its siblings, or it sleeps. So the owner of a partition for which seven
//! siblings wait has the core for itself.
//!
//! Threads that work can also divide what lets a core overlap its misses: the window of instructions that it reorders, and its fill
//! buffers. Then more of each miss is waited for.

use crate::description::MachineDescription;
use std::cell::Cell;

/// The threads of each core, and what their number costs.
pub(crate) struct Siblings {
    /// Factor, in 1/256, by which local work takes longer, by the number of threads that work. Entry 0 is that of entry 1.
    slowdowns: Box<[u16]>,
    /// Factor, in 1/256, by which misses overlap less, by the same number.
    divisions: Box<[u16]>,
    /// Number of threads of each physical core that work.
    working: Box<[Cell<u8>]>,
}

impl Siblings {
    /// Returns the state in which all threads work. `threads` are those of each physical core. Returns `None` if each core has
    /// one thread at most.
    pub(crate) fn of(d: &MachineDescription, threads: &[u8]) -> Option<Siblings> {
        let most = usize::from(threads.iter().copied().max().unwrap_or(0));
        if most < 2 {
            return None;
        }
        let of = |n: usize| (256.0 * n as f64 / d.core.smt_throughput[n - 1] + 0.5) as u16;
        let shares = &d.core.smt_parallelism;
        let share = |n: usize| shares.get(n - 1).or(shares.last()).copied().unwrap_or(1.0);
        let division = |n: usize| (256.0 / share(n) + 0.5) as u16;
        Some(Siblings {
            slowdowns: (0..=most).map(|n| of(n.max(1))).collect(),
            divisions: (0..=most).map(|n| division(n.max(1))).collect(),
            working: threads.iter().copied().map(Cell::new).collect(),
        })
    }

    /// Returns the factor, in 1/256, for a thread of `physical` that works.
    #[inline(always)]
    pub(crate) fn slowdown(&self, physical: u32) -> u64 {
        u64::from(self.slowdowns[usize::from(self.working[physical as usize].get())])
    }

    /// Returns the part of a miss, in 1/256, that a thread of `physical` waits for, if it waits for `part` where it works alone.
    #[inline(always)]
    pub(crate) fn divided(&self, physical: u32, part: u64) -> u64 {
        let division = self.divisions[usize::from(self.working[physical as usize].get())];
        ((part * u64::from(division)) >> 8).min(256)
    }

    /// Notes that a thread of `physical` begins to wait.
    #[inline]
    pub(crate) fn rests(&self, physical: u32) {
        let working = &self.working[physical as usize];
        working.set(working.get().saturating_sub(1));
    }

    /// Notes that a thread of `physical` goes on.
    #[inline]
    pub(crate) fn goes_on(&self, physical: u32) {
        let working = &self.working[physical as usize];
        working.set((working.get() + 1).min(self.slowdowns.len() as u8 - 1));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_siblings_that_work_slow_a_thread_down() {
        let power = MachineDescription::load("power9").unwrap();
        assert!(Siblings::of(&power, &[1, 1, 0]).is_none());
        let siblings = Siblings::of(&power, &[8, 1]).unwrap();
        // 8 threads have 2.12 times the throughput of one.
        assert_eq!((siblings.slowdown(0), siblings.slowdown(1)), (966, 256));
        (0..6).for_each(|_| siblings.rests(0));
        assert_eq!(siblings.slowdown(0), 330);
        siblings.rests(0);
        assert_eq!(siblings.slowdown(0), 256);
        siblings.rests(0);
        assert_eq!(siblings.slowdown(0), 256);
        (0..20).for_each(|_| siblings.goes_on(0));
        assert_eq!(siblings.slowdown(0), 966);
        assert_eq!(siblings.divided(0, 64), 64);
    }

    #[test]
    fn threads_that_work_divide_the_parallelism_of_a_core() {
        let flex = MachineDescription::load("superdome-flex").unwrap();
        let siblings = Siblings::of(&flex, &[2]).unwrap();
        assert_eq!([26, 64, 200].map(|part| siblings.divided(0, part)), [52, 128, 256]);
        siblings.rests(0);
        assert_eq!([26, 64, 200].map(|part| siblings.divided(0, part)), [26, 64, 200]);
    }
}
