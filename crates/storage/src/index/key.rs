//! Keys of the trees: how a node compares keys, and where it keeps them.
//!
//! A node holds the first word of each key, its prefix. The prefixes of a node lie together, so a search reads
//! neighbouring words. A key of one word consists of its prefix only. The other words of a longer key, its rest, lie
//! behind the node. A search reads rests only where prefixes are equal.
//!
//! Keys are copied into the nodes, and so are the separators. So no key can be freed while a reader descends, even if
//! the record that the key once belonged to is gone.

use machine::{Arena, Core, Machine, Word, Zeroed};
use std::{cmp::Ordering, fmt, marker::PhantomData};
use txn::MAX_KEY_BYTES;

/// Number of words of a cache line.
pub(super) const LINE_WORDS: usize = 8;

/// Largest number of words of a key.
const MOST_WORDS: usize = words_for(MAX_KEY_BYTES);

/// Cache line of words.
#[repr(C)]
pub(super) struct WordLine<M: Machine> {
    pub line: M::Line,
    pub words: [Word; LINE_WORDS],
}

// SAFETY: the type consists of a line and words, and zeros are valid for all of them.
unsafe impl<M: Machine> Zeroed for WordLine<M> {}

/// Type of key that has an order.
pub trait TreeKey: Copy + Ord + fmt::Debug + Send + Sync + 'static {
    /// Size that all keys of one tree have in common.
    type Width: Copy + fmt::Debug + Send + Sync + 'static;
    /// Place where a node keeps the rests of its keys.
    type Rest<'n, M: Machine>: Copy;

    /// Returns the least key, whether or not a row can have it.
    fn least(width: Self::Width) -> Self;

    /// Returns the greatest key, whether or not a row can have it.
    fn greatest(width: Self::Width) -> Self;

    /// Returns the key just before this one. Returns none if this is the least key.
    fn before(self, width: Self::Width) -> Option<Self>;

    /// Returns the key just behind this one. Returns none if this is the greatest key.
    fn after(self, width: Self::Width) -> Option<Self>;

    /// Returns the first word. It decides the order of two keys unless their first words are equal.
    fn prefix(self) -> u64;

    /// Returns the bytes for the rests of `keys` keys.
    fn rest_bytes<M: Machine>(width: Self::Width, keys: usize) -> u64;

    /// Returns the rests that lie at `offset`.
    ///
    /// # Safety
    /// There must be [`TreeKey::rest_bytes`] bytes at `offset` that were allocated for rests of `keys` keys and never
    /// hold anything else.
    unsafe fn rests<M: Machine>(
        arena: &Arena,
        offset: u64,
        width: Self::Width,
        keys: usize,
    ) -> Self::Rest<'_, M>;

    /// Returns key number `at`, whose prefix is `prefix`.
    fn load<M: Machine>(core: &M::Core, prefix: u64, rests: Self::Rest<'_, M>, at: usize) -> Self;

    /// Compares key number `at`, whose prefix is equal to the prefix of `key`, with `key`.
    fn compare<M: Machine>(
        core: &M::Core,
        rests: Self::Rest<'_, M>,
        at: usize,
        key: Self,
    ) -> Ordering;

    /// Sets the rest of key number `at` to the rest of this key.
    fn store<M: Machine>(self, core: &M::Core, rests: Self::Rest<'_, M>, at: usize);

    /// Like [`TreeKey::store`], without a core. No other thread runs.
    fn poke<M: Machine>(self, rests: Self::Rest<'_, M>, at: usize);
}

impl TreeKey for u64 {
    type Width = ();
    type Rest<'n, M: Machine> = ();

    #[inline(always)]
    fn least((): ()) -> u64 {
        0
    }

    #[inline(always)]
    fn greatest((): ()) -> u64 {
        u64::MAX
    }

    #[inline(always)]
    fn before(self, (): ()) -> Option<u64> {
        self.checked_sub(1)
    }

    #[inline(always)]
    fn after(self, (): ()) -> Option<u64> {
        self.checked_add(1)
    }

    #[inline(always)]
    fn prefix(self) -> u64 {
        self
    }

    #[inline(always)]
    fn rest_bytes<M: Machine>((): (), _: usize) -> u64 {
        0
    }

    // SAFETY: a key of one word has no rest, so this function accesses no memory.
    #[inline(always)]
    unsafe fn rests<M: Machine>(_: &Arena, _: u64, (): (), _: usize) {}

    #[inline(always)]
    fn load<M: Machine>(_: &M::Core, prefix: u64, (): (), _: usize) -> u64 {
        prefix
    }

    #[inline(always)]
    fn compare<M: Machine>(_: &M::Core, (): (), _: usize, _: u64) -> Ordering {
        Ordering::Equal
    }

    #[inline(always)]
    fn store<M: Machine>(self, _: &M::Core, (): (), _: usize) {}

    #[inline(always)]
    fn poke<M: Machine>(self, (): (), _: usize) {}
}

/// Returns the words of a key that has at most `most` bytes, its length included.
pub(crate) const fn words_for(most: usize) -> usize {
    (most + 1).div_ceil(8)
}

/// Key of bytes, in the order of the bytes. In each word the first bytes are the most significant. Zeros follow the
/// last byte of the key. The last byte of the last word holds the length, which decides between keys that differ only
/// in zeros at their ends.
///
/// Not every value is a key of bytes: before and behind each key there are values that only bound ranges. A tree whose
/// keys have few bytes uses only the first words, and the others are zeros.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct ByteKey([u64; MOST_WORDS]);

impl fmt::Debug for ByteKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|word| write!(f, "{word:016x}"))
    }
}

impl ByteKey {
    /// Returns the key `key` of a table whose keys take `width` words.
    ///
    /// # Panics
    /// If the key is too long.
    pub fn new(key: &[u8], width: usize) -> ByteKey {
        assert!(key.len() < width * 8, "a key of {} bytes in {width} words", key.len());
        let mut words = [0; MOST_WORDS];
        for (word, chunk) in words.iter_mut().zip(key.chunks(8)) {
            let mut bytes = [0; 8];
            bytes[..chunk.len()].copy_from_slice(chunk);
            *word = u64::from_be_bytes(bytes);
        }
        words[width - 1] |= key.len() as u64;
        ByteKey(words)
    }

    /// Returns the bytes of which the key was made.
    pub fn bytes(self, width: usize, buffer: &mut [u8; MOST_WORDS * 8]) -> &[u8] {
        for (place, word) in buffer.chunks_exact_mut(8).zip(self.0) {
            place.copy_from_slice(&word.to_be_bytes());
        }
        &buffer[..usize::from(buffer[width * 8 - 1])]
    }
}

/// Buffer with room for the bytes of any key.
pub(crate) type KeyBuffer = [u8; MOST_WORDS * 8];

/// Empty buffer with room for the bytes of any key.
pub(crate) const KEY_BUFFER: KeyBuffer = [0; MOST_WORDS * 8];

/// Words of a node's keys behind their prefixes, key after key.
pub struct RestWords<'n, M: Machine> {
    /// First of the lines that hold the rests of `keys` keys of `words` words each.
    lines: *const WordLine<M>,
    keys: usize,
    /// Number of words of each key's rest.
    words: usize,
    node: PhantomData<&'n WordLine<M>>,
}

impl<M: Machine> Clone for RestWords<'_, M> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<M: Machine> Copy for RestWords<'_, M> {}

impl<'n, M: Machine> RestWords<'n, M> {
    /// Returns word number `word` of the rest of key number `at`, and its line.
    #[inline(always)]
    fn word(&self, at: usize, word: usize) -> (&'n M::Line, &'n Word) {
        assert!(at < self.keys && word < self.words, "a key's rest beyond its node");
        let number = at * self.words + word;
        // SAFETY: the caller of `TreeKey::rests` has promised lines for `keys` rests of `words` words each, and the
        // assertion above keeps the number within them.
        let line = unsafe { &*self.lines.add(number / LINE_WORDS) };
        (&line.line, &line.words[number % LINE_WORDS])
    }
}

impl TreeKey for ByteKey {
    /// Number of words of a key.
    type Width = usize;
    type Rest<'n, M: Machine> = RestWords<'n, M>;

    fn least(_: usize) -> ByteKey {
        ByteKey([0; MOST_WORDS])
    }

    fn greatest(width: usize) -> ByteKey {
        let mut words = [0; MOST_WORDS];
        words[..width].fill(u64::MAX);
        ByteKey(words)
    }

    fn before(mut self, width: usize) -> Option<ByteKey> {
        for word in self.0[..width].iter_mut().rev() {
            let (less, borrows) = word.overflowing_sub(1);
            *word = less;
            if !borrows {
                return Some(self);
            }
        }
        None
    }

    fn after(mut self, width: usize) -> Option<ByteKey> {
        for word in self.0[..width].iter_mut().rev() {
            let (more, carries) = word.overflowing_add(1);
            *word = more;
            if !carries {
                return Some(self);
            }
        }
        None
    }

    #[inline(always)]
    fn prefix(self) -> u64 {
        self.0[0]
    }

    fn rest_bytes<M: Machine>(width: usize, keys: usize) -> u64 {
        let lines = (keys * (width - 1)).div_ceil(LINE_WORDS);
        (lines * size_of::<WordLine<M>>()) as u64
    }

    // SAFETY: the caller promises the lines. `RestWords::word` accesses them only within their number.
    #[inline(always)]
    unsafe fn rests<M: Machine>(
        arena: &Arena,
        offset: u64,
        width: usize,
        keys: usize,
    ) -> RestWords<'_, M> {
        let lines = arena.address(offset).cast_const().cast();
        RestWords { lines, keys, words: width - 1, node: PhantomData }
    }

    #[inline]
    fn load<M: Machine>(
        core: &M::Core,
        prefix: u64,
        rests: RestWords<'_, M>,
        at: usize,
    ) -> ByteKey {
        let mut words = [0; MOST_WORDS];
        words[0] = prefix;
        for (number, place) in words[1..].iter_mut().enumerate().take(rests.words) {
            let (line, word) = rests.word(at, number);
            *place = core.load_relaxed(line, word);
        }
        ByteKey(words)
    }

    #[inline]
    fn compare<M: Machine>(
        core: &M::Core,
        rests: RestWords<'_, M>,
        at: usize,
        key: ByteKey,
    ) -> Ordering {
        for number in 0..rests.words {
            let (line, word) = rests.word(at, number);
            let order = core.load_relaxed(line, word).cmp(&key.0[1 + number]);
            if order.is_ne() {
                return order;
            }
        }
        Ordering::Equal
    }

    fn store<M: Machine>(self, core: &M::Core, rests: RestWords<'_, M>, at: usize) {
        for number in 0..rests.words {
            let (line, word) = rests.word(at, number);
            core.store(line, word, self.0[1 + number]);
        }
    }

    fn poke<M: Machine>(self, rests: RestWords<'_, M>, at: usize) {
        (0..rests.words).for_each(|number| rests.word(at, number).1.poke(self.0[1 + number]));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn keys_of_bytes_are_ordered_as_their_bytes(
            a in prop::collection::vec(prop_oneof![Just(0u8), Just(1), Just(255), any::<u8>()], 0..=17),
            b in prop::collection::vec(prop_oneof![Just(0u8), Just(1), Just(255), any::<u8>()], 0..=17),
            most in 17..=64usize,
        ) {
            let width = words_for(most);
            let [x, y] = [&a, &b].map(|key| ByteKey::new(key, width));
            prop_assert_eq!(x.cmp(&y), a.cmp(&b));
            let mut buffer = KEY_BUFFER;
            prop_assert_eq!(x.bytes(width, &mut buffer), &a[..]);
            prop_assert!(ByteKey::least(width) <= x && x <= ByteKey::greatest(width));
            let behind = x.after(width).unwrap();
            prop_assert!(x < behind && behind.before(width) == Some(x));
            prop_assert!(y <= x || behind <= y);
        }
    }

    #[test]
    fn nothing_lies_beyond_the_ends() {
        for width in 1..=MOST_WORDS {
            assert_eq!(ByteKey::least(width).before(width), None);
            assert_eq!(ByteKey::greatest(width).after(width), None);
            let longest = ByteKey::new(&vec![0xFF; width * 8 - 1], width);
            assert!(longest < ByteKey::greatest(width));
        }
        let carried = ByteKey::new(&[0, 0, 0, 0, 0, 0, 0, 1], 2).before(2).unwrap();
        assert!(
            carried > ByteKey::new(&[0; 8], 2)
                && carried < ByteKey::new(&[0, 0, 0, 0, 0, 0, 0, 1], 2)
        );
    }
}
