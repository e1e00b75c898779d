//! Records the requests to a schedule's sessions and their results, with values.
//!
//! A watched session wraps the real one and forwards every call. Recording is not a step of the machine, so a watched
//! run is identical to an unwatched one.

use engine::{RowVisit, Session, Start, Ticket, Walk};
use machine::{ExploredCore, Moment, Step, Switch, cold::Mutex};
use std::ops::ControlFlow;
use txn::{
    Abort, Access, Action, ColumnSet, Direction, Intent, Key, Keys, OwnedKey, TableId, Visit,
    WorkerHistory,
};

/// Request to a session.
#[derive(Clone, Debug)]
pub(super) enum What {
    Begin {
        attempt: u32,
    },
    /// An access of one row, with the values that were read, written or added. There are no values if the row does
    /// not exist.
    Row {
        verb: &'static str,
        table: TableId,
        key: OwnedKey,
        columns: ColumnSet,
        values: Option<Vec<u8>>,
        /// Set if the values are in held form.
        held: bool,
        done: Result<bool, Abort>,
    },
    /// A scan, with the rows that it visited.
    Scan {
        table: TableId,
        columns: ColumnSet,
        rows: Vec<(OwnedKey, Vec<u8>)>,
        range: String,
        done: Result<(), Abort>,
    },
    /// A stage of actions. The accesses of its actions are not told.
    Stage {
        actions: usize,
        done: Result<(), Abort>,
    },
    Commit {
        done: Result<(), Abort>,
    },
    Rollback,
    /// Removal of absent rows from their indexes.
    Maintain,
}

/// One request to the session of one worker.
#[derive(Clone, Debug)]
pub(super) struct Note {
    pub worker: usize,
    pub from: Moment,
    pub to: Moment,
    pub what: What,
}

/// Everything that is recorded of a run.
#[derive(Default)]
pub(super) struct Notes {
    /// Set if sessions are watched. Otherwise only the switches are recorded, and the steps if the machine records
    /// them.
    pub watched: bool,
    pub notes: Mutex<Vec<Note>>,
    pub steps: Mutex<Vec<Step>>,
    pub switches: Mutex<Vec<Switch>>,
}

/// A session that records its requests.
pub(super) struct Watched<'w, 's> {
    pub session: Box<dyn Session + 's>,
    pub core: &'w ExploredCore,
    pub worker: usize,
    pub notes: &'w Notes,
}

impl Watched<'_, '_> {
    fn note(&self, from: Moment, what: What) {
        let note = Note { worker: self.worker, from, to: self.core.moment(), what };
        self.notes.notes.lock().push(note);
    }

    fn row(
        &self,
        from: Moment,
        verb: &'static str,
        (table, key): (TableId, Key<'_>),
        (columns, values): (ColumnSet, &[u8]),
        done: Result<bool, Abort>,
    ) {
        let values = matches!(done, Ok(true)).then(|| values.to_vec());
        let (key, held) = (key.to_owned(), false);
        self.note(from, What::Row { verb, table, key, columns, values, held, done });
    }

    /// Scans with `scan` and records the rows that it visits.
    fn scanned(
        &mut self,
        (table, columns): (TableId, ColumnSet),
        range: String,
        visit: &mut Visit<'_>,
        scan: impl FnOnce(&mut dyn Session, &mut Visit<'_>) -> Result<(), Abort>,
    ) -> Result<(), Abort> {
        let from = self.core.moment();
        let mut rows = Vec::new();
        let mut noting = |key: Key<'_>, values: &[u8]| -> ControlFlow<()> {
            rows.push((key.to_owned(), values.to_vec()));
            visit(key, values)
        };
        let done = scan(&mut *self.session, &mut noting);
        self.note(from, What::Scan { table, columns, rows, range, done });
        done
    }
}

fn shown(range: &Keys<'_>, direction: Direction) -> String {
    let ends = match range {
        Keys::Numbers(range) => format!("{} to {}", range.first(), range.last()),
        Keys::Bytes(range) => {
            let last =
                range.last().map_or("the end".to_owned(), |last| Key::Bytes(last).to_string());
            format!("{} to {last}", Key::Bytes(range.first()))
        }
    };
    if direction == Direction::Backward { format!("{ends}, backward") } else { ends }
}

/// Returns what a reader with this intent does.
fn reads(intent: Intent) -> &'static str {
    if intent == Intent::Update { "reads for update" } else { "reads" }
}

impl Access for Watched<'_, '_> {
    fn read_with(
        &mut self,
        table: TableId,
        key: Key<'_>,
        columns: ColumnSet,
        intent: Intent,
        out: &mut [u8],
    ) -> Result<bool, Abort> {
        let from = self.core.moment();
        let done = self.session.read_with(table, key, columns, intent, out);
        let values = matches!(done, Ok(true)).then(|| out.to_vec());
        let (verb, key) = (reads(intent), key.to_owned());
        self.note(from, What::Row { verb, table, key, columns, values, held: true, done });
        done
    }

    fn fetch(
        &mut self,
        table: TableId,
        key: Key<'_>,
        columns: ColumnSet,
        intent: Intent,
        out: &mut Vec<u8>,
    ) -> Result<bool, Abort> {
        let from = self.core.moment();
        let done = self.session.fetch(table, key, columns, intent, out);
        self.row(from, reads(intent), (table, key), (columns, out), done);
        done
    }

    fn update(
        &mut self,
        table: TableId,
        key: Key<'_>,
        columns: ColumnSet,
        values: &[u8],
    ) -> Result<bool, Abort> {
        let from = self.core.moment();
        let done = self.session.update(table, key, columns, values);
        self.row(from, "updates", (table, key), (columns, values), done);
        done
    }

    fn add(
        &mut self,
        table: TableId,
        key: Key<'_>,
        columns: ColumnSet,
        deltas: &[u8],
    ) -> Result<bool, Abort> {
        let from = self.core.moment();
        let done = self.session.add(table, key, columns, deltas);
        self.row(from, "adds to", (table, key), (columns, deltas), done);
        done
    }

    fn adds_at_commit(&self) -> bool {
        self.session.adds_at_commit()
    }

    fn insert(&mut self, table: TableId, key: Key<'_>, row: &[u8]) -> Result<bool, Abort> {
        let from = self.core.moment();
        let done = self.session.insert(table, key, row);
        self.row(from, "inserts", (table, key), (ColumnSet(u64::MAX), row), done);
        done
    }

    fn insert_many(&mut self, table: TableId, rows: &[(u64, &[u8])]) -> Result<usize, Abort> {
        let from = self.core.moment();
        let done = self.session.insert_many(table, rows);
        // An error does not say at which row it happened. All rows are noted with it, since the attempt aborts.
        let tried = done.map_or(rows.len(), |inserted| inserted + 1);
        for (at, (key, row)) in rows.iter().enumerate().take(tried) {
            let each = done.map(|inserted| at < inserted);
            self.row(from, "inserts", (table, Key::Number(*key)), (ColumnSet(u64::MAX), row), each);
        }
        done
    }

    fn delete(&mut self, table: TableId, key: Key<'_>) -> Result<bool, Abort> {
        let from = self.core.moment();
        let done = self.session.delete(table, key);
        self.row(from, "deletes", (table, key), (ColumnSet::NONE, &[]), done);
        done
    }

    fn scan(
        &mut self,
        table: TableId,
        range: Keys<'_>,
        direction: Direction,
        columns: ColumnSet,
        visit: &mut Visit<'_>,
    ) -> Result<(), Abort> {
        let text = shown(&range, direction);
        self.scanned((table, columns), text, visit, |session, visit| {
            session.scan(table, range, direction, columns, visit)
        })
    }

    fn scan_index(
        &mut self,
        index: TableId,
        range: Keys<'_>,
        direction: Direction,
        columns: ColumnSet,
        visit: &mut Visit<'_>,
    ) -> Result<(), Abort> {
        let text = shown(&range, direction);
        self.scanned((index, columns), text, visit, |session, visit| {
            session.scan_index(index, range, direction, columns, visit)
        })
    }

    fn refused_by(&self) -> Option<TableId> {
        self.session.refused_by()
    }

    fn prefetch(&mut self, table: TableId, rows: &[(u64, ColumnSet)]) {
        self.session.prefetch(table, rows);
    }

    fn append(&mut self, row: &[u8]) -> Result<(), Abort> {
        self.session.append(row)
    }

    fn allocate_timestamp(&mut self) -> u64 {
        self.session.allocate_timestamp()
    }

    fn compute(&mut self, cycles: u64) {
        self.session.compute(cycles);
    }

    fn splits(&self) -> bool {
        self.session.splits()
    }

    fn run_actions(&mut self, actions: &mut [Action<'_>]) -> Result<(), Abort> {
        let from = self.core.moment();
        let done = self.session.run_actions(actions);
        self.note(from, What::Stage { actions: actions.len(), done });
        done
    }
}

impl Session for Watched<'_, '_> {
    fn begin(&mut self, start: Start<'_>) {
        let from = self.core.moment();
        self.session.begin(start);
        self.note(from, What::Begin { attempt: start.attempt });
    }

    fn locks_partitions(&self) -> bool {
        self.session.locks_partitions()
    }

    fn plans(&self) -> bool {
        self.session.plans()
    }

    fn changes_threads(&self) -> bool {
        self.session.changes_threads()
    }

    fn commit(&mut self) -> Result<(), Abort> {
        let from = self.core.moment();
        let done = self.session.commit();
        self.note(from, What::Commit { done });
        done
    }

    fn rollback(&mut self) {
        let from = self.core.moment();
        self.session.rollback();
        self.note(from, What::Rollback);
    }

    fn check_and_rollback(&mut self) -> Result<(), Abort> {
        let from = self.core.moment();
        let done = self.session.check_and_rollback();
        self.note(from, What::Rollback);
        done
    }

    fn in_transaction(&self) -> bool {
        self.session.in_transaction()
    }

    fn priority(&self) -> Option<u64> {
        self.session.priority()
    }

    fn longest_back_off(&mut self) -> Option<u64> {
        self.session.longest_back_off()
    }

    fn take_ticket(&mut self) -> Option<Ticket> {
        self.session.take_ticket()
    }

    fn walk(
        &mut self,
        table: TableId,
        walk: &Walk,
        visit: &mut RowVisit<'_>,
    ) -> Result<Option<Walk>, Abort> {
        self.session.walk(table, walk, visit)
    }

    fn take_history(&mut self) -> WorkerHistory {
        self.session.take_history()
    }

    fn maintain(&mut self) {
        let from = self.core.moment();
        self.session.maintain();
        if self.core.moment().step > from.step {
            self.note(from, What::Maintain);
        }
    }

    fn forget_table(&mut self, table: TableId) {
        self.session.forget_table(table);
    }

    fn reclaim(&mut self) {
        self.session.reclaim();
    }
}
