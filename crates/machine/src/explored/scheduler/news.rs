//! Who has ended a wait, and whether it has said so.
//!
//! Here a waiting core sees each write of its word by itself. A native one sleeps, and only [`crate::Core::wake`] wakes it. So
//! whoever ends a wait owes the news of it, until somebody tells who waits for that word; it must have done so before it
//! waits, backs off or ends itself. Which write has ended a wait is not known before the waiting core looks: until
//! then all who have written are noted, and one of them owes. None of this changes a schedule.

use super::{Scheduler, State};
use crate::Word;
use std::cell::{Cell, RefCell};

/// Who has written a word since a core blocked on it, as long as nobody has told that core.
#[derive(Default)]
pub(super) struct Writers {
    listed: RefCell<Vec<usize>>,
    /// The core has blocked and was not told since.
    listens: Cell<bool>,
}

/// A wait that has ended, untold.
struct Owed {
    /// Of the word.
    address: usize,
    /// One of these has ended it.
    writers: Vec<usize>,
}

/// The news that are owed.
#[derive(Default)]
pub(super) struct News {
    owed: RefCell<Vec<Owed>>,
    /// Those, and cores whose word was written and that have not looked yet.
    count: Cell<usize>,
}

impl Scheduler {
    /// Whether a write, or the news of one, matters to anybody but those that are blocked.
    #[inline(always)]
    pub(super) fn has_news(&self) -> bool {
        self.news.count.get() != 0
    }

    /// Core `id` blocks.
    pub(super) fn listen(&self, id: usize) {
        self.forget(id);
        self.slots[id].writers.listens.set(true);
    }

    /// Core `writer` has written the word at `address`.
    pub(super) fn note_writer(&self, writer: usize, address: usize) {
        for slot in self.slots.iter().filter(|slot| slot.address.get() == address) {
            let mut listed = slot.writers.listed.borrow_mut();
            if slot.writers.listens.get() && !listed.contains(&writer) {
                self.news.count.set(self.news.count.get() + usize::from(listed.is_empty()));
                listed.push(writer);
            }
        }
    }

    fn forget(&self, id: usize) -> Vec<usize> {
        let writers = &self.slots[id].writers;
        writers.listens.set(false);
        let listed = writers.listed.take();
        self.news.count.set(self.news.count.get() - usize::from(!listed.is_empty()));
        listed
    }

    /// The deadline of core `id` has ended its wait.
    pub fn stops_listening(&self, id: usize) {
        self.forget(id);
    }

    /// The wait of core `id` has ended. Who has ended it, if that one has come to its own end and told nobody.
    pub(super) fn heard(&self, id: usize) -> Option<usize> {
        let mut writers = self.forget(id);
        let first = *writers.first()?;
        writers.retain(|writer| self.slots[*writer].state.get() != State::Ended);
        if writers.is_empty() {
            return Some(first);
        }
        let address = self.slots[id].address.get();
        self.news.owed.borrow_mut().push(Owed { address, writers });
        self.news.count.set(self.news.count.get() + 1);
        None
    }

    /// Who waits for `word` is told.
    #[inline(always)]
    pub fn told(&self, word: &Word) {
        if self.has_news() {
            self.tell(std::ptr::from_ref(word).addr());
        }
    }

    #[inline(never)]
    fn tell(&self, address: usize) {
        for (id, slot) in self.slots.iter().enumerate() {
            if slot.address.get() == address && !slot.writers.listed.borrow().is_empty() {
                self.forget(id);
            }
        }
        let mut owed = self.news.owed.borrow_mut();
        let before = owed.len();
        owed.retain(|news| news.address != address);
        self.news.count.set(self.news.count.get() - (before - owed.len()));
    }

    /// Core `writer` comes to a point at which it has told all news that are its to tell. False if it has not.
    pub fn has_told(&self, writer: usize) -> bool {
        if !self.has_news() {
            return true;
        }
        let mut owed = self.news.owed.borrow_mut();
        owed.iter_mut().for_each(|news| news.writers.retain(|other| *other != writer));
        owed.iter().all(|news| !news.writers.is_empty())
    }
}
