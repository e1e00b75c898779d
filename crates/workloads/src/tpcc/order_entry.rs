//! The New-Order transaction (clause 2.4).

use super::client::Desk;
use super::columns::{CUSTOMER, DISTRICT, ITEM, NEW_ORDER, ORDER, ORDER_BY_CUSTOMER, ORDER_LINE};
use super::columns::{Part, customer, district, item, line, stock, warehouse};
use super::columns::{STOCK, WAREHOUSE};
use super::draw::{Line, MOST_LINES};
use super::keys::Place;
use super::row::{Row, amount, fetch, packed, put, word};
use txn::{Abort, Access, Intent, held_value};

/// Number of units in 1. Taxes and discounts are in units of 0.0001.
const WHOLE: i64 = 10_000;

impl Desk {
    /// Prefetches the items of an order.
    pub(super) fn announce_items<A: Access + ?Sized>(&mut self, access: &mut A, lines: &[Line]) {
        if self.options.prefetch {
            let texts = if self.options.full_schema() { item::TEXTS } else { Part::NONE };
            let columns = item::PRICE.set.with(texts.set);
            self.rows.clear();
            self.rows.extend(lines.iter().map(|line| (line.item, columns)));
            access.prefetch(ITEM, &self.rows);
        }
    }

    /// Prefetches the stock from which these lines of an order are taken.
    pub(super) fn announce_stock<'l, A: Access + ?Sized>(
        &mut self,
        access: &mut A,
        place: Place,
        lines: impl Iterator<Item = &'l Line>,
    ) {
        if self.options.prefetch {
            let (rows, options) = (&mut self.rows, &self.options);
            let full = options.full_schema();
            let texts = if full { stock::texts(place.district) } else { Part::NONE };
            let columns = stock::NUMBERS.set.with(texts.set);
            rows.clear();
            rows.extend(lines.map(|line| (options.stock(line.supplier, line.item), columns)));
            access.prefetch(STOCK, rows);
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
        // These rows are accessed one after another. Their cache misses overlap if all are prefetched.
        self.announce_items(access, lines);
        self.announce_stock(access, place, lines.iter());
        let mut tax = self.tax_of_warehouse(access, place)?;
        let (tax_of_district, number) = self.take_number(access, place)?;
        tax += tax_of_district;
        let discount = self.discount_of(access, place, customer)?;
        self.insert_order(access, place, (customer, number), lines)?;
        access.insert(NEW_ORDER, place.order(number).into(), &[0])?;
        access.insert(ORDER_BY_CUSTOMER, place.order_of(customer, number).into(), &[0])?;
        let (mut sum, mut entries) = (0, [[0; line::ALL.bytes]; MOST_LINES]);
        for (line, entry) in lines.iter().zip(&mut entries) {
            sum += self.enter_line(access, place, line, entry)?;
        }
        self.insert_lines(access, place, number, &entries[..lines.len()])?;
        self.digest.add(&total(sum, discount, tax).to_le_bytes());
        Ok(())
    }

    /// Returns the tax of a warehouse.
    #[inline]
    pub(super) fn tax_of_warehouse<A: Access + ?Sized>(
        &mut self,
        access: &mut A,
        place: Place,
    ) -> Result<i64, Abort> {
        let home = (WAREHOUSE, place.warehouse);
        let row = fetch(access, home, warehouse::TAX, Intent::Read, &mut self.buffers.fixed)?;
        Ok(amount(row, 0))
    }

    /// Takes the next number of a district's orders. Returns the district's tax and the number.
    #[inline]
    pub(super) fn take_number<A: Access + ?Sized>(
        &mut self,
        access: &mut A,
        place: Place,
    ) -> Result<(i64, u64), Abort> {
        let here = (DISTRICT, self.options.district(place));
        let (columns, buffer) = (district::TAX_AND_NEXT, &mut self.buffers.fixed);
        let row = fetch(access, here, columns, Intent::Update, buffer)?;
        let (tax, number) = (amount(row, 0), word(row, 1));
        access.update(here.0, here.1.into(), district::NEXT.set, &(number + 1).to_le_bytes())?;
        Ok((tax, number))
    }

    /// Returns the discount of a customer.
    #[inline]
    pub(super) fn discount_of<A: Access + ?Sized>(
        &mut self,
        access: &mut A,
        place: Place,
        customer: u64,
    ) -> Result<i64, Abort> {
        let buyer = (CUSTOMER, self.options.customer(place, customer));
        let shown = (customer::TERMS, customer::LAST);
        let row = self.buffers.read(access, buyer, shown, Intent::Read)?;
        self.digest.add(&row[8..]);
        Ok(amount(row, 0))
    }

    /// Inserts an order, without its lines and its other entries.
    #[inline]
    pub(super) fn insert_order<A: Access + ?Sized>(
        &mut self,
        access: &mut A,
        place: Place,
        (customer, number): (u64, u64),
        lines: &[Line],
    ) -> Result<(), Abort> {
        let all_local = lines.iter().all(|line| line.supplier == place.warehouse);
        self.written.clear();
        let mut row = Row::new(self.layouts.of(ORDER), &mut self.written);
        row.numbers(&[customer]).number_or_null(None);
        row.numbers(&[lines.len() as u64, u64::from(all_local), self.date]);
        // If a row is already present, another order has the same number and this attempt is doomed.
        access.insert(ORDER, place.order(number).into(), &self.written)?;
        Ok(())
    }

    /// Takes a line's item from stock. Writes the line's row to `entry`, and returns the line's amount.
    fn enter_line<A: Access + ?Sized>(
        &mut self,
        access: &mut A,
        place: Place,
        ordered: &Line,
        entry: &mut LineRow,
    ) -> Result<i64, Abort> {
        let (price, is_branded) = self.price_of(access, ordered.item)?;
        let is_original = self.take_from_stock(access, place, (ordered, is_branded), entry)?;
        let cost = price * ordered.quantity as i64;
        write_numbers(entry, ordered, cost);
        self.show_brand(is_original);
        Ok(cost)
    }

    /// Returns the price of an item, and whether its data name it an original. Rolls back if the item is unused.
    #[inline]
    pub(super) fn price_of<A: Access + ?Sized>(
        &mut self,
        access: &mut A,
        item: u64,
    ) -> Result<(i64, bool), Abort> {
        let (part, texts) = (item::PRICE, item::TEXTS);
        let found = self.buffers.find(access, (ITEM, item), (part, texts), Intent::Read)?;
        // The item number can be unused (clause 2.4.2.3).
        let row = found.ok_or_else(Abort::user)?;
        let mut is_branded = false;
        if self.options.full_schema() {
            let data = &row[part.bytes + item::NAME.bytes..];
            is_branded = held_value(data).is_some_and(|data| self.originals.include(data));
        }
        self.digest.add(row);
        Ok((amount(row, 0), is_branded))
    }

    /// Takes an ordered item from its stock. Writes what the stock says about the district to `entry`, the row of the line.
    /// Returns whether the stock's data name the item an original. They are looked at only if the item's own data do, or may do.
    #[inline]
    pub(super) fn take_from_stock<A: Access + ?Sized>(
        &mut self,
        access: &mut A,
        place: Place,
        (ordered, is_branded): (&Line, bool),
        entry: &mut LineRow,
    ) -> Result<bool, Abort> {
        let Line { item, supplier, quantity } = *ordered;
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
        let mut is_both = false;
        if self.options.full_schema() {
            let (info, data) = row[part.bytes..].split_at(line::INFO_BYTES);
            entry[line::NUMBERS.bytes..].copy_from_slice(info);
            is_both =
                is_branded && held_value(data).is_some_and(|data| self.originals.include(data));
        }
        access.update(stored.0, stored.1.into(), stock::NUMBERS.set, &numbers)?;
        Ok(is_both)
    }

    /// Inserts the lines of an order, given their rows.
    #[inline]
    pub(super) fn insert_lines<A: Access + ?Sized>(
        &mut self,
        access: &mut A,
        place: Place,
        number: u64,
        entries: &[LineRow],
    ) -> Result<(), Abort> {
        let full = self.options.full_schema();
        let bytes = if full { line::ALL.bytes } else { line::NUMBERS.bytes };
        let mut rows: [(u64, &[u8]); MOST_LINES] = [(0, &[]); MOST_LINES];
        for ((at, entry), row) in (0..).zip(entries).zip(&mut rows) {
            *row = (place.line(number, at), &entry[..bytes]);
        }
        access.insert_many(ORDER_LINE, &rows[..entries.len()])?;
        Ok(())
    }

    /// Shows whether a line is of an original.
    #[inline]
    pub(super) fn show_brand(&mut self, is_brand: bool) {
        if self.options.full_schema() {
            self.digest.add(&[if is_brand { b'B' } else { b'G' }]);
        }
    }
}

/// The row of an order's line, packed.
pub(super) type LineRow = [u8; line::ALL.bytes];

/// Writes the numbers of a line to its row. OL_DELIVERY_D is NULL, which consists of zeros.
pub(super) fn write_numbers(entry: &mut LineRow, ordered: &Line, cost: i64) {
    let Line { item, supplier, quantity } = *ordered;
    put(entry, &[item, supplier, quantity, cost as u64]);
}

/// Returns the amount of an order.
pub(super) fn total(sum: i64, discount: i64, tax: i64) -> i64 {
    sum * (WHOLE - discount) * (WHOLE + tax) / (WHOLE * WHOLE)
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
