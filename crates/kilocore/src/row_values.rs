//! Rows as programs give them: values in the order of the columns, values with names, or structs.

use crate::{ColumnType, Error, Row, Value, table::Definition};
use txn::ColumnSet;

/// The values of a row that is to be written.
#[derive(Clone, Debug)]
pub enum Given<'v> {
    /// One value for each column, in the order of the table's columns.
    InOrder(&'v [Value<'v>]),
    /// Values with the names of their columns, in any order. Columns that are not named become NULL.
    ByName(Vec<(&'v str, Value<'v>)>),
}

/// A whole row to write: one [`Value`] for each column as an array, a slice or a vector, values with names ([`Named`]), or
/// a struct that derives `Row`.
///
/// ```
/// # use kilocore::{ColumnType::{Text, U64}, Database, Error, Named, Options, Row, Value};
/// #[derive(Row)]
/// struct Person {
///     room: u64,
///     nickname: Option<String>,
/// }
///
/// # let db = Database::open(Options::default())?;
/// let people = db.table("people").row::<Person>().create()?;
/// db.transact(|tx| {
///     tx.insert(&people, 1, &[Value::U64(3), "Ada".into()])?;
///     tx.insert(&people, 2, &Named(&[("room", 3u64.into())]))?; // the nickname is NULL
///     tx.insert(&people, 3, &Person { room: 4, nickname: Some("Bob".into()) })
/// })?;
/// let bob: Option<Person> = db.read_only(|tx| tx.get_as(&people, 3))?;
/// assert_eq!(bob.and_then(|bob| bob.nickname).as_deref(), Some("Bob"));
/// # Ok::<(), Error>(())
/// ```
pub trait RowValues {
    /// Returns the values.
    fn given(&self) -> Given<'_>;
}

impl RowValues for [Value<'_>] {
    fn given(&self) -> Given<'_> {
        Given::InOrder(self)
    }
}

impl<const N: usize> RowValues for [Value<'_>; N] {
    fn given(&self) -> Given<'_> {
        Given::InOrder(self)
    }
}

impl<V: RowValues + ?Sized> RowValues for &V {
    fn given(&self) -> Given<'_> {
        (**self).given()
    }
}

impl RowValues for Vec<Value<'_>> {
    fn given(&self) -> Given<'_> {
        Given::InOrder(self)
    }
}

/// Values with the names of their columns, in any order. Columns that are not named become NULL.
#[derive(Clone, Copy, Debug)]
pub struct Named<'v>(pub &'v [(&'v str, Value<'v>)]);

impl RowValues for Named<'_> {
    fn given(&self) -> Given<'_> {
        Given::ByName(self.0.to_vec())
    }
}

/// A struct whose fields are the columns of a table. `#[derive(Row)]` implements it.
///
/// The name of a field is the name of its column, and its type gives the column's type ([`ColumnValue`]). An [`Option`]
/// makes a nullable column. The attribute `#[row(name = "...")]` gives the column another name, and `#[row(up_to = 32)]`
/// limits the length of text and bytes to 32 bytes.
///
/// [`ColumnValue`]: crate::ColumnValue
pub trait TableRow: RowValues + Sized {
    /// Returns the columns: name, type, and true if it is nullable.
    fn columns() -> Vec<(&'static str, ColumnType, bool)>;

    /// Makes the struct from a row. Fails as [`Row::get`] does.
    fn from_row(row: &Row<'_>) -> Result<Self, Error>;
}

impl Definition {
    /// Checks the values of a whole row and appends them to `out` in packed form.
    pub fn pack_row(
        &self,
        values: &(impl RowValues + ?Sized),
        out: &mut Vec<u8>,
    ) -> Result<(), Error> {
        match values.given() {
            Given::InOrder(values) => {
                let (given, allowed) = (values.len(), self.visible().count());
                if given != allowed {
                    let table = self.schema.name.clone();
                    return Err(Error::WrongCount { table, given, allowed });
                }
                let mut rest = values.iter();
                self.pack_each(out, |_| *rest.next().expect("a value for each column"))
            }
            Given::ByName(values) => {
                self.columns(values.iter().map(|(name, _)| *name))?;
                self.pack_each(out, |name| {
                    let value = values.iter().find(|(given, _)| *given == name);
                    value.map_or(Value::Null, |(_, value)| *value)
                })
            }
        }
    }

    /// Checks the values of all columns and appends them to `out` in packed form. `value_of` is called in the order of the
    /// columns. Columns that were dropped get zeros.
    fn pack_each<'v>(
        &self,
        out: &mut Vec<u8>,
        mut value_of: impl FnMut(&str) -> Value<'v>,
    ) -> Result<(), Error> {
        for (number, column) in self.schema.columns.iter().enumerate() {
            if !self.dropped.contains(ColumnSet::one(number)) {
                self.encode(number, value_of(&column.name), out)?;
            } else {
                let zeros = vec![0; column.kind.fixed_bytes().unwrap_or(0)];
                self.layout.push(out, number, Some(&zeros));
            }
        }
        Ok(())
    }
}
