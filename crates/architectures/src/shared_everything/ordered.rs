//! Tables in key order: making records in ranges that others may have scanned, scans, and taking empty
//! leaves out of the index. What a range needs for its protection, the protocol is asked here and nowhere
//! else.

use super::{Record, SharedEverythingSession, session_key::SessionKey, space_of};
use crate::Session;
use machine::{Category, Core, Machine};
use protocols::{Protocol, Start, faults};
use std::ops::ControlFlow;
use storage::{Placed, Sought};
use txn::{Abort, AbortReason, ColumnSet, Direction, Intent, TableId, TxnId, Version};

impl<'s, M: Machine, P: Protocol<M>> SharedEverythingSession<'s, M, P> {
    /// The record of `key`, made if there is none, once the protocol allows that in the key's range.
    pub(super) fn ordered_record<K: SessionKey>(
        &mut self,
        table: TableId,
        key: K,
    ) -> Result<Record<'s, M, P>, Abort> {
        let (core, home, protocol) = (self.core, self.table(table), &self.engine.protocol);
        loop {
            let leaf = match home.seek(core, key) {
                Sought::Found(record) => return Ok(record),
                Sought::Absent(leaf) => leaf,
            };
            let guard = leaf.guard();
            core.account(Category::ConcurrencyControl);
            protocol.begin_insertion(core, &mut self.worker, guard)?;
            core.account(Category::Index);
            let (worker, space) = (&mut self.worker, space_of(&mut self.spaces, home));
            let placed = home.make_in(core, space, leaf, key, |record, counted| {
                protocol.insert(core, worker, guard, record, counted)
            });
            let outcome = match placed {
                Ok(Placed::Made(record)) => Ok(Some((record, true))),
                Ok(Placed::Existing(record)) => Ok(Some((record, false))),
                Ok(Placed::Moved) => Ok(None),
                Ok(Placed::Full) => home
                    .split_leaf(core, space, leaf, key, |right, counted| {
                        protocol.split(core, worker, guard, right, counted)
                    })
                    .map(|()| None),
                Err(abort) => Err(abort),
            };
            protocol.end_insertion(core, &mut self.worker, guard);
            if let Some((record, made)) = outcome? {
                if made {
                    self.purge_later(table, key);
                }
                return Ok(record);
            }
        }
    }

    /// A scan of the keys between `ends`, on record if the run is recorded. `visit` is given the session, too.
    pub(super) fn scan_rows<K: SessionKey>(
        &mut self,
        table: TableId,
        ends: (K, K),
        direction: Direction,
        columns: ColumnSet,
        visit: impl FnMut(&mut Self, K, &[u8]) -> Result<ControlFlow<()>, Abort>,
    ) -> Result<(), Abort> {
        let own = Version::new(TxnId::new(self.slot, self.attempts), 1);
        if let Some(recorder) = &mut self.recorder {
            recorder.begin_scan(own);
        }
        let mut row = std::mem::take(&mut self.scanned);
        row.clear();
        row.resize(self.table(table).layout().packed_bytes(columns), 0);
        let covered = self.visit_rows(table, ends, direction, columns, &mut row, visit);
        self.scanned = row;
        let covered = covered?;
        if let Some(recorder) = &mut self.recorder {
            K::covered(self.engine.store.table(table), covered, direction, recorder);
        }
        Ok(())
    }

    /// Reads the records between `ends`, leaf by leaf, and returns the ends of what was covered.
    fn visit_rows<K: SessionKey>(
        &mut self,
        table: TableId,
        ends: (K, K),
        direction: Direction,
        columns: ColumnSet,
        row: &mut [u8],
        mut visit: impl FnMut(&mut Self, K, &[u8]) -> Result<ControlFlow<()>, Abort>,
    ) -> Result<(K, K), Abort> {
        let (core, home, protocol) = (self.core, self.table(table), &self.engine.protocol);
        if P::LOCKS_PARTITIONS {
            protocol.approach_range(core, &mut self.worker, home.schema(), K::approached(ends))?;
        }
        let (forward, width) = (direction == Direction::Forward, home.width::<K>());
        let mut at = if forward { ends.0 } else { ends.1 };
        loop {
            core.account(Category::Index);
            let leaf = home.leaf_of(core, at);
            core.account(Category::ConcurrencyControl);
            let filled_only = core.is_planted(faults::PHANTOM_IGNORES_EMPTY_RANGE);
            if !filled_only {
                protocol.scan(core, &mut self.worker, leaf.guard())?;
            }
            core.account(Category::Index);
            // Others may have split or unlinked the leaf before it was announced.
            let Some(rows) = home.read_leaf(core, leaf, at) else { continue };
            if filled_only && !rows.is_empty() {
                protocol.scan(core, &mut self.worker, leaf.guard())?;
            }
            for number in 0..rows.len() {
                let number = if forward { number } else { rows.len() - 1 - number };
                let (key, record) = rows.get(number);
                // A leaf that has taken over a neighbour's range may begin with what was visited there.
                let visited = if forward { key < at } else { key > at };
                if visited || key < ends.0 || ends.1 < key {
                    continue;
                }
                key.met(core, record, &mut self.recorder);
                let head = self.protocol_read(record, columns, Intent::Read, row)?;
                core.account(Category::Useful);
                if head.state.is_present() && visit(self, key, row)?.is_break() {
                    return Ok(if forward { (ends.0, key) } else { (key, ends.1) });
                }
            }
            let (first, last) = rows.range();
            let beyond = match forward {
                true if last >= ends.1 => return Ok(ends),
                true => last.after(width),
                false if first <= ends.0 => return Ok(ends),
                false => first.before(width),
            };
            at = beyond.expect("there are keys between a leaf and the end of the range");
        }
    }

    /// Takes a retired record out of its leaf, and the leaf out of the index if nothing else is in it.
    pub(super) fn unlink_ordered<K: SessionKey>(
        &mut self,
        table: TableId,
        key: K,
        record: Record<'s, M, P>,
    ) -> Result<(), Abort> {
        let (core, home, engine) = (self.core, self.table(table), self.engine);
        // The way to the leaf must stay while it is followed; the transaction that retired is over.
        engine.store.epochs().pin(core, self.slot);
        let unlinked = home.unlink_from_leaf(core, (key, &record), |guard| {
            engine.protocol.retire(core, &record, Some(guard));
        });
        if unlinked {
            // Read after the unlinking: who still found the record was pinned by then.
            let epoch = engine.store.epochs().current(core);
            self.space(table).records.retire(epoch, record.name().offset);
        }
        let emptied = home.empty_leaf_of(core, key).is_some();
        engine.store.epochs().unpin(core, self.slot);
        if emptied { self.drop_empty_leaf(table, key) } else { Ok(()) }
    }

    /// Takes the leaf of `key` out of the index if it is empty, in a transaction of its own. Fails when
    /// somebody has scanned it, or is changing the index there.
    pub(super) fn drop_empty_leaf<K: SessionKey>(
        &mut self,
        table: TableId,
        key: K,
    ) -> Result<(), Abort> {
        let (core, home, engine) = (self.core, self.table(table), self.engine);
        let partition = key.partition(core, home);
        self.begin(Start { attempt: 0, read_only: false, partitions: partition.as_slice() });
        let dropped = home.empty_leaf_of(core, key).map_or(Ok(true), |leaf| {
            let (guard, protocol) = (leaf.guard(), &engine.protocol);
            protocol.begin_insertion(core, &mut self.worker, guard)?;
            let space = space_of(&mut self.spaces, home);
            let epoch = || engine.store.epochs().current(core);
            let dropped = home.unlink_leaf(core, space, leaf, key, epoch, |gone, heir| {
                protocol.merge(core, gone, heir);
            });
            protocol.end_insertion(core, &mut self.worker, guard);
            Ok(dropped)
        });
        self.rollback();
        match dropped {
            Ok(true) => Ok(()),
            Ok(false) => Err(Abort::because(AbortReason::RecordRetired)),
            Err(abort) => Err(abort),
        }
    }
}
