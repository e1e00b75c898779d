//! Sorts a few numbers without a branch for each comparison.
//!
//! Most transactions write a few records, at addresses in no order. A sort that decides by branches pays more for those that the
//! processor predicts wrongly than for all the rest.

/// Largest number of numbers that are sorted in this way. Its work grows with the square of the number.
const FEW: usize = 16;

/// Sorts numbers in ascending order.
pub(crate) fn sort(numbers: &mut [u64]) {
    if numbers.len() > FEW {
        return numbers.sort_unstable();
    }
    // The rank of a number is the number of those that come before it. Each pair is compared once.
    let mut ranks = [0u8; FEW];
    for at in 1..numbers.len() {
        let (earlier, number) = (&numbers[..at], numbers[at]);
        let mut rank = at as u8;
        for (other, other_rank) in earlier.iter().zip(&mut ranks) {
            let is_behind = u8::from(*other > number);
            *other_rank += is_behind;
            rank -= is_behind;
        }
        ranks[at] = rank;
    }
    let mut sorted = [0; FEW];
    for (number, rank) in numbers.iter().zip(ranks) {
        sorted[usize::from(rank) % FEW] = *number;
    }
    numbers.copy_from_slice(&sorted[..numbers.len()]);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_sorted_whatever_their_number() {
        let mut state = 1u64;
        for length in (0..40).cycle().take(2000) {
            let mut numbers: Vec<u64> = Vec::new();
            for _ in 0..length {
                state = state.wrapping_mul(0x5851_F42D_4C95_7F2D).wrapping_add(1);
                // Small ones come several times.
                numbers.push(if state >> 63 == 0 { state } else { state >> 60 });
            }
            let mut expected = numbers.clone();
            expected.sort_unstable();
            sort(&mut numbers);
            assert_eq!(numbers, expected);
        }
    }
}
