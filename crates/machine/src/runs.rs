//! Runs of words that are copied together between a place in shared memory and a buffer.

use std::ops::Range;

/// Some runs of words of one place. In a buffer their bytes follow each other without gaps.
///
/// It is worked out once which words and which bytes the runs touch at most. So one look at two lengths shows that a copy
/// of all runs touches nothing else.
#[derive(Debug)]
pub struct Runs {
    runs: Box<[Run]>,
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
        let mut runs: Box<[Run]> = runs
            .into_iter()
            .map(|(word, bytes)| {
                let run = Run { word, bytes, at, copied: bytes };
                at += bytes;
                words = words.max(run.words().end);
                run
            })
            .collect();
        for run in &mut runs {
            let whole = run.bytes.next_multiple_of(8);
            if run.at + whole <= at {
                run.copied = whole;
            }
        }
        Runs { runs, words, bytes: at as usize }
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
    pub fn iter(&self) -> std::slice::Iter<'_, Run> {
        self.runs.iter()
    }
}

impl<'r> IntoIterator for &'r Runs {
    type Item = &'r Run;
    type IntoIter = std::slice::Iter<'r, Run>;

    #[inline(always)]
    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
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
        assert_eq!((Runs::new([]).words(), Runs::new([]).bytes()), (0, 0));
    }
}
