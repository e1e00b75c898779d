//! What a session tells its engine's log.

use super::{Rows, Work};
use crate::log::{Commit, Log, Ticket, Written, WrittenKey};
use machine::Machine;
use protocols::Image;
use std::{collections::HashMap, ops::Range};
use storage::Record;
use txn::TxnId;

/// The writes of the running attempt, gathered for the log.
pub(super) struct Logger<'s, M: Machine> {
    log: &'s Log<M>,
    /// Where the bytes of a record's key lie, of the records that the attempt has looked up: trees keep keys and records
    /// apart.
    spelled: HashMap<usize, Range<usize>>,
    writes: Vec<Written>,
    bytes: Vec<u8>,
    /// Of the last commit, until it is taken.
    ticket: Option<Ticket>,
}

impl<'s, M: Machine> Logger<'s, M> {
    /// Nothing yet.
    pub fn new(log: &'s Log<M>) -> Self {
        let (spelled, writes, bytes) = Default::default();
        Logger { log, spelled, writes, bytes, ticket: None }
    }

    fn keep(&mut self, bytes: &[u8]) -> Range<usize> {
        let start = self.bytes.len();
        self.bytes.extend_from_slice(bytes);
        start..self.bytes.len()
    }

    /// The running attempt has found `record` under `key`.
    pub fn spell(&mut self, record: &Record<'_, M>, key: &[u8]) {
        if self.spelled.contains_key(&record.identity()) {
            return;
        }
        let key = self.keep(key);
        if let Some(second) = record.second() {
            self.spelled.insert(second.identity(), key.clone());
        }
        self.spelled.insert(record.identity(), key);
    }

    fn add(&mut self, core: &M::Core, image: &Image<'_, '_, M>) {
        let Image { record, kind, columns, before, after } = image;
        let key = match record.table().has_byte_keys() {
            false => WrittenKey::Number(record.key(core)),
            true => {
                let key = self.spelled.get(&record.identity());
                WrittenKey::Bytes(key.expect("what is written was looked up by its key").clone())
            }
        };
        let (before, after) = (self.keep(before), self.keep(after));
        let (table, kind, columns) = (record.table().table_id(), *kind, *columns);
        self.writes.push(Written { table, key, kind, columns, before, after });
    }

    /// Numbers the attempt and tells the sink of it.
    fn commit(&mut self, core: &M::Core, id: TxnId, timestamp: u64) {
        let Log { sink, order, epoch_of } = self.log;
        if self.writes.is_empty() {
            self.ticket = Some(Ticket(order.last(core)));
            return;
        }
        let (ticket, epoch) = (Ticket(order.draw(core)), epoch_of(timestamp));
        let (writes, bytes) = (&*self.writes, &*self.bytes);
        sink.commit(&Commit { ticket, id, timestamp, epoch, writes, bytes });
        self.ticket = Some(ticket);
    }

    /// The attempt has ended.
    pub fn end(&mut self) {
        self.spelled.clear();
        self.writes.clear();
        self.bytes.clear();
    }
}

impl<M: Machine> Rows<'_, M> {
    /// Numbers the attempt and tells the log of it, if there is one.
    pub(super) fn log(&mut self, timestamp: u64) {
        let (core, id) = (self.core, self.id());
        if let Some(logger) = &mut self.logger {
            logger.commit(core, id, timestamp);
        }
    }

    /// The ticket of the last commit, if it was not taken before.
    pub fn take_ticket(&mut self) -> Option<Ticket> {
        self.logger.as_mut().and_then(|logger| logger.ticket.take())
    }
}

impl<M: Machine> Work<'_, '_, M> {
    /// Gathers what the prepared attempt will install, at every site, if there is a log.
    pub(super) fn gather_images(&mut self) {
        let Some(logger) = &mut self.rows.logger else { return };
        let core = self.rows.core;
        for at in 0..self.sites.count() {
            self.sites.site(at).images(&mut |image| logger.add(core, &image));
        }
    }
}
