//! Keys and ranges of keys, in the Rust types that a program passes.

use crate::{Error, table::Definition};
use std::ops::{
    Bound, Range, RangeBounds, RangeFrom, RangeFull, RangeInclusive, RangeTo, RangeToInclusive,
};
use txn::{Key, KeyKind, KeyRange, OwnedKey, OwnedKeys, byte_key_after, byte_key_before};

mod sealed {
    pub trait Sealed {}
}
use sealed::Sealed;

/// A type that can be used as a key of a row: a `u64`, any type that is bytes (for example text), or a [`Key`],
/// which is either.
///
/// All keys of a table are of one kind. A key of the other kind fails with [`Error::WrongKeyType`].
///
/// ```
/// # use kilocore::{ColumnType, Database, Error, Options};
/// # let db = Database::open(Options::default())?;
/// let seen = [("seen", ColumnType::U64)];
/// let (years, words) = (db.table("years").columns(&seen).create()?, db.table("words").key(ColumnType::VarBytesUpTo(8)).columns(&seen).create()?);
/// db.transact(|tx| {
///     tx.insert(&years, 1979, &[1u64.into()])?;
///     tx.insert(&words, "kilo", &[1u64.into()])?;
///     tx.insert(&words, format!("{:x}", 255), &[1u64.into()])?;
///     assert!(tx.get(&words, b"kilo")?.is_some() && tx.get(&words, [b'f'; 2])?.is_some());
///     assert!(matches!(tx.get(&words, 1979), Err(Error::WrongKeyType { .. })));
///     Ok(())
/// })?;
/// # Ok::<(), Error>(())
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` is no key",
    note = "keys are of type `u64`, or bytes: `&str`, `String`, `&[u8]`, `Vec<u8>`, `[u8; N]`"
)]
pub trait AsKey: Sealed {
    /// Returns the key.
    fn as_key(&self) -> Key<'_>;
}

macro_rules! as_key {
    ($($key:ty: |$this:ident| $as_key:expr, for ($($parameters:tt)*);)*) => {$(
        impl<$($parameters)*> Sealed for $key {}
        impl<$($parameters)*> AsKey for $key {
            #[inline]
            fn as_key(&self) -> Key<'_> {
                let $this = self;
                $as_key
            }
        }
    )*};
}
// `u64` is the only integer type with this trait. So an integer literal has the type `u64`.
as_key! {
    u64: |number| Key::Number(*number), for ();
    str: |text| Key::Bytes(text.as_bytes()), for ();
    String: |text| Key::Bytes(text.as_bytes()), for ();
    [u8]: |bytes| Key::Bytes(bytes), for ();
    Vec<u8>: |bytes| Key::Bytes(bytes), for ();
    [u8; N]: |bytes| Key::Bytes(bytes), for (const N: usize);
    Key<'_>: |key| *key, for ();
    OwnedKey: |key| OwnedKey::as_key(key), for ();
    &K: |key| K::as_key(key), for (K: AsKey + ?Sized);
}

/// A range of keys of either kind, for [`ReadTransaction::scan`](crate::ReadTransaction::scan): `..`, `3..7`,
/// `"a".."b"`, and so on.
pub trait KeyBounds: Sealed {
    /// Returns the start and the end of the range.
    fn bounds(&self) -> (Bound<Key<'_>>, Bound<Key<'_>>);
}

impl Sealed for RangeFull {}
impl KeyBounds for RangeFull {
    fn bounds(&self) -> (Bound<Key<'_>>, Bound<Key<'_>>) {
        (Bound::Unbounded, Bound::Unbounded)
    }
}

macro_rules! key_bounds {
    ($($range:ty),*) => {$(
        impl<K: AsKey> Sealed for $range {}
        impl<K: AsKey> KeyBounds for $range {
            fn bounds(&self) -> (Bound<Key<'_>>, Bound<Key<'_>>) {
                (self.start_bound().map(AsKey::as_key), self.end_bound().map(AsKey::as_key))
            }
        }
    )*};
}
key_bounds!(
    Range<K>,
    RangeFrom<K>,
    RangeInclusive<K>,
    RangeTo<K>,
    RangeToInclusive<K>,
    (Bound<K>, Bound<K>)
);

/// Returns the key at an end of a range, if the end is bounded.
fn given(bound: Bound<Key<'_>>) -> Option<Key<'_>> {
    match bound {
        Bound::Included(key) | Bound::Excluded(key) => Some(key),
        Bound::Unbounded => None,
    }
}

/// Checks that a table whose keys are of this kind can have the key. `table` returns the table's name for the
/// error.
#[inline]
pub(crate) fn check_key(
    kind: KeyKind,
    key: Key<'_>,
    table: impl FnOnce() -> String,
) -> Result<(), Error> {
    let allowed = match (kind, key) {
        (KeyKind::Integer, Key::Number(_)) => return Ok(()),
        (KeyKind::Bytes { most }, Key::Bytes(bytes)) => {
            let (given, allowed) = (bytes.len(), usize::from(most));
            if given <= allowed {
                return Ok(());
            }
            return Err(Error::KeyTooLong { table: table(), given, allowed });
        }
        (KeyKind::Integer, Key::Bytes(_)) => "64-bit integers",
        (KeyKind::Bytes { .. }, Key::Number(_)) => "bytes",
    };
    Err(Error::WrongKeyType { table: table(), allowed })
}

impl Definition {
    /// Checks that the table can have the key.
    #[inline]
    pub fn check_key(&self, key: Key<'_>) -> Result<(), Error> {
        check_key(self.schema.key, key, || self.schema.name.clone())
    }

    /// Returns the number by which a key is assigned to a partition.
    pub fn number_of(&self, key: Key<'_>) -> u64 {
        match key {
            Key::Number(number) => number,
            Key::Bytes(bytes) => storage::key_digest(bytes),
        }
    }

    /// Returns the keys between the ends, for a scan. Returns `None` if no key lies between them.
    pub fn range(
        &self,
        ends: (Bound<Key<'_>>, Bound<Key<'_>>),
    ) -> Result<Option<OwnedKeys>, Error> {
        key_range(self.schema.key, self.is_ordered(), ends, || self.schema.name.clone())
    }
}

/// Returns the keys between `start` and `end`, for a scan of a table whose keys are of this kind. Returns `None` if no key lies
/// between them. `table` returns the table's name for an error.
pub(crate) fn key_range(
    kind: KeyKind,
    is_ordered: bool,
    (start, end): (Bound<Key<'_>>, Bound<Key<'_>>),
    table: impl Fn() -> String,
) -> Result<Option<OwnedKeys>, Error> {
    for key in [given(start), given(end)].into_iter().flatten() {
        check_key(kind, key, &table)?;
    }
    if !is_ordered {
        return Err(Error::NotOrdered { table: table() });
    }
    if let (Some(first), Some(last)) = (given(start), given(end))
        && first > last
    {
        let (first, last) = (first.to_owned(), last.to_owned());
        return Err(Error::ReversedRange { table: table(), first, last });
    }
    // A range can be empty without its excluded ends, for example 5..5.
    Ok(match kind {
        KeyKind::Integer => numbers(start.map(Key::number), end.map(Key::number)),
        KeyKind::Bytes { most } => bytes(start.map(Key::bytes), end.map(Key::bytes), most.into()),
    })
}

fn numbers(start: Bound<u64>, end: Bound<u64>) -> Option<OwnedKeys> {
    let first = match start {
        Bound::Included(key) => key,
        Bound::Excluded(key) => key.checked_add(1)?,
        Bound::Unbounded => 0,
    };
    let last = match end {
        Bound::Included(key) => key,
        Bound::Excluded(key) => key.checked_sub(1)?,
        Bound::Unbounded => u64::MAX,
    };
    KeyRange::new(first, last).ok().map(OwnedKeys::Numbers)
}

fn bytes(start: Bound<&[u8]>, end: Bound<&[u8]>, most: usize) -> Option<OwnedKeys> {
    let first = match start {
        Bound::Included(key) => key.to_vec(),
        Bound::Excluded(key) => byte_key_after(key, most)?,
        Bound::Unbounded => Vec::new(),
    };
    let last = match end {
        Bound::Included(key) => Some(key.to_vec()),
        Bound::Excluded(key) => Some(byte_key_before(key, most)?),
        Bound::Unbounded => None,
    };
    let within = last.as_ref().is_none_or(|last| first <= *last);
    within.then_some(OwnedKeys::Bytes { first, last })
}
