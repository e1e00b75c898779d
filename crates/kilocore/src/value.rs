//! Values of columns, and the Rust types that they are read as.

use crate::ColumnType;

/// A value to be written.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Value<'v> {
    /// For a column of type `u64`.
    U64(u64),
    /// For a column of type `i64`.
    I64(i64),
    /// For a column of type `f64`.
    F64(f64),
    /// For a column of bytes; filled up with zeros when it is shorter than the column.
    Bytes(&'v [u8]),
}

impl Value<'_> {
    /// The type, for messages.
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

/// A Rust type that a column can be read as: `u64`, `i64`, `f64`, and for bytes `[u8; N]` with the
/// column's exact length, or `Vec<u8>`.
pub trait ColumnValue: sealed::Sealed + Sized {
    /// Its name, for messages.
    fn type_name() -> String;
    /// True when a column of type `kind` can be read as this.
    fn fits(kind: ColumnType) -> bool;
    /// The value whose bytes these are: as many as the column has.
    fn from_bytes(bytes: &[u8]) -> Self;
}

/// A column's Rust type of fixed length, which needs no memory of its own: all but `Vec<u8>`.
pub trait FixedValue: ColumnValue + Copy {
    /// Its bytes.
    type Bytes: AsRef<[u8]> + AsMut<[u8]>;
    /// Room for its bytes.
    fn zeros() -> Self::Bytes;
    /// Its bytes, as a row keeps them.
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

/// An integer type of columns: those can be added to.
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
