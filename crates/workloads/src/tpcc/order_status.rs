//! The Order-Status transaction (clause 2.6), read-only.

use super::client::Desk;
use super::columns::{CUSTOMER, ORDER, ORDER_BY_CUSTOMER, ORDER_LINE};
use super::columns::{Part, customer, line, order};
use super::draw::Who;
use super::keys::{Place, order_number};
use std::ops::ControlFlow;
use txn::{Abort, Access, Direction, Intent};

impl Desk {
    /// Shows a customer's balance and the lines of the customer's last order.
    pub(super) fn order_status<A: Access + ?Sized>(
        &mut self,
        access: &mut A,
        place: Place,
        who: Who,
    ) -> Result<(), Abort> {
        let number = self.number_of(access, place, who)?;
        let buyer = (CUSTOMER, self.options.customer(place, number));
        let shown = (customer::BALANCE, customer::NAMES);
        let row = self.buffers.read(access, buyer, shown, Intent::Read)?;
        self.digest.add(row);
        let mut last = None;
        let (range, none) = (place.orders_of(number), Part::NONE.set);
        access.scan(
            ORDER_BY_CUSTOMER,
            range.into(),
            Direction::Backward,
            none,
            &mut |key, _| {
                last = Some(order_number(key.number()));
                ControlFlow::Break(())
            },
        )?;
        // Every customer was loaded with an order.
        let Some(last) = last else { return Ok(()) };
        let row = &mut self.buffers.fixed[..order::ALL.bytes];
        access.read(ORDER, place.order(last).into(), order::ALL.set, row)?;
        self.digest.add(row);
        let digest = &mut self.digest;
        let (range, part) = (place.lines(last, last), line::NUMBERS);
        access.scan(ORDER_LINE, range.into(), Direction::Forward, part.set, &mut |_, row| {
            digest.add(row);
            ControlFlow::Continue(())
        })
    }
}
