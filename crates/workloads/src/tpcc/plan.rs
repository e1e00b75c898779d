//! The accesses of each transaction that are known before it begins.
//!
//! Keys with an order's number follow from the district's next number or from a scan, and a customer who is looked up by
//! name is found by a scan. Such rows are not known. So a Delivery has no plan.

use super::client::Desk;
use super::columns::{CUSTOMER, DISTRICT, HISTORY, ITEM, STOCK, WAREHOUSE};
use super::columns::{customer, district, item, stock, warehouse};
use super::draw::{Drawn, Line, Who};
use super::keys::Place;
use txn::Planned;

impl Desk {
    /// Adds the known accesses of `drawn` to `out`. Columns that the schema lacks are left out by the engine.
    pub(super) fn plan(&self, drawn: &Drawn, out: &mut Vec<Planned>) {
        match *drawn {
            Drawn::NewOrder { place, customer, ref lines, count } => {
                self.plan_order(place, customer, &lines[..count], out);
            }
            Drawn::Payment { place, residence, who, .. } => {
                let ytd = warehouse::YTD.set.with(warehouse::NAME_AND_ADDRESS.set);
                out.push(Planned::write(WAREHOUSE, place.warehouse, ytd));
                let ytd = district::YTD.set.with(district::NAME_AND_ADDRESS.set);
                out.push(Planned::write(DISTRICT, self.options.district(place), ytd));
                if let Who::Number(number) = who {
                    let paid = customer::PAID_AND_TERMS.set.with(customer::SHOWN.set);
                    let buyer = self.options.customer(residence, number);
                    out.push(Planned::write(CUSTOMER, buyer, paid));
                }
                out.push(Planned::whole(HISTORY, self.history));
            }
            Drawn::OrderStatus { place, who: Who::Number(number) } => {
                let shown = customer::BALANCE.set.with(customer::NAMES.set);
                out.push(Planned::read(CUSTOMER, self.options.customer(place, number), shown));
            }
            Drawn::StockLevel { place, .. } => {
                let next = district::NEXT.set;
                out.push(Planned::read(DISTRICT, self.options.district(place), next));
            }
            Drawn::OrderStatus { .. } | Drawn::Delivery { .. } => {}
        }
    }

    fn plan_order(&self, place: Place, customer: u64, lines: &[Line], out: &mut Vec<Planned>) {
        out.push(Planned::read(WAREHOUSE, place.warehouse, warehouse::TAX.set));
        let next = district::TAX_AND_NEXT.set;
        out.push(Planned::write(DISTRICT, self.options.district(place), next));
        let shown = customer::TERMS.set.with(customer::LAST.set);
        out.push(Planned::read(CUSTOMER, self.options.customer(place, customer), shown));
        for line in lines {
            out.push(Planned::read(ITEM, line.item, item::PRICE.set.with(item::TEXTS.set)));
            let changed = stock::NUMBERS.set.with(stock::texts(place.district).set);
            out.push(Planned::write(STOCK, self.options.stock(line.supplier, line.item), changed));
        }
    }
}
