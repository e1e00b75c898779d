//! Executors: fibers beside a session that run actions of its transactions at the same time ([`txn::Action`]).
//!
//! Where sessions move, a transaction that is split into actions can be on several cores at once (DORA, Pandis et al., PVLDB
//! 2010). Each session has a few executors, which are fibers as the session itself is. For a stage of actions:
//!
//! 1. The session sorts the actions by the owners of their routing keys. It keeps one owner's actions, and those for which no
//!    executor is left. It prefers the owner on whose core it is, and executors that are already on the core that they are to go to.
//! 2. It begins the attempt at each owner, *lends* its site there to an executor, and posts the work ([`machine::mailbox`]).
//! 3. The executor moves to the owner's core with its first access, as a session does, and runs the actions one after another.
//! 4. The session runs its own actions. Then it waits for the executors one by one, and takes the sites back. That is the
//!    rendezvous point.
//!
//! At the end of the attempt, executors that are still at an owner of it end it there, at the same time.
//!
//! ```text
//! session   post ----- own actions ----- wait ------------ next stage
//!              \                           / (done)
//! executor        `- move - actions - done -'  sleeps where it is
//! ```
//!
//! **Why nothing is used by two fibers at a time.** A site is a [`Box`] that is moved to the executor's session and back. While
//! it is lent, the session refuses accesses to that owner, and an executor refuses accesses to any other one. The executor's own
//! state ([`Rows`]) belongs to the session while no job is posted, and to the executor while one is. The mailbox orders the
//! two, as under delegation.
//!
//! **Deadlocks.** A transaction waits at several owners at the same time. That is safe where a wait for a younger transaction
//! is the only one that is allowed, or none at all. A protocol that looks for circles and knows one wait of each transaction
//! is refused ([`Protocol::WAITS_ONCE`]).
//!
//! Deviations from DORA:
//!
//! - Its actions are queued at the threads that have partitions, and each partition's thread runs those of all transactions.
//!   Here executors belong to sessions. So an action costs the move of a fiber, unless an executor is there already, and a
//!   transaction that has begun always finds somebody to go on with it.
//! - Its last action runs what follows a rendezvous point. Here the session does.
//! - The session waits until the attempt has ended at all owners.

use crate::{
    data_oriented::DataOriented,
    handed::{Handed, caught},
    owned_sites::OwnedSites,
    rows::{Ending, Rows},
    session::SessionOf,
};
use machine::{
    Core, Machine,
    mailbox::{Cargo, Job, Mailbox},
};
use protocols::{Protocol, faults};
use std::panic::resume_unwind;
use txn::{Abort, Action};

/// The session of an executor.
type ExecutorSession<'s, M, P> = SessionOf<'s, M, P, DataOriented<M, P>>;

/// A fiber that works for a session.
pub(crate) struct Executor<'s, M: Machine, P: Protocol<M>> {
    mailbox: Mailbox<'s, M>,
    /// The job that is posted, again and again. It refers to `errand`.
    job: Box<Job<'s, M>>,
    /// From a box. The executor uses it while the job is posted, and the session otherwise.
    errand: *mut Errand<'s, M, P>,
    /// The owner at which the executor was last.
    pub at: Option<usize>,
    /// Set while the job is posted.
    pub is_busy: bool,
}

/// The work of an executor, the session with which it does the work, and its result.
struct Errand<'s, M: Machine, P: Protocol<M>> {
    session: ExecutorSession<'s, M, P>,
    /// The session's core.
    own: &'s M::Core,
    task: Task,
    /// Numbers of the executor's actions.
    mine: Vec<usize>,
    cargo: Cargo<'s, M>,
    failed: Option<Abort>,
}

/// The kind of work that an executor does at its owner.
#[derive(Clone, Copy)]
enum Task {
    /// Run actions of the stage that begins with this one.
    Run(*mut Action<'static>),
    /// End the attempt.
    End(Ending),
}

impl<'s, M: Machine, P: Protocol<M>> Errand<'s, M, P> {
    /// Runs the actions on the executor's `core`.
    fn run(&mut self, core: &M::Core) {
        // SAFETY: the core is in use for the duration of this call, and is taken out of the session at its end.
        let core: &'s M::Core = unsafe { &*std::ptr::from_ref(core) };
        self.use_core(core);
        let ran = caught::<M, _>(|| self.perform(core));
        self.use_core(self.own);
        match ran {
            Ok(ended) => self.failed = ended.err(),
            Err(panic) => resume_unwind(panic),
        }
    }

    fn perform(&mut self, core: &M::Core) -> Result<(), Abort> {
        let actions = match self.task {
            Task::Run(actions) => actions,
            Task::End(ending) => {
                let (rows, sites) = self.session.parts();
                rows.end_at(sites.only(), ending);
                return Ok(());
            }
        };
        for at in &self.mine {
            // SAFETY: `Executor::run` was given the first action of a slice that has this number, and neither the session nor
            // another executor touches it before this job is done.
            let action = unsafe { &mut *actions.add(*at) };
            self.cargo.unload(core, action.bytes);
            (action.body)(&mut self.session)?;
            self.cargo.load(core, action.bytes);
        }
        Ok(())
    }

    fn use_core(&mut self, core: &'s M::Core) {
        let (rows, sites) = self.session.parts();
        rows.use_core(core);
        sites.use_core(core);
    }
}

impl<'s, M: Machine, P: Protocol<M>> Executor<'s, M, P> {
    /// Makes an executor of the session with the state `rows`. Its fiber serves `mailbox`, and `sites` is where it works.
    pub fn new(
        mailbox: Mailbox<'s, M>,
        (rows, sites): (&Rows<'s, M>, OwnedSites<'s, M, P>),
        adds_at_commit: bool,
    ) -> Self {
        let errand = Errand {
            session: SessionOf::of_executor(rows.apart(), sites, adds_at_commit),
            own: rows.core(),
            task: Task::End(Ending::Abort),
            mine: Vec::new(),
            cargo: mailbox.cargo(),
            failed: None,
        };
        let errand = Box::into_raw(Box::new(errand));
        let handed = Handed(errand);
        let job = Box::new(move |core: &M::Core| {
            let handed = &handed;
            // SAFETY: the session has posted the job, so the errand belongs to the executor.
            unsafe { (*handed.0).run(core) };
        });
        Executor { mailbox, job, errand, at: None, is_busy: false }
    }

    /// Returns the state and the sites of the executor. If it works, waits until it has done its job.
    fn session(&mut self, core: &M::Core) -> (&mut Rows<'s, M>, &mut OwnedSites<'s, M, P>) {
        self.mailbox.settle(core);
        // SAFETY: no job is posted, so the errand belongs to the session.
        unsafe { (*self.errand).session.parts() }
    }

    /// Has the executor run the actions with the numbers `mine`, which all belong to owner number `owner`. `lend` moves what it needs
    /// for that to its sites.
    ///
    /// # Safety
    /// `actions` is the first one of the stage. Nobody touches those that are the executor's until [`Executor::wait`] has returned,
    /// and they live so long.
    pub unsafe fn run(
        &mut self,
        (core, rows): (&M::Core, &Rows<'s, M>),
        owner: usize,
        (actions, mine): (*mut Action<'_>, impl Iterator<Item = usize>),
        lend: impl FnOnce(&mut OwnedSites<'s, M, P>),
    ) {
        self.mailbox.settle(core);
        // SAFETY: no job is posted, so the errand belongs to the session.
        let errand = unsafe { &mut *self.errand };
        errand.mine.extend(mine);
        for at in &errand.mine {
            // SAFETY: as the caller promises.
            errand.cargo.load(core, unsafe { (*actions.add(*at)).bytes });
        }
        self.at = Some(owner);
        self.post((core, rows), Task::Run(actions.cast()), lend);
    }

    /// Has the executor end the attempt where it is. `lend` moves what it needs for that to its sites.
    pub fn end(
        &mut self,
        (core, rows): (&M::Core, &Rows<'s, M>),
        ending: Ending,
        lend: impl FnOnce(&mut OwnedSites<'s, M, P>),
    ) {
        self.post((core, rows), Task::End(ending), lend);
    }

    fn post(
        &mut self,
        (core, rows): (&M::Core, &Rows<'s, M>),
        task: Task,
        lend: impl FnOnce(&mut OwnedSites<'s, M, P>),
    ) {
        let (own_rows, sites) = self.session(core);
        own_rows.take_part(rows);
        lend(sites);
        // SAFETY: no job is posted, so the errand belongs to the session.
        let errand = unsafe { &mut *self.errand };
        errand.task = task;
        errand.failed = None;
        self.is_busy = true;
        // SAFETY: the job and the errand live until `drop`, which waits for the job.
        unsafe { self.mailbox.post(core, &raw mut *self.job) };
    }

    /// Waits until the executor has done its job, and adds its work to `rows`. `take` takes its site back. A panic of an action is
    /// returned.
    pub fn wait(
        &mut self,
        core: &M::Core,
        rows: &mut Rows<'s, M>,
        take: impl FnOnce(&mut OwnedSites<'s, M, P>),
    ) -> std::thread::Result<Result<(), Abort>> {
        let settled = caught::<M, _>(|| self.mailbox.settle(core));
        // Not before: a modelled run can end during the wait, and the executor then still uses the errand.
        self.is_busy = false;
        let (own_rows, sites) = self.session(core);
        if core.is_planted(faults::LOSES_A_FAILURE) {
            own_rows.forgive();
        }
        take(sites);
        rows.take_back(own_rows);
        // SAFETY: no job is posted, so the errand belongs to the session.
        let errand = unsafe { &mut *self.errand };
        for at in errand.mine.drain(..) {
            let Task::Run(actions) = errand.task else { unreachable!("there are actions") };
            // SAFETY: as the caller of `Executor::run` has promised.
            errand.cargo.unload(core, unsafe { (*actions.add(at)).bytes });
        }
        let failed = errand.failed.filter(|_| !core.is_planted(faults::LOSES_A_FAILURE));
        settled.map(|()| failed.map_or(Ok(()), Err))
    }
}

impl<M: Machine, P: Protocol<M>> Drop for Executor<'_, M, P> {
    fn drop(&mut self) {
        if self.is_busy {
            // A modelled run is being ended, and nobody can wait any more. Natively the session has waited.
            let job: Box<Job<'_, M>> = Box::new(|_| ());
            std::mem::forget(std::mem::replace(&mut self.job, job));
            return;
        }
        // SAFETY: the errand is from a box, and no job is posted.
        drop(unsafe { Box::from_raw(self.errand) });
    }
}
