//! Loads the initial population (clause 4.3.3.1).
//!
//! Each row is a function of the seed and of its key, drawn from its own stream. So rows can be generated in
//! any order and by any number of threads.

use super::columns::*;
use super::keys::{self, LOADING_WORKER, Place};
use super::non_uniform::NonUniform;
use super::row::Row;
use super::{TpccOptions, text};
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
    layouts: Layouts,
}

/// Writes a row of a table, given its key.
type Rule<'r> = &'r (dyn Fn(u64, &mut Row<'_>) + Sync);

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

impl<'a> Population<'a> {
    pub(super) fn new(options: &'a TpccOptions) -> Population<'a> {
        let layouts = Layouts::new(options.full_schema());
        Population { options, non_uniform: constants(options).0, layouts }
    }

    fn stream(&self, table: TableId, key: u64) -> Stream {
        stream_of(self.options, table.0, key)
    }

    /// Loads all tables.
    pub(super) fn load(&self, loader: &mut dyn Loader) {
        let o = self.options;
        let districts = o.warehouses * o.districts;
        self.many(loader, ITEM, o.items, &|key, row| self.item(key, row));
        self.many(loader, WAREHOUSE, o.warehouses, &|key, row| self.warehouse(key, row));
        self.many(loader, DISTRICT, districts, &|key, row| self.district(key, row));
        let customers = districts * o.customers_per_district;
        self.many(loader, CUSTOMER, customers, &|key, row| self.customer(key, row));
        self.many(loader, STOCK, o.warehouses * o.items, &|key, row| self.stock(key, row));
        for place in o.places() {
            self.names(loader, place);
            self.history(loader, place);
            self.orders(loader, place);
        }
    }

    /// Loads the rows `0..count` of a table.
    fn many(&self, loader: &mut dyn Loader, table: TableId, count: u64, rule: Rule<'_>) {
        let layout = self.layouts.of(table);
        loader.load_many(table, count, &|key, packed| rule(key, &mut Row::new(layout, packed)));
    }

    fn item(&self, key: u64, row: &mut Row<'_>) {
        let stream = &mut self.stream(ITEM, key);
        row.numbers(&[100 + stream.below(9_901)]);
        if self.options.full_schema() {
            row.numbers(&[1 + stream.below(10_000)]);
            row.text(&text::letters::<24>(stream, 14));
            row.text(&text::data::<50>(stream, 26));
        }
    }

    fn warehouse(&self, key: u64, row: &mut Row<'_>) {
        let stream = &mut self.stream(WAREHOUSE, key);
        let paid = FIRST_PAYMENT as u64 * self.options.customers_per_district;
        row.numbers(&[stream.below(2001), paid * self.options.districts]);
        self.name_and_address(stream, row);
    }

    fn district(&self, key: u64, row: &mut Row<'_>) {
        let stream = &mut self.stream(DISTRICT, key);
        let customers = self.options.customers_per_district;
        row.numbers(&[stream.below(2001), FIRST_PAYMENT as u64 * customers, customers]);
        self.name_and_address(stream, row);
    }

    fn name_and_address(&self, stream: &mut Stream, row: &mut Row<'_>) {
        if self.options.full_schema() {
            row.text(&text::letters::<10>(stream, 6));
            text::address(stream, row);
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

    fn customer(&self, key: u64, row: &mut Row<'_>) {
        let stream = &mut self.stream(CUSTOMER, key);
        let balance = -FIRST_PAYMENT;
        row.numbers(&[balance as u64, FIRST_PAYMENT as u64, 1, 0, stream.below(5001)]);
        row.text(if stream.below(10) == 0 { b"BC" } else { b"GC" });
        if !self.options.full_schema() {
            return;
        }
        let mut last = Vec::with_capacity(16);
        text::last_name(self.name_of(key), &mut last);
        row.numbers(&[5_000_000, FIRST_DATE]);
        row.text(&self.first_name(key)).text(b"OE").text(&last);
        text::address(stream, row);
        row.text(&text::digits::<16>(stream)).text(&text::letters::<500>(stream, 300));
    }

    fn first_name(&self, key: u64) -> text::Text<16> {
        text::letters(&mut stream_of(self.options, CUSTOMER_BY_NAME.0 + 32, key), 8)
    }

    fn stock(&self, key: u64, row: &mut Row<'_>) {
        let stream = &mut self.stream(STOCK, key);
        row.numbers(&[10 + stream.below(91), 0, 0, 0]);
        if self.options.full_schema() {
            for _ in 0..10 {
                row.text(&text::letters::<24>(stream, 24));
            }
            row.text(&text::data::<50>(stream, 26));
        }
    }

    fn names(&self, loader: &mut dyn Loader, place: Place) {
        let (layout, mut packed) = (self.layouts.of(CUSTOMER_BY_NAME), Vec::new());
        for customer in 0..self.options.customers_per_district {
            let key = self.options.customer(place, customer);
            packed.clear();
            Row::new(layout, &mut packed).text(&self.first_name(key));
            loader.load(CUSTOMER_BY_NAME, place.named(self.name_of(key), customer).into(), &packed);
        }
    }

    fn history(&self, loader: &mut dyn Loader, place: Place) {
        let (layout, mut packed) = (self.layouts.of(HISTORY), Vec::new());
        let Place { warehouse, district } = place;
        for customer in 0..self.options.customers_per_district {
            let number = district * self.options.customers_per_district + customer;
            let key = keys::history(warehouse, LOADING_WORKER, number);
            packed.clear();
            let (mut row, buyer) = (Row::new(layout, &mut packed), [customer, district, warehouse]);
            row.numbers(&buyer).numbers(&[district, warehouse]);
            row.numbers(&[FIRST_PAYMENT as u64, FIRST_DATE]);
            if self.options.full_schema() {
                row.text(&text::letters::<24>(&mut self.stream(HISTORY, key), 12));
            }
            loader.load(HISTORY, key.into(), &packed);
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
        let mut packed = Vec::new();
        for (order, customer) in (0..).zip(self.buyers(place)) {
            let key = place.order(order);
            let stream = &mut stream_of(o, LENGTHS, key);
            let count = o.least_lines + stream.below(o.most_lines - o.least_lines + 1);
            let is_delivered = order < delivered;
            let carrier = is_delivered.then(|| 1 + stream.below(10));
            packed.clear();
            let mut row = Row::new(self.layouts.of(ORDER), &mut packed);
            row.numbers(&[customer]).number_or_null(carrier).numbers(&[count, 1, FIRST_DATE]);
            loader.load(ORDER, key.into(), &packed);
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
        let item = stream.below(self.options.items);
        let amount = if done { 0 } else { 1 + stream.below(999_999) };
        let mut packed = Vec::with_capacity(line::ALL.bytes);
        let mut row = Row::new(self.layouts.of(ORDER_LINE), &mut packed);
        row.numbers(&[item, place.warehouse, 5, amount]);
        row.number_or_null(done.then_some(FIRST_DATE));
        if self.options.full_schema() {
            row.text(&text::letters::<24>(stream, 24));
        }
        loader.load(ORDER_LINE, key.into(), &packed);
    }
}
