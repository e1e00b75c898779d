//! A barrier that one thread pays for and all get.

/// From here on every other thread of the process has executed a full memory barrier since this call began, and so has
/// the caller. False if the system has no such call: then only the caller has.
///
/// Linux: `membarrier`, which interrupts those processors only that run a thread of this process.
#[cfg(target_os = "linux")]
pub(super) fn for_all_threads() -> bool {
    use std::sync::{
        OnceLock,
        atomic::{Ordering, fence},
    };
    static REGISTERED: OnceLock<bool> = OnceLock::new();
    let register = libc::MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED;
    let registered = *REGISTERED.get_or_init(|| membarrier(register as libc::c_long));
    // Stores before it are visible before loads after it, which only the strongest order says.
    fence(Ordering::SeqCst);
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
    use std::sync::atomic::{Ordering, fence};
    // Stores before it are visible before loads after it, which only the strongest order says.
    fence(Ordering::SeqCst);
    false
}
