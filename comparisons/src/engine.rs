//! The operations that every engine implements for the comparison, and the rows that all engines hold.

use std::{ops::Range, sync::OnceLock};

/// Number of rows that a transaction loads.
pub const BATCH: u64 = 1000;

/// Shape of the only table. All keys are 64-bit integers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shape {
    /// Values are 64-bit integers.
    Numbers,
    /// Values are bytes. The first number is the shortest length, the second one the longest.
    Strings(usize, usize),
}

/// An open database with one table. Every method but `load` and `own_bytes` is one committed transaction. Those that write
/// return the number of times that the transaction lost against another one and ran again.
pub trait Engine: Sync {
    /// Loads the rows with these keys in one transaction. Their values are those of [`number`] or [`Text::fill`].
    fn load(&self, keys: Range<u64>);
    /// Returns the number of a row.
    fn number(&self, key: u64) -> Option<u64>;
    /// Inserts a row with a number.
    fn insert(&self, key: u64, value: u64) -> u64;
    /// Shows all rows with these keys, in order.
    fn range(&self, keys: Range<u64>, see: impl FnMut(u64, u64));
    /// Reads four numbers, adds one to each, and writes them.
    fn add_one(&self, keys: [u64; 4]) -> u64;
    /// Shows the string of a row. Returns false if there is no such row.
    fn string(&self, key: u64, see: impl FnMut(&[u8])) -> bool;
    /// Overwrites the string of a row that exists.
    fn overwrite(&self, key: u64, value: &[u8]) -> u64;
    /// Returns the number of bytes that the engine itself says the rows take, and what that number is.
    fn own_bytes(&self) -> (u64, &'static str);
    /// Returns bytes in memory that the process does not count as its own.
    fn outside_bytes(&self) -> u64 {
        0
    }
}

/// Returns the number that row `key` has after loading.
pub fn number(key: u64) -> u64 {
    mixed(key ^ 0x5bd1_e995)
}

/// Returns a number that looks random, one to one (the finalizer of splitmix64).
pub fn mixed(number: u64) -> u64 {
    let number = number.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let number = (number ^ (number >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let number = (number ^ (number >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    number ^ (number >> 31)
}

/// A sequence of random numbers.
pub struct Random(u64);

impl Random {
    pub fn of(seed: u64) -> Random {
        Random(mixed(seed))
    }

    /// Returns a number below `bound`.
    #[inline]
    pub fn below(&mut self, bound: u64) -> u64 {
        self.0 = self.0.wrapping_add(1);
        ((u128::from(mixed(self.0)) * u128::from(bound)) >> 64) as u64
    }
}

/// Number of bytes at the front of a string: its key, its length, and where in the noise the rest begins.
const FRONT: usize = 16;

/// Number of places in the noise at which a string can begin.
const PLACES: usize = 4096;

/// Returns bytes without a pattern, from which strings are cut.
fn noise() -> &'static [u8] {
    static NOISE: OnceLock<Vec<u8>> = OnceLock::new();
    NOISE.get_or_init(|| (0..2 * PLACES as u64).map(|at| mixed(at) as u8).collect())
}

/// Writes strings that say which row they belong to, and checks every byte of those that were read.
pub struct Text {
    noise: &'static [u8],
    bytes: Vec<u8>,
    shape: (usize, usize),
}

impl Text {
    pub fn of(shape: Shape) -> Text {
        let Shape::Strings(shortest, longest) = shape else { panic!("a table of numbers") };
        assert!((FRONT..=PLACES).contains(&shortest) && (shortest..=PLACES).contains(&longest));
        Text { noise: noise(), bytes: Vec::new(), shape: (shortest, longest) }
    }

    /// Returns a string for row `key`, whose length and content depend on `seed`.
    pub fn fill(&mut self, key: u64, seed: u64) -> &[u8] {
        let mut random = Random::of(seed);
        let (shortest, longest) = self.shape;
        let length = shortest + random.below((longest - shortest + 1) as u64) as usize;
        let place = random.below(PLACES as u64) as usize;
        self.bytes.clear();
        self.bytes.extend(key.to_le_bytes());
        self.bytes.extend((length as u32).to_le_bytes());
        self.bytes.extend((place as u32).to_le_bytes());
        self.bytes.extend(&self.noise[place..place + length - FRONT]);
        &self.bytes
    }

    /// Panics unless `bytes` is a string that [`Text::fill`] has written for row `key`.
    #[inline]
    pub fn check(&self, key: u64, bytes: &[u8]) {
        let word = |at: usize| bytes[at..at + 4].try_into().map(u32::from_le_bytes).unwrap_or(0);
        assert_eq!(bytes[..8], key.to_le_bytes(), "the string of another row");
        assert_eq!(word(8) as usize, bytes.len(), "a string that was cut or mixed");
        let place = word(12) as usize;
        assert!(bytes[FRONT..] == self.noise[place..place + bytes.len() - FRONT], "other bytes");
    }
}

/// Returns `bytes` as a number.
#[inline]
pub fn word(bytes: &[u8]) -> u64 {
    u64::from_le_bytes(bytes.try_into().expect("a number has eight bytes"))
}
