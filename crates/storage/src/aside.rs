//! Absences of retired records: in a recorded run the version of each absence is kept when its record leaves the
//! index.
//!
//! In histories the version of an absent row is evidence: it is the version of the delete, or the initial version. It
//! lies in the record that stands for the absence. When that record retires, the version is set aside here. The next
//! record of the key begins with this version. A scan meets no record of the key meanwhile, so it reads the absence
//! here.

use crate::Record;
use machine::{Machine, cold::Mutex};
use std::{collections::BTreeMap, ops::RangeInclusive};
use txn::Version;

/// Absence of a row whose record has retired.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Absence {
    /// Number that stands for the key in histories: [`Record::history_key`] of the record.
    pub number: u64,
    /// Version of the absence. In a table of records in two parts: the version of the first part.
    pub version: Version,
    /// Version of the second part, if there is one.
    second: Version,
}

/// Absences of a table's retired records by their keys, of type `K`. None unless the run is recorded. A key has an
/// entry only while it has no record in the index.
pub(crate) struct Aside<K>(Option<Mutex<BTreeMap<K, Absence>>>);

impl<K: Ord + Clone> Aside<K> {
    /// Makes an empty collection. It stays empty unless the run `is_recorded`.
    pub fn new(is_recorded: bool) -> Aside<K> {
        Aside(is_recorded.then(|| Mutex::new(BTreeMap::new())))
    }

    /// Sets aside the version of `record`, a retired record that is about to leave the index. Must be called before a
    /// new record of the key can be made.
    pub fn put<M: Machine>(&self, key: impl FnOnce() -> K, record: &Record<'_, M>) {
        let Some(absences) = &self.0 else { return };
        let second = record.second().map_or(Version::INITIAL, |second| second.kept_version());
        let (number, version) = (record.kept_history_key(), record.kept_version());
        let absence = Absence { number, version, second };
        absences.lock().insert(key(), absence);
    }

    /// Gives `record`, which is being made for a key, the version that was set aside. Must be called before other
    /// sessions can find the record.
    pub fn take<M: Machine>(&self, key: impl FnOnce() -> K, record: &Record<'_, M>) {
        let Some(absences) = &self.0 else { return };
        let Some(absence) = absences.lock().remove(&key()) else { return };
        record.begin_with_version(absence.version);
        if let Some(second) = record.second() {
            second.begin_with_version(absence.second);
        }
    }

    /// Returns the absences within `range`, in the order of their keys. The range can be wrong if it was read while
    /// another session changed it. The result is then meaningless, and the caller must discard it.
    pub fn within(&self, range: RangeInclusive<K>) -> Vec<(K, Absence)> {
        let Some(absences) = self.0.as_ref().filter(|_| !range.is_empty()) else {
            return Vec::new();
        };
        absences.lock().range(range).map(|(key, absence)| (key.clone(), *absence)).collect()
    }
}
