//! The Delivery transaction (clause 2.7).
//!
//! The transaction processes all districts of a warehouse in one transaction, immediately. The specification
//! allows it to be queued.

use super::client::Desk;
use super::columns::{CUSTOMER, NEW_ORDER, ORDER, ORDER_LINE, Part, customer, line, order};
use super::keys::{Place, order_number};
use super::row::{amount, increase, nullable, packed, word};
use std::ops::ControlFlow;
use txn::{Abort, Access, Direction};

impl Desk {
    /// Delivers the oldest order of each district that has one.
    pub(super) fn deliver<A: Access + ?Sized>(
        &mut self,
        access: &mut A,
        warehouse: u64,
        carrier: u64,
    ) -> Result<(), Abort> {
        for district in 0..self.options.districts {
            self.deliver_in(access, Place { warehouse, district }, carrier)?;
        }
        Ok(())
    }

    fn deliver_in<A: Access + ?Sized>(
        &mut self,
        access: &mut A,
        place: Place,
        carrier: u64,
    ) -> Result<(), Abort> {
        let mut oldest = None;
        let (orders, none) = (place.orders(), Part::NONE.set);
        access.scan(NEW_ORDER, orders.into(), Direction::Forward, none, &mut |key, _| {
            oldest = Some(key.number());
            ControlFlow::Break(())
        })?;
        let Some(key) = oldest else { return Ok(()) };
        access.delete(NEW_ORDER, key.into())?;
        let mut buyer = [0; order::CUSTOMER.bytes];
        if !access.read_for_update(ORDER, key.into(), order::CUSTOMER.set, &mut buyer)? {
            // The order was inserted together with the row that is now deleted. So this attempt is doomed, or
            // a condition will detect the error.
            return Ok(());
        }
        access.update(ORDER, key.into(), order::CARRIER.set, &nullable(Some(carrier)))?;
        let (found, mut sum) = (&mut self.found, 0i64);
        found.clear();
        let number = order_number(key);
        let (lines, part) = (place.lines(number, number), line::AMOUNT);
        access.scan(ORDER_LINE, lines.into(), Direction::Forward, part.set, &mut |key, row| {
            found.push(key.number());
            sum += amount(row, 0);
            ControlFlow::Continue(())
        })?;
        let date = nullable(Some(self.date));
        for key in found.iter() {
            access.update(ORDER_LINE, (*key).into(), line::DELIVERY.set, &date)?;
        }
        let customer = self.options.customer(place, word(&buyer, 0));
        let (buyer, part) = ((CUSTOMER, customer), customer::DELIVERED);
        let deltas: [u8; customer::DELIVERED.bytes] = packed([sum as u64, 1]);
        increase(access, buyer, part, &deltas)
    }
}
