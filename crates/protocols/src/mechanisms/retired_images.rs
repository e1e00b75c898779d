//! The images of retired writes: how a transaction sees writes that are not committed yet.
//!
//! A record holds its committed row. A retired write has an image in a slot that is laid out like
//! the table's records. The image holds the columns that the write changes, the row's state and the
//! version. A request sees the record, overlaid by the images of all retired writes ahead of it, in
//! list order. An image that holds all requested columns hides everything below it, so nothing
//! below is looked at.
//!
//! The record, the images and the list are read and changed only under the lock's latch. So an
//! image's slot can be used again as soon as its request has left the list.

use super::retiring_queue::{Record, RetiringLocks};
use machine::{Core, Machine};
use storage::RowHead;
use txn::ColumnSet;

impl<M: Machine> RetiringLocks<M> {
    /// Copies the row that `request` sees, without the transaction's own writes. Called with the
    /// lock granted and latched.
    #[inline]
    pub fn copy_out(
        &self,
        core: &M::Core,
        record: &Record<'_, M>,
        request: u64,
        columns: ColumnSet,
        out: &mut [u8],
    ) -> RowHead {
        // Go back to the newest image that hides everything below it.
        let mut at = self.previous(core, request);
        while at != 0 {
            match self.image(core, record, at) {
                Some((_, held)) if held.contains(columns) => break,
                _ => at = self.previous(core, at),
            }
        }
        if at == 0 && self.first(core, record) == request {
            return record.copy_out(core, columns, out);
        }
        let mut head = RowHead::default();
        if at == 0 {
            head = record.copy_out(core, columns, out);
            at = self.first(core, record);
        }
        while at != request {
            if let Some((slot, held)) = self.image(core, record, at) {
                head = slot.head(core);
                if head.state.is_present() {
                    slot.copy_held(core, columns, held, out);
                }
            }
            at = self.next(core, at);
        }
        head
    }

    /// Returns the image of a retired write and the columns that it holds. None if the write has no
    /// image.
    #[inline(always)]
    fn image<'s>(
        &self,
        core: &M::Core,
        record: &Record<'s, M>,
        request: u64,
    ) -> Option<(Record<'s, M>, ColumnSet)> {
        if !self.is_retired_write(core, request) {
            return None;
        }
        let own = self.at(request);
        let image = core.load_relaxed(&own.line, &own.image);
        let columns = ColumnSet(core.load_relaxed(&own.line, &own.columns));
        // SAFETY: images are slots of this record's table; `RetiringLocks::retire` was given each
        // of them.
        (image != 0).then(|| (unsafe { record.slot_at(image) }, columns))
    }
}
