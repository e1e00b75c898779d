//! Full memory barriers: one for the calling thread, and one that a single thread executes for all threads.

/// Full barrier of the calling thread: its earlier stores are visible before its later loads.
///
/// On x86-64 any instruction with a lock prefix is a full barrier. This one takes a third of the time of the
/// instruction that the compiler would choose.
#[inline(always)]
pub(super) fn for_this_thread() {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: it writes the existing value to the top of the stack, and the compiler moves no access across it.
    unsafe {
        core::arch::asm!("lock or dword ptr [rsp], 0", options(nostack));
    }
    // SeqCst: earlier stores must be visible before later loads. No weaker order guarantees this.
    #[cfg(not(target_arch = "x86_64"))]
    std::sync::atomic::fence(std::sync::atomic::Ordering::SeqCst);
}

/// Executes a full memory barrier in every thread of the process. When the call returns, every other thread has
/// executed one since the call began, and so has the caller. Returns false if the system has no such call. Then
/// only the caller has executed a barrier.
///
/// On Linux this is `membarrier`, which interrupts only the processors that run a thread of this process.
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
    // SAFETY: the call takes numbers only and accesses no memory of this process.
    unsafe { libc::syscall(libc::SYS_membarrier, command, flags, processor) == 0 }
}

/// Other systems have no such call.
#[cfg(not(target_os = "linux"))]
pub(super) fn for_all_threads() -> bool {
    for_this_thread();
    false
}
