//! Waits of a core: for a write of another core, in a queue, or for a time.

use super::{LATEST, SimCore};
use crate::{
    line::{SimLine, WAITERS},
    looks::Intervals,
    queue::{IDLE, key},
};
use machine::{Category, Core, NEVER, TimedOut, Word};

/// A wait for a word.
#[derive(Clone, Copy)]
pub(super) struct Wait<'a> {
    pub line: &'a SimLine,
    pub word: &'a Word,
    /// Time at which the wait ends in any case.
    pub deadline: u64,
    /// Cycles between two looks of the core; 0 if it notices a change at once.
    pub look_every: u64,
    /// Set if the core waits in a queue. It yields after a while, which is work, and notices its turn in [`Core::notice_turn`].
    pub queues: bool,
}

impl SimCore {
    /// Returns the intervals between the looks of a thread in a queue. A yield is work.
    pub(super) fn intervals(&self) -> Intervals {
        let model = &self.world.model;
        Intervals { pause: model.pause, one_yield: self.slowed(model.yields) }
    }

    /// Notes that the core is in a queue. Returns the time at which it begins to yield.
    fn yields_from(&self) -> u64 {
        let since = self.world.waiting.queue(usize::from(self.id), self.clock.get());
        since + self.intervals().before_yields()
    }

    /// Waits until `condition` no longer holds, or until the deadline.
    #[inline]
    pub(super) fn wait(
        &self,
        wait: Wait<'_>,
        condition: &mut dyn FnMut(u64) -> bool,
    ) -> Result<u64, TimedOut> {
        let value = self.load(wait.line, wait.word);
        if !condition(value) {
            return Ok(value);
        }
        let before = self.account(Category::Wait);
        let since = self.clock.get();
        let result = self.park(wait, condition);
        if wait.look_every != 0 {
            let waited = self.clock.get() - since;
            self.look_at(since + waited.next_multiple_of(wait.look_every));
        }
        self.account(before);
        result
    }

    /// Lets the time pass until the core looks at what it has waited for, at `time`.
    pub(super) fn look_at(&self, time: u64) {
        let before = self.account(Category::Wait);
        self.clock.set(time);
        self.take_turn();
        self.account(before);
    }

    /// Waits as [`SimCore::wait`] does, and returns the word's last value if the run is torn down meanwhile.
    pub(super) fn wait_without_end(
        &self,
        wait: Wait<'_>,
        mut condition: impl FnMut(u64) -> bool,
    ) -> u64 {
        self.wait(wait, &mut condition).unwrap_or_else(|TimedOut| wait.word.peek())
    }

    /// Does `wait`, during which siblings have the core for themselves. Fibers do not count as siblings: when one of them
    /// waits, the core executes another one.
    pub(super) fn rest<R>(&self, wait: impl FnOnce() -> R) -> R {
        let siblings = self.world.model.siblings.as_ref().filter(|_| self.world.crews.is_none());
        let physical = self.seat.get().physical();
        siblings.inspect(|siblings| siblings.rests(physical));
        let result = wait();
        siblings.inspect(|siblings| siblings.goes_on(physical));
        result
    }

    #[cold]
    #[inline(never)]
    fn park(
        &self,
        wait: Wait<'_>,
        condition: &mut dyn FnMut(u64) -> bool,
    ) -> Result<u64, TimedOut> {
        let Wait { line, word, deadline, queues, .. } = wait;
        let offset = self.world.offset(line);
        let yields = if queues { self.yields_from() } else { NEVER };
        loop {
            let now = self.clock.get();
            if self.world.ending.get() || now >= deadline {
                return Err(TimedOut);
            }
            line.set_flag(WAITERS);
            self.world.waiting.park(usize::from(self.id), offset, now);
            let end = if now < yields { deadline.min(yields) } else { deadline };
            // An end beyond the latest key never comes.
            let until = if end > LATEST { IDLE } else { key(end, usize::from(self.id)) };
            self.leave_crew();
            if now < yields {
                self.rest(|| self.suspend(until));
            } else {
                self.suspend(until);
            }
            self.catch_up();
            // The wait ends before the core waits for its turn in the crew. Otherwise a write to the line would wake it there.
            let timed_out = self.world.waiting.give_up(usize::from(self.id));
            self.enter_crew();
            // If only the time before the first yield is over, the wait goes on. Another fiber can have ended it meanwhile.
            if timed_out && (self.clock.get() >= deadline || condition(word.peek())) {
                continue;
            }
            let value = self.load(line, word);
            if !condition(value) {
                return Ok(value);
            }
        }
    }
}
