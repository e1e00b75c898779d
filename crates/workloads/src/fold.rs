//! Folds bytes that were read into a digest, with few instructions.
//!
//! Clients read every byte of what they ask for, as a program does that uses it. So the compiler keeps the reads.

/// Number of bytes that are folded into a digest together.
pub(crate) const BLOCK: usize = 64;

/// Number of sums that are made side by side.
const LANES: usize = 4;

/// Folds the bytes that were read into a digest that depends on every byte.
#[inline(always)]
pub(crate) fn fold(digest: u64, field: &[u8]) -> u64 {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_digest_sees_every_byte() {
        for length in [1, 9, 64, 90, 101, 128, 191] {
            let bytes = vec![3u8; length];
            for i in 0..length {
                let mut other = bytes.clone();
                other[i] ^= 0x80;
                assert_ne!(fold(0, &bytes), fold(0, &other), "byte {i} of {length}");
            }
        }
    }
}
