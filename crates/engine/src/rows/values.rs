//! Values of variable length: conversion of rows between their packed form and the held form, and the life of the
//! values that lie outside records.
//!
//! The states of a value are on the page of [`storage::Values`]. This module moves values from state to state:
//!
//! - A write stores its values before the protocol sees it. They are *fresh*.
//! - At commit, between prepare and install, the protocol tells the before-images and after-images of its writes
//!   ([`protocols::Protocol::images`]). Fresh values in an after-image become *installed*. Values in a before-image are
//!   replaced. Fresh values in no image were overwritten by the transaction itself, so they retire.
//! - At rollback all fresh values retire.
//! - Between transactions a session retires the replaced values and frees retired ones.

use super::{Rows, Sited, Work, added};
use crate::site::NextAccess;
use machine::{Core, Machine};
use protocols::{Change, Image, faults};
use std::ops::ControlFlow;
use storage::{Record, Table, Values};
use txn::{Abort, AbortReason, ColumnSet, Intent, Key, RowLayout, TableId, WriteKind};

/// The values of one session that are in a state between two others.
#[derive(Default)]
pub(super) struct ValueStates {
    /// Values that the running attempt has stored, with the numbers of their sites.
    fresh: Vec<(usize, u64)>,
    /// Values that committed writes have replaced, with the numbers of their sites.
    replaced: Vec<(usize, u64)>,
    /// Latest commit timestamp of the writes that have replaced them.
    replaced_at: u64,
    /// Set if a write of the running attempt can store or replace values outside records.
    writes: bool,
    /// Number of values retired or replaced since the last release.
    waiting: usize,
    /// Buffer for a row in held form.
    held: Vec<u8>,
    /// Buffer for a row in packed form.
    packed: Vec<u8>,
}

impl ValueStates {
    /// Returns true if values should be released, `batch` of them at a time.
    #[inline]
    pub fn is_due(&self, batch: usize) -> bool {
        self.waiting >= batch
    }

    /// Adds the values that a part of the attempt has stored.
    pub fn take_back(&mut self, part: &mut ValueStates) {
        self.fresh.append(&mut part.fresh);
        self.writes |= std::mem::take(&mut part.writes);
        self.waiting += std::mem::take(&mut part.waiting);
    }

    /// Notes the image of a write at site number `site`.
    fn noted<M: Machine>(
        &mut self,
        core: &M::Core,
        (site, values): (usize, &Values<M>),
        image: &Image<'_, '_, M>,
    ) {
        let Image { record, kind, columns, before, after } = image;
        let layout = record.table().layout();
        if !layout.apart().intersects(*columns) {
            return;
        }
        let stays = *kind == WriteKind::Delete && core.is_planted(faults::DELETED_VALUES_STAY);
        if *kind != WriteKind::Insert && !stays {
            let words = layout.references(*columns, before);
            let replaced = words.filter(|word| values.replace(core, *word));
            self.replaced.extend(replaced.map(|word| (site, word)));
        }
        if *kind != WriteKind::Delete {
            layout.references(*columns, after).for_each(|word| values.install(core, word));
        }
    }
}

impl<M: Machine> Rows<'_, M> {
    /// Returns true if values should be released.
    #[inline]
    pub fn is_release_due(&self) -> bool {
        self.values.is_due(self.purge.batch())
    }
}

impl<'s, M: Machine> Work<'_, 's, M> {
    /// Implements [`txn::Access::fetch`].
    pub fn fetch(
        &mut self,
        table: TableId,
        key: Key<'_>,
        columns: ColumnSet,
        intent: Intent,
        out: &mut Vec<u8>,
    ) -> Result<bool, Abort> {
        if added::are_added(self.table(table), columns) {
            return self.fetch_added(table, key, columns, intent, out);
        }
        let (at, _) = self.locate(table, key, Some(NextAccess { columns, intent, reads: true }))?;
        let layout = self.table(table).row_layout();
        out.clear();
        if !layout.variable().intersects(columns) {
            out.resize(layout.held_bytes(columns), 0);
            return self.read_row(at, columns, intent, out);
        }
        let mut held = std::mem::take(&mut self.rows.values.held);
        held.clear();
        held.resize(layout.held_bytes(columns), 0);
        let found = self.read_row(at, columns, intent, &mut held);
        if let Ok(true) = found {
            self.pack(at.site, layout, columns, &held, out);
        }
        self.rows.values.held = held;
        found
    }

    /// Appends `columns` of a row in held form, which was read at site number `site`, to `out` in packed form.
    pub(super) fn pack(
        &mut self,
        site: usize,
        layout: &RowLayout,
        columns: ColumnSet,
        held: &[u8],
        out: &mut Vec<u8>,
    ) {
        let (core, values) = (self.rows.core, self.sites.site(site).values());
        layout.pack(columns, held, out, |word, out| values.load(core, word, out));
    }

    /// Visits a row of `home` in packed form. `held` are its `columns` in held form, as they were read at site number
    /// `site`.
    pub(super) fn visit_packed(
        &mut self,
        site: usize,
        home: &Table<M>,
        columns: ColumnSet,
        held: &[u8],
        visit: impl FnOnce(&[u8]) -> ControlFlow<()>,
    ) -> ControlFlow<()> {
        let layout = home.row_layout();
        if !layout.variable().intersects(columns) {
            return visit(held);
        }
        let mut packed = std::mem::take(&mut self.rows.values.packed);
        packed.clear();
        self.pack(site, layout, columns, held, &mut packed);
        let flow = visit(&packed);
        self.rows.values.packed = packed;
        flow
    }

    /// Runs `write` with `columns` of a row in held form. They are given in packed form, and their values are stored
    /// at the site of the record.
    pub(super) fn with_held<T>(
        &mut self,
        at: Sited<'s, M>,
        (columns, packed): (ColumnSet, &[u8]),
        write: impl FnOnce(&mut Self, &[u8]) -> Result<T, Abort>,
    ) -> Result<T, Abort> {
        let layout = at.record.table().row_layout();
        if !layout.variable().intersects(columns) {
            return write(self, packed);
        }
        let mut held = std::mem::take(&mut self.rows.values.held);
        held.clear();
        let stored = layout.hold(columns, packed, &mut held, |value| self.store(at.site, value));
        let written = stored.and_then(|()| write(self, &held));
        self.rows.values.held = held;
        written
    }

    /// Notes a write to `record` that can store or replace values outside records, so that the commit looks for
    /// them. An update of other columns can't.
    pub(super) fn note_values(&mut self, record: &Record<'s, M>, change: &Change<'_>) {
        let apart = record.table().row_layout().apart();
        if !apart.is_empty() && (change.state.is_some() || apart.intersects(change.columns)) {
            self.rows.values.writes = true;
            // A bare attempt tells no images at commit.
            self.rows.bare = false;
        }
    }

    /// Stores a fresh value at site number `site`.
    fn store(&mut self, site: usize, value: &[u8]) -> Result<u64, Abort> {
        let core = self.rows.core;
        let owner = self.sites.site(site);
        let values = owner.values();
        let stored = values.store(core, owner.value_space(), value).or_else(|_| {
            // Memory is exhausted. Values that wait for their readers may be free by now.
            self.release_values();
            self.give_back(0);
            values.store(core, self.sites.site(site).value_space(), value)
        });
        let word = stored.map_err(|_| Abort::because(AbortReason::OutOfMemory))?;
        self.rows.values.fresh.push((site, word));
        Ok(word)
    }

    /// Settles the values of a prepared attempt that is about to install its writes at `timestamp`.
    pub(super) fn settle_values(&mut self, timestamp: u64) {
        if !std::mem::take(&mut self.rows.values.writes) {
            return;
        }
        let core = self.rows.core;
        let mut states = std::mem::take(&mut self.rows.values);
        let before = states.replaced.len();
        for at in 0..self.sites.taking_part() {
            let at = self.sites.part(at);
            let site = self.sites.site(at);
            let values = site.values();
            site.images(&mut |image| states.noted(core, (at, values), &image));
        }
        states.waiting += states.replaced.len() - before;
        states.replaced_at = states.replaced_at.max(timestamp);
        states.fresh.retain(|(at, word)| self.sites.site(*at).values().is_fresh(core, *word));
        self.rows.values = states;
        self.retire_fresh();
    }

    /// Retires the values of an attempt that is rolled back.
    pub(super) fn drop_values(&mut self) {
        self.rows.values.writes = false;
        if self.rows.core.is_planted(faults::ROLLED_BACK_VALUES_STAY) {
            self.rows.values.fresh.clear();
        }
        self.retire_fresh();
    }

    /// Retires all fresh values.
    fn retire_fresh(&mut self) {
        let mut fresh = std::mem::take(&mut self.rows.values.fresh);
        self.rows.values.waiting += fresh.len();
        for (site, word) in fresh.drain(..) {
            self.sites.site(site).retire_value(word);
        }
        self.rows.values.fresh = fresh;
    }

    /// Retires the replaced values. No transaction that begins from now on finds them.
    pub fn release_values(&mut self) {
        self.rows.values.waiting = 0;
        let mut replaced = std::mem::take(&mut self.rows.values.replaced);
        if replaced.is_empty() {
            return;
        }
        let early = self.rows.core.is_planted(faults::VALUES_RETIRED_TOO_EARLY);
        let replaced_at = self.rows.values.replaced_at;
        if !early {
            self.each_site(|site| site.forbid_beginning_before(replaced_at));
        }
        for (site, word) in replaced.drain(..) {
            self.sites.site(site).retire_value(word);
        }
        self.rows.values.replaced = replaced;
    }
}
