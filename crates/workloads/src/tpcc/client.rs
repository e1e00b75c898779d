//! Draws and runs one terminal's stream of transactions.

use super::TpccOptions;
use super::actions::Desks;
use super::columns::Layouts;
use super::draw::{Drawn, Line, MOST_LINES, Terminal};
use super::keys::{self, LOADING_WORKER, Place};
use super::load;
use super::mix::Mix;
use super::row::{Buffers, Digest};
use super::text::Originals;
use crate::stream::Stream;
use txn::{Abort, Access, Client, ColumnSet, Planned};

/// One worker's terminal. It is bound to a home warehouse (worker modulo warehouses). For Stock-Level it is
/// also bound to a district of that warehouse (clause 2.8.1.1: the next district once all warehouses have a
/// terminal). It has no keying or thinking time.
#[derive(Clone, Debug)]
pub struct TpccClient {
    mix: Mix,
    terminal: Terminal,
    stream: Stream,
    worker: u64,
    /// Number of transactions drawn so far.
    drawn_so_far: u64,
    kind: usize,
    drawn: Drawn,
    desk: Desk,
    /// Desks of actions.
    desks: Vec<Desk>,
}

/// Working memory of a transaction. All transactions of a client share it, so that none of them allocates.
#[derive(Clone, Debug)]
pub(super) struct Desk {
    pub options: TpccOptions,
    /// Date of the drawn transaction.
    pub date: u64,
    /// Key of its history row, if it writes one.
    pub history: u64,
    pub layouts: Layouts,
    pub buffers: Buffers,
    pub originals: Originals,
    /// Buffer for a row or some columns to be written, packed.
    pub written: Vec<u8>,
    /// H_DATA of a payment.
    pub remark: Vec<u8>,
    /// C_DATA of a customer with bad credit.
    pub text: Vec<u8>,
    /// Customers with the same last name: first name and number.
    pub named: Vec<([u8; 16], u64)>,
    /// Numbers found by a scan.
    pub found: Vec<u64>,
    /// Rows that are announced.
    pub rows: Vec<(u64, ColumnSet)>,
    pub digest: Digest,
}

impl TpccClient {
    pub(super) fn of_worker(options: &TpccOptions, worker: usize, seed: u64) -> TpccClient {
        let number = worker as u64;
        assert!(number < LOADING_WORKER, "workers are numbered below {LOADING_WORKER}");
        let district = number / options.warehouses % options.districts;
        let home = Place { warehouse: number % options.warehouses, district };
        let non_uniform = load::constants(options).1;
        TpccClient {
            mix: options.mix,
            terminal: Terminal { options: options.into(), non_uniform, home },
            stream: Stream::of_worker(seed, worker),
            worker: number,
            drawn_so_far: 0,
            kind: 0,
            drawn: Drawn::StockLevel { place: home, threshold: 0 },
            desk: Desk {
                options: options.clone(),
                date: 0,
                history: 0,
                layouts: Layouts::new(options.full_schema()),
                buffers: Buffers::new(options.full_schema()),
                originals: Originals::new(),
                written: Vec::new(),
                remark: Vec::new(),
                text: Vec::new(),
                named: Vec::new(),
                found: Vec::new(),
                rows: Vec::with_capacity(MOST_LINES),
                digest: Digest::default(),
            },
            desks: Vec::new(),
        }
    }

    /// Returns the home warehouse, and the district of the Stock-Level transactions.
    pub fn home(&self) -> Place {
        self.terminal.home
    }

    /// Returns the drawn transaction.
    pub fn drawn(&self) -> &Drawn {
        &self.drawn
    }

    /// Returns a digest of every byte read so far, including aborted attempts. It exists so that the compiler
    /// keeps the reads.
    pub fn digest(&self) -> Digest {
        self.desk.digest
    }
}

impl TpccClient {
    /// Runs the drawn transaction in actions, if it can be split.
    fn run_in_actions<A: Access + ?Sized>(&mut self, access: &mut A) -> Option<Result<(), Abort>> {
        let mut desks = Desks { main: &mut self.desk, others: &mut self.desks };
        match &self.drawn {
            Drawn::NewOrder { place, customer, lines, count } => {
                Some(desks.enter_order(access, *place, *customer, &lines[..*count]))
            }
            Drawn::Payment { place, residence, who, amount } => {
                Some(desks.pay(access, *place, *residence, *who, *amount))
            }
            _ => None,
        }
    }
}

impl Client for TpccClient {
    fn next(&mut self) {
        self.drawn_so_far += 1;
        self.desk.date = load::FIRST_DATE + self.drawn_so_far;
        let warehouse = self.terminal.home.warehouse;
        self.desk.history = keys::history(warehouse, self.worker, self.drawn_so_far);
        self.kind = self.mix.draw(&mut self.stream);
        self.drawn = self.terminal.draw(self.kind, &mut self.stream);
    }

    fn run<A: Access + ?Sized>(&mut self, access: &mut A) -> Result<(), Abort> {
        if access.splits()
            && let Some(ended) = self.run_in_actions(access)
        {
            return ended;
        }
        let desk = &mut self.desk;
        match &self.drawn {
            Drawn::NewOrder { place, customer, lines, count } => {
                desk.enter_order(access, *place, *customer, &lines[..*count])
            }
            Drawn::Payment { place, residence, who, amount } => {
                desk.pay(access, *place, *residence, *who, *amount)
            }
            Drawn::OrderStatus { place, who } => desk.order_status(access, *place, *who),
            Drawn::Delivery { warehouse, carrier } => desk.deliver(access, *warehouse, *carrier),
            Drawn::StockLevel { place, threshold } => desk.stock_level(access, *place, *threshold),
        }
    }

    fn partitions(&self, out: &mut Vec<u64>) {
        out.push(self.terminal.home.warehouse);
        match &self.drawn {
            Drawn::NewOrder { lines, count, .. } => {
                let suppliers = lines[..*count].iter().map(|line: &Line| line.supplier);
                out.extend(suppliers.filter(|supplier| *supplier != self.terminal.home.warehouse));
            }
            Drawn::Payment { residence, .. } => out.push(residence.warehouse),
            Drawn::OrderStatus { .. } | Drawn::Delivery { .. } | Drawn::StockLevel { .. } => {}
        }
    }

    fn plan(&self, out: &mut Vec<Planned>) {
        self.desk.plan(&self.drawn, out);
    }

    fn read_only(&self) -> bool {
        matches!(self.drawn, Drawn::OrderStatus { .. } | Drawn::StockLevel { .. })
    }

    fn kind(&self) -> usize {
        self.kind
    }
}
