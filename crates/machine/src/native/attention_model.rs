//! A model of [`super::attention`]. A test enumerates all its executions and asks: does a sleeper sleep through
//! a change?
//!
//! Each thread has a buffer. Its stores and additions reach memory from there, in order, at any later time. An
//! x86-64 processor delays stores in this way, but not additions, so the model delays more than the hardware. A
//! compare-and-swap empties the buffer of its thread and acts at once. A barrier empties the buffer of its
//! thread. The barrier for all threads empties all buffers.
//!
//! The model can fail: the last test shows that a wake-up is lost if any one part is left out.

use std::collections::HashSet;

const UNASKED: u8 = 0;
const ASKING: u8 = 1;
const ASKED: u8 = 2;
const LEAVING: u8 = 3;

/// A part of the algorithm that a test can leave out.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Part {
    WakersBarrier,
    SleepersBarrier,
    BarrierForAll,
    LookBeforeLeaving,
    LatchOfLeaving,
}

/// An entry of a thread's buffer.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
enum Delayed {
    /// Changes the word.
    Change,
    /// Adds to the number of sleepers at the word, or to the number of all sleepers.
    AtWord(i8),
    All(i8),
}

/// Role of a thread.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
enum Role {
    /// Changes the word and wakes sleepers.
    Waker,
    /// Sleeps until the word is changed.
    Sleeper,
    /// Is counted for a while because of another word.
    Passer,
    /// Ends attention.
    Leaver,
}

#[derive(Clone, PartialEq, Eq, Hash)]
struct Thread {
    role: Role,
    step: u8,
    buffer: Vec<Delayed>,
    /// For a leaver: set if it has seen sleepers.
    seen: bool,
}

const DONE: u8 = 99;
const PARKED: u8 = 50;

#[derive(Clone, PartialEq, Eq, Hash)]
struct World {
    changed: bool,
    state: u8,
    at_word: i8,
    all: i8,
    latched: bool,
    threads: Vec<Thread>,
}

impl World {
    fn new(state: u8, roles: &[Role]) -> World {
        let thread = |&role: &Role| Thread { role, step: 0, buffer: Vec::new(), seen: false };
        let threads = roles.iter().map(thread).collect();
        World { changed: false, state, at_word: 0, all: 0, latched: false, threads }
    }

    fn flush_one(&mut self, thread: usize) {
        match self.threads[thread].buffer.remove(0) {
            Delayed::Change => self.changed = true,
            Delayed::AtWord(by) => self.at_word += by,
            Delayed::All(by) => self.all += by,
        }
    }

    fn flush(&mut self, thread: usize) {
        while !self.threads[thread].buffer.is_empty() {
            self.flush_one(thread);
        }
    }

    fn swap(&mut self, thread: usize, from: u8, to: u8) {
        self.flush(thread);
        if self.state == from {
            self.state = to;
        }
    }

    /// Executes one step of a thread. Returns `None` if the thread cannot take a step.
    fn step(&self, at: usize, without: Option<Part>) -> Option<World> {
        let mut next = self.clone();
        let Thread { role, step, .. } = self.threads[at];
        let has = |part| without != Some(part);
        let go = match role {
            Role::Waker => next.wake(at, step, has(Part::WakersBarrier)),
            Role::Leaver => next.leave(at, step, has),
            Role::Sleeper | Role::Passer => next.sleep(at, step, has),
        };
        next.threads[at].step = go?;
        Some(next)
    }

    fn wake(&mut self, at: usize, step: u8, barrier: bool) -> Option<u8> {
        Some(match step {
            0 => {
                self.threads[at].buffer.push(Delayed::Change);
                1
            }
            1 if self.state == UNASKED => DONE,
            1 => 2,
            2 => {
                if barrier {
                    self.flush(at);
                }
                3
            }
            3 if self.at_word == 0 => DONE,
            3 => {
                let parked = self.threads.iter_mut().filter(|thread| thread.step == PARKED);
                parked.for_each(|thread| thread.step = 6);
                DONE
            }
            _ => return None,
        })
    }

    /// Executes one step of a sleeper, or of a passer, which is counted and continues without sleeping.
    fn sleep(&mut self, at: usize, step: u8, has: impl Fn(Part) -> bool) -> Option<u8> {
        let sleeps = self.threads[at].role == Role::Sleeper;
        Some(match step {
            0 => {
                self.count(at, 1);
                1
            }
            1 => {
                if has(Part::SleepersBarrier) {
                    self.flush(at);
                }
                2
            }
            2 if self.state == ASKED => 5,
            2 if self.state == LEAVING => {
                self.swap(at, LEAVING, ASKED);
                2
            }
            2 => {
                self.swap(at, UNASKED, ASKING);
                3
            }
            3 => {
                if has(Part::BarrierForAll) {
                    (0..self.threads.len()).for_each(|thread| self.flush(thread));
                }
                4
            }
            4 => {
                self.swap(at, ASKING, ASKED);
                2
            }
            5 if sleeps && !self.changed => PARKED,
            5 => 6,
            6 => {
                self.count(at, -1);
                DONE
            }
            _ => return None,
        })
    }

    fn count(&mut self, at: usize, by: i8) {
        let thread = &mut self.threads[at];
        if thread.role == Role::Sleeper {
            thread.buffer.push(Delayed::AtWord(by));
        }
        thread.buffer.push(Delayed::All(by));
    }

    fn leave(&mut self, at: usize, step: u8, has: impl Fn(Part) -> bool) -> Option<u8> {
        Some(match step {
            0 if self.latched && has(Part::LatchOfLeaving) => DONE,
            0 => {
                self.latched = true;
                self.swap(at, ASKED, LEAVING);
                1
            }
            1 => {
                self.threads[at].seen = self.all != 0 && has(Part::LookBeforeLeaving);
                2
            }
            2 => {
                let to = if self.threads[at].seen { ASKED } else { UNASKED };
                self.swap(at, LEAVING, to);
                self.latched = false;
                DONE
            }
            _ => return None,
        })
    }

    fn sleeps_through(&self) -> bool {
        let ended = |thread: &Thread| thread.step == DONE && thread.buffer.is_empty();
        let mut parked = self.threads.iter().filter(|thread| thread.step == PARKED);
        let over = self.threads.iter().all(|thread| thread.step == PARKED || ended(thread));
        over && parked.next().is_some() && self.changed
    }
}

/// Returns whether an execution ends with a sleeper that has missed the change, and the number of states
/// visited.
fn loses(start: World, without: Option<Part>) -> (bool, usize) {
    let mut seen = HashSet::from([start.clone()]);
    let mut open = vec![start];
    while let Some(world) = open.pop() {
        if world.sleeps_through() {
            return (true, seen.len());
        }
        for at in 0..world.threads.len() {
            let flushed = (!world.threads[at].buffer.is_empty()).then(|| {
                let mut next = world.clone();
                next.flush_one(at);
                next
            });
            for next in world.step(at, without).into_iter().chain(flushed) {
                if seen.insert(next.clone()) {
                    open.push(next);
                }
            }
        }
    }
    (false, seen.len())
}

/// Returns the initial states: attention is asked for or not, other threads sleep meanwhile, and two threads
/// end attention.
fn worlds() -> Vec<World> {
    use Role::*;
    let casts: [&[Role]; 4] = [
        &[Waker, Sleeper],
        &[Waker, Sleeper, Sleeper],
        &[Waker, Sleeper, Leaver, Leaver],
        &[Waker, Sleeper, Passer, Leaver, Leaver],
    ];
    casts.iter().flat_map(|roles| [UNASKED, ASKED].map(|state| World::new(state, roles))).collect()
}

#[test]
fn no_execution_sleeps_through_a_change() {
    let mut states = 0;
    for world in worlds() {
        let (lost, count) = loses(world, None);
        assert!(!lost);
        states += count;
    }
    assert!(states > 10_000, "{states}");
}

#[test]
fn without_any_one_part_a_wake_is_lost() {
    for part in [
        Part::WakersBarrier,
        Part::SleepersBarrier,
        Part::BarrierForAll,
        Part::LookBeforeLeaving,
        Part::LatchOfLeaving,
    ] {
        assert!(worlds().into_iter().any(|world| loses(world, Some(part)).0), "{part:?}");
    }
}
