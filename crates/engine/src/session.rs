//! One worker's way into the database.

use crate::{
    architecture::{Architecture, DirectSites},
    log::Ticket,
    rows::{Rows, Sites, Work},
};
use machine::{Core, Machine};
use protocols::{CommitLog, Protocol};
use storage::Piece;
use txn::{Abort, Access, ColumnSet, Direction, Intent, Key, Keys, TableId, Visit, WorkerHistory};

/// How an attempt starts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Start<'a> {
    /// 0 for new work, then 1, 2, ... for its retries.
    pub attempt: u32,
    /// Declared to write nothing.
    pub read_only: bool,
    /// The partitions of all keys that it may access, in any order and repeated at will; none for any. Only where the
    /// protocol [locks partitions](Session::locks_partitions) do they make a difference.
    pub partitions: &'a [u64],
}

/// How far a walk through a table has come. It begins with the default.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Walk {
    pub(crate) site: usize,
    pub(crate) piece: Piece,
}

/// What is done with a row that a walk has come to: its key, and all its columns, packed.
pub type RowVisit<'v> = dyn FnMut(Key<'_>, &[u8]) + 'v;

/// One worker's way into the database: begin, access, then commit or roll back. Any number of times.
pub trait Session: Access {
    /// Begins an attempt. The one before must have ended.
    fn begin(&mut self, start: Start<'_>);

    /// True when the protocol locks partitions, so that [`Start::partitions`] makes a difference.
    fn locks_partitions(&self) -> bool;

    /// Commits the attempt; on failure it is rolled back and the reason returned.
    fn commit(&mut self) -> Result<(), Abort>;

    /// Ends the attempt as if it had never been.
    fn rollback(&mut self);

    /// As [`Session::rollback`], and says whether all that the attempt has read could have been committed:
    /// only then may an error that a procedure computed from it be believed.
    fn check_and_rollback(&mut self) -> Result<(), Abort>;

    /// True between begin and the end of the attempt.
    fn in_transaction(&self) -> bool;

    /// The age by which the protocol decides who gives way, if it does.
    fn priority(&self) -> Option<u64>;

    /// How long, in ticks of the machine's clock, to back off at most before an attempt is made again, if the protocol says
    /// so: a time drawn evenly from nothing to this. None to leave it to the caller.
    fn longest_back_off(&mut self) -> Option<u64>;

    /// The ticket of the last commit, where the engine has a [log](crate::CommitSink): all that it has written and read is
    /// durable when the log has acknowledged it. None if it was taken before.
    fn take_ticket(&mut self) -> Option<Ticket>;

    /// Reads the rows in a piece of a table, within the attempt, and returns where the next piece is. What was visited
    /// counts only if the attempt commits; a checkpoint makes an attempt of each piece.
    ///
    /// A row that is there from the begin of a walk to its end is read once, whatever is done beside it. Rows that come
    /// and go meanwhile may be missed: ranges are not protected. Attempts that declare partitions must declare all.
    fn walk(
        &mut self,
        table: TableId,
        walk: &Walk,
        visit: &mut RowVisit<'_>,
    ) -> Result<Option<Walk>, Abort>;

    /// What the session's committed transactions did so far, if that is recorded.
    fn take_history(&mut self) -> WorkerHistory;

    /// Takes absent rows out of their indexes and their memory back. Between transactions, now and then.
    fn maintain(&mut self);

    /// As [`Session::maintain`], at once, and leaves the memory to whoever needs it: when there is none left.
    fn reclaim(&mut self);
}

/// The session of any architecture under any protocol.
///
/// Natively accesses that need no more than one record take short ways, compiled for the protocol. All others, and
/// where time is modelled all, go through [`crate::rows`], which is compiled once for a machine.
pub struct SessionOf<'s, M: Machine, P: Protocol<M>, A: Architecture<M, P>> {
    rows: Rows<'s, M>,
    sites: A::Sites<'s>,
    locks_partitions: bool,
    adds_at_commit: bool,
}

impl<'s, M: Machine, P: Protocol<M>, A: Architecture<M, P>> SessionOf<'s, M, P, A> {
    pub(crate) fn new(rows: Rows<'s, M>, mut sites: A::Sites<'s>) -> Self {
        let site = sites.site(0);
        let (locks_partitions, adds_at_commit) = (site.locks_partitions(), site.adds_at_commit());
        SessionOf { rows, sites, locks_partitions, adds_at_commit }
    }

    #[inline(always)]
    fn work(&mut self) -> Work<'_, 's, M> {
        Work { rows: &mut self.rows, sites: &mut self.sites }
    }

    /// True when an access may take a short way.
    #[inline(always)]
    fn may_be_short(&self) -> bool {
        !M::MODELLED && self.rows.is_bare()
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

    #[cold]
    #[inline(never)]
    fn fail<T>(&mut self, abort: Abort) -> Result<T, Abort> {
        Err(self.rows.doom(abort))
    }
}

// Where a caller has a number in its hands, nothing is left of the question which kind a key is: these are inlined
// always, and what they call has the size that it would have if all keys were numbers.
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
        self.work().access(|work| work.insert(table, key, row))
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
    fn prefetch(&mut self, table: TableId, keys: &[u64], columns: ColumnSet) {
        if !M::MODELLED
            && let Some(site) = self.sites.only()
        {
            site.prefetch(table, keys, columns);
        }
    }

    fn allocate_timestamp(&mut self) -> u64 {
        self.sites.site(0).draw_timestamp()
    }

    #[inline]
    fn compute(&mut self, cycles: u64) {
        self.rows.core().compute(cycles);
    }
}

impl<M: Machine, P: Protocol<M>, A: Architecture<M, P>> Session for SessionOf<'_, M, P, A> {
    #[inline]
    fn begin(&mut self, start: Start<'_>) {
        match self.sites.only() {
            Some(site) if !M::MODELLED => {
                self.rows.begin();
                site.begin_directly(self.rows.txn(start));
            }
            _ => self.work().begin(start),
        }
    }

    #[inline]
    fn commit(&mut self) -> Result<(), Abort> {
        if self.may_be_short()
            && let Some(site) = self.sites.only()
        {
            let timestamp = match site.part().prepare() {
                Ok(prepared) => prepared.least,
                Err(abort) => {
                    // What it does with a doomed attempt is what is to be done.
                    self.rows.doom(abort);
                    return self.work().commit();
                }
            };
            let mut log = CommitLog { version: self.rows.version(), writes: None };
            site.part().commit(timestamp, &mut log);
            site.leave_directly();
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

    fn in_transaction(&self) -> bool {
        self.rows.is_open()
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

    fn reclaim(&mut self) {
        self.work().reclaim();
    }
}

impl<M: Machine, P: Protocol<M>, A: Architecture<M, P>> Drop for SessionOf<'_, M, P, A> {
    fn drop(&mut self) {
        // A panic in a procedure comes through here: nothing may stay locked.
        if self.rows.is_open() {
            self.work().rollback();
        }
    }
}
