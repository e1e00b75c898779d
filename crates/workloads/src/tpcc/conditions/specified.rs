//! Implements the conditions of the specification, each named by its clause.

use super::books::{Books, District};
use crate::tpcc::TpccOptions;
use crate::tpcc::keys::Place;
use std::collections::BTreeMap;

type Verdict = Result<(), String>;

fn equal<T: PartialEq + std::fmt::Display>(what: &str, found: T, expected: T) -> Verdict {
    if found == expected { Ok(()) } else { Err(format!("{what} is {found}, expected {expected}")) }
}

fn at(district: &District) -> String {
    named(district.place)
}

fn named(place: Place) -> String {
    format!("district {} of warehouse {}", place.district, place.warehouse)
}

fn each_district(books: &Books, holds: impl Fn(&District) -> Verdict) -> Verdict {
    books.districts.iter().try_for_each(holds)
}

/// 3.3.2.1: W_YTD = sum(D_YTD).
pub(super) fn warehouses_take_in_what_their_districts_do(
    _: &TpccOptions,
    books: &Books,
) -> Verdict {
    (0..).zip(&books.warehouses).try_for_each(|(number, ytd)| {
        let sum = books.districts_of(number).map(|district| district.ytd).sum();
        equal(&format!("W_YTD of warehouse {number}"), *ytd, sum)
    })
}

/// 3.3.2.2: D_NEXT_O_ID - 1 = max(O_ID) = max(NO_O_ID). The last part applies if there is a row of NEW-ORDER.
pub(super) fn the_next_order_follows_the_last(_: &TpccOptions, books: &Books) -> Verdict {
    each_district(books, |district| {
        let next = district.next_order;
        let last = district.orders.last_key_value().map_or(0, |(number, _)| number + 1);
        equal(&format!("D_NEXT_O_ID of {}", at(district)), next, last)?;
        let undelivered = district.undelivered.last().map_or(next, |number| number + 1);
        equal(&format!("the last undelivered order in {}", at(district)), undelivered, next)
    })
}

/// 3.3.2.3: max(NO_O_ID) - min(NO_O_ID) + 1 = count of NEW-ORDER, if there is a row of NEW-ORDER.
pub(super) fn undelivered_orders_have_no_gaps(_: &TpccOptions, books: &Books) -> Verdict {
    each_district(books, |district| {
        let (first, last) = (district.undelivered.first(), district.undelivered.last());
        let (Some(first), Some(last)) = (first, last) else { return Ok(()) };
        let count = district.undelivered.len() as u64;
        equal(&format!("the rows of NEW-ORDER in {}", at(district)), count, last - first + 1)
    })
}

/// 3.3.2.4: sum(O_OL_CNT) = count of ORDER-LINE.
pub(super) fn line_counts_add_up_to_the_lines(_: &TpccOptions, books: &Books) -> Verdict {
    each_district(books, |district| {
        let sum: u64 = district.orders.values().map(|order| order.line_count).sum();
        let lines: u64 = district.lines.values().map(|lines| lines.len() as u64).sum();
        equal(&format!("the sum of O_OL_CNT in {}", at(district)), sum, lines)
    })
}

/// 3.3.2.5: O_CARRIER_ID is null if and only if there is a row of NEW-ORDER.
pub(super) fn undelivered_orders_have_no_carrier(_: &TpccOptions, books: &Books) -> Verdict {
    each_district(books, |district| {
        let without = district.orders.iter().filter(|(_, order)| !order.has_carrier);
        if without.map(|(number, _)| number).eq(&district.undelivered) {
            return Ok(());
        }
        Err(format!("orders without a carrier are not those in NEW-ORDER in {}", at(district)))
    })
}

/// 3.3.2.6: O_OL_CNT = count of the order's rows of ORDER-LINE.
pub(super) fn orders_have_as_many_lines_as_they_say(_: &TpccOptions, books: &Books) -> Verdict {
    each_district(books, |district| {
        district.orders.iter().try_for_each(|(number, order)| {
            let lines = district.lines.get(number).map_or(0, |lines| lines.len() as u64);
            let what = format!("O_OL_CNT of order {number} in {}", at(district));
            equal(&what, order.line_count, lines)
        })
    })
}

/// 3.3.2.7: OL_DELIVERY_D is null if and only if the order's O_CARRIER_ID is null.
pub(super) fn lines_are_delivered_with_their_orders(_: &TpccOptions, books: &Books) -> Verdict {
    each_district(books, |district| {
        district.lines.iter().try_for_each(|(number, lines)| {
            let delivered = district.orders.get(number).map(|order| order.has_carrier);
            if lines.iter().all(|line| Some(line.delivered) == delivered) {
                return Ok(());
            }
            Err(format!("order {number} in {} and its lines disagree on delivery", at(district)))
        })
    })
}

/// 3.3.2.8: W_YTD = sum(H_AMOUNT) of the warehouse.
pub(super) fn warehouses_take_in_what_the_history_says(_: &TpccOptions, books: &Books) -> Verdict {
    let mut sums = BTreeMap::new();
    for payment in &books.payments {
        *sums.entry(payment.place.warehouse).or_insert(0) += payment.amount;
    }
    (0..).zip(&books.warehouses).try_for_each(|(number, ytd)| {
        let sum = sums.get(&number).copied().unwrap_or(0);
        equal(&format!("W_YTD of warehouse {number}"), *ytd, sum)
    })
}

/// 3.3.2.9: D_YTD = sum(H_AMOUNT) of the district.
pub(super) fn districts_take_in_what_the_history_says(_: &TpccOptions, books: &Books) -> Verdict {
    let mut sums = BTreeMap::new();
    for payment in &books.payments {
        *sums.entry(payment.place).or_insert(0) += payment.amount;
    }
    each_district(books, |district| {
        let sum = sums.get(&district.place).copied().unwrap_or(0);
        equal(&format!("D_YTD of {}", at(district)), district.ytd, sum)
    })
}

/// Returns the sum of OL_AMOUNT of delivered lines, by customer.
fn delivered(district: &District) -> BTreeMap<u64, i64> {
    let mut sums = BTreeMap::new();
    for (number, lines) in &district.lines {
        let Some(order) = district.orders.get(number) else { continue };
        let sum: i64 = lines.iter().filter(|line| line.delivered).map(|line| line.amount).sum();
        *sums.entry(order.customer).or_insert(0) += sum;
    }
    sums
}

/// 3.3.2.10: C_BALANCE = sum(OL_AMOUNT) of delivered lines - sum(H_AMOUNT) of the customer.
pub(super) fn balances_are_deliveries_less_payments(_: &TpccOptions, books: &Books) -> Verdict {
    let mut paid = BTreeMap::new();
    for payment in &books.payments {
        *paid.entry((payment.residence, payment.customer)).or_insert(0) += payment.amount;
    }
    each_district(books, |district| {
        let delivered = delivered(district);
        (0..).zip(&district.customers).try_for_each(|(number, customer)| {
            let got = delivered.get(&number).copied().unwrap_or(0);
            let gave = paid.get(&(district.place, number)).copied().unwrap_or(0);
            let what = format!("C_BALANCE of customer {number} in {}", at(district));
            equal(&what, customer.balance, got - gave)
        })
    })
}

/// 3.3.2.11: count of ORDER - count of NEW-ORDER = 2100. The specification requires it of the initial
/// population. Here the orders delivered since are added, as counted by customers in C_DELIVERY_CNT.
pub(super) fn all_but_undelivered_orders_are_delivered(o: &TpccOptions, books: &Books) -> Verdict {
    each_district(books, |district| {
        let since: u64 = district.customers.iter().map(|customer| customer.deliveries).sum();
        let expected = o.customers_per_district - o.undelivered() + since;
        let found = (district.orders.len() as u64).wrapping_sub(district.undelivered.len() as u64);
        equal(&format!("the number of delivered orders in {}", at(district)), found, expected)
    })
}

/// 3.3.2.12: C_BALANCE + C_YTD_PAYMENT = sum(OL_AMOUNT) of delivered lines.
pub(super) fn balances_and_payments_are_deliveries(_: &TpccOptions, books: &Books) -> Verdict {
    each_district(books, |district| {
        let delivered = delivered(district);
        (0..).zip(&district.customers).try_for_each(|(number, customer)| {
            let sum = delivered.get(&number).copied().unwrap_or(0);
            let what =
                format!("C_BALANCE + C_YTD_PAYMENT of customer {number} in {}", at(district));
            equal(&what, customer.balance.wrapping_add(customer.ytd_payment), sum)
        })
    })
}
