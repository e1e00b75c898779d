//! Defines the initial contents of the tables by a rule, so that a loader and a law can compute them for any
//! subscriber.
//!
//! As specified, every subscriber has one to four of the four types of access information and of special
//! facilities. Each facility forwards calls from zero to three of the three starting times. All counts are
//! equally likely.

use crate::stream::mix;

/// Sets of types out of four, by their size from one to four, as bits.
const OF_FOUR: [&[u8]; 4] = [&[1, 2, 4, 8], &[3, 5, 6, 9, 10, 12], &[7, 11, 13, 14], &[15]];

/// Sets of starting times out of three, by their size from zero to three, as bits.
const OF_THREE: [&[u8]; 4] = [&[0], &[1, 2, 4], &[3, 5, 6], &[7]];

/// Returns random bits that belong to row `key` of a table.
fn bits(table: u64, key: u64) -> u64 {
    mix(key.wrapping_mul(8).wrapping_add(table))
}

fn draw(sets: [&[u8]; 4], bits: u64) -> u8 {
    let sets = sets[(bits % 4) as usize];
    sets[((bits >> 8) % sets.len() as u64) as usize]
}

/// Returns the subscriber's types of access information, one bit each.
pub(super) fn access_types(subscriber: u64) -> u8 {
    draw(OF_FOUR, bits(1, subscriber))
}

/// Returns the subscriber's types of special facilities, one bit each.
pub(super) fn facility_types(subscriber: u64) -> u8 {
    draw(OF_FOUR, bits(2, subscriber))
}

/// Returns whether a facility is active. 85 % are.
pub(super) fn is_active(facility: u64) -> bool {
    bits(3, facility) % 100 < 85
}

/// Returns the starting times from which a facility forwards calls, one bit each.
pub(super) fn forwarded(facility: u64) -> u8 {
    draw(OF_THREE, bits(4, facility))
}

/// Returns the end of a forwarding that starts at `start`: one to eight hours later.
pub(super) fn end_time(forwarding: u64, start: u64) -> u8 {
    (start + 1 + bits(5, forwarding) % 8) as u8
}

/// Returns the subscriber's initial location.
pub(super) fn location(subscriber: u64) -> u64 {
    bits(6, subscriber) >> 32
}

/// Fills `row` with bytes that depend on its key.
pub(super) fn fill(key: u64, row: &mut [u8]) {
    for (at, byte) in row.iter_mut().enumerate() {
        *byte = (bits(7, key) >> (at % 8 * 8)) as u8;
    }
}

/// Returns the 15 digits of `number`.
pub(super) fn digits(mut number: u64) -> [u8; 15] {
    let mut digits = [b'0'; 15];
    for digit in digits.iter_mut().rev() {
        *digit = b'0' + (number % 10) as u8;
        number /= 10;
    }
    digits
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sets_have_the_sizes_and_members_that_are_specified() {
        let mut sizes = [[0u32; 5]; 3];
        let mut members = [0u32; 4];
        for subscriber in 0..40_000 {
            let sets =
                [access_types(subscriber), facility_types(subscriber), forwarded(subscriber)];
            for (sizes, set) in sizes.iter_mut().zip(sets) {
                sizes[set.count_ones() as usize] += 1;
            }
            (0..4).for_each(|t| members[t] += u32::from(sets[0] >> t & 1));
        }
        let quarter = |n: &u32| (9_600..10_400).contains(n);
        assert!(sizes[0][1..].iter().all(quarter) && sizes[1][1..].iter().all(quarter));
        assert!(sizes[2][..4].iter().all(quarter), "{sizes:?}");
        assert!(members.iter().all(|n| (24_400..25_600).contains(n)), "{members:?}");
        let active = (0..40_000).filter(|f| is_active(*f)).count();
        assert!((33_600..34_400).contains(&active), "{active}");
        assert!((0..1000).all(|f| (9..=16).contains(&end_time(f, 8))));
    }

    #[test]
    fn a_number_has_fifteen_digits() {
        assert_eq!(&digits(0), b"000000000000000");
        assert_eq!(&digits(1_203), b"000000000001203");
    }
}
