//! The New-Order transaction (clause 2.4).

use super::client::Desk;
use super::columns::{CUSTOMER, DISTRICT, ITEM, NEW_ORDER, ORDER, ORDER_BY_CUSTOMER, ORDER_LINE};
use super::columns::{Part, STOCK, WAREHOUSE};
use super::columns::{customer, district, item, stock, warehouse};
use super::draw::Line;
use super::keys::Place;
use super::row::{Row, amount, fetch, packed, word};
use super::text::is_original;
use txn::{Abort, Access, Intent, TableId};

/// Number of units in 1. Taxes and discounts are in units of 0.0001.
const WHOLE: i64 = 10_000;

impl Desk {
    /// Prefetches the rows that are accessed one after another, so that their cache misses overlap.
    fn announce<A: Access + ?Sized>(&mut self, access: &mut A, place: Place, lines: &[Line]) {
        let mut tell = |table: TableId, part: Part, key: &dyn Fn(&Line) -> u64| {
            self.keys.clear();
            self.keys.extend(lines.iter().map(key));
            access.prefetch(table, &self.keys, part.set);
        };
        let options = &self.options;
        let stored = |line: &Line| options.stock(line.supplier, line.item);
        tell(ITEM, item::PRICE, &|line| line.item);
        tell(STOCK, stock::NUMBERS, &stored);
        if options.full_schema() {
            let texts = stock::texts(place.district);
            for line in lines {
                access.prefetch(ITEM, &[line.item], item::TEXTS);
                access.prefetch(STOCK, &[stored(line)], texts);
            }
        }
    }

    /// Enters an order. Rolls back if an item is unused.
    pub(super) fn enter_order<A: Access + ?Sized>(
        &mut self,
        access: &mut A,
        place: Place,
        customer: u64,
        lines: &[Line],
    ) -> Result<(), Abort> {
        if self.options.prefetch {
            self.announce(access, place, lines);
        }
        let home = (WAREHOUSE, place.warehouse);
        let buffer = &mut self.buffers.fixed;
        let row = fetch(access, home, warehouse::TAX, Intent::Read, buffer)?;
        let mut tax = amount(row, 0);
        let here = (DISTRICT, self.options.district(place));
        let row = fetch(access, here, district::TAX_AND_NEXT, Intent::Update, buffer)?;
        tax += amount(row, 0);
        let number = word(row, 1);
        access.update(here.0, here.1.into(), district::NEXT.set, &(number + 1).to_le_bytes())?;
        let buyer = (CUSTOMER, self.options.customer(place, customer));
        let shown = (customer::TERMS, customer::LAST);
        let row = self.buffers.read(access, buyer, shown, Intent::Read)?;
        let discount = amount(row, 0);
        self.digest.add(&row[8..]);
        let all_local = lines.iter().all(|line| line.supplier == place.warehouse);
        self.written.clear();
        let mut row = Row::new(self.layouts.of(ORDER), &mut self.written);
        row.numbers(&[customer]).number_or_null(None);
        row.numbers(&[lines.len() as u64, u64::from(all_local), self.date]);
        // If a row is already present, another order has the same number and this attempt is doomed.
        access.insert(ORDER, place.order(number).into(), &self.written)?;
        access.insert(NEW_ORDER, place.order(number).into(), &[0])?;
        access.insert(ORDER_BY_CUSTOMER, place.order_of(customer, number).into(), &[0])?;
        let mut sum = 0;
        for (at, line) in (0..).zip(lines) {
            sum += self.enter_line(access, place, (number, at), line)?;
        }
        let total = sum * (WHOLE - discount) * (WHOLE + tax) / (WHOLE * WHOLE);
        self.digest.add(&total.to_le_bytes());
        Ok(())
    }

    /// Enters a line, and returns its amount.
    fn enter_line<A: Access + ?Sized>(
        &mut self,
        access: &mut A,
        place: Place,
        (number, at): (u64, u64),
        ordered: &Line,
    ) -> Result<i64, Abort> {
        let full = self.options.full_schema();
        let Line { item, supplier, quantity } = *ordered;
        let (part, texts) = (item::PRICE, item::TEXTS);
        let found = self.buffers.find(access, (ITEM, item), (part, texts), Intent::Read)?;
        // The item number can be unused (clause 2.4.2.3).
        let row = found.ok_or_else(Abort::user)?;
        let price = amount(row, 0);
        let columns = part.set.with(texts);
        let data = full.then(|| self.layouts.of(ITEM).field(columns, row, item::DATA)).flatten();
        let is_branded = data.is_some_and(is_original);
        self.digest.add(row);
        let stored = (STOCK, self.options.stock(supplier, item));
        let (part, texts) = (stock::NUMBERS, stock::texts(place.district));
        let row = self.buffers.read(access, stored, (part, texts), Intent::Update)?;
        let remote = u64::from(supplier != place.warehouse);
        let left = restocked(amount(row, 0) - quantity as i64);
        let numbers: [u8; stock::NUMBERS.bytes] = packed([
            left as u64,
            word(row, 1).wrapping_add(quantity),
            word(row, 2).wrapping_add(1),
            word(row, 3).wrapping_add(remote),
        ]);
        let cost = price * quantity as i64;
        self.written.clear();
        let mut entry = Row::new(self.layouts.of(ORDER_LINE), &mut self.written);
        entry.numbers(&[item, supplier, quantity, cost as u64]).number_or_null(None);
        if full {
            let (columns, layout) = (part.set.with(texts), self.layouts.of(STOCK));
            entry.value(layout.field(columns, row, stock::district(place.district)));
            let data = layout.field(columns, row, stock::DATA);
            let brand = is_branded && data.is_some_and(is_original);
            self.digest.add(&[if brand { b'B' } else { b'G' }]);
        }
        access.update(stored.0, stored.1.into(), stock::NUMBERS.set, &numbers)?;
        access.insert(ORDER_LINE, place.line(number, at).into(), &self.written)?;
        Ok(cost)
    }
}

/// Returns the quantity in stock after a sale that would leave `left`. If fewer than ten would be left, the
/// stock is increased by 91.
fn restocked(left: i64) -> i64 {
    if left >= 10 { left } else { left + 91 }
}

#[cfg(test)]
mod tests {
    #[test]
    fn stock_is_filled_up_before_it_ends() {
        assert_eq!([10, 9, 0, -9].map(super::restocked), [10, 100, 91, 82]);
    }
}
