//! Draws and runs one worker's stream of orders and payments.

use super::columns::{CHANGED, CONSTANT, CONSTANT_BYTES, NEAR, TOUCHED_BYTES, near, touched};
use super::draw::{Drawn, OrderLine, draw};
use super::{CUSTOMER, DISTRICT, DISTRICTS, ITEM, Records, STOCK, TpccAccessesOptions, WAREHOUSE};
use crate::stream::Stream;
use txn::{Abort, Access, Client, ColumnSet, Planned, TableId};

/// Largest number of lines of an order.
const MOST_LINES: usize = 15;

/// One worker's stream of procedures.
#[derive(Clone, Debug)]
pub struct TpccAccessesClient {
    options: TpccAccessesOptions,
    records: Records,
    stream: Stream,
    home: u64,
    /// Key of this worker's first item.
    items: u64,
    drawn: Drawn,
    lines: Vec<OrderLine>,
    /// Keys that are announced.
    announced: Vec<(u64, ColumnSet)>,
    stamp: u64,
    buffer: Vec<u8>,
    /// Content of appended rows.
    inserted: Vec<u8>,
    checksum: u64,
}

impl TpccAccessesClient {
    pub(super) fn of_worker(
        options: &TpccAccessesOptions,
        worker: usize,
        workers: usize,
        seed: u64,
    ) -> TpccAccessesClient {
        let records = options.records();
        let replica = worker as u64 * options.item_replicas / workers.max(1) as u64;
        TpccAccessesClient {
            records,
            stream: Stream::of_worker(seed, worker),
            home: worker as u64 % options.warehouses,
            items: replica * records.items,
            drawn: Drawn::Payment { district: 0, customer: 0 },
            lines: Vec::with_capacity(16),
            announced: Vec::with_capacity(16),
            stamp: (worker as u64) << 40,
            buffer: vec![0; TOUCHED_BYTES as usize],
            inserted: vec![0; MOST_LINES * options.appended(records.order_line) as usize],
            checksum: 0,
            options: options.clone(),
        }
    }

    /// Returns the home warehouse of this worker.
    pub fn home(&self) -> u64 {
        self.home
    }

    /// Returns a digest of every byte read so far, including aborted attempts. It exists so that the compiler
    /// keeps the reads.
    pub fn checksum(&self) -> u64 {
        self.checksum
    }

    fn fold(&mut self, bytes: usize) {
        for part in self.buffer[..bytes].chunks(8) {
            let mut word = [0; 8];
            word[..part.len()].copy_from_slice(part);
            self.checksum = self.checksum.rotate_left(5) ^ u64::from_le_bytes(word);
        }
    }

    fn read<A: Access + ?Sized>(
        &mut self,
        access: &mut A,
        table: TableId,
        key: u64,
        (columns, bytes): (ColumnSet, u64),
    ) -> Result<(), Abort> {
        let bytes = bytes as usize;
        access.compute(self.options.work_cycles);
        let found = access.read(table, key.into(), columns, &mut self.buffer[..bytes])?;
        assert!(found, "row {key} of table {} was loaded and never deleted", table.0);
        self.fold(bytes);
        Ok(())
    }

    /// Reads the row, stamps it with a value that no other update writes, and writes it back.
    fn update<A: Access + ?Sized>(
        &mut self,
        access: &mut A,
        table: TableId,
        key: u64,
        (columns, bytes): (ColumnSet, u64),
    ) -> Result<(), Abort> {
        let bytes = bytes as usize;
        access.compute(self.options.work_cycles);
        let found =
            access.read_for_update(table, key.into(), columns, &mut self.buffer[..bytes])?;
        assert!(found, "row {key} of table {} was loaded and never deleted", table.0);
        self.fold(bytes);
        self.buffer[..8].copy_from_slice(&self.stamp.to_le_bytes());
        access.update(table, key.into(), columns, &self.buffer[..bytes])?;
        Ok(())
    }

    /// Appends `rows` rows of `bytes` bytes each, which begin with the stamp. Does nothing in a workload without inserts.
    fn insert<A: Access + ?Sized>(
        &mut self,
        access: &mut A,
        rows: usize,
        bytes: u64,
    ) -> Result<(), Abort> {
        if !self.options.inserts {
            return Ok(());
        }
        self.inserted[..8].copy_from_slice(&self.stamp.to_le_bytes());
        access.append(&self.inserted[..rows * self.options.appended(bytes) as usize])
    }

    /// Announces the items of the order and their stock. The measured program prefetches the first line of each record.
    fn announce<A: Access + ?Sized>(&mut self, access: &mut A) {
        let of_items = if self.options.prefetch_items { NEAR } else { ColumnSet::NONE };
        for table in [ITEM, STOCK] {
            self.announced.clear();
            let (items, lines) = (self.items, self.lines.iter());
            self.announced.extend(lines.map(|line| match table {
                ITEM => (items + line.item, of_items),
                _ => (line.stock, NEAR),
            }));
            access.prefetch(table, &self.announced);
        }
    }

    fn order<A: Access + ?Sized>(
        &mut self,
        access: &mut A,
        district: u64,
        customer: u64,
    ) -> Result<(), Abort> {
        let r = self.records;
        self.read(access, WAREHOUSE, self.home, (CONSTANT, CONSTANT_BYTES))?;
        self.read(access, CUSTOMER, customer, (CONSTANT, CONSTANT_BYTES))?;
        self.update(access, DISTRICT, district, touched(r.district))?;
        self.insert(access, 1, r.order)?;
        self.insert(access, 1, r.undelivered)?;
        let (item, stock) = (near(r.item), touched(r.stock));
        if self.options.prefetch {
            self.announce(access);
            for at in 0..self.lines.len() {
                self.read(access, ITEM, self.items + self.lines[at].item, item)?;
            }
            for at in 0..self.lines.len() {
                self.update(access, STOCK, self.lines[at].stock, stock)?;
            }
        }
        for at in 0..self.lines.len() {
            if !self.options.prefetch {
                self.read(access, ITEM, self.items + self.lines[at].item, item)?;
                self.update(access, STOCK, self.lines[at].stock, stock)?;
            }
            if !self.options.bulk_insert {
                self.insert(access, 1, r.order_line)?;
            }
        }
        if self.options.bulk_insert {
            self.insert(access, self.lines.len(), r.order_line)?;
        }
        Ok(())
    }

    fn payment<A: Access + ?Sized>(
        &mut self,
        access: &mut A,
        district: u64,
        customer: u64,
    ) -> Result<(), Abort> {
        let r = self.records;
        let changed = |bytes: u64| (CHANGED, bytes.min(TOUCHED_BYTES) - CONSTANT_BYTES);
        self.update(access, WAREHOUSE, self.home, changed(r.warehouse))?;
        self.update(access, DISTRICT, district, touched(r.district))?;
        self.update(access, CUSTOMER, customer, changed(r.customer))?;
        self.insert(access, 1, r.history)
    }
}

impl Client for TpccAccessesClient {
    fn next(&mut self) {
        self.stamp += 1;
        self.drawn = draw(&self.options, self.home, &mut self.stream, &mut self.lines);
    }

    fn run<A: Access + ?Sized>(&mut self, access: &mut A) -> Result<(), Abort> {
        match self.drawn {
            Drawn::NewOrder { district, customer } => self.order(access, district, customer),
            Drawn::Payment { district, customer } => self.payment(access, district, customer),
        }
    }

    fn partitions(&self, out: &mut Vec<u64>) {
        out.push(self.home);
        match self.drawn {
            Drawn::NewOrder { .. } => {
                out.extend(self.lines.iter().map(|line| line.stock / self.records.items));
            }
            Drawn::Payment { customer, .. } => {
                out.push(customer / (self.records.customers * DISTRICTS));
            }
        }
    }

    fn plan(&self, out: &mut Vec<Planned>) {
        match self.drawn {
            Drawn::NewOrder { district, customer } => {
                let r = self.records;
                out.push(Planned::read(WAREHOUSE, self.home, CONSTANT));
                out.push(Planned::read(CUSTOMER, customer, CONSTANT));
                out.push(Planned::write(DISTRICT, district, touched(r.district).0));
                let item = |line: &OrderLine| Planned::read(ITEM, self.items + line.item, NEAR);
                let stock =
                    |line: &OrderLine| Planned::write(STOCK, line.stock, touched(r.stock).0);
                match self.options.prefetch {
                    true => {
                        out.extend(self.lines.iter().map(item));
                        out.extend(self.lines.iter().map(stock));
                    }
                    false => {
                        out.extend(self.lines.iter().flat_map(|line| [item(line), stock(line)]));
                    }
                }
            }
            Drawn::Payment { district, customer } => out.extend([
                Planned::write(WAREHOUSE, self.home, CHANGED),
                Planned::write(DISTRICT, district, touched(self.records.district).0),
                Planned::write(CUSTOMER, customer, CHANGED),
            ]),
        }
    }

    fn kind(&self) -> usize {
        match self.drawn {
            Drawn::NewOrder { .. } => 0,
            Drawn::Payment { .. } => 1,
        }
    }
}
