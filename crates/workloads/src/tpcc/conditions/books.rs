//! Reads all data that the conditions need, once.

use crate::tpcc::TpccOptions;
use crate::tpcc::columns::*;
use crate::tpcc::keys::{self, Place};
use crate::tpcc::row::{BUFFER, amount, fetch, word};
use std::collections::BTreeMap;
use std::ops::ControlFlow;
use txn::{Abort, Access, Direction, Intent, KeyRange, TableId};

/// A row of ORDER-LINE.
#[derive(Clone, Copy, Debug)]
pub(super) struct Line {
    pub item: u64,
    pub supplier: u64,
    pub quantity: u64,
    pub amount: i64,
    pub delivered: bool,
}

/// A row of ORDER.
#[derive(Clone, Copy, Debug)]
pub(super) struct Order {
    pub customer: u64,
    pub has_carrier: bool,
    pub line_count: u64,
    pub all_local: bool,
}

/// A row of CUSTOMER.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Customer {
    pub balance: i64,
    pub ytd_payment: i64,
    pub payments: u64,
    pub deliveries: u64,
}

/// A row of HISTORY.
#[derive(Clone, Copy, Debug)]
pub(super) struct Payment {
    pub customer: u64,
    pub residence: Place,
    pub place: Place,
    pub amount: i64,
}

/// A row of STOCK.
#[derive(Clone, Copy, Debug)]
pub(super) struct Stock {
    pub quantity: i64,
    pub ytd: u64,
    pub orders: u64,
    pub remote: u64,
}

/// A row of DISTRICT and everything in the district.
#[derive(Clone, Debug)]
pub(super) struct District {
    pub place: Place,
    pub ytd: i64,
    pub next_order: u64,
    pub customers: Vec<Customer>,
    pub orders: BTreeMap<u64, Order>,
    /// Numbers of the orders in NEW-ORDER, ascending.
    pub undelivered: Vec<u64>,
    /// Lines by order.
    pub lines: BTreeMap<u64, Vec<Line>>,
    /// Customer and order pairs, as in the index.
    pub by_customer: Vec<(u64, u64)>,
    /// Number of rows of the table of names.
    pub names: u64,
}

/// The database.
#[derive(Clone, Debug)]
pub(super) struct Books {
    /// W_YTD of each warehouse.
    pub warehouses: Vec<i64>,
    /// Districts of all warehouses, one warehouse after another.
    pub districts: Vec<District>,
    pub payments: Vec<Payment>,
    /// Rows of stock by key.
    pub stock: Vec<Stock>,
}

/// Passes all rows of a range to `visit`.
fn all(
    access: &mut dyn Access,
    table: TableId,
    range: KeyRange,
    part: Part,
    mut visit: impl FnMut(u64, &[u8]),
) -> Result<(), Abort> {
    access.scan(table, range.into(), Direction::Forward, part.set, &mut |key, row| {
        visit(key.number(), row);
        ControlFlow::Continue(())
    })
}

impl Books {
    /// Reads all data.
    pub fn read(o: &TpccOptions, access: &mut dyn Access) -> Result<Books, Abort> {
        let buffer = &mut [0; BUFFER];
        let mut warehouses = Vec::new();
        for warehouse in 0..o.warehouses {
            let row = fetch(access, (WAREHOUSE, warehouse), warehouse::YTD, Intent::Read, buffer)?;
            warehouses.push(amount(row, 0));
        }
        let mut districts = Vec::new();
        for place in o.places() {
            districts.push(District::read(o, place, access)?);
        }
        let mut payments = Vec::new();
        all(access, HISTORY, KeyRange::ALL, history::NUMBERS, |_, row| {
            payments.push(Payment {
                customer: word(row, 0),
                residence: Place { district: word(row, 1), warehouse: word(row, 2) },
                place: Place { district: word(row, 3), warehouse: word(row, 4) },
                amount: amount(row, 5),
            });
        })?;
        let mut stock = Vec::new();
        for key in 0..o.warehouses * o.items {
            let row = fetch(access, (STOCK, key), stock::NUMBERS, Intent::Read, buffer)?;
            stock.push(Stock {
                quantity: amount(row, 0),
                ytd: word(row, 1),
                orders: word(row, 2),
                remote: word(row, 3),
            });
        }
        Ok(Books { warehouses, districts, payments, stock })
    }

    /// Returns the districts of warehouse number `warehouse`.
    pub fn districts_of(&self, warehouse: u64) -> impl Iterator<Item = &District> {
        self.districts.iter().filter(move |district| district.place.warehouse == warehouse)
    }
}

impl District {
    fn read(o: &TpccOptions, place: Place, access: &mut dyn Access) -> Result<District, Abort> {
        let buffer = &mut [0; BUFFER];
        let (key, part) = ((DISTRICT, o.district(place)), district::YTD_AND_NEXT);
        let row = fetch(access, key, part, Intent::Read, buffer)?;
        let (ytd, next_order) = (amount(row, 0), word(row, 1));
        let mut customers = Vec::new();
        for number in 0..o.customers_per_district {
            let key = (CUSTOMER, o.customer(place, number));
            let row = fetch(access, key, customer::COUNTS, Intent::Read, buffer)?;
            customers.push(Customer {
                balance: amount(row, 0),
                ytd_payment: amount(row, 1),
                payments: word(row, 2),
                deliveries: word(row, 3),
            });
        }
        let mut orders = BTreeMap::new();
        let layouts = Layouts::new(o.full_schema());
        all(access, ORDER, place.orders(), order::ALL, |key, row| {
            let value = |column| layouts.of(ORDER).field(order::ALL.set, row, column);
            let number = |column| word(value(column).expect("never NULL"), 0);
            let order = Order {
                customer: number(0),
                has_carrier: value(1).is_some(),
                line_count: number(2),
                all_local: number(3) != 0,
            };
            orders.insert(keys::order_number(key), order);
        })?;
        let mut undelivered = Vec::new();
        all(access, NEW_ORDER, place.orders(), Part::NONE, |key, _| {
            undelivered.push(keys::order_number(key));
        })?;
        let mut lines = BTreeMap::<u64, Vec<Line>>::new();
        let range = place.lines(0, (1 << keys::ORDER_BITS) - 1);
        all(access, ORDER_LINE, range, line::NUMBERS, |key, row| {
            let date = layouts.of(ORDER_LINE).field(line::NUMBERS.set, row, 4);
            lines.entry(keys::order_of_line(key)).or_default().push(Line {
                item: word(row, 0),
                supplier: word(row, 1),
                quantity: word(row, 2),
                amount: amount(row, 3),
                delivered: date.is_some(),
            });
        })?;
        let mut by_customer = Vec::new();
        for customer in 0..o.customers_per_district {
            all(access, ORDER_BY_CUSTOMER, place.orders_of(customer), Part::NONE, |key, _| {
                by_customer.push((customer, keys::order_number(key)));
            })?;
        }
        let mut names = 0;
        for name in 0..crate::tpcc::text::NAMES.min(o.names()) {
            all(access, CUSTOMER_BY_NAME, place.all_named(name), Part::NONE, |_, _| names += 1)?;
        }
        Ok(District {
            place,
            ytd,
            next_order,
            customers,
            orders,
            undelivered,
            lines,
            by_customer,
            names,
        })
    }
}
