//! Generates the bytes of fields: the loaded values, and a distinct value for every update.

/// An odd multiplier with evenly distributed bits. Its multiples by different numbers eventually differ in
/// every byte.
const SPREAD: u64 = 0x9e37_79b9_7f4a_7c15;

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
}
