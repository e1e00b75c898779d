//! Rows that the running attempt has announced: their memory is prefetched, and their records are found only once.
//!
//! A procedure that announces its keys accesses most of them soon afterwards. Prefetching a row finds the record that its key
//! most likely has, by bits of the hash alone. [`Announced`] keeps this record. The access then compares the record's
//! key and does not search the index again.
//!
//! Why a kept record is as good as a found one: it was in the index when it was announced, and the attempt had begun by
//! then. The attempt pins its epoch, so the slot of the record cannot be used for another record before the attempt has
//! ended. A record that has been removed from the index meanwhile is marked as retired, as it can be between any look-up
//! and the access that follows. The next attempt forgets all records.

use super::LocalSite;
use crate::bound_protocol::SessionProtocol;
use machine::{Core, Machine};
use protocols::{Protocol, faults};
use storage::{Announcements, LineSet, Record, Table};
use txn::{Abort, ColumnSet, Planned, TableId};

/// Number of places, a power of two: several times as many as a transaction usually announces keys.
const PLACES: usize = 128;

/// An announced key and its record.
struct Place<'s, M: Machine> {
    /// Attempt that has announced the key.
    attempt: u64,
    key: u64,
    record: Option<Record<'s, M>>,
}

/// The announced keys of the running attempt, and their records. If two keys have the same place, the later one has it.
pub(super) struct Announced<'s, M: Machine> {
    attempt: u64,
    places: Box<[Place<'s, M>; PLACES]>,
}

impl<M: Machine> Default for Announced<'_, M> {
    fn default() -> Self {
        let place = || Place { attempt: 0, key: 0, record: None };
        Announced { attempt: 0, places: Box::new(std::array::from_fn(|_| place())) }
    }
}

impl<'s, M: Machine> Announced<'s, M> {
    /// False on machines that charge for look-ups, so that an announcement does not hide what a look-up costs.
    const KEPT: bool = !M::MODELLED || M::MINIATURE;

    /// Forgets all records, because an attempt begins.
    #[inline(always)]
    pub fn begin(&mut self, core: &M::Core) {
        if !core.is_planted(faults::ANNOUNCED_BEFORE) {
            self.attempt += 1;
        }
    }

    /// Returns the number of the place of a key.
    #[inline(always)]
    fn place_of(key: u64) -> usize {
        (key.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> (u64::BITS - PLACES.trailing_zeros())) as usize
    }

    /// Returns the place of `key` and its record, if a row of this table was announced there, which may have another key.
    #[inline(always)]
    fn place(&self, home: &Table<M>, key: u64) -> Option<(&Place<'s, M>, Record<'s, M>)> {
        if !Self::KEPT {
            return None;
        }
        let place = &self.places[Self::place_of(key)];
        let record = place.record?;
        let is_it = place.attempt == self.attempt && std::ptr::eq(record.table(), home.shape());
        is_it.then_some((place, record))
    }

    /// Returns the record that was announced for `key`. The record itself may have another key.
    #[inline(always)]
    fn get(&self, home: &Table<M>, key: u64) -> Option<Record<'s, M>> {
        let (place, record) = self.place(home, key)?;
        (place.key == key).then_some(record)
    }

    /// Returns the record of `key`, if it was announced.
    #[inline(always)]
    pub fn find(&self, core: &M::Core, home: &Table<M>, key: u64) -> Option<Record<'s, M>> {
        // A record that has this key is the row's, whatever key it was announced for.
        self.place(home, key).map(|(_, record)| record).filter(|record| record.key(core) == key)
    }

    /// Keeps the record that was announced for `key`.
    #[inline(always)]
    fn keep(&mut self, key: u64, record: Record<'s, M>) {
        if Self::KEPT {
            let place = Place { attempt: self.attempt, key, record: Some(record) };
            self.places[Self::place_of(key)] = place;
        }
    }

    /// Prefetches these lines of a row's record, and keeps the record.
    #[inline(always)]
    fn fetch(&mut self, core: &M::Core, (key, record): (u64, Record<'s, M>), lines: LineSet) {
        record.prefetch_lines(core, lines);
        self.keep(key, record);
    }
}

impl<'s, M: Machine, P: Protocol<M>> LocalSite<'s, M, P> {
    /// Prefetches the memory that accesses to these columns of these rows will touch.
    #[inline(always)]
    pub fn prefetch(&mut self, table: TableId, rows: &[(u64, ColumnSet)]) {
        let (home, core) = (self.data.table(table), self.data.core);
        if M::MODELLED && !M::MINIATURE && !core.prefetches_lines() {
            return;
        }
        if rows.is_empty() || home.shape().access().announcements == Announcements::Ignored {
            return;
        }
        if const { P::PLANS } && self.has_planned(home, rows) {
            return;
        }
        // Prefetches buckets first, and then what they point to. Other fibers of the core run while they are on their way.
        if M::MODELLED || home.hot_columns().is_some() || !self.prefetch_by_hash(home, rows) {
            home.prefetch_buckets(core, rows.iter().map(|(key, _)| *key));
            core.switch_fiber();
            match home.hot_columns() {
                None if !M::MODELLED => self.prefetch_whole(home, rows),
                _ => self.prefetch_parts(home, rows),
            }
        }
        let apart = home.row_layout().apart();
        if !apart.is_empty() && rows.iter().any(|(_, columns)| apart.intersects(*columns)) {
            self.prefetch_values(home, rows);
        }
        core.switch_fiber();
    }

    /// Returns true if the attempt's plan has prefetched these rows. The first row stands for all: a procedure that plans
    /// announces its rows in the same groups.
    #[inline(always)]
    fn has_planned(&self, home: &Table<M>, rows: &[(u64, ColumnSet)]) -> bool {
        let (first, columns) = rows[0];
        // Values outside records are announced after the columns beside them.
        !home.row_layout().apart().intersects(columns) && self.announced.get(home, first).is_some()
    }

    /// Plans accesses at once: prefetches their rows, then tells the protocol of those whose record exists and holds the whole row,
    /// and whose columns are not special. Replaces the content of `left` by the others.
    pub fn plan_directly(
        &mut self,
        plan: &[Planned],
        left: &mut Vec<Planned>,
    ) -> Result<(), Abort> {
        let mut rows = std::mem::take(&mut self.planned);
        for accesses in plan.chunk_by(|one, next| one.table == next.table) {
            let table = accesses[0].table;
            let all = self.data.table(table).row_layout().all();
            rows.clear();
            rows.extend(accesses.iter().map(|access| (access.key, access.columns.and(all))));
            self.prefetch(table, &rows);
        }
        self.planned = rows;
        left.clear();
        for access in plan {
            let home = self.data.table(access.table);
            let is_special = home.unfetchable_columns().intersects(access.columns);
            let record = if is_special { None } else { self.find_whole(home, access.key)? };
            match record {
                Some(record) => SessionProtocol::plan(&mut self.protocol, record, access.intent),
                None => left.push(*access),
            }
        }
        Ok(())
    }

    /// Prefetches rows that are one record each and are found by a hash of their key, natively. Returns false, and does nothing, if the
    /// rows are others. It leaves values outside records to [`LocalSite::prefetch_whole`], because they are mostly announced after
    /// the columns beside them, so that the records are known.
    #[inline(always)]
    fn prefetch_by_hash(&mut self, home: &'s Table<M>, rows: &[(u64, ColumnSet)]) -> bool {
        let core = self.data.core;
        let key_of = |row: &(u64, ColumnSet)| row.0;
        // Several columns are often the same ones for all rows.
        let first = rows[0].1;
        let mut known = (first, home.shape().lines_of(first));
        !home.row_layout().apart().intersects(first)
            && home.guess_by_hash(
                core,
                rows,
                key_of,
                || core.switch_fiber(),
                |(key, columns), record| {
                    if columns.only().is_some() || *columns != known.0 {
                        known = (*columns, home.shape().lines_of(*columns));
                    }
                    self.announced.fetch(core, (*key, record), known.1);
                },
            )
    }

    /// Prefetches rows that are one record each, natively.
    fn prefetch_whole(&mut self, home: &'s Table<M>, rows: &[(u64, ColumnSet)]) {
        let core = self.data.core;
        for (key, columns) in rows {
            let known = self.announced.get(home, *key);
            let Some(record) = known.or_else(|| home.guess(core, *key)) else { continue };
            self.announced.fetch(core, (*key, record), home.shape().lines_of(*columns));
        }
    }

    /// Prefetches rows of any kind, on any machine.
    fn prefetch_parts(&mut self, home: &'s Table<M>, rows: &[(u64, ColumnSet)]) {
        let core = self.data.core;
        // The fronts first, because an access needs them first, and a core fetches only so many lines at a time.
        for (key, _) in rows {
            let Some(record) = home.guess(core, *key) else { continue };
            self.announced.keep(*key, record);
            record.prefetch(core, ColumnSet::NONE);
        }
        for (key, columns) in rows.iter().copied().filter(|(_, columns)| !columns.is_empty()) {
            let Some(record) = home.guess(core, key) else { continue };
            let Some(parts) = home.hot_columns() else {
                record.prefetch(core, columns);
                continue;
            };
            let hot = parts.columns();
            if !hot.contains(columns) {
                record.prefetch(core, columns.without(hot));
            }
            if columns.intersects(hot) {
                parts.second(&record).prefetch(core, columns.without(columns.without(hot)));
            }
        }
    }

    /// Prefetches the values outside these records, which must be on their way to the cache. The first word that names
    /// a value is waited for, and the others arrive meanwhile.
    #[inline(never)]
    fn prefetch_values(&self, home: &Table<M>, rows: &[(u64, ColumnSet)]) {
        let (core, values) = (self.data.core, self.data.store.values());
        for (key, columns) in rows {
            let announced = self.announced.get(home, *key);
            let Some(record) = announced.or_else(|| home.guess(core, *key)) else { continue };
            record.prefetch_values(core, values, *columns);
            if let Some(second) = record.second() {
                second.prefetch_values(core, values, *columns);
            }
        }
    }
}
