//! What keys take: words of a record, words of a tree's node, and a number where a number has to do.

use crate::index::key::words_for;
use txn::{KeyKind, TableSchema};

/// Words that a record of `schema` needs for its key, beside the one of all records.
pub(crate) fn key_words(schema: &TableSchema) -> usize {
    match schema.key {
        KeyKind::Integer => 0,
        KeyKind::Bytes { .. } if schema.index.is_ordered() => 0,
        KeyKind::Bytes { most } => 1 + usize::from(most).div_ceil(8),
    }
}

/// Words that an ordered index of `schema` needs for a key of bytes; none where keys are numbers.
pub(crate) fn ordered_width(schema: &TableSchema) -> Option<usize> {
    match schema.key {
        KeyKind::Integer => None,
        KeyKind::Bytes { most } => Some(words_for(most.into())),
    }
}

/// Multiply and fold, eight bytes at a time; the length goes first, so that zeros at an end count.
pub(crate) fn digest(key: &[u8]) -> u64 {
    key.chunks(8).fold(key.len() as u64, |digest, chunk| {
        let mut word = [0; 8];
        word[..chunk.len()].copy_from_slice(chunk);
        let mixed = (digest ^ u64::from_le_bytes(word)).wrapping_mul(0x9E37_79B9_7F4A_7C15);
        mixed ^ (mixed >> 29)
    })
}
