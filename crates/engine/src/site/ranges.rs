//! Tables in key order: makes records in ranges that other transactions can have scanned, announces leaves to
//! scan, and removes records and empty leaves from the index.
//!
//! This is the only module that asks the protocol to protect a range. The steps around an insertion are:
//!
//! 1. `begin_insertion` asks the protocol for permission at the guard of the leaf.
//! 2. The record is put into the leaf, and `insert` tells the protocol. If the leaf is full, it is split, and
//!    `split` tells the protocol. Then the search starts again.
//! 3. `end_insertion` ends the permission, whatever the outcome.

use super::{Located, Name, SiteData};
use crate::bound_protocol::SessionProtocol;
use machine::{Category, Core, Machine};
use protocols::faults;
use storage::{ByteKey, Leaf, LeafPath, LeafRows, OrderedKey, Placed, Record, Sought, Table};
use txn::{Abort, KeyRange, TableId};

/// A key that tables can be ordered by and that names its record.
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

/// Leaves that a session keeps of each table, a power of two.
const KEPT_LEAVES: usize = 16;

/// Returns where a session keeps the leaf of a key with this prefix. Keys that grow often have a part in front that tells several
/// sequences apart, for example those of the districts of TPC-C. Each of these then has a leaf of its own.
#[inline(always)]
fn place_of_leaf(table: TableId, prefix: u64) -> usize {
    let sequence = (prefix >> 24).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    let number = sequence >> (u64::BITS - KEPT_LEAVES.trailing_zeros());
    usize::from(table.0) * KEPT_LEAVES + number as usize
}

impl<'s, M: Machine> SiteData<'s, M> {
    /// Returns the record of `key`. Makes it if there is none, after the protocol has permitted that in the
    /// key's range.
    pub(super) fn locate_in_order<K: NamedKey>(
        &mut self,
        protocol: &mut dyn SessionProtocol<'s, M>,
        home: &'s Table<M>,
        key: K,
    ) -> Result<Located<'s, M>, Abort> {
        let core = self.core;
        loop {
            let place = place_of_leaf(home.id(), key.prefix());
            let sought = match self.kept_leaf(place) {
                Some(leaf) => home.seek_from(core, leaf, key),
                None => home.seek(core, key),
            };
            let leaf = match sought {
                Sought::Found(record, leaf) => {
                    self.keep_leaf(place, leaf);
                    return Ok(Located { record, name: key.name(), made: false });
                }
                Sought::Absent(leaf) => leaf,
            };
            self.keep_leaf(place, leaf);
            let guard = leaf.guard();
            core.account(Category::ConcurrencyControl);
            protocol.begin_insertion(guard)?;
            core.account(Category::Index);
            let space = self.space(home.id());
            let placed = home.make_in(core, space, leaf, key, |record, counted| {
                protocol.insert(guard, record, counted)
            });
            let outcome = match placed {
                Ok(Placed::Made(record)) => Ok(Some((record, true))),
                Ok(Placed::Existing(record)) => Ok(Some((record, false))),
                Ok(Placed::Moved) => Ok(None),
                Ok(Placed::Full) => home
                    .split_leaf(core, space, leaf, key, |right, counted| {
                        protocol.split(guard, right, counted)
                    })
                    .map(|()| None),
                Err(abort) => Err(abort),
            };
            protocol.end_insertion(guard);
            if let Some((record, made)) = outcome? {
                return Ok(Located { record, name: key.name(), made });
            }
        }
    }

    /// Makes records for `keys`, in this order, and adds them to `made`. Ends before the first key that has a record, does not
    /// belong to the leaf of the key `before`, or finds no room there. The attempt must have located the record of `before`,
    /// and nothing in the table since.
    pub(super) fn make_run(
        &mut self,
        protocol: &mut dyn SessionProtocol<'s, M>,
        home: &'s Table<M>,
        before: u64,
        keys: impl Iterator<Item = u64> + Clone,
        made: &mut Vec<Record<'s, M>>,
    ) -> Result<(), Abort> {
        let core = self.core;
        let Some(leaf) = self.kept_leaf(place_of_leaf(home.id(), before)) else { return Ok(()) };
        for key in keys.clone() {
            protocol.approach(home.schema(), KeyRange::one(key))?;
        }
        let guard = leaf.guard();
        protocol.begin_insertion(guard)?;
        let space = self.space(home.id());
        let outcome = home.make_run(core, space, leaf, keys, made, |record, counted| {
            protocol.insert(guard, record, counted)
        });
        protocol.end_insertion(guard);
        outcome
    }

    /// Returns the record of `key`, if there is one. Begins at the leaf that the session has kept. It is
    /// apart from its callers, which mostly use other tables.
    #[inline(never)]
    pub(super) fn find_in_order(&mut self, home: &'s Table<M>, key: u64) -> Option<Record<'s, M>> {
        let place = place_of_leaf(home.id(), key);
        let sought = match self.kept_leaf(place) {
            Some(leaf) => home.seek_from(self.core, leaf, key),
            None => home.seek(self.core, key),
        };
        let Sought::Found(record, leaf) = sought else { return None };
        self.keep_leaf(place, leaf);
        Some(record)
    }

    /// Returns the leaf in which the session has last found or made a record that belongs to this place. None on machines that charge for
    /// look-ups, so that a kept leaf does not hide what a descent costs.
    #[inline]
    fn kept_leaf(&self, place: usize) -> Option<Leaf<'s, M>> {
        let kept = !M::MODELLED || M::MINIATURE;
        self.kept_leaves.get(place).copied().flatten().filter(|_| kept)
    }

    /// Keeps the leaf in which the session has found a record, or is about to make one.
    #[inline]
    fn keep_leaf(&mut self, place: usize, leaf: Leaf<'s, M>) {
        match self.kept_leaves.get_mut(place) {
            Some(kept) => *kept = Some(leaf),
            None => self.keep_first_leaf(place, leaf),
        }
    }

    #[cold]
    fn keep_first_leaf(&mut self, place: usize, leaf: Leaf<'s, M>) {
        self.kept_leaves.resize(place, None);
        self.kept_leaves.push(Some(leaf));
    }

    /// Announces the leaf of `at` to the protocol and reads its rows. `path` has led to the leaf before.
    pub(super) fn leaf<K: OrderedKey>(
        &mut self,
        protocol: &mut dyn SessionProtocol<'s, M>,
        table: TableId,
        at: K,
        path: &mut LeafPath,
    ) -> Result<LeafRows<'s, M, K>, Abort> {
        let (core, home) = (self.core, self.table(table));
        loop {
            core.account(Category::Index);
            let leaf = home.leaf_along(core, at, path);
            core.account(Category::ConcurrencyControl);
            let filled_only = core.is_planted(faults::PHANTOM_IGNORES_EMPTY_RANGE);
            if !filled_only {
                protocol.scan(leaf.guard())?;
            }
            core.account(Category::Index);
            // Another thread can have split or unlinked the leaf before it was announced. Then the loop starts
            // again.
            if let Some(rows) = home.read_leaf(core, leaf, at) {
                if filled_only && !rows.is_empty() {
                    protocol.scan(leaf.guard())?;
                }
                return Ok(rows);
            }
            path.forget();
        }
    }

    /// Implements [`Site::unlink`](super::Site::unlink).
    pub(super) fn unlink(
        &mut self,
        protocol: &mut dyn SessionProtocol<'s, M>,
        table: TableId,
        name: &Name,
        record: Record<'s, M>,
    ) -> bool {
        let home = self.table(table);
        match name {
            Name::Bytes(key) => self.unlink_from_leaf(protocol, home, **key, record),
            Name::Number(key) if home.is_ordered() => {
                self.unlink_from_leaf(protocol, home, *key, record)
            }
            Name::Number(_) => {
                protocol.retire(record, None);
                if let Some(second) = record.second() {
                    protocol.retire(second, None);
                }
                if home.unlink(self.core, &record) {
                    self.give_up(home, record);
                }
                false
            }
        }
    }

    /// Retires the slot of a record that has left its index. The slot can be reused two epochs later.
    fn give_up(&mut self, home: &Table<M>, record: Record<'s, M>) {
        if home.shape().keeps_versions() && home.has_byte_keys() {
            // Histories identify a byte key by its slot, so the slot must not be reused.
            return;
        }
        // The epoch is read after the record has been unlinked. Every thread that still found the record was
        // pinned by then.
        let epoch = self.store.epochs().current(self.core);
        self.space(home.id()).records.retire(epoch, record.name().offset);
    }

    fn unlink_from_leaf<K: OrderedKey>(
        &mut self,
        protocol: &mut dyn SessionProtocol<'s, M>,
        home: &'s Table<M>,
        key: K,
        record: Record<'s, M>,
    ) -> bool {
        let core = self.core;
        // The path to the leaf must stay valid while it is followed. The transaction that retired the record is
        // over and has unpinned, so this session pins again.
        self.store.epochs().pin(core, self.pin);
        let unlinked = home.unlink_from_leaf(core, (key, &record), |guard| {
            protocol.retire(record, Some(guard));
        });
        if unlinked {
            self.give_up(home, record);
        }
        let emptied = home.empty_leaf_of(core, key).is_some();
        self.store.epochs().unpin(core, self.pin);
        emptied
    }

    /// Implements [`Site::drop_leaf`](super::Site::drop_leaf).
    pub(super) fn drop_leaf_of(
        &mut self,
        protocol: &mut dyn SessionProtocol<'s, M>,
        table: TableId,
        name: &Name,
    ) -> Result<bool, Abort> {
        let home = self.table(table);
        match name {
            Name::Number(key) => self.drop_leaf(protocol, home, *key),
            Name::Bytes(key) => self.drop_leaf(protocol, home, **key),
        }
    }

    fn drop_leaf<K: OrderedKey>(
        &mut self,
        protocol: &mut dyn SessionProtocol<'s, M>,
        home: &'s Table<M>,
        key: K,
    ) -> Result<bool, Abort> {
        let core = self.core;
        let Some(leaf) = home.empty_leaf_of(core, key) else { return Ok(true) };
        let guard = leaf.guard();
        protocol.begin_insertion(guard)?;
        let epochs = self.store.epochs();
        let space = self.space(home.id());
        let dropped = home.unlink_leaf(
            core,
            space,
            leaf,
            key,
            || epochs.current(core),
            |gone, heir| {
                protocol.merge(gone, heir);
            },
        );
        protocol.end_insertion(guard);
        Ok(dropped)
    }
}
