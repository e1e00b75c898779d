//! Walks through all records of a table while other sessions change it. A checkpoint of a running database is made of
//! these walks.

use super::{Index, Table};
use crate::{
    OrderedKey, Record,
    index::{ByteKey, TreeKey},
};
use machine::Machine;
use txn::{Key, MAX_KEY_BYTES};

/// Number of rows by rule, of buckets or of words of an index that a piece has, if the table is not in key order.
const LOT: u64 = 8;

/// Piece of a table: a few of its records, or those of a leaf if the table is in key order. The default is the first
/// piece.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Piece(At);

/// Place where a piece begins.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum At {
    #[default]
    Start,
    /// The slot with this number, of rows by rule.
    Dense(u64),
    /// The bucket of this hash, or the word of a direct-addressed index with this number.
    Index(u64),
    /// The leaf of this key.
    Number(u64),
    /// The leaf of this key.
    Bytes(ByteKey),
}

impl<M: Machine> Table<M> {
    /// Calls `visit` for the records in a piece of the table, with their keys, and returns the next piece. The session
    /// stays pinned while it uses the records.
    ///
    /// If a record is in the index from the begin of a walk through all pieces to its end, the walk meets it exactly
    /// once. The hashes of the buckets visited only ascend, even if the index grows meanwhile. Places of a
    /// direct-addressed index keep their records. The keys of the leaves visited only ascend, even if leaves are split
    /// or merged meanwhile. A record that is made or removed during the walk can be met or missed.
    pub fn walk<'s>(
        &'s self,
        core: &M::Core,
        piece: &Piece,
        visit: &mut dyn FnMut(Key<'_>, Record<'s, M>),
    ) -> Option<Piece> {
        let next = match (piece.0, &self.index) {
            (At::Start, Index::Ordered(_)) => self.walk_numbers(core, 0, visit),
            (At::Number(at), _) => self.walk_numbers(core, at, visit),
            (At::Start, Index::OrderedBytes(rows)) => {
                self.walk_bytes(core, ByteKey::least(rows.tree.width()), visit)
            }
            (At::Bytes(at), _) => self.walk_bytes(core, at, visit),
            (At::Start, _) => self.walk_dense(0, visit),
            (At::Dense(at), _) => self.walk_dense(at, visit),
            (At::Index(at), _) => self.walk_index(core, at, visit),
        };
        next.map(Piece)
    }

    fn walk_dense<'s>(
        &'s self,
        first: u64,
        visit: &mut dyn FnMut(Key<'_>, Record<'s, M>),
    ) -> Option<At> {
        let Some(dense) = self.shape().dense() else { return Some(At::Index(0)) };
        let end = first.saturating_add(LOT).min(dense.slots());
        for slot in first..end {
            if let Some(key) = dense.key_of(slot) {
                visit(Key::Number(key), self.record_at(dense.first + slot * self.stride()));
            }
        }
        Some(if end < dense.slots() { At::Dense(end) } else { At::Index(0) })
    }

    fn walk_index<'s>(
        &'s self,
        core: &M::Core,
        first: u64,
        visit: &mut dyn FnMut(Key<'_>, Record<'s, M>),
    ) -> Option<At> {
        let mut met = |offset| {
            let record = self.record_at(offset);
            if self.has_byte_keys() {
                let mut buffer = [0; MAX_KEY_BYTES];
                visit(Key::Bytes(record.key_bytes(core, &mut buffer)), record);
            } else {
                visit(Key::Number(record.key(core)), record);
            }
        };
        let next = match &self.index {
            Index::Hash(index) => index.walk(core, first, LOT, &mut met),
            Index::Perfect(index) => index.walk(core, first, LOT, &mut met),
            Index::Ordered(_) | Index::OrderedBytes(_) => unreachable!("walked leaf by leaf"),
        };
        next.map(At::Index)
    }

    fn walk_numbers<'s>(
        &'s self,
        core: &M::Core,
        at: u64,
        visit: &mut dyn FnMut(Key<'_>, Record<'s, M>),
    ) -> Option<At> {
        self.walk_leaf(core, at, &mut |key, record| visit(Key::Number(key), record)).map(At::Number)
    }

    fn walk_bytes<'s>(
        &'s self,
        core: &M::Core,
        at: ByteKey,
        visit: &mut dyn FnMut(Key<'_>, Record<'s, M>),
    ) -> Option<At> {
        let mut buffer = Self::key_buffer();
        let mut visit = |key, record| {
            visit(Key::Bytes(self.shape().bytes_of(key, &mut buffer)), record);
        };
        self.walk_leaf(core, at, &mut visit).map(At::Bytes)
    }

    /// Calls `visit` for the records of the leaf of `at`, from that key on. Returns the first key behind the leaf, if
    /// there is one.
    fn walk_leaf<'s, K: OrderedKey>(
        &'s self,
        core: &M::Core,
        at: K,
        visit: &mut dyn FnMut(K, Record<'s, M>),
    ) -> Option<K> {
        let rows = loop {
            let leaf = self.leaf_of(core, at);
            // Another session can have split or unlinked the leaf meanwhile.
            if let Some(rows) = self.read_leaf(core, leaf, at) {
                break rows;
            }
        };
        for number in 0..rows.len() {
            let (key, record) = rows.get(number);
            // A leaf that has taken over a neighbour's range can begin with keys that were visited there.
            if key >= at {
                visit(key, record);
            }
        }
        rows.range().1.after(self.width::<K>())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{ProtocolWords, Store, StoreLoader, StoreOptions};
    use machine::{Native, NativeOptions, Word, cold::Arc};
    use std::collections::BTreeSet;
    use txn::{Column, ColumnType, IndexKind, Loader, Schema, TableId, TableSchema};

    #[test]
    fn every_record_is_met_once_whatever_the_index() {
        let machine = Arc::new(Native::new(NativeOptions::default()).unwrap());
        let options = StoreOptions {
            sessions: 1,
            keep_versions: false,
            keep_digests: false,
            words: ProtocolWords::of::<Word>(),
            access: Default::default(),
        };
        let store = Store::<Native>::new(machine.clone(), options).unwrap();
        let table = |name| TableSchema::new(name, vec![Column::new("a", ColumnType::U64)]);
        let indexed = |name, index| TableSchema { index, ..table(name) };
        let tables = vec![
            table("hash"),
            indexed("perfect", IndexKind::Perfect { keys: 1000 }),
            indexed("ordered", IndexKind::Ordered),
            indexed("red-black", IndexKind::RedBlack),
            table("bytes").keyed_by_bytes(20),
            indexed("ordered bytes", IndexKind::Ordered).keyed_by_bytes(20),
        ];
        let of_bytes = |at: usize| at >= 4;
        store.create_tables(&Schema { tables: tables.clone() }, |_| 50).unwrap();
        let keys: Vec<u64> =
            (0..300).map(|i| i * i % 997).collect::<BTreeSet<_>>().into_iter().collect();
        let mut loader = StoreLoader::new(&store, 1);
        for at in 0..tables.len() {
            for key in &keys {
                match of_bytes(at) {
                    false => loader.load(TableId(at as u16), (*key).into(), &key.to_le_bytes()),
                    true => {
                        let spelled = format!("key {key}");
                        loader.load(
                            TableId(at as u16),
                            spelled.as_str().into(),
                            &key.to_le_bytes(),
                        );
                    }
                }
            }
        }
        loader.finish().unwrap();
        let core = machine.core(0);
        for (at, schema) in tables.iter().enumerate() {
            let (mut met, mut piece) = (Vec::new(), Some(Piece::default()));
            while let Some(this) = piece {
                piece = store.table(TableId(at as u16)).walk(&core, &this, &mut |key, record| {
                    let mut row = [0; 8];
                    record.copy_out(&core, record.table().layout().all(), &mut row);
                    let number = u64::from_le_bytes(row);
                    match key {
                        Key::Number(key) => assert_eq!(key, number),
                        Key::Bytes(key) => assert_eq!(key, format!("key {number}").as_bytes()),
                    }
                    met.push(number);
                });
            }
            met.sort_unstable();
            assert_eq!(met, keys, "{}", schema.name);
        }
    }
}
