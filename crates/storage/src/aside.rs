//! What a recorded run keeps of records that have left their index: the version of each absence.
//!
//! In histories the version of an absent row is evidence: that of the delete, or the initial one. It lies in the record that
//! stands in for the absence. When that record retires, the version is set aside here, and the next record of the key
//! begins with it. A scan meets no record of such a key, so it reads the absence here.

use crate::Record;
use machine::{Machine, cold::Mutex};
use std::{collections::BTreeMap, ops::RangeInclusive};
use txn::Version;

/// The absence of a row whose record has retired.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Absence {
    /// What stands for its key in histories: [`Record::history_key`] of the record.
    pub number: u64,
    /// Its version; in a table of records in two parts that of the first part.
    pub version: Version,
    /// The version of the second part, if there is one.
    second: Version,
}

/// The absences of a table's retired records by their keys, of type `K`. Nothing is kept unless the run is recorded.
pub(crate) struct Aside<K>(Option<Mutex<BTreeMap<K, Absence>>>);

impl<K: Ord + Clone> Aside<K> {
    /// Nothing yet, and never anything unless the run `is_recorded`.
    pub fn new(is_recorded: bool) -> Aside<K> {
        Aside(is_recorded.then(|| Mutex::new(BTreeMap::new())))
    }

    /// The retired record of a key is about to leave the index: before a new one can be made.
    pub fn put<M: Machine>(&self, key: impl FnOnce() -> K, record: &Record<'_, M>) {
        let Some(absences) = &self.0 else { return };
        let second = record.second().map_or(Version::INITIAL, |second| second.kept_version());
        let (number, version) = (record.kept_history_key(), record.kept_version());
        let absence = Absence { number, version, second };
        absences.lock().insert(key(), absence);
    }

    /// A record is made for a key: it begins with the version that was set aside. Before others can find it.
    pub fn take<M: Machine>(&self, key: impl FnOnce() -> K, record: &Record<'_, M>) {
        let Some(absences) = &self.0 else { return };
        let Some(absence) = absences.lock().remove(&key()) else { return };
        record.begin_with_version(absence.version);
        if let Some(second) = record.second() {
            second.begin_with_version(absence.second);
        }
    }

    /// Those within `range`, in the order of their keys. The range may be wrong, read while others change it: then the
    /// answer means nothing.
    pub fn within(&self, range: RangeInclusive<K>) -> Vec<(K, Absence)> {
        let Some(absences) = self.0.as_ref().filter(|_| !range.is_empty()) else {
            return Vec::new();
        };
        absences.lock().range(range).map(|(key, absence)| (key.clone(), *absence)).collect()
    }
}
