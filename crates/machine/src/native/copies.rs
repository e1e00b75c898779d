//! Copies between words of shared memory and bytes of a worker.
//!
//! Each word is accessed once, so a writer may be active at the same time. Where few words are copied, the accesses are relaxed
//! atomic operations. The compiler does not combine them. Longer copies are therefore made in rounds of 32 bytes, by vector
//! instructions on x86-64.

use crate::Word;

/// Number of bytes that a round of a longer copy copies.
const ROUND: usize = 32;

/// Copies the first bytes of `words` into `into`, which has no more bytes than the words.
#[inline(always)]
pub(super) fn copy_out(words: &[Word], into: &mut [u8]) {
    if let Ok(bytes) = <&mut [u8; 8]>::try_from(&mut *into) {
        // Most columns are numbers.
        *bytes = words[0].peek().to_le_bytes();
    } else if into.len() >= ROUND {
        rounds::copy_out(words, into);
    } else {
        words_out(words, into);
    }
}

/// Copies word by word.
#[inline(always)]
fn words_out(words: &[Word], into: &mut [u8]) {
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
    let done = if from.len() >= ROUND { rounds::copy_in(words, from) } else { 0 };
    let (chunks, rest) = from[done..].as_chunks::<8>();
    let (whole, last) = words[done / 8..].split_at(chunks.len());
    for (chunk, word) in chunks.iter().zip(whole) {
        word.poke(u64::from_le_bytes(*chunk));
    }
    if !rest.is_empty() {
        last[0].poke(first_bytes_in(rest));
    }
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
    let mut word = 0;
    for byte in from.iter().rev() {
        word = word << 8 | u64::from(*byte);
    }
    word
}

/// Longer copies, by vector instructions.
///
/// The compiler sees no access to the shared words here, only code of unknown effect, which could be a relaxed access to each of
/// them. So it assumes nothing that a writer at the same time would make wrong. The processor may make a vector access in pieces of any
/// size. What is read can therefore be torn within a word too. This makes no difference to callers: of several words, they
/// exclude writers or detect them. Only columns of one word are read without either, and these are copied as words.
#[cfg(target_arch = "x86_64")]
mod rounds {
    use super::{ROUND, Word};
    use std::arch::asm;

    /// Copies `into.len()` bytes, at least one round.
    #[inline(always)]
    pub fn copy_out(words: &[Word], into: &mut [u8]) {
        assert!(into.len() >= ROUND && words.len() >= into.len().div_ceil(8));
        // SAFETY: there are so many bytes on both sides.
        unsafe { copy(words.as_ptr().cast(), into.as_mut_ptr(), into.len()) };
    }

    /// Copies all whole words of `from`, of which there is at least a round. Returns the number of bytes.
    #[inline(always)]
    pub fn copy_in(words: &[Word], from: &[u8]) -> usize {
        assert!(from.len() >= ROUND && words.len() >= from.len().div_ceil(8));
        let (to, bytes) = (words.as_ptr().cast::<u8>().cast_mut(), from.len() & !7);
        // SAFETY: there are so many bytes on both sides. Words can be changed through a shared reference, because they are
        // atomics.
        unsafe { copy(from.as_ptr(), to, bytes) };
        bytes
    }

    /// Copies `bytes` bytes, at least one round.
    ///
    /// # Safety
    /// As for [`round`], for all of the bytes.
    #[inline(always)]
    unsafe fn copy(from: *const u8, to: *mut u8, bytes: usize) {
        // The last round overlaps the one before it unless the length is a multiple of a round. Double rounds save half of the
        // loop.
        // SAFETY: each round ends at `bytes` at the latest, as there is at least one, or one double round.
        unsafe {
            if bytes < 2 * ROUND {
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
    use super::Word;

    pub fn copy_out(words: &[Word], into: &mut [u8]) {
        super::words_out(words, into);
    }

    pub fn copy_in(_: &[Word], _: &[u8]) -> usize {
        0
    }
}
