//! A core under exploration. Before each operation it lets the scheduler decide which core goes next.

use super::{Operation, Teardown, scheduler::Scheduler};
use crate::{Breakdown, Core, Fault, NEVER, TimedOut, Word};
use corosensei::Yielder;
use std::{cell::Cell, panic::resume_unwind, ptr::NonNull, rc::Rc};

/// Number of steps that count as one second. The clock counts steps.
pub(super) const TICKS_PER_SECOND: u64 = 1_000_000_000;

/// Number of steps that a core can take while the run is torn down. It suffices to release what the core holds.
const TEARDOWN_STEPS: u32 = 100_000;

/// Limit of a back-off in ticks. Longer ones are cut, so that no bad argument moves the clock near its end.
const LONGEST_PAUSE: u64 = 1 << 40;

/// Progress of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Moment {
    /// Number of steps of all cores so far. If there is a trace, the number of steps in it.
    pub step: u64,
    /// Value of the clock: the steps, plus the time over which it has jumped.
    pub clock: u64,
}

/// A core of an [`Explored`](super::Explored) machine.
///
/// A core that unwinds is interrupted only where it waits or backs off. All cores share one thread, so the
/// other cores would see the thread panicking.
pub struct ExploredCore {
    id: usize,
    scheduler: Rc<Scheduler>,
    yielder: NonNull<Yielder<(), ()>>,
    /// Set while the core unwinds because the run is torn down.
    torn_down: Cell<bool>,
    teardown_steps: Cell<u32>,
    breakdown: Breakdown,
}

impl ExploredCore {
    pub(super) fn start(
        id: usize,
        scheduler: Rc<Scheduler>,
        yielder: &Yielder<(), ()>,
    ) -> ExploredCore {
        ExploredCore {
            id,
            scheduler,
            yielder: NonNull::from(yielder),
            torn_down: Cell::new(false),
            teardown_steps: Cell::new(0),
            breakdown: Breakdown::new(false),
        }
    }

    /// Returns the progress of the run. The call is not a step, so it changes no schedule.
    pub fn moment(&self) -> Moment {
        let steps = self.scheduler.trace.len().unwrap_or(self.scheduler.steps.get());
        Moment { step: steps, clock: self.scheduler.clock() }
    }

    /// Counts an operation that is about to happen, after the scheduler may have run other cores.
    #[inline(always)]
    fn step(&self) {
        if self.scheduler.count_step() {
            self.decide();
        }
    }

    #[inline(never)]
    fn decide(&self) {
        let scheduler = &*self.scheduler;
        if scheduler.tearing_down() {
            let steps = self.teardown_steps.get() + 1;
            self.teardown_steps.set(steps % TEARDOWN_STEPS);
            if steps == TEARDOWN_STEPS {
                self.give_up();
            }
        } else if !scheduler.unwinding() || scheduler.over_limit() {
            self.hand_over();
        }
    }

    /// Lets the scheduler choose a core. Returns when it has chosen this core.
    fn hand_over(&self) {
        if self.scheduler.hand_over(self.id) != Some(self.id) {
            self.suspend();
        }
    }

    fn suspend(&self) {
        let unwinding = self.torn_down.get() || self.scheduler.unwinding();
        // SAFETY: the yielder lives at the base of the coroutine that runs this core. A core is neither `Send`
        // nor `Sync`, and its body gets it only by reference. So the calling code runs on that coroutine.
        unsafe { self.yielder.as_ref() }.suspend(());
        // A panic while unwinding would abort the process.
        if self.scheduler.tearing_down() && !unwinding {
            self.throw();
        }
    }

    #[cold]
    fn throw(&self) -> ! {
        self.torn_down.set(true);
        resume_unwind(Box::new(Teardown))
    }

    /// Stops this core, which does not end by itself while the run is torn down.
    #[cold]
    fn give_up(&self) {
        if std::thread::panicking() {
            self.suspend();
        } else {
            self.throw();
        }
    }

    /// Ends a service's tick. Returns true if the service must tick again.
    pub(super) fn sleep(&self) -> bool {
        if self.scheduler.tearing_down() || !self.scheduler.sleep(self.id) {
            return false;
        }
        self.hand_over();
        true
    }

    /// Panics if this core has ended a wait without waking the waiter.
    pub(super) fn has_told(&self) {
        let scheduler = &*self.scheduler;
        if !scheduler.tearing_down() && !scheduler.unwinding() && !scheduler.has_told(self.id) {
            woke_nobody(self.id);
        }
    }

    #[inline(always)]
    fn note(&self, operation: Operation, word: &Word, value: u64) {
        self.scheduler.trace.note(self.id, operation, std::ptr::from_ref(word).addr(), value);
    }

    #[inline(always)]
    fn read(&self, operation: Operation, word: &Word) -> u64 {
        self.step();
        let value = word.peek();
        self.note(operation, word, value);
        value
    }

    /// Writes a word, as part of a step that has been counted. Plain loads and stores make an indivisible
    /// operation here, because only this core runs.
    #[inline(always)]
    fn write(&self, operation: Operation, word: &Word, value: u64, noted: u64) {
        word.poke(value);
        self.note(operation, word, noted);
        self.scheduler.written(self.id, word);
    }
}

#[cold]
fn woke_nobody(writer: usize) -> ! {
    panic!("core {writer} has changed a word, which ended a wait for it, and has woken nobody")
}

impl Core for ExploredCore {
    type Line = ();

    #[inline(always)]
    fn id(&self) -> usize {
        self.id
    }

    #[inline]
    fn load(&self, _: &(), word: &Word) -> u64 {
        self.read(Operation::Load, word)
    }

    #[inline]
    fn load_relaxed(&self, _: &(), word: &Word) -> u64 {
        self.read(Operation::Load, word)
    }

    #[inline(always)]
    fn load_const(&self, _: &(), word: &Word) -> u64 {
        word.peek()
    }

    #[inline]
    fn store(&self, _: &(), word: &Word, value: u64) {
        self.step();
        self.write(Operation::Store, word, value, value);
    }

    #[inline]
    fn store_relaxed(&self, line: &(), word: &Word, value: u64) {
        self.store(line, word, value);
    }

    #[inline]
    fn cas(&self, _: &(), word: &Word, expected: u64, desired: u64) -> Result<u64, u64> {
        self.step();
        let value = word.peek();
        if value == expected {
            self.write(Operation::Cas, word, desired, desired);
            Ok(value)
        } else {
            self.note(Operation::CasFailed, word, value);
            Err(value)
        }
    }

    #[inline]
    fn swap(&self, _: &(), word: &Word, value: u64) -> u64 {
        self.step();
        let before = word.peek();
        self.write(Operation::Swap, word, value, before);
        before
    }

    #[inline]
    fn fetch_add(&self, _: &(), word: &Word, value: u64) -> u64 {
        self.step();
        let before = word.peek();
        self.write(Operation::FetchAdd, word, before.wrapping_add(value), before);
        before
    }

    #[inline(always)]
    fn fence_acquire(&self) {}

    #[inline(always)]
    fn fence_release(&self) {}

    #[inline(always)]
    fn fence(&self) {}

    fn wait_while_until(
        &self,
        _: &(),
        word: &Word,
        deadline: u64,
        mut condition: impl FnMut(u64) -> bool,
    ) -> Result<u64, TimedOut> {
        loop {
            let value = self.read(Operation::Wait, word);
            let holds = condition(value);
            let scheduler = &*self.scheduler;
            if !holds {
                if let Some(writer) = scheduler.wait_ended(self.id)
                    && !scheduler.tearing_down()
                {
                    woke_nobody(writer);
                }
                return Ok(value);
            }
            if deadline != NEVER && (scheduler.tearing_down() || scheduler.clock() >= deadline) {
                // The writes since then, if any, have not ended the wait.
                scheduler.stops_listening(self.id);
                scheduler.wait_ended(self.id);
                return Err(TimedOut);
            }
            if scheduler.tearing_down() {
                self.give_up();
            } else if word.peek() == value {
                self.has_told();
                // If the condition had accessed shared memory, the word could have changed meanwhile.
                scheduler.block(self.id, word, value, deadline);
                self.hand_over();
            }
        }
    }

    /// Announces a change. It is not a step and changes nothing. A native waiter would sleep on without it.
    #[inline]
    fn wake(&self, _: &(), word: &Word) {
        self.scheduler.told(word);
    }

    fn copy_out(&self, _: &(), _: usize, words: &[Word], into: &mut [u8]) {
        for (word, bytes) in words.iter().zip(into.chunks_mut(8)) {
            let value = self.read(Operation::CopyOut, word);
            bytes.copy_from_slice(&value.to_le_bytes()[..bytes.len()]);
        }
    }

    fn copy_in(&self, _: &(), _: usize, words: &[Word], from: &[u8]) {
        for (word, bytes) in words.iter().zip(from.chunks(8)) {
            let mut value = [0; 8];
            value[..bytes.len()].copy_from_slice(bytes);
            let value = u64::from_le_bytes(value);
            self.step();
            self.write(Operation::CopyIn, word, value, value);
        }
    }

    #[inline(always)]
    fn touch(&self, _: &(), _: usize, _: usize, _: bool) {}

    #[inline(always)]
    fn copied(&self, _: usize) {}

    #[inline(always)]
    fn compute(&self, _: u64) {}

    /// Lets other cores go first, then moves the clock at least to the end of the pause.
    fn pause(&self, ticks: u64) {
        let scheduler = &*self.scheduler;
        let end = scheduler.clock().saturating_add(ticks.min(LONGEST_PAUSE));
        self.step();
        scheduler.trace.note(self.id, Operation::Pause, 0, ticks);
        if !scheduler.tearing_down() {
            self.has_told();
            scheduler.step_back(self.id, ticks);
            self.hand_over();
        } else if std::thread::panicking() {
            // It can be backing off before another attempt at a word that is held by a core that is not ended
            // yet.
            self.suspend();
        }
        scheduler.advance_clock(end);
    }

    /// Lets the scheduler choose another fiber of the same core.
    fn switch_fiber(&self) {
        let scheduler = &*self.scheduler;
        if !scheduler.tearing_down() && scheduler.switch_fiber(self.id) {
            self.step();
            self.hand_over();
        }
    }

    fn host(&self) -> Option<usize> {
        self.scheduler.host(self.id)
    }

    /// Leaves its crew and joins another one. It is a step. The scheduler chooses this fiber again when no other one holds
    /// that crew.
    fn move_to(&self, to: usize) {
        let scheduler = &*self.scheduler;
        if scheduler.host(self.id) == Some(to) {
            return;
        }
        self.step();
        scheduler.trace.note(self.id, Operation::Move, 0, to as u64);
        if scheduler.tearing_down() {
            return scheduler.move_to(self.id, to);
        }
        self.has_told();
        scheduler.move_to(self.id, to);
        self.hand_over();
    }

    /// Reads the clock. It is a step, because the result depends on what other cores did before.
    fn now(&self) -> u64 {
        self.step();
        let now = self.scheduler.clock();
        self.scheduler.trace.note(self.id, Operation::Clock, 0, now);
        now
    }

    /// Reads the clock without a switch to another core. The times in a history are then as close as possible
    /// to the operations before them. This makes the test of strict serializability as sharp as possible.
    fn now_fenced(&self) -> u64 {
        self.scheduler.count_step();
        let now = self.scheduler.clock();
        self.scheduler.trace.note(self.id, Operation::Clock, 0, now);
        now
    }

    fn ticks_per_second(&self) -> u64 {
        TICKS_PER_SECOND
    }

    #[inline(always)]
    fn prefetch(&self, _: *const u8, _: usize) {}

    #[inline]
    fn overtakes(&self) -> bool {
        self.scheduler.overtakes
    }

    /// The query is not a step, so it changes no schedule.
    #[inline]
    fn is_planted(&self, fault: Fault) -> bool {
        self.scheduler.fault == Some(fault)
    }

    #[inline(always)]
    fn breakdown(&self) -> &Breakdown {
        &self.breakdown
    }
}
