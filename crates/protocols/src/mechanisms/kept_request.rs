//! A request for a lock that is kept while its session waits elsewhere.
//!
//! The owner of a lock can be a core that works for other cores ([`super::physical`]). That core must not wait for a lock: it
//! would keep all others waiting. So it leaves the request in the queue, and reports a conflict. The session then waits on
//! the word of its request or of its fate, as any waiter does, and has the access repeated when the lock is granted. If it gives up the wait,
//! the owner takes the request back.

use super::{
    cancellable_queue::{Claims, Policy},
    lock_queue::{Held, Queued, Requests},
    two_phase_locking::Mode,
};
use machine::Machine;
use storage::RecordRef;
use txn::AbortReason;

/// A request that waits.
#[derive(Clone, Copy)]
pub struct Kept {
    /// Offset of the request.
    pub request: u64,
    /// The lock when it is granted.
    pub held: Held,
    /// Set if the request upgrades a lock that its session holds.
    pub upgrades: bool,
}

impl<M: Machine> Requests<M> {
    /// Keeps the request if it waits. It is reported as a conflict then.
    pub fn keep(&mut self, kept: Option<Kept>) -> Result<(), AbortReason> {
        self.kept = kept;
        if kept.is_some() { Err(AbortReason::LockConflict) } else { Ok(()) }
    }

    /// Returns the kept request.
    pub fn kept(&self) -> Option<Kept> {
        self.kept
    }

    /// Ends the wait for the kept request, which has been granted.
    pub fn end_wait(&mut self) -> Kept {
        let kept = self.kept.take().expect("a request is kept");
        if kept.upgrades {
            self.free.push(kept.request);
        }
        kept
    }
}

impl<M: Machine> Claims<M> {
    /// Acquires the lock of `record` as [`Claims::acquire`] does. A request that must wait is kept, and fails.
    pub fn acquire_or_keep<P: Policy<M>, C: Queued>(
        &mut self,
        core: &M::Core,
        record: &RecordRef<'_, M, C>,
        name: u64,
        mode: Mode,
        policy: &mut P,
    ) -> Result<Held, AbortReason> {
        let (held, waits) = self.ask(core, record, name, mode, policy)?;
        let kept = Kept { request: held.request, held, upgrades: false };
        self.requests.keep(waits.then_some(kept)).map(|()| held)
    }

    /// Upgrades a lock as [`Claims::upgrade`] does. A request that must wait is kept, and fails.
    pub fn upgrade_or_keep<P: Policy<M>, C: Queued>(
        &mut self,
        core: &M::Core,
        record: &RecordRef<'_, M, C>,
        name: u64,
        held: &mut Held,
        policy: &mut P,
    ) -> Result<(), AbortReason> {
        let asked = self.ask_upgrade(core, record, name, *held, policy)?;
        let exclusive = Held { mode: Mode::Exclusive, ..*held };
        let kept = |request| Kept { request, held: exclusive, upgrades: true };
        self.requests.keep(asked.map(kept))?;
        *held = exclusive;
        Ok(())
    }

    /// Returns the kept request.
    pub fn kept(&self) -> Option<Kept> {
        self.requests.kept()
    }

    /// Waits for the kept request as `policy` says. If this fails, the request stays kept.
    pub fn outlast_kept<P: Policy<M>>(
        &mut self,
        core: &M::Core,
        policy: &mut P,
        called: AbortReason,
    ) -> Result<Kept, AbortReason> {
        self.until_told(core, policy, called)?;
        Ok(self.requests.end_wait())
    }

    /// Takes the kept request back, if there is one. Releases the lock if it was granted meanwhile. A granted upgrade is
    /// released with the lock that it has upgraded.
    pub fn take_back_kept<C: Queued>(&mut self, core: &M::Core, record: &RecordRef<'_, M, C>) {
        let Some(Kept { request, held, upgrades }) = self.requests.kept.take() else { return };
        match self.withdraws(core, record.line(), record.cc().queue(), request) || upgrades {
            true => self.requests.free.push(request),
            false => self.release(core, record, held),
        }
    }
}
