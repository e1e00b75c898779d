//! Runs of words that are copied together between a place in shared memory and a buffer.

use std::ops::Range;

/// Number of equal runs from which they are copied in a loop of their own.
const FEWEST_EQUAL: usize = 3;

/// Some runs of words of one place. In a buffer their bytes follow each other without gaps.
///
/// It is worked out once which words and which bytes the runs touch at most. So one look at two lengths shows that a copy
/// of all runs touches nothing else.
#[derive(Debug)]
pub struct Runs {
    /// Runs of which a word or at least two words can be copied, up to several equal ones.
    usual: Box<[Run]>,
    /// The runs behind the usual ones.
    rest: Box<[Run]>,
    /// Number of runs at the front of `rest` that are equally long and equally far from one another.
    equal: usize,
    words: usize,
    bytes: usize,
}

/// One run of words.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Run {
    word: u32,
    bytes: u32,
    at: u32,
    copied: u32,
}

impl Runs {
    /// Returns the runs that begin at these words and have so many bytes, in the order in which a buffer has them. No run is empty.
    pub fn new(runs: impl IntoIterator<Item = (u32, u32)>) -> Runs {
        let (mut at, mut words) = (0, 0);
        let mut usual: Vec<Run> = runs
            .into_iter()
            .map(|(word, bytes)| {
                let run = Run { word, bytes, at, copied: bytes };
                at += bytes;
                words = words.max(run.words().end);
                run
            })
            .collect();
        for run in &mut usual {
            let whole = run.bytes.next_multiple_of(8);
            if run.at + whole <= at {
                run.copied = whole;
            }
        }
        let is_usual = |from: &usize| {
            let run = usual[*from];
            (run.copied == 8 || run.copied >= 16) && equal_at_front(&usual[*from..]) == 0
        };
        let rest = usual.split_off((0..usual.len()).take_while(is_usual).count());
        let equal = equal_at_front(&rest);
        Runs { usual: usual.into(), rest: rest.into(), equal, words, bytes: at as usize }
    }

    /// Returns the number of words of the place that contain all runs.
    #[inline(always)]
    pub fn words(&self) -> usize {
        self.words
    }

    /// Returns the number of bytes of all runs.
    #[inline(always)]
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    /// Returns the runs.
    #[inline(always)]
    pub fn iter(&self) -> impl Iterator<Item = &Run> {
        self.usual.iter().chain(&self.rest)
    }

    /// Returns the run, if there is only one.
    #[inline(always)]
    pub fn only(&self) -> Option<&Run> {
        match (&*self.usual, &*self.rest) {
            ([run], []) => Some(run),
            _ => None,
        }
    }

    /// Returns the first runs, of which [`Run::copied`] is one word or at least two. Others come behind them, and so do several equal
    /// ones.
    #[inline(always)]
    pub fn usual(&self) -> &[Run] {
        &self.usual
    }

    /// Returns the runs behind the usual ones.
    #[inline(always)]
    pub fn rest(&self) -> &[Run] {
        &self.rest
    }

    /// Returns the number of runs at the front of [`Runs::rest`] that are equally long and equally far from one another, if there are several.
    /// They are at least two words long.
    pub fn equal(&self) -> usize {
        self.equal
    }
}

/// Returns the number of runs at the front that are equally long and equally far from one another, or 0 if they are few or short.
fn equal_at_front(runs: &[Run]) -> usize {
    let [first, second, ..] = runs else { return 0 };
    let pairs = runs.iter().zip(&runs[1..]);
    let is_equal = |(one, next): &(&Run, &Run)| {
        next.bytes == first.bytes && next.word == one.word + (second.word - first.word)
    };
    let equal = if second.word > first.word { 1 + pairs.take_while(is_equal).count() } else { 1 };
    if equal >= FEWEST_EQUAL && first.bytes >= 16 { equal } else { 0 }
}

impl Run {
    /// Returns the words of the run, by their numbers in the place.
    #[inline(always)]
    pub fn words(&self) -> Range<usize> {
        let first = self.word as usize;
        // The sum cannot overflow, and a division that rounds up in general takes twice the instructions.
        first..first + ((self.bytes as usize + 7) >> 3)
    }

    /// Returns the bytes of the run in a buffer.
    #[inline(always)]
    pub fn place(&self) -> Range<usize> {
        let first = self.at as usize;
        first..first + self.bytes as usize
    }

    /// Returns the number of bytes that can be copied into a buffer instead of those of the run: all bytes of its words, if the buffer
    /// is long enough. The runs behind it are copied later, and so into their places.
    #[inline(always)]
    pub fn copied(&self) -> usize {
        self.copied as usize
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runs_know_what_they_touch() {
        let runs = Runs::new([(2, 8), (0, 3), (9, 13)]);
        assert_eq!((runs.words(), runs.bytes()), (11, 24));
        let places: Vec<_> = runs.iter().map(|run| (run.words(), run.place())).collect();
        assert_eq!(places, [(2..3, 0..8), (0..1, 8..11), (9..11, 11..24)]);
        // Behind the last run there is no room for the rest of its last word.
        let copied: Vec<_> = runs.iter().map(Run::copied).collect();
        assert_eq!(copied, [8, 8, 13]);
        assert_eq!((runs.usual().len(), runs.rest().len()), (2, 1));
        // Nor behind a run before one of two bytes.
        let short = Runs::new([(0, 8), (1, 9), (3, 2)]);
        assert_eq!((short.usual().len(), short.rest().len()), (1, 2));
        assert_eq!(Runs::new([(0, 16), (4, 8), (5, 21)]).rest(), []);
        assert_eq!(Runs::new([(3, 21)]).only().map(Run::words), Some(3..6));
        assert_eq!(Runs::new([(0, 16), (4, 8)]).only(), None);
        assert_eq!(Runs::new((0..10).map(|field| (field * 13, 100))).equal(), 10);
        let some = Runs::new([(0, 8), (1, 20), (4, 20), (7, 20), (10, 8), (11, 20)]);
        assert_eq!((some.usual().len(), some.equal(), some.rest().len()), (1, 3, 5));
        assert_eq!(Runs::new([(0, 20), (3, 20), (7, 20)]).equal(), 0);
        assert_eq!(Runs::new([(6, 20), (3, 20), (0, 20)]).equal(), 0);
        assert_eq!((Runs::new([]).words(), Runs::new([]).bytes()), (0, 0));
    }
}
