//! Generates the bytes of fields: the loaded values, and a distinct value for every update.

/// An odd multiplier with evenly distributed bits. Its multiples by different numbers eventually differ in
/// every byte.
const SPREAD: u64 = 0x9e37_79b9_7f4a_7c15;

/// Number of bytes that are folded into a digest together.
const BLOCK: usize = 64;

/// Number of sums that are made side by side.
const LANES: usize = 4;

/// Returns the first stamp of `worker`. Stamps number the worker's transactions, and no other worker has the
/// same stamps.
pub(super) fn first_stamp(worker: usize) -> u64 {
    (worker as u64 + 1) << 40
}

/// Returns the stamp of the worker's next transaction.
#[inline]
pub(super) fn next_stamp(stamp: u64) -> u64 {
    stamp.wrapping_add(1)
}

/// Fills the row `key` with its loaded value.
pub(super) fn initial(key: u64, row: &mut [u8]) {
    fill(row, key.wrapping_mul(SPREAD));
}

/// Generates the value that access number `access` of the transaction `stamp` writes.
#[inline]
pub(super) fn fresh(field: &mut [u8], stamp: u64, access: usize) {
    fill(field, own(stamp, access));
}

/// Changes the value that was read into the value that the access writes. The change is reversible.
#[inline]
pub(super) fn derive(field: &mut [u8], stamp: u64, access: usize) {
    let own = own(stamp, access) | 1;
    let (words, rest) = field.as_chunks_mut::<8>();
    for word in words {
        *word = u64::from_le_bytes(*word).wrapping_add(own).to_le_bytes();
    }
    for (byte, add) in rest.iter_mut().zip(own.to_le_bytes()) {
        *byte = byte.wrapping_add(add);
    }
}

/// Folds the bytes that were read into a digest that depends on every byte.
#[inline(always)]
pub(super) fn fold(digest: u64, field: &[u8]) -> u64 {
    let sum = match (field.first_chunk(), field.last_chunk()) {
        // Two blocks that overlap are faster than a loop.
        (Some(first), Some(last)) if field.len() <= 2 * BLOCK => {
            sum_of(first).wrapping_add(sum_of(last).rotate_left(8))
        }
        _ => sum_of_other(field),
    };
    digest.rotate_left(1) ^ sum
}

/// Returns the sum of the words of a row, or of a field of less than a block.
#[inline(never)]
fn sum_of_other(row: &[u8]) -> u64 {
    let (blocks, rest) = row.as_chunks();
    let mut lanes = [0; LANES];
    for block in blocks {
        add(&mut lanes, block);
    }
    let sum = lanes.iter().fold(0, |sum: u64, lane| sum.wrapping_add(*lane));
    let last = match row.last_chunk() {
        _ if rest.is_empty() => 0,
        Some(last) => sum_of(last),
        None => sum_of_few(rest),
    };
    sum.wrapping_add(last.rotate_left(8))
}

/// Returns the sum of the words of a block.
#[inline(always)]
fn sum_of(block: &[u8; BLOCK]) -> u64 {
    let mut lanes = [0; LANES];
    add(&mut lanes, block);
    lanes.iter().fold(0, |sum: u64, lane| sum.wrapping_add(*lane))
}

/// Adds the words of a block to independent sums, so that the compiler adds several words at a time.
#[inline(always)]
fn add(lanes: &mut [u64; LANES], block: &[u8; BLOCK]) {
    let (words, _) = block.as_chunks::<8>();
    for (at, word) in words.iter().enumerate() {
        let lane = &mut lanes[at % LANES];
        *lane = lane.wrapping_add(u64::from_le_bytes(*word));
    }
}

/// Returns the sum of the words of less than a block. The last of them can be shorter.
fn sum_of_few(bytes: &[u8]) -> u64 {
    let (words, rest) = bytes.as_chunks::<8>();
    let last = rest.iter().fold(0, |sum, byte| sum << 8 | u64::from(*byte));
    words.iter().fold(last, |sum, word| sum.wrapping_add(u64::from_le_bytes(*word)))
}

#[inline]
fn own(stamp: u64, access: usize) -> u64 {
    // Access numbers are below 2^12, so stamp and access together identify one update of the run.
    (stamp << 12 | access as u64).wrapping_mul(SPREAD)
}

#[inline]
fn fill(bytes: &mut [u8], mut word: u64) {
    let (words, rest) = bytes.as_chunks_mut::<8>();
    for out in words {
        *out = word.to_le_bytes();
        word = word.wrapping_add(SPREAD);
    }
    for (out, byte) in rest.iter_mut().zip(word.to_le_bytes()) {
        *out = byte;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn updates_differ_by_worker_transaction_and_access() {
        let mut values = Vec::new();
        for worker in 0..3 {
            let mut stamp = first_stamp(worker);
            for _ in 0..3 {
                stamp = next_stamp(stamp);
                for access in 0..3 {
                    let mut field = vec![0; 13];
                    fresh(&mut field, stamp, access);
                    values.push(field);
                }
            }
        }
        let all = values.len();
        values.sort();
        values.dedup();
        assert_eq!(values.len(), all);
    }

    #[test]
    fn a_derived_value_depends_on_what_was_read_and_always_changes_it() {
        let (mut a, mut b) = (vec![1u8; 100], vec![2u8; 100]);
        derive(&mut a, 5, 0);
        derive(&mut b, 5, 0);
        assert_ne!(a, b);
        assert_ne!(a, vec![1u8; 100]);
    }

    #[test]
    fn the_digest_sees_every_byte() {
        let field = vec![3u8; 101];
        for i in 0..field.len() {
            let mut other = field.clone();
            other[i] ^= 0x80;
            assert_ne!(fold(0, &field), fold(0, &other), "byte {i}");
        }
    }
}
