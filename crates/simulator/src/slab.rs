//! Zeroed memory for tables that all simulated cores use, on huge pages if the host has them. With pages of 4 KiB a
//! thousand cores' tables miss the host's TLB in every turn.

use std::{cell::Cell, io, ptr::NonNull};

const HUGE_PAGE: usize = 2 << 20;

/// Array of 8-bit cells that start as zeros.
pub(crate) struct Slab {
    /// First of `count` cells, inside the mapping.
    values: NonNull<Cell<u8>>,
    count: usize,
    /// Start of the mapping of `mapped` bytes, which this slab owns.
    mapping: NonNull<u8>,
    mapped: usize,
}

impl Slab {
    /// Makes room for `count` values, all zeros. Memory that is never touched is never resident, except for the rest
    /// of a huge page.
    pub(crate) fn new(count: usize) -> io::Result<Slab> {
        let bytes = (count * size_of::<Cell<u8>>()).max(1);
        let huge = bytes >= HUGE_PAGE / 2;
        let mapped = bytes.next_multiple_of(HUGE_PAGE) + if huge { HUGE_PAGE } else { 0 };
        // SAFETY: this makes a new private anonymous mapping. It aliases no other memory.
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
            // SAFETY: this is advice on the mapping just made. If the system refuses it, only speed changes.
            #[cfg(target_os = "linux")]
            unsafe {
                libc::madvise(start as *mut _, mapped - HUGE_PAGE, libc::MADV_HUGEPAGE)
            };
        }
        let values = mapping.map_addr(|_| start.try_into().expect("inside a mapping")).cast();
        Ok(Slab { values, count, mapping, mapped })
    }
}

impl std::ops::Deref for Slab {
    type Target = [Cell<u8>];

    #[inline(always)]
    fn deref(&self) -> &[Cell<u8>] {
        // SAFETY: the mapping has room for `count` 8-bit integers, zeros are valid for them, and it stays mapped until
        // `self` is dropped.
        unsafe { std::slice::from_raw_parts(self.values.as_ptr(), self.count) }
    }
}

impl Drop for Slab {
    fn drop(&mut self) {
        // SAFETY: this slab owns the mapping. References into it borrow `self`, so none of them is left.
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
