//! Actions: the parts of a transaction that different cores can do at the same time.

use crate::{Abort, Access, TableId};

/// The work of an action: accesses to rows of one owner.
pub type ActionBody<'a> = dyn FnMut(&mut dyn Access) -> Result<(), Abort> + Send + 'a;

/// A part of a transaction that accesses the data of one owner: the node of a flow graph (DORA, Pandis et al., PVLDB 2010,
/// section 4.1).
///
/// A procedure that is split into actions is a sequence of stages. The actions of a stage do not depend on each other
/// ([`Access::run_actions`]). The end of a stage is a rendezvous point: what its actions have found out is known to the actions
/// of the next one.
pub struct Action<'a> {
    /// Table of the routing key.
    pub table: TableId,
    /// Routing key. The action runs where the row `key` of `table` belongs, and accesses only rows of the same owner. Of
    /// rows that every owner has, it reads the copy of this owner.
    pub key: u64,
    /// Number of bytes that the action is given, or that it gives back, whichever is more. The values of rows that it reads and
    /// writes where it runs do not count. A simulated machine charges for this number on both ways.
    pub bytes: usize,
    /// The work. It is done once.
    pub body: &'a mut ActionBody<'a>,
}

impl<'a> Action<'a> {
    /// Returns an action at the row `key` of `table`, which exchanges `bytes` bytes with the rest of its transaction.
    pub fn new(
        (table, key): (TableId, u64),
        bytes: usize,
        body: &'a mut ActionBody<'a>,
    ) -> Action<'a> {
        Action { table, key, bytes, body }
    }
}
