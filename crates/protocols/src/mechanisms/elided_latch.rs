//! A latch whose acquisition hardware elides while nobody else wants it.
//!
//! Source: Rajwar and Goodman, MICRO 2001 (speculative lock elision); Intel sold it as hardware lock elision. The section
//! under the latch runs as a transaction of the hardware, which has only read the word of the latch. So the line of the
//! word stays in the caches of all cores that read it, and no core fetches it to write. Processors on sale no longer do
//! this, so it exists on modelled machines only.
//!
//! The sections here change what their latch protects. Two of them always conflict, and hardware aborts one. The model
//! decides without undoing: the section that began first goes on. The word has three states:
//!
//! - 0: free, as the hardware sees it during an elided section, too;
//! - `ELIDED`: a section is running. The hardware has written nothing, so setting and clearing this costs nothing;
//! - `CONTENDED`: another session has conflicted and written to the word. The section has been aborted and runs again
//!   with the latch held, which costs `ABORT_CYCLES` and a store at its end. Others wait for that store.
//!
//! The words are read and changed between two operations of the core. Modelled cores run one after the other on one
//! thread, so nothing comes between.

use machine::{Core, Machine, Word};

const ELIDED: u64 = 1;
const CONTENDED: u64 = 2;

/// Cycles to begin and to commit a transaction of the hardware, and to abort one. The three are assumptions.
const BEGIN_CYCLES: u64 = 20;
const COMMIT_CYCLES: u64 = 20;
const ABORT_CYCLES: u64 = 150;

/// Begins a section under the latch `word`. Waits while another session is in such a section.
pub fn begin<M: Machine>(core: &M::Core, line: &M::Line, word: &Word) {
    core.compute(BEGIN_CYCLES);
    core.load(line, word);
    loop {
        match core.load_uncharged(word) {
            0 => {
                word.poke(ELIDED);
                return;
            }
            ELIDED => {
                // Fails if the section has ended meanwhile.
                let _ = core.cas(line, word, ELIDED, CONTENDED);
            }
            _ => _ = core.wait_while(line, word, |word| word == CONTENDED),
        }
    }
}

/// Ends the section under the latch `word`.
pub fn end<M: Machine>(core: &M::Core, line: &M::Line, word: &Word) {
    if core.load_uncharged(word) == ELIDED {
        word.poke(0);
        core.compute(COMMIT_CYCLES);
        return;
    }
    core.compute(ABORT_CYCLES);
    core.store(line, word, 0);
    core.wake(line, word);
}

#[cfg(test)]
mod tests {
    use super::*;
    use machine::{Body, Explored, ExploredOptions, Schedule};

    #[test]
    fn sections_exclude_each_other_in_every_schedule() {
        for schedule in [Schedule::Random, Schedule::Pct { depth: 3 }] {
            let mut machine =
                Explored::new(ExploredOptions { schedule, ..Default::default() }).unwrap();
            for seed in 0..300 {
                machine.renew(seed).unwrap();
                sections_exclude_each_other(&machine, seed);
            }
        }
    }

    fn sections_exclude_each_other(machine: &Explored, seed: u64) {
        let (word, line, counter) = (Word::new(0), (), Word::new(0));
        let (word, line, counter) = (&word, &line, &counter);
        let section = |core: &<Explored as Machine>::Core| {
            begin::<Explored>(core, line, word);
            let seen = core.load(line, counter);
            core.store(line, counter, seen + 1);
            end::<Explored>(core, line, word);
        };
        let bodies = (0..3).map(|_| -> Body<'_, Explored> {
            Box::new(move |core| (0..4).for_each(|_| section(core)))
        });
        machine.run(bodies.collect(), vec![]).unwrap();
        assert_eq!((counter.peek(), word.peek()), (12, 0), "seed {seed}");
    }
}
