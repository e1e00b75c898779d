//! The New-Order transaction (clause 2.4).

use super::client::Desk;
use super::columns::{CUSTOMER, DISTRICT, ITEM, NEW_ORDER, ORDER, ORDER_BY_CUSTOMER, ORDER_LINE};
use super::columns::{Part, STOCK, WAREHOUSE};
use super::columns::{customer, district, item, line, order, stock, warehouse};
use super::draw::Line;
use super::keys::Place;
use super::row::{amount, fetch, packed, put, word};
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
                access.prefetch(ITEM, &[line.item], item::TEXTS.set);
                access.prefetch(STOCK, &[stored(line)], texts.set);
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
        let buffer = &mut self.buffer;
        let row = fetch(access, home, warehouse::TAX, Intent::Read, buffer)?;
        let mut tax = amount(row, 0);
        let here = (DISTRICT, self.options.district(place));
        let row = fetch(access, here, district::TAX_AND_NEXT, Intent::Update, buffer)?;
        tax += amount(row, 0);
        let number = word(row, 1);
        access.update(here.0, here.1.into(), district::NEXT.set, &(number + 1).to_le_bytes())?;
        let buyer = (CUSTOMER, self.options.customer(place, customer));
        let terms = match self.options.full_schema() {
            true => customer::TERMS.then(customer::LAST),
            false => customer::TERMS,
        };
        let row = fetch(access, buyer, terms, Intent::Read, buffer)?;
        let discount = amount(row, 0);
        self.digest.add(&row[8..]);
        let all_local = lines.iter().all(|line| line.supplier == place.warehouse);
        let row: [u8; order::ALL.bytes] =
            packed([customer, 0, lines.len() as u64, u64::from(all_local), self.date]);
        // If a row is already present, another order has the same number and this attempt is doomed.
        access.insert(ORDER, place.order(number).into(), &row)?;
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
        let part = if full { item::PRICE.then(item::TEXTS) } else { item::PRICE };
        let row = &mut self.buffer[..part.bytes];
        if !access.read(ITEM, item.into(), part.set, row)? {
            // The item number is unused (clause 2.4.2.3).
            return Err(Abort::user());
        }
        let price = amount(row, 0);
        let is_branded = full && is_original(&row[row.len() - 50..]);
        self.digest.add(row);
        let stored = (STOCK, self.options.stock(supplier, item));
        let part = match full {
            true => stock::NUMBERS.then(stock::texts(place.district)),
            false => stock::NUMBERS,
        };
        let row = fetch(access, stored, part, Intent::Update, &mut self.buffer)?;
        let remote = u64::from(supplier != place.warehouse);
        let left = restocked(amount(row, 0) - quantity as i64);
        let numbers: [u8; stock::NUMBERS.bytes] = packed([
            left as u64,
            word(row, 1).wrapping_add(quantity),
            word(row, 2).wrapping_add(1),
            word(row, 3).wrapping_add(remote),
        ]);
        const NUMBERS: usize = line::NUMBERS.bytes;
        let cost = price * quantity as i64;
        let mut entry = [0; line::BYTES];
        put(&mut entry, &[item, supplier, quantity, cost as u64, 0]);
        if full {
            let (info, data) = row[stock::NUMBERS.bytes..].split_at(24);
            entry[NUMBERS..].copy_from_slice(info);
            let brand = is_branded && is_original(data);
            self.digest.add(&[if brand { b'B' } else { b'G' }]);
        }
        access.update(stored.0, stored.1.into(), stock::NUMBERS.set, &numbers)?;
        let entry = if full { &entry[..] } else { &entry[..NUMBERS] };
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
