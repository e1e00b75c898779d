//! The Payment transaction (clause 2.5).

use super::client::Desk;
use super::columns::{CUSTOMER, DISTRICT, HISTORY, WAREHOUSE};
use super::columns::{Part, customer, district, history, warehouse};
use super::draw::Who;
use super::keys::Place;
use super::row::{amount, fetch, increase, packed, put, word};
use std::io::Write;
use txn::{Abort, Access, Intent, TableId};

/// Offset of C_CREDIT in the columns of a customer that a payment reads.
const CREDIT: usize = 32;

impl Desk {
    /// Processes a payment.
    pub(super) fn pay<A: Access + ?Sized>(
        &mut self,
        access: &mut A,
        place: Place,
        residence: Place,
        who: Who,
        paid: i64,
    ) -> Result<(), Abort> {
        let mut remark = [b' '; 24];
        let home = (WAREHOUSE, place.warehouse);
        let texts = warehouse::NAME_AND_ADDRESS;
        self.take_in(access, home, (warehouse::YTD, texts), paid, &mut remark[..10])?;
        let here = (DISTRICT, self.options.district(place));
        let texts = district::NAME_AND_ADDRESS;
        self.take_in(access, here, (district::YTD, texts), paid, &mut remark[14..])?;
        let customer = self.number_of(access, residence, who)?;
        self.credit(access, residence, customer, place, paid)?;
        let mut row = [0; history::BYTES];
        let (from, of) = (residence, place);
        let buyer = [customer, from.district, from.warehouse];
        let [c, c_d, c_w] = buyer;
        put(&mut row, &[c, c_d, c_w, of.district, of.warehouse, paid as u64, self.date]);
        let full = self.options.full_schema();
        if full {
            row[history::NUMBERS.bytes..].copy_from_slice(&remark);
        }
        let row = if full { &row[..] } else { &row[..history::NUMBERS.bytes] };
        access.insert(HISTORY, self.history.into(), row)?;
        Ok(())
    }

    /// Adds a payment to a warehouse or a district, and copies its name to `name`.
    fn take_in<A: Access + ?Sized>(
        &mut self,
        access: &mut A,
        row: (TableId, u64),
        (sum, texts): (Part, Part),
        paid: i64,
        name: &mut [u8],
    ) -> Result<(), Abort> {
        if !self.options.full_schema() {
            return increase(access, row, sum, &paid.to_le_bytes());
        }
        if access.adds_at_commit() {
            let found = fetch(access, row, texts, Intent::Read, &mut self.buffer)?;
            name.copy_from_slice(&found[..10]);
            self.digest.add(found);
            return increase(access, row, sum, &paid.to_le_bytes());
        }
        let part = sum.then(texts);
        let found = fetch(access, row, part, Intent::Update, &mut self.buffer)?;
        let total = amount(found, 0).wrapping_add(paid);
        name.copy_from_slice(&found[8..18]);
        self.digest.add(&found[8..]);
        access.update(row.0, row.1.into(), sum.set, &total.to_le_bytes())?;
        Ok(())
    }

    /// Credits a payment to a customer. If the customer has bad credit, the payment is also written into the
    /// customer's remarks.
    fn credit<A: Access + ?Sized>(
        &mut self,
        access: &mut A,
        residence: Place,
        number: u64,
        place: Place,
        paid: i64,
    ) -> Result<(), Abort> {
        let full = self.options.full_schema();
        let buyer = (CUSTOMER, self.options.customer(residence, number));
        let part = match full {
            true => customer::PAID_AND_TERMS.then(customer::SHOWN),
            false => customer::PAID_AND_TERMS,
        };
        let row = fetch(access, buyer, part, Intent::Update, &mut self.buffer)?;
        let after: [u8; customer::PAID.bytes] = packed([
            amount(row, 0).wrapping_sub(paid) as u64,
            amount(row, 1).wrapping_add(paid) as u64,
            word(row, 2).wrapping_add(1),
        ]);
        let is_bad = &row[CREDIT..CREDIT + 2] == b"BC";
        self.digest.add(&row[24..]);
        if !(full && is_bad) {
            access.update(buyer.0, buyer.1.into(), customer::PAID.set, &after)?;
            return Ok(());
        }
        const PAID: usize = customer::PAID.bytes;
        const DATA: usize = customer::DATA.bytes;
        let data = fetch(access, buyer, customer::DATA, Intent::Update, &mut self.buffer)?;
        let mut row = [0; PAID + DATA];
        row[..PAID].copy_from_slice(&after);
        let mut rest = &mut row[PAID..];
        let (from, of) = (residence, place);
        let ids = [number, from.district, from.warehouse, of.district, of.warehouse];
        for id in ids {
            write!(rest, "{id} ").expect("five numbers are shorter than the remarks");
        }
        write!(rest, "{paid} ").expect("six numbers are shorter than the remarks");
        let room = rest.len();
        rest.copy_from_slice(&data[..room]);
        self.digest.add(&row[PAID..PAID + 200]);
        access.update(buyer.0, buyer.1.into(), customer::PAID.then(customer::DATA).set, &row)?;
        Ok(())
    }
}
