//! One modelled core: a virtual clock, and the order in which its operations meet those of other cores.
//!
//! An operation happens when no other core's clock is behind. Until then the core yields. A yield is a switch of
//! stacks and costs the host much, so it is avoided in these cases:
//! - A core that is still the earliest goes on.
//! - An operation on a line that the core holds can run ahead of the order, by `World::lookahead` cycles at most. Why
//!   this is sound: this core was the earliest when it was resumed, so another core's operation cannot be earlier than
//!   that moment. The other core's operation needs at least a miss and the directory's answer before it can reach a
//!   line held here. So it cannot take effect before the end of the lookahead.
//! - Reads of words that never change do not depend on the order.
//! - A body is fetched together with its head line, if the core has just asked for that line.

mod beside;
mod waits;

use crate::{
    body::{Moved, Whereabouts},
    cache::{behind, identity},
    crews::StackTop,
    line::{EXCLUSIVE, SimLine, State, WAITERS, WRITTEN, next_hands},
    model::Seat,
    queue::{IDLE, key, time_of},
    scheduler::prefetch,
    world::{Stack, World, body_version},
};
use corosensei::Yielder;
use machine::{Breakdown, Category, Core, NEVER, TimedOut, Word};
use std::{cell::Cell, rc::Rc, sync::atomic::Ordering::Relaxed};
use waits::Wait;

/// Bytes that a record's own words take of its first line. The body starts behind them.
pub const HEADER_BYTES: usize = 16;

/// Latest time that a key may hold. It is less than the time in [`IDLE`].
pub(crate) const LATEST: u64 = (1 << 51) - 1;

/// Handle with which a coroutine suspends itself. It passes its key to the scheduler.
pub(crate) type Turn = Yielder<(), u64>;

/// Modelled core.
///
/// It fills exactly one cache line of the host. With a thousand cores the speed of a simulation depends on how many
/// lines a turn touches, and on how evenly they lie over the sets of the host's cache.
#[repr(C, align(64))]
pub struct SimCore {
    /// Modelled time of this core, in ticks. It never goes back.
    clock: Cell<u64>,
    /// Time until which the core may use lines that it holds without waiting for its turn.
    ahead: Cell<u64>,
    /// Line of the previous operation. While other cores run: line of the next operation.
    latest: Cell<*const SimLine>,
    /// Identity of the line of the operation that waits for its turn, or has it.
    identity: Cell<u64>,
    /// Handle of the coroutine that runs this core's body. Null before it has started.
    yielder: Cell<*const Turn>,
    /// Address near the base of the coroutine's stack. Its lowest bit is for [`SimCore::is_copying`].
    base: Cell<*const u8>,
    world: Rc<World>,
    /// Where the core sits. It changes when a fiber moves.
    seat: Cell<Seat>,
    id: u16,
}

const _: () = assert!(size_of::<SimCore>() == 64);

impl SimCore {
    pub(crate) fn new(id: usize, start: u64, world: Rc<World>) -> SimCore {
        let core = SimCore {
            clock: Cell::new(start),
            ahead: Cell::new(0),
            latest: Cell::new(std::ptr::null()),
            identity: Cell::new(0),
            yielder: Cell::new(std::ptr::null()),
            base: Cell::new(std::ptr::null()),
            id: id as u16,
            seat: Cell::new(world.model.seats[id]),
            world,
        };
        core.breakdown().restart(start);
        core
    }

    /// Notes that the coroutine that runs this core's body has started.
    pub(crate) fn started(&self, yielder: &Turn) {
        let here = 0u8;
        self.base.set(&raw const here);
        self.yielder.set(yielder);
        self.resumed();
    }

    /// Returns the core's number, as [`Core::id`].
    pub(crate) fn index(&self) -> usize {
        usize::from(self.id)
    }

    /// Returns the tile or socket on which the core sits.
    pub fn node(&self) -> usize {
        self.seat.get().node() as usize
    }

    #[inline(always)]
    /// Sets the end of the lookahead. Called whenever this core is the earliest.
    fn resumed(&self) {
        self.ahead.set(self.clock.get() + self.world.lookahead);
    }

    /// Lets other cores run until `until` is the earliest key. `until` is this core's key, or [`IDLE`].
    ///
    /// This function is inlined into every operation, because each return after a switch of stacks is a return that
    /// the host mispredicts. The code before and after the switch is kept in functions that are not inlined. With that
    /// code the whole would be so long that the compiler would not inline it.
    #[inline(always)]
    fn suspend(&self, until: u64) {
        let yielder = self.yielder.get();
        // SAFETY: a core operates only inside its coroutine. The coroutine set the pointer when it started, and keeps
        // the yielder alive until it ends.
        unsafe { &*yielder }.suspend(until);
        self.resumed();
    }

    /// Waits until no other core is behind.
    #[inline(always)]
    fn take_turn(&self) {
        let key = key(self.clock.get(), usize::from(self.id));
        if key >= self.world.limit.get() && !self.world.ending.get() {
            self.suspend(key);
        }
    }

    /// Returns the key with which to wait before an operation on `line`, or on line `part` of the body behind it.
    /// Returns [`IDLE`] if the operation can happen at once.
    #[inline(always)]
    fn key_for<const WRITE: bool>(&self, line: &SimLine, part: u64) -> u64 {
        let identity = identity(self.world.offset(line));
        self.identity.set(identity);
        let clock = self.clock.get();
        let key = key(clock, usize::from(self.id));
        if key < self.world.limit.get() || self.world.ending.get() {
            return IDLE;
        }
        let entry = behind(identity, part);
        // Reading a line that is not in the host's cache yet would cost more than a yield. So only the line of the
        // previous operation is considered.
        if clock < self.ahead.get() && std::ptr::eq(self.latest.get(), line) {
            let (version, flags) = line.version_and_flags();
            let mine = !WRITE || self.owns(line, flags);
            let version = if part == 0 { version } else { body_version(&line.state(), part) };
            if mine && self.holds(entry, version) {
                return IDLE;
            }
        }
        let here = 0u8;
        self.latest.set(line);
        // A core seldom stays the second-earliest. So what it will touch is fetched while other cores run.
        prefetch(std::ptr::from_ref(line).cast());
        let needs = &self.world.needs[usize::from(self.id)];
        needs.stack.set(Stack::new(&raw const here, self.base.get()));
        needs.line.set(line);
        needs.entry.set(self.world.l1.address(self.seat.get().physical(), entry));
        key
    }

    #[inline(never)]
    fn key_for_line<const WRITE: bool>(&self, line: &SimLine) -> u64 {
        self.key_for::<WRITE>(line, 0)
    }

    /// Like [`SimCore::key_for_line`], for the lines `first` to `last` of a body.
    #[inline(never)]
    fn key_for_body<const WRITE: bool>(&self, line: &SimLine, first: u64, last: u64) -> u64 {
        let head = identity(self.world.offset(line));
        let with_head = std::ptr::eq(self.latest.get(), line) && {
            let (version, flags) = line.version_and_flags();
            version != 0
                && (first > 0 || self.holds(head, version))
                && !line.body().has_in_memory(first, last)
                && (!WRITE || self.owns(line, flags))
        };
        if with_head {
            self.identity.set(head);
            return IDLE;
        }
        self.key_for::<WRITE>(line, first)
    }

    /// Returns true if the line is in the core's first-level cache.
    #[inline(always)]
    fn holds(&self, identity: u64, version: u32) -> bool {
        self.world.l1.holds(self.seat.get().physical(), identity, version)
    }

    /// Fetches the line, for writing if `WRITE` is set, and advances the clock by the time that this takes.
    #[inline(never)]
    fn access<const WRITE: bool>(&self, line: &SimLine) {
        self.world.count_operation();
        self.latest.set(line);
        self.note_copying(false);
        let identity = self.identity.get();
        let (version, flags) = line.version_and_flags();
        let mine = !WRITE || self.owns(line, flags);
        if mine && self.holds(identity, version) {
            self.spend(self.world.model.l1);
            return;
        }
        self.miss::<WRITE, true>(line, identity);
    }

    /// Like [`SimCore::access`], for a line that the first-level cache lacks. `ORDERED` has the same meaning as in
    /// [`World::fetch`].
    #[inline(never)]
    fn miss<const WRITE: bool, const ORDERED: bool>(&self, line: &SimLine, identity: u64) {
        let (version, flags) = line.version_and_flags();
        let mine = !WRITE || self.owns(line, flags);
        let physical = self.seat.get().physical();
        if let Some(l2) = &self.world.l2
            && mine
            && l2.holds(physical, identity, version)
        {
            self.world.l1.fill(physical, identity, version);
            self.spend(self.world.model.l2);
            return;
        }
        let offset = self.world.offset(line);
        let at = (offset, identity);
        let now = self.clock.get() + self.world.translate(&self.seat.get(), offset);
        let done = self.world.fetch::<WRITE, ORDERED>(&self.seat.get(), line, at, now);
        self.clock.set(done);
    }

    #[inline(always)]
    fn read(&self, line: &SimLine) {
        let key = self.key_for_line::<false>(line);
        if key != IDLE {
            self.suspend(key);
        }
        self.access::<false>(line);
    }

    /// Stores to `line`, or reads and changes a word of it if `atomic` is set. `change` is the change.
    #[inline(always)]
    fn write<R>(&self, line: &SimLine, atomic: bool, change: impl FnOnce() -> R) -> R {
        if atomic {
            self.drain();
        }
        let key = self.key_for_line::<true>(line);
        if key != IDLE {
            self.suspend(key);
        }
        let turn = self.clock.get();
        self.access::<true>(line);
        let mut visible = self.clock.get();
        if atomic {
            self.spend(self.world.model.atomic);
            visible = self.clock.get();
        } else if self.world.model.store_backlog != 0 {
            visible = self.buffer(line, turn);
        }
        let result = change();
        if line.version_and_flags().1 & (WAITERS | WRITTEN) != WRITTEN {
            self.written(line, turn, visible);
        }
        result
    }

    /// Waits until the store buffer is empty, as a read-modify-write and a fence do.
    #[inline(always)]
    fn drain(&self) {
        if self.world.model.store_backlog != 0 {
            let drained = self.world.needs[usize::from(self.id)].drained.get();
            self.clock.set(self.clock.get().max(drained));
        }
    }

    /// Leaves a store to the store buffer. The store began at `turn`, and would end now. Returns the time at which it takes
    /// effect: stores take effect in their order, and their misses overlap. The core goes on at once if the buffer has
    /// room. Until the store takes effect, other cores wait for the line.
    fn buffer(&self, line: &SimLine, turn: u64) -> u64 {
        let (done, model) = (self.clock.get(), &self.world.model);
        let drained = &self.world.needs[usize::from(self.id)].drained;
        let took = done - turn;
        let overlapped = if took > model.lookup { (took * model.overlapped) >> 8 } else { 0 };
        if overlapped == 0 && drained.get() <= done {
            return done;
        }
        let visible = done.max(drained.get() + overlapped);
        drained.set(visible);
        line.delay(visible);
        self.clock.set(done.min(turn + model.l1).max(visible.saturating_sub(model.store_backlog)));
        visible
    }

    /// Notes the first write of a line since it came from memory, and wakes the cores that wait on it. The write is `visible`
    /// to them from then on. `turn` is the time at which this core had its turn. The queues are entered then: at a later time they would make cores wait whose turn
    /// is between the two.
    #[cold]
    #[inline(never)]
    fn written(&self, line: &SimLine, turn: u64, visible: u64) {
        let flags = line.version_and_flags().1;
        if flags & WRITTEN == 0 {
            self.world.note_written(&self.seat.get(), line, self.identity.get(), turn);
        }
        if flags & WAITERS == 0 {
            return;
        }
        let earliest = self.world.wake(line, visible);
        self.world.limit.set(self.world.limit.get().min(earliest));
    }

    /// Moves the lines of `bytes` bytes of a body from `offset` on, and charges for it.
    ///
    /// If this core has just asked for the head line of the body, the body is fetched together with it, as hardware
    /// overlaps the two. The core waits for a turn only where other cores can notice the order: for a fetch from
    /// memory, or if the head line was lost.
    #[inline(always)]
    fn body(&self, line: &SimLine, offset: usize, bytes: usize, moved: Moved) {
        self.body_lines(line, offset, bytes, moved);
        if bytes != 0 {
            self.copied(bytes);
        }
    }

    /// Moves the lines of a body, as [`SimCore::body`] does, without charging for the copy.
    #[inline(always)]
    fn body_lines(&self, line: &SimLine, offset: usize, bytes: usize, moved: Moved) {
        if bytes != 0 {
            let first = ((offset + HEADER_BYTES) as u64) >> self.world.model.line_shift;
            let end = offset + HEADER_BYTES + bytes - 1;
            let last = (end as u64) >> self.world.model.line_shift;
            let key = match moved {
                Moved::Read => self.key_for_body::<false>(line, first, last),
                Moved::Written | Moved::Appended => self.key_for_body::<true>(line, first, last),
            };
            if key != IDLE {
                self.suspend(key);
            }
            self.body_in_turn(line, first, last, moved);
        }
    }

    /// Returns true if a line of a body has missed, and all operations since then were on bodies. The columns of a row are
    /// copied one after another, and none of these copies waits for another one, so their misses overlap.
    #[inline(always)]
    fn is_copying(&self) -> bool {
        self.base.get().addr() & 1 != 0
    }

    #[inline(always)]
    fn note_copying(&self, copying: bool) {
        self.base.set(self.base.get().map_addr(|base| base & !1 | usize::from(copying)));
    }

    /// Makes an access ahead of its use. A core has several such accesses under way at the same time, so it waits only for a
    /// share of the time that one takes. The model has no account of each of them: the waits of a batch are spread over its
    /// accesses.
    fn ahead_of_use(&self, access: impl FnOnce()) {
        let asked = self.clock.get();
        access();
        // The access has waited for its turn, so the clock is not before that turn.
        let took = self.clock.get() - asked;
        if took > self.world.model.lookup {
            self.clock.set(asked + ((took * self.part_of(self.world.model.prefetched)) >> 8));
        }
    }

    /// Returns true if this core alone holds the line, whose flags are `flags`.
    #[inline(always)]
    fn owns(&self, line: &SimLine, flags: u64) -> bool {
        flags & EXCLUSIVE != 0 && line.is_owner(self.seat.get().physical())
    }

    #[inline(never)]
    fn body_in_turn(&self, line: &SimLine, first: u64, last: u64, moved: Moved) {
        let (write, model) = (moved != Moved::Read, &self.world.model);
        let at = (self.world.offset(line), self.identity.get());
        self.world.count_operation();
        self.latest.set(line);
        let (version, flags) = line.version_and_flags();
        let turn = self.clock.get();
        let buffers = write && model.store_backlog != 0;
        // Columns on the head line are lost with it, if another core takes it for the lock word there.
        let has_lost_head = first == 0 && !self.holds(at.1, version);
        if (write && !self.owns(line, flags)) || version == 0 || has_lost_head {
            if write {
                self.miss::<true, true>(line, at.1);
            } else {
                self.miss::<false, true>(line, at.1);
            }
            if buffers {
                self.buffer(line, turn);
            }
            self.note_copying(false);
            // The miss has advanced this core's clock beyond those of other cores, which can still ask for memory at
            // an earlier time. If this core entered the memory queue now, they would wait behind a request of the
            // future. So it takes a new turn first.
            self.take_turn();
        }
        let mut state = line.state();
        // Line 0 is the record's head, which has its own state.
        let shared = write && last > 0 && state.body_shared;
        let mut body = state.body;
        let (mut fetched, overlapped) = match moved {
            Moved::Appended if model.prefetched != 0 => (true, model.prefetched),
            _ => (self.is_copying(), model.overlapped),
        };
        let mut total = 0u64;
        for part in first..last + 1 {
            let now = self.clock.get();
            let cycles = self.world.body_line(
                &self.seat.get(),
                (&state, shared && part > 0),
                &mut body,
                at,
                (part, now),
            );
            if fetched {
                total += (cycles * self.part_of(overlapped)) >> 8;
            } else {
                total += cycles;
                fetched = cycles > model.lookup;
            }
        }
        self.note_copying(fetched);
        state.body = body;
        if write {
            self.note_written_body(&mut state, at, (first.max(1), last), shared);
        } else if last > 0 && state.owner != self.seat.get().physical() {
            state.body_shared = true;
        }
        line.set_body(&state);
        let begun = self.clock.get();
        self.clock.set(begun + total);
        if buffers {
            self.buffer(line, begun);
        }
    }

    /// Notes in `state` that this core has written the lines `first` to `last` of a body. Line 0 is not among them. If other
    /// cores can have copies (`shared`), these become invalid.
    fn note_written_body(
        &self,
        state: &mut State,
        at: (u64, u64),
        (first, last): (u64, u64),
        shared: bool,
    ) {
        let (world, seat, before) = (&self.world, self.seat.get(), state.body);
        if shared {
            state.body_hands = next_hands(state.body_hands);
            state.body_shared = false;
        }
        for part in first..last + 1 {
            if before.of(part) != Whereabouts::Owner {
                world.write_back(&seat, at, part, self.clock.get());
                state.body.set(part, Whereabouts::Owner);
            }
            if shared {
                world.hold_body(&seat, behind(at.1, part), body_version(state, part));
            }
        }
    }

    /// Sleeps for `ticks`, or until the last worker ends.
    pub(crate) fn sleep_between_rounds(&self, ticks: u64) {
        if !self.world.closing.get() && !self.world.ending.get() {
            self.world.waiting.sleep(usize::from(self.id));
            self.suspend(key(self.clock.get() + ticks.max(1), usize::from(self.id)));
            self.world.waiting.woke_up(usize::from(self.id));
            self.catch_up();
        }
    }

    /// Sets the clock to the time at which this core was resumed.
    fn catch_up(&self) {
        let resumed = time_of(self.world.queue.key_of(usize::from(self.id)));
        self.clock.set(self.clock.get().max(resumed));
        self.ahead.set(self.clock.get() + self.world.lookahead);
    }

    /// Sets the clock to the time at which a thread that was interrupted goes on. The time until then counts as waiting.
    pub(crate) fn take_up(&self) {
        let before = self.account(Category::Wait);
        self.catch_up();
        self.account(before);
    }

    /// Becomes the fiber that its modelled core executes, in its turn. The result ends that when it drops.
    pub(crate) fn join_crew(&self) -> impl Drop {
        struct Turn<'a>(&'a SimCore);
        impl Drop for Turn<'_> {
            fn drop(&mut self) {
                self.0.leave_crew();
            }
        }
        self.enter_crew();
        Turn(self)
    }

    /// Lets the modelled core execute other fibers of the crew from now on.
    fn leave_crew(&self) {
        if let Some(crews) = &self.world.crews
            && let Some(key) =
                crews.leave(usize::from(self.id), self.clock.get(), &self.world.queue)
        {
            self.world.limit.set(self.world.limit.get().min(key));
        }
    }

    /// Waits until the modelled core executes this fiber.
    fn enter_crew(&self) {
        let Some(crews) = self.world.crews.as_ref().filter(|_| !self.world.ending.get()) else {
            return;
        };
        match crews.enter(usize::from(self.id), self.clock.get()) {
            Some(time) => self.clock.set(time),
            None => {
                let before = self.account(Category::Wait);
                self.suspend(IDLE);
                self.catch_up();
                self.account(before);
            }
        }
        self.resumed();
    }
}

impl Core for SimCore {
    type Line = SimLine;

    #[inline(always)]
    fn id(&self) -> usize {
        usize::from(self.id)
    }

    #[inline]
    fn load(&self, line: &SimLine, word: &Word) -> u64 {
        self.read(line);
        word.peek()
    }

    #[inline]
    fn load_relaxed(&self, line: &SimLine, word: &Word) -> u64 {
        self.load(line, word)
    }

    #[inline]
    fn load_const(&self, line: &SimLine, word: &Word) -> u64 {
        // No core changes the word, so the order of this read and other operations does not matter.
        self.world.count_operation();
        self.latest.set(line);
        let identity = identity(self.world.offset(line));
        if self.holds(identity, line.version_and_flags().0) {
            self.spend(self.world.model.l1);
        } else {
            self.miss::<false, false>(line, identity);
        }
        word.peek()
    }

    #[inline]
    fn store(&self, line: &SimLine, word: &Word, value: u64) {
        self.write(line, false, || word.poke(value));
    }

    #[inline]
    fn store_relaxed(&self, line: &SimLine, word: &Word, value: u64) {
        self.store(line, word, value);
    }

    #[inline]
    fn cas(&self, line: &SimLine, word: &Word, expected: u64, desired: u64) -> Result<u64, u64> {
        self.write(line, true, || {
            word.atomic().compare_exchange(expected, desired, Relaxed, Relaxed)
        })
    }

    #[inline]
    fn swap(&self, line: &SimLine, word: &Word, value: u64) -> u64 {
        self.write(line, true, || {
            let old = word.peek();
            word.poke(value);
            old
        })
    }

    #[inline]
    fn fetch_add(&self, line: &SimLine, word: &Word, value: u64) -> u64 {
        self.write(line, true, || {
            let old = word.peek();
            word.poke(old.wrapping_add(value));
            old
        })
    }

    #[inline(always)]
    fn fence_acquire(&self) {}

    #[inline(always)]
    fn fence_release(&self) {}

    #[inline(always)]
    fn fence(&self) {
        self.drain();
    }

    fn wait_while(&self, line: &SimLine, word: &Word, condition: impl FnMut(u64) -> bool) -> u64 {
        // A wait without a deadline ends without the write only if the run is being torn down. Then the value is the
        // word's last.
        self.wait_while_until(line, word, NEVER, condition).unwrap_or_else(|TimedOut| word.peek())
    }

    fn wait_while_until(
        &self,
        line: &SimLine,
        word: &Word,
        deadline: u64,
        mut condition: impl FnMut(u64) -> bool,
    ) -> Result<u64, TimedOut> {
        self.wait(Wait { line, word, deadline, look_every: 0, queues: false }, &mut condition)
    }

    fn wait_yielding(
        &self,
        line: &SimLine,
        word: &Word,
        condition: impl FnMut(u64) -> bool,
    ) -> u64 {
        let wait = Wait { line, word, deadline: NEVER, look_every: 0, queues: true };
        self.wait_without_end(wait, condition)
    }

    fn notice_turn(&self) {
        if let Some(since) = self.world.waiting.leave_queue(usize::from(self.id)) {
            let waited = self.clock.get() - since;
            self.look_at(since + self.intervals().next_look(waited));
        }
    }

    fn wait_looking(
        &self,
        line: &SimLine,
        word: &Word,
        pauses: u64,
        condition: impl FnMut(u64) -> bool,
    ) -> u64 {
        let look_every = pauses * self.world.model.pause;
        let wait = Wait { line, word, deadline: NEVER, look_every, queues: false };
        self.wait_without_end(wait, condition)
    }

    #[inline]
    fn copy_out(&self, line: &SimLine, offset: usize, words: &[Word], into: &mut [u8]) {
        self.body(line, offset, into.len(), Moved::Read);
        for (chunk, word) in into.chunks_mut(8).zip(words) {
            chunk.copy_from_slice(&word.peek().to_le_bytes()[..chunk.len()]);
        }
    }

    #[inline]
    fn copy_in(&self, line: &SimLine, offset: usize, words: &[Word], from: &[u8]) {
        self.body(line, offset, from.len(), Moved::Written);
        for (chunk, word) in from.chunks(8).zip(words) {
            // A column owns the whole of its last word, so the bytes behind its end may become zeros.
            let mut bytes = [0; 8];
            bytes[..chunk.len()].copy_from_slice(chunk);
            word.poke(u64::from_le_bytes(bytes));
        }
    }

    #[inline]
    fn touch(&self, line: &SimLine, offset: usize, bytes: usize, write: bool) {
        self.body(line, offset, bytes, if write { Moved::Written } else { Moved::Read });
    }

    fn append(&self, line: &SimLine, bytes: usize) {
        self.body(line, 0, bytes, Moved::Appended);
    }

    fn copied(&self, bytes: usize) {
        self.spend((bytes as u64).div_ceil(self.world.model.copy_bytes));
    }

    #[inline]
    fn compute(&self, cycles: u64) {
        self.spend(cycles);
    }

    fn pause_ticks(&self) -> u64 {
        self.world.model.pause
    }

    fn compute_clock_reads(&self, reads: u64) {
        self.spend(self.world.model.clock_read * reads);
    }

    #[inline(always)]
    fn compute_access(&self) {
        self.spend(self.world.model.record_access);
    }

    fn sleep(&self, ticks: u64) {
        self.pause(ticks + self.world.model.sleeps_longer);
    }

    fn pause(&self, ticks: u64) {
        if self.world.crews.as_ref().is_some_and(|crews| crews.keeps_for(ticks)) {
            self.clock.set(self.clock.get() + ticks);
            return self.take_turn();
        }
        self.leave_crew();
        self.clock.set(self.clock.get() + ticks);
        self.rest(|| self.take_turn());
        self.enter_crew();
    }

    fn switch_fiber(&self) {
        let Some(crews) = self.world.crews.as_ref().filter(|crews| !crews.interrupt()) else {
            return;
        };
        // A fiber that was woken before now has to run to become ready.
        self.take_turn();
        if crews.others_are_ready(usize::from(self.id)) {
            self.leave_crew();
            self.enter_crew();
        }
    }

    fn host(&self) -> Option<usize> {
        self.world.crews.as_ref()?.host(usize::from(self.id))
    }

    fn move_to(&self, to: usize) {
        let id = usize::from(self.id);
        let way = self.world.crews.as_ref().and_then(|crews| Some((crews, crews.way(id, to)?)));
        let (crews, (queue, stack)) = way.expect("the fibers of this run can move");
        if crews.host(id) == Some(to) {
            return;
        }
        let before = self.account(Category::Wait);
        self.body_lines(&stack.line, 0, StackTop::BYTES, Moved::Written);
        self.fetch_add(&queue.line, &queue.head, 1);
        self.leave_crew();
        crews.belong_to(id, to);
        self.seat.set(self.world.model.seats[crews.first_of(to)]);
        self.enter_crew();
        self.fetch_add(&queue.line, &queue.head, 0);
        self.body_lines(&stack.line, 0, StackTop::BYTES, Moved::Written);
        self.account(before);
    }

    #[inline(always)]
    fn now(&self) -> u64 {
        self.clock.get()
    }

    #[inline(always)]
    fn ticks_per_second(&self) -> u64 {
        self.world.ticks_per_second
    }

    #[inline(always)]
    fn prefetch(&self, _: *const u8, _: usize) {}

    #[inline]
    fn prefetches_lines(&self) -> bool {
        self.world.model.prefetched != 0
    }

    fn prefetch_line(&self, line: &SimLine) {
        if self.prefetches_lines() {
            self.ahead_of_use(|| self.read(line));
        }
    }

    fn prefetch_body(&self, line: &SimLine, offset: usize, bytes: usize) {
        if self.prefetches_lines() {
            self.ahead_of_use(|| self.body_lines(line, offset, bytes, Moved::Read));
        }
    }

    fn hardware_counter(&self) -> Option<u64> {
        let occupancy = self.world.model.counter_occupancy?;
        self.take_turn();
        self.world.count_operation();
        let (value, served) = self.world.count(&self.seat.get(), self.clock.get(), occupancy);
        self.clock.set(served);
        Some(value)
    }

    #[inline(always)]
    fn breakdown(&self) -> &Breakdown {
        &self.world.breakdowns[usize::from(self.id)].0
    }
}
