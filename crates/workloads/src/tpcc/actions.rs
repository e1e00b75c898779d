//! New-Order and Payment in actions, for sessions that run actions at the same time ([`txn::Action`]).
//!
//! | | stage 1 | stage 2 |
//! | --- | --- | --- |
//! | New-Order | WAREHOUSE, DISTRICT, CUSTOMER, ITEM, STOCK of each supplier | ORDER, NEW-ORDER, orders by customer, ORDER-LINE |
//! | Payment, by number | WAREHOUSE, DISTRICT, CUSTOMER | HISTORY |
//! | Payment, by name | WAREHOUSE, DISTRICT, customers by name | CUSTOMER, HISTORY |
//!
//! Each action accesses one table, and STOCK has an action for each supplying warehouse. So the actions of a stage are
//! independent wherever tables and warehouses belong. The stages are those of DORA (Pandis et al., PVLDB 2010, section 4.1), with the
//! stock in the first one: what is taken from it does not depend on the number of the order.
//!
//! Actions of a stage run at the same time, so each has a [`Desk`] of its own. The other transactions are sequences of
//! accesses of which each needs what the last one has found, or are at one warehouse, and are not split.

use super::client::Desk;
use super::columns::{
    CUSTOMER, CUSTOMER_BY_NAME, DISTRICT, HISTORY, ITEM, NEW_ORDER, ORDER, ORDER_BY_CUSTOMER,
    ORDER_LINE, STOCK, WAREHOUSE, line,
};
use super::draw::{Line, MOST_LINES, Who};
use super::keys::Place;
use super::order_entry::{LineRow, total, write_numbers};
use txn::{Abort, Access, Action};

/// Bytes of a number that an action is given or gives back.
const NUMBER: usize = 8;
/// Bytes of a name in a remark.
const NAME: usize = 10;

/// A line whose item was taken from a supplier's stock: the number of the line, its row so far, and whether the stock's data name the
/// item an original.
type Taken = (usize, LineRow, bool);

/// The desks of a client: that of the drawn transaction, and those of its actions.
pub(super) struct Desks<'d> {
    pub main: &'d mut Desk,
    pub others: &'d mut Vec<Desk>,
}

impl Desks<'_> {
    /// Returns `count` desks for actions of the drawn transaction.
    fn lay(&mut self, count: usize) -> &mut [Desk] {
        let Desks { main, others } = self;
        others.resize_with(others.len().max(count), || main.clone());
        for desk in &mut others[..count] {
            desk.date = main.date;
        }
        &mut others[..count]
    }

    /// Enters an order: [`Desk::enter_order`].
    pub fn enter_order<A: Access + ?Sized>(
        &mut self,
        access: &mut A,
        place: Place,
        customer: u64,
        lines: &[Line],
    ) -> Result<(), Abort> {
        let options = self.main.options.clone();
        let suppliers = suppliers(lines);
        let (mut tax, mut district, mut discount) = (0, (0, 0), 0);
        let mut prices = [(0, false); MOST_LINES];
        let mut taken: Vec<Vec<Taken>> = vec![Vec::new(); suppliers.len()];
        let desks = self.lay(4 + suppliers.len());
        let (desks, of_stock) = desks.split_at_mut(4);
        let [at_warehouse, at_district, at_customer, at_items] = desks else {
            unreachable!("there are four")
        };
        let mut stocks: Vec<_> = (suppliers.iter().zip(of_stock).zip(&mut taken))
            .map(|((supplier, desk), taken)| {
                move |access: &mut dyn Access| {
                    desk.take_all_from_stock(access, place, (*supplier, lines), taken)
                }
            })
            .collect();
        let mut find_items =
            |access: &mut dyn Access| at_items.prices_of(access, lines, &mut prices);
        let mut find_tax = |access: &mut dyn Access| {
            tax = at_warehouse.tax_of_warehouse(access, place)?;
            Ok(())
        };
        let mut take_number = |access: &mut dyn Access| {
            district = at_district.take_number(access, place)?;
            Ok(())
        };
        let mut find_discount = |access: &mut dyn Access| {
            discount = at_customer.discount_of(access, place, customer)?;
            Ok(())
        };
        let mut stage = vec![
            Action::new((WAREHOUSE, place.warehouse), NUMBER, &mut find_tax),
            Action::new((DISTRICT, options.district(place)), 2 * NUMBER, &mut take_number),
            Action::new((CUSTOMER, options.customer(place, customer)), NUMBER, &mut find_discount),
            Action::new((ITEM, lines[0].item), NUMBER * lines.len(), &mut find_items),
        ];
        stage.extend(stocks.iter_mut().zip(&suppliers).map(|(body, supplier)| {
            let ordered = lines.iter().filter(|line| line.supplier == *supplier).count();
            let bytes = (size_of::<Line>() + line::INFO_BYTES) * ordered;
            Action::new((STOCK, options.stock(*supplier, 0)), bytes, body)
        }));
        access.run_actions(&mut stage)?;
        drop(stage);
        drop(stocks);
        let (tax, number) = (tax + district.0, district.1);
        let mut taken: Vec<Taken> = taken.into_iter().flatten().collect();
        taken.sort_unstable_by_key(|(at, ..)| *at);
        self.insert_rows(access, (place, customer, number), lines, (&prices, &taken))?;
        let cost = |line: &Line, price: i64| price * line.quantity as i64;
        let sum = lines.iter().zip(prices).map(|(line, (price, _))| cost(line, price)).sum();
        self.main.digest.add(&total(sum, discount, tax).to_le_bytes());
        for ((_, is_branded), (.., is_original)) in prices.iter().zip(&taken) {
            self.main.show_brand(*is_branded && *is_original);
        }
        Ok(())
    }

    /// Inserts the rows of an order. This is the second stage of New-Order.
    fn insert_rows<A: Access + ?Sized>(
        &mut self,
        access: &mut A,
        (place, customer, number): (Place, u64, u64),
        lines: &[Line],
        (prices, taken): (&[(i64, bool); MOST_LINES], &[Taken]),
    ) -> Result<(), Abort> {
        let entries: Vec<LineRow> = (lines.iter().zip(prices).zip(taken))
            .map(|((line, (price, _)), (_, entry, _))| {
                let mut entry = *entry;
                write_numbers(&mut entry, line, price * line.quantity as i64);
                entry
            })
            .collect();
        let [at_order, at_lines] = self.lay(2) else { unreachable!("there are two") };
        let key = place.order(number);
        let of_customer = place.order_of(customer, number);
        access.run_actions(&mut [
            Action::new((ORDER, key), 2 * NUMBER, &mut |access| {
                at_order.insert_order(access, place, (customer, number), lines)
            }),
            Action::new((NEW_ORDER, key), NUMBER, &mut |access| {
                access.insert(NEW_ORDER, key.into(), &[0]).map(|_| ())
            }),
            Action::new((ORDER_BY_CUSTOMER, of_customer), NUMBER, &mut |access| {
                access.insert(ORDER_BY_CUSTOMER, of_customer.into(), &[0]).map(|_| ())
            }),
            Action::new(
                (ORDER_LINE, place.line(number, 0)),
                size_of::<LineRow>() * lines.len(),
                &mut |access| at_lines.insert_lines(access, place, number, &entries),
            ),
        ])
    }

    /// Processes a payment: [`Desk::pay`].
    pub fn pay<A: Access + ?Sized>(
        &mut self,
        access: &mut A,
        place: Place,
        residence: Place,
        who: Who,
        paid: i64,
    ) -> Result<(), Abort> {
        let options = self.main.options.clone();
        let [at_warehouse, at_district, at_customer] = self.lay(3) else {
            unreachable!("there are three")
        };
        let mut number = 0;
        let customers = match who {
            Who::Number(number) => (CUSTOMER, options.customer(residence, number)),
            Who::Named(name) => (CUSTOMER_BY_NAME, residence.all_named(name).first()),
        };
        access.run_actions(&mut [
            Action::new((WAREHOUSE, place.warehouse), NUMBER + NAME, &mut |access| {
                at_warehouse.remark.clear();
                at_warehouse.take_in_warehouse(access, place, paid)
            }),
            Action::new((DISTRICT, options.district(place)), NUMBER + NAME, &mut |access| {
                at_district.remark.clear();
                at_district.take_in_district(access, place, paid)
            }),
            Action::new(customers, NUMBER, &mut |access| {
                number = at_customer.number_of(access, residence, who)?;
                match who {
                    Who::Number(_) => at_customer.credit(access, residence, number, place, paid),
                    Who::Named(_) => Ok(()),
                }
            }),
        ])?;
        let main = &mut *self.main;
        main.remark.clone_from(&self.others[0].remark);
        main.remark.extend_from_slice(b"    ");
        main.remark.extend_from_slice(&self.others[1].remark);
        let (history, remark) = (main.history, main.remark.len());
        let buyer = (CUSTOMER, options.customer(residence, number));
        let at_customer = &mut self.others[0];
        let mut insert =
            |access: &mut dyn Access| main.insert_history(access, (place, residence), number, paid);
        let mut credit =
            |access: &mut dyn Access| at_customer.credit(access, residence, number, place, paid);
        let stage = &mut [
            Action::new((HISTORY, history), NUMBER + remark, &mut insert),
            Action::new(buyer, NUMBER, &mut credit),
        ];
        // A customer that was given by its number has been credited already.
        let count = if matches!(who, Who::Named(_)) { 2 } else { 1 };
        access.run_actions(&mut stage[..count])
    }
}

impl Desk {
    /// Finds the prices of an order's items.
    fn prices_of(
        &mut self,
        access: &mut dyn Access,
        lines: &[Line],
        prices: &mut [(i64, bool); MOST_LINES],
    ) -> Result<(), Abort> {
        self.announce_items(access, lines);
        for (line, price) in lines.iter().zip(prices) {
            *price = self.price_of(access, line.item)?;
        }
        Ok(())
    }

    /// Takes what is ordered from a supplier from its stock.
    fn take_all_from_stock(
        &mut self,
        access: &mut dyn Access,
        place: Place,
        (supplier, lines): (u64, &[Line]),
        taken: &mut Vec<Taken>,
    ) -> Result<(), Abort> {
        let ordered = lines.iter().filter(|line| line.supplier == supplier);
        self.announce_stock(access, place, ordered);
        for (at, line) in lines.iter().enumerate() {
            // An unused item has no stock. The action that looks items up finds it out.
            if line.supplier == supplier && line.item < self.options.items {
                let mut entry = [0; line::ALL.bytes];
                // The item's data are looked up by another action at the same time.
                let is_original = self.take_from_stock(access, place, (line, true), &mut entry)?;
                taken.push((at, entry, is_original));
            }
        }
        Ok(())
    }
}

/// Returns the suppliers of an order, each once.
fn suppliers(lines: &[Line]) -> Vec<u64> {
    let mut suppliers: Vec<u64> = lines.iter().map(|line| line.supplier).collect();
    suppliers.sort_unstable();
    suppliers.dedup();
    suppliers
}
