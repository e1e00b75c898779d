//! Formats tables by name and rows by column, for readers.

use std::{collections::BTreeMap, fmt::Write};
use txn::{ColumnSet, ColumnType, RowLayout, TableId, TableSchema};

/// Largest number of columns shown of a row.
const SHOWN_COLUMNS: usize = 4;

/// Largest number of bytes shown of a column.
const SHOWN_BYTES: usize = 12;

/// Names and schemas of the tables.
pub(super) struct Tables {
    schemas: BTreeMap<TableId, TableSchema>,
    /// Names of the tables in histories. The second parts of rows have their own names there.
    names: BTreeMap<TableId, String>,
}

impl Tables {
    pub fn new<'t>(
        schemas: impl IntoIterator<Item = (TableId, &'t TableSchema)>,
        names: Vec<(TableId, String)>,
    ) -> Tables {
        let schemas = schemas.into_iter().map(|(id, schema)| (id, schema.clone()));
        Tables { schemas: schemas.collect(), names: names.into_iter().collect() }
    }

    /// Returns the table's name.
    pub fn name(&self, table: TableId) -> String {
        let number = || format!("table {}", table.0);
        self.names.get(&table).cloned().unwrap_or_else(number)
    }

    /// Replaces the numbers of tables in `text`, as in `table 3`, with their names.
    pub fn named(&self, text: &str) -> String {
        const WORD: &str = "table ";
        let mut pieces = text.split(WORD);
        let mut out = pieces.next().unwrap_or_default().to_owned();
        for piece in pieces {
            let digits = piece.len() - piece.trim_start_matches(|c: char| c.is_ascii_digit()).len();
            let number = piece[..digits].parse().ok().map(TableId);
            match number.and_then(|number| self.names.get(&number)) {
                Some(name) => out.push_str(&format!("table {name}{}", &piece[digits..])),
                None => out.extend([WORD, piece]),
            }
        }
        out
    }

    /// Returns whether histories call `table`, or the second parts of its rows, `part`.
    pub fn is_part(&self, table: TableId, part: TableId) -> bool {
        let base = |id: TableId| self.names.get(&id).map(|name| name.split(" (").next());
        table == part || (base(part).is_some() && base(table) == base(part))
    }

    /// Formats `columns` of a row of `table` in held form.
    pub fn held_row(&self, table: TableId, columns: ColumnSet, values: &[u8]) -> String {
        let Some(schema) = self.schemas.get(&table) else {
            return bytes(values);
        };
        let (layout, mut packed) = (RowLayout::of(schema), Vec::new());
        // Columns that were added later come behind those of the table. Values outside the record are fetched, and so are packed.
        let columns = columns.and(layout.all());
        layout.pack(columns, values, &mut packed, |_, _| ());
        self.row(table, columns, &packed)
    }

    /// Formats packed `columns` of a row of `table`. If `table` is an index, the row belongs to the indexed table.
    pub fn row(&self, table: TableId, columns: ColumnSet, values: &[u8]) -> String {
        let indexed = |(_, schema): &(_, &TableSchema)| schema.indexes.contains(&table);
        let schema = self.schemas.iter().find(indexed).map(|(_, schema)| schema);
        let Some(schema) = schema.or(self.schemas.get(&table)) else {
            return bytes(values);
        };
        let mut text = String::new();
        let layout = RowLayout::of(schema);
        let columns = ColumnSet(columns.0 & layout.all().0);
        let mut left = 0;
        for (shown, (number, value)) in layout.fields(columns, values).enumerate() {
            let column = &schema.columns[number];
            if shown >= SHOWN_COLUMNS {
                left += 1;
                continue;
            }
            let space = if shown == 0 { "" } else { ", " };
            let value = value.map_or("NULL".to_owned(), |value| shown_as(column.kind, value));
            let _ = write!(text, "{space}{} = {value}", column.name);
        }
        if left > 0 {
            let _ = write!(text, ", and {left} more columns");
        }
        text
    }
}

fn shown_as(kind: ColumnType, value: &[u8]) -> String {
    let number = value.iter().rev().fold(0, |number, byte| number << 8 | u64::from(*byte));
    match kind {
        ColumnType::Bool => (number != 0).to_string(),
        ColumnType::U16 | ColumnType::U32 | ColumnType::U64 => number.to_string(),
        ColumnType::I16 => (number as i16).to_string(),
        ColumnType::I32 => (number as i32).to_string(),
        ColumnType::I64 | ColumnType::Timestamp => (number as i64).to_string(),
        ColumnType::F32 => f32::from_bits(number as u32).to_string(),
        ColumnType::F64 => f64::from_bits(number).to_string(),
        _ => bytes(value),
    }
}

fn bytes(value: &[u8]) -> String {
    let first = &value[..value.len().min(SHOWN_BYTES)];
    let dots = if first.len() < value.len() { "..." } else { "" };
    if first.iter().all(|byte| byte.is_ascii_graphic() || *byte == b' ') {
        return format!("\"{}\"{dots}", first.escape_ascii());
    }
    let digits: String = first.iter().map(|byte| format!("{byte:02x}")).collect();
    format!("0x{digits}{dots}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use txn::Column;

    fn tables() -> Tables {
        let columns = vec![
            Column::new("balance", ColumnType::I64),
            Column::new("name", ColumnType::Bytes(16)),
            Column::new("word", ColumnType::Bytes(8)),
        ];
        let schema = TableSchema::new("account", columns);
        let names = vec![
            (TableId(0), "account".to_owned()),
            (TableId(1024), "account (second part)".to_owned()),
        ];
        Tables::new([(TableId(0), &schema)], names)
    }

    #[test]
    fn numbers_of_tables_become_names() {
        let text = "rw: the first read table 0 key 3, table 7 key 1, of a table and table 1024";
        let named = "rw: the first read table account key 3, table 7 key 1, of a table and table \
                     account (second part)";
        assert_eq!(tables().named(text), named);
        assert_eq!(tables().named(""), "");
        assert!(tables().is_part(TableId(0), TableId(1024)));
        assert!(!tables().is_part(TableId(1), TableId(2)));
    }

    #[test]
    fn rows_are_shown_by_column() {
        let mut row = (-3i64).to_le_bytes().to_vec();
        row.extend(b"somebody or else");
        row.extend(7u64.to_le_bytes());
        let whole = tables().row(TableId(0), ColumnSet(u64::MAX), &row);
        assert_eq!(whole, "balance = -3, name = \"somebody or \"..., word = 0x0700000000000000");
        assert_eq!(tables().row(TableId(0), ColumnSet::one(0), &row[..8]), "balance = -3");
        assert_eq!(tables().row(TableId(9), ColumnSet::one(0), b"abc"), "\"abc\"");
    }

    #[test]
    fn held_rows_are_shown_without_columns_that_were_added_later() {
        let columns = vec![
            Column::new("name", ColumnType::TextUpTo(6)),
            Column::new("number", ColumnType::U64),
        ];
        let schema = TableSchema::new("people", columns);
        let tables = Tables::new([(TableId(0), &schema)], Vec::new());
        let mut row = vec![4, 0, 0, 0, b'a', b'n', b'n', 0, 0, 0];
        row.extend(7u64.to_le_bytes());
        row.extend([9; 8]);
        let shown = tables.held_row(TableId(0), ColumnSet::first(3), &row);
        assert_eq!(shown, "name = \"ann\", number = 7");
    }
}
