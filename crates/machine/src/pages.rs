//! The pages of an arena: calls of the system that reserve them, advise on them, clear them and return them.
//!
//! Everything that differs between systems is here. Huge pages and memory nodes are asked for on Linux. Elsewhere
//! these requests have no effect, and cleared pages stay with the process.

use std::ptr::NonNull;

/// Way in which the system gives a page to a reservation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Mapped {
    /// A first read maps a page of zeros that all share, and a first write replaces it. For the replacement the system interrupts
    /// each processor that runs a thread of this process.
    Privately,
    /// The first access maps a page that can be written, even if it is a read.
    AtOnce,
}

/// Reserves `bytes` bytes of address space that are zero. Returns `None` if the system refuses.
pub(crate) fn reserve(bytes: u64, mapped: Mapped) -> Option<NonNull<u8>> {
    let sharing = match mapped {
        Mapped::Privately => libc::MAP_PRIVATE,
        Mapped::AtOnce => libc::MAP_SHARED,
    };
    // SAFETY: this makes a new anonymous mapping. No other code knows its address.
    let base = unsafe {
        libc::mmap(
            std::ptr::null_mut(),
            usize::try_from(bytes).ok()?,
            libc::PROT_READ | libc::PROT_WRITE,
            sharing | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE,
            -1,
            0,
        )
    };
    if base == libc::MAP_FAILED { None } else { NonNull::new(base.cast()) }
}

/// Returns a reservation to the system.
///
/// # Safety
/// [`reserve`] must have made `bytes` bytes at `base`, and nothing may refer to them any more.
pub(crate) unsafe fn release(base: NonNull<u8>, bytes: u64) {
    // SAFETY: the caller promises that the mapping is its own and unused.
    unsafe { libc::munmap(base.as_ptr().cast(), bytes as usize) };
}

/// Asks for huge pages in a range of whole pages of a reservation, or asks for none. A refusal affects only the speed.
pub(crate) fn advise_huge(address: *mut u8, bytes: u64, wanted: bool) {
    #[cfg(target_os = "linux")]
    {
        let advice = if wanted { libc::MADV_HUGEPAGE } else { libc::MADV_NOHUGEPAGE };
        // SAFETY: this advice changes no contents of memory, whatever the range is.
        unsafe { libc::madvise(address.cast(), bytes as usize, advice) };
    }
    #[cfg(not(target_os = "linux"))]
    let _ = (address, bytes, wanted);
}

/// Asks for pages of memory node `node` in a range of a reservation, none of which has been touched yet. The request has
/// no effect if there is no such node.
pub(crate) fn prefer_node(address: *mut u8, bytes: u64, node: usize) {
    #[cfg(target_os = "linux")]
    {
        const BITS: usize = libc::c_ulong::BITS as usize;
        let mut mask: [libc::c_ulong; 1024 / BITS] = [0; _];
        let Some(word) = mask.get_mut(node / BITS) else { return };
        *word = 1 << (node % BITS);
        // SAFETY: this sets a policy for pages and changes no contents of memory. The call is told one bit more than
        // the mask has, because the system leaves one bit out.
        unsafe {
            libc::syscall(
                libc::SYS_mbind,
                address,
                bytes as usize,
                libc::MPOL_PREFERRED,
                mask.as_ptr(),
                mask.len() * BITS + 1,
                0,
            )
        };
    }
    #[cfg(not(target_os = "linux"))]
    let _ = (address, bytes, node);
}

/// Has the system fill in the pages of a range of whole pages of a reservation. Returns false if it can't.
pub(crate) fn populate(address: *mut u8, bytes: u64) -> bool {
    #[cfg(target_os = "linux")]
    {
        // SAFETY: this advice changes no contents of memory, whatever the range is.
        unsafe { libc::madvise(address.cast(), bytes as usize, libc::MADV_POPULATE_WRITE) == 0 }
    }
    #[cfg(not(target_os = "linux"))]
    {
        let _ = (address, bytes);
        false
    }
}

/// Returns the number of page faults that the calling thread has had, or none if the system does not tell.
pub(crate) fn faults_of_thread() -> Option<u64> {
    #[cfg(target_os = "linux")]
    {
        let mut usage = std::mem::MaybeUninit::<libc::rusage>::zeroed();
        // SAFETY: the system fills in the structure, for which there is room.
        let told = unsafe { libc::getrusage(libc::RUSAGE_THREAD, usage.as_mut_ptr()) };
        // SAFETY: the structure consists of numbers, and zeros are valid for them.
        let usage = unsafe { usage.assume_init() };
        (told == 0).then_some((usage.ru_minflt + usage.ru_majflt) as u64)
    }
    #[cfg(not(target_os = "linux"))]
    None
}

/// Up to this size, in bytes, clearing memory costs less than returning its pages to the system and faulting
/// them in again.
#[cfg(target_os = "linux")]
const CLEARED_BY_HAND: u64 = 4 << 20;

/// Makes a range of a reservation zero again. On Linux the pages of a large range return to the system.
///
/// # Safety
/// The range must lie in a reservation that was `mapped` so, `address` must be a multiple of 4096, and the caller must have
/// exclusive use of the range and of the rest of its last page.
pub(crate) unsafe fn clear(address: *mut u8, bytes: u64, mapped: Mapped) {
    #[cfg(not(target_os = "linux"))]
    let _ = mapped;
    #[cfg(target_os = "linux")]
    if bytes > CLEARED_BY_HAND {
        let whole = bytes.next_multiple_of(4096) as usize;
        let advice = match mapped {
            Mapped::Privately => libc::MADV_DONTNEED,
            // Without this the pages would stay, and keep their contents.
            Mapped::AtOnce => libc::MADV_REMOVE,
        };
        // SAFETY: the caller promises exclusive use. The system fills in zeros when the pages are touched again.
        let returned = unsafe { libc::madvise(address.cast(), whole, advice) } == 0;
        // The system refuses if `address` is no multiple of its own, larger pages.
        if returned {
            return;
        }
    }
    // SAFETY: the caller promises that the range is mapped, and that its use is exclusive.
    unsafe { address.write_bytes(0, bytes as usize) };
}
