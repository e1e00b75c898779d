//! Iterators over ranges of rows.

use crate::{Error, ReadTransaction, Row, Table, table::Definition};
use std::{collections::VecDeque, ops::ControlFlow};
use txn::{Direction, KeyKind, KeyRange, OwnedKey, OwnedKeys, byte_key_after, byte_key_before};

/// Number of rows that an iterator reads at first.
const FIRST_ROWS: usize = 4;
/// Largest number of rows that an iterator reads ahead.
const MOST_ROWS: usize = 256;

/// An iterator over rows in key order, with their keys. Made by [`ReadTransaction::range`].
///
/// It borrows the transaction. To write while rows are visited, collect their keys first.
pub struct Rows<'a, 't, 'r> {
    tx: &'a mut ReadTransaction<'t>,
    table: &'r Table,
    direction: Direction,
    /// Keys that have not been read yet.
    rest: Option<OwnedKeys>,
    /// Rows that have been read ahead.
    ahead: VecDeque<(OwnedKey, Row<'r>)>,
    /// Number of rows to read next.
    count: usize,
}

impl<'a, 't, 'r> Rows<'a, 't, 'r> {
    pub(crate) fn new(
        tx: &'a mut ReadTransaction<'t>,
        table: &'r Table,
        rest: Option<OwnedKeys>,
        direction: Direction,
    ) -> Self {
        Rows { tx, table, direction, rest, ahead: VecDeque::new(), count: FIRST_ROWS }
    }

    /// Reads the next rows.
    fn read_ahead(&mut self, keys: OwnedKeys) -> Result<(), Error> {
        let Rows { tx, table, direction, ahead, count, .. } = self;
        let definition = tx.own(table)?;
        let (id, all) = (definition.id, definition.all());
        tx.session.scan(id, keys.as_keys(), *direction, all, &mut |key, bytes| {
            ahead.push_back((key.to_owned(), Row::packed(table, bytes)));
            if ahead.len() < *count { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
        })?;
        if ahead.len() == *count {
            let last = ahead.back().map(|(key, _)| key);
            self.rest = last.and_then(|last| definition.beyond(keys, last, *direction));
        }
        *count = (*count * 2).min(MOST_ROWS);
        Ok(())
    }
}

impl<'r> Iterator for Rows<'_, '_, 'r> {
    type Item = Result<(OwnedKey, Row<'r>), Error>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.ahead.is_empty()
            && let Some(keys) = self.rest.take()
            && let Err(error) = self.read_ahead(keys)
        {
            return Some(Err(error));
        }
        self.ahead.pop_front().map(Ok)
    }
}

impl Definition {
    /// Returns the keys of `range` that a scan in `direction` meets after `last`, if there are any.
    pub fn beyond(
        &self,
        range: OwnedKeys,
        last: &OwnedKey,
        direction: Direction,
    ) -> Option<OwnedKeys> {
        match (range, last, direction) {
            (OwnedKeys::Numbers(range), OwnedKey::Number(last), Direction::Forward) => {
                KeyRange::new(last.checked_add(1)?, range.last()).ok().map(OwnedKeys::Numbers)
            }
            (OwnedKeys::Numbers(range), OwnedKey::Number(last), Direction::Backward) => {
                KeyRange::new(range.first(), last.checked_sub(1)?).ok().map(OwnedKeys::Numbers)
            }
            (OwnedKeys::Bytes { first, last }, OwnedKey::Bytes(met), direction) => {
                let KeyKind::Bytes { most } = self.schema.key else { return None };
                let (first, last) = match direction {
                    Direction::Forward => (byte_key_after(met, most.into())?, last),
                    Direction::Backward => (first, Some(byte_key_before(met, most.into())?)),
                };
                let within = last.as_ref().is_none_or(|last| first <= *last);
                within.then_some(OwnedKeys::Bytes { first, last })
            }
            _ => None,
        }
    }
}
