//! One worker's access to the database.

use crate::{
    architecture::{Architecture, DirectSites, OwnersWork},
    handed::caught,
    log::Ticket,
    rows::{Rows, Sites, Work},
    site::{LocalSite, Located},
};
use machine::{Core, Machine};
use protocols::{CommitLog, Protocol};
use std::panic::resume_unwind;
use storage::{Piece, Record};
use txn::{
    Abort, Access, Action, ColumnSet, Direction, Intent, Key, Keys, Planned, TableId, Visit,
    WorkerHistory,
};

/// Parameters with which an attempt starts. The default is the first attempt of a transaction that declares nothing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Start<'a> {
    /// Number of the attempt: 0 for new work, then 1, 2, ... for its retries.
    pub attempt: u32,
    /// Age of the transaction ([`Session::priority`]), if the session has begun other transactions since its last attempt. Otherwise a
    /// retry keeps its age by itself, and new work gets one from the protocol.
    pub age: Option<u64>,
    /// Set if the transaction is declared to write nothing.
    pub read_only: bool,
    /// Partitions of all keys that the attempt can access, in any order and with repetitions. Empty if it can
    /// access all keys. They have an effect only if the protocol or the architecture
    /// [locks partitions](Session::locks_partitions).
    pub partitions: &'a [u64],
    /// Accesses that the attempt will make, as far as they are known, in any order and with repetitions. They have an
    /// effect only if the protocol [plans accesses](Session::plans).
    pub plan: &'a [Planned],
}

/// Progress of a walk through a table. A walk begins with the default.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Walk {
    pub(crate) site: usize,
    pub(crate) piece: Piece,
}

/// Visits a row that a walk has reached. Receives its key and all its columns, packed.
pub type RowVisit<'v> = dyn FnMut(Key<'_>, &[u8]) + 'v;

/// One worker's access to the database: begin, accesses, then commit or roll back, any number of times.
pub trait Session: Access {
    /// Begins an attempt. The previous attempt must have ended.
    fn begin(&mut self, start: Start<'_>);

    /// Returns true if the protocol or the architecture locks partitions, so that [`Start::partitions`] has an effect.
    fn locks_partitions(&self) -> bool;

    /// Returns true if the protocol plans accesses, so that [`Start::plan`] has an effect.
    fn plans(&self) -> bool;

    /// Returns true if an access can end on another thread than it began. If a procedure panics then, the caller must catch the
    /// panic and roll the attempt back before it lets the panic go on.
    fn changes_threads(&self) -> bool;

    /// Commits the attempt. On failure it rolls the attempt back and returns the reason.
    fn commit(&mut self) -> Result<(), Abort>;

    /// Rolls the attempt back.
    fn rollback(&mut self);

    /// Rolls the attempt back as [`Session::rollback`] does. Returns `Ok` only if everything that the attempt
    /// has read could have been committed. Only then is an error valid that a procedure computed from these
    /// reads.
    fn check_and_rollback(&mut self) -> Result<(), Abort>;

    /// Returns true between begin and the end of the attempt.
    fn in_transaction(&self) -> bool;

    /// Reads columns of one row in held form, as a transaction of its own. Returns true if `out` holds them. Returns false if the
    /// row is not there, or if nothing but an attempt can tell, which the caller must then begin. `out` can have changed.
    fn read_alone(&mut self, table: TableId, key: u64, columns: ColumnSet, out: &mut [u8]) -> bool {
        let _ = (table, key, columns, out);
        false
    }

    /// Reads as [`Session::read_alone`] does, columns of any type, which it packs into `out`.
    fn fetch_alone(
        &mut self,
        table: TableId,
        key: u64,
        columns: ColumnSet,
        out: &mut Vec<u8>,
    ) -> bool {
        let _ = (table, key, columns, out);
        false
    }

    /// Returns the transaction's priority, if the protocol decides conflicts by age.
    fn priority(&self) -> Option<u64>;

    /// Returns the longest back-off before the next attempt, in ticks of the machine's clock, if the protocol
    /// sets one. The caller should wait for a uniformly random time up to this one. `None` leaves the back-off
    /// to the caller.
    fn longest_back_off(&mut self) -> Option<u64>;

    /// Returns the ticket of the last commit, if the engine has a [log](crate::CommitSink). All that the
    /// transaction has written and read is durable when the log has acknowledged the ticket. Returns `None` if
    /// the ticket was taken before.
    fn take_ticket(&mut self) -> Option<Ticket>;

    /// Reads the rows in one piece of a table, within the attempt, and returns the position of the next piece.
    /// The visited rows count only if the attempt commits. A checkpoint runs one attempt for each piece.
    ///
    /// A row that exists from the begin of a walk to its end is read exactly once, whatever other transactions
    /// do meanwhile. Rows that are inserted or deleted meanwhile can be missed, because ranges are not
    /// protected. An attempt that declares partitions must declare all of them.
    fn walk(
        &mut self,
        table: TableId,
        walk: &Walk,
        visit: &mut RowVisit<'_>,
    ) -> Result<Option<Walk>, Abort>;

    /// Takes the history of the session's committed transactions so far. It is empty unless histories are
    /// recorded.
    fn take_history(&mut self) -> WorkerHistory;

    /// Removes absent rows from their indexes and frees their memory. To be called between transactions, from
    /// time to time.
    fn maintain(&mut self);

    /// Forgets what the session has kept of a table that is being dropped ([`crate::Engine::drop_table`]). To be called
    /// between transactions. The session must not use the table afterwards.
    fn forget_table(&mut self, table: TableId);

    /// Does the work of [`Session::maintain`] at once and gives the memory to the sessions that need it. To be
    /// called if there is no memory left.
    fn reclaim(&mut self);
}

/// The session of any architecture under any protocol.
///
/// On a native machine an access that needs only columns of fixed length of one record takes a fast path, which
/// is compiled for the protocol. All other accesses go through [`crate::rows`], which is compiled once per
/// machine. On a machine that models time, all accesses do.
pub struct SessionOf<'s, M: Machine, P: Protocol<M>, A: Architecture<M, P>> {
    rows: Rows<'s, M>,
    sites: A::Sites<'s>,
    locks_partitions: bool,
    adds_at_commit: bool,
    /// Buffer for accesses that [`SessionOf::plan_directly`] has not planned.
    unplanned: Vec<Planned>,
    /// Buffer for records that are made for several rows at once.
    made: Vec<Record<'s, M>>,
}

impl<'s, M: Machine, P: Protocol<M>, A: Architecture<M, P>> SessionOf<'s, M, P, A> {
    pub(crate) fn new(rows: Rows<'s, M>, mut sites: A::Sites<'s>) -> Self {
        let latches_partitions = sites.latches_partitions();
        let site = sites.site(0);
        let locks_partitions = latches_partitions || site.locks_partitions();
        let adds_at_commit = site.adds_at_commit();
        let mut session = SessionOf::of_executor(rows, sites, adds_at_commit);
        session.locks_partitions = locks_partitions;
        session
    }

    /// Makes a session of an executor. It takes part in the attempts of another session, and begins and ends none.
    pub(crate) fn of_executor(
        rows: Rows<'s, M>,
        sites: A::Sites<'s>,
        adds_at_commit: bool,
    ) -> Self {
        SessionOf {
            rows,
            sites,
            locks_partitions: false,
            adds_at_commit,
            unplanned: Vec::new(),
            made: Vec::new(),
        }
    }

    /// Returns the state and the sites of a session.
    pub(crate) fn parts(&mut self) -> (&mut Rows<'s, M>, &mut A::Sites<'s>) {
        (&mut self.rows, &mut self.sites)
    }

    #[inline(always)]
    fn work(&mut self) -> Work<'_, 's, M> {
        Work { rows: &mut self.rows, sites: &mut self.sites }
    }

    /// Returns true if an access can take a fast path.
    #[inline(always)]
    fn may_be_short(&self) -> bool {
        !M::MODELLED && self.rows.is_bare()
    }

    /// Returns the site at which a row can be read without an attempt, if there is one. Recorded and logged sessions read within
    /// attempts, and so do those on machines that charge for what an access does.
    #[inline(always)]
    fn site_between_attempts(&mut self) -> Option<&mut LocalSite<'s, M, P>> {
        let may = (!M::MODELLED || M::MINIATURE) && self.rows.is_idle_and_unwatched();
        if may { self.sites.only() } else { None }
    }

    #[inline]
    fn read_number(
        &mut self,
        table: TableId,
        key: u64,
        columns: ColumnSet,
        intent: Intent,
        out: &mut [u8],
    ) -> Result<bool, Abort> {
        if self.may_be_short()
            && let Some(site) = self.sites.direct(table, key)
        {
            match site.read_number(table, key, columns, intent, out) {
                Ok(Some(found)) => return Ok(found),
                Ok(None) => {}
                Err(abort) => return self.fail(abort),
            }
        }
        self.read_otherwise(table, key, columns, intent, out)
    }

    /// Reads a row that the fast path has left alone. It is apart from the fast path, which stays small.
    #[inline(never)]
    fn read_otherwise(
        &mut self,
        table: TableId,
        key: u64,
        columns: ColumnSet,
        intent: Intent,
        out: &mut [u8],
    ) -> Result<bool, Abort> {
        if self.may_be_short()
            && let Some(site) = self.sites.direct(table, key)
        {
            match site.read_specially(table, key, columns, intent, out) {
                Ok(Some(head)) => return Ok(head.state.is_present()),
                Ok(None) => {}
                Err(abort) => return self.fail(abort),
            }
        }
        self.work().access(|work| work.read(table, Key::Number(key), columns, intent, out))
    }

    #[inline]
    fn update_number(
        &mut self,
        table: TableId,
        key: u64,
        columns: ColumnSet,
        values: &[u8],
    ) -> Result<bool, Abort> {
        if self.may_be_short()
            && let Some(site) = self.sites.direct(table, key)
        {
            match site.update_number(table, key, columns, values) {
                Ok(Some(written)) => return Ok(written),
                Ok(None) => {}
                Err(abort) => return self.fail(abort),
            }
        }
        self.update_otherwise(table, key, columns, values)
    }

    /// Updates a row that the fast path has left alone.
    #[inline(never)]
    fn update_otherwise(
        &mut self,
        table: TableId,
        key: u64,
        columns: ColumnSet,
        values: &[u8],
    ) -> Result<bool, Abort> {
        if self.may_be_short()
            && let Some(site) = self.sites.direct(table, key)
        {
            match site.update_specially(table, key, columns, values) {
                Ok(Some(written)) => return Ok(written),
                Ok(None) => {}
                Err(abort) => return self.fail(abort),
            }
        }
        self.work().access(|work| work.update(table, Key::Number(key), columns, values))
    }

    #[inline]
    fn add_number(
        &mut self,
        table: TableId,
        key: u64,
        columns: ColumnSet,
        deltas: &[u8],
    ) -> Result<bool, Abort> {
        if self.may_be_short()
            && let Some(site) = self.sites.direct(table, key)
        {
            match site.add_number(table, key, columns, deltas) {
                Ok(Some(added)) => return Ok(added),
                Ok(None) => {}
                Err(abort) => return self.fail(abort),
            }
        }
        self.add_through_rows(table, Key::Number(key), columns, deltas)
    }

    fn add_through_rows(
        &mut self,
        table: TableId,
        key: Key<'_>,
        columns: ColumnSet,
        deltas: &[u8],
    ) -> Result<bool, Abort> {
        if !self.work().adds_blindly(table, columns) {
            return self.add_to_what_is_read(table, key, columns, deltas);
        }
        self.work().access(|work| work.add(table, key, columns, deltas))
    }

    /// Inserts those of `rows` that can follow the row `before`, which has just been inserted, in the same leaf. Returns how many were
    /// inserted.
    fn insert_run(
        &mut self,
        table: TableId,
        before: u64,
        rows: &[(u64, &[u8])],
    ) -> Result<usize, Abort> {
        let site = self.sites.only().filter(|site| site.has_plain_inserts(table));
        let Some(site) = site.filter(|_| !rows.is_empty()) else { return Ok(0) };
        let mut made = std::mem::take(&mut self.made);
        let mut outcome = site.make_run(table, before, rows, &mut made).map(|()| true);
        let mut inserted = 0;
        for (record, (key, row)) in made.drain(..).zip(rows) {
            // The records behind the first row that is not inserted are left to be retired.
            match outcome {
                Ok(true) => outcome = self.insert_in_made((table, *key), record, row),
                _ => self.rows.tried_insert(0, table, Located::made(record, *key), false),
            }
            inserted += usize::from(outcome == Ok(true));
        }
        self.made = made;
        outcome.map(|_| inserted).map_err(|abort| self.rows.doom(abort))
    }

    /// Inserts a row into the record of its key, which [`LocalSite::make_run`] has made.
    #[inline(always)]
    fn insert_in_made(
        &mut self,
        (table, key): (TableId, u64),
        record: Record<'s, M>,
        row: &[u8],
    ) -> Result<bool, Abort> {
        if self.may_be_short()
            && let Some(site) = self.sites.only()
        {
            let inserted = site.insert_in(record, row);
            let located = Located::made(record, key);
            self.rows.tried_insert(0, table, located, inserted == Ok(true));
            return inserted;
        }
        self.work().access(|work| work.insert_in_made((table, key), record, row))
    }

    /// Plans the accesses of the attempt that has just begun, if there is one site alone. The rows are prefetched first, and those
    /// of one record that exists are not looked up by [`crate::rows`].
    fn plan_directly(&mut self, plan: &[Planned]) {
        let Some(site) = self.sites.only().filter(|_| !plan.is_empty()) else { return };
        match site.plan_directly(plan, &mut self.unplanned) {
            Ok(()) => {
                let left = std::mem::take(&mut self.unplanned);
                self.work().plan_left(&left);
                self.unplanned = left;
            }
            Err(abort) => _ = self.rows.doom(abort),
        }
    }

    #[cold]
    #[inline(never)]
    fn fail<T>(&mut self, abort: Abort) -> Result<T, Abort> {
        Err(self.rows.doom(abort))
    }
}

// These functions are always inlined. If the caller has an integer key, the compiler then removes the test of
// the key's kind, and the functions called here are as small as if all keys were integers.
impl<M: Machine, P: Protocol<M>, A: Architecture<M, P>> Access for SessionOf<'_, M, P, A> {
    #[inline(always)]
    fn read_with(
        &mut self,
        table: TableId,
        key: Key<'_>,
        columns: ColumnSet,
        intent: Intent,
        out: &mut [u8],
    ) -> Result<bool, Abort> {
        match key {
            Key::Number(number) => self.read_number(table, number, columns, intent, out),
            Key::Bytes(_) => self.work().access(|work| work.read(table, key, columns, intent, out)),
        }
    }

    fn fetch(
        &mut self,
        table: TableId,
        key: Key<'_>,
        columns: ColumnSet,
        intent: Intent,
        out: &mut Vec<u8>,
    ) -> Result<bool, Abort> {
        if let Key::Number(number) = key
            && self.may_be_short()
            && let Some(site) = self.sites.direct(table, number)
        {
            match site.fetch_number(table, number, columns, intent, out) {
                Ok(Some(found)) => return Ok(found),
                Ok(None) => {}
                Err(abort) => return self.fail(abort),
            }
        }
        self.work().access(|work| work.fetch(table, key, columns, intent, out))
    }

    #[inline(always)]
    fn update(
        &mut self,
        table: TableId,
        key: Key<'_>,
        columns: ColumnSet,
        values: &[u8],
    ) -> Result<bool, Abort> {
        match key {
            Key::Number(number) => self.update_number(table, number, columns, values),
            Key::Bytes(_) => self.work().access(|work| work.update(table, key, columns, values)),
        }
    }

    #[inline(always)]
    fn add(
        &mut self,
        table: TableId,
        key: Key<'_>,
        columns: ColumnSet,
        deltas: &[u8],
    ) -> Result<bool, Abort> {
        match key {
            Key::Number(number) => self.add_number(table, number, columns, deltas),
            Key::Bytes(_) => self.add_through_rows(table, key, columns, deltas),
        }
    }

    #[inline]
    fn adds_at_commit(&self) -> bool {
        self.adds_at_commit
    }

    fn insert(&mut self, table: TableId, key: Key<'_>, row: &[u8]) -> Result<bool, Abort> {
        if let Key::Number(number) = key
            && self.may_be_short()
            && let Some(site) = self.sites.direct(table, number)
            && site.has_plain_inserts(table)
        {
            let located = match site.locate_number(table, number) {
                Ok(located) => located,
                Err(abort) => return self.fail(abort),
            };
            let inserted = site.insert_in(located.record, row);
            let at = self.sites.of_key(table, key).expect("a site that has the key");
            self.rows.tried_insert(at, table, located, inserted == Ok(true));
            return inserted.map_err(|abort| self.rows.doom(abort));
        }
        self.work().access(|work| work.insert(table, key, row))
    }

    fn insert_many(&mut self, table: TableId, rows: &[(u64, &[u8])]) -> Result<usize, Abort> {
        let mut inserted = 0;
        // The first row of each leaf finds the leaf, or splits it.
        while let Some((key, row)) = rows.get(inserted)
            && self.insert(table, Key::Number(*key), row)?
        {
            inserted += 1;
            inserted += self.insert_run(table, *key, &rows[inserted..])?;
        }
        Ok(inserted)
    }

    fn delete(&mut self, table: TableId, key: Key<'_>) -> Result<bool, Abort> {
        self.work().access(|work| work.delete(table, key))
    }

    fn scan(
        &mut self,
        table: TableId,
        range: Keys<'_>,
        direction: Direction,
        columns: ColumnSet,
        visit: &mut Visit<'_>,
    ) -> Result<(), Abort> {
        if let Keys::Numbers(range) = range
            && self.may_be_short()
            && let Some(site) = self.sites.only()
        {
            match site.scan_numbers(table, range, direction, columns, visit) {
                Ok(Some(())) => return Ok(()),
                Ok(None) => {}
                Err(abort) => return self.fail(abort),
            }
        }
        self.work().access(|work| work.scan(table, range, direction, columns, visit))
    }

    fn scan_index(
        &mut self,
        index: TableId,
        range: Keys<'_>,
        direction: Direction,
        columns: ColumnSet,
        visit: &mut Visit<'_>,
    ) -> Result<(), Abort> {
        self.work().access(|work| work.scan_index(index, range, direction, columns, visit))
    }

    fn refused_by(&self) -> Option<TableId> {
        self.rows.refused_by()
    }

    #[inline]
    fn prefetch(&mut self, table: TableId, rows: &[(u64, ColumnSet)]) {
        self.sites.prefetch(table, rows);
    }

    fn append(&mut self, row: &[u8]) -> Result<(), Abort> {
        self.work().access(|work| work.append(row))
    }

    fn allocate_timestamp(&mut self) -> u64 {
        self.sites.site(0).draw_timestamp()
    }

    #[inline]
    fn compute(&mut self, cycles: u64) {
        self.rows.core().compute(cycles);
    }

    #[inline(always)]
    fn splits(&self) -> bool {
        // The log would have to be told what the executors have spelled.
        self.sites.splits() && !self.rows.is_logged()
    }

    fn run_actions(&mut self, actions: &mut [Action<'_>]) -> Result<(), Abort> {
        assert!(self.splits(), "the session has executors");
        if let Some(abort) = self.rows.doomed() {
            return Err(abort);
        }
        let own = self.sites.start_actions(&mut self.rows, actions);
        // The executors use what lies on this stack, so a panic waits until they have done their work.
        let ran = caught::<M, _>(|| own.iter().try_for_each(|at| (actions[*at].body)(&mut *self)));
        let ended = self.sites.end_actions(&mut self.rows);
        let ran = ran.unwrap_or_else(|panic| resume_unwind(panic));
        // A failure that an action has computed counts only if all accesses have succeeded.
        self.rows.doomed().map_or(Ok(()), Err)?;
        ran.and(ended)
    }
}

impl<M: Machine, P: Protocol<M>, A: Architecture<M, P>> Session for SessionOf<'_, M, P, A> {
    #[inline]
    fn begin(&mut self, start: Start<'_>) {
        match self.sites.only() {
            Some(site) if !M::MODELLED => {
                self.rows.begin();
                site.begin_directly(self.rows.txn(start, true));
                if const { P::PLANS } {
                    self.plan_directly(start.plan);
                }
            }
            only => {
                let alone = only.is_some();
                self.work().begin_with(start, alone);
            }
        }
    }

    #[inline]
    fn commit(&mut self) -> Result<(), Abort> {
        if self.may_be_short()
            && let Some(site) = self.sites.alone()
        {
            let timestamp = match site.protocol().prepare() {
                Ok(prepared) => prepared.least,
                Err(abort) => {
                    // `Work::commit` does what is needed with a doomed attempt.
                    self.rows.doom(abort);
                    return self.work().commit();
                }
            };
            let mut log = CommitLog { version: self.rows.version(), writes: None };
            site.protocol().commit(timestamp, &mut log);
            site.leave_directly();
            self.sites.exit();
            self.rows.committed_barely();
            return Ok(());
        }
        self.work().commit()
    }

    fn rollback(&mut self) {
        self.work().rollback();
    }

    fn check_and_rollback(&mut self) -> Result<(), Abort> {
        self.work().check_and_rollback()
    }

    fn locks_partitions(&self) -> bool {
        self.locks_partitions
    }

    fn plans(&self) -> bool {
        P::PLANS
    }

    #[inline]
    fn changes_threads(&self) -> bool {
        const { !M::MODELLED && matches!(A::DECLARED.work, OwnersWork::Visited) }
    }

    fn in_transaction(&self) -> bool {
        self.rows.is_open()
    }

    fn read_alone(&mut self, table: TableId, key: u64, columns: ColumnSet, out: &mut [u8]) -> bool {
        let site = self.site_between_attempts();
        site.is_some_and(|site| site.read_alone(table, key, columns, out))
    }

    fn fetch_alone(
        &mut self,
        table: TableId,
        key: u64,
        columns: ColumnSet,
        out: &mut Vec<u8>,
    ) -> bool {
        let site = self.site_between_attempts();
        site.is_some_and(|site| site.fetch_alone(table, key, columns, out))
    }

    fn priority(&self) -> Option<u64> {
        self.sites.age()
    }

    fn longest_back_off(&mut self) -> Option<u64> {
        self.sites.site(0).longest_back_off()
    }

    fn take_ticket(&mut self) -> Option<Ticket> {
        self.rows.take_ticket()
    }

    fn walk(
        &mut self,
        table: TableId,
        walk: &Walk,
        visit: &mut RowVisit<'_>,
    ) -> Result<Option<Walk>, Abort> {
        self.work().access(|work| work.walk(table, walk, visit))
    }

    fn take_history(&mut self) -> WorkerHistory {
        self.rows.take_history()
    }

    #[inline]
    fn maintain(&mut self) {
        if self.rows.is_purge_due() {
            self.work().purge_some();
        }
    }

    fn forget_table(&mut self, table: TableId) {
        self.work().forget_table(table);
    }

    fn reclaim(&mut self) {
        self.work().reclaim();
    }
}

impl<M: Machine, P: Protocol<M>, A: Architecture<M, P>> Drop for SessionOf<'_, M, P, A> {
    fn drop(&mut self) {
        // A panic in a procedure unwinds through here. No lock must stay held. A session that changes threads could not roll back
        // now, and has done it before, unless the engine itself has panicked.
        if self.rows.is_open() && !(self.changes_threads() && std::thread::panicking()) {
            self.work().rollback();
        }
        self.work().release_values();
    }
}
