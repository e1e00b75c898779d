//! Mailboxes: jobs that the workers of other cores have a core do for them.
//!
//! Some cores of a run are *servers*. A worker posts a job to a server, which does it on its own core, one job after
//! another. Messages pass through shared memory (Trireme 3.4): each pair of a client and a server has a *slot* on a cache
//! line of its own, which only these two write.
//!
//! ```text
//!           client: post                server: done
//!  IDLE  ------------------>  POSTED  ------------------>  IDLE
//!   the client owns the job    the server owns the job      the client owns the job again
//! ```
//!
//! A slot has room for one job. So a client that posts waits first until its last job at that server is done
//! ([`Mailbox::settle`]), and jobs of one client are done in the order in which they were posted.
//!
//! A server looks at the slots of all clients in turn. If it has found none posted for a while, it sleeps at its *bell*. It
//! says so in the bell, and then looks once more. A client posts first and then looks at the bell. Both have a fence between the two
//! steps. So either the server sees the job, or the client sees that the server sleeps, and wakes it.
//!
//! A server ends when all clients have said that they have ended ([`Mailboxes::end`]). The last one wakes all servers. It
//! is counted before it wakes them, and a server looks at the count after it has said that it sleeps, so no server sleeps
//! for ever.

use crate::{Arena, Core, Machine, OutOfMemory, Place, Shared, Word, Zeroed, cold::Arc};
use std::{
    any::Any,
    cell::{Cell, UnsafeCell},
    mem::MaybeUninit,
    panic::{AssertUnwindSafe, catch_unwind, resume_unwind},
};

/// A job: it receives the core of the server that does it.
pub type Job<'j, M> = dyn FnMut(&<M as Machine>::Core) + Send + 'j;

/// Known bugs, planted to prove that they are found.
pub mod faults {
    use crate::Fault;

    /// A server goes to sleep without another look at its slots.
    pub const SLEEPS_WITHOUT_LOOKING: Fault = Fault("sleeps_without_looking");
}

/// Bytes of a modelled line's own state, which lies in front of a body.
const LINE_BYTES: usize = 16;

/// The client owns the slot.
const IDLE: u64 = 0;
/// A job is posted.
const POSTED: u64 = 1;
/// The job has panicked. The slot has the payload, and the client owns it.
const PANICKED: u64 = 2;

/// The server works or looks at its slots.
const AWAKE: u64 = 0;
/// The server sleeps, or is about to.
const ASLEEP: u64 = 1;

/// Number of slots at which a server looks in vain before it sleeps. They take about as long as a message.
const LOOKS: usize = 1024;

/// The slot of a client and a server.
#[repr(C, align(64))]
struct Slot<M: Machine> {
    line: M::Line,
    state: Word,
    /// The job that is posted.
    job: UnsafeCell<MaybeUninit<*mut Job<'static, M>>>,
    /// The payload of the panic in which the job has ended.
    payload: UnsafeCell<MaybeUninit<*mut (dyn Any + Send)>>,
}

// SAFETY: a line, a word and memory that nobody has initialized, which are valid as zeros.
unsafe impl<M: Machine> Zeroed for Slot<M> {}
// SAFETY: `state` says who may use the other fields, and passes them on with a store that releases and a load that acquires.
unsafe impl<M: Machine> Sync for Slot<M> {}

/// A word on a cache line of its own.
#[repr(C, align(64))]
struct Bell<M: Machine> {
    line: M::Line,
    word: Word,
}

// SAFETY: a line and a word, which are valid as zeros.
unsafe impl<M: Machine> Zeroed for Bell<M> {}

/// The part of one server: the slots of all clients, which it looks at, and the bell at which it sleeps.
struct Server<M: Machine> {
    arena: Arc<Arena>,
    /// Offset of the slot of client 0. The others follow.
    slots: u64,
    bell: Shared<Bell<M>>,
}

/// The mailboxes of all servers.
pub struct Mailboxes<M: Machine> {
    servers: Vec<Server<M>>,
    clients: usize,
    /// Number of clients that have ended.
    ended: Shared<Bell<M>>,
    /// Number of clients of the present run; 0 between runs.
    expected: Word,
    /// Number of slots at which a server looks in vain before it sleeps.
    looks: usize,
}

/// The slot of one client at one server.
pub struct Mailbox<'m, M: Machine> {
    slot: &'m Slot<M>,
    bell: &'m Bell<M>,
    /// False if the last job is known to be done. An idle slot stays idle until its client posts.
    open: Cell<bool>,
}

impl<M: Machine> Mailboxes<M> {
    /// Makes mailboxes of `servers` servers for up to `clients` clients. Those of a server lie in the arena that
    /// `arena_of` returns for its number.
    pub fn new(
        servers: usize,
        clients: usize,
        arena_of: impl Fn(usize) -> Arc<Arena>,
    ) -> Result<Self, OutOfMemory> {
        let bytes = (size_of::<Slot<M>>() * clients.max(1)) as u64;
        let server = |number| {
            let arena = arena_of(number);
            let slots = arena.allocate(bytes, 64, Place::Any)?;
            Ok(Server { bell: arena.place(Place::Any)?, slots, arena })
        };
        let servers: Vec<_> = (0..servers).map(server).collect::<Result<_, _>>()?;
        let ended = arena_of(0).place(Place::Any)?;
        Ok(Mailboxes { servers, clients, ended, expected: Word::new(0), looks: LOOKS })
    }

    /// Returns the mailboxes of servers that sleep as soon as they have nothing to do, because their cores have other work.
    pub fn sleeping_at_once(self) -> Self {
        Mailboxes { looks: 1, ..self }
    }

    /// Returns the number of servers.
    pub fn servers(&self) -> usize {
        self.servers.len()
    }

    /// Opens the mailboxes for a run with clients number 0 to `clients - 1`, each of which calls [`Mailboxes::end`] once,
    /// and in which each server [serves](Mailboxes::serve). To be called before the run.
    pub fn open(&self, clients: usize) {
        assert!(clients <= self.clients, "{clients} clients, room for {}", self.clients);
        self.ended.word.poke(0);
        self.expected.poke(clients as u64);
    }

    /// Closes the mailboxes after a run.
    pub fn close(&self) {
        self.expected.poke(0);
    }

    /// Returns true during a run that has servers.
    pub fn is_open(&self) -> bool {
        self.expected.peek() != 0
    }

    /// Returns the mailbox of client number `client` at server number `server`. A client has one at a time.
    pub fn at(&self, server: usize, client: usize) -> Mailbox<'_, M> {
        let Server { bell, .. } = &self.servers[server];
        Mailbox { slot: &self.slots(server)[client], bell, open: Cell::new(true) }
    }

    fn slots(&self, server: usize) -> &[Slot<M>] {
        let Server { arena, slots, .. } = &self.servers[server];
        // SAFETY: `new` has allocated this many slots there.
        unsafe { arena.slice_at(*slots, self.clients) }
    }

    /// Does the jobs that are posted to server number `server`, on the server's `core`, until all clients have ended.
    /// Other fibers of the core run after each round of jobs, and while there is none.
    pub fn serve(&self, core: &M::Core, server: usize) {
        let slots = &self.slots(server)[..self.expected.peek() as usize];
        let bell = &*self.servers[server].bell;
        let patience = if M::MINIATURE { 1 } else { self.looks.div_ceil(slots.len().max(1)) };
        let mut rounds = 0;
        loop {
            rounds = if round(core, slots) { 0 } else { rounds + 1 };
            if rounds < patience {
                core.switch_fiber();
                continue;
            }
            rounds = 0;
            core.store(&bell.line, &bell.word, ASLEEP);
            core.fence();
            let posted = !core.is_planted(faults::SLEEPS_WITHOUT_LOOKING)
                && slots.iter().any(|slot| core.load(&slot.line, &slot.state) == POSTED);
            if posted {
                core.store(&bell.line, &bell.word, AWAKE);
                continue;
            }
            let ended = core.load(&self.ended.line, &self.ended.word);
            if ended == self.expected.peek() {
                return;
            }
            core.wait_while(&bell.line, &bell.word, |word| word == ASLEEP);
        }
    }

    /// Tells the servers that a client has ended. It posts no more, and its jobs are done.
    pub fn end(&self, core: &M::Core) {
        let ended = core.fetch_add(&self.ended.line, &self.ended.word, 1) + 1;
        if ended < self.expected.peek() {
            return;
        }
        core.fence();
        for Server { bell, .. } in &self.servers {
            core.store(&bell.line, &bell.word, AWAKE);
            core.wake(&bell.line, &bell.word);
        }
    }
}

/// Does all posted jobs. Returns true if there was one.
fn round<M: Machine>(core: &M::Core, slots: &[Slot<M>]) -> bool {
    let mut any = false;
    for slot in slots {
        if core.load(&slot.line, &slot.state) == POSTED {
            any = true;
            let state = slot.work(core);
            core.store(&slot.line, &slot.state, state);
            core.wake(&slot.line, &slot.state);
        }
    }
    any
}

impl<M: Machine> Slot<M> {
    /// Does the posted job. Returns the state in which it leaves the slot.
    fn work(&self, core: &M::Core) -> u64 {
        // SAFETY: the slot is posted, so it belongs to the server, and `Mailbox::post` has written the pointer. Its caller keeps
        // the job for as long.
        let job = unsafe { &mut *(*self.job.get()).assume_init() };
        // On a modelled machine a panic ends the whole run.
        if M::MODELLED {
            job(core);
            return IDLE;
        }
        match catch_unwind(AssertUnwindSafe(|| job(core))) {
            Ok(()) => IDLE,
            Err(payload) => {
                // SAFETY: the slot belongs to the server.
                unsafe { (*self.payload.get()).write(Box::into_raw(payload)) };
                PANICKED
            }
        }
    }
}

/// What a message carries besides its job: data behind the slot's line. Natively the job brings them itself, and this costs
/// nothing.
pub struct Cargo<'m, M: Machine>(&'m Slot<M>);

impl<M: Machine> Cargo<'_, M> {
    /// Charges a modelled core for writing `bytes` bytes that a message carries.
    #[inline(always)]
    pub fn load(&self, core: &M::Core, bytes: usize) {
        core.touch(&self.0.line, size_of::<Slot<M>>() - LINE_BYTES, bytes, true);
    }

    /// Charges a modelled core for reading `bytes` bytes that a message has brought.
    #[inline(always)]
    pub fn unload(&self, core: &M::Core, bytes: usize) {
        core.touch(&self.0.line, size_of::<Slot<M>>() - LINE_BYTES, bytes, false);
    }
}

impl<'m, M: Machine> Mailbox<'m, M> {
    /// Returns what the messages of this mailbox carry.
    pub fn cargo(&self) -> Cargo<'m, M> {
        Cargo(self.slot)
    }

    /// Has the server do `job`, and waits until it is done. A panic of the job goes on here.
    pub fn ask(&self, core: &M::Core, job: &mut Job<'_, M>) {
        // SAFETY: this function returns after the job is done. If a modelled machine drops this stack before, it runs no
        // server any more.
        unsafe { self.post(core, job) };
        self.settle(core);
    }

    /// Posts `job` to the server, and does not wait until it is done.
    ///
    /// # Safety
    /// The job must stay valid, and nobody else may use it, until [`Mailbox::settle`] has returned.
    pub unsafe fn post(&self, core: &M::Core, job: *mut Job<'_, M>) {
        self.settle(core);
        let Mailbox { slot, bell, open } = self;
        open.set(true);
        // SAFETY: only the lifetime changes. The caller keeps the job until the server has done it.
        let job = unsafe { std::mem::transmute::<*mut Job<'_, M>, *mut Job<'static, M>>(job) };
        // SAFETY: the slot is idle, so it belongs to the client.
        unsafe { (*slot.job.get()).write(job) };
        core.store(&slot.line, &slot.state, POSTED);
        core.fence();
        if core.load(&bell.line, &bell.word) == ASLEEP {
            core.store(&bell.line, &bell.word, AWAKE);
            core.wake(&bell.line, &bell.word);
        }
    }

    /// Waits until the job that was posted last is done.
    pub fn settle(&self, core: &M::Core) {
        if !self.open.replace(false) {
            return;
        }
        let Slot { line, state, payload, .. } = self.slot;
        let mut seen = core.load(line, state);
        if seen == POSTED {
            seen = core.wait_while(line, state, |state| state == POSTED);
        }
        if seen == PANICKED {
            core.store(line, state, IDLE);
            // SAFETY: the slot belongs to the client, and the server has left the payload of a panic there, from a box.
            let payload = unsafe { Box::from_raw((*payload.get()).assume_init()) };
            resume_unwind(payload);
        }
    }
}

#[cfg(test)]
mod tests;
