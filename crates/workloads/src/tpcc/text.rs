//! Generates random texts and last names (clause 4.3.2).

use super::row::Row;
use crate::stream::Stream;
use memchr::memmem::Finder;
use std::ops::{Deref, DerefMut};

/// Letters of a random text (4.3.2.2): 26 lower-case letters, 26 capitals, 10 digits.
const LETTERS: &[u8; 62] = b"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789";

/// Syllables of last names (4.3.2.3).
const SYLLABLES: [&str; 10] =
    ["BAR", "OUGHT", "ABLE", "PRI", "PRES", "ESE", "ANTI", "CALLY", "ATION", "EING"];

/// Number of last names.
pub const NAMES: u64 = 1000;

/// Text that one in ten texts of items and of stock contains (4.3.3.1).
pub const ORIGINAL: &[u8; 8] = b"ORIGINAL";

/// A text of at most `MOST` bytes.
#[derive(Clone, Copy, Debug)]
pub(super) struct Text<const MOST: usize> {
    bytes: [u8; MOST],
    length: usize,
}

impl<const MOST: usize> Deref for Text<MOST> {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        &self.bytes[..self.length]
    }
}

impl<const MOST: usize> DerefMut for Text<MOST> {
    fn deref_mut(&mut self) -> &mut [u8] {
        &mut self.bytes[..self.length]
    }
}

/// Generates a text of `least` to `MOST` letters (an a-string).
pub(super) fn letters<const MOST: usize>(stream: &mut Stream, least: usize) -> Text<MOST> {
    random(stream, least, LETTERS)
}

/// Generates `COUNT` digits (an n-string).
pub(super) fn digits<const COUNT: usize>(stream: &mut Stream) -> Text<COUNT> {
    random(stream, COUNT, &LETTERS[52..])
}

fn random<const MOST: usize>(stream: &mut Stream, least: usize, letters: &[u8]) -> Text<MOST> {
    let length = least + stream.below((MOST - least + 1) as u64) as usize;
    let mut text = Text { bytes: [0; MOST], length };
    for part in text.chunks_mut(8) {
        // Each number yields eight letters: the remainder after a letter determines the next.
        let mut bits = stream.bits();
        for place in part {
            let scaled = u128::from(bits) * letters.len() as u128;
            *place = letters[(scaled >> 64) as usize];
            bits = scaled as u64;
        }
    }
    text
}

/// Generates a text that contains ORIGINAL with a probability of one in ten.
pub(super) fn data<const MOST: usize>(stream: &mut Stream, least: usize) -> Text<MOST> {
    let mut text = letters::<MOST>(stream, least);
    if stream.below(10) == 0 {
        let at = stream.below((text.len() - ORIGINAL.len() + 1) as u64) as usize;
        text[at..at + ORIGINAL.len()].copy_from_slice(ORIGINAL);
    }
    text
}

/// Looks for ORIGINAL in texts.
#[derive(Clone, Debug)]
pub(super) struct Originals(Finder<'static>);

impl Originals {
    pub fn new() -> Originals {
        Originals(Finder::new(ORIGINAL))
    }

    /// Returns true if `text` contains ORIGINAL.
    #[inline]
    pub fn include(&self, text: &[u8]) -> bool {
        self.0.find(text).is_some()
    }
}

/// Appends two street lines, a city, a state and a zip code (4.3.2.7).
pub(super) fn address(stream: &mut Stream, row: &mut Row<'_>) {
    for _ in 0..3 {
        row.text(&letters::<20>(stream, 10));
    }
    let mut state = letters::<2>(stream, 2);
    state.make_ascii_uppercase();
    let mut zip = *b"xxxx11111";
    zip[..4].copy_from_slice(&digits::<4>(stream));
    row.text(&state).text(&zip);
}

/// Appends last name number `name` (4.3.2.3) to `out`: a syllable for each of three digits. Transactions
/// receive the number, because names and numbers determine each other.
pub fn last_name(name: u64, out: &mut Vec<u8>) {
    for digit in [name / 100, name / 10 % 10, name % 10] {
        out.extend_from_slice(SYLLABLES[digit as usize].as_bytes());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tpcc::columns::{Layouts, WAREHOUSE};
    use std::collections::BTreeSet;

    #[test]
    fn names_and_numbers_determine_each_other_and_fit() {
        let name = |number| {
            let mut name = Vec::new();
            last_name(number, &mut name);
            name
        };
        assert_eq!(name(371), b"PRICALLYOUGHT");
        assert_eq!(name(40), b"BARPRESBAR");
        let names = (0..NAMES).map(name).collect::<BTreeSet<_>>();
        assert!(names.len() == 1000 && names.iter().all(|name| name.len() <= 16));
    }

    #[test]
    fn texts_have_the_lengths_and_the_letters_asked_for() {
        let (mut stream, names) = (Stream::of_worker(3, 0), Originals::new());
        let (mut lengths, mut seen, mut originals) = (BTreeSet::new(), BTreeSet::new(), 0);
        for _ in 0..5000 {
            let text = data::<50>(&mut stream, 26);
            lengths.insert(text.len());
            seen.extend(text.iter().copied());
            originals += u32::from(names.include(&text));
        }
        assert!(lengths.iter().copied().eq(26..=50));
        assert!(seen.iter().all(u8::is_ascii_alphanumeric) && seen.len() == 62);
        assert!((400..600).contains(&originals), "{originals}");
    }

    #[test]
    fn the_word_is_found_wherever_it_is() {
        let originals = Originals::new();
        for length in 0..70 {
            let plain = vec![b'O'; length];
            assert!(!originals.include(&plain));
            for at in 0..(length + 1).saturating_sub(ORIGINAL.len()) {
                let mut text = plain.clone();
                text[at..at + ORIGINAL.len()].copy_from_slice(ORIGINAL);
                assert!(originals.include(&text), "at {at} of {length}");
                text[at + 3] = b'_';
                assert!(!originals.include(&text), "at {at} of {length}");
            }
        }
    }

    #[test]
    fn an_address_has_a_state_and_a_zip_code() {
        let (layouts, mut packed) = (Layouts::new(true), Vec::new());
        let layout = layouts.of(WAREHOUSE);
        let mut row = Row::new(layout, &mut packed);
        row.numbers(&[0, 0]).text(b"name");
        address(&mut Stream::of_worker(3, 0), &mut row);
        let field = |column| layout.field(layout.all(), &packed, column).unwrap();
        assert!((3..6).all(|line| (10..=20).contains(&field(line).len())));
        assert!(field(6).iter().all(u8::is_ascii_uppercase));
        assert!(field(7)[..4].iter().all(u8::is_ascii_digit) && field(7).ends_with(b"11111"));
    }
}
