//! Values of columns, and the Rust types that they are read as.

use crate::ColumnType;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// A value to write.
///
/// Every type that a column can be read as can be turned into a value with `into()`. An [`Option`] that is `None`
/// becomes [`Value::Null`].
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Value<'v> {
    /// No value, for a column that is nullable.
    Null,
    /// For a column of type `bool`.
    Bool(bool),
    /// For a column of integers, if the number fits.
    U64(u64),
    /// For a column of integers, if the number fits.
    I64(i64),
    /// For a column of floating-point numbers. A column of type `f32` takes numbers that it can hold exactly.
    F64(f64),
    /// For a column of timestamps: microseconds since 1970-01-01 00:00 UTC.
    Timestamp(i64),
    /// For a column of text, or of bytes.
    Text(&'v str),
    /// For a column of bytes, or of text if the bytes are UTF-8. A value that is shorter than a column of fixed length
    /// is padded with zeros.
    Bytes(&'v [u8]),
}

impl Value<'_> {
    /// Returns the name of the type, for messages.
    pub(crate) fn type_name(&self) -> String {
        match self {
            Value::Null => "NULL".into(),
            Value::Bool(_) => "bool".into(),
            Value::U64(_) => "u64".into(),
            Value::I64(_) => "i64".into(),
            Value::F64(_) => "f64".into(),
            Value::Timestamp(_) => "timestamp".into(),
            Value::Text(text) => format!("text of {} bytes", text.len()),
            Value::Bytes(bytes) => format!("bytes({})", bytes.len()),
        }
    }
}

macro_rules! value_from {
    ($($from:ty => $variant:ident as $to:ty),*) => {$(
        impl From<$from> for Value<'_> {
            fn from(value: $from) -> Self {
                Value::$variant(<$to>::from(value))
            }
        }
    )*};
}
value_from!(
    bool => Bool as bool,
    u16 => U64 as u64,
    u32 => U64 as u64,
    u64 => U64 as u64,
    i16 => I64 as i64,
    i32 => I64 as i64,
    i64 => I64 as i64,
    f32 => F64 as f64,
    f64 => F64 as f64
);

macro_rules! value_from_bytes {
    ($($from:ty => $variant:ident, |$value:ident| $bytes:expr, for ($($parameters:tt)*);)*) => {$(
        impl<'v, $($parameters)*> From<$from> for Value<'v> {
            fn from($value: $from) -> Self {
                Value::$variant($bytes)
            }
        }
    )*};
}
value_from_bytes! {
    &'v str => Text, |text| text, for ();
    &'v String => Text, |text| text, for ();
    &'v [u8] => Bytes, |bytes| bytes, for ();
    &'v Vec<u8> => Bytes, |bytes| bytes, for ();
    &'v [u8; N] => Bytes, |bytes| bytes, for (const N: usize);
}

impl From<SystemTime> for Value<'_> {
    /// Returns the time in whole microseconds. Times that 64 bits cannot hold become the first or the last one.
    fn from(time: SystemTime) -> Self {
        Value::Timestamp(match time.duration_since(UNIX_EPOCH) {
            Ok(since) => i64::try_from(since.as_micros()).unwrap_or(i64::MAX),
            Err(before) => {
                i64::try_from(before.duration().as_micros()).map_or(i64::MIN, |micros| -micros)
            }
        })
    }
}

impl<'v, T: Into<Value<'v>>> From<Option<T>> for Value<'v> {
    fn from(value: Option<T>) -> Self {
        value.map_or(Value::Null, Into::into)
    }
}

macro_rules! value_from_reference {
    ($($type:ty),*) => {$(
        impl From<&$type> for Value<'_> {
            fn from(value: &$type) -> Self {
                (*value).into()
            }
        }
    )*};
}
value_from_reference!(bool, u16, u32, u64, i16, i32, i64, f32, f64, SystemTime);

/// The reason why the bytes of a column are not a value of a Rust type.
pub enum Mismatch {
    /// The column has no value.
    Null,
    /// The bytes are no UTF-8 text.
    NotUtf8,
}

mod sealed {
    pub trait Sealed {}
}
use sealed::Sealed;

/// A Rust type that a column can be read as.
///
/// | type | columns |
/// | --- | --- |
/// | `bool` | `Bool` |
/// | `u16`, `u32`, `u64` | unsigned integers of at most as many bits |
/// | `i16`, `i32`, `i64` | signed integers of at most as many bits |
/// | `f32`, `f64` | floating-point numbers of at most as many bits |
/// | [`SystemTime`] | `Timestamp` |
/// | `String` | text |
/// | `Vec<u8>` | bytes of any kind, and text |
/// | `[u8; N]` | `Bytes(N)` |
/// | `Option<T>` | those of `T`; NULL is `None` |
pub trait ColumnValue: Sealed + Sized {
    /// Returns the name of the type, for messages.
    fn type_name() -> String;
    /// Returns true if a column of type `kind` can be read as this type.
    fn fits(kind: ColumnType) -> bool;
    /// Returns the type of the column that a field of this type becomes by `#[derive(Row)]`, and true if the column is
    /// nullable.
    fn column() -> (ColumnType, bool);
    /// Makes the value of a column of type `kind` from its bytes, `None` for NULL.
    #[doc(hidden)]
    fn read(bytes: Option<&[u8]>, kind: ColumnType) -> Result<Self, Mismatch>;
}

macro_rules! numbers {
    ($($number:ident as $own:ident: $($kind:ident as $narrow:ident),+;)*) => {$(
        impl Sealed for $number {}
        impl ColumnValue for $number {
            fn type_name() -> String {
                stringify!($number).into()
            }
            #[inline]
            fn fits(kind: ColumnType) -> bool {
                matches!(kind, $(ColumnType::$kind)|+)
            }
            fn column() -> (ColumnType, bool) {
                (ColumnType::$own, false)
            }
            #[inline]
            fn read(bytes: Option<&[u8]>, kind: ColumnType) -> Result<Self, Mismatch> {
                let bytes = bytes.ok_or(Mismatch::Null)?;
                match kind {
                    $(ColumnType::$kind => {
                        let bytes = bytes.try_into().expect("a number as long as its column");
                        Ok($narrow::from_le_bytes(bytes).into())
                    })+
                    _ => unreachable!("the column's type was checked"),
                }
            }
        }
    )*};
}
numbers! {
    u16 as U16: U16 as u16;
    u32 as U32: U32 as u32, U16 as u16;
    u64 as U64: U64 as u64, U32 as u32, U16 as u16;
    i16 as I16: I16 as i16;
    i32 as I32: I32 as i32, I16 as i16;
    i64 as I64: I64 as i64, I32 as i32, I16 as i16;
    f32 as F32: F32 as f32;
    f64 as F64: F64 as f64, F32 as f32;
}

/// An integer type of columns. Only integers can be added to.
pub trait IntegerValue: ColumnValue {}
impl IntegerValue for u64 {}
impl IntegerValue for i64 {}

macro_rules! column_value {
    (
        $($type:ty as $name:expr, $own:ident of $fits:pat, |$bytes:ident| $read:expr;)*
    ) => {$(
        impl Sealed for $type {}
        impl ColumnValue for $type {
            fn type_name() -> String {
                $name.into()
            }
            fn fits(kind: ColumnType) -> bool {
                matches!(kind, $fits)
            }
            fn column() -> (ColumnType, bool) {
                (ColumnType::$own, false)
            }
            fn read(bytes: Option<&[u8]>, _: ColumnType) -> Result<Self, Mismatch> {
                let $bytes = bytes.ok_or(Mismatch::Null)?;
                $read
            }
        }
    )*};
}
column_value! {
    bool as "bool", Bool of ColumnType::Bool, |bytes| Ok(bytes != [0]);
    SystemTime as "SystemTime", Timestamp of ColumnType::Timestamp, |bytes| Ok(time_of(bytes));
    String as "String", Text of ColumnType::Text | ColumnType::TextUpTo(_),
        |bytes| text_of(bytes).map(str::to_owned);
    Vec<u8> as "Vec<u8>", VarBytes
        of ColumnType::Bytes(_) | ColumnType::VarBytes | ColumnType::VarBytesUpTo(_)
            | ColumnType::Text | ColumnType::TextUpTo(_),
        |bytes| Ok(bytes.to_vec());
}

/// Returns bytes as text.
pub(crate) fn text_of(bytes: &[u8]) -> Result<&str, Mismatch> {
    std::str::from_utf8(bytes).map_err(|_| Mismatch::NotUtf8)
}

fn time_of(bytes: &[u8]) -> SystemTime {
    let micros = i64::from_le_bytes(bytes.try_into().expect("a timestamp has 8 bytes"));
    let distance = Duration::from_micros(micros.unsigned_abs());
    if micros < 0 { UNIX_EPOCH - distance } else { UNIX_EPOCH + distance }
}

impl<const N: usize> Sealed for [u8; N] {}
impl<const N: usize> ColumnValue for [u8; N] {
    fn type_name() -> String {
        format!("[u8; {N}]")
    }
    #[inline]
    fn fits(kind: ColumnType) -> bool {
        matches!(kind, ColumnType::Bytes(n) if n as usize == N)
    }
    fn column() -> (ColumnType, bool) {
        (ColumnType::Bytes(N as u32), false)
    }
    #[inline]
    fn read(bytes: Option<&[u8]>, _: ColumnType) -> Result<Self, Mismatch> {
        let bytes = bytes.ok_or(Mismatch::Null)?;
        Ok(bytes.try_into().expect("the column's length was checked"))
    }
}

impl<T: Sealed> Sealed for Option<T> {}
impl<T: ColumnValue> ColumnValue for Option<T> {
    fn type_name() -> String {
        format!("Option<{}>", T::type_name())
    }
    #[inline]
    fn fits(kind: ColumnType) -> bool {
        T::fits(kind)
    }
    fn column() -> (ColumnType, bool) {
        (T::column().0, true)
    }
    #[inline]
    fn read(bytes: Option<&[u8]>, kind: ColumnType) -> Result<Self, Mismatch> {
        bytes.map(|bytes| T::read(Some(bytes), kind)).transpose()
    }
}
