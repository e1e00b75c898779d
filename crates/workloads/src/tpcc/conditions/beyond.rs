//! Conditions that are not in the specification but follow from its transactions as well.

use super::books::Books;
use crate::tpcc::{TpccOptions, load};
use std::collections::BTreeMap;

type Verdict = Result<(), String>;

/// Checks the sales of each row of stock. They must equal the lines of orders entered since the beginning,
/// for its own warehouse and for others. Its quantity must have been increased by 91 some number of times.
pub(super) fn stock_has_left_by_lines(o: &TpccOptions, books: &Books) -> Verdict {
    let mut sold = BTreeMap::new();
    for district in &books.districts {
        for (_, lines) in district.lines.range(o.customers_per_district..) {
            for line in lines {
                let key = o.stock(line.supplier, line.item);
                let (quantity, count, remote) = sold.entry(key).or_insert((0, 0, 0));
                *quantity += line.quantity;
                *count += 1;
                *remote += u64::from(line.supplier != district.place.warehouse);
            }
        }
    }
    for (key, stock) in (0..).zip(&books.stock) {
        let found = (stock.ytd, stock.orders, stock.remote);
        let expected = sold.get(&key).copied().unwrap_or_default();
        if found != expected {
            return Err(format!("stock {key} has sold {found:?}, its lines say {expected:?}"));
        }
        let left = load::first_quantity(o, key) - stock.ytd as i64;
        if (stock.quantity - left).rem_euclid(91) != 0 || !(10..=100).contains(&stock.quantity) {
            let quantity = stock.quantity;
            return Err(format!("stock {key} has {quantity} left, expected {left} and times 91"));
        }
    }
    Ok(())
}

/// Checks that the orders by customer are exactly those in ORDER.
pub(super) fn orders_are_found_by_customer(_: &TpccOptions, books: &Books) -> Verdict {
    for district in &books.districts {
        let mut orders: Vec<_> =
            district.orders.iter().map(|(number, order)| (order.customer, *number)).collect();
        orders.sort_unstable();
        if orders != district.by_customer {
            return Err(format!("they are not those in ORDER in {:?}", district.place));
        }
    }
    Ok(())
}

/// Checks that no customer's name has changed.
pub(super) fn customers_are_found_by_name(o: &TpccOptions, books: &Books) -> Verdict {
    let wrong = books.districts.iter().find(|d| d.names != o.customers_per_district);
    wrong.map_or(Ok(()), |d| Err(format!("{:?} has {} names", d.place, d.names)))
}

/// Checks that C_PAYMENT_CNT is the number of the customer's rows in HISTORY.
pub(super) fn payments_are_counted(_: &TpccOptions, books: &Books) -> Verdict {
    let mut counts = BTreeMap::new();
    for payment in &books.payments {
        *counts.entry((payment.residence, payment.customer)).or_insert(0) += 1;
    }
    for district in &books.districts {
        for (number, customer) in (0..).zip(&district.customers) {
            let count = counts.get(&(district.place, number)).copied().unwrap_or(0);
            if customer.payments != count {
                let (place, found) = (district.place, customer.payments);
                return Err(format!(
                    "customer {number} of {place:?} counts {found}, the history has {count}"
                ));
            }
        }
    }
    Ok(())
}

/// Checks that O_ALL_LOCAL is set if and only if the home warehouse supplies every line.
pub(super) fn local_orders_have_local_lines(_: &TpccOptions, books: &Books) -> Verdict {
    for district in &books.districts {
        for (number, order) in &district.orders {
            let mut lines = district.lines.get(number).into_iter().flatten();
            if order.all_local != lines.all(|line| line.supplier == district.place.warehouse) {
                return Err(format!(
                    "order {number} of {:?} and its lines disagree",
                    district.place
                ));
            }
        }
    }
    Ok(())
}
