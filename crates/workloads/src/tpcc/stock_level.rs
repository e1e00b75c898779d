//! The Stock-Level transaction (clause 2.8), read-only.

use super::client::Desk;
use super::columns::{DISTRICT, ORDER_LINE, STOCK, district, line, stock};
use super::keys::Place;
use super::row::{amount, fetch, word};
use std::ops::ControlFlow;
use txn::{Abort, Access, Direction, Intent};

impl Desk {
    /// Counts the items of the district's last orders whose quantity in stock is less than `threshold`.
    pub(super) fn stock_level<A: Access + ?Sized>(
        &mut self,
        access: &mut A,
        place: Place,
        threshold: i64,
    ) -> Result<(), Abort> {
        let here = (DISTRICT, self.options.district(place));
        let buffer = &mut self.buffers.fixed;
        let row = fetch(access, here, district::NEXT, Intent::Read, buffer)?;
        let next = word(row, 0);
        let first = next.saturating_sub(self.options.stock_level_orders);
        let items = &mut self.found;
        items.clear();
        // Every district has an order.
        let (lines, part) = (place.lines(first, next.max(1) - 1), line::ITEM);
        access.scan(ORDER_LINE, lines.into(), Direction::Forward, part.set, &mut |_, row| {
            items.push(word(row, 0));
            ControlFlow::Continue(())
        })?;
        items.sort_unstable();
        items.dedup();
        items.iter_mut().for_each(|item| *item = self.options.stock(place.warehouse, *item));
        if self.options.prefetch {
            self.rows.clear();
            self.rows.extend(items.iter().map(|key| (*key, stock::QUANTITY.set)));
            access.prefetch(STOCK, &self.rows);
        }
        let mut low = 0u64;
        for key in items.iter() {
            let part = stock::QUANTITY;
            let buffer = &mut self.buffers.fixed;
            let row = fetch(access, (STOCK, *key), part, Intent::Read, buffer)?;
            low += u64::from(amount(row, 0) < threshold);
        }
        self.digest.add(&low.to_le_bytes());
        Ok(())
    }
}
