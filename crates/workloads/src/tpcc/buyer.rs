//! Finds a customer by last name (clauses 2.5.2.2 and 2.6.2.2).

use super::client::Desk;
use super::columns::{CUSTOMER_BY_NAME, by_name};
use super::draw::Who;
use super::keys::{self, Place};
use std::ops::ControlFlow;
use txn::{Abort, Access, Direction, variable};

impl Desk {
    /// Returns the number of a customer. If several have the same last name, it is the middle customer in the
    /// order of first names, rounded up.
    pub(super) fn number_of<A: Access + ?Sized>(
        &mut self,
        access: &mut A,
        place: Place,
        who: Who,
    ) -> Result<u64, Abort> {
        let name = match who {
            Who::Number(number) => return Ok(number),
            Who::Named(name) => name,
        };
        let named = &mut self.named;
        named.clear();
        let range = place.all_named(name);
        access.scan(
            CUSTOMER_BY_NAME,
            range.into(),
            Direction::Forward,
            by_name::FIRST,
            &mut |key, first| {
                // A name followed by zeros has the same place in the order as the name.
                let (first, mut padded) = (variable(first).unwrap_or(&[]), [0; 16]);
                padded[..first.len()].copy_from_slice(first);
                named.push((padded, keys::customer_of_name(key.number())));
                ControlFlow::Continue(())
            },
        )?;
        assert!(!named.is_empty(), "customers with name {name} were loaded in every district");
        named.sort_unstable();
        Ok(named[named.len().div_ceil(2) - 1].1)
    }
}
