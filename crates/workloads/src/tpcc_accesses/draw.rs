//! Draws the inputs of a procedure before it begins.

use super::{DISTRICTS, TpccAccessesOptions};
use crate::stream::Stream;

/// Smallest and largest number of lines of an order (TPC-C 2.4.1.3).
const LINES: std::ops::RangeInclusive<u64> = 5..=15;

/// One line of an order, by keys.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OrderLine {
    /// Number of the item, without replicas.
    pub item: u64,
    /// Key of the stock record.
    pub stock: u64,
}

/// A drawn procedure. An order's lines are kept separately.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Drawn {
    /// An order.
    NewOrder {
        /// Key of the district.
        district: u64,
        /// Key of the customer.
        customer: u64,
    },
    /// A payment.
    Payment {
        /// Key of the district.
        district: u64,
        /// Key of the customer.
        customer: u64,
    },
}

/// Draws a procedure for a client of `home`. An order's lines replace `lines`.
pub fn draw(
    options: &TpccAccessesOptions,
    home: u64,
    stream: &mut Stream,
    lines: &mut Vec<OrderLine>,
) -> Drawn {
    let records = options.records();
    let is_order = stream.bits() & 1 == 0;
    let district = stream.below(DISTRICTS);
    let customer = non_uniform(stream, 1023, records.customers);
    lines.clear();
    if !is_order {
        let payer = if chance(stream, options.remote_payments) {
            let warehouse = another(stream, home, options);
            options.customer(warehouse, stream.below(DISTRICTS), customer)
        } else {
            options.customer(home, district, customer)
        };
        return Drawn::Payment { district: options.district(home, district), customer: payer };
    }
    let count = LINES.start() + stream.below(LINES.end() - LINES.start() + 1);
    for _ in 0..count {
        let item = non_uniform(stream, 8191, records.items);
        let supplier = if chance(stream, options.remote_lines) {
            another(stream, home, options)
        } else {
            home
        };
        if lines.iter().all(|line| line.item != item) {
            lines.push(OrderLine { item, stock: options.stock(supplier, item) });
        }
    }
    Drawn::NewOrder {
        district: options.district(home, district),
        customer: options.customer(home, district, customer),
    }
}

/// Returns true with probability `ratio`. It always consumes the same number of draws.
fn chance(stream: &mut Stream, ratio: f64) -> bool {
    stream.unit() < ratio
}

/// Returns a warehouse other than `home`, if there is one, of those that are remote to it.
fn another(stream: &mut Stream, home: u64, options: &TpccAccessesOptions) -> u64 {
    let TpccAccessesOptions { warehouses, remote_block, remote_steps, .. } = *options;
    let block = if remote_block == 0 { warehouses } else { remote_block };
    let other = stream.below((block - 1).max(1));
    if warehouses == 1 {
        return home;
    }
    // In a block of its own, the home is left out. In another block, the warehouse at its place is.
    let (first, at) = (home - home % block, home % block);
    (first + remote_steps * block) % warehouses + other + u64::from(other >= at)
}

/// Returns a number in `0..n` by TPC-C's NURand (2.1.6) with the constant C = 0. The constant only changes
/// which numbers are hot.
fn non_uniform(stream: &mut Stream, a: u64, n: u64) -> u64 {
    (stream.below(a + 1) | stream.below(n)) % n
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    fn drawn(options: &TpccAccessesOptions, home: u64) -> Vec<(Drawn, Vec<OrderLine>)> {
        let mut stream = Stream::of_worker(5, home as usize);
        let mut lines = Vec::new();
        (0..20_000)
            .map(|_| {
                let what = draw(options, home, &mut stream, &mut lines);
                (what, lines.clone())
            })
            .collect()
    }

    #[test]
    fn keys_stay_in_their_tables_and_orders_have_five_to_fifteen_different_items_at_most() {
        for full_schema in [true, false] {
            let options = TpccAccessesOptions { full_schema, ..TpccAccessesOptions::default() };
            let records = options.records();
            let mut orders = 0;
            for (what, lines) in drawn(&options, 3) {
                let (Drawn::NewOrder { district, customer }
                | Drawn::Payment { district, customer }) = what;
                assert_eq!(district / DISTRICTS, 3);
                assert!(customer < options.warehouses * DISTRICTS * records.customers);
                if matches!(what, Drawn::Payment { .. }) {
                    assert!(lines.is_empty());
                    continue;
                }
                orders += 1;
                assert_eq!(customer / records.customers, district, "orders are the district's own");
                // A drawn line is dropped if its item is already in the order.
                assert!((2..=15).contains(&lines.len()));
                for line in &lines {
                    assert!(line.item < records.items);
                    assert!(line.stock < options.warehouses * records.items);
                    assert_eq!(line.stock % records.items, line.item);
                    assert_eq!(lines.iter().filter(|other| other.item == line.item).count(), 1);
                }
            }
            assert!((9_600..10_400).contains(&orders), "{orders}");
        }
    }

    #[test]
    fn remote_warehouses_are_those_of_one_block() {
        let suppliers = |remote_steps| {
            let options = TpccAccessesOptions {
                warehouses: 8,
                remote_lines: 1.0,
                remote_block: 4,
                remote_steps,
                ..TpccAccessesOptions::default()
            };
            let all = drawn(&options, 6);
            let lines = all.iter().flat_map(|(_, lines)| lines);
            lines.map(|line| line.stock / options.records().items).collect::<BTreeSet<_>>()
        };
        assert_eq!(suppliers(0), BTreeSet::from([4, 5, 7]));
        assert_eq!(suppliers(1), BTreeSet::from([0, 1, 3]));
    }

    #[test]
    fn remote_shares_are_what_was_asked_for() {
        let share = |remote_lines, remote_payments, warehouses| {
            let options = TpccAccessesOptions {
                warehouses,
                remote_lines,
                remote_payments,
                ..TpccAccessesOptions::default()
            };
            let (mut lines, mut away, mut payments, mut strangers) = (0.0, 0.0, 0.0, 0.0);
            for (what, order) in drawn(&options, 0) {
                if let Drawn::Payment { customer, .. } = what {
                    payments += 1.0;
                    let district = customer / options.records().customers;
                    strangers += f64::from(u8::from(district >= DISTRICTS));
                }
                lines += order.len() as f64;
                away += order.iter().filter(|l| l.stock >= options.records().items).count() as f64;
            }
            (away / lines, strangers / payments)
        };
        let (lines, payments) = share(0.01, 0.15, 8);
        assert!((lines - 0.01).abs() < 0.002 && (payments - 0.15).abs() < 0.015);
        assert_eq!(share(0.0, 0.0, 8), (0.0, 0.0));
        assert_eq!(share(1.0, 1.0, 8), (1.0, 1.0));
        assert_eq!(share(1.0, 1.0, 1), (0.0, 0.0), "one warehouse has no other");
    }
}
