//! Defines the tables and their columns (clause 1.3).
//!
//! In each table, the first columns are those on which transactions or consistency conditions base decisions.
//! The small schema contains only these. Behind them come the texts that are only shown, stored and passed
//! on: names, addresses, remarks. A column has the same number in both schemas.
//!
//! Columns of a primary key are in the key ([`super::keys`]) and are not repeated in the row. Amounts of
//! money are integers, in cents, so that sums are exact in any order. Taxes and discounts are in units of
//! 0.0001. A date is the number of the transaction within its worker, counted from 2, because this code may
//! not read a wall clock. The date of the initial population is 1, and 0 means no date. A carrier is 1 to 10,
//! and 0 means none.

use txn::ColumnType::{self, Bytes, I64, U64};
use txn::{Column, ColumnSet, TableId, TableSchema};

/// WAREHOUSE, by its number.
pub const WAREHOUSE: TableId = TableId(0);
/// DISTRICT, dense.
pub const DISTRICT: TableId = TableId(1);
/// CUSTOMER, dense.
pub const CUSTOMER: TableId = TableId(2);
/// HISTORY, in key order. No transaction looks up a row, and the index grows with the table.
pub const HISTORY: TableId = TableId(3);
/// NEW-ORDER, in key order.
pub const NEW_ORDER: TableId = TableId(4);
/// ORDER, in key order.
pub const ORDER: TableId = TableId(5);
/// ORDER-LINE, in key order.
pub const ORDER_LINE: TableId = TableId(6);
/// ITEM, by its number.
pub const ITEM: TableId = TableId(7);
/// STOCK, dense.
pub const STOCK: TableId = TableId(8);
/// Customers by last name, in key order. Only the loader writes it, because no transaction changes a name.
pub const CUSTOMER_BY_NAME: TableId = TableId(9);
/// Orders by customer, in key order. The New-Order transaction maintains it.
pub const ORDER_BY_CUSTOMER: TableId = TableId(10);

/// The declared columns of a table.
pub type Columns = &'static [(&'static str, ColumnType)];

/// Some columns of a table, in ascending order, with their total length.
#[derive(Clone, Copy, Debug)]
pub struct Part {
    /// The columns.
    pub set: ColumnSet,
    /// Total length in bytes, packed.
    pub bytes: usize,
}

impl Part {
    /// No column: only the presence of the row.
    pub const NONE: Part = Part { set: ColumnSet::NONE, bytes: 0 };

    const fn of(columns: Columns, numbers: &[usize]) -> Part {
        let (mut set, mut bytes, mut i) = (ColumnSet::NONE, 0, 0);
        while i < numbers.len() {
            assert!(i == 0 || numbers[i - 1] < numbers[i], "values are packed in column order");
            set = set.with(ColumnSet::one(numbers[i]));
            bytes += columns[numbers[i]].1.most_bytes();
            i += 1;
        }
        Part { set, bytes }
    }

    /// Returns the columns from `first` to `last`, both included.
    const fn span(columns: Columns, first: usize, last: usize) -> Part {
        let set = ColumnSet(ColumnSet::first(last + 1).0 & !ColumnSet::first(first).0);
        Part { set, bytes: offset(columns, last + 1) - offset(columns, first) }
    }

    /// Returns these columns followed by `behind`, which must come after them.
    pub const fn then(self, behind: Part) -> Part {
        Part { set: self.set.with(behind.set), bytes: self.bytes + behind.bytes }
    }
}

/// Returns the offset of column number `column` in a packed row.
pub const fn offset(columns: Columns, column: usize) -> usize {
    let (mut bytes, mut i) = (0, 0);
    while i < column {
        bytes += columns[i].1.most_bytes();
        i += 1;
    }
    bytes
}

/// WAREHOUSE.
pub mod warehouse {
    use super::*;
    /// All columns.
    pub const COLUMNS: Columns = &[
        ("w_tax", U64),
        ("w_ytd", I64),
        ("w_name", Bytes(10)),
        ("w_street_1", Bytes(20)),
        ("w_street_2", Bytes(20)),
        ("w_city", Bytes(20)),
        ("w_state", Bytes(2)),
        ("w_zip", Bytes(9)),
    ];
    /// W_TAX.
    pub const TAX: Part = Part::of(COLUMNS, &[0]);
    /// W_YTD.
    pub const YTD: Part = Part::of(COLUMNS, &[1]);
    /// W_NAME and the address.
    pub const NAME_AND_ADDRESS: Part = Part::span(COLUMNS, 2, 7);
}

/// DISTRICT.
pub mod district {
    use super::*;
    /// All columns.
    pub const COLUMNS: Columns = &[
        ("d_tax", U64),
        ("d_ytd", I64),
        ("d_next_o_id", U64),
        ("d_name", Bytes(10)),
        ("d_street_1", Bytes(20)),
        ("d_street_2", Bytes(20)),
        ("d_city", Bytes(20)),
        ("d_state", Bytes(2)),
        ("d_zip", Bytes(9)),
    ];
    /// D_TAX and D_NEXT_O_ID.
    pub const TAX_AND_NEXT: Part = Part::of(COLUMNS, &[0, 2]);
    /// D_YTD.
    pub const YTD: Part = Part::of(COLUMNS, &[1]);
    /// D_NEXT_O_ID.
    pub const NEXT: Part = Part::of(COLUMNS, &[2]);
    /// D_NAME and the address.
    pub const NAME_AND_ADDRESS: Part = Part::span(COLUMNS, 3, 8);
}

/// CUSTOMER.
pub mod customer {
    use super::*;
    /// All columns.
    pub const COLUMNS: Columns = &[
        ("c_balance", I64),
        ("c_ytd_payment", I64),
        ("c_payment_cnt", U64),
        ("c_delivery_cnt", U64),
        ("c_discount", U64),
        ("c_credit", Bytes(2)),
        ("c_credit_lim", I64),
        ("c_since", U64),
        ("c_first", Bytes(16)),
        ("c_middle", Bytes(2)),
        ("c_last", Bytes(16)),
        ("c_street_1", Bytes(20)),
        ("c_street_2", Bytes(20)),
        ("c_city", Bytes(20)),
        ("c_state", Bytes(2)),
        ("c_zip", Bytes(9)),
        ("c_phone", Bytes(16)),
        ("c_data", Bytes(500)),
    ];
    /// C_BALANCE.
    pub const BALANCE: Part = Part::of(COLUMNS, &[0]);
    /// C_BALANCE, C_YTD_PAYMENT and C_PAYMENT_CNT.
    pub const PAID: Part = Part::of(COLUMNS, &[0, 1, 2]);
    /// C_BALANCE, C_YTD_PAYMENT, C_PAYMENT_CNT, C_DISCOUNT and C_CREDIT.
    pub const PAID_AND_TERMS: Part = Part::of(COLUMNS, &[0, 1, 2, 4, 5]);
    /// C_BALANCE and C_DELIVERY_CNT.
    pub const DELIVERED: Part = Part::of(COLUMNS, &[0, 3]);
    /// C_BALANCE, C_YTD_PAYMENT, C_PAYMENT_CNT and C_DELIVERY_CNT.
    pub const COUNTS: Part = Part::of(COLUMNS, &[0, 1, 2, 3]);
    /// C_DISCOUNT and C_CREDIT.
    pub const TERMS: Part = Part::of(COLUMNS, &[4, 5]);
    /// C_LAST.
    pub const LAST: Part = Part::of(COLUMNS, &[10]);
    /// C_FIRST, C_MIDDLE and C_LAST.
    pub const NAMES: Part = Part::span(COLUMNS, 8, 10);
    /// Further columns that a payment shows: limit, date, names, address, phone.
    pub const SHOWN: Part = Part::span(COLUMNS, 6, 16);
    /// C_DATA.
    pub const DATA: Part = Part::of(COLUMNS, &[17]);
}

/// HISTORY.
pub mod history {
    use super::*;
    /// All columns.
    pub const COLUMNS: Columns = &[
        ("h_c_id", U64),
        ("h_c_d_id", U64),
        ("h_c_w_id", U64),
        ("h_d_id", U64),
        ("h_w_id", U64),
        ("h_amount", I64),
        ("h_date", U64),
        ("h_data", Bytes(24)),
    ];
    /// All columns that are numbers.
    pub const NUMBERS: Part = Part::span(COLUMNS, 0, 6);
    /// Length of a full row in bytes.
    pub const BYTES: usize = offset(COLUMNS, COLUMNS.len());
}

/// NEW-ORDER, and ORDER by customer: only their keys matter.
pub mod presence {
    use super::*;
    /// All columns. A table must have at least one column.
    pub const COLUMNS: Columns = &[("presence", Bytes(1))];
}

/// ORDER.
pub mod order {
    use super::*;
    /// All columns.
    pub const COLUMNS: Columns = &[
        ("o_c_id", U64),
        ("o_carrier_id", U64),
        ("o_ol_cnt", U64),
        ("o_all_local", U64),
        ("o_entry_d", U64),
    ];
    /// All columns, as a part.
    pub const ALL: Part = Part::span(COLUMNS, 0, 4);
    /// O_C_ID.
    pub const CUSTOMER: Part = Part::of(COLUMNS, &[0]);
    /// O_CARRIER_ID.
    pub const CARRIER: Part = Part::of(COLUMNS, &[1]);
}

/// ORDER-LINE.
pub mod line {
    use super::*;
    /// All columns.
    pub const COLUMNS: Columns = &[
        ("ol_i_id", U64),
        ("ol_supply_w_id", U64),
        ("ol_quantity", U64),
        ("ol_amount", I64),
        ("ol_delivery_d", U64),
        ("ol_dist_info", Bytes(24)),
    ];
    /// All columns that are numbers.
    pub const NUMBERS: Part = Part::span(COLUMNS, 0, 4);
    /// Length of a full row in bytes.
    pub const BYTES: usize = offset(COLUMNS, COLUMNS.len());
    /// OL_I_ID.
    pub const ITEM: Part = Part::of(COLUMNS, &[0]);
    /// OL_AMOUNT.
    pub const AMOUNT: Part = Part::of(COLUMNS, &[3]);
    /// OL_DELIVERY_D.
    pub const DELIVERY: Part = Part::of(COLUMNS, &[4]);
}

/// ITEM.
pub mod item {
    use super::*;
    /// All columns.
    pub const COLUMNS: Columns =
        &[("i_price", I64), ("i_im_id", U64), ("i_name", Bytes(24)), ("i_data", Bytes(50))];
    /// I_PRICE.
    pub const PRICE: Part = Part::of(COLUMNS, &[0]);
    /// I_NAME and I_DATA.
    pub const TEXTS: Part = Part::of(COLUMNS, &[2, 3]);
}

/// STOCK.
pub mod stock {
    use super::*;
    /// All columns.
    pub const COLUMNS: Columns = &[
        ("s_quantity", I64),
        ("s_ytd", U64),
        ("s_order_cnt", U64),
        ("s_remote_cnt", U64),
        ("s_dist_01", Bytes(24)),
        ("s_dist_02", Bytes(24)),
        ("s_dist_03", Bytes(24)),
        ("s_dist_04", Bytes(24)),
        ("s_dist_05", Bytes(24)),
        ("s_dist_06", Bytes(24)),
        ("s_dist_07", Bytes(24)),
        ("s_dist_08", Bytes(24)),
        ("s_dist_09", Bytes(24)),
        ("s_dist_10", Bytes(24)),
        ("s_data", Bytes(50)),
    ];
    /// S_QUANTITY.
    pub const QUANTITY: Part = Part::of(COLUMNS, &[0]);
    /// All columns that are numbers.
    pub const NUMBERS: Part = Part::span(COLUMNS, 0, 3);
    /// Returns S_DIST_xx of district number `district`, and S_DATA.
    #[inline]
    pub fn texts(district: u64) -> Part {
        TEXTS[district as usize]
    }

    /// The parts for each district.
    const TEXTS: [Part; 10] = {
        let mut texts = [Part::NONE; 10];
        let mut district = 0;
        while district < 10 {
            texts[district] = Part::of(COLUMNS, &[4 + district, 14]);
            district += 1;
        }
        texts
    };
}

/// Customers by last name.
pub mod by_name {
    use super::*;
    /// All columns.
    pub const COLUMNS: Columns = &[("c_first", Bytes(16))];
    /// C_FIRST, by which customers of one name are ordered.
    pub const FIRST: Part = Part::of(COLUMNS, &[0]);
}

/// Returns the columns that transactions write most. These are the sums of warehouses and districts, and the
/// columns of customers and of stock that STOv2's code (Huang et al., VLDB 2020) treats as such. Its
/// districts have no D_NEXT_O_ID. Here D_NEXT_O_ID stays with the other columns.
fn often(table: &str, columns: usize) -> ColumnSet {
    let often = match table {
        "warehouse" => warehouse::YTD.set,
        "district" => district::YTD.set,
        "customer" => customer::COUNTS.then(customer::DATA).set,
        "stock" => stock::NUMBERS.set,
        _ => ColumnSet::NONE,
    };
    let all = ColumnSet::first(columns);
    let often = ColumnSet(often.0 & all.0);
    // The small schema of stock has no other columns.
    if often == all { ColumnSet::NONE } else { often }
}

/// A table: its name, its columns, the number of columns in the small schema, and whether it is in key order.
type Declaration = (&'static str, Columns, usize, bool);

/// All tables in the order of their numbers.
const TABLES: [Declaration; 11] = [
    ("warehouse", warehouse::COLUMNS, 2, false),
    ("district", district::COLUMNS, 3, false),
    ("customer", customer::COLUMNS, 6, false),
    ("history", history::COLUMNS, 7, true),
    ("new_order", presence::COLUMNS, 1, true),
    ("order", order::COLUMNS, 5, true),
    ("order_line", line::COLUMNS, 5, true),
    ("item", item::COLUMNS, 1, false),
    ("stock", stock::COLUMNS, 4, false),
    ("customer_by_name", by_name::COLUMNS, 1, true),
    ("order_by_customer", presence::COLUMNS, 1, true),
];

/// Returns the tables, without partitioning.
pub(super) fn tables(full: bool, split: bool) -> Vec<TableSchema> {
    let table = |(name, columns, decisive, ordered): Declaration| {
        let kept = if full { columns } else { &columns[..decisive] };
        let often = if split { often(name, kept.len()) } else { ColumnSet::NONE };
        let columns = kept.iter().map(|(name, kind)| Column::new(*name, *kind)).collect();
        let table = TableSchema::new(name, columns).split(often);
        if ordered { table.ordered() } else { table }
    };
    TABLES.map(table).into()
}

/// Returns the length in bytes of a packed row of `table`.
pub(super) fn row_bytes(table: TableId, full: bool) -> usize {
    let (_, columns, decisive, _) = TABLES[table.0 as usize];
    offset(columns, if full { columns.len() } else { decisive })
}

#[cfg(test)]
mod tests {
    use super::*;
    use txn::RowLayout;

    #[test]
    fn parts_are_as_long_as_their_columns() {
        let tables = tables(true, false);
        let layout = |table: TableId| RowLayout::of(&tables[table.0 as usize]);
        for (table, part) in [
            (WAREHOUSE, warehouse::NAME_AND_ADDRESS),
            (CUSTOMER, customer::SHOWN),
            (CUSTOMER, customer::PAID_AND_TERMS.then(customer::SHOWN)),
            (STOCK, stock::texts(9)),
            (ORDER_LINE, line::NUMBERS),
        ] {
            assert_eq!(layout(table).held_bytes(part.set), part.bytes);
        }
        for (number, table) in tables.iter().enumerate() {
            table.check().unwrap();
            assert_eq!(
                RowLayout::of(table).bytes(),
                row_bytes(TableId(number as u16), true),
                "{}",
                table.name
            );
        }
    }

    #[test]
    fn the_small_schema_is_the_beginning_of_the_full_one() {
        for (small, full) in tables(false, true).iter().zip(tables(true, true)) {
            assert_eq!(small.columns[..], full.columns[..small.columns.len()], "{}", full.name);
            small.check().unwrap();
            full.check().unwrap();
        }
        let bytes = |full| (0..11).map(|table| row_bytes(TableId(table), full)).sum::<usize>();
        assert!(bytes(false) * 4 < bytes(true));
    }
}
