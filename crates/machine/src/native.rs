//! `Native`: OS threads pinned to cores, real atomics, the time-stamp counter.
//!
//! Every method is one or a few instructions and is inlined. A protocol that is written against [`Core`]
//! compiles to the same code as a hand-written one (the benchmark `trait_cost` counts instructions).
//!
//! Only waits are longer. [`waiting`] defines how long a thread spins before it sleeps, and [`parking`] how it
//! is woken.

mod arrivals;
mod attention;
#[cfg(test)]
mod attention_model;
mod barrier;
mod clock;
mod copies;
mod crew;
mod parking;
mod strangers;
mod tags;
mod waiting;

use crate::{
    Arena, ArenaOptions, Body, Breakdown, Category, Core, Machine, NEVER, OutOfMemory, RunError,
    Runs, Service, Sharing, TimedOut, Word,
    cold::{Arc, Condvar, Mutex},
};
use arrivals::Arrivals;
use clock::{duration_of, fenced_timestamp_counter, timestamp_counter, timestamp_counter_hz};
use crew::{Awaited, Handle, Yielded};
use parking::Aim;
use std::{
    any::Any,
    panic::{AssertUnwindSafe, catch_unwind, resume_unwind},
    sync::atomic::{Ordering, fence},
    time::{Duration, Instant},
};
use waiting::{Patience, Wait};

/// Options of a native machine.
#[derive(Clone, Debug)]
pub struct NativeOptions {
    /// Options of the arena for all shared data.
    pub arena: ArenaOptions,
    /// Set if the machine measures a time breakdown. The breakdown costs two clock reads per change of category.
    pub breakdown: bool,
    /// Set if the machine pins worker `i` to the `i`-th core that the process may use.
    pub pin: bool,
}

impl Default for NativeOptions {
    fn default() -> Self {
        let arena = ArenaOptions { huge_pages: true, ..ArenaOptions::default() };
        NativeOptions { arena, breakdown: false, pin: true }
    }
}

/// The machine that the process runs on.
pub struct Native {
    arena: Arc<Arena>,
    options: NativeOptions,
}

impl Native {
    /// Makes a native machine with an arena of its own.
    pub fn new(options: NativeOptions) -> Result<Native, OutOfMemory> {
        let arena = Arc::new(Arena::new(&options.arena)?);
        if arena.nodes() > 1 {
            arena.bind_nodes();
        }
        Ok(Native { arena, options })
    }

    /// Returns the number of cores that this process may use.
    pub fn available_cores() -> usize {
        core_affinity::get_core_ids().map_or_else(
            || std::thread::available_parallelism().map_or(1, |n| n.get()),
            |ids| ids.len().max(1),
        )
    }

    /// Returns a core for the calling thread, wherever it runs. For embedders with threads of their own.
    pub fn core(&self, id: usize) -> NativeCore {
        NativeCore::new(id, self.options.breakdown)
    }

    fn pin_to(&self, worker: usize) {
        if self.options.pin
            && let Some(ids) = core_affinity::get_core_ids()
            && let Some(id) = ids.get(worker)
        {
            // If pinning is refused, as some containers do, the measurement is less precise but still correct.
            core_affinity::set_for_current(*id);
        }
    }
}

impl Machine for Native {
    type Line = ();
    type Core = NativeCore;
    const KEEPS_OPAQUE: bool = true;
    const MODELLED: bool = false;

    fn arena(&self) -> &Arc<Arena> {
        &self.arena
    }

    fn clock_hz(&self) -> u64 {
        timestamp_counter_hz()
    }

    fn run_fibers<'a>(
        &self,
        sharing: Sharing,
        workers: Vec<Body<'a, Self>>,
        services: Vec<Service<'a, Self>>,
    ) -> Result<(), RunError> {
        let count = workers.len();
        let (of_thread, of_core) = match sharing.slice_ticks() {
            Some(_) => (1, sharing.count()),
            None => (sharing.count(), 1),
        };
        let threads = count.div_ceil(of_thread);
        let crowded = threads > Native::available_cores();
        let workers_left = &WorkersLeft { count: Mutex::new(threads), none: Condvar::new() };
        let core = |id| NativeCore { crowded, ..self.core(id) };
        let arrivals = sharing.can_move().then(|| Arrivals::new(threads, count));
        let arrivals = arrivals.as_ref();
        let mut bodies = workers.into_iter().enumerate().map(|(id, body)| (core(id), body));
        let panic = std::thread::scope(|scope| {
            let threads: Vec<_> = (0..threads)
                .map(|thread| {
                    let bodies: Vec<_> = bodies.by_ref().take(of_thread).collect();
                    scope.spawn(move || {
                        self.pin_to(thread / of_core);
                        let ended = work(bodies, arrivals.map(|arrivals| (arrivals, thread)));
                        workers_left.one_ended();
                        ended
                    })
                })
                .collect();
            for (i, service) in services.into_iter().enumerate() {
                scope.spawn(move || {
                    let core = self.core(count + i);
                    let interval = duration_of(service.interval_ticks).max(SHORTEST_INTERVAL);
                    let mut next = Instant::now() + interval;
                    while workers_left.any_at(next) {
                        (service.tick)(&core);
                        // Missed ticks are not made up for.
                        next = (next + interval).max(Instant::now());
                    }
                    (service.tick)(&core);
                });
            }
            let ended = threads.into_iter().map(|t| t.join().and_then(|ended| ended));
            ended.filter_map(Result::err).last()
        });
        match panic {
            Some(payload) => resume_unwind(payload),
            None => Ok(()),
        }
    }
}

/// Runs the bodies of one thread, with their cores. If they can move, `arrivals` names the thread to which they do.
fn work(
    mut bodies: Vec<(NativeCore, Body<'_, Native>)>,
    arrivals: Option<(&Arrivals, usize)>,
) -> Result<(), Box<dyn Any + Send>> {
    match bodies.len() {
        1 if arrivals.is_none() => {
            let (core, body) = bodies.remove(0);
            catch_unwind(AssertUnwindSafe(|| body(&core)))
        }
        _ => crew::run(bodies, arrivals),
    }
}

/// Shortest time between two ticks of a service.
const SHORTEST_INTERVAL: Duration = Duration::from_millis(1);

/// Number of workers that still run. Services use it to end, and sleep on it between ticks.
struct WorkersLeft {
    count: Mutex<usize>,
    /// Notified when the last worker has ended.
    none: Condvar,
}

impl WorkersLeft {
    fn one_ended(&self) {
        let mut count = self.count.lock();
        *count -= 1;
        if *count == 0 {
            self.none.notify_all();
        }
    }

    /// Sleeps until `time`. Returns false as soon as no worker is left.
    fn any_at(&self, time: Instant) -> bool {
        let mut count = self.count.lock();
        while *count > 0 {
            if self.none.wait_until(&mut count, time).timed_out() {
                break;
            }
        }
        *count > 0
    }
}

/// A core of the native machine, for one OS thread.
#[derive(Debug)]
pub struct NativeCore {
    id: usize,
    breakdown: Breakdown,
    patience: Patience,
    /// Set if there are more workers than processors. A spinning worker then keeps another one from running.
    crowded: bool,
    /// Handle by which this core lets the other fibers of its thread run.
    fiber: Handle,
}

/// Pauses of at least this length sleep, except for their last part.
const LONG_PAUSE: Duration = Duration::from_micros(100);
/// Back-offs of at least this length sleep. A thread with a long back-off has failed several times. The thread
/// that blocks it was probably preempted, perhaps by the thread that backs off.
///
/// A sleep takes some tens of microseconds longer than asked for. So if each thread has a processor, only
/// back-offs that are long already sleep.
const LONG_BACK_OFF: Duration = Duration::from_micros(25);
const LONG_BACK_OFF_IN_A_CROWD: Duration = Duration::from_micros(10);
/// A sleep that a timer ends can be longer than asked for by this time. The thread spins for this last part of
/// a pause.
const TIMERS_ARE_LATE: Duration = Duration::from_micros(60);

impl NativeCore {
    fn new(id: usize, breakdown: bool) -> NativeCore {
        let core = NativeCore {
            id,
            breakdown: Breakdown::new(breakdown),
            patience: Patience::at_first(),
            crowded: false,
            fiber: Handle::default(),
        };
        core.breakdown.restart(core.now());
        core
    }
}

impl NativeCore {
    /// Lets the other fibers of the thread run until the clock reaches `deadline`.
    fn pause_as_fiber(&self, deadline: u64) {
        loop {
            self.fiber.switch(Yielded::Waiting(Awaited { word: None, deadline }));
            if self.now() >= deadline {
                return;
            }
        }
    }
}

impl Core for NativeCore {
    type Line = ();

    #[inline(always)]
    fn overtakes(&self) -> bool {
        true
    }

    #[inline(always)]
    fn sleeps(&self, _: &(), word: &Word) -> bool {
        parking::sleeps(word)
    }

    #[inline(always)]
    fn id(&self) -> usize {
        self.id
    }

    #[inline(always)]
    fn load(&self, _: &(), word: &Word) -> u64 {
        word.atomic().load(Ordering::Acquire)
    }

    #[inline(always)]
    fn load_relaxed(&self, _: &(), word: &Word) -> u64 {
        word.atomic().load(Ordering::Relaxed)
    }

    #[inline(always)]
    fn load_const(&self, _: &(), word: &Word) -> u64 {
        word.atomic().load(Ordering::Relaxed)
    }

    #[inline(always)]
    fn load_uncharged(&self, word: &Word) -> u64 {
        word.atomic().load(Ordering::Acquire)
    }

    #[inline(always)]
    fn store(&self, _: &(), word: &Word, value: u64) {
        word.atomic().store(value, Ordering::Release);
    }

    #[inline(always)]
    fn store_relaxed(&self, _: &(), word: &Word, value: u64) {
        word.atomic().store(value, Ordering::Relaxed);
    }

    #[inline(always)]
    fn cas(&self, _: &(), word: &Word, expected: u64, desired: u64) -> Result<u64, u64> {
        // The caller reads and uses the value of a failed exchange like that of a load, so the failure acquires
        // too.
        word.atomic().compare_exchange(expected, desired, Ordering::AcqRel, Ordering::Acquire)
    }

    #[inline(always)]
    fn swap(&self, _: &(), word: &Word, value: u64) -> u64 {
        word.atomic().swap(value, Ordering::AcqRel)
    }

    #[inline(always)]
    fn fetch_add(&self, _: &(), word: &Word, value: u64) -> u64 {
        word.atomic().fetch_add(value, Ordering::AcqRel)
    }

    #[inline(always)]
    fn fence_acquire(&self) {
        fence(Ordering::Acquire);
    }

    #[inline(always)]
    fn fence_release(&self) {
        fence(Ordering::Release);
    }

    #[inline(always)]
    fn fence(&self) {
        // SeqCst: earlier stores must be visible before later loads. No weaker order guarantees this.
        fence(Ordering::SeqCst);
    }

    #[inline(always)]
    fn wait_while_until(
        &self,
        _: &(),
        word: &Word,
        deadline: u64,
        mut condition: impl FnMut(u64) -> bool,
    ) -> Result<u64, TimedOut> {
        let value = word.atomic().load(Ordering::Acquire);
        if !condition(value) {
            return Ok(value);
        }
        self.wait(Wait { word, deadline, aim: Aim::See }, &mut condition)
    }

    #[inline(always)]
    fn wait_to_take(&self, _: &(), word: &Word, mut condition: impl FnMut(u64) -> bool) -> u64 {
        let value = word.atomic().load(Ordering::Acquire);
        if !condition(value) {
            return value;
        }
        let wait = Wait { word, deadline: NEVER, aim: Aim::Take };
        self.wait(wait, &mut condition).unwrap_or_else(|TimedOut| word.peek())
    }

    #[inline(always)]
    fn wake(&self, _: &(), word: &Word) {
        parking::wake(word);
    }

    #[inline(always)]
    fn wake_each<'a>(&self, words: impl Iterator<Item = (&'a (), &'a Word)>) {
        parking::wake_each(words.map(|((), word)| word));
    }

    #[inline(always)]
    fn copy_out(&self, _: &(), _: usize, words: &[Word], into: &mut [u8]) {
        copies::copy_out(words, into);
    }

    #[inline(always)]
    fn copy_in(&self, _: &(), _: usize, words: &[Word], from: &[u8]) {
        copies::copy_in(words, from);
    }

    #[inline(always)]
    fn copy_runs_out(&self, _: &(), words: &[Word], runs: &Runs, into: &mut [u8]) {
        copies::runs_out(words, runs, into);
    }

    #[inline(always)]
    fn copy_runs_in(&self, _: &(), words: &[Word], runs: &Runs, from: &[u8]) {
        copies::runs_in(words, runs, from);
    }

    #[inline(always)]
    fn untagged(&self, words: &[Word], tag: u16) -> usize {
        tags::untagged(words, tag)
    }

    #[inline(always)]
    fn touch(&self, _: &(), _: usize, _: usize, _: bool) {}

    #[inline(always)]
    fn copied(&self, _: usize) {}

    #[inline(always)]
    fn compute(&self, _: u64) {}

    fn pause(&self, ticks: u64) {
        let start = self.now();
        if self.fiber.is_fiber() {
            return self.pause_as_fiber(start.saturating_add(ticks));
        }
        let time = duration_of(ticks);
        if time >= LONG_PAUSE {
            // A thread without work does not need its processor, so it sleeps.
            std::thread::sleep(time - TIMERS_ARE_LATE);
        }
        while self.now().wrapping_sub(start) < ticks {
            std::hint::spin_loop();
        }
    }

    fn back_off(&self, ticks: u64) {
        let time = duration_of(ticks);
        if self.fiber.is_fiber() {
            self.pause(ticks);
        } else if time >= if self.crowded { LONG_BACK_OFF_IN_A_CROWD } else { LONG_BACK_OFF } {
            std::thread::sleep(time);
        } else {
            self.pause(ticks);
        }
    }

    #[inline]
    fn switch_fiber(&self) {
        self.fiber.switch(Yielded::Ready);
    }

    #[inline(always)]
    fn host(&self) -> Option<usize> {
        self.fiber.host()
    }

    /// Not inlined, so that no caller keeps what it knows of its thread across the move.
    #[inline(never)]
    fn move_to(&self, to: usize) {
        let host = self.fiber.host().expect("the fibers of this run can move");
        if host != to {
            let before = self.account(Category::Wait);
            self.fiber.move_to(to);
            self.account(before);
        }
    }

    #[inline(always)]
    fn now(&self) -> u64 {
        timestamp_counter()
    }

    #[inline]
    fn now_fenced(&self) -> u64 {
        // The fences have this effect: own stores have left the store buffer before the clock is read, and
        // later loads wait until it has been read.
        fence(Ordering::SeqCst);
        let now = fenced_timestamp_counter();
        fence(Ordering::SeqCst);
        now
    }

    fn ticks_per_second(&self) -> u64 {
        timestamp_counter_hz()
    }

    #[inline(always)]
    fn prefetch(&self, address: *const u8, bytes: usize) {
        let mut at = 0;
        while at < bytes {
            prefetch_line(address.wrapping_add(at));
            at += 64;
        }
    }

    #[inline(always)]
    fn breakdown(&self) -> &Breakdown {
        &self.breakdown
    }

    fn page_faults(&self) -> Option<u64> {
        crate::pages::faults_of_thread()
    }
}

#[cfg(target_arch = "x86_64")]
#[inline(always)]
fn prefetch_line(address: *const u8) {
    // SAFETY: a prefetch is a hint. It is valid for any address.
    unsafe {
        core::arch::x86_64::_mm_prefetch::<{ core::arch::x86_64::_MM_HINT_T0 }>(address.cast())
    }
}

#[cfg(not(target_arch = "x86_64"))]
#[inline(always)]
fn prefetch_line(_: *const u8) {}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Place;

    fn machine() -> Native {
        let arena = ArenaOptions { reserve_bytes: 1 << 30, ..ArenaOptions::default() };
        Native::new(NativeOptions { arena, ..NativeOptions::default() }).unwrap()
    }

    #[test]
    fn workers_share_words_and_wait_for_each_other() {
        let machine = machine();
        let words = machine.arena().place::<[Word; 2]>(Place::Any).unwrap();
        let bodies = (0..4)
            .map(|_| -> Body<'_, Native> {
                Box::new(|core| {
                    core.fetch_add(&(), &words[0], 1);
                    core.wake(&(), &words[0]);
                    core.wait_while(&(), &words[0], |v| v < 4);
                    core.fetch_add(&(), &words[1], 1);
                })
            })
            .collect();
        machine.run(bodies, vec![]).unwrap();
        assert_eq!(words[1].peek(), 4);
    }

    #[test]
    fn services_run_beside_workers_and_once_more_at_the_end() {
        let machine = machine();
        let ticks = machine.arena().place::<Word>(Place::Any).unwrap();
        let service = Service {
            name: "count",
            interval_ticks: 1,
            tick: Box::new(|core: &NativeCore| {
                core.fetch_add(&(), &ticks, 1);
                core.wake(&(), &ticks);
            }),
        };
        let body: Body<'_, Native> = Box::new(|core| {
            core.wait_while(&(), &ticks, |v| v < 3);
        });
        machine.run(vec![body], vec![service]).unwrap();
        assert!(ticks.peek() >= 4);
    }

    #[test]
    fn a_panic_reaches_the_caller() {
        let machine = machine();
        let body: Body<'_, Native> = Box::new(|_| panic!("on purpose"));
        let caught = catch_unwind(AssertUnwindSafe(|| machine.run(vec![body], vec![])));
        assert_eq!(*caught.unwrap_err().downcast::<&str>().unwrap(), "on purpose");
    }

    #[test]
    fn copies_keep_bytes_whatever_their_number() {
        let core = machine().core(0);
        for length in 0..200usize {
            let words: Vec<Word> = (0..26).map(|_| Word::new(u64::MAX)).collect();
            let from: Vec<u8> = (0..length as u8).collect();
            let (inside, behind) = words.split_at(length.div_ceil(8));
            core.copy_in(&(), 0, inside, &from);
            let mut into = vec![0; length];
            core.copy_out(&(), 0, inside, &mut into);
            assert_eq!(into, from);
            assert!(behind.iter().all(|word| word.peek() == u64::MAX));
            let last = inside.last().map_or(0, Word::peek);
            assert!(length % 8 == 0 || last >> (8 * (length % 8)) == 0, "zeros fill the word");
        }
    }

    #[test]
    fn a_wait_ends_at_its_deadline() {
        let core = machine().core(0);
        let word = Word::new(1);
        let deadline = core.now() + core.ticks_per_second() / 1000;
        assert_eq!(core.wait_while_until(&(), &word, deadline, |v| v == 1), Err(TimedOut));
        assert!(core.now() >= deadline);
    }
}
