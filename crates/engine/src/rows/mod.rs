//! What a row is: keys of both kinds, rows in two parts, secondary indexes, scans, retirement, recording.
//!
//! Written once above sites and compiled once for a machine: whatever the protocol, and whoever executes an access.
//! [`Rows`] is what a session keeps for it; [`Work`] is that together with the session's sites, for one call.
//!
//! - `accesses.rs`: rows by their keys;
//! - `parts.rs`: rows in two parts;
//! - `indexes.rs`: secondary indexes;
//! - `scans.rs`: ranges;
//! - `retirement.rs`: absent rows leave their indexes; `purge_queue.rs`: those that may;
//! - `attempt.rs`: begin, commit and the end of an attempt;
//! - `recorder.rs`: the history;
//! - `logger.rs`: what a log is told;
//! - `walks.rs`: all rows of a table, piece by piece.

mod accesses;
mod attempt;
mod indexes;
mod logger;
mod parts;
mod purge_queue;
mod recorder;
mod retirement;
mod scans;
mod tree_key;
mod walks;

use crate::{
    EngineOptions, Start,
    log::Log,
    site::{Located, Site},
};
use logger::Logger;
use machine::Machine;
use protocols::Txn;
use purge_queue::PurgeQueue;
use recorder::Recorder;
use storage::{Record, RowHead, RowState, Store, Table};
use txn::{Abort, ColumnSet, Digest, Intent, Key, TableId, TxnId, Version, WorkerHistory};

/// The sites that a session's transactions may touch, and which of them executes an access: what an architecture is.
pub(crate) trait Sites<'s, M: Machine> {
    /// How many there are.
    fn count(&self) -> usize;

    /// The number of the one that has the row `key` of `table`.
    fn of_key(&self, table: TableId, key: Key<'_>) -> usize;

    /// The number of the one that has all rows of `table`, which is in key order.
    fn of_table(&self, table: TableId) -> usize;

    /// Site number `at`.
    fn site(&mut self, at: usize) -> &mut dyn Site<'s, M>;

    /// The age by which the protocol decides who gives way, if it does.
    fn age(&self) -> Option<u64>;
}

/// What a session keeps beside its sites.
pub(crate) struct Rows<'s, M: Machine> {
    core: &'s M::Core,
    /// That of the first owner: tables are the same everywhere, but for what is in them.
    store: &'s Store<M>,
    slot: usize,
    recorder: Option<Recorder>,
    logger: Option<Box<Logger<'s, M>>>,
    /// There is neither of them.
    unwatched: bool,
    purge: PurgeQueue,
    attempts: u64,
    open: bool,
    doomed: Option<Abort>,
    /// The attempt is alive, unrecorded, not logged and not timed: nothing has to be done around an access.
    bare: bool,
    /// The unique index that has refused the last insert or update.
    refused_by: Option<TableId>,
    /// The row that a scan is at.
    scanned: Vec<u8>,
    /// Values of a part of a row.
    part: Vec<u8>,
    /// A row that is read as a whole, for the recorder.
    whole: Vec<u8>,
}

impl<'s, M: Machine> Rows<'s, M> {
    /// What session number `slot`, which `core` uses, keeps.
    pub fn new(
        core: &'s M::Core,
        store: &'s Store<M>,
        slot: usize,
        options: &EngineOptions,
        log: Option<&'s Log<M>>,
    ) -> Self {
        Rows {
            core,
            store,
            slot,
            recorder: options.record_history.then(Recorder::default),
            logger: log.map(|log| Box::new(Logger::new(log))),
            unwatched: !options.record_history && log.is_none(),
            purge: PurgeQueue::new(options.purge_batch),
            attempts: 0,
            open: false,
            doomed: None,
            bare: false,
            refused_by: None,
            scanned: Vec::new(),
            part: Vec::new(),
            whole: Vec::new(),
        }
    }

    /// The core that uses the session.
    #[inline(always)]
    pub fn core(&self) -> &'s M::Core {
        self.core
    }

    /// True when an access of the running attempt needs nothing around it.
    #[inline(always)]
    pub fn is_bare(&self) -> bool {
        self.bare
    }

    /// An access has failed: nothing else will be done by this attempt.
    #[cold]
    pub fn doom(&mut self, abort: Abort) -> Abort {
        self.doomed = Some(abort);
        self.bare = false;
        abort
    }

    /// True between begin and the end of the attempt.
    pub fn is_open(&self) -> bool {
        self.open
    }

    /// The unique index that has refused the last insert or update.
    pub fn refused_by(&self) -> Option<TableId> {
        self.refused_by
    }

    /// What its committed transactions did so far, if that is recorded.
    pub fn take_history(&mut self) -> WorkerHistory {
        self.recorder.as_mut().map(Recorder::take).unwrap_or_default()
    }

    /// True when it is time to retire some records.
    #[inline]
    pub fn is_purge_due(&self) -> bool {
        self.purge.is_due()
    }

    /// The version of the running attempt's writes.
    #[inline]
    pub fn version(&self) -> Version {
        Version::new(self.id(), 1)
    }

    /// The attempt that has just begun, as its sites know it.
    #[inline(always)]
    pub fn txn<'a>(&self, start: Start<'a>) -> Txn<'a> {
        let Start { attempt, read_only, partitions } = start;
        Txn { id: self.id(), age: None, attempt, read_only, partitions }
    }

    #[inline]
    fn id(&self) -> TxnId {
        TxnId::new(self.slot, self.attempts)
    }
}

/// A record and the number of the site that it is at.
pub(crate) struct Sited<'s, M: Machine> {
    site: usize,
    record: Record<'s, M>,
}

impl<M: Machine> Clone for Sited<'_, M> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<M: Machine> Copy for Sited<'_, M> {}

/// A session at work: what it keeps, and its sites.
pub(crate) struct Work<'w, 's, M: Machine> {
    pub rows: &'w mut Rows<'s, M>,
    pub sites: &'w mut dyn Sites<'s, M>,
}

impl<'s, M: Machine> Work<'_, 's, M> {
    /// The table as everybody knows it: its schema and its layout are the same at all sites.
    #[inline(always)]
    fn table(&self, table: TableId) -> &'s Table<M> {
        self.rows.store.table(table)
    }

    /// The record of `key`, made if need be, and how it is found again.
    fn locate(&mut self, table: TableId, key: Key<'_>) -> Result<(Sited<'s, M>, Found), Abort> {
        let site = self.sites.of_key(table, key);
        let Located { record, name, made } = self.sites.site(site).locate(table, key)?;
        let found = Found { site, table, name };
        if made {
            self.purge_later(&found);
        }
        if let (Some(recorder), Key::Bytes(key)) = (&mut self.rows.recorder, key) {
            recorder.spelled(table, record.history_key(self.rows.core), key);
        }
        if let (Some(logger), Key::Bytes(key)) = (&mut self.rows.logger, key) {
            logger.spell(&record, key);
        }
        Ok((Sited { site, record }, found))
    }

    fn read_record(
        &mut self,
        at: Sited<'s, M>,
        columns: ColumnSet,
        intent: Intent,
        out: &mut [u8],
    ) -> Result<RowHead, Abort> {
        match self.rows.recorder {
            None => self.sites.site(at.site).read(at.record, columns, intent, out),
            Some(_) => self.read_recorded(at, columns, intent, out),
        }
    }

    /// As [`Work::read_record`], and puts on record what was read. Where values are evidence all columns are read, and of
    /// them those that were asked for go out.
    fn read_recorded(
        &mut self,
        Sited { site, record }: Sited<'s, M>,
        columns: ColumnSet,
        intent: Intent,
        out: &mut [u8],
    ) -> Result<RowHead, Abort> {
        let Rows { core, recorder, whole: row, .. } = &mut *self.rows;
        let (table, key) = (record.table().id(), record.history_key(core));
        let recorder = recorder.as_mut().expect("the run is recorded");
        // What the attempt writes itself is mixed into what it reads, so that is nobody's version.
        if !record.table().keeps_digests() || recorder.writes_to(table, key) {
            let head = self.sites.site(site).read(record, columns, intent, out)?;
            recorder.read(table, key, head, Digest::UNKNOWN);
            return Ok(head);
        }
        let layout = record.table().layout();
        row.clear();
        row.resize(layout.bytes(), 0);
        let head = self.sites.site(site).read(record, layout.all(), intent, row)?;
        let present = head.state.is_present();
        let values = if present { record.digest(head, row) } else { Digest::UNKNOWN };
        if present {
            layout.gather((layout.all(), row), columns, out);
        }
        recorder.read(table, key, head, values);
        Ok(head)
    }

    /// A write to a record has been accepted: to leave its row in `state` if that says so.
    fn note_write(&mut self, record: Record<'s, M>, state: Option<RowState>) {
        if let Some(recorder) = &mut self.rows.recorder
            && state != Some(RowState::RETIRED)
        {
            recorder.asked(record.table().id(), record.history_key(self.rows.core), state);
        }
    }
}

pub(crate) use purge_queue::Found;
