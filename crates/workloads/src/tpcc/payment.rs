//! The Payment transaction (clause 2.5).

use super::client::Desk;
use super::columns::{CUSTOMER, DISTRICT, HISTORY, WAREHOUSE};
use super::columns::{Part, customer, district, warehouse};
use super::draw::Who;
use super::keys::Place;
use super::row::{Row, amount, increase, packed, word};
use std::io::Write;
use txn::{Abort, Access, ColumnSet, Intent, TableId, held_value};

/// Offset of C_CREDIT in the columns of a customer that a payment reads.
const CREDIT: usize = 32;

/// Bytes of the name of a warehouse or a district, in held form.
const NAME_BYTES: usize = warehouse::NAME.bytes;
const _: () = assert!(NAME_BYTES == district::NAME.bytes);

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
        self.remark.clear();
        self.take_in_warehouse(access, place, paid)?;
        self.remark.extend_from_slice(b"    ");
        self.take_in_district(access, place, paid)?;
        let customer = self.number_of(access, residence, who)?;
        self.credit(access, residence, customer, place, paid)?;
        self.insert_history(access, (place, residence), customer, paid)
    }

    /// Adds a payment to a warehouse, and appends its name to the remark.
    #[inline]
    pub(super) fn take_in_warehouse<A: Access + ?Sized>(
        &mut self,
        access: &mut A,
        place: Place,
        paid: i64,
    ) -> Result<(), Abort> {
        let home = (WAREHOUSE, place.warehouse);
        self.take_in(access, home, warehouse::YTD, warehouse::NAME_AND_ADDRESS, paid)
    }

    /// Adds a payment to a district, and appends its name to the remark.
    #[inline]
    pub(super) fn take_in_district<A: Access + ?Sized>(
        &mut self,
        access: &mut A,
        place: Place,
        paid: i64,
    ) -> Result<(), Abort> {
        let here = (DISTRICT, self.options.district(place));
        self.take_in(access, here, district::YTD, district::NAME_AND_ADDRESS, paid)
    }

    /// Inserts a row of history with the remark.
    #[inline]
    pub(super) fn insert_history<A: Access + ?Sized>(
        &mut self,
        access: &mut A,
        (place, residence): (Place, Place),
        customer: u64,
        paid: i64,
    ) -> Result<(), Abort> {
        self.written.clear();
        let mut row = Row::new(self.layouts.of(HISTORY), &mut self.written);
        row.numbers(&[customer, residence.district, residence.warehouse]);
        row.numbers(&[place.district, place.warehouse, paid as u64, self.date]);
        row.text(&self.remark);
        access.insert(HISTORY, self.history.into(), &self.written)?;
        Ok(())
    }

    /// Adds a payment to a warehouse or a district, and appends its name to the remark.
    fn take_in<A: Access + ?Sized>(
        &mut self,
        access: &mut A,
        row: (TableId, u64),
        sum: Part,
        texts: Part,
        paid: i64,
    ) -> Result<(), Abort> {
        if !self.options.full_schema() {
            return increase(access, row, sum, &paid.to_le_bytes());
        }
        let adds_at_commit = access.adds_at_commit();
        let (part, intent) = match adds_at_commit {
            true => (Part::NONE, Intent::Read),
            false => (sum, Intent::Update),
        };
        let found = self.buffers.read(access, row, (part, texts), intent)?;
        let shown = &found[part.bytes..];
        // The name comes first.
        let name = held_value(&shown[..NAME_BYTES]);
        self.remark.extend_from_slice(name.unwrap_or(&[]));
        self.digest.add(shown);
        if adds_at_commit {
            return increase(access, row, sum, &paid.to_le_bytes());
        }
        let total = amount(found, 0).wrapping_add(paid);
        access.update(row.0, row.1.into(), sum.set, &total.to_le_bytes())?;
        Ok(())
    }

    /// Credits a payment to a customer. If the customer has bad credit, the payment is also written into the
    /// customer's remarks.
    pub(super) fn credit<A: Access + ?Sized>(
        &mut self,
        access: &mut A,
        residence: Place,
        number: u64,
        place: Place,
        paid: i64,
    ) -> Result<(), Abort> {
        let full = self.options.full_schema();
        let buyer = (CUSTOMER, self.options.customer(residence, number));
        let columns = (customer::PAID_AND_TERMS, customer::SHOWN);
        let row = self.buffers.read(access, buyer, columns, Intent::Update)?;
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
        let data = ColumnSet::one(customer::DATA);
        let row = self.buffers.fetch(access, buyer, data, Intent::Update)?;
        let layout = self.layouts.of(CUSTOMER);
        let (from, of) = (residence, place);
        self.text.clear();
        let ids = [number, from.district, from.warehouse, of.district, of.warehouse];
        for id in ids {
            write!(self.text, "{id} ").expect("memory takes any text");
        }
        write!(self.text, "{paid} ").expect("memory takes any text");
        self.text.extend_from_slice(layout.field(data, row, customer::DATA).unwrap_or(&[]));
        self.text.truncate(customer::DATA_BYTES);
        self.digest.add(&self.text[..self.text.len().min(200)]);
        self.written.clear();
        self.written.extend_from_slice(&after);
        layout.push(&mut self.written, customer::DATA, Some(&self.text));
        access.update(buyer.0, buyer.1.into(), customer::PAID.set.with(data), &self.written)?;
        Ok(())
    }
}
