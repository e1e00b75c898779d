//! The transactions that a worker has put aside until they are attempted again ([`BackOff::Aside`]).

use crate::back_off::BackOff;
use machine::{Category, Core, Machine};

/// A transaction that was put aside.
pub(crate) struct Waiting<L> {
    /// The client that has drawn the procedure. While its transaction runs, the worker's own client is here.
    pub client: L,
    /// Intended begin of the first attempt.
    pub intended: u64,
    /// Age of the transaction, if its protocol gives one. The worker's session runs younger transactions meanwhile.
    pub age: Option<u64>,
    /// Time from which on the transaction can be attempted again.
    pub due: u64,
}

/// The transactions that one worker has put aside.
pub(crate) struct Aside<L> {
    waiting: Vec<Waiting<L>>,
    most: usize,
}

impl<L> Aside<L> {
    /// Creates the room that `back_off` gives.
    pub fn new(back_off: BackOff) -> Aside<L> {
        let most = match back_off {
            BackOff::Wait { .. } => 0,
            BackOff::Aside { most, .. } => most,
        };
        Aside { waiting: Vec::new(), most }
    }

    /// Returns true if no transaction was put aside.
    #[inline(always)]
    pub fn is_empty(&self) -> bool {
        self.waiting.is_empty()
    }

    /// Charges for the reading of the clock that tells which transactions are due. DBx1000 reads it before each transaction, also
    /// if none was put aside (`thread_t::run`).
    #[inline(always)]
    pub fn read_clock<M: Machine>(&self, core: &M::Core) {
        if M::MODELLED && self.most != 0 {
            let before = core.account(Category::BackOff);
            core.compute_clock_reads(1);
            core.account(before);
        }
    }

    /// Puts a transaction aside.
    #[cold]
    pub fn put(&mut self, waiting: Waiting<L>) {
        self.waiting.push(waiting);
    }

    /// Takes a transaction that is due. If none is due, and there is no room for another one or `waits` is set, it waits
    /// for the first one. Returns `None` if the worker should draw a new procedure instead.
    #[cold]
    #[inline(never)]
    pub fn take<C: Core>(&mut self, core: &C, waits: bool) -> Option<Waiting<L>> {
        let (at, first) = self.waiting.iter().enumerate().min_by_key(|(_, other)| other.due)?;
        let now = core.now();
        if now < first.due {
            if self.waiting.len() < self.most && !waits {
                return None;
            }
            let before = core.account(Category::BackOff);
            core.sleep(first.due - now);
            core.account(before);
        }
        Some(self.waiting.swap_remove(at))
    }

    /// Removes the transactions at the end of the run, and returns the intended begins of their first attempts.
    pub fn drain(&mut self) -> impl Iterator<Item = u64> {
        self.waiting.drain(..).map(|waiting| waiting.intended)
    }
}
