//! Loads the initial population (clause 4.3.3.1).
//!
//! Each row is a function of the seed and of its key, drawn from its own stream. So rows can be generated in
//! any order and by any number of threads.

use super::columns::*;
use super::keys::{self, LOADING_WORKER, Place};
use super::non_uniform::NonUniform;
use super::row::put;
use super::text;
use super::{TpccOptions, columns};
use crate::stream::{Stream, mix};
use txn::{Loader, TableId};

/// Amount that each customer has paid before, which reduces the debt: 10.00.
pub(super) const FIRST_PAYMENT: i64 = 1_000;

/// Date of everything in the initial population.
pub(super) const FIRST_DATE: u64 = 1;

/// Purposes of streams that do not belong to the row of a table.
const CONSTANTS: u16 = 64;
const BUYERS: u16 = 65;
const LENGTHS: u16 = 66;

/// The rule by which rows are generated.
#[derive(Clone, Debug)]
pub(super) struct Population<'a> {
    options: &'a TpccOptions,
    non_uniform: NonUniform,
}

/// Returns the constants of the initial population and of the runs on it.
pub(super) fn constants(options: &TpccOptions) -> (NonUniform, NonUniform) {
    NonUniform::pair(&mut stream_of(options, CONSTANTS, 0))
}

fn stream_of(options: &TpccOptions, what: u16, key: u64) -> Stream {
    let seed = mix(options.load_seed).wrapping_add(mix(u64::from(what) << 48));
    Stream::of_worker(seed.wrapping_add(key), usize::from(what))
}

/// Returns the initial S_QUANTITY of a row of stock.
pub(super) fn first_quantity(options: &TpccOptions, key: u64) -> i64 {
    10 + stream_of(options, STOCK.0, key).below(91) as i64
}

/// Returns the bytes of one column of a full row.
fn at(row: &mut [u8], columns: Columns, column: usize) -> &mut [u8] {
    &mut row[offset(columns, column)..offset(columns, column + 1)]
}

impl<'a> Population<'a> {
    pub(super) fn new(options: &'a TpccOptions) -> Population<'a> {
        Population { options, non_uniform: constants(options).0 }
    }

    fn stream(&self, table: TableId, key: u64) -> Stream {
        stream_of(self.options, table.0, key)
    }

    /// Loads all tables.
    pub(super) fn load(&self, loader: &mut dyn Loader) {
        let o = self.options;
        let districts = o.warehouses * o.districts;
        loader.load_dense(ITEM, o.items, &|key, row| self.item(key, row));
        loader.load_dense(WAREHOUSE, o.warehouses, &|key, row| self.warehouse(key, row));
        loader.load_dense(DISTRICT, districts, &|key, row| self.district(key, row));
        let customers = districts * o.customers_per_district;
        loader.load_dense(CUSTOMER, customers, &|key, row| self.customer(key, row));
        loader.load_dense(STOCK, o.warehouses * o.items, &|key, row| self.stock(key, row));
        for place in o.places() {
            self.names(loader, place);
            self.history(loader, place);
            self.orders(loader, place);
        }
    }

    fn item(&self, key: u64, row: &mut [u8]) {
        let stream = &mut self.stream(ITEM, key);
        put(row, &[100 + stream.below(9_901)]);
        if self.options.full_schema() {
            put(at(row, item::COLUMNS, 1), &[1 + stream.below(10_000)]);
            text::letters(stream, at(row, item::COLUMNS, 2), 14);
            text::data(stream, at(row, item::COLUMNS, 3), 26);
        }
    }

    fn warehouse(&self, key: u64, row: &mut [u8]) {
        let stream = &mut self.stream(WAREHOUSE, key);
        let paid = FIRST_PAYMENT as u64 * self.options.customers_per_district;
        put(row, &[stream.below(2001), paid * self.options.districts]);
        self.name_and_address(stream, row, warehouse::COLUMNS, 2);
    }

    fn district(&self, key: u64, row: &mut [u8]) {
        let stream = &mut self.stream(DISTRICT, key);
        let customers = self.options.customers_per_district;
        put(row, &[stream.below(2001), FIRST_PAYMENT as u64 * customers, customers]);
        self.name_and_address(stream, row, district::COLUMNS, 3);
    }

    fn name_and_address(&self, stream: &mut Stream, row: &mut [u8], all: Columns, name: usize) {
        if self.options.full_schema() {
            text::letters(stream, at(row, all, name), 6);
            text::address(stream, &mut row[offset(all, name + 1)..]);
        }
    }

    /// Returns the number of a customer's last name. The first thousand customers have each name once.
    fn name_of(&self, key: u64) -> u64 {
        let customer = key % self.options.customers_per_district;
        if customer < text::NAMES {
            return customer;
        }
        self.non_uniform.name(&mut self.stream(CUSTOMER_BY_NAME, key), text::NAMES)
    }

    fn customer(&self, key: u64, row: &mut [u8]) {
        let stream = &mut self.stream(CUSTOMER, key);
        let balance = -FIRST_PAYMENT;
        put(row, &[balance as u64, FIRST_PAYMENT as u64, 1, 0, stream.below(5001)]);
        let credit = if stream.below(10) == 0 { b"BC" } else { b"GC" };
        at(row, customer::COLUMNS, 5).copy_from_slice(credit);
        if !self.options.full_schema() {
            return;
        }
        put(&mut row[offset(customer::COLUMNS, 6)..], &[5_000_000, FIRST_DATE]);
        self.first_name(key, at(row, customer::COLUMNS, 8));
        at(row, customer::COLUMNS, 9).copy_from_slice(b"OE");
        text::last_name(self.name_of(key), at(row, customer::COLUMNS, 10));
        text::address(
            stream,
            &mut row[offset(customer::COLUMNS, 11)..offset(customer::COLUMNS, 16)],
        );
        text::digits(stream, at(row, customer::COLUMNS, 16));
        text::letters(stream, at(row, customer::COLUMNS, 17), 300);
    }

    fn first_name(&self, key: u64, out: &mut [u8]) {
        text::letters(&mut stream_of(self.options, CUSTOMER_BY_NAME.0 + 32, key), out, 8);
    }

    fn stock(&self, key: u64, row: &mut [u8]) {
        let stream = &mut self.stream(STOCK, key);
        put(row, &[10 + stream.below(91), 0, 0, 0]);
        if self.options.full_schema() {
            for district in 0..10 {
                text::letters(stream, at(row, stock::COLUMNS, 4 + district), 24);
            }
            text::data(stream, at(row, stock::COLUMNS, 14), 26);
        }
    }

    fn names(&self, loader: &mut dyn Loader, place: Place) {
        for customer in 0..self.options.customers_per_district {
            let key = self.options.customer(place, customer);
            let mut first = [0; 16];
            self.first_name(key, &mut first);
            loader.load(CUSTOMER_BY_NAME, place.named(self.name_of(key), customer).into(), &first);
        }
    }

    fn history(&self, loader: &mut dyn Loader, place: Place) {
        let full = self.options.full_schema();
        let mut row = vec![0; columns::row_bytes(HISTORY, full)];
        let Place { warehouse, district } = place;
        for customer in 0..self.options.customers_per_district {
            let number = district * self.options.customers_per_district + customer;
            let amount = FIRST_PAYMENT as u64;
            put(
                &mut row,
                &[customer, district, warehouse, district, warehouse, amount, FIRST_DATE],
            );
            let key = keys::history(warehouse, LOADING_WORKER, number);
            if full {
                let stream = &mut self.stream(HISTORY, key);
                text::letters(stream, at(&mut row, history::COLUMNS, 7), 12);
            }
            loader.load(HISTORY, key.into(), &row);
        }
    }

    /// Returns the customers of a district's orders: each customer once, in random order.
    fn buyers(&self, place: Place) -> Vec<u64> {
        let mut buyers: Vec<u64> = (0..self.options.customers_per_district).collect();
        let stream = &mut stream_of(self.options, BUYERS, self.options.district(place));
        for last in (1..buyers.len()).rev() {
            buyers.swap(last, stream.below(last as u64 + 1) as usize);
        }
        buyers
    }

    fn orders(&self, loader: &mut dyn Loader, place: Place) {
        let o = self.options;
        let delivered = o.customers_per_district - o.undelivered();
        for (order, customer) in (0..).zip(self.buyers(place)) {
            let key = place.order(order);
            let stream = &mut stream_of(o, LENGTHS, key);
            let count = o.least_lines + stream.below(o.most_lines - o.least_lines + 1);
            let is_delivered = order < delivered;
            let carrier = if is_delivered { 1 + stream.below(10) } else { 0 };
            let mut row = [0; columns::order::ALL.bytes];
            put(&mut row, &[customer, carrier, count, 1, FIRST_DATE]);
            loader.load(ORDER, key.into(), &row);
            loader.load(ORDER_BY_CUSTOMER, place.order_of(customer, order).into(), &[0]);
            if !is_delivered {
                loader.load(NEW_ORDER, key.into(), &[0]);
            }
            for line in 0..count {
                self.line(loader, place, (order, line), is_delivered);
            }
        }
    }

    fn line(&self, loader: &mut dyn Loader, place: Place, (order, line): (u64, u64), done: bool) {
        let key = place.line(order, line);
        let stream = &mut self.stream(ORDER_LINE, key);
        let mut row = [0; line::BYTES];
        let item = stream.below(self.options.items);
        let (amount, date) = if done { (0, FIRST_DATE) } else { (1 + stream.below(999_999), 0) };
        put(&mut row, &[item, place.warehouse, 5, amount, date]);
        let full = self.options.full_schema();
        if full {
            text::letters(stream, at(&mut row, line::COLUMNS, 5), 24);
        }
        loader.load(ORDER_LINE, key.into(), &row[..columns::row_bytes(ORDER_LINE, full)]);
    }
}
