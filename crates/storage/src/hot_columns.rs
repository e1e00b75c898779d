//! Records in two parts: columns that change hot (hot columns) have words of concurrency control of their own.
//!
//! Source: timestamp splitting (Huang, Qian, Kohler, Liskov and Shrira, VLDB 2020). A transaction that writes a hot
//! column does not conflict with a transaction that reads the other columns of the row. Deviation: in the source the
//! optimistic protocol knows a second timestamp. Here the second part is a record in its own right, behind the first
//! one in the same slot. So it works under every protocol, and the history distinguishes the parts.
//!
//! ```text
//! | first part: words, key, state, body | second part: words, key, state, body |
//! ```
//!
//! Both parts have the state of the row, and inserts and deletes write both. So an access to one part does not need to
//! look at the other part.

use crate::{Record, Shape, shape::Extras, store::MAX_TABLES};
use machine::{Arena, Machine, cold::Arc};
use txn::{ColumnSet, RowLayout, TableId, TableSchema};

/// Parts of the records of a table.
pub struct HotColumns<M: Machine> {
    /// Shape of the second parts.
    behind: Shape<M>,
    /// Distance from a record to its second part, in bytes.
    distance: u64,
    /// Layout of a whole row when it is packed.
    row: RowLayout,
}

impl<M: Machine> HotColumns<M> {
    /// Returns the parts of the records of the table `id`, if it has two.
    pub(crate) fn of(
        arena: &Arc<Arena>,
        id: TableId,
        schema: &TableSchema,
        extras: &Extras,
    ) -> Option<Self> {
        if schema.hot.is_empty() {
            return None;
        }
        let row = RowLayout::of(schema);
        let rest = row.all().without(schema.hot);
        let second = schema.clone().with_hot_columns(ColumnSet::NONE);
        // Second parts get numbers behind the numbers of all possible tables.
        let number = TableId(id.0 + MAX_TABLES as u16);
        let behind = Shape::of_second_parts(arena, number, second, schema.hot, extras);
        let distance = Shape::<M>::part_stride(schema, rest, extras);
        Some(HotColumns { behind, distance, row })
    }

    /// Returns the table whose rows' second parts have the number `id`.
    pub(crate) fn table_of(id: TableId) -> TableId {
        TableId(id.0 - MAX_TABLES as u16)
    }

    /// Returns the columns in the first part.
    pub(crate) fn first_part(&self) -> ColumnSet {
        self.row.all().without(self.columns())
    }

    /// Returns the shape of the second parts.
    #[inline(always)]
    pub(crate) fn behind(&self) -> &Shape<M> {
        &self.behind
    }

    /// Returns the columns in the second part.
    #[inline(always)]
    pub fn columns(&self) -> ColumnSet {
        self.behind.layout().all()
    }

    /// Returns the layout of the columns of a whole row when they are packed.
    pub fn row_layout(&self) -> &RowLayout {
        &self.row
    }

    pub(crate) fn distance(&self) -> u64 {
        self.distance
    }

    /// Returns the second part of `record`, which must be a record of the table that has these parts.
    #[inline(always)]
    pub fn second<'s>(&'s self, record: &Record<'s, M>) -> Record<'s, M> {
        // SAFETY: the slot of every record in two parts has the second part at this distance.
        unsafe { self.behind.slot_at(record.name().offset + self.distance) }
    }
}

#[cfg(test)]
mod tests {
    use crate::{
        Found, ProtocolWords, RecordRef, RowState, Space, Store, StoreLoader, StoreOptions,
    };
    use machine::{ArenaOptions, Native, NativeOptions, Word, cold::Arc};
    use txn::{Column, ColumnSet, ColumnType, Loader, Schema, TableId, TableSchema, Version};

    const TABLE: TableId = TableId(0);
    const HOT: ColumnSet = ColumnSet(0b1010);

    #[test]
    fn parts_hold_their_columns_and_words_of_their_own() {
        for keep_versions in [false, true] {
            let arena = ArenaOptions { reserve_bytes: 1 << 26, ..ArenaOptions::default() };
            let machine = Native::new(NativeOptions { arena, ..NativeOptions::default() });
            let machine = Arc::new(machine.unwrap());
            let words = ProtocolWords::of::<Word>();
            let options = StoreOptions {
                sessions: 2,
                keep_versions,
                keep_digests: keep_versions,
                words,
                access: Default::default(),
            };
            let store: Store<Native> = Store::new(machine.clone(), options).unwrap();
            let kinds = [9, 8, 3, 17].map(ColumnType::Bytes);
            let column = |(at, kind): (usize, ColumnType)| Column::new(format!("c{at}"), kind);
            let columns = kinds.into_iter().enumerate().map(column).collect();
            let tables = vec![TableSchema::new("t", columns).with_hot_columns(HOT)];
            store.create_tables(&Schema { tables }, |_| 10).unwrap();
            let bytes = |key: u64| {
                (0..37)
                    .map(|at: u8| at.wrapping_mul(7).wrapping_add(key as u8))
                    .collect::<Vec<u8>>()
            };
            let mut loader = StoreLoader::new(&store, 1);
            loader.load_dense(TABLE, 9, &|key, row| row.copy_from_slice(&bytes(key)));
            loader.load(TABLE, 77.into(), &bytes(77));
            loader.finish().unwrap();
            let (table, core) = (store.table(TABLE), machine.core(0));
            let parts = table.hot_columns().unwrap();
            let rest = parts.row_layout().all().without(HOT);
            let mut names = Vec::new();
            for key in (0..9).chain([77]) {
                let record = table.find(&core, key).unwrap();
                let second = record.second().unwrap();
                assert!(second.second().is_none() && second.table().is_second_part());
                assert_eq!((record.key(&core), second.key(&core)), (key, key));
                names.extend([record.name(), second.name()]);
                let (whole, all) = (bytes(key), parts.row_layout().all());
                let mut put_together = vec![0; 37];
                for (part, columns) in [(record, rest), (second, HOT)] {
                    let mut values = vec![0; parts.row_layout().held_bytes(columns)];
                    assert!(part.copy_out(&core, columns, &mut values).state.is_present());
                    let mut gathered = vec![0; 37];
                    let length = parts.row_layout().gather((all, &whole), columns, &mut gathered);
                    assert_eq!(values, gathered[..length]);
                    parts.row_layout().scatter((columns, &values), all, &mut put_together);
                }
                assert_eq!(put_together, whole);
                // A write to one part changes neither the other part nor the neighbours.
                second.install(&core, HOT, &[9; 25], Some(RowState::ABSENT), Version::INITIAL);
                // SAFETY: the store was made for words that are one word.
                let words = [second, record].map(|part| unsafe { RecordRef::<_, Word>::new(part) });
                words[0].cc().poke(5);
                assert!(record.head(&core).state.is_present());
                assert_eq!(words[1].cc().peek(), 0);
            }
            names.sort();
            names.dedup();
            assert_eq!(names.len(), 20);
            let mut space = Space::default();
            let Found::Made(made) = table.find_or_make(&core, &mut space, 78, |_| ()).unwrap()
            else {
                panic!("row 78 was there")
            };
            for part in [made, made.second().unwrap()] {
                assert_eq!((part.key(&core), part.head(&core).state), (78, RowState::ABSENT));
            }
        }
    }
}
