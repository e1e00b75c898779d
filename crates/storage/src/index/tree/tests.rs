//! Tests of both trees as maps, for each type of key: alone, from several threads, and under adversarial schedules.

use super::*;
use crate::{ByteKey, Epochs, index::key::KEY_BUFFER};
use machine::{Body, Explored, ExploredOptions, Native, NativeOptions, Place, Schedule};
use proptest::prelude::*;
use std::collections::{BTreeMap, VecDeque};
use txn::Direction;

/// Keys that are made of numbers and have the order of these numbers.
trait Numbered: TreeKey {
    const WIDTH: Self::Width;
    fn of(number: u64) -> Self;
    fn number(self) -> u64;
}

impl Numbered for u64 {
    const WIDTH: () = ();

    fn of(number: u64) -> u64 {
        number
    }

    fn number(self) -> u64 {
        self
    }
}

/// Ends of four neighbouring keys that begin alike: nothing, bytes that end in zeros, or bytes that reach beyond a
/// word.
const TAILS: [&[u8]; 4] = [b"", b"\0", &[0; 20], &[0xFF; 30]];

impl Numbered for ByteKey {
    const WIDTH: usize = 5;

    fn of(number: u64) -> ByteKey {
        let bytes = (number / 4).to_be_bytes();
        let digits = &bytes[(number / 4).leading_zeros() as usize / 8..];
        let key = [&[digits.len() as u8], digits, TAILS[(number % 4) as usize]].concat();
        ByteKey::new(&key, Self::WIDTH)
    }

    fn number(self) -> u64 {
        let mut buffer = KEY_BUFFER;
        let (length, rest) = self.bytes(Self::WIDTH, &mut buffer).split_first().unwrap();
        let (digits, tail) = rest.split_at((*length).into());
        let quarter = digits.iter().fold(0, |number, digit| number << 8 | u64::from(*digit));
        quarter * 4 + TAILS.iter().position(|other| *other == tail).unwrap() as u64
    }
}

/// State with which one core changes the tree: its slots, including those that wait for their epoch.
struct Hand<'t, M: Machine, K: Numbered> {
    tree: &'t Tree<M, K>,
    arena: &'t Arc<Arena>,
    epochs: &'t Epochs<M>,
    slot: usize,
    free: Vec<u64>,
    retired: VecDeque<(u64, u64)>,
    taken: usize,
}

impl<M: Machine, K: Numbered> NodeSource for Hand<'_, M, K> {
    fn take(&mut self) -> Result<u64, OutOfMemory> {
        if let Some(slot) = self.free.pop() {
            return Ok(slot);
        }
        self.taken += 1;
        self.arena.allocate(self.tree.slot_bytes(), 64, Place::Any)
    }

    fn give_back(&mut self, slot: u64) {
        self.free.push(slot);
    }
}

impl<'t, M: Machine, K: Numbered> Hand<'t, M, K> {
    fn new(machine: &'t M, tree: &'t Tree<M, K>, epochs: &'t Epochs<M>, slot: usize) -> Self {
        let (arena, free, retired) = (machine.arena(), Vec::new(), VecDeque::new());
        Hand { tree, arena, epochs, slot, free, retired, taken: 0 }
    }

    fn pinned<T>(&mut self, core: &M::Core, body: impl FnOnce(&mut Self) -> T) -> T {
        self.epochs.pin(core, self.slot);
        let result = body(self);
        self.epochs.unpin(core, self.slot);
        result
    }

    /// Inserts `key`. Returns true if the key was absent.
    fn insert(&mut self, core: &M::Core, key: u64, value: u64) -> bool {
        let key = K::of(key);
        self.pinned(core, |hand| {
            loop {
                let tree = hand.tree;
                let (leaf, found) = tree.seek(core, key);
                if found.is_some() {
                    return false;
                }
                let agreed = || Ok::<(), OutOfMemory>(());
                match tree.insert(core, leaf, key, value, agreed).unwrap() {
                    Insertion::Made => return true,
                    Insertion::Existing(_) => return false,
                    Insertion::Moved => {}
                    Insertion::Full => {
                        let agreed = |_, _| Ok::<(), OutOfMemory>(());
                        tree.split(core, leaf, key, hand, agreed).unwrap();
                    }
                }
            }
        })
    }

    /// Inserts keys that follow `before`, which is in the tree, into its leaf, with values from `value` on. Returns how many were
    /// inserted.
    fn insert_run(&mut self, core: &M::Core, before: u64, keys: &[u64], value: u64) -> u64 {
        self.pinned(core, |hand| {
            let (leaf, _) = hand.tree.seek(core, K::of(before));
            let mut made = 0;
            let mut keys = keys.iter().map(|key| K::of(*key));
            let done = hand.tree.insert_run(core, leaf, &mut keys, &mut |_| {
                made += 1;
                Ok::<_, OutOfMemory>(value + made - 1)
            });
            done.map(|()| made).unwrap()
        })
    }

    /// Removes `key` if it has that value. Returns true if it was present.
    fn remove(&mut self, core: &M::Core, key: u64, value: u64) -> bool {
        let key = K::of(key);
        let removed = self.pinned(core, |hand| {
            let tree = hand.tree;
            let removed = tree.remove(core, key, value, |_| ());
            if let Some((leaf, true)) = removed
                && let Unlinking::Done(slots) = tree.unlink(core, leaf, key, |_, _| ())
            {
                let epoch = hand.epochs.current(core);
                hand.retired.extend(slots.into_iter().map(|slot| (epoch, slot)));
            }
            removed.is_some()
        });
        let now = self.epochs.try_advance(core);
        while let Some((epoch, slot)) = self.retired.front().copied()
            && Epochs::<M>::is_past(epoch, now)
        {
            self.retired.pop_front();
            self.free.push(slot);
        }
        removed
    }

    /// Returns all entries from `first` to `last`, leaf by leaf, in either direction.
    fn scan(&mut self, core: &M::Core, first: u64, last: u64, forward: bool) -> Vec<(u64, u64)> {
        let (first, last) = (K::of(first), K::of(last));
        self.pinned(core, |hand| {
            let (tree, mut all) = (hand.tree, Vec::new());
            let mut at = if forward { first } else { last };
            let direction = if forward { Direction::Forward } else { Direction::Backward };
            let mut path = LeafPath::new(direction);
            loop {
                let leaf = tree.leaf_along(core, at, &mut path);
                let Some(copy) = tree.read_leaf(core, leaf, at, &mut |_, _| ()) else {
                    path.forget();
                    continue;
                };
                let (range, mut entries) = ((copy.first, copy.last), copy.entries().to_vec());
                assert!(entries.is_sorted_by(|a, b| a.0 < b.0), "{entries:?}");
                assert!(entries.iter().all(|(key, _)| range.0 <= *key && *key <= range.1));
                if !forward {
                    entries.reverse();
                }
                let within = entries.iter().filter(|(key, _)| first <= *key && *key <= last);
                all.extend(within.map(|(key, value)| (key.number(), *value)));
                match forward {
                    true if range.1 >= last => return all,
                    true => at = range.1.after(K::WIDTH).unwrap(),
                    false if range.0 <= first => return all,
                    false => at = range.0.before(K::WIDTH).unwrap(),
                }
            }
        })
    }
}

/// Checks that the leaves tile the key space and that the separators lead to them. Returns the number of leaves.
fn check_shape<M: Machine, K: Numbered>(tree: &Tree<M, K>, core: &M::Core) -> usize {
    let (mut at, mut leaves) = (K::least(K::WIDTH), 0);
    loop {
        let (leaf, _) = tree.seek(core, at);
        let copy = tree.read_leaf(core, leaf, at, &mut |_, _| ()).expect("nobody else");
        let (first, last) = (copy.first, copy.last);
        assert_eq!(first, at, "leaf {leaf} starts where the one before ends");
        assert_eq!(tree.seek(core, last).0, leaf, "its last key leads to it");
        leaves += 1;
        let Some(next) = last.after(K::WIDTH) else { return leaves };
        at = next;
    }
}

#[derive(Clone, Debug)]
enum Act {
    Insert(u64),
    /// Keys from the first one on, of this number and distance.
    InsertRun(u64, u64, u64),
    Remove(u64),
    Scan(u64, u64, bool),
}

fn steps() -> impl Strategy<Value = Vec<Act>> {
    let key = || prop_oneof![8 => 0..60u64, 1 => Just(u64::MAX), 1 => Just(u64::MAX - 1)];
    let step = prop_oneof![
        5 => key().prop_map(Act::Insert),
        2 => (0..60u64, 1..6u64, 1..8u64).prop_map(|(key, count, by)| Act::InsertRun(key, count, by)),
        4 => key().prop_map(Act::Remove),
        1 => (key(), key(), any::<bool>())
            .prop_map(|(a, b, forward)| Act::Scan(a.min(b), a.max(b), forward)),
    ];
    prop::collection::vec(step, 0..400)
}

fn behaves_as_a_map<M: Machine, K: Numbered>(
    red_black: bool,
    machine: &M,
    core: &M::Core,
    loaded: usize,
    steps: &[Act],
) {
    let tree = Tree::<M, K>::new(red_black, machine.arena(), K::WIDTH, 64).unwrap();
    let epochs = Epochs::<M>::new(machine.arena(), 1).unwrap();
    let mut map: BTreeMap<u64, u64> = (0..loaded as u64).map(|i| (i * 2, 4096 + i)).collect();
    tree.build(map.iter().map(|(key, value)| (K::of(*key), *value))).unwrap();
    let mut hand = Hand::new(machine, &tree, &epochs, 0);
    for (number, step) in steps.iter().enumerate() {
        match *step {
            Act::Insert(key) => {
                let value = 8192 + number as u64;
                let fresh = !map.contains_key(&key);
                assert_eq!(hand.insert(core, key, value), fresh);
                map.entry(key).or_insert(value);
            }
            Act::InsertRun(first, count, by) => {
                let value = (1 << 20) + number as u64 * 8;
                let keys: Vec<u64> = (0..count).map(|at| first + at * by).collect();
                let made = hand.insert_run(core, first, &keys, value);
                assert!(!red_black || made == 0);
                let fresh = keys.iter().take_while(|key| !map.contains_key(key)).count();
                assert!(made <= fresh as u64);
                map.extend(keys.into_iter().zip(value..).take(made as usize));
            }
            Act::Remove(key) => {
                let value = map.remove(&key);
                assert_eq!(hand.remove(core, key, value.unwrap_or(1)), value.is_some());
            }
            Act::Scan(first, last, forward) => {
                let mut wanted: Vec<_> = map.range(first..=last).map(|(k, v)| (*k, *v)).collect();
                if !forward {
                    wanted.reverse();
                }
                assert_eq!(hand.scan(core, first, last, forward), wanted);
            }
        }
    }
    for key in (0..64).chain([u64::MAX - 1, u64::MAX]) {
        assert_eq!(tree.find(core, K::of(key)), map.get(&key).copied());
    }
    let leaves = check_shape(&tree, core);
    assert!(leaves <= map.len().max(1) * 2, "{leaves} leaves for {} keys", map.len());
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, failure_persistence: None, ..Default::default() })]

    #[test]
    fn behaves_as_a_map_natively(
        (red_black, bytes) in any::<(bool, bool)>(), loaded in 0..100usize, steps in steps(),
    ) {
        let machine = Native::new(NativeOptions::default()).unwrap();
        let core = machine.core(0);
        match bytes {
            false => behaves_as_a_map::<_, u64>(red_black, &machine, &core, loaded, &steps),
            true => behaves_as_a_map::<_, ByteKey>(red_black, &machine, &core, loaded, &steps),
        }
    }

    #[test]
    fn behaves_as_a_map_of_small_nodes(
        (red_black, bytes) in any::<(bool, bool)>(), loaded in 0..40usize, steps in steps(),
    ) {
        let machine = Explored::new(ExploredOptions::default()).unwrap();
        let body: Body<'_, Explored> = Box::new(|core| match bytes {
            false => behaves_as_a_map::<_, u64>(red_black, &machine, core, loaded, &steps),
            true => behaves_as_a_map::<_, ByteKey>(red_black, &machine, core, loaded, &steps),
        });
        machine.run(vec![body], vec![]).unwrap();
    }
}

/// A queue of a few keys that moves through the whole key space leaves no memory behind.
#[test]
fn ever_growing_keys_take_no_more_memory() {
    for (red_black, most) in [(false, 100), (true, 120)] {
        grow::<u64>(red_black, most);
        grow::<ByteKey>(red_black, most);
    }
}

fn grow<K: Numbered>(red_black: bool, most: usize) {
    let machine = &Native::new(NativeOptions::default()).unwrap();
    let core = machine.core(0);
    let tree = Tree::<Native, K>::new(red_black, machine.arena(), K::WIDTH, 64).unwrap();
    let epochs = Epochs::<Native>::new(machine.arena(), 1).unwrap();
    let mut hand = Hand::new(machine, &tree, &epochs, 0);
    for key in 0..200_000u64 {
        assert!(hand.insert(&core, key * 3, 4096 + key));
        if key >= 100 {
            assert!(hand.remove(&core, (key - 100) * 3, 4096 + key - 100));
        }
    }
    assert!(hand.taken < most, "{} nodes taken", hand.taken);
    assert!(check_shape(&tree, &core) < most);
}

/// Sequences of ascending keys that take turns fill leaf after leaf, although each leads into keys that are there.
#[test]
fn sequences_side_by_side_leave_full_leaves() {
    const SEQUENCES: u64 = 10;
    const LOADED: u64 = 21;
    const MORE: u64 = 1_000;
    let machine = &Native::new(NativeOptions::default()).unwrap();
    let core = machine.core(0);
    let tree = Tree::<Native, u64>::new(false, machine.arena(), u64::WIDTH, 64).unwrap();
    let epochs = Epochs::<Native>::new(machine.arena(), 1).unwrap();
    let key = |sequence: u64, number: u64| (sequence << 32) + number;
    let loaded = (0..SEQUENCES).flat_map(|s| (0..LOADED).map(move |n| (key(s, n), 4096)));
    tree.build(loaded).unwrap();
    let mut hand = Hand::new(machine, &tree, &epochs, 0);
    for number in LOADED..LOADED + MORE {
        for sequence in 0..SEQUENCES {
            assert!(hand.insert(&core, key(sequence, number), 4096));
        }
    }
    let (leaves, keys) = (check_shape(&tree, &core) as u64, SEQUENCES * (LOADED + MORE));
    // Leaves of 16 entries, and for each sequence a few that are not full.
    assert!(leaves < keys / 16 + 4 * SEQUENCES, "{leaves} leaves for {keys} keys");
}

/// Cores insert and remove keys of their own, among keys that stay in the tree and that every core must always find.
fn shared_by<M: Machine, K: Numbered>(
    red_black: bool,
    machine: &M,
    cores: usize,
    rounds: u64,
    seed: u64,
) {
    let tree = Tree::<M, K>::new(red_black, machine.arena(), K::WIDTH, 64).unwrap();
    let epochs = Epochs::<M>::new(machine.arena(), cores).unwrap();
    let spread = 64;
    let stays = |key: u64| key % 8 == 7;
    tree.build((0..spread).filter(|key| stays(*key)).map(|key| (K::of(key), 1 << 20 | key)))
        .unwrap();
    let bodies = (0..cores)
        .map(|slot| -> Body<'_, M> {
            let (tree, epochs) = (&tree, &epochs);
            Box::new(move |core| {
                let mut hand = Hand::new(machine, tree, epochs, slot);
                let mut random = seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) ^ slot as u64;
                let mut draw = |below: u64| {
                    random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                    (random >> 33) % below
                };
                let mut own = BTreeMap::new();
                for round in 0..rounds {
                    let key = draw(spread) / 8 * 8 + slot as u64;
                    let value = 4096 + round;
                    match own.remove(&key) {
                        Some(value) => assert!(hand.remove(core, key, value), "own {key}"),
                        None => {
                            assert!(hand.insert(core, key, value), "own {key}");
                            own.insert(key, value);
                            let keys = [key + 8, key + 16];
                            let fresh = keys.iter().take_while(|key| !own.contains_key(key));
                            let (most, value) = (fresh.count() as u64, (1 << 30) + round * 2);
                            let made = hand.insert_run(core, key, &keys, value);
                            assert!(made <= most, "own {key}");
                            own.extend(keys.into_iter().zip(value..).take(made as usize));
                        }
                    }
                    let (first, forward) = (draw(spread), draw(2) == 0);
                    let last = first + draw(spread);
                    let mut seen = hand.scan(core, first, last, forward);
                    seen.sort_unstable();
                    let expected = (first..=last)
                        .filter(|key| (*key < spread && stays(*key)) || own.contains_key(key));
                    for key in expected {
                        let found = seen.binary_search_by_key(&key, |(key, _)| *key);
                        assert!(found.is_ok(), "{key} of {first} to {last} is missing: {seen:?}");
                    }
                    let others = seen
                        .iter()
                        .filter(|(key, _)| *key % 8 == slot as u64 && !own.contains_key(key));
                    assert_eq!(others.count(), 0, "a removed key is still there");
                }
                for (key, value) in own {
                    assert_eq!(tree.find(core, K::of(key)), Some(value));
                    assert!(hand.remove(core, key, value));
                }
            })
        })
        .collect();
    machine.run(bodies, vec![]).unwrap();
    let check: Body<'_, M> = Box::new(|core| {
        check_shape(&tree, core);
        let all = Hand::new(machine, &tree, &epochs, 0).scan(core, 0, u64::MAX, true);
        assert_eq!(all.len() as u64, spread / 8);
    });
    machine.run(vec![check], vec![]).unwrap();
}

#[test]
fn shared_by_threads() {
    for cores in 2..=4 {
        let machine = Native::new(NativeOptions::default()).unwrap();
        shared_by::<_, u64>(false, &machine, cores, 20_000, cores as u64);
        shared_by::<_, u64>(true, &machine, cores, 20_000, cores as u64);
        shared_by::<_, ByteKey>(false, &machine, cores, 10_000, cores as u64);
        shared_by::<_, ByteKey>(true, &machine, cores, 10_000, cores as u64);
    }
}

#[test]
fn shared_under_adversarial_schedules() {
    for schedule in [Schedule::Random, Schedule::Pct { depth: 2 }, Schedule::Pct { depth: 3 }] {
        let options = ExploredOptions { schedule, ..Default::default() };
        let mut machine = Explored::new(options).unwrap();
        for seed in 0..2000 {
            machine.renew(seed).unwrap();
            let cores = 2 + (seed % 3) as usize;
            match (seed / 4).is_multiple_of(2) {
                false => shared_by::<_, u64>(seed % 4 < 2, &machine, cores, 12, seed),
                true => shared_by::<_, ByteKey>(seed % 4 < 2, &machine, cores, 12, seed),
            }
        }
    }
}
