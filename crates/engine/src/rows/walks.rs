//! Walks through all rows of a table, piece by piece, with one transaction for each piece. A fuzzy checkpoint
//! is made of walks.

use super::{Place, Sited, Work, undeclared};
use crate::session::{RowVisit, Walk};
use machine::{Category, Core, Machine};
use std::ops::ControlFlow;
use storage::Record;
use txn::{Abort, Intent, Key, KeyRange, TableId};

/// A key that a walk has met. The bytes of a byte key lie in a buffer, from the end of the key before to the
/// given end.
enum MetKey {
    Number(u64),
    Bytes(usize),
}

impl<'s, M: Machine> Work<'_, 's, M> {
    /// Implements [`crate::Session::walk`].
    pub fn walk(
        &mut self,
        table: TableId,
        walk: &Walk,
        visit: &mut RowVisit<'_>,
    ) -> Result<Option<Walk>, Abort> {
        let (core, home, Walk { site, piece }) = (self.rows.core, self.table(table), walk);
        if let Place::Undeclared = self.sites.of_range(table, KeyRange::ALL) {
            return Err(undeclared());
        }
        self.sites.site(*site).approach(home.schema(), KeyRange::ALL)?;
        core.account(Category::Index);
        let (mut met, mut bytes) = (Vec::<(MetKey, Record<'s, M>)>::new(), Vec::new());
        let next = self.sites.site(*site).walk(table, piece, &mut |key, record| {
            let key = match key {
                Key::Number(number) => MetKey::Number(number),
                Key::Bytes(key) => {
                    bytes.extend_from_slice(key);
                    MetKey::Bytes(bytes.len())
                }
            };
            met.push((key, record));
        });
        let layout = home.row_layout();
        let (mut row, mut from) = (vec![0; layout.bytes()], 0);
        for (key, record) in met {
            let key = match key {
                MetKey::Number(number) => Key::Number(number),
                MetKey::Bytes(to) => Key::Bytes(&bytes[std::mem::replace(&mut from, to)..to]),
            };
            // An owner can be loaded with copies of rows that belong to another site. They do not count.
            if self.sites.of_key(table, key) != Some(*site) {
                continue;
            }
            if let (Some(recorder), Key::Bytes(key)) = (&mut self.rows.recorder, key) {
                recorder.spelled(table, record.history_key(core), key);
            }
            let at = Sited { site: *site, record };
            if self.read_row(at, layout.all(), Intent::Read, &mut row)? {
                let _ = self.visit_packed(*site, home, layout.all(), &row, |row| {
                    visit(key, row);
                    ControlFlow::Continue(())
                });
            }
        }
        let next = next.map(|piece| Walk { site: *site, piece });
        let beyond = || Walk { site: site + 1, ..Walk::default() };
        Ok(next.or_else(|| (site + 1 < self.sites.count()).then(beyond)))
    }
}
