//! Checks that every core that ends a wait calls [`crate::Core::wake`].
//!
//! On this machine a waiting core sees each write to its word by itself. A native thread sleeps, and only a
//! wake ends its sleep. So a core that ends a wait owes the news of it, until some core wakes the waiters of
//! that word. The news must be told before the core that owes it waits, backs off or ends itself.
//!
//! Which write has ended a wait is not known until the waiting core tests its condition. Until then all cores
//! that have written the word are noted, and one of them owes the news. None of this changes a schedule.

use super::{Scheduler, State};
use crate::Word;
use std::cell::{Cell, RefCell};

/// The cores that have written a word since a core blocked on it, as long as the blocked core has not been
/// woken.
#[derive(Default)]
pub(super) struct Writers {
    listed: RefCell<Vec<usize>>,
    /// Set if the core has blocked and has not been woken since.
    listens: Cell<bool>,
}

/// A wait that has ended and has not been announced.
struct Owed {
    /// Address of the word.
    address: usize,
    /// Cores of which one has ended the wait.
    writers: Vec<usize>,
}

/// The news that are owed.
#[derive(Default)]
pub(super) struct News {
    owed: RefCell<Vec<Owed>>,
    /// Number of elements of `owed`, plus the number of cores whose word was written and that have not tested
    /// it yet.
    count: Cell<usize>,
}

impl Scheduler {
    /// Returns true if writes or wakes must be noted even if no core is blocked.
    #[inline(always)]
    pub(super) fn has_news(&self) -> bool {
        self.news.count.get() != 0
    }

    /// Notes that core `id` blocks.
    pub(super) fn listen(&self, id: usize) {
        self.forget(id);
        self.cores[id].writers.listens.set(true);
    }

    /// Notes that core `writer` has written the word at `address`.
    pub(super) fn note_writer(&self, writer: usize, address: usize) {
        for core in self.cores.iter().filter(|core| core.address.get() == address) {
            let mut listed = core.writers.listed.borrow_mut();
            if core.writers.listens.get() && !listed.contains(&writer) {
                self.news.count.set(self.news.count.get() + usize::from(listed.is_empty()));
                listed.push(writer);
            }
        }
    }

    fn forget(&self, id: usize) -> Vec<usize> {
        let writers = &self.cores[id].writers;
        writers.listens.set(false);
        let listed = writers.listed.take();
        self.news.count.set(self.news.count.get() - usize::from(!listed.is_empty()));
        listed
    }

    /// Notes that the deadline of core `id` has ended its wait.
    pub fn stops_listening(&self, id: usize) {
        self.forget(id);
    }

    /// Notes that the wait of core `id` has ended. If every core that can have ended it has itself ended
    /// without announcing it, returns one of these cores.
    pub(super) fn heard(&self, id: usize) -> Option<usize> {
        let mut writers = self.forget(id);
        let first = *writers.first()?;
        writers.retain(|writer| self.cores[*writer].state.get() != State::Ended);
        if writers.is_empty() {
            return Some(first);
        }
        let address = self.cores[id].address.get();
        self.news.owed.borrow_mut().push(Owed { address, writers });
        self.news.count.set(self.news.count.get() + 1);
        None
    }

    /// Notes that the cores that wait for `word` have been woken.
    #[inline(always)]
    pub fn told(&self, word: &Word) {
        if self.has_news() {
            self.tell(std::ptr::from_ref(word).addr());
        }
    }

    #[inline(never)]
    fn tell(&self, address: usize) {
        for (id, core) in self.cores.iter().enumerate() {
            if core.address.get() == address && !core.writers.listed.borrow().is_empty() {
                self.forget(id);
            }
        }
        let mut owed = self.news.owed.borrow_mut();
        let before = owed.len();
        owed.retain(|news| news.address != address);
        self.news.count.set(self.news.count.get() - (before - owed.len()));
    }

    /// Checks whether core `writer` has announced everything that it must. It is called at points where that
    /// must be so.
    pub fn has_told(&self, writer: usize) -> bool {
        if !self.has_news() {
            return true;
        }
        let mut owed = self.news.owed.borrow_mut();
        owed.iter_mut().for_each(|news| news.writers.retain(|other| *other != writer));
        owed.iter().all(|news| !news.writers.is_empty())
    }
}
