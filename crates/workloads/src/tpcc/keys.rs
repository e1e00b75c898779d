//! Builds the keys of TPC-C's tables from the numbers in them.
//!
//! All numbers count from 0 here. The specification's numbers count from 1. Tables that are looked up by hash
//! have dense keys, as numbers with mixed bases (see [`TpccOptions`]): districts, customers, stock. Tables in
//! key order have keys of bit fields, the most significant first, so that related rows form one range:
//!
//! | table | warehouse | district | | | |
//! | --- | --- | --- | --- | --- | --- |
//! | ORDER, NEW-ORDER | 20 bits | 4 | order 28 | | |
//! | ORDER-LINE | 20 | 4 | order 28 | line 4 | |
//! | orders by customer | 20 | 4 | customer 12 | order 28 | |
//! | customers by name | 20 | 4 | name 10 | customer 12 | |
//! | HISTORY | 20 | | worker 13 | number 31 | |
//!
//! HISTORY has no key in the specification. Here its key consists of the home warehouse's number, the worker
//! that wrote it, and the number of transactions that the worker had drawn before.

use super::TpccOptions;
use txn::KeyRange;

/// Number of bits of a warehouse's number.
pub const WAREHOUSE_BITS: u32 = 20;
/// Number of bits of a district's number.
pub const DISTRICT_BITS: u32 = 4;
/// Number of bits of a customer's number within its district.
pub const CUSTOMER_BITS: u32 = 12;
/// Number of bits of an order's number within its district.
pub const ORDER_BITS: u32 = 28;
/// Number of bits of a line's number within its order.
pub const LINE_BITS: u32 = 4;
/// Number of bits of a last name's number.
pub const NAME_BITS: u32 = 10;
/// Number of bits of a worker's number.
pub const WORKER_BITS: u32 = 13;
/// Number of bits of a history row's number within its worker.
pub const HISTORY_BITS: u32 = 31;

/// The worker number of the initial population in the keys of HISTORY.
pub const LOADING_WORKER: u64 = (1 << WORKER_BITS) - 1;

/// A district of a warehouse.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Place {
    /// Number of the warehouse.
    pub warehouse: u64,
    /// Number of the district within its warehouse.
    pub district: u64,
}

impl Place {
    fn bits(self) -> u64 {
        self.warehouse << DISTRICT_BITS | self.district
    }

    /// Returns the key of order number `order`, in ORDER and in NEW-ORDER.
    #[inline]
    pub fn order(self, order: u64) -> u64 {
        assert!(order < 1 << ORDER_BITS, "a district has at most 2^28 orders");
        self.bits() << ORDER_BITS | order
    }

    /// Returns all keys of the district's orders.
    pub fn orders(self) -> KeyRange {
        range(self.order(0), self.order((1 << ORDER_BITS) - 1))
    }

    /// Returns the key of a line of order number `order`.
    #[inline]
    pub fn line(self, order: u64, line: u64) -> u64 {
        self.order(order) << LINE_BITS | line
    }

    /// Returns the keys of the lines of the orders from `first` to `last`, both included.
    pub fn lines(self, first: u64, last: u64) -> KeyRange {
        range(self.line(first, 0), self.line(last, (1 << LINE_BITS) - 1))
    }

    /// Returns the key of an order in the table of orders by customer.
    #[inline]
    pub fn order_of(self, customer: u64, order: u64) -> u64 {
        (self.bits() << CUSTOMER_BITS | customer) << ORDER_BITS | order
    }

    /// Returns the keys of the orders of `customer`.
    pub fn orders_of(self, customer: u64) -> KeyRange {
        range(self.order_of(customer, 0), self.order_of(customer, (1 << ORDER_BITS) - 1))
    }

    /// Returns the key of a customer among those with last name number `name`.
    #[inline]
    pub fn named(self, name: u64, customer: u64) -> u64 {
        (self.bits() << NAME_BITS | name) << CUSTOMER_BITS | customer
    }

    /// Returns the keys of the customers with last name number `name`.
    pub fn all_named(self, name: u64) -> KeyRange {
        range(self.named(name, 0), self.named(name, (1 << CUSTOMER_BITS) - 1))
    }
}

/// Returns the key of a history row.
#[inline]
pub fn history(warehouse: u64, worker: u64, number: u64) -> u64 {
    assert!(number < 1 << HISTORY_BITS, "a worker writes at most 2^31 rows of history");
    (warehouse << WORKER_BITS | worker) << HISTORY_BITS | number
}

/// Returns the number of an order from its key in ORDER, in NEW-ORDER or in the table of orders by customer.
pub fn order_number(key: u64) -> u64 {
    key & ((1 << ORDER_BITS) - 1)
}

/// Returns the number of the order to which the key of a line belongs.
pub fn order_of_line(key: u64) -> u64 {
    order_number(key >> LINE_BITS)
}

/// Returns the number of the customer in a key of the table of names.
pub fn customer_of_name(key: u64) -> u64 {
    key & ((1 << CUSTOMER_BITS) - 1)
}

fn range(first: u64, last: u64) -> KeyRange {
    KeyRange::new(first, last).expect("numbers of a range ascend")
}

impl TpccOptions {
    /// Returns the key of a district.
    #[inline]
    pub fn district(&self, place: Place) -> u64 {
        place.warehouse * self.districts + place.district
    }

    /// Returns the key of a customer.
    #[inline]
    pub fn customer(&self, place: Place, customer: u64) -> u64 {
        self.district(place) * self.customers_per_district + customer
    }

    /// Returns the key of the stock of an item.
    #[inline]
    pub fn stock(&self, warehouse: u64, item: u64) -> u64 {
        warehouse * self.items + item
    }

    /// Returns all districts.
    pub fn places(&self) -> impl Iterator<Item = Place> + use<> {
        let districts = self.districts;
        (0..self.warehouses).flat_map(move |warehouse| {
            (0..districts).map(move |district| Place { warehouse, district })
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_belongs_together_is_one_range_and_nothing_else_is_in_it() {
        let last = Place { warehouse: (1 << WAREHOUSE_BITS) - 1, district: 15 };
        let places = [
            Place { warehouse: 0, district: 0 },
            Place { warehouse: 0, district: 1 },
            Place { warehouse: 1, district: 0 },
            last,
        ];
        for (i, here) in places.into_iter().enumerate() {
            for (j, there) in places.into_iter().enumerate() {
                let same = i == j;
                let order = (1 << ORDER_BITS) - 1;
                assert_eq!(here.orders().contains(there.order(order)), same);
                assert_eq!(here.lines(0, order).contains(there.line(order, 15)), same);
                assert_eq!(here.orders_of(4095).contains(there.order_of(4095, order)), same);
                assert_eq!(here.all_named(999).contains(there.named(999, 4095)), same);
            }
            assert!(!here.orders_of(7).contains(here.order_of(8, 0)));
            assert!(!here.all_named(7).contains(here.named(6, 4095)));
            assert!(!here.lines(7, 8).contains(here.line(9, 0)));
        }
        assert_eq!(order_number(last.order_of(4095, 77)), 77);
        assert_eq!(order_of_line(last.line(77, 15)), 77);
        assert_eq!(customer_of_name(last.named(999, 77)), 77);
        assert_eq!(history((1 << WAREHOUSE_BITS) - 1, LOADING_WORKER, (1 << 31) - 1), u64::MAX);
    }

    #[test]
    #[should_panic(expected = "at most 2^28 orders")]
    fn a_number_that_has_no_room_is_noticed() {
        Place { warehouse: 0, district: 0 }.order(1 << ORDER_BITS);
    }
}
