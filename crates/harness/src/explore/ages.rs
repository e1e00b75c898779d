//! Checks the invariant that the oldest transaction never dies.

use super::limited::Admitted;
use crate::drive::Watcher;
use machine::cold::Mutex;
use std::collections::BTreeMap;
use txn::{Abort, AbortReason};

/// Ages of all transactions that have begun and not committed, retries included.
#[derive(Default)]
pub(super) struct Ages {
    live: BTreeMap<usize, Age>,
    pub oldest_died: Option<u64>,
}

/// Age of one transaction, and whether an older one was live at any time during its running attempt. (When the death
/// of the attempt is noticed, the older transaction that caused it may have ended already.)
struct Age {
    timestamp: u64,
    met_older: bool,
}

impl Ages {
    fn began(&mut self, worker: usize, timestamp: u64) {
        // A transaction's age is that of its first attempt, even if the protocol gives it a later timestamp.
        let first = self.live.get(&worker).map_or(timestamp, |age| age.timestamp);
        let timestamp = first.min(timestamp);
        let mut met_older = false;
        for (_, other) in self.live.iter_mut().filter(|(other, _)| **other != worker) {
            met_older |= other.timestamp < timestamp;
            other.met_older |= timestamp < other.timestamp;
        }
        self.live.insert(worker, Age { timestamp, met_older });
    }
}

/// Checks that the oldest transaction never dies and is never wounded. This invariant is the reason why WAIT_DIE and
/// WOUND_WAIT terminate (Rosenkrantz et al. 1978). Counts the transactions that hold permits, too.
pub(super) struct AgeWatcher<'a> {
    pub worker: usize,
    pub ages: &'a Mutex<Ages>,
    pub admitted: &'a Mutex<Admitted>,
    /// Off where sessions also run transactions that are not watched (those that retire records).
    pub watching: bool,
}

impl Watcher for AgeWatcher<'_> {
    fn admitted(&mut self) {
        self.admitted.lock().enter();
    }

    fn leaves(&mut self) {
        self.admitted.lock().leave();
    }

    fn began(&mut self, priority: Option<u64>) {
        if let Some(timestamp) = priority {
            self.ages.lock().began(self.worker, timestamp);
        }
    }

    fn aborted(&mut self, abort: Abort, again: bool) {
        let mut ages = self.ages.lock();
        if self.watching
            && matches!(abort.reason, AbortReason::Died | AbortReason::Wounded)
            && let Some(own) = ages.live.get(&self.worker)
            && !own.met_older
        {
            ages.oldest_died = Some(own.timestamp);
        }
        if !again {
            ages.live.remove(&self.worker);
        }
    }

    fn committed(&mut self) {
        self.ages.lock().live.remove(&self.worker);
    }
}
