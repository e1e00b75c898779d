//! Generates random texts and last names (clause 4.3.2).

use crate::stream::Stream;

/// Letters of a random text (4.3.2.2): 26 lower-case letters, 26 capitals, 10 digits.
const LETTERS: &[u8; 62] = b"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789";

/// Syllables of last names (4.3.2.3).
const SYLLABLES: [&str; 10] =
    ["BAR", "OUGHT", "ABLE", "PRI", "PRES", "ESE", "ANTI", "CALLY", "ATION", "EING"];

/// Number of last names.
pub const NAMES: u64 = 1000;

/// Text that one in ten texts of items and of stock contains (4.3.3.1).
pub const ORIGINAL: &[u8; 8] = b"ORIGINAL";

/// Fills `out` with a text of at least `least` letters and at most its own length, followed by zeros. Returns
/// the length of the text.
pub(super) fn letters(stream: &mut Stream, out: &mut [u8], least: usize) -> usize {
    random(stream, out, least, LETTERS)
}

/// Fills `out` with digits (an n-string).
pub(super) fn digits(stream: &mut Stream, out: &mut [u8]) {
    let length = out.len();
    random(stream, out, length, &LETTERS[52..]);
}

fn random(stream: &mut Stream, out: &mut [u8], least: usize, letters: &[u8]) -> usize {
    let length = least + stream.below((out.len() - least + 1) as u64) as usize;
    for part in out[..length].chunks_mut(8) {
        // Each number yields eight letters: the remainder after a letter determines the next.
        let mut bits = stream.bits();
        for place in part {
            let scaled = u128::from(bits) * letters.len() as u128;
            *place = letters[(scaled >> 64) as usize];
            bits = scaled as u64;
        }
    }
    out[length..].fill(0);
    length
}

/// Fills `out` with a text that contains ORIGINAL with a probability of one in ten.
pub(super) fn data(stream: &mut Stream, out: &mut [u8], least: usize) {
    let length = letters(stream, out, least);
    if stream.below(10) == 0 {
        let at = stream.below((length - ORIGINAL.len() + 1) as u64) as usize;
        out[at..at + ORIGINAL.len()].copy_from_slice(ORIGINAL);
    }
}

/// Returns true if `text` contains ORIGINAL.
pub(super) fn is_original(text: &[u8]) -> bool {
    text.windows(ORIGINAL.len()).any(|part| part == ORIGINAL)
}

/// Generates two street lines, a city, a state and a zip code (4.3.2.7), in the layout of a row: 71 bytes.
pub(super) fn address(stream: &mut Stream, out: &mut [u8]) {
    for line in out[..60].chunks_mut(20) {
        letters(stream, line, 10);
    }
    letters(stream, &mut out[60..62], 2);
    out[60..62].make_ascii_uppercase();
    digits(stream, &mut out[62..66]);
    out[66..71].copy_from_slice(b"11111");
}

/// Writes last name number `name` (4.3.2.3) into `out`: a syllable for each of three digits. Transactions
/// receive the number, because names and numbers determine each other.
pub fn last_name(name: u64, out: &mut [u8]) {
    out.fill(0);
    let mut at = 0;
    for digit in [name / 100, name / 10 % 10, name % 10] {
        let syllable = SYLLABLES[digit as usize].as_bytes();
        out[at..at + syllable.len()].copy_from_slice(syllable);
        at += syllable.len();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn names_and_numbers_determine_each_other_and_fit() {
        let name = |number| {
            let mut name = [0; 16];
            last_name(number, &mut name);
            name
        };
        assert_eq!(&name(371), b"PRICALLYOUGHT\0\0\0");
        assert_eq!(&name(40), b"BARPRESBAR\0\0\0\0\0\0");
        assert_eq!((0..NAMES).map(name).collect::<BTreeSet<_>>().len(), 1000);
    }

    #[test]
    fn texts_have_the_lengths_and_the_letters_asked_for() {
        let mut stream = Stream::of_worker(3, 0);
        let (mut lengths, mut seen, mut originals) = (BTreeSet::new(), BTreeSet::new(), 0);
        for _ in 0..5000 {
            let mut out = [7; 50];
            data(&mut stream, &mut out, 26);
            let length = out.iter().position(|b| *b == 0).unwrap_or(50);
            assert!(out[length..].iter().all(|b| *b == 0));
            lengths.insert(length);
            seen.extend(out[..length].iter().copied());
            originals += u32::from(is_original(&out));
        }
        assert!(lengths.iter().copied().eq(26..=50));
        assert!(seen.iter().all(u8::is_ascii_alphanumeric) && seen.len() == 62);
        assert!((400..600).contains(&originals), "{originals}");
        let mut place = [0; 71];
        address(&mut stream, &mut place);
        assert!(place[60..62].iter().all(u8::is_ascii_uppercase));
        assert!(place[62..66].iter().all(u8::is_ascii_digit) && place.ends_with(b"11111"));
    }
}
