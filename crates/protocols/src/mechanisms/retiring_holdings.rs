//! The locks of one session in [`super::retiring_queue`]: records with the images of their writes,
//! and the guard of a range for the duration of an insertion.

use super::{
    record_set::RecordSet,
    retiring_queue::{Claims, RetiringLock, RetiringLocks},
    two_phase_locking::Mode,
    version_chain::{VersionPool, VersionSlots},
};
use machine::Machine;
use storage::RecordRef;
use txn::{Abort, AbortReason};

type Record<'s, M> = RecordRef<'s, M, RetiringLock>;

/// A lock that is held until the transaction's end.
struct Lock<'s, M: Machine> {
    request: u64,
    mode: Mode,
    /// Slot that shows the write to other sessions, if the write ever had one.
    image: Option<Record<'s, M>>,
}

/// A session's locks.
pub struct Holdings<'s, M: Machine> {
    locks: &'s RetiringLocks<M>,
    claims: Claims<M>,
    /// Locks held until the end, one for each record.
    held: RecordSet<'s, M, RetiringLock, Lock<'s, M>>,
    /// The guard that is locked only for an insertion, and its request.
    instant: Option<(Record<'s, M>, u64)>,
    /// Free slots for images.
    images: VersionSlots<'s>,
}

/// A lock that was just acquired and is latched.
#[derive(Clone, Copy)]
pub struct Taken {
    /// Its index among the held locks.
    at: usize,
    /// Its request.
    pub request: u64,
}

impl<'s, M: Machine> Holdings<'s, M> {
    /// Creates the holdings of session number `session`, which takes slots for images from `images`.
    pub fn new(locks: &'s RetiringLocks<M>, images: &'s VersionPool, session: usize) -> Self {
        Holdings {
            locks,
            claims: locks.claims(session),
            held: RecordSet::default(),
            instant: None,
            images: VersionSlots::of(images, locks.place_of(session)),
        }
    }

    /// Begins an attempt.
    #[inline]
    pub fn begin(&self, core: &M::Core, is_new: bool) {
        self.locks.session_of(&self.claims).begin(core, is_new);
    }

    /// Begins the commit, as [`super::dependent_session::DependentSession::begin_commit`]. Aborts
    /// if the attempt was called.
    #[inline]
    pub fn begin_commit(&self, core: &M::Core) -> Result<(), Abort> {
        match self.locks.session_of(&self.claims).begin_commit(core) {
            true => Ok(()),
            false => Err(Abort::because(AbortReason::Wounded)),
        }
    }

    /// Returns true if the session holds a lock on the record.
    #[inline]
    pub fn holds(&self, record: &Record<'s, M>) -> bool {
        self.held.find(record).is_some()
    }

    /// Takes a request for a lock. Aborts if the attempt was called.
    fn request(&mut self, core: &M::Core) -> Result<u64, Abort> {
        if self.locks.session_of(&self.claims).is_called(core) {
            return Err(Abort::because(AbortReason::Wounded));
        }
        let taken = self.locks.take(core, &mut self.claims);
        taken.map_err(|_| Abort::because(AbortReason::OutOfMemory))
    }

    /// Acquires the record's lock, unless it is held in this mode or a stronger one. Returns with
    /// the lock latched.
    #[inline]
    pub fn lock(
        &mut self,
        core: &M::Core,
        record: &Record<'s, M>,
        mode: Mode,
    ) -> Result<Taken, Abort> {
        let Some(at) = self.held.find(record) else {
            let request = self.request(core)?;
            let at = self.held.push(*record, Lock { request, mode, image: None });
            self.locks.acquire(core, &mut self.claims, record, request, mode)?;
            return Ok(Taken { at, request });
        };
        if self.locks.session_of(&self.claims).is_called(core) {
            return Err(Abort::because(AbortReason::Wounded));
        }
        let lock = self.held.value_mut(at);
        let request = lock.request;
        if mode == Mode::Exclusive && lock.mode == Mode::Shared {
            lock.mode = Mode::Exclusive;
            self.locks.upgrade(core, &mut self.claims, record, request)?;
        } else {
            self.latch(core, record);
        }
        Ok(Taken { at, request })
    }

    /// Acquires the lock as [`Holdings::lock`], then releases its latch.
    pub fn lock_and_leave(
        &mut self,
        core: &M::Core,
        record: &Record<'s, M>,
        mode: Mode,
    ) -> Result<(), Abort> {
        self.lock(core, record, mode)?;
        self.unlatch(core, record);
        Ok(())
    }

    /// Locks a guard exclusively for an insertion. The lock lasts until [`Holdings::end_instant`],
    /// unless it was held before.
    pub fn lock_for_insertion(
        &mut self,
        core: &M::Core,
        guard: &Record<'s, M>,
    ) -> Result<(), Abort> {
        if self.holds(guard) {
            return self.lock_and_leave(core, guard, Mode::Exclusive);
        }
        let request = self.request(core)?;
        self.instant = Some((*guard, request));
        self.locks.acquire(core, &mut self.claims, guard, request, Mode::Exclusive)?;
        self.unlatch(core, guard);
        Ok(())
    }

    /// Releases the guard that was locked only for an insertion.
    pub fn end_instant(&mut self, core: &M::Core) {
        if let Some((guard, request)) = self.instant.take() {
            self.latch(core, &guard);
            self.locks.release(core, &mut self.claims, &guard, request);
        }
    }

    /// Returns a slot for the image of a write to the record that was just locked. None if there is
    /// no memory.
    #[inline]
    pub fn slot(&mut self, record: &Record<'s, M>, taken: Taken) -> Option<Record<'s, M>> {
        let image = &mut self.held.value_mut(taken.at).image;
        *image = image.or_else(|| self.images.take(record).ok());
        *image
    }

    fn latch(&self, core: &M::Core, record: &Record<'s, M>) {
        self.locks.latch(core, &self.claims, record);
    }

    /// Releases the latch of a lock that was just acquired.
    #[inline]
    pub fn unlatch(&self, core: &M::Core, record: &Record<'s, M>) {
        self.locks.unlatch(core, &self.claims, record);
    }

    /// Does the same as [`RetiringLocks::leave`] for a lock that was just acquired.
    #[inline]
    pub fn leave(&self, core: &M::Core, record: &Record<'s, M>, taken: Taken) {
        self.locks.leave(core, &self.claims, record, taken.request);
    }

    /// Releases all locks. Before each release `last` is called with the record, which is latched,
    /// and the request.
    pub fn release(&mut self, core: &M::Core, mut last: impl FnMut(&Record<'s, M>, u64)) {
        for (record, lock) in self.held.iter() {
            self.locks.latch(core, &self.claims, &record);
            last(&record, lock.request);
            self.locks.release(core, &mut self.claims, &record, lock.request);
            if let Some(image) = &lock.image {
                self.images.give(image);
            }
        }
        self.held.clear();
        self.end_instant(core);
    }
}
