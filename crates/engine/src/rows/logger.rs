//! Collects what a session reports to its engine's log.

use super::{Rows, Work};
use crate::log::{Commit, Log, Ticket, Written, WrittenKey};
use machine::Machine;
use protocols::Image;
use std::{collections::HashMap, ops::Range};
use storage::Record;
use txn::TxnId;

/// The writes of the running attempt, collected for the log.
pub(super) struct Logger<'s, M: Machine> {
    log: &'s Log<M>,
    /// Byte keys of the records that the attempt has looked up, as ranges in `bytes`, by the identity of the
    /// record. Needed because trees store keys apart from records.
    spelled: HashMap<usize, Range<usize>>,
    /// Writes of the running attempt. Their ranges refer to `bytes`.
    writes: Vec<Written>,
    bytes: Vec<u8>,
    /// Ticket of the last commit, until it is taken.
    ticket: Option<Ticket>,
}

impl<'s, M: Machine> Logger<'s, M> {
    /// Makes an empty logger.
    pub fn new(log: &'s Log<M>) -> Self {
        let (spelled, writes, bytes) = Default::default();
        Logger { log, spelled, writes, bytes, ticket: None }
    }

    fn keep(&mut self, bytes: &[u8]) -> Range<usize> {
        let start = self.bytes.len();
        self.bytes.extend_from_slice(bytes);
        start..self.bytes.len()
    }

    /// Remembers that the running attempt has found `record` under `key`.
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

    /// Keeps a row of an image in packed form. A row that is not there has no bytes.
    fn keep_row(&mut self, image: &Image<'_, '_, M>, held: &[u8]) -> Range<usize> {
        let shape = image.record.table();
        match held.is_empty() || !shape.layout().variable().intersects(image.columns) {
            true => self.keep(held),
            false => self.keep(&shape.peek_packed(image.columns, held)),
        }
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
        let (before, after) = (self.keep_row(image, before), self.keep_row(image, after));
        let (table, kind, columns) = (record.table().table_id(), *kind, *columns);
        self.writes.push(Written { table, key, kind, columns, before, after });
    }

    /// Numbers the attempt and sends it to the sink. An attempt without writes gets the last ticket and is not
    /// sent.
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

    /// Forgets the attempt, which has ended.
    pub fn end(&mut self) {
        self.spelled.clear();
        self.writes.clear();
        self.bytes.clear();
    }
}

impl<M: Machine> Rows<'_, M> {
    /// Numbers the attempt and sends it to the log, if there is one.
    pub(super) fn log(&mut self, timestamp: u64) {
        let (core, id) = (self.core, self.id());
        if let Some(logger) = &mut self.logger {
            logger.commit(core, id, timestamp);
        }
    }

    /// Returns the ticket of the last commit, if it has not been taken yet.
    pub fn take_ticket(&mut self) -> Option<Ticket> {
        self.logger.as_mut().and_then(|logger| logger.ticket.take())
    }
}

impl<M: Machine> Work<'_, '_, M> {
    /// Collects what the prepared attempt will install at every site, if there is a log.
    pub(super) fn gather_images(&mut self) {
        let Some(logger) = &mut self.rows.logger else { return };
        let core = self.rows.core;
        for at in 0..self.sites.taking_part() {
            let number = self.sites.part(at);
            self.sites.site(number).images(&mut |image| logger.add(core, &image));
        }
    }
}
