//! What retired writes show to others: an image each, laid over the record.
//!
//! A record has what is committed. The image of a retired write has what it makes of its columns, the row's state
//! and the version, in a slot as the table's records have them; a request sees the record with the images of all
//! retired writes before it, in order. Where one hides all that is below it nothing below is looked at.
//!
//! Records, images and the list are read and changed under the lock's latch, so an image's slot is used again as
//! soon as its request has left the list.

use super::retiring_queue::{Record, RetiringLocks};
use machine::{Core, Machine};
use storage::RowHead;
use txn::ColumnSet;

impl<M: Machine> RetiringLocks<M> {
    /// Copies what `request` sees of the row, own writes apart. Call with the lock granted and latched.
    #[inline]
    pub fn copy_out(
        &self,
        core: &M::Core,
        record: &Record<'_, M>,
        request: u64,
        columns: ColumnSet,
        out: &mut [u8],
    ) -> RowHead {
        // Back to the newest image that hides all that is below it.
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

    /// What a retired write shows, and the columns of it.
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
        // SAFETY: images are slots made for this record's table; `RetiringLocks::retire` has been given one.
        (image != 0).then(|| (unsafe { record.slot_at(image) }, columns))
    }
}
