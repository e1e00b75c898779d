//! Defines the tables and their columns (clause 1.3).
//!
//! In each table, the first columns are those on which transactions or consistency conditions base decisions.
//! The small schema contains only these. Behind them come the texts that are only shown, stored and passed
//! on: names, addresses, remarks. A column has the same number in both schemas.
//!
//! Columns of a primary key are in the key ([`super::keys`]) and are not repeated in the row. Amounts of
//! money are integers, in cents, so that sums are exact in any order. Taxes and discounts are in units of
//! 0.0001. A date is the number of the transaction within its worker, counted from 2, because this code may
//! not read a wall clock. The date of the initial population is 1. A carrier is 1 to 10. An order without a
//! carrier and a line without a date of delivery have NULL there.
//!
//! Variable text of the specification is text of variable length. Fixed text is bytes.

use txn::ColumnType::{self, Bytes, I64, TextUpTo, U64};
use txn::{Column, ColumnSet, RowLayout, TableId, TableSchema};

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

/// The declaration of a column.
#[derive(Clone, Copy, Debug)]
pub struct Declared {
    name: &'static str,
    kind: ColumnType,
    nullable: bool,
}

impl Declared {
    /// Returns the bytes of a value in held form. The record must hold it.
    const fn bytes(self) -> usize {
        assert!(!self.kind.is_apart(), "values of this column lie outside the record");
        self.kind.held_bytes(self.nullable)
    }

    fn column(&self) -> Column {
        let column = Column::new(self.name, self.kind);
        if self.nullable { column.nullable() } else { column }
    }
}

/// Declares a column in which every row has a value.
const fn of(name: &'static str, kind: ColumnType) -> Declared {
    Declared { name, kind, nullable: false }
}

/// Declares a column in which a row can have no value.
const fn nullable(name: &'static str, kind: ColumnType) -> Declared {
    Declared { name, kind, nullable: true }
}

/// The declared columns of a table.
pub type Columns = &'static [Declared];

/// Some columns of a table in ascending order, whose values lie in the record, with their total length.
#[derive(Clone, Copy, Debug)]
pub struct Part {
    /// The columns.
    pub set: ColumnSet,
    /// Total length in bytes, in held form. If the values have fixed lengths, it is the packed form too.
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
            bytes += columns[numbers[i]].bytes();
            i += 1;
        }
        Part { set, bytes }
    }

    /// Returns the columns from `first` to `last`, both included.
    const fn span(columns: Columns, first: usize, last: usize) -> Part {
        let (mut bytes, mut i) = (0, first);
        while i <= last {
            bytes += columns[i].bytes();
            i += 1;
        }
        Part { set: span(first, last), bytes }
    }
}

/// Returns the columns from `first` to `last`, both included.
pub(super) const fn span(first: usize, last: usize) -> ColumnSet {
    ColumnSet(ColumnSet::first(last + 1).0 & !ColumnSet::first(first).0)
}

/// WAREHOUSE.
pub mod warehouse {
    use super::*;
    /// All columns.
    pub const COLUMNS: Columns = &[
        of("w_tax", U64),
        of("w_ytd", I64),
        of("w_name", TextUpTo(10)),
        of("w_street_1", TextUpTo(20)),
        of("w_street_2", TextUpTo(20)),
        of("w_city", TextUpTo(20)),
        of("w_state", Bytes(2)),
        of("w_zip", Bytes(9)),
    ];
    /// W_TAX.
    pub const TAX: Part = Part::of(COLUMNS, &[0]);
    /// W_YTD.
    pub const YTD: Part = Part::of(COLUMNS, &[1]);
    /// W_NAME and the address.
    pub const NAME_AND_ADDRESS: Part = Part::span(COLUMNS, 2, 7);
    /// W_NAME.
    pub const NAME: Part = Part::of(COLUMNS, &[2]);
}

/// DISTRICT.
pub mod district {
    use super::*;
    /// All columns.
    pub const COLUMNS: Columns = &[
        of("d_tax", U64),
        of("d_ytd", I64),
        of("d_next_o_id", U64),
        of("d_name", TextUpTo(10)),
        of("d_street_1", TextUpTo(20)),
        of("d_street_2", TextUpTo(20)),
        of("d_city", TextUpTo(20)),
        of("d_state", Bytes(2)),
        of("d_zip", Bytes(9)),
    ];
    /// D_TAX and D_NEXT_O_ID.
    pub const TAX_AND_NEXT: Part = Part::of(COLUMNS, &[0, 2]);
    /// D_YTD.
    pub const YTD: Part = Part::of(COLUMNS, &[1]);
    /// D_YTD and D_NEXT_O_ID.
    pub const YTD_AND_NEXT: Part = Part::of(COLUMNS, &[1, 2]);
    /// D_NEXT_O_ID.
    pub const NEXT: Part = Part::of(COLUMNS, &[2]);
    /// D_NAME and the address.
    pub const NAME_AND_ADDRESS: Part = Part::span(COLUMNS, 3, 8);
    /// D_NAME, which is as long as W_NAME.
    pub const NAME: Part = Part::of(COLUMNS, &[3]);
}

/// CUSTOMER.
pub mod customer {
    use super::*;
    /// All columns.
    pub const COLUMNS: Columns = &[
        of("c_balance", I64),
        of("c_ytd_payment", I64),
        of("c_payment_cnt", U64),
        of("c_delivery_cnt", U64),
        of("c_discount", U64),
        of("c_credit", Bytes(2)),
        of("c_credit_lim", I64),
        of("c_since", U64),
        of("c_first", TextUpTo(16)),
        of("c_middle", Bytes(2)),
        of("c_last", TextUpTo(16)),
        of("c_street_1", TextUpTo(20)),
        of("c_street_2", TextUpTo(20)),
        of("c_city", TextUpTo(20)),
        of("c_state", Bytes(2)),
        of("c_zip", Bytes(9)),
        of("c_phone", Bytes(16)),
        of("c_data", TextUpTo(500)),
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
    /// Number of C_DATA.
    pub const DATA: usize = 17;
    /// Largest length of C_DATA.
    pub const DATA_BYTES: usize = COLUMNS[DATA].kind.most_bytes();
}

/// HISTORY.
pub mod history {
    use super::*;
    /// All columns.
    pub const COLUMNS: Columns = &[
        of("h_c_id", U64),
        of("h_c_d_id", U64),
        of("h_c_w_id", U64),
        of("h_d_id", U64),
        of("h_w_id", U64),
        of("h_amount", I64),
        of("h_date", U64),
        of("h_data", TextUpTo(24)),
    ];
    /// All columns that are numbers.
    pub const NUMBERS: Part = Part::span(COLUMNS, 0, 6);
}

/// NEW-ORDER, and ORDER by customer: only their keys matter.
pub mod presence {
    use super::*;
    /// All columns. A table must have at least one column.
    pub const COLUMNS: Columns = &[of("presence", Bytes(1))];
}

/// ORDER.
pub mod order {
    use super::*;
    /// All columns.
    pub const COLUMNS: Columns = &[
        of("o_c_id", U64),
        nullable("o_carrier_id", U64),
        of("o_ol_cnt", U64),
        of("o_all_local", U64),
        of("o_entry_d", U64),
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
        of("ol_i_id", U64),
        of("ol_supply_w_id", U64),
        of("ol_quantity", U64),
        of("ol_amount", I64),
        nullable("ol_delivery_d", U64),
        of("ol_dist_info", Bytes(24)),
    ];
    /// All columns that are numbers.
    pub const NUMBERS: Part = Part::span(COLUMNS, 0, 4);
    /// All columns.
    pub const ALL: Part = Part::span(COLUMNS, 0, 5);
    /// Length of OL_DIST_INFO, and of each S_DIST_xx.
    pub const INFO_BYTES: usize = ALL.bytes - NUMBERS.bytes;
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
    pub const COLUMNS: Columns = &[
        of("i_price", I64),
        of("i_im_id", U64),
        of("i_name", TextUpTo(24)),
        of("i_data", TextUpTo(50)),
    ];
    /// I_PRICE.
    pub const PRICE: Part = Part::of(COLUMNS, &[0]);
    /// I_NAME.
    pub const NAME: Part = Part::of(COLUMNS, &[2]);
    /// I_NAME and I_DATA.
    pub const TEXTS: Part = Part::span(COLUMNS, 2, 3);
}

/// STOCK.
pub mod stock {
    use super::*;
    /// All columns.
    pub const COLUMNS: Columns = &[
        of("s_quantity", I64),
        of("s_ytd", U64),
        of("s_order_cnt", U64),
        of("s_remote_cnt", U64),
        of("s_dist_01", Bytes(24)),
        of("s_dist_02", Bytes(24)),
        of("s_dist_03", Bytes(24)),
        of("s_dist_04", Bytes(24)),
        of("s_dist_05", Bytes(24)),
        of("s_dist_06", Bytes(24)),
        of("s_dist_07", Bytes(24)),
        of("s_dist_08", Bytes(24)),
        of("s_dist_09", Bytes(24)),
        of("s_dist_10", Bytes(24)),
        of("s_data", TextUpTo(50)),
    ];
    /// S_QUANTITY.
    pub const QUANTITY: Part = Part::of(COLUMNS, &[0]);
    /// All columns that are numbers.
    pub const NUMBERS: Part = Part::span(COLUMNS, 0, 3);

    /// Returns S_DIST_xx of district number `district`, and S_DATA.
    #[inline]
    pub fn texts(district: u64) -> Part {
        // The places of all districts are as long as that of the first one.
        const OF_FIRST: Part = Part::of(COLUMNS, &[4, 14]);
        let set = ColumnSet::one(4 + district as usize).with(ColumnSet::one(14));
        Part { set, ..OF_FIRST }
    }
}

/// Customers by last name.
pub mod by_name {
    use super::*;
    /// All columns.
    pub const COLUMNS: Columns = &[of("c_first", TextUpTo(16))];
    /// C_FIRST, by which customers of one name are ordered.
    pub const FIRST: ColumnSet = ColumnSet::one(0);
}

/// Returns the columns that transactions write most. These are the sums of warehouses and districts, and the
/// columns of customers and of stock that STOv2's code (Huang et al., VLDB 2020) treats as such. Its
/// districts have no D_NEXT_O_ID. Here D_NEXT_O_ID stays with the other columns.
fn hot(table: &str, columns: usize) -> ColumnSet {
    let hot = match table {
        "warehouse" => warehouse::YTD.set,
        "district" => district::YTD.set,
        "customer" => customer::COUNTS.set.with(ColumnSet::one(customer::DATA)),
        "stock" => stock::NUMBERS.set,
        _ => ColumnSet::NONE,
    };
    let all = ColumnSet::first(columns);
    let hot = ColumnSet(hot.0 & all.0);
    // The small schema of stock has no other columns.
    if hot == all { ColumnSet::NONE } else { hot }
}

/// Returns the columns that no transaction changes, in tables that neither gain nor lose rows.
fn constant(table: &str, columns: usize) -> ColumnSet {
    let all = ColumnSet::first(columns);
    let changing = match table {
        "warehouse" => warehouse::YTD.set,
        "district" => district::YTD_AND_NEXT.set,
        "customer" => customer::COUNTS.set.with(ColumnSet::one(customer::DATA)),
        "stock" => stock::NUMBERS.set,
        "item" | "customer_by_name" => ColumnSet::NONE,
        _ => all,
    };
    all.without(changing)
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
        let hot = if split { hot(name, kept.len()) } else { ColumnSet::NONE };
        let constant = constant(name, kept.len());
        let columns = kept.iter().map(Declared::column).collect();
        let table = TableSchema::new(name, columns).with_hot_columns(hot);
        let table = table.with_constant_columns(constant);
        // The tables in key order are those that grow. Their rows are small, and each is soon left alone.
        if ordered { table.ordered().sharing_lines() } else { table }
    };
    TABLES.map(table).into()
}

/// Layouts of the rows of all tables.
#[derive(Clone, Debug)]
pub(super) struct Layouts(Vec<RowLayout>);

impl Layouts {
    /// Returns the layouts of the full schema, or of the small one.
    pub fn new(full: bool) -> Layouts {
        Layouts(tables(full, false).iter().map(RowLayout::of).collect())
    }

    /// Returns the layout of rows of `table`.
    #[inline]
    pub fn of(&self, table: TableId) -> &RowLayout {
        &self.0[table.0 as usize]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_are_as_long_as_their_columns() {
        let layouts = Layouts::new(true);
        for (table, part) in [
            (DISTRICT, district::TAX_AND_NEXT),
            (CUSTOMER, customer::PAID_AND_TERMS),
            (STOCK, stock::NUMBERS),
            (HISTORY, history::NUMBERS),
            (ORDER, order::ALL),
            (ORDER, order::CARRIER),
            (ORDER_LINE, line::ALL),
        ] {
            assert_eq!(layouts.of(table).held_bytes(part.set), part.bytes);
            assert!(!layouts.of(table).variable().intersects(part.set));
        }
    }

    #[test]
    fn texts_are_variable_or_fixed_as_specified() {
        let tables = tables(true, false);
        let of = |variable| {
            let columns = tables.iter().flat_map(|table| &table.columns);
            let texts = columns.filter(|column| column.kind.is_bytes());
            let texts = texts.filter(|column| column.kind.is_variable() == variable);
            texts.map(|column| (&column.name[..], column.kind.most_bytes())).collect::<Vec<_>>()
        };
        let address = |name, lines: [&'static str; 3]| {
            let mut texts = vec![(name, 10)];
            texts.extend(lines.map(|line| (line, 20)));
            texts
        };
        let mut variable = address("w_name", ["w_street_1", "w_street_2", "w_city"]);
        variable.extend(address("d_name", ["d_street_1", "d_street_2", "d_city"]));
        variable.extend([("c_first", 16), ("c_last", 16)]);
        variable.extend(["c_street_1", "c_street_2", "c_city"].map(|line| (line, 20)));
        variable.extend([("c_data", 500), ("h_data", 24), ("i_name", 24), ("i_data", 50)]);
        variable.extend([("s_data", 50), ("c_first", 16)]);
        assert_eq!(of(true), variable);
        let fixed = of(false);
        for text in [("w_state", 2), ("d_zip", 9), ("c_middle", 2), ("c_credit", 2)] {
            assert!(fixed.contains(&text), "{text:?}");
        }
        for text in [("c_phone", 16), ("s_dist_10", 24), ("ol_dist_info", 24)] {
            assert!(fixed.contains(&text), "{text:?}");
        }
        let columns = tables.iter().flat_map(|table| &table.columns);
        let nullable = columns.filter(|column| column.nullable).map(|column| &column.name[..]);
        assert!(nullable.eq(["o_carrier_id", "ol_delivery_d"]));
    }

    #[test]
    fn items_and_names_are_read_only_and_orders_have_no_constant_column() {
        for table in tables(true, false) {
            let all = ColumnSet::first(table.columns.len());
            let expected = match &table.name[..] {
                "item" | "customer_by_name" => all,
                "warehouse" => all.without(warehouse::YTD.set),
                "district" => all.without(district::YTD_AND_NEXT.set),
                "customer" => span(4, 16),
                "stock" => span(4, 14),
                _ => ColumnSet::NONE,
            };
            assert_eq!(table.constant, expected, "{}", table.name);
        }
    }

    #[test]
    fn the_small_schema_is_the_beginning_of_the_full_one() {
        for (small, full) in tables(false, true).iter().zip(tables(true, true)) {
            assert_eq!(small.columns[..], full.columns[..small.columns.len()], "{}", full.name);
            small.check().unwrap();
            full.check().unwrap();
        }
        let bytes = |full| {
            let layouts = Layouts::new(full);
            (0..11).map(|table| layouts.of(TableId(table)).bytes()).sum::<usize>()
        };
        assert!(bytes(false) * 3 < bytes(true), "{} {}", bytes(false), bytes(true));
    }
}
