//! Checks the consistency conditions (clause 3.3.2), and similar ones.
//!
//! Each condition is one function. All are checked, so that the law names every broken condition.

mod beyond;
mod books;
mod specified;

use super::TpccOptions;
use books::Books;
use txn::{Abort, Access};

/// A condition: its clause or its subject, and the function that returns a description if it is broken.
type Condition = (&'static str, fn(&TpccOptions, &Books) -> Result<(), String>);

/// All conditions.
const CONDITIONS: [Condition; 17] = [
    ("3.3.2.1", specified::warehouses_take_in_what_their_districts_do),
    ("3.3.2.2", specified::the_next_order_follows_the_last),
    ("3.3.2.3", specified::undelivered_orders_have_no_gaps),
    ("3.3.2.4", specified::line_counts_add_up_to_the_lines),
    ("3.3.2.5", specified::undelivered_orders_have_no_carrier),
    ("3.3.2.6", specified::orders_have_as_many_lines_as_they_say),
    ("3.3.2.7", specified::lines_are_delivered_with_their_orders),
    ("3.3.2.8", specified::warehouses_take_in_what_the_history_says),
    ("3.3.2.9", specified::districts_take_in_what_the_history_says),
    ("3.3.2.10", specified::balances_are_deliveries_less_payments),
    ("3.3.2.11", specified::all_but_undelivered_orders_are_delivered),
    ("3.3.2.12", specified::balances_and_payments_are_deliveries),
    ("stock", beyond::stock_has_left_by_lines),
    ("orders by customer", beyond::orders_are_found_by_customer),
    ("customers by name", beyond::customers_are_found_by_name),
    ("payments", beyond::payments_are_counted),
    ("local orders", beyond::local_orders_have_local_lines),
];

/// Reads all data and returns the broken conditions, if any.
pub(super) fn check(
    options: &TpccOptions,
    access: &mut dyn Access,
) -> Result<Result<(), String>, Abort> {
    let books = Books::read(options, access)?;
    let broken: Vec<String> = CONDITIONS
        .iter()
        .filter_map(|(name, condition)| {
            let wrong = condition(options, &books).err()?;
            Some(format!("condition {name}: {wrong}"))
        })
        .collect();
    Ok(if broken.is_empty() { Ok(()) } else { Err(broken.join("; ")) })
}
