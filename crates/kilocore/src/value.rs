//! Values of columns, and the Rust types that they are read as.

use crate::ColumnType;

/// A value to write.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Value<'v> {
    /// For a column of type `u64`.
    U64(u64),
    /// For a column of type `i64`.
    I64(i64),
    /// For a column of type `f64`.
    F64(f64),
    /// For a column of bytes. A value that is shorter than the column is padded with zeros.
    Bytes(&'v [u8]),
}

impl Value<'_> {
    /// Returns the name of the type, for messages.
    pub(crate) fn type_name(&self) -> String {
        match self {
            Value::U64(_) => "u64".into(),
            Value::I64(_) => "i64".into(),
            Value::F64(_) => "f64".into(),
            Value::Bytes(bytes) => format!("bytes({})", bytes.len()),
        }
    }
}

macro_rules! value_from {
    ($($from:ty => $variant:ident),*) => {$(
        impl From<$from> for Value<'_> {
            fn from(value: $from) -> Self {
                Value::$variant(value)
            }
        }
    )*};
}
value_from!(u64 => U64, i64 => I64, f64 => F64);

impl<'v> From<&'v [u8]> for Value<'v> {
    fn from(bytes: &'v [u8]) -> Self {
        Value::Bytes(bytes)
    }
}

impl<'v, const N: usize> From<&'v [u8; N]> for Value<'v> {
    fn from(bytes: &'v [u8; N]) -> Self {
        Value::Bytes(bytes)
    }
}

impl<'v> From<&'v str> for Value<'v> {
    fn from(text: &'v str) -> Self {
        Value::Bytes(text.as_bytes())
    }
}

mod sealed {
    pub trait Sealed {}
    impl Sealed for u64 {}
    impl Sealed for i64 {}
    impl Sealed for f64 {}
    impl Sealed for Vec<u8> {}
    impl<const N: usize> Sealed for [u8; N] {}
}

/// A Rust type that a column can be read as: `u64`, `i64`, `f64`, and for a column of bytes `Vec<u8>` or `[u8;
/// N]` with the exact length of the column.
pub trait ColumnValue: sealed::Sealed + Sized {
    /// Returns the name of the type, for messages.
    fn type_name() -> String;
    /// Returns true if a column of type `kind` can be read as this type.
    fn fits(kind: ColumnType) -> bool;
    /// Makes the value from its bytes. There must be as many bytes as the column has.
    fn from_bytes(bytes: &[u8]) -> Self;
}

/// A column's Rust type of fixed length, which needs no heap memory: every [`ColumnValue`] except `Vec<u8>`.
pub trait FixedValue: ColumnValue + Copy {
    /// Array type of its bytes.
    type Bytes: AsRef<[u8]> + AsMut<[u8]>;
    /// Returns an array of zeros to read the bytes into.
    fn zeros() -> Self::Bytes;
    /// Returns the bytes as a row keeps them.
    fn to_bytes(self) -> Self::Bytes;
}

macro_rules! number {
    ($($number:ident => $kind:ident),*) => {$(
        impl ColumnValue for $number {
            fn type_name() -> String {
                stringify!($number).into()
            }
            #[inline]
            fn fits(kind: ColumnType) -> bool {
                kind == ColumnType::$kind
            }
            #[inline]
            fn from_bytes(bytes: &[u8]) -> Self {
                $number::from_le_bytes(bytes.try_into().expect("a number has 8 bytes"))
            }
        }

        impl FixedValue for $number {
            type Bytes = [u8; 8];
            #[inline]
            fn zeros() -> [u8; 8] {
                [0; 8]
            }
            #[inline]
            fn to_bytes(self) -> [u8; 8] {
                self.to_le_bytes()
            }
        }
    )*};
}
number!(u64 => U64, i64 => I64, f64 => F64);

/// An integer type of columns. Only integers can be added to.
pub trait IntegerValue: FixedValue {}
impl IntegerValue for u64 {}
impl IntegerValue for i64 {}

impl<const N: usize> ColumnValue for [u8; N] {
    fn type_name() -> String {
        format!("[u8; {N}]")
    }
    #[inline]
    fn fits(kind: ColumnType) -> bool {
        matches!(kind, ColumnType::Bytes(n) if n as usize == N)
    }
    #[inline]
    fn from_bytes(bytes: &[u8]) -> Self {
        bytes.try_into().expect("the column's length was checked")
    }
}

impl<const N: usize> FixedValue for [u8; N] {
    type Bytes = [u8; N];
    #[inline]
    fn zeros() -> [u8; N] {
        [0; N]
    }
    #[inline]
    fn to_bytes(self) -> [u8; N] {
        self
    }
}

impl ColumnValue for Vec<u8> {
    fn type_name() -> String {
        "Vec<u8>".into()
    }
    fn fits(kind: ColumnType) -> bool {
        matches!(kind, ColumnType::Bytes(_))
    }
    fn from_bytes(bytes: &[u8]) -> Self {
        bytes.to_vec()
    }
}
