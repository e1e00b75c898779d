//! A schedule as a list of switches: which core switches to which, and after how many steps of its own.
//!
//! A seed says how a schedule is drawn. The list says what was drawn.
//! [`Explored::follow`](super::Explored::follow) runs the list again. Steps are counted for each core
//! separately. So a list still has the same meaning if a part of it is left out, or if another core does less.
//! This makes it possible to reduce a schedule until it is small enough to read.
//!
//! A rule decides what a list does not say: a core runs while it can. Then the next worker that can runs, in
//! cyclic order. Services tick if the list says so, or if no other core can continue. A list does not contain
//! what the rule would do anyway.

use std::{cell::Cell, cell::RefCell, collections::VecDeque, fmt, str::FromStr};

/// A point at which another core continues than the rule says, or at which a switch happens earlier.
///
/// It is written `0@41-1`: core 0, after 41 steps of its own, switches to core 1 although it could continue.
/// With `=` in place of `-`, core 0 cannot continue: it waits, backs off, or has ended. An `e` at the end lets
/// the earliest time-out come first. `@2` starts the run with core 2.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Switch {
    /// The core that is switched from, or `None` at the start of the run.
    pub core: Option<usize>,
    /// Number of steps that this core has taken by then.
    pub at: u64,
    /// The core that is switched to. Services have the numbers after those of the workers.
    pub to: usize,
    /// Set if the core cannot continue itself.
    pub forced: bool,
    /// Set if the earliest time-out comes early.
    pub early: bool,
}

impl fmt::Display for Switch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let early = if self.early { "e" } else { "" };
        match self.core {
            None => write!(f, "@{}{early}", self.to),
            Some(core) => {
                let kind = if self.forced { '=' } else { '-' };
                write!(f, "{core}@{}{kind}{}{early}", self.at, self.to)
            }
        }
    }
}

impl FromStr for Switch {
    type Err = String;

    fn from_str(text: &str) -> Result<Switch, String> {
        let parsed = || {
            let (rest, early) = match text.strip_suffix('e') {
                Some(rest) => (rest, true),
                None => (text, false),
            };
            let (core, rest) = rest.split_once('@')?;
            if core.is_empty() {
                let to = rest.parse().ok()?;
                return Some(Switch { core: None, at: 0, to, forced: true, early });
            }
            let kind = rest.find(['-', '='])?;
            let (at, to) = (rest[..kind].parse().ok()?, rest[kind + 1..].parse().ok()?);
            let forced = rest.as_bytes()[kind] == b'=';
            Some(Switch { core: Some(core.parse().ok()?), at, to, forced, early })
        };
        parsed().ok_or_else(|| format!("the switch '{text}'; allowed: such as 0@41-1, 0@41=1, @2"))
    }
}

/// The point at which a core hands over.
#[derive(Clone, Copy)]
pub(super) struct Handing {
    pub core: Option<usize>,
    pub at: u64,
    pub forced: bool,
}

/// The list of a run. It is recorded while the run goes on, and followed if one was given.
pub(super) struct List {
    /// Number of steps of each core until it last handed over.
    own: Vec<Cell<u64>>,
    /// Number of steps of the run that are included in `own`.
    counted: Cell<u64>,
    /// Set if the running core has backed off.
    pub gave_way: Cell<bool>,
    /// Set if the running core has moved.
    pub moved: Cell<bool>,
    /// At the current switch: set if a time-out has come early (`early`), or if the next core had to be made
    /// ready first (`idled`).
    pub early: Cell<bool>,
    pub idled: Cell<bool>,
    made: RefCell<Vec<Switch>>,
    /// Switches to follow, one queue per core. The last queue has the start of the run.
    given: Option<Vec<RefCell<VecDeque<Switch>>>>,
}

impl List {
    pub fn start(cores: usize, given: Option<Vec<Switch>>) -> List {
        let given = given.map(|switches| {
            let mut queues = vec![VecDeque::new(); cores + 1];
            for switch in switches {
                if let Some(queue) = queues.get_mut(switch.core.unwrap_or(cores)) {
                    queue.push_back(switch);
                }
            }
            queues.into_iter().map(RefCell::new).collect()
        });
        List {
            own: (0..cores).map(|_| Cell::new(0)).collect(),
            counted: Cell::new(0),
            gave_way: Cell::new(false),
            moved: Cell::new(false),
            early: Cell::new(false),
            idled: Cell::new(false),
            made: RefCell::default(),
            given,
        }
    }

    pub fn is_given(&self) -> bool {
        self.given.is_some()
    }

    /// Returns the point at which core `core` hands over, at step `steps` of the run. A core that sleeps can do
    /// so again without a step in between, so each sleep counts as a step. A core that has moved can end without one, so a
    /// move counts as a further step.
    pub fn hands_over(
        &self,
        core: Option<usize>,
        steps: u64,
        can_go_on: bool,
        sleeps: bool,
    ) -> Handing {
        self.early.set(false);
        self.idled.set(false);
        let moved = self.moved.take();
        let gave_way = self.gave_way.take() || moved;
        let taken = steps - self.counted.replace(steps);
        let Some(id) = core else { return Handing { core, at: 0, forced: true } };
        let own = &self.own[id];
        let at = own.get() + taken + u64::from(sleeps);
        own.set(at + u64::from(moved));
        Handing { core, at, forced: gave_way || !can_go_on }
    }

    /// Returns the switch that the list has for this point, if any.
    pub fn wanted(&self, handing: Handing) -> Option<Switch> {
        let given = self.given.as_ref()?;
        let mut queue = given[handing.core.unwrap_or(given.len() - 1)].borrow_mut();
        let mut wanted = None;
        while let Some(&switch) = queue.front() {
            // A core can be past the step at which it should have handed over voluntarily. Then it does so now.
            let due = switch.at <= handing.at && wanted.is_none();
            let missed = switch.at < handing.at && (switch.forced || handing.forced);
            if missed {
                queue.pop_front();
            } else if due && switch.forced == handing.forced {
                wanted = queue.pop_front();
            } else {
                break;
            }
        }
        wanted
    }

    /// Returns the number of steps until core `id`, which continues now, hands over voluntarily.
    pub fn steps_ahead(&self, id: usize) -> u64 {
        let given = self.given.as_ref().map(|given| given[id].borrow());
        let mut queue = given.iter().flat_map(|queue| queue.iter());
        let next = queue.find(|switch| !switch.forced).map_or(u64::MAX, |switch| switch.at);
        next.saturating_sub(self.own[id].get()).max(1)
    }

    /// Records a switch to core `to`, unless the rule would have chosen the same core. `usual` is the choice of
    /// the rule.
    pub fn note(&self, handing: Handing, to: usize, usual: Option<usize>) {
        let Handing { core, at, forced } = handing;
        let (early, by_rule) = (self.early.get(), usual == Some(to) && !self.idled.get());
        if early || !by_rule {
            self.made.borrow_mut().push(Switch { core, at, to, forced, early });
        }
    }

    pub fn take(&self) -> Vec<Switch> {
        self.made.take()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn switches_are_read_as_they_are_written() {
        for text in ["0@41-1", "2@7=0", "@2", "1@0=1e", "0@18446744073709551615-3e"] {
            assert_eq!(text.parse::<Switch>().unwrap().to_string(), text);
        }
        for text in [
            "",
            "@",
            "0@-1",
            "0@1",
            "x@1-1",
            "0@1-1x",
            "0@1-",
            "-1@1-1",
            "0@99999999999999999999-1",
        ] {
            let error = text.parse::<Switch>().unwrap_err();
            assert!(error.contains("allowed"), "{error}");
        }
    }
}
