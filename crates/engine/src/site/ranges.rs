//! Tables in key order: making records in ranges that others may have scanned, announcing leaves to scan, and taking
//! records and empty leaves out of the index. What a range needs for its protection, the protocol is asked here and
//! nowhere else.

use super::{Located, Name, SiteData};
use crate::part::Part;
use machine::{Category, Core, Machine};
use protocols::faults;
use storage::{ByteKey, LeafRows, OrderedKey, Placed, Record, Sought, Table};
use txn::{Abort, TableId};

/// A key that tables are ordered by, and by which their records are found again.
pub(super) trait NamedKey: OrderedKey {
    fn name(self) -> Name;
}

impl NamedKey for u64 {
    fn name(self) -> Name {
        Name::Number(self)
    }
}

impl NamedKey for ByteKey {
    fn name(self) -> Name {
        Name::Bytes(Box::new(self))
    }
}

impl<'s, M: Machine> SiteData<'s, M> {
    /// The record of `key`, made if there is none, once the protocol allows that in the key's range.
    pub(super) fn locate_in_order<K: NamedKey>(
        &mut self,
        part: &mut dyn Part<'s, M>,
        home: &'s Table<M>,
        key: K,
    ) -> Result<Located<'s, M>, Abort> {
        let core = self.core;
        loop {
            let leaf = match home.seek(core, key) {
                Sought::Found(record) => {
                    return Ok(Located { record, name: key.name(), made: false });
                }
                Sought::Absent(leaf) => leaf,
            };
            let guard = leaf.guard();
            core.account(Category::ConcurrencyControl);
            part.begin_insertion(guard)?;
            core.account(Category::Index);
            let space = self.space(home.id());
            let placed = home.make_in(core, space, leaf, key, |record, counted| {
                part.insert(guard, record, counted)
            });
            let outcome = match placed {
                Ok(Placed::Made(record)) => Ok(Some((record, true))),
                Ok(Placed::Existing(record)) => Ok(Some((record, false))),
                Ok(Placed::Moved) => Ok(None),
                Ok(Placed::Full) => home
                    .split_leaf(core, space, leaf, key, |right, counted| {
                        part.split(guard, right, counted)
                    })
                    .map(|()| None),
                Err(abort) => Err(abort),
            };
            part.end_insertion(guard);
            if let Some((record, made)) = outcome? {
                return Ok(Located { record, name: key.name(), made });
            }
        }
    }

    /// Announces the leaf of `at` and reads what is in it.
    pub(super) fn leaf<K: OrderedKey>(
        &mut self,
        part: &mut dyn Part<'s, M>,
        table: TableId,
        at: K,
    ) -> Result<LeafRows<'s, M, K>, Abort> {
        let (core, home) = (self.core, self.table(table));
        loop {
            core.account(Category::Index);
            let leaf = home.leaf_of(core, at);
            core.account(Category::ConcurrencyControl);
            let filled_only = core.is_planted(faults::PHANTOM_IGNORES_EMPTY_RANGE);
            if !filled_only {
                part.scan(leaf.guard())?;
            }
            core.account(Category::Index);
            // Others may have split or unlinked the leaf before it was announced.
            if let Some(rows) = home.read_leaf(core, leaf, at) {
                if filled_only && !rows.is_empty() {
                    part.scan(leaf.guard())?;
                }
                return Ok(rows);
            }
        }
    }

    /// As [`Site::unlink`](super::Site::unlink).
    pub(super) fn unlink(
        &mut self,
        part: &mut dyn Part<'s, M>,
        table: TableId,
        name: &Name,
        record: Record<'s, M>,
    ) -> bool {
        let home = self.table(table);
        match name {
            Name::Bytes(key) => self.unlink_from_leaf(part, home, **key, record),
            Name::Number(key) if home.is_ordered() => {
                self.unlink_from_leaf(part, home, *key, record)
            }
            Name::Number(_) => {
                part.retire(record, None);
                if let Some(second) = record.second() {
                    part.retire(second, None);
                }
                if home.unlink(self.core, &record) {
                    self.give_up(home, record);
                }
                false
            }
        }
    }

    /// The slot of a record that has left its index may be used again two epochs later.
    fn give_up(&mut self, home: &Table<M>, record: Record<'s, M>) {
        if home.shape().keeps_versions() && home.has_byte_keys() {
            // In histories the slot stands for the key.
            return;
        }
        // Read after the unlinking: who still found the record was pinned by then.
        let epoch = self.store.epochs().current(self.core);
        self.space(home.id()).records.retire(epoch, record.name().offset);
    }

    fn unlink_from_leaf<K: OrderedKey>(
        &mut self,
        part: &mut dyn Part<'s, M>,
        home: &'s Table<M>,
        key: K,
        record: Record<'s, M>,
    ) -> bool {
        let core = self.core;
        // The way to the leaf must stay while it is followed; the transaction that retired is over.
        self.store.epochs().pin(core, self.slot);
        let unlinked = home.unlink_from_leaf(core, (key, &record), |guard| {
            part.retire(record, Some(guard));
        });
        if unlinked {
            self.give_up(home, record);
        }
        let emptied = home.empty_leaf_of(core, key).is_some();
        self.store.epochs().unpin(core, self.slot);
        emptied
    }

    /// As [`Site::drop_leaf`](super::Site::drop_leaf).
    pub(super) fn drop_leaf_of(
        &mut self,
        part: &mut dyn Part<'s, M>,
        table: TableId,
        name: &Name,
    ) -> Result<bool, Abort> {
        let home = self.table(table);
        match name {
            Name::Number(key) => self.drop_leaf(part, home, *key),
            Name::Bytes(key) => self.drop_leaf(part, home, **key),
        }
    }

    fn drop_leaf<K: OrderedKey>(
        &mut self,
        part: &mut dyn Part<'s, M>,
        home: &'s Table<M>,
        key: K,
    ) -> Result<bool, Abort> {
        let core = self.core;
        let Some(leaf) = home.empty_leaf_of(core, key) else { return Ok(true) };
        let guard = leaf.guard();
        part.begin_insertion(guard)?;
        let epochs = self.store.epochs();
        let space = self.space(home.id());
        let dropped = home.unlink_leaf(
            core,
            space,
            leaf,
            key,
            || epochs.current(core),
            |gone, heir| {
                part.merge(gone, heir);
            },
        );
        part.end_insertion(guard);
        Ok(dropped)
    }
}
