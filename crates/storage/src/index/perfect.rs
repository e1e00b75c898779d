//! A direct-addressed index: word number `k` of an array holds the offset of the record of key `k`.
//!
//! Source: the flat perfect hash index of "The Full Story of 1000 Cores" (2022, 3.3.1, optimisation 2). The keys are
//! `0..keys`, declared when the table is made. A look-up reads one word of one line and compares nothing. A key beyond
//! `keys` never has a place.
//!
//! Readers take no latch. A word has three states: 0 (no record), [`LATCHED`] (a session prepares a record), or the
//! offset of the record. Only a session that has changed the word from 0 to `LATCHED` can store an offset. So two
//! sessions never prepare a record of the same key at the same time.

use machine::{Arena, Core, Machine, OutOfMemory, Place, SettledRange, Word, Zeroed, cold::Arc};

/// Number of words of a line.
const WORDS: u64 = 8;
/// Set in a word while a session prepares a record for the key. Offsets are even, so this bit is free.
const LATCHED: u64 = 1;

#[repr(C)]
struct Words<M: Machine> {
    line: M::Line,
    words: [Word; WORDS as usize],
}

// SAFETY: the type consists of a line and words, and zeros are valid for all of them.
unsafe impl<M: Machine> Zeroed for Words<M> {}

/// Direct-addressed index of the keys `0..keys`.
pub struct PerfectIndex<M: Machine> {
    arena: Arc<Arena>,
    /// Offset of the first line. Line number `i` holds the words of the keys from `8 * i` on.
    lines: u64,
    /// Number of keys that have a place.
    keys: u64,
    machine: std::marker::PhantomData<fn() -> M>,
}

impl<M: Machine> PerfectIndex<M> {
    /// Returns the bytes that an index of `keys` keys takes.
    pub fn bytes_for(keys: u64) -> u64 {
        keys.div_ceil(WORDS).max(1).saturating_mul(size_of::<Words<M>>() as u64)
    }

    /// Makes an empty index of the keys `0..keys`.
    pub fn new(arena: &Arc<Arena>, keys: u64) -> Result<PerfectIndex<M>, OutOfMemory> {
        let lines = arena.allocate(Self::bytes_for(keys), 64, Place::Any)?;
        if M::MODELLED && keys < 1 << 25 {
            arena.prefer_huge_pages(lines, Self::bytes_for(keys));
        }
        Ok(PerfectIndex { arena: arena.clone(), lines, keys, machine: std::marker::PhantomData })
    }

    /// Returns the number of keys that have a place.
    #[inline(always)]
    pub fn keys(&self) -> u64 {
        self.keys
    }

    /// Returns the part of the arena in which the words of the first `unit` keys lie on the first of `nodes`, those of
    /// the next `unit` keys on the second, and so on. A line at the border of two units counts as one of either.
    pub fn settled(&self, unit: u64, nodes: Arc<[u16]>) -> SettledRange {
        let unit_bytes = (unit * size_of::<Words<M>>() as u64 / WORDS).max(1);
        SettledRange { first: self.lines, unit_bytes, nodes }
    }

    /// Returns the line of `key`, which must have a place, and the key's word there.
    #[inline(always)]
    fn place(&self, key: u64) -> (&M::Line, &Word) {
        let offset = self.lines + key / WORDS * size_of::<Words<M>>() as u64;
        // SAFETY: keys below `keys` lie in the lines that were allocated for them.
        let words = unsafe { self.arena.at::<Words<M>>(offset) };
        (&words.line, &words.words[(key % WORDS) as usize])
    }

    /// Charges for a probe that needs no answer (rows that exist by rule).
    #[inline(always)]
    pub fn touch(&self, core: &M::Core, key: u64) {
        let (line, word) = self.place(key);
        core.load(line, word);
    }

    /// Asks the host to fetch the word of `key`.
    #[inline(always)]
    pub fn prefetch(&self, core: &M::Core, key: u64) {
        if key < self.keys {
            let (line, word) = self.place(key);
            core.prefetch_line(line);
            core.prefetch(std::ptr::from_ref(word).cast(), size_of::<Word>());
        }
    }

    /// Returns the offset of the record of `key`.
    #[inline(always)]
    pub fn find(&self, core: &M::Core, key: u64) -> Option<u64> {
        if key >= self.keys {
            return None;
        }
        let (line, word) = self.place(key);
        let offset = core.load(line, word) & !LATCHED;
        (offset != 0).then_some(offset)
    }

    /// Calls `visit` with the offsets of the records of `count` keys from `first` on. Returns the next key, if there
    /// is one.
    pub fn walk(
        &self,
        core: &M::Core,
        first: u64,
        count: u64,
        visit: &mut dyn FnMut(u64),
    ) -> Option<u64> {
        let end = first.saturating_add(count).min(self.keys);
        (first..end).filter_map(|key| self.find(core, key)).for_each(visit);
        (end < self.keys).then_some(end)
    }

    /// Makes `offset` the record of `key`, which must have a place. If the key already has a record, that record is
    /// returned as the error. `prepare` runs just before other sessions can find the record, and after any earlier
    /// record of the key was removed.
    pub fn insert(
        &self,
        core: &M::Core,
        key: u64,
        offset: u64,
        prepare: impl FnOnce(),
    ) -> Result<(), u64> {
        assert!(key < self.keys, "key {key} has no place among {}", self.keys);
        let (line, word) = self.place(key);
        loop {
            let found = core.wait_while(line, word, |word| word == LATCHED);
            if found != 0 {
                return Err(found);
            }
            if core.cas(line, word, 0, LATCHED).is_ok() {
                break;
            }
        }
        prepare();
        core.store(line, word, offset);
        core.wake(line, word);
        Ok(())
    }

    /// Like [`PerfectIndex::insert`] of a key that is not in the index, without a core. No other thread runs.
    pub fn insert_alone(&self, key: u64, offset: u64) {
        assert!(key < self.keys, "key {key} has no place among {}", self.keys);
        self.place(key).1.poke(offset);
    }

    /// Removes the record `offset` of `key`. A session that found it before can still be using it. Returns false if
    /// the record was not in the index.
    pub fn remove(&self, core: &M::Core, key: u64, offset: u64) -> bool {
        if key >= self.keys {
            return false;
        }
        let (line, word) = self.place(key);
        core.load(line, word) == offset && core.cas(line, word, offset, 0).is_ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use machine::{Body, Explored, ExploredOptions, Native, NativeOptions, Schedule};

    #[test]
    fn words_are_settled_with_their_rows() {
        let machine = Native::new(NativeOptions::default()).unwrap();
        let index = PerfectIndex::<Native>::new(machine.arena(), 48).unwrap();
        let settled = index.settled(16, [3, 0, 5].into());
        let base = machine.arena().address(settled.first) as usize;
        for key in 0..48 {
            let at = std::ptr::from_ref(index.place(key).1) as usize - base;
            let node = settled.nodes[at / settled.unit_bytes as usize];
            assert_eq!(node, [3, 0, 5][key as usize / 16], "{key}");
        }
        assert_eq!(settled.end(), settled.first + PerfectIndex::<Native>::bytes_for(48));
    }

    #[test]
    fn behaves_as_an_array() {
        let machine = Native::new(NativeOptions::default()).unwrap();
        let core = machine.core(0);
        let index = PerfectIndex::<Native>::new(machine.arena(), 21).unwrap();
        for key in 0..21 {
            assert_eq!(index.find(&core, key), None);
            assert_eq!(index.insert(&core, key, 64 + key * 64, || ()), Ok(()));
            let again = index.insert(&core, key, 8192, || panic!("there is one"));
            assert_eq!(again, Err(64 + key * 64));
        }
        for key in [21, 22, 1000, u64::MAX] {
            assert_eq!(index.find(&core, key), None);
            assert!(!index.remove(&core, key, 64));
        }
        for key in 0..21 {
            assert!(!index.remove(&core, key, 32));
            assert!(index.remove(&core, key, 64 + key * 64));
            assert!(!index.remove(&core, key, 64 + key * 64));
            assert_eq!(index.find(&core, key), None);
        }
    }

    /// Several cores make the record of one key and remove it again. Only one core at a time prepares a record.
    #[test]
    fn one_core_prepares_a_key_at_a_time() {
        for schedule in [Schedule::Random, Schedule::Pct { depth: 3 }] {
            let options = ExploredOptions { schedule, ..Default::default() };
            let mut machine = Explored::new(options).unwrap();
            for seed in 0..1000 {
                machine.renew(seed).unwrap();
                let index = PerfectIndex::<Explored>::new(machine.arena(), 3).unwrap();
                let preparing = Word::new(0);
                let made = Word::new(0);
                let bodies = (0..3)
                    .map(|number| -> Body<'_, Explored> {
                        let (index, preparing, made) = (&index, &preparing, &made);
                        Box::new(move |core| {
                            let own = 64 + number * 64;
                            for _ in 0..4 {
                                let inserted = index.insert(core, 2, own, || {
                                    assert_eq!(core.fetch_add(&(), preparing, 1), 0);
                                    core.fetch_add(&(), preparing, u64::MAX);
                                });
                                if inserted.is_ok() {
                                    core.fetch_add(&(), made, 1);
                                    assert_eq!(index.find(core, 2), Some(own));
                                    assert!(index.remove(core, 2, own));
                                }
                            }
                        })
                    })
                    .collect();
                machine.run(bodies, vec![]).unwrap();
                assert!(made.peek() >= 1, "whoever comes first makes its own");
            }
        }
    }
}
