//! Keys that are bytes: where a record keeps its key, and how it is found.
//!
//! The key lies behind the columns: a word for its length, then its bytes. The key word of the header holds a digest
//! of the key. The hash index and partitions use the digest. Two keys with the same digest have two records, which are
//! distinguished by comparing the bytes.
//!
//! In tables in key order the tree holds the key of each record, so the record does not hold it again.

use crate::{
    Record, Shape,
    index::{ByteKey, key::KeyBuffer},
    key_layout::ordered_width,
};
use machine::{Core, Machine};
use txn::MAX_KEY_BYTES;

impl<M: Machine> Shape<M> {
    /// Returns the bytes of a key of a table in order of bytes.
    ///
    /// # Panics
    /// If the table is not in order of keys of bytes.
    pub fn bytes_of<'b>(&self, key: ByteKey, buffer: &'b mut KeyBuffer) -> &'b [u8] {
        let width = ordered_width(self.schema()).expect("the table's keys are bytes");
        key.bytes(width, buffer)
    }
}

impl<M: Machine> Record<'_, M> {
    /// Sets the key of a record that no other session can reach yet.
    pub(crate) fn set_key_bytes(&self, key: &[u8]) {
        let words = self.key_bytes_words();
        words[0].poke(key.len() as u64);
        for (word, chunk) in words[1..].iter().zip(key.chunks(8)) {
            let mut last = [0; 8];
            last[..chunk.len()].copy_from_slice(chunk);
            word.poke(u64::from_le_bytes(last));
        }
    }

    /// Returns true if the record has the key `key`. Called by index probes. Compares the bytes only if the digest is
    /// equal.
    pub(crate) fn has_key_bytes(&self, core: &M::Core, digest: u64, key: &[u8]) -> bool {
        if !self.has_key(core, digest) {
            return false;
        }
        let words = self.key_bytes_words();
        let (line, at) = (self.body_line(), self.table().layout().words() * 8);
        let mut buffer = [0; MAX_KEY_BYTES];
        let own = &mut buffer[..key.len()];
        if core.load_const(line, &words[0]) != key.len() as u64 {
            return false;
        }
        core.copy_out(line, at + 8, &words[1..], own);
        own == key
    }

    /// Returns the bytes of the record's key, in tables without order, where the record keeps them.
    pub(crate) fn key_bytes<'b>(
        &self,
        core: &M::Core,
        buffer: &'b mut [u8; MAX_KEY_BYTES],
    ) -> &'b [u8] {
        let words = self.key_bytes_words();
        let (line, at) = (self.body_line(), self.table().layout().words() * 8);
        let own = &mut buffer[..core.load_const(line, &words[0]) as usize];
        core.copy_out(line, at + 8, &words[1..], own);
        own
    }

    /// Like [`Record::key_bytes`], for a recorder: this is no access of the modelled machine. Returns an empty vector
    /// where keys are numbers.
    pub(crate) fn kept_key_bytes(&self) -> Vec<u8> {
        let Some((length, words)) = self.key_bytes_words().split_first() else { return Vec::new() };
        let mut bytes: Vec<u8> = words.iter().flat_map(|word| word.peek().to_le_bytes()).collect();
        bytes.truncate(length.peek() as usize);
        bytes
    }

    /// Like [`Record::history_key`], for a recorder, of a record that does not exist by rule.
    pub(crate) fn kept_history_key(&self) -> u64 {
        if self.table().has_byte_keys() { self.name().offset } else { self.key_word().peek() }
    }

    /// Returns a number for the record's key in histories: the key itself, or the offset of a record with a key of
    /// bytes. Recorded runs never reuse the slot of a record with a key of bytes.
    #[inline(always)]
    pub fn history_key(&self, core: &M::Core) -> u64 {
        if self.table().has_byte_keys() { self.name().offset } else { self.key(core) }
    }
}
