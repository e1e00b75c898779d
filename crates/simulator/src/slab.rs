//! Zeroed memory for tables that every simulated core dips into, on huge pages where the host has them:
//! with pages of 4 KiB a thousand cores' tables miss the host's TLB at every turn.

use std::{cell::Cell, io, ptr::NonNull};

const HUGE_PAGE: usize = 2 << 20;

/// A run of 8-bit cells that started as zeros.
pub(crate) struct Slab {
    values: NonNull<Cell<u8>>,
    count: usize,
    mapping: NonNull<u8>,
    mapped: usize,
}

impl Slab {
    /// Room for `count` values, all zeros; what is never touched is never resident, but for the rest of
    /// a huge page.
    pub(crate) fn new(count: usize) -> io::Result<Slab> {
        let bytes = (count * size_of::<Cell<u8>>()).max(1);
        let huge = bytes >= HUGE_PAGE / 2;
        let mapped = bytes.next_multiple_of(HUGE_PAGE) + if huge { HUGE_PAGE } else { 0 };
        // SAFETY: a fresh private anonymous mapping; nobody else knows the address.
        let base = unsafe {
            libc::mmap(
                std::ptr::null_mut(),
                mapped,
                libc::PROT_READ | libc::PROT_WRITE,
                libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE,
                -1,
                0,
            )
        };
        if base == libc::MAP_FAILED {
            return Err(io::Error::last_os_error());
        }
        let mapping: NonNull<u8> =
            NonNull::new(base.cast()).expect("a mapping is never at address 0");
        let mut start = base as usize;
        if huge {
            start = start.next_multiple_of(HUGE_PAGE);
            // SAFETY: advice on the mapping just made; a refusal changes nothing but speed.
            unsafe { libc::madvise(start as *mut _, mapped - HUGE_PAGE, libc::MADV_HUGEPAGE) };
        }
        let values = mapping.map_addr(|_| start.try_into().expect("inside a mapping")).cast();
        Ok(Slab { values, count, mapping, mapped })
    }
}

impl std::ops::Deref for Slab {
    type Target = [Cell<u8>];

    #[inline(always)]
    fn deref(&self) -> &[Cell<u8>] {
        // SAFETY: room for `count` integers, for which zeros are valid, mapped until `self` is dropped.
        unsafe { std::slice::from_raw_parts(self.values.as_ptr(), self.count) }
    }
}

impl Drop for Slab {
    fn drop(&mut self) {
        // SAFETY: the mapping is ours; references into it borrow `self`.
        unsafe { libc::munmap(self.mapping.as_ptr().cast(), self.mapped) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slabs_of_any_size_start_as_zeros() {
        for count in [0, 1, 1000, 600_000, 2_000_001] {
            let slab: Slab = Slab::new(count).unwrap();
            assert_eq!(slab.len(), count);
            assert!(slab.iter().step_by(1000).all(|v| v.get() == 0));
            if let Some(last) = slab.last() {
                last.set(1);
            }
        }
    }
}
