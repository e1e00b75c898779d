//! The New-Order transaction (clause 2.4).

use super::client::Desk;
use super::columns::{CUSTOMER, DISTRICT, ITEM, NEW_ORDER, ORDER, ORDER_BY_CUSTOMER, ORDER_LINE};
use super::columns::{STOCK, WAREHOUSE};
use super::columns::{customer, district, item, line, stock, warehouse};
use super::draw::Line;
use super::keys::Place;
use super::row::{Row, amount, fetch, packed, put, word};
use super::text::is_original;
use txn::{Abort, Access, ColumnSet, Intent, TableId, variable};

/// Number of units in 1. Taxes and discounts are in units of 0.0001.
const WHOLE: i64 = 10_000;

impl Desk {
    /// Prefetches the rows that are accessed one after another, so that their cache misses overlap.
    fn announce<A: Access + ?Sized>(&mut self, access: &mut A, place: Place, lines: &[Line]) {
        let mut tell = |table: TableId, columns: ColumnSet, key: &dyn Fn(&Line) -> u64| {
            self.keys.clear();
            self.keys.extend(lines.iter().map(key));
            access.prefetch(table, &self.keys, columns);
        };
        let options = &self.options;
        let stored = |line: &Line| options.stock(line.supplier, line.item);
        tell(ITEM, item::PRICE.set, &|line| line.item);
        tell(STOCK, stock::NUMBERS.set, &stored);
        if options.full_schema() {
            tell(ITEM, item::TEXTS, &|line| line.item);
            tell(STOCK, stock::texts(place.district), &stored);
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
        let layout = self.layouts.of(ITEM);
        let data = || layout.field(texts, &row[part.bytes..], item::DATA);
        let is_branded = full && data().is_some_and(is_original);
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
        // OL_DELIVERY_D is NULL, which consists of zeros.
        let mut entry = [0; line::ALL.bytes];
        put(&mut entry, &[item, supplier, quantity, cost as u64]);
        if full {
            let (info, data) = row[part.bytes..].split_at(line::INFO_BYTES);
            entry[line::NUMBERS.bytes..].copy_from_slice(info);
            let brand = is_branded && variable(data).is_some_and(is_original);
            self.digest.add(&[if brand { b'B' } else { b'G' }]);
        }
        access.update(stored.0, stored.1.into(), stock::NUMBERS.set, &numbers)?;
        let entry = if full { &entry[..] } else { &entry[..line::NUMBERS.bytes] };
        access.insert(ORDER_LINE, place.line(number, at).into(), entry)?;
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
