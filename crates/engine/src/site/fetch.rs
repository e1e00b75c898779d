//! Reads of rows with columns of variable length. A record holds such a row in held form, and callers get it packed.

use super::{LocalSite, presence};
use machine::Machine;
use protocols::Protocol;
use txn::{Abort, ColumnSet, Intent, Packing, TableId};

impl<M: Machine, P: Protocol<M>> LocalSite<'_, M, P> {
    /// Reads as [`LocalSite::read_number`] does, also columns of variable length. Replaces the content of `out`.
    #[inline(always)]
    pub fn fetch_number(
        &mut self,
        table: TableId,
        key: u64,
        columns: ColumnSet,
        intent: Intent,
        out: &mut Vec<u8>,
    ) -> Result<Option<bool>, Abort> {
        let home = self.data.table(table);
        if home.unfetchable_columns().intersects(columns) {
            return Ok(None);
        }
        let Some(runs) = home.shape().runs_of(columns) else { return Ok(None) };
        let Some(record) = self.find_whole(home, key)? else { return Ok(None) };
        let found = self.fetch_by(runs.packing(), out, |site, held| {
            // SAFETY: the record was found in the owner's store.
            presence(unsafe { site.protocol.read_directly(record, columns, intent, held) })
        })?;
        Ok(Some(found))
    }

    /// Has `read` fill a buffer with columns in held form, and packs them into `out` if it returns that the row is there.
    #[inline(always)]
    pub(super) fn fetch_by(
        &mut self,
        packing: &Packing,
        out: &mut Vec<u8>,
        read: impl FnOnce(&mut Self, &mut [u8]) -> Result<bool, Abort>,
    ) -> Result<bool, Abort> {
        // Without values outside the record the row is packed where it is read. There is one call of `read`, so that the compiler
        // can put it in here.
        let apart = packing.has_values_apart();
        let mut held = std::mem::take(if apart { &mut self.held } else { &mut *out });
        held.resize(packing.held_bytes(), 0);
        let found = read(self, &mut held);
        if apart {
            self.pack_apart(packing, held, found == Ok(true), out);
            return found;
        }
        match found {
            Ok(true) => packing.pack_in_place(&mut held),
            _ => held.clear(),
        }
        *out = held;
        found
    }

    /// Packs `held` into `out` if the row was found. Keeps the buffer `held`.
    #[inline(never)]
    fn pack_apart(&mut self, packing: &Packing, held: Vec<u8>, found: bool, out: &mut Vec<u8>) {
        out.clear();
        if found {
            let (core, values) = (self.data.core, self.data.store.values());
            packing.pack(&held, out, |word, out| values.load(core, word, out));
        }
        self.held = held;
    }
}
