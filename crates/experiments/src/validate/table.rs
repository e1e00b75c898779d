//! Reads a CSV file whose columns have names. Values contain no commas, so quotes are not supported.

use super::ValidateError;

/// The lines of a file below its first one.
pub struct Table<'a> {
    file: &'a str,
    /// Names of the columns that are read, with their positions if the file has them.
    columns: Vec<(&'static str, Option<usize>)>,
    width: usize,
    lines: Vec<(usize, Vec<&'a str>)>,
}

impl<'a> Table<'a> {
    /// Parses the text of `file`. It must have all `needed` columns, and can have the `optional` ones, whose values are
    /// otherwise empty. Columns may be in any order, and there may be others. Fails if there are no lines.
    pub fn parse(
        text: &'a str,
        file: &'a str,
        needed: &[&'static str],
        optional: &[&'static str],
    ) -> Result<Table<'a>, ValidateError> {
        let split = |line: &'a str| line.split(',').map(str::trim).collect::<Vec<_>>();
        let mut lines = text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty());
        let header: Vec<&str> = lines.next().map_or(vec![], |(_, line)| split(line));
        let at = |name: &&'static str| (*name, header.iter().position(|column| column == name));
        let columns: Vec<_> = needed.iter().chain(optional).map(at).collect();
        let missing = columns.iter().filter(|(name, at)| at.is_none() && needed.contains(name));
        let missing: Vec<_> = missing.map(|(name, _)| *name).collect();
        if !missing.is_empty() {
            return Err(ValidateError::MissingColumns { file: file.to_owned(), missing });
        }
        let lines: Vec<_> = lines.map(|(at, line)| (at + 1, split(line))).collect();
        if lines.is_empty() {
            return Err(ValidateError::NoRows { file: file.to_owned() });
        }
        Ok(Table { file, columns, width: header.len(), lines })
    }

    /// Returns the lines. A line with another number of values than the first is an error.
    pub fn lines(&self) -> impl Iterator<Item = Result<Line<'_>, ValidateError>> {
        self.lines.iter().map(|(line, values)| {
            if values.len() == self.width {
                return Ok(Line { table: self, line: *line, values });
            }
            let (file, values, columns) = (self.file.to_owned(), values.len(), self.width);
            Err(ValidateError::RaggedLine { file, line: *line, values, columns })
        })
    }
}

/// One line of a file.
pub struct Line<'a> {
    table: &'a Table<'a>,
    line: usize,
    values: &'a [&'a str],
}

impl Line<'_> {
    /// Returns the text in a column that was named to [`Table::parse`].
    pub fn text(&self, column: &'static str) -> &str {
        let found = self.table.columns.iter().find(|(name, _)| *name == column);
        let (_, at) = found.expect("a column that was named");
        at.map_or("", |at| self.values[at])
    }

    /// Returns the error for the value in a column.
    pub fn bad(&self, column: &'static str, allowed: impl Into<String>) -> ValidateError {
        ValidateError::BadValue {
            file: self.table.file.to_owned(),
            line: self.line,
            column,
            given: self.text(column).to_owned(),
            allowed: allowed.into(),
        }
    }

    /// Returns the number of things in a column.
    pub fn count(&self, column: &'static str) -> Result<u64, ValidateError> {
        let count = self.text(column).parse().ok().filter(|n| (1..=1 << 20).contains(n));
        count.ok_or_else(|| self.bad(column, "1 to 1048576"))
    }

    /// Returns the number in a column, which must be `good`.
    pub fn number(
        &self,
        column: &'static str,
        allowed: &str,
        good: impl Fn(f64) -> bool,
    ) -> Result<f64, ValidateError> {
        let number = self.text(column).parse().ok().filter(|n: &f64| n.is_finite() && good(*n));
        number.ok_or_else(|| self.bad(column, allowed))
    }

    /// Returns the percentage in a column.
    pub fn percentage(&self, column: &'static str) -> Result<f64, ValidateError> {
        self.number(column, "0 to 100", |n| (0.0..=100.0).contains(&n))
    }
}
