//! Tables whose keys are bytes: finding and making their records.

use super::{Index, Table};
use crate::{
    Found, Record, RowState, Space,
    index::{
        ByteKey, HashIndex,
        key::{KEY_BUFFER, KeyBuffer},
    },
    key_layout::digest,
};
use machine::{Core, Machine, OutOfMemory};
use txn::KeyKind;

impl<M: Machine> Table<M> {
    /// Returns true if keys are bytes and ranges of them can be scanned.
    #[inline(always)]
    pub fn orders_bytes(&self) -> bool {
        matches!(&self.index, Index::OrderedBytes(_))
    }

    /// Returns `key` as a key of a table in order of bytes. The time is charged by the number of bytes.
    ///
    /// # Panics
    /// If the table's keys are not bytes, or cannot be as long.
    pub fn byte_key(&self, core: &M::Core, key: &[u8]) -> ByteKey {
        core.copied(key.len());
        self.byte_key_alone(key)
    }

    fn byte_key_alone(&self, key: &[u8]) -> ByteKey {
        self.must_have_keys_like(key);
        ByteKey::new(key, self.width::<ByteKey>())
    }

    /// Returns a buffer for [`Shape::bytes_of`](crate::Shape::bytes_of).
    pub const fn key_buffer() -> KeyBuffer {
        KEY_BUFFER
    }

    /// Returns the digest of `key`, which represents it wherever a number is needed. The time is charged by the number
    /// of bytes.
    ///
    /// # Panics
    /// If the table's keys are not bytes, or cannot be as long.
    pub fn digest(&self, core: &M::Core, key: &[u8]) -> u64 {
        core.copied(key.len());
        self.digest_alone(key)
    }

    fn digest_alone(&self, key: &[u8]) -> u64 {
        self.must_have_keys_like(key);
        digest(key)
    }

    fn must_have_keys_like(&self, key: &[u8]) {
        let fits = matches!(self.schema().key, KeyKind::Bytes { most } if key.len() <= most.into());
        assert!(fits, "table {:?} has no keys of {} bytes", self.schema().name, key.len());
    }

    fn bytes_index(&self) -> &HashIndex<M> {
        match &self.index {
            Index::Hash(index) => index,
            _ => panic!("table {:?} has byte keys without a hash index", self.schema().name),
        }
    }

    /// Returns the record of `key`, whose digest is `digest`, if the index has one.
    #[inline]
    pub fn find_bytes(&self, core: &M::Core, digest: u64, key: &[u8]) -> Option<Record<'_, M>> {
        let is_key = |offset| self.record_at(offset).has_key_bytes(core, digest, key);
        Some(self.record_at(self.bytes_index().find(core, digest, is_key)?))
    }

    /// Like [`Table::find_or_make`], for a key of bytes with its digest.
    pub fn find_or_make_bytes(
        &self,
        core: &M::Core,
        space: &mut Space,
        (digest, key): (u64, &[u8]),
        prepare: impl FnOnce(&Record<'_, M>),
    ) -> Result<Found<'_, M>, OutOfMemory> {
        let offset = self.take_slot(space)?;
        let record = self.record_at(offset);
        record.initialise(digest, RowState::ABSENT);
        record.set_key_bytes(key);
        let is_key = |offset| self.record_at(offset).has_key_bytes(core, digest, key);
        let key_of = |offset| self.key_at(core, offset);
        let inserted = self.bytes_index().insert(core, (digest, offset), is_key, key_of, || {
            self.aside.take(|| (digest, key.to_vec()), &record);
            prepare(&record);
        });
        if inserted != Ok(Ok(())) {
            space.records.give_back(offset);
        }
        Ok(match inserted? {
            Ok(()) => Found::Made(record),
            Err(other) => Found::Existing(self.record_at(other)),
        })
    }

    /// Stores a row in a new slot and adds it to the index. No other thread runs.
    pub(crate) fn load_bytes_alone(&self, key: &[u8], row: &[u8]) -> Result<(), OutOfMemory> {
        let mut space = self.take_space();
        let offset = self.take_slot(&mut space);
        self.return_space(space);
        let (record, digest) = (self.record_at(offset?), self.digest_alone(key));
        record.initialise(digest, RowState::PRESENT);
        if self.keeps_columns() {
            record.fill(row);
        }
        if let Index::OrderedBytes(rows) = &self.index {
            let key = self.byte_key_alone(key);
            rows.note_loaded((key, key), record.name().offset, 1);
            return Ok(());
        }
        record.set_key_bytes(key);
        self.index_alone(self.bytes_index(), digest, &record)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{ProtocolWords, Store, StoreOptions};
    use machine::{Native, NativeOptions, Word, cold::Arc};
    use txn::{Column, ColumnType, TableId, TableSchema};

    #[test]
    fn keys_are_told_apart_by_all_of_their_bytes() {
        let machine = Arc::new(Native::new(NativeOptions::default()).unwrap());
        let options = StoreOptions {
            sessions: 1,
            keep_versions: true,
            keep_digests: true,
            words: ProtocolWords::of::<Word>(),
            access: Default::default(),
        };
        let store = Store::<Native>::new(machine.clone(), options).unwrap();
        let columns = vec![Column::new("a", ColumnType::U64)];
        let schema = TableSchema::new("t", columns).keyed_by_bytes(64);
        store.create_table(TableId(0), &[schema], 8).unwrap();
        let (table, core) = (store.table(TableId(0)), machine.core(0));
        let mut space = table.take_space();
        let long = [b'x'; 64];
        let keys: Vec<&[u8]> =
            vec![b"", b"\0", b"\0\0", b"a", b"a\0", b"ab", b"b", &long, &long[1..]];
        let mut made = Vec::new();
        for key in &keys {
            let digest = table.digest(&core, key);
            assert!(table.find_bytes(&core, digest, key).is_none());
            let found = table.find_or_make_bytes(&core, &mut space, (digest, key), |_| ()).unwrap();
            let Found::Made(record) = found else { panic!("{key:?} is there already") };
            made.push(record.name());
        }
        // Keys with the same digest are distinguished too: here all keys are looked up with one digest.
        for (key, name) in keys.iter().zip(&made) {
            let digest = table.digest(&core, key);
            assert_eq!(table.find_bytes(&core, digest, key).unwrap().name(), *name);
            let again = table.find_or_make_bytes(&core, &mut space, (digest, key), |_| ()).unwrap();
            assert!(matches!(again, Found::Existing(record) if record.name() == *name));
        }
        let mut twin =
            |key: &[u8]| table.find_or_make_bytes(&core, &mut space, (7, key), |_| ()).unwrap();
        let [one, other] = [b"one", b"two"].map(|key| match twin(key) {
            Found::Made(record) => record.name(),
            Found::Existing(_) => panic!("other bytes are another key"),
        });
        assert_ne!(one, other);
        assert_eq!(table.find_bytes(&core, 7, b"two").unwrap().name(), other);
        assert!(table.find_bytes(&core, 7, b"six").is_none());
    }
}
