//! Columns: their names, their types, and the forms in which their values travel.
//!
//! A value has two forms. The *held* form is what a record holds. Its length depends only on the column, so protocols
//! can copy it like any bytes, and [`crate::Access::read`] hands it out. The *packed* form is what procedures write, and what
//! [`crate::Access::fetch`] and scans hand out.
//!
//! | column | held | packed |
//! | --- | --- | --- |
//! | fixed length | the value | the same |
//! | fixed length, nullable | 1 and the value, or 0 and zeros for NULL | the same |
//! | variable length, at most [`Column::SHORT_BYTES`] | its length plus 1 (4 bytes), then the value and zeros; 0 for NULL | its length (4 bytes), then the value |
//! | variable length, longer | one word that names the value, which lies outside the record; 0 for NULL | the same |
//!
//! Numbers are little-endian. The length of NULL in packed form is [`NULL_LENGTH`].

use crate::packed::LENGTH_BYTES;
use std::fmt;

/// Length in the packed form of a variable-length column that stands for NULL.
pub const NULL_LENGTH: u32 = u32::MAX;

/// Largest length of a value, in bytes.
pub const MAX_VALUE_BYTES: u32 = 1 << 20;

/// Bytes of the word that names a value outside the record.
const REFERENCE_BYTES: usize = 8;

/// Type of a column's values.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ColumnType {
    /// False or true, one byte: 0 or 1.
    Bool,
    /// Unsigned 16-bit integer.
    U16,
    /// Unsigned 32-bit integer.
    U32,
    /// Unsigned 64-bit integer.
    U64,
    /// Signed 16-bit integer.
    I16,
    /// Signed 32-bit integer.
    I32,
    /// Signed 64-bit integer.
    I64,
    /// IEEE 754 single.
    F32,
    /// IEEE 754 double.
    F64,
    /// Microseconds since 1970-01-01 00:00 UTC, signed 64 bits.
    Timestamp,
    /// Exactly this many bytes.
    Bytes(u32),
    /// UTF-8 text of at most [`MAX_VALUE_BYTES`] bytes.
    Text,
    /// UTF-8 text of at most this many bytes.
    TextUpTo(u32),
    /// At most [`MAX_VALUE_BYTES`] bytes.
    VarBytes,
    /// At most this many bytes.
    VarBytesUpTo(u32),
}

impl ColumnType {
    /// Returns the length of a value, in bytes; none if the length is variable.
    #[inline]
    pub const fn fixed_bytes(self) -> Option<usize> {
        match self {
            ColumnType::Bool => Some(1),
            ColumnType::U16 | ColumnType::I16 => Some(2),
            ColumnType::U32 | ColumnType::I32 | ColumnType::F32 => Some(4),
            ColumnType::U64 | ColumnType::I64 | ColumnType::F64 | ColumnType::Timestamp => Some(8),
            ColumnType::Bytes(n) => Some(n as usize),
            ColumnType::Text
            | ColumnType::TextUpTo(_)
            | ColumnType::VarBytes
            | ColumnType::VarBytesUpTo(_) => None,
        }
    }

    /// Returns the largest length of a value, in bytes.
    #[inline]
    pub const fn most_bytes(self) -> usize {
        match self {
            ColumnType::Text | ColumnType::VarBytes => MAX_VALUE_BYTES as usize,
            ColumnType::TextUpTo(n) | ColumnType::VarBytesUpTo(n) => n as usize,
            fixed => match fixed.fixed_bytes() {
                Some(bytes) => bytes,
                None => 0,
            },
        }
    }

    /// Returns true if values lie outside the record.
    pub const fn is_apart(self) -> bool {
        self.is_variable() && self.most_bytes() > Column::SHORT_BYTES
    }

    /// Returns the bytes that a record holds of a column of this type, in which a row can have no value if `nullable` is set.
    pub const fn held_bytes(self, nullable: bool) -> usize {
        match self.fixed_bytes() {
            Some(bytes) => bytes + nullable as usize,
            None if self.is_apart() => REFERENCE_BYTES,
            None => LENGTH_BYTES + self.most_bytes(),
        }
    }

    /// Returns the type with values of at most `most` bytes, if it is one of text or bytes of variable length.
    pub const fn up_to(self, most: u32) -> ColumnType {
        match self {
            ColumnType::Text | ColumnType::TextUpTo(_) => ColumnType::TextUpTo(most),
            ColumnType::VarBytes | ColumnType::VarBytesUpTo(_) => ColumnType::VarBytesUpTo(most),
            other => other,
        }
    }

    /// Returns true if values have different lengths.
    #[inline]
    pub const fn is_variable(self) -> bool {
        self.fixed_bytes().is_none()
    }

    /// Returns true if values are UTF-8 text.
    #[inline]
    pub const fn is_text(self) -> bool {
        matches!(self, ColumnType::Text | ColumnType::TextUpTo(_))
    }

    /// Returns true if values are bytes or text.
    #[inline]
    pub const fn is_bytes(self) -> bool {
        matches!(self, ColumnType::Bytes(_)) || self.is_variable()
    }

    /// Returns true if values are signed numbers, so that the sign decides the order.
    pub(crate) const fn is_signed(self) -> bool {
        matches!(self, ColumnType::I16 | ColumnType::I32 | ColumnType::I64 | ColumnType::Timestamp)
    }
}

impl fmt::Display for ColumnType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ColumnType::Bool => f.write_str("bool"),
            ColumnType::U16 => f.write_str("u16"),
            ColumnType::U32 => f.write_str("u32"),
            ColumnType::U64 => f.write_str("u64"),
            ColumnType::I16 => f.write_str("i16"),
            ColumnType::I32 => f.write_str("i32"),
            ColumnType::I64 => f.write_str("i64"),
            ColumnType::F32 => f.write_str("f32"),
            ColumnType::F64 => f.write_str("f64"),
            ColumnType::Timestamp => f.write_str("timestamp"),
            ColumnType::Bytes(n) => write!(f, "bytes({n})"),
            ColumnType::Text => f.write_str("text"),
            ColumnType::TextUpTo(n) => write!(f, "text up to {n} bytes"),
            ColumnType::VarBytes => f.write_str("bytes of any length"),
            ColumnType::VarBytesUpTo(n) => write!(f, "up to {n} bytes"),
        }
    }
}

/// A named, typed column.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Column {
    /// Name, unique within the table.
    pub name: String,
    /// Type of its values.
    pub kind: ColumnType,
    /// True if a row can have no value in this column (NULL).
    pub nullable: bool,
}

impl Column {
    /// Largest length of values that lie in the record itself although their length varies, in bytes. The record then has
    /// room for the longest value and its length: at most a line, which is what a value outside the record takes too, and the
    /// reader saves a miss.
    pub const SHORT_BYTES: usize = 64 - LENGTH_BYTES;

    /// Returns a column `name` of type `kind`, in which every row has a value.
    pub fn new(name: impl Into<String>, kind: ColumnType) -> Column {
        Column { name: name.into(), kind, nullable: false }
    }

    /// Returns the same column, in which a row can have no value.
    pub fn nullable(mut self) -> Column {
        self.nullable = true;
        self
    }

    /// Returns true if values lie outside the record.
    pub fn is_apart(&self) -> bool {
        self.kind.is_apart()
    }

    /// Returns the bytes that a record holds of the column.
    pub fn held_bytes(&self) -> usize {
        self.kind.held_bytes(self.nullable)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_record_holds_short_values_and_names_long_ones() {
        let of = |kind| Column::new("c", kind);
        assert_eq!(of(ColumnType::U64).held_bytes(), 8);
        assert_eq!(of(ColumnType::U64).nullable().held_bytes(), 9);
        assert_eq!(of(ColumnType::Bool).nullable().held_bytes(), 2);
        assert_eq!(of(ColumnType::TextUpTo(20)).held_bytes(), 24);
        assert_eq!(of(ColumnType::TextUpTo(60)).held_bytes(), 64);
        assert_eq!(of(ColumnType::TextUpTo(20)).nullable().held_bytes(), 24);
        assert_eq!(of(ColumnType::TextUpTo(61)).held_bytes(), 8);
        assert!(of(ColumnType::VarBytes).is_apart() && !of(ColumnType::Bytes(500)).is_apart());
    }
}
