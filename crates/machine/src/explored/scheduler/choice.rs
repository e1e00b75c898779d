//! Chooses the core that executes the next operation, and decides what happens if no core can.

use super::{CHANGED, IDLE_TICKS, STARTED, ScheduledCore, Scheduler, State, Stop, UNFAIR_STEPS};
use crate::{
    NEVER,
    explored::{
        Schedule,
        switches::{Handing, List},
    },
};

impl Scheduler {
    /// Chooses the next core, or returns `None` if the run stops. `running` is the core that is running and can
    /// continue or has just blocked.
    pub fn choose(&self, running: Option<usize>) -> Option<usize> {
        let next = self.choose_core(running);
        if let Some(id) = next {
            self.crews.enter(id);
        }
        next
    }

    fn choose_core(&self, running: Option<usize>) -> Option<usize> {
        if self.alive.get() == 0 {
            self.stopped.set(Some(Stop::Done));
            return None;
        }
        if self.over_limit() {
            self.stopped.set(Some(Stop::StepLimit));
            return None;
        }
        let Some(list) = &self.list else { return self.draw_next(running) };
        let core = self.running.get();
        let state = core.map(|id| self.cores[id].state.get());
        let (ready, asleep) = (Some(State::Ready), Some(State::Asleep));
        let handing = list.hands_over(core, self.steps.get(), state == ready, state == asleep);
        let next = match list.is_given() {
            true => self.follow(list, handing),
            false => self.draw_next(running),
        };
        // After the last worker has ended, services end by themselves.
        if let Some(to) = next.filter(|_| self.workers_alive.get() > 0) {
            let worker = |core| self.next_ready(core).filter(|&id| id < self.workers);
            let usual = if handing.forced { worker(handing.core) } else { handing.core };
            list.note(handing, to, usual);
        }
        next
    }

    /// Chooses a core by the seed.
    fn draw_next(&self, running: Option<usize>) -> Option<usize> {
        if matches!(self.schedule, Schedule::Pct { .. })
            && let Some(id) = running
        {
            self.change_priorities(id);
        }
        loop {
            self.wake_due();
            if let Some(id) = self.select(running) {
                self.plan(id);
                return Some(id);
            }
            if let Err(stop) = self.idle() {
                self.stopped.set(Some(stop));
                return None;
            }
        }
    }

    /// Chooses a core by the given list, and by the rule for everything that the list does not say.
    fn follow(&self, list: &List, handing: Handing) -> Option<usize> {
        let wanted = list.wanted(handing);
        self.wake_late();
        if wanted.is_some_and(|switch| switch.early)
            && let Some(deadline) = self.earliest_deadline()
        {
            list.early.set(true);
            self.advance_clock(deadline);
        }
        self.wake_late();
        let wanted = wanted.map(|switch| switch.to).filter(|&to| self.enable(list, to));
        let tired = self.steps.get() - self.running_since.get() >= UNFAIR_STEPS;
        let mut next = wanted.or(handing.core.filter(|_| !handing.forced && !tired));
        loop {
            next = next.or_else(|| self.next_ready(handing.core));
            if let Some(id) = next {
                if tired {
                    self.running_since.set(self.steps.get());
                }
                self.plan(id);
                return Some(id);
            }
            self.end_services();
            if self.next_ready(handing.core).is_none()
                && let Err(stop) = self.idle()
            {
                self.stopped.set(Some(stop));
                return None;
            }
            self.wake_late();
        }
    }

    /// Makes core `id` ready if that is possible: lets a service tick, or lets a wait time out. Returns false
    /// if it is not possible.
    fn enable(&self, list: &List, id: usize) -> bool {
        let Some(core) = self.cores.get(id) else { return false };
        list.idled.set(core.state.get() != State::Ready);
        match core.state.get() {
            State::Ready => return self.crews.allows(id),
            State::Asleep => {
                core.last_tick.set(self.workers_alive.get() == 0);
                self.begin_tick(core);
            }
            State::Blocked if core.deadline.get() != NEVER => {
                self.advance_clock(core.deadline.get());
                self.unblock(core);
            }
            State::Blocked | State::Ended => return false,
        }
        true
    }

    /// Returns the next core by the rule: the next ready worker after core `core`, in cyclic order, or a
    /// service if no worker is ready.
    fn next_ready(&self, core: Option<usize>) -> Option<usize> {
        let first = core.map_or(0, |core| core + 1);
        let workers = (0..self.workers).map(|turn| (first + turn) % self.workers);
        let mut all = workers.chain(self.workers..self.cores.len());
        all.find(|&id| self.is_ready(id))
    }

    /// Makes the cores ready whose deadline has passed.
    fn wake_late(&self) {
        let late = |core: &&ScheduledCore| {
            core.state.get() == State::Blocked && core.deadline.get() <= self.clock.get()
        };
        self.cores.iter().filter(late).for_each(|core| self.unblock(core));
    }

    /// Makes the services ready for their last tick, if all workers have ended.
    fn end_services(&self) {
        for core in self.cores.iter().filter(|core| core.state.get() == State::Asleep) {
            if self.workers_alive.get() == 0 {
                core.last_tick.set(true);
                self.begin_tick(core);
            }
        }
    }

    fn change_priorities(&self, running: usize) {
        let mut changes = self.changes.borrow_mut();
        while changes.last().is_some_and(|&step| step <= self.steps.get()) {
            changes.pop();
            self.cores[running].priority.set(CHANGED | self.random.below(CHANGED));
        }
        if self.steps.get() - self.running_since.get() >= UNFAIR_STEPS {
            self.fall_to_the_bottom(running);
            self.running_since.set(self.steps.get());
        }
    }

    /// Makes the services ready whose next tick is due, and the cores whose deadline has passed.
    fn wake_due(&self) {
        if self.blocked.get() == 0 && self.services.is_empty() {
            return;
        }
        // Sometimes a time-out comes early, as if the other cores had been slow.
        if self.blocked.get() > 0
            && let Some(deadline) = self.earliest_deadline()
            && self.random.chance(64)
        {
            if let Some(list) = self.list.as_ref().filter(|_| deadline > self.clock.get()) {
                list.early.set(true);
            }
            self.advance_clock(deadline);
        }
        for core in &self.cores {
            match core.state.get() {
                State::Blocked if core.deadline.get() <= self.clock.get() => self.unblock(core),
                State::Asleep if self.workers_alive.get() == 0 => {
                    core.last_tick.set(true);
                    self.begin_tick(core);
                }
                State::Asleep if core.due.get() <= self.steps.get() => self.begin_tick(core),
                _ => {}
            }
        }
    }

    fn begin_tick(&self, core: &ScheduledCore) {
        core.state.set(State::Ready);
        core.due.set(0);
        core.priority.set(STARTED | self.random.next());
    }

    fn earliest_deadline(&self) -> Option<u64> {
        let blocked = self.cores.iter().filter(|s| s.state.get() == State::Blocked);
        blocked.map(|s| s.deadline.get()).filter(|&d| d != NEVER).min()
    }

    fn select(&self, running: Option<usize>) -> Option<usize> {
        let ready = |id: usize| self.is_ready(id);
        let all = 0..self.cores.len();
        match self.schedule {
            Schedule::Random => {
                let steps = self.steps.get();
                self.draw(|id| ready(id) && self.cores[id].due.get() <= steps)
                    .or_else(|| self.draw(|id| ready(id) && Some(id) != running))
                    .or(running.filter(|&id| ready(id)))
            }
            Schedule::Pct { .. } => {
                all.filter(|&id| ready(id)).max_by_key(|&id| self.cores[id].priority.get())
            }
        }
    }

    /// Draws one of the cores for which `test` holds, all with the same probability.
    fn draw(&self, test: impl Fn(usize) -> bool) -> Option<usize> {
        let all = 0..self.cores.len();
        match all.clone().filter(|&id| test(id)).count() as u64 {
            0 => None,
            1 => all.clone().find(|&id| test(id)),
            count => all.clone().filter(|&id| test(id)).nth(self.random.below(count) as usize),
        }
    }

    /// Switches to core `id` and sets the step of the next decision.
    fn plan(&self, id: usize) {
        let steps = self.steps.get();
        if self.running.replace(Some(id)) != Some(id) {
            self.running_since.set(steps);
        }
        if let Some(list) = self.list.as_ref().filter(|list| list.is_given()) {
            let ahead = list.steps_ahead(id).min(UNFAIR_STEPS);
            self.horizon.set((steps + ahead).min(self.step_limit.saturating_add(1)));
            return;
        }
        let decision = match self.schedule {
            Schedule::Random => {
                steps + 1 + self.random.below(1 << self.random.below(self.stretch + 1))
            }
            Schedule::Pct { .. } => {
                let change = self.changes.borrow().last().copied().unwrap_or(u64::MAX);
                change.min(self.running_since.get() + UNFAIR_STEPS)
            }
        };
        let asleep = self.cores[self.workers..].iter().filter(|s| s.state.get() == State::Asleep);
        let tick = asleep.map(|s| s.due.get()).min().unwrap_or(u64::MAX);
        self.horizon.set(decision.min(tick).min(self.step_limit.saturating_add(1)));
    }

    /// Handles the case that no core is ready: lets a service tick, or lets time pass, or lets all cores test
    /// their conditions again. If none of this helps, it is a deadlock.
    fn idle(&self) -> Result<(), Stop> {
        if let Some(list) = &self.list {
            list.idled.set(true);
        }
        let deadline = self.earliest_deadline();
        let asleep = |id: usize| self.cores[id].state.get() == State::Asleep;
        let patient = self.idle_ticks.get() < IDLE_TICKS * self.services.len() as u64;
        if patient
            && (deadline.is_none() || self.random.chance(2))
            && let Some(id) = self.draw(asleep)
        {
            self.idle_ticks.set(self.idle_ticks.get() + 1);
            self.begin_tick(&self.cores[id]);
        } else if let Some(deadline) = deadline {
            self.advance_clock(deadline);
        } else if !self.retested.replace(true) {
            // A word can have been written without the machine's knowledge.
            let blocked = |core: &&ScheduledCore| core.state.get() == State::Blocked;
            self.cores.iter().filter(blocked).for_each(|core| self.unblock(core));
        } else {
            return Err(Stop::Deadlock(self.who_waits()));
        }
        Ok(())
    }

    fn who_waits(&self) -> Vec<String> {
        let blocked = |id: &usize| self.cores[*id].state.get() == State::Blocked;
        let describe = |id: usize| {
            let core = &self.cores[id];
            let who = match id.checked_sub(self.workers) {
                None => format!("worker {id}"),
                Some(service) => format!("service {}", self.services[service]),
            };
            let place = match self.trace.offset(core.address.get()) {
                Some(offset) => format!("the word at offset {offset}"),
                None => "a word outside the arena".to_owned(),
            };
            format!("{who} waits for {place}, which holds {}", core.value.get())
        };
        (0..self.cores.len()).filter(blocked).map(describe).collect()
    }
}
