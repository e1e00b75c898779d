//! Crews: the fibers that share one thread.
//!
//! The thread resumes its fibers in turn. A fiber that waits is resumed too: it looks at its word and yields again if
//! it must still wait. If all fibers have yielded so for a while, nobody has work here, and the thread behaves as a
//! waiting thread does: it spins, then offers its processor, then sleeps until a word changes for which one of its
//! fibers waits ([`super::parking`]).
//!
//! The thread resumes a fiber that waits instead of testing the word itself, because the condition lies on the fiber's
//! stack. Two switches take about fifteen nanoseconds.

use super::{Native, NativeCore, clock::time_until, parking};
use crate::{
    Body, Word,
    fiber::{PooledStack, StackPool},
};
use corosensei::{Coroutine, CoroutineResult, Yielder};
use std::{
    any::Any,
    cell::Cell,
    panic::{AssertUnwindSafe, catch_unwind},
    time::{Duration, Instant},
};

/// Address space of a fiber's stack, in bytes. Only touched pages take memory.
const STACK_BYTES: usize = 512 * 1024;

/// Number of rounds without progress in which the thread spins, and time for which it then offers its processor.
const SPINS: u32 = 256;
const OFFERED: Duration = Duration::from_micros(200);

/// State in which a fiber yields.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Yielded {
    /// It can go on.
    Ready,
    /// It waits.
    Waiting(Awaited),
}

/// The wait of a fiber. The fiber waits until the word differs from `seen`, or until the deadline. A fiber that lets time
/// pass has no word.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) struct Awaited {
    pub word: Option<(*const Word, u64)>,
    /// Time of the clock.
    pub deadline: u64,
}

type Fiber = Coroutine<(), Yielded, (), PooledStack>;

/// The handle by which a fiber yields. Empty for a core that has its thread to itself.
#[derive(Debug, Default)]
pub(super) struct Handle(Cell<Option<*const Yielder<(), Yielded>>>);

// SAFETY: the handle of a core without a crew is empty. A core of a crew never leaves the thread that made it.
unsafe impl Send for Handle {}

impl Handle {
    /// Returns true if the core is a fiber of a crew.
    #[inline(always)]
    pub fn is_fiber(&self) -> bool {
        self.0.get().is_some()
    }

    /// Lets the other fibers of the crew run. Does nothing without a crew.
    #[inline]
    pub fn switch(&self, state: Yielded) {
        if let Some(yielder) = self.0.get() {
            // SAFETY: only the fiber's own body has the core, so this code runs on the fiber. The yielder lives at the
            // base of the fiber's stack until the fiber ends.
            unsafe { &*yielder }.suspend(state);
        }
    }
}

/// Runs `bodies` as the fibers of the calling thread, each with its core. Returns the first panic.
pub(super) fn run<'a>(
    bodies: Vec<(NativeCore, Body<'a, Native>)>,
) -> Result<(), Box<dyn Any + Send>> {
    let stacks = StackPool::new(STACK_BYTES);
    let mut crew = Crew { fibers: Vec::with_capacity(bodies.len()), panic: None };
    for (core, body) in bodies {
        let stack = match stacks.take() {
            Ok(stack) => stack,
            Err(error) => {
                return Err(Box::new(format!("no memory for the stack of a fiber: {error}")));
            }
        };
        let main = move |yielder: &Yielder<(), Yielded>, ()| {
            core.fiber.0.set(Some(std::ptr::from_ref(yielder)));
            body(&core);
        };
        // SAFETY: everything that `body` borrows outlives this call, and so the crew: `Crew::work` ends all fibers
        // before it returns, and dropping the crew unwinds those that have not begun.
        let fiber = unsafe { Fiber::with_stack_unchecked(stack, main) };
        crew.fibers.push((fiber, Yielded::Ready));
    }
    crew.work();
    crew.panic.map_or(Ok(()), Err)
}

/// The fibers of a thread that have not ended, each with the state in which it has yielded.
struct Crew {
    fibers: Vec<(Fiber, Yielded)>,
    panic: Option<Box<dyn Any + Send>>,
}

impl Crew {
    /// Resumes the fibers in turn until all have ended.
    fn work(&mut self) {
        let (mut spins, mut offered_since) = (0, None);
        while !self.fibers.is_empty() {
            if self.round() {
                (spins, offered_since) = (0, None);
            } else if spins < SPINS {
                spins += 1;
                std::hint::spin_loop();
            } else if offered_since.get_or_insert_with(Instant::now).elapsed() < OFFERED {
                std::thread::yield_now();
            } else {
                self.sleep();
            }
        }
    }

    /// Resumes each fiber once. Returns true if one of them has made progress.
    fn round(&mut self) -> bool {
        let mut progress = false;
        let panic = &mut self.panic;
        self.fibers.retain_mut(|(fiber, state)| {
            let resumed = catch_unwind(AssertUnwindSafe(|| fiber.resume(())));
            let before = *state;
            match resumed {
                Ok(CoroutineResult::Yield(yielded)) => *state = yielded,
                Ok(CoroutineResult::Return(())) => {
                    progress = true;
                    return false;
                }
                Err(payload) => {
                    progress = true;
                    panic.get_or_insert(payload);
                    return false;
                }
            }
            progress |= *state == Yielded::Ready || *state != before;
            true
        });
        progress
    }

    /// Sleeps until a word changes for which a fiber waits, or until the first deadline.
    fn sleep(&self) {
        let mut awaited = Vec::with_capacity(self.fibers.len());
        let mut deadline = crate::NEVER;
        for (_, state) in &self.fibers {
            let Yielded::Waiting(wait) = state else { return };
            awaited.extend(wait.word);
            deadline = deadline.min(wait.deadline);
        }
        let left = time_until(deadline);
        // SAFETY: each fiber waits inside a call that borrows its word, and none runs before this call returns.
        unsafe { parking::sleep_for_any(&awaited, left) };
    }
}

#[cfg(test)]
mod tests {
    use crate::{
        ArenaOptions, Body, Core, Machine, Native, NativeCore, NativeOptions, Place, RunError, Word,
    };
    use std::{
        panic::{AssertUnwindSafe, catch_unwind},
        sync::Mutex,
        time::{Duration, Instant},
    };

    fn machine() -> Native {
        let arena = ArenaOptions { reserve_bytes: 1 << 30, ..ArenaOptions::default() };
        Native::new(NativeOptions { arena, ..NativeOptions::default() }).unwrap()
    }

    fn body<'a>(act: impl FnOnce(&NativeCore) + Send + 'a) -> Body<'a, Native> {
        Box::new(act)
    }

    fn run(fibers: usize, bodies: Vec<Body<'_, Native>>) -> Result<(), RunError> {
        machine().run_fibers(fibers, bodies, vec![])
    }

    #[test]
    fn fibers_of_a_thread_run_in_turn_and_wait_for_each_other() {
        let machine = machine();
        let words = machine.arena().place::<[Word; 2]>(Place::Any).unwrap();
        let bodies = (0..6).map(|_| {
            body(|core| {
                core.fetch_add(&(), &words[0], 1);
                core.wake(&(), &words[0]);
                core.wait_while(&(), &words[0], |value| value < 6);
                core.fetch_add(&(), &words[1], 1);
            })
        });
        // Two crews, of four fibers and of two.
        machine.run_fibers(4, bodies.collect(), vec![]).unwrap();
        assert_eq!(words[1].peek(), 6);
    }

    #[test]
    fn a_fiber_runs_until_it_lets_others_run() {
        let order = Mutex::new(Vec::new());
        let bodies = (0..3).map(|_| {
            body(|core| {
                for step in 0..2 {
                    order.lock().unwrap().push((core.id(), step));
                    core.switch_fiber();
                }
            })
        });
        run(3, bodies.collect()).unwrap();
        assert_eq!(order.into_inner().unwrap(), [(0, 0), (1, 0), (2, 0), (0, 1), (1, 1), (2, 1)]);
    }

    #[test]
    fn a_crew_sleeps_until_a_word_of_one_of_its_fibers_changes() {
        let machine = machine();
        let words = machine.arena().place::<[Word; 3]>(Place::Any).unwrap();
        let wait = |number: usize| {
            let words = &words;
            body(move |core| {
                core.wait_while(&(), &words[number], |value| value == 0);
                core.fetch_add(&(), &words[2], 1);
                core.wake(&(), &words[2]);
            })
        };
        let change = |after_ms: u64| {
            let words = &words;
            body(move |core| {
                let number = core.id() - 2;
                // The crew is asleep by then.
                std::thread::sleep(Duration::from_millis(after_ms));
                core.store(&(), &words[number], 1);
                core.wake(&(), &words[number]);
            })
        };
        let begun = Instant::now();
        // The changes come from another crew, whose fibers sleep themselves and so run one after the other.
        machine.run_fibers(2, vec![wait(0), wait(1), change(20), change(20)], vec![]).unwrap();
        assert_eq!(words[2].peek(), 2);
        assert!(begun.elapsed() < Duration::from_secs(10), "no wake was lost");
    }

    #[test]
    fn deadlines_and_pauses_end() {
        let word = Word::new(1);
        let late = body(|core| {
            let deadline = core.now() + core.ticks_per_second() / 100;
            let waited = core.wait_while_until(&(), &word, deadline, |value| value == 1);
            assert!(waited.is_err() && core.now() >= deadline);
        });
        let paused = body(|core| {
            let begun = core.now();
            core.pause(core.ticks_per_second() / 100);
            assert!(core.now() - begun >= core.ticks_per_second() / 100);
            core.back_off(core.ticks_per_second() / 1000);
        });
        run(2, vec![late, paused]).unwrap();
    }

    #[test]
    fn a_panic_of_a_fiber_reaches_the_caller_after_the_others_have_ended() {
        let ended = Word::new(0);
        let bodies = vec![
            body(|_| panic!("on purpose")),
            body(|core| {
                core.switch_fiber();
                core.store(&(), &ended, 1);
            }),
        ];
        let caught = catch_unwind(AssertUnwindSafe(|| run(2, bodies)));
        assert_eq!(*caught.unwrap_err().downcast::<&str>().unwrap(), "on purpose");
        assert_eq!(ended.peek(), 1);
    }
}
