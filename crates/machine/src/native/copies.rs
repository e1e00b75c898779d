//! Copies between words of shared memory and bytes of a worker.
//!
//! Each word is accessed once, so a writer may be active at the same time. Where few words are copied, the accesses are relaxed
//! atomic operations. The compiler does not combine them. Longer copies are therefore made in rounds of 16 or 32 bytes, by
//! vector instructions on x86-64.

use crate::{Runs, Word, runs::Run};

/// Length in bytes from which a copy is a longer one.
const LONGER: usize = 16;

/// Copies the first bytes of `words` into `into`, which has no more bytes than the words.
#[inline(always)]
pub(super) fn copy_out(words: &[Word], into: &mut [u8]) {
    if let Ok(bytes) = <&mut [u8; 8]>::try_from(&mut *into) {
        // Most columns are numbers.
        *bytes = words[0].peek().to_le_bytes();
    } else if into.len() >= LONGER {
        rounds::copy_out(words, into);
    } else {
        words_out(words, into);
    }
}

/// Copies word by word.
#[inline(always)]
fn words_out(words: &[Word], into: &mut [u8]) {
    if (9..16).contains(&into.len())
        && let [first, second, ..] = words
    {
        // The two words are shifted together, so that the second one can be written as a whole. It overlaps the first one.
        let (first, second) = (first.peek(), second.peek());
        let (last, bits) = (into.len() - 8, 8 * (into.len() - 8));
        into[..8].copy_from_slice(&first.to_le_bytes());
        into[last..].copy_from_slice(&(first >> bits | second << (64 - bits)).to_le_bytes());
        return;
    }
    let (chunks, rest) = into.as_chunks_mut::<8>();
    let (whole, last) = words.split_at(chunks.len());
    for (chunk, word) in chunks.iter_mut().zip(whole) {
        *chunk = word.peek().to_le_bytes();
    }
    if !rest.is_empty() {
        first_bytes_out(last[0].peek().to_le_bytes(), rest);
    }
}

/// Copies `from` into `words`, which have room for all of its bytes. The bytes behind its end in the last word become zeros,
/// because a column owns its last word as a whole.
#[inline(always)]
pub(super) fn copy_in(words: &[Word], from: &[u8]) {
    if let Ok(bytes) = <&[u8; 8]>::try_from(from) {
        // Most columns are numbers.
        return words[0].poke(u64::from_le_bytes(*bytes));
    }
    if from.len() < LONGER {
        return few_in(words, from);
    }
    let done = rounds::copy_in(words, from);
    let rest = from.len() - done;
    if rest > 0 {
        words[done / 8].poke(last_word(from, rest));
    }
}

/// Copies runs of `words` into the front of `into`.
#[inline(always)]
pub(super) fn runs_out(words: &[Word], runs: &Runs, into: &mut [u8]) {
    rounds::runs_out(words, runs, into);
}

/// Copies the front of `from` into runs of `words`.
#[inline(always)]
pub(super) fn runs_in(words: &[Word], runs: &Runs, from: &[u8]) {
    match runs.only() {
        Some(run) => run_in(words, run, from),
        None => rounds::runs_in(words, runs, from),
    }
}

/// Copies a run alone. Whole rows often are one run, and a loop over runs needs more registers.
#[inline(never)]
fn run_in(words: &[Word], run: &Run, from: &[u8]) {
    copy_in(&words[run.words()], &from[run.place()]);
}

/// Copies less than two words.
#[inline(always)]
fn few_in(words: &[Word], from: &[u8]) {
    match from.first_chunk() {
        Some(first) => {
            words[0].poke(u64::from_le_bytes(*first));
            let rest = from.len() - 8;
            if rest > 0 {
                words[1].poke(last_word(from, rest));
            }
        }
        None if from.is_empty() => {}
        None => words[0].poke(first_bytes_in(from)),
    }
}

/// Returns a word that begins with the last `rest` bytes of `from`, 1 to 7, and is zero behind them. `from` has 8 bytes at least.
#[inline(always)]
fn last_word(from: &[u8], rest: usize) -> u64 {
    let end = from.last_chunk().expect("a word at least");
    u64::from_le_bytes(*end) >> (64 - 8 * rest)
}

/// Copies the first bytes of a word. There are 1 to 7 of them.
#[inline(always)]
fn first_bytes_out(word: [u8; 8], mut into: &mut [u8]) {
    let mut at = 0;
    for bytes in [4, 2, 1] {
        if into.len() & bytes != 0 {
            let (part, rest) = into.split_at_mut(bytes);
            part.copy_from_slice(&word[at..at + bytes]);
            at += bytes;
            into = rest;
        }
    }
}

/// Returns a word that begins with these 1 to 7 bytes and is zero behind them.
#[inline(always)]
fn first_bytes_in(from: &[u8]) -> u64 {
    // The second half overlaps the first one where they have more bytes than there are, and says the same there.
    if let (Some(first), Some(last)) = (from.first_chunk(), from.last_chunk()) {
        let last = u64::from(u32::from_le_bytes(*last));
        return u64::from(u32::from_le_bytes(*first)) | last << (8 * (from.len() - 4));
    }
    let [first, .., last] = *from else { return from[0].into() };
    u64::from(first)
        | u64::from(from[from.len() / 2]) << (8 * (from.len() / 2))
        | u64::from(last) << (8 * (from.len() - 1))
}

/// Longer copies, by vector instructions.
///
/// The compiler sees no access to the shared words here, only code of unknown effect, which could be a relaxed access to each of
/// them. So it assumes nothing that a writer at the same time would make wrong. The processor may make a vector access in pieces of any
/// size. What is read can therefore be torn within a word too. This makes no difference to callers: of several words, they
/// exclude writers or detect them. Only columns of one word are read without either, and these are copied as words.
#[cfg(target_arch = "x86_64")]
mod rounds {
    use super::{LONGER, Run, Runs, Word};
    use std::arch::asm;

    /// Number of bytes that a round copies.
    const ROUND: usize = 32;
    /// Number of bytes that a short round copies.
    const SHORT_ROUND: usize = LONGER;

    /// Returns the number of words that hold so many bytes, which are less than the address space.
    #[inline(always)]
    fn words_of(bytes: usize) -> usize {
        // The layout of rows has the same formula. So the compiler sees that its callers pass as many words.
        (bytes + 7) >> 3
    }

    /// Copies `into.len()` bytes, at least [`LONGER`].
    #[inline(always)]
    pub fn copy_out(words: &[Word], into: &mut [u8]) {
        assert!(into.len() >= LONGER && words.len() >= words_of(into.len()));
        // SAFETY: there are so many bytes on both sides.
        unsafe { copy(words.as_ptr().cast(), into.as_mut_ptr(), into.len()) };
    }

    /// Copies all whole words of `from`, of which there are at least two. Returns the number of bytes.
    #[inline(always)]
    pub fn copy_in(words: &[Word], from: &[u8]) -> usize {
        assert!(from.len() >= LONGER && words.len() >= words_of(from.len()));
        let (to, bytes) = (words.as_ptr().cast::<u8>().cast_mut(), from.len() & !7);
        // SAFETY: there are so many bytes on both sides. Words can be changed through a shared reference, because they are
        // atomics.
        unsafe { copy(from.as_ptr(), to, bytes) };
        bytes
    }

    /// Copies runs of `words` into the front of `into`. A function of its own, because its loops would take the registers of its callers,
    /// whose other ways are shorter.
    #[inline(never)]
    pub fn runs_out(words: &[Word], runs: &Runs, into: &mut [u8]) {
        assert!(words.len() >= runs.words() && into.len() >= runs.bytes());
        for run in runs.usual() {
            let (first, at, bytes) = (run.words().start, run.place().start, run.copied());
            // SAFETY: the runs lie within so many words and bytes. What is copied of each is no more than its words, and ends
            // within the bytes of all runs.
            unsafe {
                let (from, to) = (words.as_ptr().add(first), into.as_mut_ptr().add(at));
                match bytes {
                    8 => to.cast::<[u8; 8]>().write((*from).peek().to_le_bytes()),
                    _ => copy(from.cast(), to, bytes),
                }
            }
        }
        if !runs.rest().is_empty() {
            rest_out(words, runs, into);
        }
    }

    /// Copies the runs behind the usual ones. It is apart, because the usual ones need fewer registers.
    #[inline(never)]
    fn rest_out(words: &[Word], runs: &Runs, into: &mut [u8]) {
        assert!(words.len() >= runs.words() && into.len() >= runs.bytes());
        let (equal, others) = runs.rest().split_at(runs.equal());
        if let [first, second, ..] = equal {
            let (at, bytes) = (first.place().start, first.place().len());
            let distance = second.words().start - first.words().start;
            // SAFETY: the runs lie within so many words and bytes. They have so many bytes, and are so far from one another.
            unsafe {
                let from = words.as_ptr().add(first.words().start);
                copy_equal(from, distance, into.as_mut_ptr().add(at), bytes, equal.len());
            }
        }
        for run in others {
            super::copy_out(&words[run.words()], &mut into[run.place()]);
        }
    }

    /// Copies `count` runs of `bytes` bytes, at least a short round. They are `distance` words from one another in `from`, and without
    /// gaps in `to`.
    ///
    /// # Safety
    /// As for [`round`], for all bytes of all runs.
    #[inline(always)]
    unsafe fn copy_equal(
        mut from: *const Word,
        distance: usize,
        mut to: *mut u8,
        bytes: usize,
        count: usize,
    ) {
        let between = 2 * ROUND..=4 * ROUND;
        for _ in 0..count {
            // SAFETY: the caller promises room for all runs. The pointers are behind the last run at the end.
            unsafe {
                if between.contains(&bytes) {
                    double_round(from.cast(), to, 0);
                    double_round(from.cast(), to, bytes - 2 * ROUND);
                } else {
                    copy(from.cast(), to, bytes);
                }
                from = from.wrapping_add(distance);
                to = to.wrapping_add(bytes);
            }
        }
    }

    /// Copies the front of `from` into runs of `words`.
    #[inline(never)]
    pub fn runs_in(words: &[Word], runs: &Runs, from: &[u8]) {
        assert!(words.len() >= runs.words() && from.len() >= runs.bytes());
        for run in runs.usual() {
            let (first, place) = (run.words().start, run.place());
            let (whole, rest) = (place.len() & !7, place.len() & 7);
            // SAFETY: the runs lie within so many words and bytes. A word is read that ends where the run does, or that begins where a
            // run of less than a word does, and a usual run of less than a word has room for all of its word.
            unsafe {
                let (from, to) = (from.as_ptr().add(place.start), words.as_ptr().add(first));
                let word_at = |at: usize| u64::from_le_bytes(from.add(at).cast::<[u8; 8]>().read());
                match whole {
                    0 => {
                        (*to).poke(word_at(0) & ((1 << (8 * rest)) - 1));
                        continue;
                    }
                    8 => (*to).poke(word_at(0)),
                    _ => copy(from, to.cast::<u8>().cast_mut(), whole),
                }
                if rest != 0 {
                    (*to.add(whole / 8)).poke(word_at(place.len() - 8) >> (64 - 8 * rest));
                }
            }
        }
        if !runs.rest().is_empty() {
            rest_in(words, runs.rest(), from);
        }
    }

    /// Copies the runs behind the usual ones. It is apart, because the usual ones need fewer registers.
    #[inline(never)]
    fn rest_in(words: &[Word], rest: &[Run], from: &[u8]) {
        for run in rest {
            super::copy_in(&words[run.words()], &from[run.place()]);
        }
    }

    /// Copies `bytes` bytes, at least a short round.
    ///
    /// # Safety
    /// As for [`round`], for all of the bytes.
    #[inline(always)]
    unsafe fn copy(from: *const u8, to: *mut u8, bytes: usize) {
        // The last round overlaps the one before it unless the length is a multiple of a round. Double rounds save half of the
        // loop.
        // SAFETY: each round ends at `bytes` at the latest, because its kind is chosen so that at least one of them fits.
        unsafe {
            if bytes < 2 * ROUND {
                if bytes < ROUND {
                    short_round(from, to, 0);
                    return short_round(from, to, bytes - SHORT_ROUND);
                }
                round(from, to, 0);
                return round(from, to, bytes - ROUND);
            }
            let last = bytes - 2 * ROUND;
            let mut at = 0;
            while at < last {
                double_round(from, to, at);
                at += 2 * ROUND;
            }
            double_round(from, to, last);
        }
    }

    /// Copies two rounds as [`round`] does.
    ///
    /// # Safety
    /// As for [`round`], for both rounds.
    #[inline(always)]
    unsafe fn double_round(from: *const u8, to: *mut u8, at: usize) {
        // SAFETY: the caller promises room on both sides, and the module says why a writer at the same time is allowed.
        unsafe {
            asm!(
                "movups {a}, [{from} + {at}]",
                "movups {b}, [{from} + {at} + 16]",
                "movups {c}, [{from} + {at} + 32]",
                "movups {d}, [{from} + {at} + 48]",
                "movups [{to} + {at}], {a}",
                "movups [{to} + {at} + 16], {b}",
                "movups [{to} + {at} + 32], {c}",
                "movups [{to} + {at} + 48], {d}",
                from = in(reg) from,
                to = in(reg) to,
                at = in(reg) at,
                a = out(xmm_reg) _,
                b = out(xmm_reg) _,
                c = out(xmm_reg) _,
                d = out(xmm_reg) _,
                options(nostack, preserves_flags),
            );
        }
    }

    /// Copies the short round that begins `at` bytes behind both pointers.
    ///
    /// # Safety
    /// As for [`round`].
    #[inline(always)]
    unsafe fn short_round(from: *const u8, to: *mut u8, at: usize) {
        // SAFETY: the caller promises room on both sides, and the module says why a writer at the same time is allowed.
        unsafe {
            asm!(
                "movups {a}, [{from} + {at}]",
                "movups [{to} + {at}], {a}",
                from = in(reg) from,
                to = in(reg) to,
                at = in(reg) at,
                a = out(xmm_reg) _,
                options(nostack, preserves_flags),
            );
        }
    }

    /// Copies the round that begins `at` bytes behind both pointers.
    ///
    /// # Safety
    /// The round must lie behind both pointers. The bytes behind one of them must not be shared, and the others must be words.
    #[inline(always)]
    unsafe fn round(from: *const u8, to: *mut u8, at: usize) {
        // SAFETY: the caller promises room on both sides, and the module says why a writer at the same time is allowed.
        unsafe {
            asm!(
                "movups {a}, [{from} + {at}]",
                "movups {b}, [{from} + {at} + 16]",
                "movups [{to} + {at}], {a}",
                "movups [{to} + {at} + 16], {b}",
                from = in(reg) from,
                to = in(reg) to,
                at = in(reg) at,
                a = out(xmm_reg) _,
                b = out(xmm_reg) _,
                options(nostack, preserves_flags),
            );
        }
    }
}

/// Longer copies, word by word.
#[cfg(not(target_arch = "x86_64"))]
mod rounds {
    use super::{Runs, Word};

    pub fn runs_out(words: &[Word], runs: &Runs, into: &mut [u8]) {
        for run in runs.iter() {
            super::copy_out(&words[run.words()], &mut into[run.place()]);
        }
    }

    pub fn runs_in(words: &[Word], runs: &Runs, from: &[u8]) {
        for run in runs.iter() {
            super::copy_in(&words[run.words()], &from[run.place()]);
        }
    }

    pub fn copy_out(words: &[Word], into: &mut [u8]) {
        super::words_out(words, into);
    }

    pub fn copy_in(words: &[Word], from: &[u8]) -> usize {
        let (chunks, _) = from.as_chunks::<8>();
        for (chunk, word) in chunks.iter().zip(words) {
            word.poke(u64::from_le_bytes(*chunk));
        }
        8 * chunks.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runs_are_copied_as_their_columns_are() {
        let bytes: Vec<u8> = (0..700u32).map(|byte| byte as u8 | 1).collect();
        for length in 0..140u32 {
            check([length.max(1)], &bytes);
            // Columns before and behind the one of this length, or several of this length, and the last one of a few bytes.
            for others in [1, 7, 8, 9, 16, 31] {
                check([others, length, 40, length, others].map(|length| length.max(1)), &bytes);
                check([length, length, length, length, others].map(|length| length.max(1)), &bytes);
            }
        }
    }

    /// Copies runs of these lengths, together and one by one.
    fn check<const RUNS: usize>(lengths: [u32; RUNS], bytes: &[u8]) {
        let (mut word, mut spans) = (0, Vec::new());
        for length in lengths {
            spans.push((word, length));
            word += length.div_ceil(8);
        }
        let runs = Runs::new(spans.iter().copied());
        let total = runs.bytes();
        let fresh = || (0..=word).map(|_| Word::new(!0)).collect::<Vec<_>>();
        let (together, one_by_one) = (fresh(), fresh());
        runs_in(&together, &runs, &bytes[..total]);
        for run in runs.iter() {
            copy_in(&one_by_one[run.words()], &bytes[run.place()]);
        }
        let held = |words: &[Word]| words.iter().map(|word| word.peek()).collect::<Vec<_>>();
        assert_eq!(held(&together), held(&one_by_one), "{lengths:?}");
        let mut out = vec![0; total + 9];
        runs_out(&together, &runs, &mut out[..total]);
        assert_eq!(out[..total], bytes[..total], "{lengths:?}");
        assert_eq!(out[total..], [0; 9], "{lengths:?}");
    }

    #[test]
    fn copies_of_every_length_come_back_and_touch_nothing_else() {
        let bytes: Vec<u8> = (1..=200).collect();
        for length in 0..bytes.len() {
            let words: Vec<Word> = (0..length.div_ceil(8) + 1).map(|_| Word::new(!0)).collect();
            copy_in(&words, &bytes[..length]);
            let held: Vec<u8> = words.iter().flat_map(|word| word.peek().to_le_bytes()).collect();
            let end = length.next_multiple_of(8);
            assert_eq!(held[..length], bytes[..length], "{length}");
            assert!(held[length..end].iter().all(|byte| *byte == 0), "{length}");
            assert!(held[end..].iter().all(|byte| *byte == 255), "{length}");
            let mut out = vec![0; length + 2];
            copy_out(&words[..length.div_ceil(8)], &mut out[1..=length]);
            assert_eq!(out[1..=length], bytes[..length], "{length}");
            assert_eq!((out[0], out[length + 1]), (0, 0), "{length}");
        }
    }
}
