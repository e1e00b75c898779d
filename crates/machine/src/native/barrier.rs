//! Full memory barriers: the caller's own, and one that one thread pays for and all get.

/// What the calling thread has stored before is visible before it loads anything after.
///
/// On x86-64 any instruction with a lock prefix is such a barrier, and takes a third of the time of the one that the compiler
/// would choose.
#[inline(always)]
pub(super) fn for_this_thread() {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: it writes what is there to the top of the stack, and the compiler moves no access across it.
    unsafe {
        core::arch::asm!("lock or dword ptr [rsp], 0", options(nostack));
    }
    // Stores before it are visible before loads after it, which only the strongest order says.
    #[cfg(not(target_arch = "x86_64"))]
    std::sync::atomic::fence(std::sync::atomic::Ordering::SeqCst);
}

/// From here on every other thread of the process has executed a full memory barrier since this call began, and so has
/// the caller. False if the system has no such call: then only the caller has.
///
/// Linux: `membarrier`, which interrupts those processors only that run a thread of this process.
#[cfg(target_os = "linux")]
pub(super) fn for_all_threads() -> bool {
    use std::sync::OnceLock;
    static REGISTERED: OnceLock<bool> = OnceLock::new();
    let register = libc::MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED;
    let registered = *REGISTERED.get_or_init(|| membarrier(register as libc::c_long));
    for_this_thread();
    registered && membarrier(libc::MEMBARRIER_CMD_PRIVATE_EXPEDITED as libc::c_long)
}

#[cfg(target_os = "linux")]
fn membarrier(command: libc::c_long) -> bool {
    let (flags, processor): (libc::c_long, libc::c_long) = (0, 0);
    // SAFETY: the call takes numbers only and touches no memory of ours.
    unsafe { libc::syscall(libc::SYS_membarrier, command, flags, processor) == 0 }
}

/// Elsewhere nobody can ask for it.
#[cfg(not(target_os = "linux"))]
pub(super) fn for_all_threads() -> bool {
    for_this_thread();
    false
}
