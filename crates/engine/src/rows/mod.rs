//! Rows: keys of both kinds, hot and cold columns, secondary indexes, scans, retirement,
//! recording.
//!
//! This layer lies above sites. It is written once for all protocols and architectures, and it is compiled once
//! per machine. [`Rows`] is the state that a session keeps for it. [`Work`] is that state together with the
//! session's sites, for one call.
//!
//! - `accesses.rs`: accesses to rows by their keys.
//! - `added.rs`: columns that were added to a table.
//! - `hot_columns.rs`: rows in two parts.
//! - `indexes.rs`: secondary indexes.
//! - `scans.rs`: ranges. `merged_scans.rs`: ranges at several sites. `tree_key.rs`: the two kinds of keys that ranges
//!   are of.
//! - `plans.rs`: accesses that are announced before the transaction runs.
//! - `retirement.rs`: removes absent records from their indexes. `purge_queue.rs`: the candidates for that.
//! - `attempt.rs`: begin, commit and the end of an attempt.
//! - `apart.rs`: parts of an attempt that are done by a session's executors.
//! - `recorder.rs`: the history.
//! - `logger.rs`: what the log receives.
//! - `values.rs`: values of variable length.
//! - `walks.rs`: all rows of a table, piece by piece.
//!
//! An attempt is open from `begin` until its commit or abort has ended. If an access fails, the attempt is
//! doomed: every further access fails with the same reason, and commit rolls it back.

mod accesses;
mod added;
mod apart;
mod attempt;
mod hot_columns;
mod indexes;
mod logger;
mod merged_scans;
mod plans;
mod purge_queue;
mod recorder;
mod retirement;
mod scans;
mod tree_key;
mod values;
mod walks;

use crate::{
    EngineOptions, Start,
    log::Log,
    site::{Located, NextAccess, Site, time_look_up},
};
use logger::Logger;
use machine::{Category, Core, Machine};
use protocols::{Txn, faults};
use purge_queue::PurgeQueue;
use recorder::Recorder;
use storage::{Appended, Record, RowHead, RowState, Store, Table};
use txn::{
    Abort, AbortReason, Action, ColumnSet, Digest, Intent, Key, KeyRange, TableId, TxnId, Version,
    WorkerHistory,
};
use values::ValueStates;

pub(crate) use attempt::Ending;

/// The sites that a session's transactions can access, and the choice of the site that executes an access. This
/// is what distinguishes architectures.
pub(crate) trait Sites<'s, M: Machine> {
    /// Returns the number of sites.
    fn count(&self) -> usize;

    /// Decides which sites take part in the attempt that is about to begin, and waits until it can begin there.
    fn enter(&mut self, txn: &Txn<'_>) {
        let _ = txn;
    }

    /// Ends what [`Sites::enter`] has begun. The attempt has ended at all its sites. Does nothing the second time.
    fn exit(&mut self) {}

    /// Returns the number of sites that take part in the running attempt.
    fn taking_part(&self) -> usize {
        self.count()
    }

    /// Returns the number of a site that takes part in the running attempt. `at` counts these sites.
    fn part(&self, at: usize) -> usize {
        at
    }

    /// Returns the number of the site that has the row `key` of `table`, if that site takes part in the running attempt.
    fn of_key(&self, table: TableId, key: Key<'_>) -> Option<usize>;

    /// Returns the place of the rows of `table` with keys in `keys`.
    fn of_range(&self, table: TableId, keys: KeyRange) -> Place;

    /// Returns site number `at`.
    fn site(&mut self, at: usize) -> &mut dyn Site<'s, M>;

    /// Returns false if the session has done nothing at site number `at` so far.
    fn is_used(&self, at: usize) -> bool {
        let _ = at;
        true
    }

    /// Returns true if attempts must declare their partitions, whatever the protocol is.
    fn latches_partitions(&self) -> bool {
        false
    }

    /// Returns the transaction's priority, if the protocol decides conflicts by age.
    fn age(&self) -> Option<u64>;

    /// Returns true if the session has executors, which run actions at the same time.
    #[inline(always)]
    fn splits(&self) -> bool {
        false
    }

    /// Has the executors run actions of the attempt of `rows`. Returns the numbers of the actions that are left to the session.
    /// It must not touch the others before [`Sites::end_actions`] has returned, not even after a panic.
    fn start_actions(&mut self, rows: &mut Rows<'s, M>, actions: &mut [Action<'_>]) -> Vec<usize> {
        let _ = rows;
        (0..actions.len()).collect()
    }

    /// Has the executors end the attempt of `rows` at the sites where they are. Returns the numbers of the sites that are left to
    /// the session, which must then call [`Sites::end_actions`].
    fn start_endings(&mut self, rows: &mut Rows<'s, M>, ending: Ending) -> Vec<usize> {
        let _ = (rows, ending);
        (0..self.taking_part()).map(|at| self.part(at)).collect()
    }

    /// Waits until the executors have run their actions. Returns the failure of one of them, if one has failed.
    fn end_actions(&mut self, rows: &mut Rows<'s, M>) -> Result<(), Abort> {
        let _ = rows;
        Ok(())
    }
}

/// The sites that have the rows of a range.
pub(crate) enum Place {
    /// The site with this number.
    One(usize),
    /// Several sites, ascending. The running attempt can access all of them.
    Several(Vec<usize>),
    /// Sites of which the running attempt cannot access one.
    Undeclared,
}

/// The distinct sites that have rows of a range, as they are met.
#[derive(Default)]
pub(crate) struct RangeSites {
    first: Option<usize>,
    /// All of them, ascending, from the second one on.
    several: Vec<usize>,
}

impl RangeSites {
    /// Adds a site.
    pub fn add(&mut self, site: usize) {
        match self.first {
            None => self.first = Some(site),
            Some(first) if first == site => {}
            Some(first) => {
                if self.several.is_empty() {
                    self.several.push(first);
                }
                if let Err(place) = self.several.binary_search(&site) {
                    self.several.insert(place, site);
                }
            }
        }
    }

    /// Returns the place of the range. A range without rows is at site number `otherwise`.
    pub fn place(self, otherwise: usize) -> Place {
        match self.several.is_empty() {
            true => Place::One(self.first.unwrap_or(otherwise)),
            false => Place::Several(self.several),
        }
    }
}

/// Returns the abort of an attempt that accesses a site in which it does not take part.
#[cold]
fn undeclared() -> Abort {
    Abort::because(AbortReason::UndeclaredPartition)
}

/// State of a session apart from its sites.
pub(crate) struct Rows<'s, M: Machine> {
    core: &'s M::Core,
    /// Store of the first owner. Tables have the same schema and layout at every owner, but not the same rows.
    store: &'s Store<M>,
    session: usize,
    recorder: Option<Recorder>,
    logger: Option<Box<Logger<'s, M>>>,
    /// Set if there is neither a recorder nor a logger.
    unwatched: bool,
    purge: PurgeQueue,
    values: ValueStates,
    /// Number of attempts so far. With the session it identifies the running attempt.
    attempts: u64,
    /// Set between begin and the end of an attempt.
    open: bool,
    /// Reason for which an access of the running attempt has failed. Such an attempt cannot commit.
    doomed: Option<Abort>,
    /// Set if the attempt is alive and neither recorded nor logged nor timed. An access then needs no work
    /// around it.
    bare: bool,
    /// Unique index that refused the last insert or update.
    refused_by: Option<TableId>,
    /// Rows that no key leads to. None before the first one.
    appended: Option<Appended>,
    /// Identity of the record that was accessed last, on modelled machines.
    accessed: usize,
    /// Buffer for the row that a scan has reached.
    scanned: Vec<u8>,
    /// Buffer for the values of one part of a row.
    part: Vec<u8>,
    /// Buffer for a row that is read as a whole for the recorder.
    whole: Vec<u8>,
}

impl<'s, M: Machine> Rows<'s, M> {
    /// Makes the state of session number `session`, which `core` uses.
    pub fn new(
        core: &'s M::Core,
        store: &'s Store<M>,
        session: usize,
        options: &EngineOptions,
        log: Option<&'s Log<M>>,
    ) -> Self {
        let recorder = options.record_history.then(Recorder::default);
        let logger = log.map(|log| Box::new(Logger::new(log)));
        Rows::watched_by(core, store, session, (recorder, logger), options.purge_batch)
    }

    fn watched_by(
        core: &'s M::Core,
        store: &'s Store<M>,
        session: usize,
        (recorder, logger): (Option<Recorder>, Option<Box<Logger<'s, M>>>),
        purge_batch: usize,
    ) -> Self {
        Rows {
            core,
            store,
            session,
            unwatched: recorder.is_none() && logger.is_none(),
            recorder,
            logger,
            purge: PurgeQueue::new(purge_batch),
            values: ValueStates::default(),
            attempts: 0,
            open: false,
            doomed: None,
            bare: false,
            refused_by: None,
            appended: None,
            accessed: 0,
            scanned: Vec::new(),
            part: Vec::new(),
            whole: Vec::new(),
        }
    }

    /// Returns the core that uses the session.
    #[inline(always)]
    pub fn core(&self) -> &'s M::Core {
        self.core
    }

    /// Returns true if an access of the running attempt needs no work around it.
    #[inline(always)]
    pub fn is_bare(&self) -> bool {
        self.bare
    }

    /// Returns true between attempts, if attempts are neither recorded nor logged.
    #[inline(always)]
    pub fn is_idle_and_unwatched(&self) -> bool {
        self.unwatched && !self.open
    }

    /// Charges for an access to `record`. Operations that follow each other on one record are one access.
    #[inline(always)]
    fn charge_access(&mut self, record: &Record<'s, M>) {
        if !M::MODELLED {
            return;
        }
        let before = std::mem::replace(&mut self.accessed, record.identity());
        if before != record.identity() {
            self.core.account(Category::Useful);
            self.core.compute_access();
        }
    }

    /// Dooms the attempt, because an access has failed. No further access of this attempt will be executed.
    #[cold]
    pub fn doom(&mut self, abort: Abort) -> Abort {
        self.doomed = Some(abort);
        self.bare = false;
        abort
    }

    /// Notes that the attempt has tried to insert a row in a record that was located at site number `site`.
    #[inline]
    pub fn tried_insert(
        &mut self,
        site: usize,
        table: TableId,
        located: Located<'s, M>,
        inserted: bool,
    ) {
        self.refused_by = None;
        if located.made {
            let found = Found { site, table, name: located.name };
            match inserted {
                true => self.purge.inserted_in_made(found),
                false => self.purge.add(found),
            }
        }
    }

    /// Returns true between begin and the end of the attempt.
    pub fn is_open(&self) -> bool {
        self.open
    }

    /// Returns the unique index that refused the last insert or update, if one did.
    pub fn refused_by(&self) -> Option<TableId> {
        self.refused_by
    }

    /// Takes the history of the committed transactions so far. It is empty unless histories are recorded.
    pub fn take_history(&mut self) -> WorkerHistory {
        self.recorder.as_mut().map(Recorder::take).unwrap_or_default()
    }

    /// Returns true if it is time to retire some records.
    #[inline]
    pub fn is_purge_due(&self) -> bool {
        self.purge.is_due() || self.is_release_due()
    }

    /// Returns the version of the running attempt's writes.
    #[inline]
    pub fn version(&self) -> Version {
        Version::new(self.id(), 1)
    }

    /// Returns the description of the attempt that has just begun, for its sites. `alone` is set if it has one site and
    /// accesses rows only ([`Txn::alone`]).
    #[inline(always)]
    pub fn txn<'a>(&self, start: Start<'a>, alone: bool) -> Txn<'a> {
        let Start { attempt, age, read_only, partitions, plan } = start;
        let planned = !plan.is_empty();
        Txn { id: self.id(), age, attempt, read_only, partitions, planned, alone }
    }

    #[inline]
    fn id(&self) -> TxnId {
        TxnId::new(self.session, self.attempts)
    }
}

/// The access that follows a look-up of a row that is going to be deleted, or of an entry.
const CHANGE: NextAccess =
    NextAccess { columns: ColumnSet::NONE, intent: Intent::Update, reads: true };

/// A record and the number of its site.
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

/// A session's state together with its sites, for one call.
pub(crate) struct Work<'w, 's, M: Machine> {
    pub rows: &'w mut Rows<'s, M>,
    pub sites: &'w mut dyn Sites<'s, M>,
}

impl<'s, M: Machine> Work<'_, 's, M> {
    /// Returns the table of the first owner. Its schema and its layout are the same at all sites.
    #[inline(always)]
    fn table(&self, table: TableId) -> &'s Table<M> {
        self.rows.store.table(table)
    }

    /// Returns the record of `key` and the data to find it again. Makes the record if there is none. `next` is the access
    /// that follows, if the caller knows it.
    #[inline(always)]
    fn locate(
        &mut self,
        table: TableId,
        key: Key<'_>,
        next: Option<NextAccess>,
    ) -> Result<(Sited<'s, M>, Found), Abort> {
        let site = self.sites.of_key(table, key).ok_or_else(undeclared)?;
        let Located { record, name, made } = self.sites.site(site).locate(table, key, next)?;
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

    #[inline(always)]
    fn read_record(
        &mut self,
        at: Sited<'s, M>,
        columns: ColumnSet,
        intent: Intent,
        out: &mut [u8],
    ) -> Result<RowHead, Abort> {
        if self.bypasses(at.record, columns, intent) {
            // The read is no part of the history.
            return Ok(self.read_uncontrolled(at.record, columns, out));
        }
        self.read_controlled(at, columns, intent, out)
    }

    /// Returns true if `columns` of `record` are read without the protocol.
    fn bypasses(&self, record: Record<'s, M>, columns: ColumnSet, intent: Intent) -> bool {
        let core = self.rows.core;
        let changing = core.is_planted(faults::CHANGING_COLUMNS_UNCONTROLLED);
        let bypassed = record.table().is_uncontrolled(columns) || changing && !columns.is_empty();
        bypassed && intent == Intent::Read
    }

    /// Reads constant columns without the protocol.
    fn read_uncontrolled(
        &mut self,
        record: Record<'s, M>,
        columns: ColumnSet,
        out: &mut [u8],
    ) -> RowHead {
        let core = self.rows.core;
        core.account(Category::Useful);
        self.rows.charge_access(&record);
        time_look_up(core, &record);
        record.table().look_up(core, columns);
        record.copy_out(core, columns, out)
    }

    /// Reads through the protocol. Scans read so, because a history lists what a scan has seen.
    #[inline(always)]
    fn read_controlled(
        &mut self,
        at: Sited<'s, M>,
        columns: ColumnSet,
        intent: Intent,
        out: &mut [u8],
    ) -> Result<RowHead, Abort> {
        self.rows.charge_access(&at.record);
        match self.rows.recorder {
            None => self.sites.site(at.site).read(at.record, columns, intent, out),
            Some(_) => self.read_recorded(at, columns, intent, out),
        }
    }

    /// Reads as [`Work::read_record`] does, and records the read in the history. If values are recorded, it
    /// reads all columns and copies those that were asked for to `out`.
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
        // Own writes of the attempt are mixed into what it reads, so the read shows no installed version.
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

    /// Records that a write to a record has been accepted. `state` is the state in which it leaves the row, if
    /// it changes it.
    fn note_write(&mut self, record: Record<'s, M>, state: Option<RowState>) {
        if let Some(recorder) = &mut self.rows.recorder
            && state != Some(RowState::RETIRED)
        {
            recorder.asked(record.table().id(), record.history_key(self.rows.core), state);
        }
    }
}

pub(crate) use purge_queue::Found;
