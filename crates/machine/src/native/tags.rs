//! Looks at the upper 16 bits of all slots of a line together.
//!
//! A loop over slots ends at a place that the processor cannot predict, and it is in this loop that an index waits for memory. One
//! comparison of all slots has no such branch.

use crate::Word;

/// Number of slots that are looked at together: those of a line whose first word is a header.
#[cfg(target_arch = "x86_64")]
const SLOTS: usize = 7;

/// Returns the number of words before the first one whose upper 16 bits are `tag`, if there are as many words as a line has slots.
/// Otherwise it looks at no word, and returns 0.
///
/// Each word is read once, as by a relaxed access. A processor that reads a vector in pieces can tear a word. But its upper 16 bits lie
/// in one piece, and only they are looked at.
#[inline(always)]
pub(super) fn untagged(words: &[Word], tag: u16) -> usize {
    #[cfg(target_arch = "x86_64")]
    if let Ok(words) = <&[Word; SLOTS]>::try_from(words) {
        return together(words, tag);
    }
    let _ = (words, tag);
    0
}

#[cfg(target_arch = "x86_64")]
#[inline(always)]
fn together(words: &[Word; SLOTS], tag: u16) -> usize {
    use std::arch::{asm, x86_64::*};
    /// The last quarter of each word, as bytes of a mask have it. The word behind the last slot stands for none.
    const UPPER: u32 = 0x0888_8888;
    const NONE: u32 = 0x8000_0000;
    let (first, second, third, last): (__m128i, __m128i, __m128i, __m128i);
    // SAFETY: the seven words are read, and nothing is written. The compiler sees code that could be a relaxed access to each of them.
    unsafe {
        asm!(
            "movdqu {first}, [{words}]",
            "movdqu {second}, [{words} + 16]",
            "movdqu {third}, [{words} + 32]",
            "movq {last}, qword ptr [{words} + 48]",
            words = in(reg) words.as_ptr(),
            first = out(xmm_reg) first,
            second = out(xmm_reg) second,
            third = out(xmm_reg) third,
            last = out(xmm_reg) last,
            options(nostack, preserves_flags, readonly),
        );
    }
    // SAFETY: every x86-64 processor has these instructions, which take and return values.
    let equal = unsafe {
        let tags = _mm_set1_epi16(tag as i16);
        let is = |quarters| _mm_cmpeq_epi16(quarters, tags);
        let front = _mm_movemask_epi8(_mm_packs_epi16(is(first), is(second)));
        let back = _mm_movemask_epi8(_mm_packs_epi16(is(third), is(last)));
        front as u32 | (back as u32) << 16
    };
    (equal & UPPER | NONE).trailing_zeros() as usize / 4
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_before_the_tag_are_counted() {
        let words: [Word; 7] = std::array::from_fn(|_| Word::new(0x7777_8888_9999_0000));
        let none = if cfg!(target_arch = "x86_64") { 7 } else { 0 };
        assert_eq!(untagged(&words, 0xABCD), none);
        // A tag that other quarters of words have is not found there.
        assert_eq!(untagged(&words, 0x8888), none);
        assert_eq!(untagged(&words, 0), none);
        for at in (0..7).rev() {
            words[at].poke(0xABCD << 48 | at as u64);
            let first = if cfg!(target_arch = "x86_64") { at } else { 0 };
            assert_eq!(untagged(&words, 0xABCD), first);
        }
        assert_eq!(untagged(&words[1..], 0xABCD), 0);
    }

    #[test]
    fn a_free_slot_has_the_tag_zero() {
        let words: [Word; 7] = std::array::from_fn(|at| Word::new((at as u64) << 48));
        assert_eq!(untagged(&words, 0), 0);
        words[0].poke(1 << 63);
        assert_eq!(untagged(&words, 0), if cfg!(target_arch = "x86_64") { 7 } else { 0 });
    }
}
