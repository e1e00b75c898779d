//! Crews: the fibers that share one thread.
//!
//! The thread resumes its fibers in turn. A fiber that waits is resumed too: it looks at its word and yields again if
//! it must still wait. If all fibers have yielded so for a while, nobody has work here, and the thread behaves as a
//! waiting thread does: it spins, then offers its processor, then sleeps until a word changes for which one of its
//! fibers waits ([`super::parking`]).
//!
//! The thread resumes a fiber that waits instead of testing the word itself, because the condition lies on the fiber's
//! stack. Two switches take about fifteen nanoseconds.
//!
//! If fibers can move, a fiber that moves leaves its crew and joins that of another thread ([`super::arrivals`]). A crew
//! without fibers waits for arrivals until all fibers of the run have ended.

use super::{
    Native, NativeCore,
    arrivals::{Arrival, Arrivals},
    clock::time_until,
    parking,
};
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
    /// It goes on in the crew of the thread with this number.
    Moving(usize),
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

/// A fiber and the state in which it has yielded.
pub(super) struct Member {
    fiber: Fiber,
    state: Yielded,
    /// Address of the fiber that was added to the same queue before this one, while it is in a queue ([`super::arrivals`]).
    pub before: u64,
}

/// The handle by which a fiber yields. Empty for a core that has its thread to itself.
#[derive(Debug, Default)]
pub(super) struct Handle {
    yielder: Cell<Option<*const Yielder<(), Yielded>>>,
    /// Number of the thread to whose crew the fiber belongs, if it can move.
    host: Cell<Option<usize>>,
}

// SAFETY: the handle of a core that is sent before its run begins is empty. The core of a fiber is used only by the fiber,
// which runs on one thread at a time.
unsafe impl Send for Handle {}

impl Handle {
    /// Returns true if the core is a fiber of a crew.
    #[inline(always)]
    pub fn is_fiber(&self) -> bool {
        self.yielder.get().is_some()
    }

    /// Returns the number of the thread to whose crew the fiber belongs, if it can move.
    #[inline(always)]
    pub fn host(&self) -> Option<usize> {
        self.host.get()
    }

    /// Lets the fiber go on in the crew of thread `to`.
    pub fn move_to(&self, to: usize) {
        self.switch(Yielded::Moving(to));
        self.host.set(Some(to));
    }

    /// Lets the other fibers of the crew run. Does nothing without a crew.
    #[inline]
    pub fn switch(&self, state: Yielded) {
        if let Some(yielder) = self.yielder.get() {
            // SAFETY: only the fiber's own body has the core, so this code runs on the fiber. The yielder lives at the
            // base of the fiber's stack until the fiber ends.
            unsafe { &*yielder }.suspend(state);
        }
    }
}

/// Runs `bodies` as the fibers of the calling thread, each with its core. If they can move, `arrivals` names the thread, and
/// the call returns when all fibers of the run have ended. Returns the first panic.
pub(super) fn run<'a>(
    bodies: Vec<(NativeCore, Body<'a, Native>)>,
    arrivals: Option<(&Arrivals, usize)>,
) -> Result<(), Box<dyn Any + Send>> {
    let stacks = StackPool::new(STACK_BYTES);
    let mut crew = Crew { members: Vec::with_capacity(bodies.len()), arrivals, panic: None };
    for (core, body) in bodies {
        let stack = match stacks.take() {
            Ok(stack) => stack,
            Err(error) => {
                crew.ended(Box::new(format!("no memory for the stack of a fiber: {error}")));
                continue;
            }
        };
        let host = arrivals.map(|(_, thread)| thread);
        let main = move |yielder: &Yielder<(), Yielded>, ()| {
            core.fiber.yielder.set(Some(std::ptr::from_ref(yielder)));
            core.fiber.host.set(host);
            body(&core);
        };
        // SAFETY: everything that `body` borrows outlives this call, and so the crew: `Crew::work` ends all fibers
        // before it returns, and dropping the crew unwinds those that have not begun. If fibers move, they end before any
        // crew's `work` returns.
        let fiber = unsafe { Fiber::with_stack_unchecked(stack, main) };
        crew.members.push(Box::new(Member { fiber, state: Yielded::Ready, before: 0 }));
    }
    crew.work();
    // Those that have moved have ended on other threads, and have given their stacks back there.
    assert_eq!(stacks.taken(), 0, "every fiber of the run has ended");
    crew.panic.map_or(Ok(()), Err)
}

/// The fibers of a thread that have not ended.
struct Crew<'r> {
    #[expect(clippy::vec_box, reason = "a fiber that moves is handed on by its address")]
    members: Vec<Box<Member>>,
    /// Fibers that come from other threads, and the number of this thread, if fibers can move.
    arrivals: Option<(&'r Arrivals, usize)>,
    panic: Option<Box<dyn Any + Send>>,
}

impl Crew<'_> {
    /// Resumes the fibers in turn until all have ended.
    fn work(&mut self) {
        let (mut spins, mut offered_since) = (0, None);
        while self.goes_on() {
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

    /// Returns true if there are fibers here, or others can still come.
    fn goes_on(&self) -> bool {
        !self.members.is_empty() || self.arrivals.is_some_and(|(arrivals, _)| !arrivals.all_ended())
    }

    /// Takes in the fibers that have arrived, and resumes each fiber once. Returns true if one of them has made progress.
    fn round(&mut self) -> bool {
        let mut progress = self.arrivals.is_some() && self.take_in();
        let mut at = 0;
        while let Some(Member { fiber, state, .. }) = self.members.get_mut(at).map(|m| &mut **m) {
            let before = *state;
            match catch_unwind(AssertUnwindSafe(|| fiber.resume(()))) {
                Ok(CoroutineResult::Yield(Yielded::Moving(to))) => {
                    progress = true;
                    *state = Yielded::Ready;
                    self.hand_on(at, to);
                }
                Ok(CoroutineResult::Yield(yielded)) => {
                    *state = yielded;
                    progress |= yielded == Yielded::Ready || yielded != before;
                    at += 1;
                }
                Ok(CoroutineResult::Return(())) => {
                    progress = true;
                    self.members.remove(at);
                    self.one_ended();
                }
                Err(payload) => {
                    progress = true;
                    self.members.remove(at);
                    self.ended(payload);
                }
            }
        }
        progress
    }

    /// Takes in the fibers that have arrived. Returns true if there was one.
    fn take_in(&mut self) -> bool {
        let Some((arrivals, thread)) = self.arrivals else { return false };
        arrivals.take(thread, |Arrival(member)| self.members.push(member))
    }

    /// Hands the fiber at `at` on to the crew of thread `to`.
    fn hand_on(&mut self, at: usize, to: usize) {
        let member = self.members.remove(at);
        let (arrivals, _) = self.arrivals.expect("only fibers that can move do");
        // SAFETY: the fiber is suspended, and this crew forgets it. Who made the run has promised that its stack holds nothing
        // that is bound to this thread (`Sharing::moving_fibers`).
        arrivals.add(to, unsafe { Arrival::new(member) });
    }

    /// Notes that a fiber has ended by a panic.
    fn ended(&mut self, payload: Box<dyn Any + Send>) {
        self.panic.get_or_insert(payload);
        self.one_ended();
    }

    fn one_ended(&self) {
        if let Some((arrivals, _)) = self.arrivals {
            arrivals.one_ended();
        }
    }

    /// Sleeps until a word changes for which a fiber waits, until the first deadline, or until a fiber arrives.
    fn sleep(&self) {
        let mut awaited = Vec::with_capacity(self.members.len() + 2);
        let mut deadline = crate::NEVER;
        for member in &self.members {
            let Yielded::Waiting(wait) = member.state else { return };
            awaited.extend(wait.word);
            deadline = deadline.min(wait.deadline);
        }
        if let Some((arrivals, thread)) = self.arrivals {
            awaited.extend(arrivals.awaited(thread));
        }
        let left = time_until(deadline);
        // SAFETY: each fiber waits inside a call that borrows its word, and none runs before this call returns. The words of
        // arrivals live as long as the run.
        unsafe { parking::sleep_for_any(&awaited, left) };
    }
}

#[cfg(test)]
mod tests {
    use crate::{
        ArenaOptions, Body, Core, Machine, Native, NativeCore, NativeOptions, Place, RunError,
        Sharing, Word,
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
        machine().run_fibers(Sharing::fibers(fibers), bodies, vec![])
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
        machine.run_fibers(Sharing::fibers(4), bodies.collect(), vec![]).unwrap();
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
        machine
            .run_fibers(Sharing::fibers(2), vec![wait(0), wait(1), change(20), change(20)], vec![])
            .unwrap();
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

    /// Runs bodies as fibers that move.
    fn run_moving(fibers: usize, bodies: Vec<Body<'_, Native>>) -> Result<(), RunError> {
        // SAFETY: nothing in the bodies of these tests is bound to a thread.
        machine().run_fibers(unsafe { Sharing::moving_fibers(fibers) }, bodies, vec![])
    }

    #[test]
    fn a_word_needs_no_atomics_where_every_fiber_moves_to_its_core() {
        const ROUNDS: u64 = 2_000;
        let words = [const { Word::new(0) }; 3];
        let threads = std::array::from_fn::<_, 3, _>(|_| Mutex::new(None));
        let bodies = (0..6).map(|number| {
            let (words, threads) = (&words, &threads);
            body(move |core| {
                assert_eq!(core.host(), Some(number / 2));
                for round in 0..ROUNDS {
                    let to = (number + round as usize) % 3;
                    core.move_to(to);
                    assert_eq!(core.host(), Some(to));
                    let own = std::thread::current().id();
                    let first = *threads[to].lock().unwrap().get_or_insert(own);
                    assert_eq!(first, own, "a core is one thread");
                    core.store_relaxed(&(), &words[to], core.load_relaxed(&(), &words[to]) + 1);
                    if round % 64 == 0 {
                        core.pause(core.ticks_per_second() / 1_000_000);
                    }
                }
            })
        });
        run_moving(2, bodies.collect()).unwrap();
        assert_eq!(words.iter().map(Word::peek).sum::<u64>(), 6 * ROUNDS);
    }

    #[test]
    fn a_fiber_arrives_where_all_sleep_or_have_ended() {
        let moved = Word::new(0);
        let bodies = vec![
            body(|core| {
                for to in [1, 2, 1, 0] {
                    // The other threads sleep by then.
                    core.pause(core.ticks_per_second() / 200);
                    core.move_to(to);
                }
                core.store(&(), &moved, 1);
                core.wake(&(), &moved);
            }),
            body(|core| {
                core.wait_while(&(), &moved, |value| value == 0);
            }),
            body(|_| ()),
        ];
        let begun = Instant::now();
        run_moving(1, bodies).unwrap();
        assert!(begun.elapsed() < Duration::from_secs(10), "no wake was lost");
    }

    #[test]
    fn a_panic_after_a_move_reaches_the_caller_after_the_others_have_ended() {
        let ended = Word::new(0);
        let bodies = vec![
            body(|core| {
                core.move_to(1);
                panic!("on purpose")
            }),
            body(|core| {
                core.pause(core.ticks_per_second() / 200);
                core.move_to(0);
                core.store(&(), &ended, 1);
            }),
        ];
        let caught = catch_unwind(AssertUnwindSafe(|| run_moving(1, bodies)));
        assert_eq!(*caught.unwrap_err().downcast::<&str>().unwrap(), "on purpose");
        assert_eq!(ended.peek(), 1);
    }

    #[test]
    fn a_fiber_that_stays_says_so() {
        let stays = body(|core| {
            assert_eq!(core.host(), None);
            core.move_to(0);
        });
        assert!(catch_unwind(AssertUnwindSafe(|| run(2, vec![stays]))).is_err());
    }
}
