//! What one session has locked by [`super::retiring_queue`]: records with the images of their writes, and the
//! guard of a range for the instant of an insertion.

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
    /// Where its write is shown to others, if it ever was.
    image: Option<Record<'s, M>>,
}

/// A session's locks.
pub struct Holdings<'s, M: Machine> {
    locks: &'s RetiringLocks<M>,
    claims: Claims<M>,
    held: RecordSet<'s, M, RetiringLock, Lock<'s, M>>,
    instant: Option<(Record<'s, M>, u64)>,
    images: VersionSlots<'s>,
}

/// A lock that has just been taken, latched.
#[derive(Clone, Copy)]
pub struct Taken {
    /// Its place among those held.
    at: usize,
    /// Its request.
    pub request: u64,
}

impl<'s, M: Machine> Holdings<'s, M> {
    /// Those of session `slot`, with images of its writes from `images`.
    pub fn new(locks: &'s RetiringLocks<M>, images: &'s VersionPool, slot: usize) -> Self {
        Holdings {
            locks,
            claims: locks.claims(slot),
            held: RecordSet::default(),
            instant: None,
            images: VersionSlots::of(images),
        }
    }

    /// An attempt begins.
    #[inline]
    pub fn begin(&self, core: &M::Core, is_new: bool) {
        self.locks.session_of(&self.claims).begin(core, is_new);
    }

    /// As [`super::dependent_session::DependentSession::begin_commit`].
    #[inline]
    pub fn begin_commit(&self, core: &M::Core) -> Result<(), Abort> {
        match self.locks.session_of(&self.claims).begin_commit(core) {
            true => Ok(()),
            false => Err(Abort::because(AbortReason::Wounded)),
        }
    }

    /// Whether the record is locked.
    #[inline]
    pub fn holds(&self, record: &Record<'s, M>) -> bool {
        self.held.find(record).is_some()
    }

    /// A request for a lock, unless the attempt must abort.
    fn request(&mut self, core: &M::Core) -> Result<u64, Abort> {
        if self.locks.session_of(&self.claims).is_called(core) {
            return Err(Abort::because(AbortReason::Wounded));
        }
        let taken = self.locks.take(core, &mut self.claims);
        taken.map_err(|_| Abort::because(AbortReason::OutOfMemory))
    }

    /// Locks the record, unless it is locked as well already, and returns with its lock latched.
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

    /// As [`Holdings::lock`], and gives the latch back.
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

    /// Locks a guard alone, for an instant unless it is held already.
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

    /// The instant of an insertion is over.
    pub fn end_instant(&mut self, core: &M::Core) {
        if let Some((guard, request)) = self.instant.take() {
            self.latch(core, &guard);
            self.locks.release(core, &mut self.claims, &guard, request);
        }
    }

    /// A slot for the image of a write to the record that was just locked; none if there is no memory.
    #[inline]
    pub fn slot(&mut self, record: &Record<'s, M>, taken: Taken) -> Option<Record<'s, M>> {
        let image = &mut self.held.value_mut(taken.at).image;
        *image = image.or_else(|| self.images.take(record).ok());
        *image
    }

    fn latch(&self, core: &M::Core, record: &Record<'s, M>) {
        self.locks.latch(core, &self.claims, record);
    }

    /// Gives the latch of a lock back that was just taken.
    #[inline]
    pub fn unlatch(&self, core: &M::Core, record: &Record<'s, M>) {
        self.locks.unlatch(core, &self.claims, record);
    }

    /// As [`RetiringLocks::leave`].
    #[inline]
    pub fn leave(&self, core: &M::Core, record: &Record<'s, M>, taken: Taken) {
        self.locks.leave(core, &self.claims, record, taken.request);
    }

    /// Gives all locks back, each after `last`, which is given the record, latched, and the request.
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
