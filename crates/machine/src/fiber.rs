//! Stacks for fibers. They are made once, kept in a pool, and coloured.
//!
//! Making a stack costs one or two system calls (14 µs). Switching between stacks costs a few nanoseconds. So
//! stacks are reused.
//!
//! Stacks that all end at the same offset within a page share the same cache sets. Therefore the tops of the
//! stacks are shifted against each other by a few cache lines. This shift is the stack's colour.

use crate::cold::{Arc, Mutex};
use corosensei::stack::{MIN_STACK_SIZE, Stack, StackPointer};
use std::{io, ptr::NonNull};

const PAGE: usize = if cfg!(target_arch = "x86_64") { 4096 } else { 65_536 };

/// A pool of stacks of one size. Any thread can take a stack and return it on any other thread.
#[derive(Clone)]
pub struct StackPool {
    inner: Arc<Mutex<Inner>>,
}

struct Inner {
    /// Size of each stack, without the guard page.
    bytes: usize,
    free: Vec<Mapping>,
    /// Number of stacks made so far. It selects the colour of the next one.
    made: usize,
    /// Number of stacks that were taken and have not returned.
    taken: usize,
    colours: usize,
}

struct Mapping {
    /// Lowest address of the mapping. The guard page begins here.
    low: NonNull<u8>,
    bytes: usize,
    /// Distance between the end of the mapping and the top of the stack.
    colour_bytes: usize,
}

// SAFETY: a mapping belongs to the process and to the owner of this value. No thread is tied to the memory.
unsafe impl Send for Mapping {}

impl Drop for Mapping {
    fn drop(&mut self) {
        // SAFETY: `Inner::make` made the mapping, and no fiber runs on it any more.
        unsafe { libc::munmap(self.low.as_ptr().cast(), self.bytes) };
    }
}

impl StackPool {
    /// Makes a pool of stacks of `bytes` bytes each, rounded up to pages. A guard page is added to each stack.
    pub fn new(bytes: usize) -> StackPool {
        let bytes = bytes.max(MIN_STACK_SIZE).next_multiple_of(PAGE);
        let inner = Inner { bytes, free: Vec::new(), made: 0, taken: 0, colours: 16 };
        StackPool { inner: Arc::new(Mutex::new(inner)) }
    }

    /// Takes a stack from the pool, or makes a new one. The stack returns to the pool when it is dropped.
    pub fn take(&self) -> io::Result<PooledStack> {
        let mut inner = self.inner.lock();
        let mapping = match inner.free.pop() {
            Some(mapping) => mapping,
            None => inner.make()?,
        };
        inner.taken += 1;
        let base = mapping.low.as_ptr() as usize + mapping.bytes - mapping.colour_bytes;
        let base = StackPointer::new(base).expect("not at address 0");
        Ok(PooledStack { mapping: Some(mapping), base, home: self.inner.clone() })
    }

    /// Returns the number of stacks that were taken and have not returned.
    pub fn taken(&self) -> usize {
        self.inner.lock().taken
    }
}

/// Tells the system that a mapping is a stack, where the system wants to know.
#[cfg(target_os = "linux")]
const FOR_A_STACK: libc::c_int = libc::MAP_STACK;
#[cfg(not(target_os = "linux"))]
const FOR_A_STACK: libc::c_int = 0;

impl Inner {
    fn make(&mut self) -> io::Result<Mapping> {
        let bytes = self.bytes + PAGE;
        // SAFETY: this makes a new private mapping of `bytes` bytes.
        let low = unsafe {
            libc::mmap(
                std::ptr::null_mut(),
                bytes,
                libc::PROT_READ | libc::PROT_WRITE,
                libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE | FOR_A_STACK,
                -1,
                0,
            )
        };
        if low == libc::MAP_FAILED {
            return Err(io::Error::last_os_error());
        }
        // SAFETY: the lowest page of the mapping just made becomes the guard page.
        let guarded = unsafe { libc::mprotect(low, PAGE, libc::PROT_NONE) };
        let colour_bytes = (self.made % self.colours) * 128;
        self.made += 1;
        let low = NonNull::new(low.cast()).expect("a mapping is never at address 0");
        let mapping = Mapping { low, bytes, colour_bytes };
        if guarded != 0 {
            return Err(io::Error::last_os_error());
        }
        Ok(mapping)
    }
}

/// A stack that was taken from a [`StackPool`].
pub struct PooledStack {
    mapping: Option<Mapping>,
    /// Top of the stack. Stored because it is read at every switch.
    base: StackPointer,
    home: Arc<Mutex<Inner>>,
}

impl PooledStack {
    fn mapping(&self) -> &Mapping {
        self.mapping.as_ref().expect("a stack has its mapping until it is dropped")
    }
}

// SAFETY: base and limit lie in one writable mapping. They are page-aligned (the base: 128-byte aligned), and
// there is a guard page below the limit. They stay valid until the stack is dropped.
unsafe impl Stack for PooledStack {
    #[inline(always)]
    fn base(&self) -> StackPointer {
        self.base
    }

    fn limit(&self) -> StackPointer {
        StackPointer::new(self.mapping().low.as_ptr() as usize + PAGE).expect("not at address 0")
    }
}

impl Drop for PooledStack {
    fn drop(&mut self) {
        if let Some(mapping) = self.mapping.take() {
            let mut home = self.home.lock();
            home.taken -= 1;
            home.free.push(mapping);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use corosensei::{Coroutine, CoroutineResult};

    #[test]
    fn stacks_are_reused_and_coloured() {
        let pool = StackPool::new(64 * 1024);
        let (a, b) = (pool.take().unwrap(), pool.take().unwrap());
        assert_ne!(a.base().get() % PAGE, b.base().get() % PAGE);
        let base = b.base();
        drop(b);
        assert_eq!(pool.take().unwrap().base(), base);
    }

    #[test]
    fn a_stack_is_given_back_on_another_thread() {
        let pool = StackPool::new(64 * 1024);
        let stack = pool.take().unwrap();
        let base = stack.base();
        let theirs = pool.clone();
        let fresh = std::thread::spawn(move || {
            drop(stack);
            theirs.take().unwrap()
        });
        let again = fresh.join().unwrap();
        assert_eq!(again.base(), base);
        drop(again);
        assert_eq!(pool.take().unwrap().base(), base);
    }

    #[test]
    fn a_fiber_runs_on_a_pooled_stack() {
        let pool = StackPool::new(64 * 1024);
        let mut fiber = Coroutine::with_stack(pool.take().unwrap(), |yielder, first: u32| {
            let second = yielder.suspend(first + 1);
            second * 2
        });
        assert!(matches!(fiber.resume(1), CoroutineResult::Yield(2)));
        assert!(matches!(fiber.resume(21), CoroutineResult::Return(42)));
    }
}
