//! Implements a database for one transaction at a time: maps, an undo list, and mistakes on request.

use std::{collections::BTreeMap, convert::Infallible};
use txn::{
    Abort, AbortReason, Access, Action, Client, ColumnSet, Direction, Intent, Key, KeyRange, Keys,
    Loader, RowLayout, Schema, TableId, Visit, Workload,
};

/// A mistake that the store makes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mistake {
    None,
    /// Every 97th update is lost.
    LostUpdate,
    /// An update stores the whole row as it was some updates ago, with only the updated columns new.
    StaleColumns,
    /// Every 97th delete leaves the row in place.
    LostDelete,
    /// Every 97th scan misses the last row of its range.
    ShortScan,
    /// An aborted attempt's writes remain.
    NoUndo,
    /// Every 97th entry that should be removed from an index remains.
    StaleEntry,
    /// A unique index refuses nothing.
    DoubledEntry,
}

/// A recorded operation, for comparing runs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Event {
    Read(TableId, u64, ColumnSet, Intent),
    Update(TableId, u64, ColumnSet, Vec<u8>),
    Insert(TableId, u64),
    Delete(TableId, u64),
    Scan(TableId, KeyRange, Direction),
    ScanIndex(TableId, KeyRange, Direction),
    Prefetch(Vec<(u64, ColumnSet)>),
    Append(usize),
}

/// A row as it was before a write. `None` before an insert.
type Before = ((TableId, u64), Option<Vec<u8>>);

pub struct Store {
    layouts: Vec<RowLayout>,
    schema: Schema,
    refused_by: Option<TableId>,
    pub rows: BTreeMap<(TableId, u64), Vec<u8>>,
    /// Numbers assigned to keys of bytes.
    spelled: BTreeMap<Vec<u8>, u64>,
    first: BTreeMap<(TableId, u64), Vec<u8>>,
    undo: Vec<Before>,
    mistake: Mistake,
    writes: u64,
    timestamp: u64,
    /// Number of accesses before the attempt is aborted.
    pub abort_after: Option<u64>,
    pub events: Vec<Event>,
    pub record_events: bool,
    /// Value that [`Access::adds_at_commit`] returns.
    pub adds_at_commit: bool,
    /// Set to split transactions into actions. They are run one after another, the last one first.
    pub splits: bool,
    /// Number of actions so far.
    pub actions: usize,
    /// Number of rows that scans have visited.
    pub visited: usize,
}

impl Store {
    pub fn loaded(workload: &impl Workload, mistake: Mistake) -> Store {
        let schema = workload.schema();
        let mut store = Store {
            layouts: schema.tables.iter().map(RowLayout::of).collect(),
            schema: schema.clone(),
            refused_by: None,
            rows: BTreeMap::new(),
            spelled: BTreeMap::new(),
            first: BTreeMap::new(),
            undo: Vec::new(),
            mistake,
            writes: 0,
            timestamp: 0,
            abort_after: None,
            events: Vec::new(),
            record_events: false,
            adds_at_commit: false,
            splits: false,
            actions: 0,
            visited: 0,
        };
        schema.check().unwrap();
        workload.load(&mut store);
        store.first = store.rows.clone();
        store
    }

    /// Returns whether a client's transactions access their rows in ascending order, and declare at the first
    /// access to a row whether they will write it.
    pub fn keeps_order(workload: &impl Workload, transactions: usize) -> bool {
        let mut store = Store::loaded(workload, Mistake::None);
        store.record_events = true;
        let mut client = workload.client(0, 1, 11);
        (0..transactions).all(|_| {
            client.next();
            store.commit(&mut client);
            let mut met = BTreeMap::new();
            std::mem::take(&mut store.events).into_iter().all(|event| {
                let (row, write) = match event {
                    Event::Read(table, key, _, intent) => ((table, key), intent == Intent::Update),
                    Event::Update(table, key, ..)
                    | Event::Insert(table, key)
                    | Event::Delete(table, key) => ((table, key), true),
                    // Scans follow no order of rows.
                    Event::Scan(..) | Event::ScanIndex(..) => return false,
                    Event::Prefetch(..) | Event::Append(_) => return true,
                };
                let last = met.last_key_value().map(|(row, _)| *row);
                match met.get(&row) {
                    Some(written) => *written || !write,
                    None => {
                        met.insert(row, write);
                        last < Some(row)
                    }
                }
            })
        })
    }

    /// Runs the drawn procedure until it commits.
    pub fn commit(&mut self, client: &mut impl Client) {
        while self.attempt(client).is_err() {}
    }

    pub fn attempt(&mut self, client: &mut impl Client) -> Result<(), Abort> {
        self.undo.clear();
        let result = client.run(self);
        if result.is_err() && self.mistake != Mistake::NoUndo {
            for (place, before) in self.undo.drain(..).rev() {
                match before {
                    Some(row) => self.rows.insert(place, row),
                    None => self.rows.remove(&place),
                };
            }
        }
        result
    }

    fn step(&mut self, event: impl FnOnce() -> Event) -> Result<(), Abort> {
        if self.record_events {
            self.events.push(event());
        }
        match &mut self.abort_after {
            Some(0) => {
                self.abort_after = None;
                Err(Abort::because(AbortReason::Validation))
            }
            Some(left) => {
                *left -= 1;
                Ok(())
            }
            None => Ok(()),
        }
    }

    fn slips(&mut self, mistake: Mistake) -> bool {
        self.writes += 1;
        self.mistake == mistake && self.writes.is_multiple_of(97)
    }

    /// Returns a number for every key. Keys of bytes get numbers in the order of their first use.
    fn number_of(&mut self, key: Key<'_>) -> u64 {
        match key {
            Key::Number(number) => number,
            Key::Bytes(bytes) => {
                let next = self.spelled.len() as u64;
                *self.spelled.entry(bytes.to_vec()).or_insert(next)
            }
        }
    }

    /// Returns the entries of a row in the indexes of its table.
    fn entries(&self, table: TableId, key: u64, row: &[u8]) -> Vec<(TableId, u64)> {
        let indexes = &self.schema.tables[table.0 as usize].indexes;
        let entry = |id: &TableId| {
            let index = self.schema.tables[id.0 as usize].index_of.as_ref().unwrap();
            let layout = self.layout(table);
            let value_of = |column| layout.field(layout.all(), row, column);
            (*id, index.entry_of(key, value_of).expect("the index has a place"))
        };
        indexes.iter().map(entry).collect()
    }

    /// Changes the indexes of a table. Returns false if a unique index refuses.
    fn move_entries(
        &mut self,
        table: TableId,
        key: u64,
        before: Option<&[u8]>,
        after: Option<&[u8]>,
    ) -> bool {
        let old = before.map_or(Vec::new(), |row| self.entries(table, key, row));
        let fresh = after.map_or(Vec::new(), |row| self.entries(table, key, row));
        for entry in fresh.iter().filter(|entry| !old.contains(entry)) {
            let taken = self.rows.contains_key(entry);
            if taken && self.mistake != Mistake::DoubledEntry {
                self.refused_by = Some(entry.0);
                return false;
            }
        }
        for entry in old.iter().filter(|entry| !fresh.contains(entry)) {
            if !self.slips(Mistake::StaleEntry) {
                let row = self.rows.remove(entry);
                self.undo.push((*entry, row));
            }
        }
        for entry in fresh.into_iter().filter(|entry| !old.contains(entry)) {
            let row = self.rows.insert(entry, key.to_le_bytes().to_vec());
            self.undo.push((entry, row));
        }
        true
    }

    fn layout(&self, table: TableId) -> &RowLayout {
        &self.layouts[table.0 as usize]
    }

    /// Returns `columns` of a packed row.
    fn pick(&self, table: TableId, columns: ColumnSet, row: &[u8]) -> Vec<u8> {
        let (layout, mut picked) = (self.layout(table), Vec::new());
        for (column, value) in layout.fields(layout.all(), row) {
            if columns.contains(ColumnSet::one(column)) {
                layout.push(&mut picked, column, value);
            }
        }
        picked
    }
}

/// Returns a range to scan. Keys of bytes have no order here, and no workload has an index that needs more
/// than 64 bits.
fn numbers(range: Keys<'_>) -> KeyRange {
    match range {
        Keys::Numbers(range) => range,
        Keys::Bytes(range) => panic!("keys of bytes have no order here: {range:?}"),
    }
}

impl Access for Store {
    fn read_with(
        &mut self,
        table: TableId,
        key: Key<'_>,
        columns: ColumnSet,
        intent: Intent,
        out: &mut [u8],
    ) -> Result<bool, Abort> {
        let key = self.number_of(key);
        self.step(|| Event::Read(table, key, columns, intent))?;
        let Some(row) = self.rows.get(&(table, key)) else { return Ok(false) };
        let (picked, mut held) = (self.pick(table, columns, row), Vec::new());
        let apart = |_: &[u8]| -> Result<u64, Infallible> { panic!("such a column is fetched") };
        let Ok(()) = self.layout(table).hold(columns, &picked, &mut held, apart);
        out.copy_from_slice(&held);
        Ok(true)
    }

    fn fetch(
        &mut self,
        table: TableId,
        key: Key<'_>,
        columns: ColumnSet,
        intent: Intent,
        out: &mut Vec<u8>,
    ) -> Result<bool, Abort> {
        let key = self.number_of(key);
        self.step(|| Event::Read(table, key, columns, intent))?;
        let Some(row) = self.rows.get(&(table, key)) else { return Ok(false) };
        *out = self.pick(table, columns, row);
        Ok(true)
    }

    fn update(
        &mut self,
        table: TableId,
        key: Key<'_>,
        columns: ColumnSet,
        values: &[u8],
    ) -> Result<bool, Abort> {
        let key = self.number_of(key);
        self.step(|| Event::Update(table, key, columns, values.to_vec()))?;
        let place = (table, key);
        self.refused_by = None;
        let Some(mut row) = self.rows.get(&place).cloned() else { return Ok(false) };
        let before = row.clone();
        if self.slips(Mistake::LostUpdate) {
            return Ok(true);
        }
        if self.slips(Mistake::StaleColumns)
            && let Some(first) = self.first.get(&place)
        {
            row = first.clone();
        }
        let row = self.layout(table).replaced(&row, columns, values);
        if !self.move_entries(table, key, Some(&before), Some(&row)) {
            return Ok(false);
        }
        self.undo.push((place, Some(before)));
        self.rows.insert(place, row);
        Ok(true)
    }

    fn add(
        &mut self,
        table: TableId,
        key: Key<'_>,
        columns: ColumnSet,
        deltas: &[u8],
    ) -> Result<bool, Abort> {
        self.add_to_what_is_read(table, key, columns, deltas)
    }

    fn adds_at_commit(&self) -> bool {
        self.adds_at_commit
    }

    fn insert(&mut self, table: TableId, key: Key<'_>, row: &[u8]) -> Result<bool, Abort> {
        let key = self.number_of(key);
        self.step(|| Event::Insert(table, key))?;
        self.refused_by = None;
        if self.rows.contains_key(&(table, key)) {
            return Ok(false);
        }
        if !self.move_entries(table, key, None, Some(row)) {
            return Ok(false);
        }
        self.undo.push(((table, key), None));
        self.rows.insert((table, key), row.to_vec());
        Ok(true)
    }

    fn delete(&mut self, table: TableId, key: Key<'_>) -> Result<bool, Abort> {
        let key = self.number_of(key);
        self.step(|| Event::Delete(table, key))?;
        if self.slips(Mistake::LostDelete) {
            return Ok(self.rows.contains_key(&(table, key)));
        }
        let row = self.rows.remove(&(table, key));
        let found = row.is_some();
        self.move_entries(table, key, row.as_deref(), None);
        self.undo.push(((table, key), row));
        Ok(found)
    }

    fn scan(
        &mut self,
        table: TableId,
        range: Keys<'_>,
        direction: Direction,
        columns: ColumnSet,
        visit: &mut Visit<'_>,
    ) -> Result<(), Abort> {
        let range = numbers(range);
        self.step(|| Event::Scan(table, range, direction))?;
        let mut keys: Vec<u64> = self
            .rows
            .range((table, range.first())..=(table, range.last()))
            .map(|((_, key), _)| *key)
            .collect();
        if self.slips(Mistake::ShortScan) {
            keys.pop();
        }
        if direction == Direction::Backward {
            keys.reverse();
        }
        for key in keys {
            let packed = self.pick(table, columns, &self.rows[&(table, key)]);
            self.visited += 1;
            if visit(key.into(), &packed).is_break() {
                break;
            }
        }
        Ok(())
    }

    fn scan_index(
        &mut self,
        index: TableId,
        range: Keys<'_>,
        direction: Direction,
        columns: ColumnSet,
        visit: &mut Visit<'_>,
    ) -> Result<(), Abort> {
        let range = numbers(range);
        self.step(|| Event::ScanIndex(index, range, direction))?;
        let base = self.schema.tables[index.0 as usize].index_of.as_ref().unwrap().table;
        let entries = self.rows.range((index, range.first())..=(index, range.last()));
        let mut keys: Vec<u64> = entries
            .map(|(_, key)| u64::from_le_bytes(key[..].try_into().expect("an entry is a key")))
            .collect();
        if direction == Direction::Backward {
            keys.reverse();
        }
        for key in keys {
            let Some(row) = self.rows.get(&(base, key)) else { continue };
            let packed = self.pick(base, columns, row);
            if visit(key.into(), &packed).is_break() {
                break;
            }
        }
        Ok(())
    }

    fn refused_by(&self) -> Option<TableId> {
        self.refused_by
    }

    fn prefetch(&mut self, _table: TableId, rows: &[(u64, ColumnSet)]) {
        if self.record_events {
            self.events.push(Event::Prefetch(rows.to_vec()));
        }
    }

    fn compute(&mut self, _: u64) {}

    fn splits(&self) -> bool {
        self.splits
    }

    fn run_actions(&mut self, actions: &mut [Action<'_>]) -> Result<(), Abort> {
        let mut all = Ok(());
        for action in actions.iter_mut().rev() {
            self.actions += 1;
            let before = (std::mem::take(&mut self.events), self.record_events);
            self.record_events = true;
            all = (action.body)(self).and(all);
            let (table, rule) =
                (action.table, self.schema.tables[action.table.0 as usize].partitioning);
            for event in std::mem::take(&mut self.events) {
                let (at, first, last) = match event {
                    Event::Read(table, key, ..)
                    | Event::Update(table, key, ..)
                    | Event::Insert(table, key)
                    | Event::Delete(table, key) => (table, key, key),
                    Event::Scan(table, range, _) => (table, range.first(), range.last()),
                    Event::Prefetch(..) => continue,
                    other => panic!("an action must not do this: {other:?}"),
                };
                assert_eq!(at, table, "an action stays in its table");
                for key in [first, last] {
                    assert_eq!(rule.of(key), rule.of(action.key), "an action stays with one owner");
                }
            }
            (self.events, self.record_events) = before;
        }
        all
    }

    fn append(&mut self, row: &[u8]) -> Result<(), Abort> {
        if self.record_events {
            self.events.push(Event::Append(row.len()));
        }
        Ok(())
    }

    fn allocate_timestamp(&mut self) -> u64 {
        self.timestamp += 1;
        self.timestamp
    }
}

impl Loader for Store {
    fn load_dense(&mut self, table: TableId, count: u64, row: &(dyn Fn(u64, &mut [u8]) + Sync)) {
        for key in 0..count {
            let mut bytes = vec![0; self.layouts[table.0 as usize].bytes()];
            row(key, &mut bytes);
            self.load(table, key.into(), &bytes);
        }
    }

    fn load_many(&mut self, table: TableId, count: u64, row: &(dyn Fn(u64, &mut Vec<u8>) + Sync)) {
        for key in 0..count {
            let mut bytes = Vec::new();
            row(key, &mut bytes);
            self.load(table, key.into(), &bytes);
        }
    }

    fn load(&mut self, table: TableId, key: Key<'_>, row: &[u8]) {
        let key = self.number_of(key);
        assert!(self.rows.insert((table, key), row.to_vec()).is_none(), "loaded twice");
        for entry in self.entries(table, key, row) {
            let other = self.rows.insert(entry, key.to_le_bytes().to_vec());
            assert!(other.is_none(), "an index has two entries of one key");
        }
    }
}
