//! Draws and runs one worker's stream of transactions.

use super::homes::Homes;
use super::keys::Keys;
use super::mix::{Action, Mix};
use super::{USERTABLE, YcsbOptions, value};
use crate::distinct::KeyDraw;
use crate::fold::fold;
use crate::stream::Stream;
use crate::zipf::Zipf;
use std::ops::ControlFlow;
use txn::{Abort, Access, Client, ColumnSet, Direction, KeyRange, Planned};

/// The action on one key, and the field that it uses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct FieldAccess {
    field: u8,
    action: Action,
}

/// One worker's stream of transactions.
#[derive(Clone, Debug)]
pub struct YcsbClient {
    options: YcsbOptions,
    stream: Stream,
    draw: KeyDraw,
    keys: Vec<u64>,
    /// Buffer for the rows that are announced.
    announced: Vec<(u64, ColumnSet)>,
    places: Keys,
    homes: Homes,
    mix: Mix,
    /// Set if every transaction draws only reads and updates of loaded rows.
    plain: bool,
    accesses: Vec<FieldAccess>,
    writes: bool,
    scans: bool,
    stamp: u64,
    /// Buffer for one row. An access to one field uses its beginning.
    row: Vec<u8>,
    checksum: u64,
}

impl YcsbClient {
    pub(super) fn of_worker(
        options: &YcsbOptions,
        zipf: &Zipf,
        worker: usize,
        workers: usize,
        seed: u64,
    ) -> YcsbClient {
        let accesses = options.accesses as usize;
        YcsbClient {
            stream: Stream::of_worker(seed, worker),
            draw: KeyDraw::new(zipf.clone(), accesses, options.distinct),
            keys: Vec::with_capacity(accesses),
            announced: Vec::with_capacity(accesses),
            places: Keys::new(options, worker, workers),
            homes: Homes::new(options, worker),
            mix: Mix::new(options, worker),
            plain: options.plain(),
            accesses: vec![FieldAccess { field: 0, action: Action::Read }; accesses],
            writes: false,
            scans: false,
            stamp: value::first_stamp(worker),
            row: vec![0; options.row_bytes()],
            checksum: 0,
            options: options.clone(),
        }
    }

    /// Returns a digest of every byte read so far, including aborted attempts. It exists so that the compiler
    /// keeps the reads.
    pub fn checksum(&self) -> u64 {
        self.checksum
    }

    /// Returns the keys of the drawn transaction, in access order.
    pub fn keys(&self) -> &[u64] {
        &self.keys
    }

    /// Announces the rows and the field of each that is drawn. Prefetching every field of every row would request more
    /// cache lines than a core can have outstanding.
    fn announce<A: Access + ?Sized>(&mut self, access: &mut A) {
        self.announced.clear();
        let rows = self.keys.iter().zip(&self.accesses);
        self.announced.extend(rows.map(|(key, what)| (*key, ColumnSet::one(what.field as usize))));
        access.prefetch(USERTABLE, &self.announced);
    }
}

/// Visits up to `most` rows, starting at `key`, and folds them into `checksum`.
fn scan<A: Access + ?Sized>(
    access: &mut A,
    (key, most): (u64, u32),
    columns: ColumnSet,
    checksum: &mut u64,
) -> Result<(), Abort> {
    let range = KeyRange::new(key, u64::MAX).expect("no key is greater");
    let mut left = most;
    access.scan(USERTABLE, range.into(), Direction::Forward, columns, &mut |_, row| {
        *checksum = fold(*checksum, row);
        left -= 1;
        if left == 0 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    })
}

impl Client for YcsbClient {
    fn next(&mut self) {
        self.stamp = value::next_stamp(self.stamp);
        self.draw.fill(&mut self.keys, self.accesses.len(), &mut self.stream);
        self.homes.spread(&mut self.keys, &mut self.stream);
        if self.options.key_order {
            self.keys.sort_unstable();
        }
        self.mix.begin(&mut self.stream);
        self.places.begin();
        (self.writes, self.scans) = (false, false);
        if self.plain {
            // Drawing is part of a worker's time, though not of its measured latency. This path therefore
            // draws no more numbers than necessary.
            let (fields, mut writes) = (self.options.fields, false);
            for what in &mut self.accesses {
                let bits = self.stream.bits();
                what.field = (((bits >> 32) * fields) >> 32) as u8;
                what.action = self.mix.single(bits & 0xffff_ffff);
                writes |= what.action == Action::Update;
            }
            self.writes = writes;
            return;
        }
        for (key, what) in self.keys.iter_mut().zip(&mut self.accesses) {
            let bits = self.stream.bits();
            what.field = (((bits >> 32) * self.options.fields) >> 32) as u8;
            what.action = self.mix.action(bits & 0xffff_ffff, &mut self.stream);
            *key = match what.action {
                Action::Insert => self.places.fresh(*key),
                _ => self.places.of_rank(*key),
            };
            self.writes |= matches!(what.action, Action::Update | Action::Insert);
            self.scans |= matches!(what.action, Action::Scan(_));
        }
    }

    fn run<A: Access + ?Sized>(&mut self, access: &mut A) -> Result<(), Abort> {
        if self.options.prefetch {
            self.announce(access);
        }
        let (bytes, whole) = (self.options.field_bytes as usize, self.options.all_fields);
        let all = ColumnSet::first(self.options.fields as usize);
        for (i, (&key, &what)) in self.keys.iter().zip(&self.accesses).enumerate() {
            let column = ColumnSet::one(what.field as usize);
            let (read, read_bytes) = match whole {
                true => (all, self.row.len()),
                false => (column, bytes),
            };
            let found = match what.action {
                Action::Read => {
                    let row = &mut self.row[..read_bytes];
                    let found = access.read(USERTABLE, key.into(), read, row)?;
                    self.checksum = fold(self.checksum, row);
                    found
                }
                Action::Update if self.options.read_modify_write => {
                    let row = &mut self.row[..read_bytes];
                    access.read_for_update(USERTABLE, key.into(), read, row)?;
                    self.checksum = fold(self.checksum, row);
                    // Only the drawn field of the fields that were read is written.
                    let at = if whole { what.field as usize * bytes } else { 0 };
                    let field = &mut row[at..at + bytes];
                    value::derive(field, self.stamp, i);
                    access.update(USERTABLE, key.into(), column, field)?
                }
                Action::Update if self.options.add => {
                    let field = &mut self.row[..bytes];
                    value::fresh(field, self.stamp, i);
                    access.add(USERTABLE, key.into(), column, field)?
                }
                Action::Update => {
                    let field = &mut self.row[..bytes];
                    value::fresh(field, self.stamp, i);
                    access.update(USERTABLE, key.into(), column, field)?
                }
                Action::Insert => {
                    value::fresh(&mut self.row, self.stamp, i);
                    let inserted = access.insert(USERTABLE, key.into(), &self.row)?;
                    assert!(inserted, "row {key} of usertable is there before its transaction");
                    true
                }
                Action::Scan(most) => {
                    scan(access, (key, most), read, &mut self.checksum)?;
                    true
                }
            };
            // With `latest`, a row that should have been inserted can be missing, because its insert found no
            // room.
            if !found && !self.options.latest {
                lost(key);
            }
        }
        Ok(())
    }

    fn partitions(&self, out: &mut Vec<u64>) {
        // Neighboring keys are in different partitions, so scans declare none.
        if !self.scans || self.options.partitions == 1 {
            out.extend_from_slice(self.homes.drawn());
        }
    }

    fn plan(&self, out: &mut Vec<Planned>) {
        let whole = self.options.all_fields;
        for (key, what) in self.keys.iter().zip(&self.accesses) {
            let column = ColumnSet::one(what.field as usize);
            let read = if whole { ColumnSet::EVERY } else { column };
            out.push(match what.action {
                Action::Read => Planned::read(USERTABLE, *key, read),
                Action::Update if self.options.read_modify_write => {
                    Planned::write(USERTABLE, *key, read)
                }
                Action::Update => Planned::write(USERTABLE, *key, column),
                Action::Insert => Planned::whole(USERTABLE, *key),
                Action::Scan(_) => continue,
            });
        }
    }

    fn read_only(&self) -> bool {
        self.mix.reads_only() || self.options.declare_read_only && !self.writes
    }
}

/// Reports a lost row. No transaction deletes rows, so even an attempt that is doomed to abort must find it.
#[cold]
fn lost(key: u64) -> ! {
    panic!("row {key} of usertable was loaded and never deleted, yet the engine does not find it")
}
