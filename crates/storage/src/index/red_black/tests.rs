//! Tests of the rules of the colours, after every change. The tree is tested as a map together with the other tree, in
//! `tree/tests.rs`.

use super::*;
use machine::{Native, NativeOptions};
use proptest::prelude::*;

struct Fresh<'t>(&'t RedBlackTree<Native>);

impl NodeSource for Fresh<'_> {
    fn take(&mut self) -> Result<u64, OutOfMemory> {
        self.0.arena.allocate(self.0.slot_bytes, 64, Place::Any)
    }

    fn give_back(&mut self, _: u64) {}
}

/// Returns the number of black nodes on every way down. Panics if a rule is broken.
fn blacks(
    tree: &RedBlackTree<Native>,
    core: &<Native as Machine>::Core,
    node: u64,
    parent: u64,
) -> usize {
    if node == 0 {
        return 1;
    }
    let here = tree.at(node);
    assert_eq!(here.parent(core), parent);
    let [left, right] = [here.left(core), here.right(core)].map(|child| {
        assert!(!here.is_red(core) || child == 0 || !tree.at(child).is_red(core), "red below red");
        blacks(tree, core, child, node)
    });
    assert_eq!(left, right, "as many black nodes on both sides");
    left + usize::from(!here.is_red(core))
}

fn check(tree: &RedBlackTree<Native>, core: &<Native as Machine>::Core) {
    let root = tree.head.root.peek();
    assert!(!tree.at(root).is_red(core), "the root is black");
    blacks(tree, core, root, 0);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, failure_persistence: None, ..Default::default() })]

    #[test]
    fn colours_stay_in_order(loaded in 0..70u64, steps in prop::collection::vec((0..90u64, any::<bool>()), 0..300)) {
        let machine = Native::new(NativeOptions::default()).unwrap();
        let core = machine.core(0);
        let tree = RedBlackTree::<Native>::new(machine.arena(), (), 64).unwrap();
        tree.build((0..loaded).map(|key| (key + 3, 4096 + key))).unwrap();
        check(&tree, &core);
        for (key, make) in steps {
            let (owner, value) = tree.seek(&core, key);
            if make {
                tree.split(&core, owner, key, &mut Fresh(&tree), &mut |_, _| Ok::<(), OutOfMemory>(())).unwrap();
            } else if tree.at(owner).key(&core) == key {
                if let Some(value) = value {
                    assert_eq!(tree.remove(&core, key, value, &mut |_| ()), Some((owner, true)));
                }
                let outcome = tree.unlink(&core, owner, key, &mut |_, _| ());
                assert_eq!(outcome == Unlinking::Unneeded, key == 0);
            }
            check(&tree, &core);
        }
    }
}

/// Returns the number of levels of the tree below `node`.
fn height(tree: &RedBlackTree<Native>, core: &<Native as Machine>::Core, node: u64) -> usize {
    if node == 0 {
        return 0;
    }
    let [left, right] = [false, true].map(|right| tree.at(node).child(core, right));
    1 + height(tree, core, left).max(height(tree, core, right))
}

#[test]
fn a_way_down_is_at_most_twice_the_logarithm_long() {
    let machine = Native::new(NativeOptions::default()).unwrap();
    let core = machine.core(0);
    let tree = RedBlackTree::<Native>::new(machine.arena(), (), 64).unwrap();
    for key in 1..5000 {
        let (owner, _) = tree.seek(&core, key);
        tree.split(&core, owner, key, &mut Fresh(&tree), &mut |_, _| Ok::<(), OutOfMemory>(()))
            .unwrap();
    }
    check(&tree, &core);
    let height = height(&tree, &core, tree.head.root.peek());
    assert!(height <= 2 * 13, "{height} levels for 5000 nodes");
}
