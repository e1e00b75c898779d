//! Computes when a thread in a queue notices that its turn has come. The thread looks at intervals, and yields its processor between
//! them.
//!
//! The model's other waits end as soon as the awaited line has arrived. A thread in a queue for a latch looks less often in some
//! programs. It notices its turn late, the later the longer it has waited, and the latch is unused meanwhile.
//!
//! Source of the intervals: `queuing_mutex` of Intel's Threading Building Blocks, as The Full Story of 1000 Cores (Bang et al., 2022)
//! used it. A thread looks after 1, 2, 4, 8 and 16 PAUSE instructions, and then after each call by which it yields its processor.

/// Number of PAUSE instructions before the first yield: 1 + 2 + 4 + 8 + 16.
const PAUSES: u64 = 31;

/// Cycles of what a waiting thread does between its looks.
#[derive(Clone, Copy)]
pub(crate) struct Intervals {
    /// Cycles of a PAUSE instruction.
    pub pause: u64,
    /// Cycles of a call by which the thread yields its processor.
    pub one_yield: u64,
}

impl Intervals {
    /// Returns the cycles after which a waiting thread begins to yield.
    pub(crate) fn before_yields(self) -> u64 {
        PAUSES * self.pause
    }

    /// Returns the cycles between the begin of a wait and the next look, if `waited` cycles of it have passed.
    pub(crate) fn next_look(self, waited: u64) -> u64 {
        let begin = self.before_yields();
        if waited > begin {
            return begin + self.one_yield * (waited - begin).div_ceil(self.one_yield);
        }
        let pauses = waited.div_ceil(self.pause);
        // The looks are after 1, 3, 7, 15 and 31 instructions.
        ((pauses + 1).next_power_of_two().max(2) - 1) * self.pause
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn threads_in_queues_yield_after_31_pauses() {
        let intervals = Intervals { pause: 10, one_yield: 100 };
        let at = |waited| intervals.next_look(waited);
        assert_eq!([at(0), at(10), at(11), at(30), at(31), at(70)], [10, 10, 30, 30, 70, 70]);
        assert_eq!([at(71), at(150), at(151), at(310)], [150, 150, 310, 310]);
        assert_eq!([at(311), at(410), at(411)], [410, 410, 510]);
        assert_eq!(intervals.before_yields(), 310);
    }
}
