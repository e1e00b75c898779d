//! The packed form of rows, in which procedures read and write them, and its conversion to and from the held form.
//!
//! [`crate::Column`] describes both forms. They differ only for columns of variable length.

use crate::{ColumnSet, NULL_LENGTH, RowLayout, layout::Form};

/// Bytes of the length before a value of variable length, in packed form and, in the record, in held form. As they are as many
/// in both, a row can be packed where it lies.
pub(crate) const LENGTH_BYTES: usize = 4;

/// Appends a value of variable length in packed form. `None` is NULL.
#[inline]
pub fn push_variable(out: &mut Vec<u8>, value: Option<&[u8]>) {
    let length = value.map_or(NULL_LENGTH, |value| value.len() as u32);
    out.extend_from_slice(&length.to_le_bytes());
    out.extend_from_slice(value.unwrap_or(&[]));
}

/// Returns the value of variable length at the front of `packed`, `None` for NULL.
#[inline]
pub fn variable(packed: &[u8]) -> Option<&[u8]> {
    take_variable(&mut &*packed)
}

/// Returns the value of variable length at the front of `packed`, `None` for NULL, and what lies behind it.
#[inline]
pub fn split_variable(packed: &[u8]) -> (Option<&[u8]>, &[u8]) {
    let mut rest = packed;
    (take_variable(&mut rest), rest)
}

/// Returns the value of variable length of which `held` is the held form, `None` for NULL. The value must lie in the record. In a column
/// without NULL, `None` stands for the empty value of a record that was never written.
///
/// `held` can be a torn read. Then the value means nothing, and the reader's validation rejects it.
#[inline]
pub fn held_value(held: &[u8]) -> Option<&[u8]> {
    let (length, value) = held.split_first_chunk::<LENGTH_BYTES>().expect("a held length");
    let length = (u32::from_le_bytes(*length) as usize).checked_sub(1)?;
    // A torn length can be too large.
    Some(&value[..length.min(value.len())])
}

/// Removes a value of variable length from the front of `rest`.
#[inline]
fn take_variable<'v>(rest: &mut &'v [u8]) -> Option<&'v [u8]> {
    let (length, behind) = rest.split_first_chunk::<LENGTH_BYTES>().expect("a packed length");
    *rest = behind;
    match u32::from_le_bytes(*length) {
        NULL_LENGTH => None,
        length => {
            let (value, behind) = rest.split_at(length as usize);
            *rest = behind;
            Some(value)
        }
    }
}

/// Removes `bytes` bytes from the front of `rest`.
#[inline]
fn take<'v>(rest: &mut &'v [u8], bytes: usize) -> &'v [u8] {
    let (value, behind) = rest.split_at(bytes);
    *rest = behind;
    value
}

/// The values of a packed row: pairs of a column number and a value. `None` is NULL.
#[derive(Clone, Debug)]
pub struct Fields<'l, 'v> {
    layout: &'l RowLayout,
    columns: ColumnSet,
    rest: &'v [u8],
}

impl<'v> Iterator for Fields<'_, 'v> {
    type Item = (usize, Option<&'v [u8]>);

    fn next(&mut self) -> Option<Self::Item> {
        let column = self.columns.iter().next()?;
        self.columns = self.columns.without(ColumnSet::one(column));
        let value = self.layout.take_value(column, &mut self.rest);
        Some((column, value))
    }
}

/// A value of variable length in the held form of some columns.
#[derive(Clone, Copy, Debug)]
struct VariableValue {
    /// Its first byte.
    start: usize,
    /// The first byte behind it.
    end: usize,
    form: Form,
}

impl VariableValue {
    /// Returns the length that the value in `held` has in packed form, and the number of its bytes.
    #[inline(always)]
    fn length_in(&self, held: &[u8; LENGTH_BYTES], nullable: bool) -> (u32, usize) {
        let longest = self.end - self.start - LENGTH_BYTES;
        match u32::from_le_bytes(*held) {
            0 if nullable => (NULL_LENGTH, 0),
            length => {
                // A torn length can be too large.
                let bytes = (length.saturating_sub(1) as usize).min(longest);
                (bytes as u32, bytes)
            }
        }
    }
}

/// The way in which some columns of a table are packed ([`RowLayout::packing`]).
#[derive(Clone, Debug)]
pub struct Packing {
    held_bytes: usize,
    variable: Box<[VariableValue]>,
    has_values_apart: bool,
}

impl Packing {
    /// Returns the bytes of the columns in held form.
    #[inline(always)]
    pub fn held_bytes(&self) -> usize {
        self.held_bytes
    }

    /// Returns true if values of the columns lie outside the record. Then [`Packing::pack_in_place`] can't be used.
    #[inline(always)]
    pub fn has_values_apart(&self) -> bool {
        self.has_values_apart
    }

    /// Does the same as [`RowLayout::hold`].
    #[inline]
    pub fn hold<E>(
        &self,
        packed: &[u8],
        out: &mut Vec<u8>,
        keep: impl FnMut(&[u8]) -> Result<u64, E>,
    ) -> Result<(), E> {
        hold(self.variable.iter().copied(), self.held_bytes, packed, out, keep)
    }

    /// Does the same as [`RowLayout::pack`].
    #[inline]
    pub fn pack(&self, held: &[u8], out: &mut Vec<u8>, read: impl FnMut(u64, &mut Vec<u8>)) {
        pack(self.variable.iter().copied(), &held[..self.held_bytes], out, read);
    }

    /// Turns `row` from held form, which is all that it contains, into packed form. The columns must have no values outside the
    /// record. A value moves only if a shorter one lies before it.
    ///
    /// `row` can be a torn read, as for [`RowLayout::pack`].
    #[inline]
    pub fn pack_in_place(&self, row: &mut Vec<u8>) {
        let bytes = &mut row[..self.held_bytes];
        // The bytes before `from` are packed. The bytes behind it move forward by `gap`, the room that short values have left.
        let (mut from, mut gap) = (0, 0);
        for value in &self.variable {
            let VariableValue { start, end, form } = *value;
            let held = bytes[start..end].first_chunk_mut().expect("a held length");
            let (length, value_bytes) = value.length_in(held, form == Form::Short(true));
            *held = length.to_le_bytes();
            let value_end = start + LENGTH_BYTES + value_bytes;
            if gap != 0 {
                bytes.copy_within(from..value_end, from - gap);
            }
            gap += end - value_end;
            from = end;
        }
        if gap != 0 && from < self.held_bytes {
            bytes.copy_within(from.., from - gap);
        }
        row.truncate(self.held_bytes - gap);
    }
}

/// Appends `packed` to `out` in held form, which has `held_bytes` bytes. `variable` are its values of variable length, in order.
#[inline(always)]
fn hold<E>(
    variable: impl Iterator<Item = VariableValue>,
    held_bytes: usize,
    packed: &[u8],
    out: &mut Vec<u8>,
    mut keep: impl FnMut(&[u8]) -> Result<u64, E>,
) -> Result<(), E> {
    let (front, mut rest) = (out.len(), packed);
    for VariableValue { start, end, form } in variable {
        // Values of fixed length that follow one another are copied together.
        out.extend_from_slice(take(&mut rest, front + start - out.len()));
        let value = take_variable(&mut rest);
        if matches!(form, Form::Apart(_)) {
            let word = value.map_or(Ok(0), &mut keep)?;
            out.extend_from_slice(&word.to_le_bytes());
            continue;
        }
        let longest = end - start - LENGTH_BYTES;
        let value_bytes = value.unwrap_or(&[]);
        assert!(value_bytes.len() <= longest, "a value fits its column, which has {longest} bytes");
        let length = value.map_or(0, |value| value.len() as u32 + 1);
        out.extend_from_slice(&length.to_le_bytes());
        out.extend_from_slice(value_bytes);
        out.resize(front + end, 0);
    }
    out.extend_from_slice(take(&mut rest, front + held_bytes - out.len()));
    Ok(())
}

/// Appends `held` to `out` in packed form. `variable` are its values of variable length, in order.
#[inline(always)]
fn pack(
    variable: impl Iterator<Item = VariableValue>,
    held: &[u8],
    out: &mut Vec<u8>,
    mut read: impl FnMut(u64, &mut Vec<u8>),
) {
    // Values of fixed length that follow one another are copied together. They end where the next other one starts.
    let mut copied = 0;
    for value in variable {
        let VariableValue { start, end, form } = value;
        out.extend_from_slice(&held[copied..start]);
        copied = end;
        match form {
            Form::Fixed | Form::Nullable => {}
            Form::Short(nullable) => {
                let front = out.len();
                let before = held[start..end].first_chunk().expect("a held length");
                let (length, bytes) = value.length_in(before, nullable);
                // One copy is cheaper than two, so the held length is copied together with the value, and overwritten.
                out.extend_from_slice(&held[start..start + LENGTH_BYTES + bytes]);
                out[front..front + LENGTH_BYTES].copy_from_slice(&length.to_le_bytes());
            }
            Form::Apart(nullable) => {
                let word = u64::from_le_bytes(held[start..end].try_into().expect("a word"));
                if word == 0 {
                    push_variable(out, if nullable { None } else { Some(&[]) });
                    continue;
                }
                let front = out.len();
                out.extend_from_slice(&[0; LENGTH_BYTES]);
                read(word, out);
                let length = (out.len() - front - LENGTH_BYTES) as u32;
                out[front..front + LENGTH_BYTES].copy_from_slice(&length.to_le_bytes());
            }
        }
    }
    if copied < held.len() {
        out.extend_from_slice(&held[copied..]);
    }
}

impl RowLayout {
    /// Returns the values of `columns` in `packed`.
    ///
    /// # Panics
    /// Panics at a value that is cut off.
    pub fn fields<'l, 'v>(&'l self, columns: ColumnSet, packed: &'v [u8]) -> Fields<'l, 'v> {
        Fields { layout: self, columns, rest: packed }
    }

    /// Returns the value of `column` at the front of `packed`. `None` is NULL.
    #[inline]
    pub fn value<'v>(&self, column: usize, packed: &'v [u8]) -> Option<&'v [u8]> {
        self.take_value(column, &mut &*packed)
    }

    /// Removes the value of `column` from the front of `rest`.
    #[inline]
    fn take_value<'v>(&self, column: usize, rest: &mut &'v [u8]) -> Option<&'v [u8]> {
        let bytes = self.span(column).bytes as usize;
        match self.form(column) {
            Form::Fixed => Some(take(rest, bytes)),
            Form::Nullable => {
                let (flag, value) = take(rest, bytes).split_at(1);
                (flag != [0]).then_some(value)
            }
            Form::Short(_) | Form::Apart(_) => take_variable(rest),
        }
    }

    /// Returns the value of `column`, one of `columns`, in `packed`. `None` is NULL.
    pub fn field<'v>(
        &self,
        columns: ColumnSet,
        packed: &'v [u8],
        column: usize,
    ) -> Option<&'v [u8]> {
        if !self.variable().intersects(columns) {
            let before = ColumnSet(columns.0 & ColumnSet::first(column).0);
            let start = self.held_bytes(before);
            return self.value(column, &packed[start..]);
        }
        self.fields(columns, packed).find(|(number, _)| *number == column)?.1
    }

    /// Returns the number of bytes of `columns` at the front of `packed`.
    pub fn packed_bytes(&self, columns: ColumnSet, packed: &[u8]) -> usize {
        if !self.variable().intersects(columns) {
            return self.held_bytes(columns);
        }
        let mut fields = self.fields(columns, packed);
        fields.by_ref().for_each(drop);
        packed.len() - fields.rest.len()
    }

    /// Appends a value of `column` in packed form. `None` is NULL.
    ///
    /// # Panics
    /// Panics if a value of a column of fixed length has another length.
    pub fn push(&self, out: &mut Vec<u8>, column: usize, value: Option<&[u8]>) {
        let bytes = self.span(column).bytes as usize;
        let end = out.len() + bytes;
        match self.form(column) {
            Form::Short(_) | Form::Apart(_) => return push_variable(out, value),
            Form::Nullable => out.push(value.is_some().into()),
            Form::Fixed => {}
        }
        out.extend_from_slice(value.unwrap_or(&[]));
        assert!(
            out.len() == end || value.is_none(),
            "a value as long as its column, number {column}"
        );
        out.resize(end, 0);
    }

    /// Returns the packed row `row` with `values` in `columns`.
    pub fn replaced(&self, row: &[u8], columns: ColumnSet, values: &[u8]) -> Vec<u8> {
        let (mut values, mut replaced) = (self.fields(columns, values), Vec::new());
        for (column, value) in self.fields(self.all(), row) {
            let value = match columns.contains(ColumnSet::one(column)) {
                true => values.next().expect("a value for each column").1,
                false => value,
            };
            self.push(&mut replaced, column, value);
        }
        replaced
    }

    /// Returns the NULLs that `packed` has in columns that allow none.
    pub fn forbidden_nulls(&self, columns: ColumnSet, packed: &[u8]) -> ColumnSet {
        let mut forbidden = ColumnSet::NONE;
        for (column, value) in self.fields(columns, packed) {
            let allowed = !matches!(self.form(column), Form::Short(false) | Form::Apart(false));
            if value.is_none() && !allowed {
                forbidden = forbidden.with(ColumnSet::one(column));
            }
        }
        forbidden
    }

    /// Appends `columns` of `packed` to `out` in held form. `keep` stores a value outside the record and returns the
    /// word that names it.
    ///
    /// # Panics
    /// Panics if a value is longer than its column allows.
    pub fn hold<E>(
        &self,
        columns: ColumnSet,
        packed: &[u8],
        out: &mut Vec<u8>,
        keep: impl FnMut(&[u8]) -> Result<u64, E>,
    ) -> Result<(), E> {
        let held_bytes = self.held_bytes(columns);
        hold(self.values_of_variable_length(columns), held_bytes, packed, out, keep)
    }

    /// Appends `columns` of `held` to `out` in packed form. `read` appends the value that a word names.
    ///
    /// `held` can be a torn read. Then the values mean nothing, and the reader's validation rejects them.
    pub fn pack(
        &self,
        columns: ColumnSet,
        held: &[u8],
        out: &mut Vec<u8>,
        read: impl FnMut(u64, &mut Vec<u8>),
    ) {
        let held = &held[..self.held_bytes(columns)];
        pack(self.values_of_variable_length(columns), held, out, read);
    }

    /// Returns how `columns` are packed, for callers that pack the same columns of many rows.
    pub fn packing(&self, columns: ColumnSet) -> Packing {
        let variable = self.values_of_variable_length(columns).collect();
        let has_values_apart = self.apart().intersects(columns);
        Packing { held_bytes: self.held_bytes(columns), variable, has_values_apart }
    }

    /// Returns the places of the values of variable length in the held form of `columns`.
    fn values_of_variable_length(
        &self,
        columns: ColumnSet,
    ) -> impl Iterator<Item = VariableValue> + '_ {
        let mut end = 0;
        columns.iter().filter_map(move |column| {
            let (start, form) = (end, self.form(column));
            end += self.span(column).bytes as usize;
            let is_variable = matches!(form, Form::Short(_) | Form::Apart(_));
            is_variable.then_some(VariableValue { start, end, form })
        })
    }

    /// Returns the words that name values outside the record, in `columns` of `held`.
    pub fn references<'v>(
        &'v self,
        columns: ColumnSet,
        held: &'v [u8],
    ) -> impl Iterator<Item = u64> + 'v {
        let mut rest = held;
        columns.iter().filter_map(move |column| {
            let value = take(&mut rest, self.span(column).bytes as usize);
            let apart = matches!(self.form(column), Form::Apart(_));
            let word = apart.then(|| u64::from_le_bytes(value.try_into().expect("a word")))?;
            (word != 0).then_some(word)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Column, ColumnType, TableSchema};
    use std::convert::Infallible;

    fn layout() -> RowLayout {
        let columns = vec![
            Column::new("id", ColumnType::U64),
            Column::new("room", ColumnType::U16).nullable(),
            Column::new("name", ColumnType::TextUpTo(10)),
            Column::new("nick", ColumnType::TextUpTo(60)).nullable(),
            Column::new("story", ColumnType::Text),
            Column::new("photo", ColumnType::VarBytes).nullable(),
        ];
        RowLayout::of(&TableSchema::new("people", columns))
    }

    /// Stores values in a vector. A word is the value's place plus one.
    fn there_and_back(layout: &RowLayout, columns: ColumnSet, packed: &[u8]) -> Vec<u8> {
        let (mut stored, mut held) = (Vec::new(), Vec::new());
        let keep = |value: &[u8]| {
            stored.push(value.to_vec());
            Ok::<u64, Infallible>(stored.len() as u64)
        };
        let Ok(()) = layout.hold(columns, packed, &mut held, keep);
        assert_eq!(held.len(), layout.held_bytes(columns));
        let words: Vec<u64> = layout.references(columns, &held).collect();
        assert_eq!(words.len(), stored.len());
        let (mut back, mut again) = (Vec::new(), Vec::new());
        let read = |word, out: &mut Vec<u8>| out.extend(&stored[word as usize - 1]);
        layout.pack(columns, &held, &mut back, read);
        let packing = layout.packing(columns);
        let (mut held_again, mut number) = (Vec::new(), 0);
        let keep = |_: &[u8]| {
            number += 1;
            Ok::<u64, Infallible>(number)
        };
        let Ok(()) = packing.hold(packed, &mut held_again, keep);
        assert_eq!(held_again, held);
        assert_eq!(packing.held_bytes(), held.len());
        packing.pack(&held, &mut again, read);
        assert_eq!(again, back);
        if !packing.has_values_apart() {
            packing.pack_in_place(&mut held);
            assert_eq!(held, back);
        }
        back
    }

    #[test]
    fn rows_come_back_as_they_went() {
        let layout = layout();
        let long = vec![7; 5000];
        let rows: [[Option<&[u8]>; 6]; 3] = [
            [Some(&[1; 8]), None, Some(b""), None, Some(b""), None],
            [Some(&[2; 8]), Some(&[3, 0]), Some(b"a name"), Some(b""), Some(&long), Some(b"")],
            [Some(&[0; 8]), Some(&[0, 0]), Some(&[9; 10]), Some(&[9; 60]), Some(b"x"), Some(&long)],
        ];
        for row in rows {
            let mut packed = Vec::new();
            row.iter().enumerate().for_each(|(at, value)| layout.push(&mut packed, at, *value));
            assert_eq!(there_and_back(&layout, layout.all(), &packed), packed);
            // Without values outside the record, in any set of columns, a row is packed where it lies as well.
            for set in 0..1 << 4 {
                let (columns, mut few) = (ColumnSet(set), Vec::new());
                columns.iter().for_each(|at| layout.push(&mut few, at, row[at]));
                assert_eq!(there_and_back(&layout, columns, &few), few);
            }
            let values: Vec<_> = layout.fields(layout.all(), &packed).map(|(_, v)| v).collect();
            assert_eq!(values, row);
            for (at, value) in row.iter().enumerate() {
                assert_eq!(layout.field(layout.all(), &packed, at), *value);
            }
            assert!(layout.forbidden_nulls(layout.all(), &packed).is_empty());
        }
    }

    #[test]
    fn memory_of_zeros_holds_empty_texts_and_nulls() {
        let (layout, mut packed) = (layout(), Vec::new());
        let zeros = vec![0; layout.bytes()];
        layout.pack(layout.all(), &zeros, &mut packed, |_, _| unreachable!("no word names"));
        let values: Vec<_> = layout.fields(layout.all(), &packed).map(|(_, v)| v).collect();
        let empty: Option<&[u8]> = Some(b"");
        assert_eq!(values, [Some(&[0; 8][..]), None, empty, None, empty, None]);
    }

    #[test]
    fn values_are_read_in_held_form() {
        let layout = layout();
        let columns = ColumnSet::one(2).with(ColumnSet::one(3));
        let (name_bytes, few) = (layout.held_bytes(ColumnSet::one(2)), &b"few"[..]);
        for (name, nick) in [(few, None), (&[9; 10][..], Some(few)), (&[], Some(&[][..]))] {
            let (mut packed, mut held) = (Vec::new(), Vec::new());
            layout.push(&mut packed, 2, Some(name));
            layout.push(&mut packed, 3, nick);
            let Ok(()) = layout.hold(columns, &packed, &mut held, |_| Ok::<u64, Infallible>(0));
            assert_eq!(held_value(&held[..name_bytes]), Some(name));
            assert_eq!(held_value(&held[name_bytes..]), nick);
        }
        assert_eq!(held_value(&[0; 9]), None);
    }

    #[test]
    fn a_torn_length_reads_no_further_than_its_column() {
        let (layout, mut packed) = (layout(), Vec::new());
        let torn = [255; LENGTH_BYTES + 10];
        assert_eq!(held_value(&torn), Some(&torn[LENGTH_BYTES..]));
        layout.pack(ColumnSet::one(2), &torn, &mut packed, |_, _| ());
        assert_eq!(layout.field(ColumnSet::one(2), &packed, 2), Some(&[255; 10][..]));
        let mut in_place = torn.to_vec();
        layout.packing(ColumnSet::one(2)).pack_in_place(&mut in_place);
        assert_eq!(in_place, packed);
    }

    #[test]
    fn a_forbidden_null_is_named() {
        let (layout, mut packed) = (layout(), Vec::new());
        layout.push(&mut packed, 2, None);
        layout.push(&mut packed, 5, None);
        let columns = ColumnSet::one(2).with(ColumnSet::one(5));
        assert_eq!(layout.forbidden_nulls(columns, &packed), ColumnSet::one(2));
    }
}
