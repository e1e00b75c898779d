//! Sizes of keys: words of a record, words of a tree's node, and a digest where a key must be represented by a number.

use crate::index::key::words_for;
use txn::{KeyKind, TableSchema};

/// Returns the words that a record of `schema` needs for its key, in addition to the key word that every record has.
pub(crate) fn key_words(schema: &TableSchema) -> usize {
    match schema.key {
        KeyKind::Integer => 0,
        KeyKind::Bytes { .. } if schema.index.is_ordered() => 0,
        KeyKind::Bytes { most } => 1 + usize::from(most).div_ceil(8),
    }
}

/// Returns the words that an ordered index of `schema` needs for a key of bytes. Returns none if keys are numbers.
pub(crate) fn ordered_width(schema: &TableSchema) -> Option<usize> {
    match schema.key {
        KeyKind::Integer => None,
        KeyKind::Bytes { most } => Some(words_for(most.into())),
    }
}

/// Returns a digest of `key`, by multiply and fold, eight bytes at a time. The length goes first, so that zeros at the
/// end of a key count.
pub fn digest(key: &[u8]) -> u64 {
    key.chunks(8).fold(key.len() as u64, |digest, chunk| {
        let mut word = [0; 8];
        word[..chunk.len()].copy_from_slice(chunk);
        let mixed = (digest ^ u64::from_le_bytes(word)).wrapping_mul(0x9E37_79B9_7F4A_7C15);
        mixed ^ (mixed >> 29)
    })
}
