//! Parking: threads sleep here until a word that they wait for is changed, and wakers find them here.
//!
//! A word has 64 bits, and its owner uses all of them. There is no room for a flag that a thread sleeps, and
//! hardly any word is ever waited for. So sleepers are recorded elsewhere: in counts by address, and in the
//! queues of `parking_lot_core`, which are by address too. A thread that has changed a word on which others can
//! wait reads the count. If the count is not zero, it looks into the queue.
//!
//! While no thread sleeps anywhere, the waker does not even read the count, but makes a single comparison.
//! [`super::attention`] explains how that is possible and why no sleeper misses a change. A lock on the queue
//! makes the sleeper's last look at the word and the wake mutually exclusive.
//!
//! If the system has no barrier for all threads, a sleeper can miss a change that is still on its way from one
//! processor to the others. So no sleep is longer than [`Sleeper::longest`], which limits the time lost.

use super::{
    attention::{Attention, LOOKS_IN_VAIN},
    barrier,
};
use crate::Word;
use parking_lot_core::{
    DEFAULT_UNPARK_TOKEN, FilterOp, ParkToken, UnparkResult, park, unpark_filter,
};
use std::{
    cell::Cell,
    sync::atomic::{AtomicU32, Ordering, compiler_fence},
    time::{Duration, Instant},
};

static ATTENTION: Attention = Attention::new();

/// Keeps a value on cache lines of its own.
#[repr(align(128))]
struct Lonely<T>(T);

/// Binary logarithm of the number of counts in [`BY_ADDRESS`].
const PLACES_LOG2: u32 = 10;

/// Number of threads that sleep or are about to sleep, by a hash of the address of the word that they wait for.
static BY_ADDRESS: Lonely<[AtomicU32; 1 << PLACES_LOG2]> =
    Lonely([const { AtomicU32::new(0) }; 1 << PLACES_LOG2]);

/// The purpose for which a sleeper waits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Aim {
    /// To see the word. All these sleepers are woken.
    See,
    /// To acquire the word. One of these sleepers is woken, because the word is then of no use to the others.
    Take,
}

impl Aim {
    fn token(self) -> ParkToken {
        ParkToken(self as usize)
    }
}

/// Longest sleep if the threads are protected by a barrier for all threads (`GUARDED`), and longest first sleep
/// if they are not (`UNGUARDED`). Each further unguarded sleep doubles its limit.
const GUARDED: Duration = Duration::from_millis(100);
const UNGUARDED: Duration = Duration::from_millis(1);

fn place(word: *const Word) -> &'static AtomicU32 {
    let spread = (word.addr() as u64).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    &BY_ADDRESS.0[(spread >> (64 - PLACES_LOG2)) as usize]
}

thread_local! {
    /// Number of consecutive looks of this thread that found no sleeper anywhere.
    static IN_VAIN: Cell<u32> = const { Cell::new(0) };
}

/// Returns true if a thread that waits for `word` may be asleep, is about to sleep, or has been woken and does
/// not run yet. The thread can also be one that waits for another word with the same count.
#[inline]
pub(super) fn sleeps(word: &Word) -> bool {
    place(word).load(Ordering::Relaxed) != 0
}

/// Wakes the threads that sleep until `word` changes. The caller must have changed it. Wakes all threads that
/// wait to see the word, and one of the threads that wait to acquire it.
#[inline(always)]
pub(super) fn wake(word: &Word) {
    // The compiler must keep the change before this point. SeqCst names the strongest fence, which costs
    // nothing here.
    compiler_fence(Ordering::SeqCst);
    if ATTENTION.is_asked() {
        look_for_sleepers(std::iter::once(word));
    }
}

/// Wakes the threads that sleep until one of several words changes, as [`wake`] does.
#[inline(always)]
pub(super) fn wake_each<'a>(words: impl Iterator<Item = &'a Word>) {
    // As in `wake`: SeqCst names the strongest fence, for the compiler only.
    compiler_fence(Ordering::SeqCst);
    if ATTENTION.is_asked() {
        look_for_sleepers(words);
    }
}

#[cold]
#[inline(never)]
fn look_for_sleepers<'a>(words: impl Iterator<Item = &'a Word>) {
    // The changes must be visible before the counts are read.
    barrier::for_this_thread();
    for word in words {
        if place(word).load(Ordering::Relaxed) != 0 {
            wake_sleepers(word);
        }
    }
    if ATTENTION.has_sleepers() {
        return IN_VAIN.set(0);
    }
    let in_vain = IN_VAIN.get() + 1;
    IN_VAIN.set(in_vain % LOOKS_IN_VAIN);
    if in_vain == LOOKS_IN_VAIN {
        ATTENTION.leave();
    }
}

#[cold]
fn wake_sleepers(word: &Word) {
    let mut taken = false;
    let choose = |token: ParkToken| {
        let takes = token == Aim::Take.token();
        if takes && std::mem::replace(&mut taken, true) { FilterOp::Skip } else { FilterOp::Unpark }
    };
    let token = |_: UnparkResult| DEFAULT_UNPARK_TOKEN;
    // SAFETY: the key is the address of a word of this process, on which nothing else parks. Neither closure
    // panics or parks.
    unsafe { unpark_filter(std::ptr::from_ref(word).addr(), choose, token) };
    if CREWS.load(Ordering::Relaxed) != 0 {
        wake_crews(word);
    }
}

/// Wakes the threads whose fibers wait for `word` among others.
fn wake_crews(word: &Word) {
    let choose = |ParkToken(list): ParkToken| {
        // SAFETY: the token of a crew is the address of its list. The list outlives the crew's time in the queue,
        // which is locked while this closure runs.
        let list = unsafe { &*std::ptr::with_exposed_provenance::<&[Seen]>(list) };
        let waits = list.iter().any(|(other, _)| std::ptr::eq(*other, word));
        if waits { FilterOp::Unpark } else { FilterOp::Skip }
    };
    // SAFETY: the key is the address of a static of this module, on which only crews park. Neither closure panics or
    // parks.
    unsafe { unpark_filter(crews_key(), choose, |_: UnparkResult| DEFAULT_UNPARK_TOKEN) };
}

/// A word and the value that a waiting fiber has seen in it.
type Seen = (*const Word, u64);

/// Number of threads that sleep in [`sleep_for_any`], or are about to. It is the place where they park, too.
static CREWS: AtomicU32 = AtomicU32::new(0);

fn crews_key() -> usize {
    std::ptr::from_ref(&CREWS).addr()
}

/// Sleeps while all of `words` hold the values that were seen, until the thread is woken, or for `longest`. For a thread
/// with several fibers. A thread can park in one queue only, so all such threads park in one. A waker that finds a count
/// for its word looks there too.
///
/// # Safety
/// The words must stay valid during the call.
pub(super) unsafe fn sleep_for_any(words: &[Seen], longest: Duration) {
    let counted = Counted::of(words);
    let most = if counted.guarded { GUARDED } else { UNGUARDED };
    let until = Instant::now() + most.min(longest);
    let unchanged = || {
        words.iter().all(|(word, seen)| {
            // SAFETY: the caller says that the words stay valid.
            let word = unsafe { &**word };
            word.atomic().load(Ordering::Acquire) == *seen
        })
    };
    let token = ParkToken(std::ptr::from_ref(&words).expose_provenance());
    // SAFETY: as in `wake_crews`. The closures neither panic nor park nor wake.
    unsafe { park(crews_key(), unchanged, || (), |_, _| (), token, Some(until)) };
}

/// Counts of the words for which the fibers of one thread wait. They last as long as this value.
struct Counted<'a> {
    words: &'a [Seen],
    guarded: bool,
}

impl<'a> Counted<'a> {
    fn of(words: &'a [Seen]) -> Counted<'a> {
        CREWS.fetch_add(1, Ordering::Relaxed);
        words.iter().for_each(|(word, _)| {
            place(*word).fetch_add(1, Ordering::Relaxed);
        });
        Counted { words, guarded: ATTENTION.enter() }
    }
}

impl Drop for Counted<'_> {
    fn drop(&mut self) {
        self.words.iter().for_each(|(word, _)| {
            place(*word).fetch_sub(1, Ordering::Relaxed);
        });
        CREWS.fetch_sub(1, Ordering::Relaxed);
        ATTENTION.exit();
    }
}

/// A thread that is going to sleep until a word changes. It is counted for as long as this value lives.
pub(super) struct Sleeper<'a> {
    word: &'a Word,
    /// Set if there is a barrier for all threads, so that no change can be missed.
    guarded: bool,
    sleeps: u32,
}

impl<'a> Sleeper<'a> {
    /// Counts the calling thread. The caller must then read the word again before it sleeps.
    pub fn of(word: &'a Word) -> Sleeper<'a> {
        place(word).fetch_add(1, Ordering::Relaxed);
        Sleeper { word, guarded: ATTENTION.enter(), sleeps: 0 }
    }

    /// Returns the longest time of the next sleep. It limits the time lost if a change was missed.
    ///
    /// With a barrier for all threads no change is missed. A sleeper then still looks about ten times a second,
    /// in case a thread has changed a word without waking, which would be a bug.
    pub fn longest(&self) -> Duration {
        match self.guarded {
            true => GUARDED,
            false => (UNGUARDED * (1 << self.sleeps.min(7))).min(GUARDED),
        }
    }

    /// Sleeps while the word holds `seen`, until the thread is woken or until `deadline`, if there is one.
    pub fn sleep(&mut self, seen: u64, aim: Aim, deadline: Option<Instant>) {
        self.sleeps = self.sleeps.saturating_add(1);
        let atomic = self.word.atomic();
        let unchanged = || atomic.load(Ordering::Acquire) == seen;
        let key = std::ptr::from_ref(self.word).addr();
        // SAFETY: the key is the address of a word of this process, on which nothing else parks. The closures
        // neither panic nor park nor wake.
        unsafe { park(key, unchanged, || (), |_, _| (), aim.token(), deadline) };
    }
}

impl Drop for Sleeper<'_> {
    fn drop(&mut self) {
        place(self.word).fetch_sub(1, Ordering::Relaxed);
        ATTENTION.exit();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::{
        Arc,
        atomic::{AtomicBool, AtomicU64, AtomicUsize},
        mpsc,
    };

    const THREADS: usize = 8;

    /// Sleeps while `holds` is true for the word. It sleeps at once, so each wait depends on a wake.
    fn sleep_while(word: &Word, aim: Aim, holds: impl Fn(u64) -> bool) {
        let mut sleeper = None;
        loop {
            let value = word.atomic().load(Ordering::Acquire);
            if !holds(value) {
                return;
            }
            match &mut sleeper {
                None => sleeper = Some(Sleeper::of(word)),
                Some(sleeper) => {
                    // Without a barrier for all threads a wake can be late, so the test cannot demand it.
                    let deadline = (!sleeper.guarded).then(|| Instant::now() + sleeper.longest());
                    sleeper.sleep(value, aim, deadline);
                }
            }
        }
    }

    /// Runs `body` on eight threads. If one of them sleeps for ever, the test fails instead of hanging.
    fn on_threads(body: impl Fn(usize) + Send + Sync + 'static) {
        let (done, ended) = mpsc::channel();
        let body = Arc::new(body);
        for thread in 0..THREADS {
            let (body, done) = (body.clone(), done.clone());
            std::thread::spawn(move || {
                body(thread);
                done.send(thread).expect("the test waits");
            });
        }
        drop(done);
        let mut left = THREADS;
        while left > 0 {
            match ended.recv_timeout(Duration::from_secs(60)) {
                Ok(_) => left -= 1,
                Err(mpsc::RecvTimeoutError::Timeout) => {
                    panic!("{left} threads sleep: a wake was lost")
                }
                Err(mpsc::RecvTimeoutError::Disconnected) => panic!("{left} threads panicked"),
            }
        }
    }

    fn words(count: usize) -> Arc<Vec<Word>> {
        Arc::new((0..count).map(|_| Word::new(0)).collect())
    }

    /// Passes a token from thread to thread by stores. A store does not order the later look at the counts.
    fn pass_a_token(before_each: impl Fn(u64) + Send + Sync + 'static) {
        const ROUNDS: u64 = 2_000;
        let words = words(THREADS);
        on_threads(move |thread| {
            for round in 1..=ROUNDS {
                before_each(round);
                if thread > 0 || round > 1 {
                    let turn = round - u64::from(thread == 0);
                    sleep_while(&words[thread], Aim::See, |value| value < turn);
                }
                let next = (thread + 1) % THREADS;
                words[next].atomic().store(round, Ordering::Release);
                wake(&words[next]);
            }
        });
    }

    #[test]
    fn a_plain_store_wakes_who_sleeps() {
        pass_a_token(|_| ());
    }

    #[test]
    fn it_does_while_attention_is_left_and_asked_for_again() {
        pass_a_token(|round| {
            if round % 2 == 0 {
                ATTENTION.leave();
            }
        });
    }

    #[test]
    fn all_who_want_to_see_are_woken_by_one_change() {
        const ROUNDS: u64 = 500;
        let words = words(2);
        on_threads(move |_| {
            let (arrived, opened) = (&words[0], &words[1]);
            for round in 1..=ROUNDS {
                let others = arrived.atomic().fetch_add(1, Ordering::AcqRel) + 1;
                if others == round * THREADS as u64 {
                    opened.atomic().store(round, Ordering::Release);
                    wake(opened);
                }
                sleep_while(opened, Aim::See, |value| value < round);
            }
        });
    }

    #[test]
    fn who_sleeps_to_take_is_woken_one_by_one_and_all_in_the_end() {
        const ROUNDS: u64 = 4_000;
        let (latches, inside) = (words(2), Arc::new([const { AtomicUsize::new(0) }; 2]));
        let (overlapped, taken) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicU64::new(0)));
        let (all_overlapped, all_taken) = (overlapped.clone(), taken.clone());
        on_threads(move |thread| {
            for round in 0..ROUNDS {
                let number = (thread as u64 + round) as usize % 2;
                let latch = &latches[number];
                let take = || {
                    let order = (Ordering::AcqRel, Ordering::Relaxed);
                    latch.atomic().compare_exchange(0, 1, order.0, order.1)
                };
                while take().is_err() {
                    sleep_while(latch, Aim::Take, |value| value != 0);
                }
                let alone = inside[number].fetch_add(1, Ordering::Relaxed) == 0;
                overlapped.fetch_or(!alone, Ordering::Relaxed);
                inside[number].fetch_sub(1, Ordering::Relaxed);
                taken.fetch_add(1, Ordering::Relaxed);
                latch.atomic().store(0, Ordering::Release);
                wake(latch);
            }
        });
        assert!(!all_overlapped.load(Ordering::Relaxed));
        assert_eq!(all_taken.load(Ordering::Relaxed), ROUNDS * THREADS as u64);
    }

    #[test]
    fn who_sleeps_for_a_word_is_seen_until_it_runs_again() {
        let word = Word::new(0);
        std::thread::scope(|scope| {
            let sleeper = scope.spawn(|| sleep_while(&word, Aim::See, |value| value == 0));
            while !sleeps(&word) {
                std::thread::yield_now();
            }
            word.atomic().store(1, Ordering::Release);
            wake(&word);
            sleeper.join().expect("it was woken");
        });
        // Parallel tests can sleep for a while for a word with the same count.
        while sleeps(&word) {
            std::thread::yield_now();
        }
    }

    #[test]
    fn without_a_barrier_sleeps_grow_to_a_tenth_of_a_second() {
        let word = Word::new(0);
        let mut sleeper = Sleeper::of(&word);
        sleeper.guarded = false;
        assert_eq!(sleeper.longest(), UNGUARDED);
        sleeper.sleeps = 3;
        assert_eq!(sleeper.longest(), UNGUARDED * 8);
        sleeper.sleeps = u32::MAX;
        assert_eq!(sleeper.longest(), GUARDED);
        sleeper.guarded = true;
        assert_eq!(sleeper.longest(), GUARDED);
    }
}
