//! ORDERED_2PL: two-phase locking in which a transaction acquires the locks that it is known to need before it runs, in
//! one order for all transactions.
//!
//! Source: Ren, Faleiro and Abadi, "Design Principles for Scaling Multi-core OLTP Under High Contention", SIGMOD 2016
//! (planned access to data; their deadlock-free locking). A transaction that acquires all its locks before it runs is
//! conservative two-phase locking in Bernstein, Hadzilacos and Goodman 1987, 3.6. Trireme 5.1 finds that planning is
//! what matters most under contention of all that Orthrus consists of.
//!
//! A transaction declares the accesses that it is known to make ([`txn::Client::plan`]). It goes through three phases:
//!
//! ```text
//!           records found              locks held                 commit or abort
//! looks up ---------------> acquires -------------> runs ------------------------> ended
//! holds nothing             waits, in the order     waits for nobody
//!                           of records' names
//! ```
//!
//! - **Looks up.** The transaction finds the records of its plan. A record for an absent key is made here, which can wait
//!   for the range of the key. The transaction holds no lock yet.
//! - **Acquires.** It acquires their locks in the order of the records' names (table, then place in memory), each in the
//!   strongest mode of the plan. Locks are granted in the order of arrival.
//! - **Runs.** The procedure finds its locks held. An access outside the plan acquires its lock as under NO_WAIT: if another
//!   transaction holds it in a conflicting mode or waits for it, the requester aborts ([`AbortReason::LockConflict`]).
//!   So does a write of what was planned as a read, if there are other readers, and so does a scan.
//!
//! **Why there is no deadlock.** A transaction that waits holds only locks that come before the one that it waits for. A
//! transaction that runs waits for nobody. So waits form no cycle, under several sites too, because the sites follow
//! their plans in the order of their numbers.
//!
//! A transaction whose plan names all that it accesses aborts only by its own wish, with one exception: a record of an
//! absent row can retire between look-up and lock. The access then finds another record, which is outside the plan, or
//! aborts because the record is retired, as under every protocol. A transaction without a plan is one of NO_WAIT.
//!
//! Under contention nothing is done in vain, but locks are held longer: a transaction that holds a lock and waits for the
//! next one keeps others waiting for as long. If hot rows come first in the order, as those of YCSB's smallest keys do, they
//! are held for all these waits. So the option `plan-order=descending` can be better. Where an attempt is cheap and the
//! lock is one word, NO_WAIT commits as much or more, with nearly all attempts aborted.
//!
//! Deviations:
//!
//! - There are no threads for concurrency control and no messages. Each session acquires its locks itself, as in the
//!   authors' deadlock-free locking.
//! - The order is that of the records' names, or natively that of their addresses. The authors order by key. Both are one order for all transactions.
//! - Rows are looked up twice, for the plan and for the access. A plan names rows by numbers only: accesses by keys of
//!   bytes and entries of secondary indexes are outside it.
//! - Accesses that are not known are tried without waiting. The authors estimate them by a run without effect (as
//!   Calvin's OLLP), and run the transaction again when the estimate was wrong.
//! - Natively, a running session can take a lock that was granted to a sleeping one ([`crate::mechanisms::overtaking`]).
//!   The sleeping session waits again for the same lock, and holds the same locks meanwhile, so the order is kept.

use crate::{
    Declaration, Isolation, ProtocolOptions, Txn, faults,
    mechanisms::{
        cancellable_queue::{Claims, Policy, SharedSession, SharedSessions, WAITING},
        lock_queue::{Held, LockQueue},
        two_phase_locking::{Locks, Mode, TwoPhaseLocking},
    },
};
use machine::{Arena, Core, Machine, OutOfMemory, cold::Arc};
use storage::RecordRef;
use txn::{Abort, AbortReason};

/// The ORDERED_2PL protocol.
pub type Ordered2pl<M> = TwoPhaseLocking<PlannedLocks<M>>;

/// Locks that are waited for before a transaction runs, and not afterwards.
pub struct PlannedLocks<M: Machine> {
    sessions: SharedSessions<M>,
    descends: bool,
}

/// State of a session.
pub struct Owner<M: Machine> {
    claims: Claims<M>,
    session: u64,
    wait: Wait,
}

/// Behaviour of a request at a conflict.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Wait {
    /// Waits: the transaction has not begun to run.
    Planned,
    /// Aborts: the transaction runs.
    Never,
}

impl<M: Machine> Policy<M> for Wait {
    const BY_NAME: bool = false;
    const MEETS_ALL: bool = false;

    fn refuses(&self) -> Option<AbortReason> {
        (*self == Wait::Never).then_some(CONFLICT)
    }

    fn meets(&mut self, _: &M::Core, _: &SharedSession<M>, _: u64) {}

    fn until_told(
        &mut self,
        core: &M::Core,
        session: &SharedSession<M>,
    ) -> Result<(), AbortReason> {
        core.wait_while(&session.line, &session.fate, |fate| fate & WAITING != 0);
        Ok(())
    }
}

/// Reason of the abort of a transaction that must not wait.
const CONFLICT: AbortReason = AbortReason::LockConflict;

impl<M: Machine> Locks<M> for PlannedLocks<M> {
    const ENTRY_BLOCKS: u64 = 1;
    const PLANS: bool = true;
    type Words = LockQueue;
    type Held = Held;
    type Owner = Owner<M>;

    fn declare(_: &ProtocolOptions) -> Declaration {
        Declaration {
            name: "ORDERED_2PL",
            summary: "two-phase locking; planned locks are acquired in one order before the start",
            source: "Ren, Faleiro and Abadi 2016; Trireme 5.1",
            isolation: Isolation::Serializable,
            strict: true,
            one_site: None,
        }
    }

    fn knobs() -> &'static [&'static str] {
        &["plan-order"]
    }

    fn create(
        arena: &Arc<Arena>,
        options: &ProtocolOptions,
        sessions: usize,
    ) -> Result<Self, OutOfMemory> {
        let sessions = SharedSessions::new(arena, sessions)?;
        Ok(PlannedLocks { sessions, descends: options.plan_descends })
    }

    fn plans_descending(&self) -> bool {
        self.descends
    }

    fn owner(&self, session: usize) -> Owner<M> {
        // Upgrades do not wait, so waiters can stand in order of arrival.
        let claims = Claims::in_order_of_arrival(&self.sessions, session);
        Owner { claims, session: session as u64, wait: Wait::Never }
    }

    fn begin(&self, core: &M::Core, owner: &mut Owner<M>, txn: Txn<'_>) {
        owner.claims.begin(core);
        let waits = txn.planned || core.is_planted(faults::ORDERED_WAITS_WHILE_RUNNING);
        owner.wait = if waits { Wait::Planned } else { Wait::Never };
    }

    fn planned(&self, core: &M::Core, owner: &mut Owner<M>) {
        if !core.is_planted(faults::ORDERED_WAITS_WHILE_RUNNING) {
            owner.wait = Wait::Never;
        }
    }

    fn acquire(
        &self,
        core: &M::Core,
        owner: &mut Owner<M>,
        record: &RecordRef<'_, M, LockQueue>,
        mode: Mode,
    ) -> Result<Held, Abort> {
        let Owner { claims, session, wait } = owner;
        // Without this look, those that are going to be refused would keep the latch from the lock's owner.
        if *wait == Wait::Never && mode == Mode::Exclusive && claims.seems_taken(core, record) {
            return Err(Abort::because(CONFLICT));
        }
        claims.acquire(core, record, *session, mode, wait, CONFLICT).map_err(Abort::because)
    }

    fn upgrade(
        &self,
        core: &M::Core,
        owner: &mut Owner<M>,
        record: &RecordRef<'_, M, LockQueue>,
        held: &mut Held,
    ) -> Result<(), Abort> {
        if core.is_planted(faults::ORDERED_TRUSTS_PLANS) {
            return Ok(());
        }
        let Owner { claims, session, .. } = owner;
        let upgraded = claims.upgrade(core, record, *session, held, &mut Wait::Never, CONFLICT);
        upgraded.map_err(Abort::because)
    }

    fn release(
        &self,
        core: &M::Core,
        owner: &mut Owner<M>,
        record: &RecordRef<'_, M, LockQueue>,
        held: Held,
    ) {
        owner.claims.release(core, record, held);
    }

    fn mode(held: &Held) -> Mode {
        held.mode
    }
}
