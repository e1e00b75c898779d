//! Links nodes into the tree, unlinks them, and restores the balance afterwards.
//!
//! Source: Cormen, Leiserson, Rivest and Stein, "Introduction to Algorithms", chapter 13. Two rules hold before and
//! after each operation:
//! - No red node has a red child.
//! - Every way from the root to a missing child passes the same number of black nodes.
//!
//! So no way is more than twice as long as another. Linking a red node can break only the first rule, and unlinking a
//! black node can break only the second. The functions `rebalance_red` and `rebalance_black` repair them. Each case is
//! written once for both sides: `right` names the side. All functions here run under the tree's latch.

use super::{RedBlackTree, TreeKey};
use machine::{Core, Machine};

impl<M: Machine, K: TreeKey> RedBlackTree<M, K> {
    fn is_red(&self, core: &M::Core, node: u64) -> bool {
        node != 0 && self.at(node).is_red(core)
    }

    /// Returns true if a node, or a missing one, is the right child of its parent.
    fn is_right(&self, core: &M::Core, parent: u64, node: u64) -> bool {
        self.at(parent).right(core) == node
    }

    /// Puts `new` in the place of `old`, below the same parent.
    fn replace(&self, core: &M::Core, old: u64, new: u64) {
        let parent = self.at(old).parent(core);
        match parent {
            0 => core.store(&self.head.line, &self.head.root, new),
            _ => self.at(parent).set_child(core, self.is_right(core, parent, old), new),
        }
        if new != 0 {
            self.at(new).set_parent(core, parent);
        }
    }

    /// Rotates the edge between `node` and its child on the other side. The child goes up, and `node` goes down to the
    /// side `right`.
    fn rotate(&self, core: &M::Core, node: u64, right: bool) {
        let up = self.at(node).child(core, !right);
        let between = self.at(up).child(core, right);
        self.at(node).set_child(core, !right, between);
        if between != 0 {
            self.at(between).set_parent(core, node);
        }
        self.replace(core, node, up);
        self.at(up).set_child(core, right, node);
        self.at(node).set_parent(core, up);
    }

    /// Links the red `node`. Its key must not be in the tree yet.
    pub(super) fn link(&self, core: &M::Core, node: u64) {
        let key = self.at(node).key(core);
        let mut parent = core.load_relaxed(&self.head.line, &self.head.root);
        let right = loop {
            let right = self.at(parent).compare(core, key).is_lt();
            match self.at(parent).child(core, right) {
                0 => break right,
                child => parent = child,
            }
        };
        self.at(node).set_parent(core, parent);
        self.at(parent).set_child(core, right, node);
        self.rebalance_red(core, node);
    }

    /// Restores the first rule. `node` is red, and its parent can be red too.
    fn rebalance_red(&self, core: &M::Core, mut node: u64) {
        loop {
            let mut parent = self.at(node).parent(core);
            if !self.is_red(core, parent) {
                break;
            }
            // A red parent is not the root.
            let grandparent = self.at(parent).parent(core);
            let right = self.is_right(core, grandparent, parent);
            let uncle = self.at(grandparent).child(core, !right);
            if self.is_red(core, uncle) {
                self.at(parent).set_red(core, false);
                self.at(uncle).set_red(core, false);
                self.at(grandparent).set_red(core, true);
                node = grandparent;
                continue;
            }
            if self.is_right(core, parent, node) != right {
                self.rotate(core, parent, right);
                (node, parent) = (parent, node);
            }
            self.at(parent).set_red(core, false);
            self.at(grandparent).set_red(core, true);
            self.rotate(core, grandparent, !right);
            debug_assert!(self.is_red(core, node));
            break;
        }
        let root = core.load_relaxed(&self.head.line, &self.head.root);
        if self.is_red(core, root) {
            self.at(root).set_red(core, false);
        }
    }

    /// Unlinks `node`. Other nodes keep their slots, and only their links change.
    pub(super) fn unlink_node(&self, core: &M::Core, node: u64) {
        let (left, right) = (self.at(node).left(core), self.at(node).right(core));
        let (taken_red, moved, below);
        if left == 0 || right == 0 {
            taken_red = self.is_red(core, node);
            moved = if left == 0 { right } else { left };
            below = self.at(node).parent(core);
            self.replace(core, node, moved);
        } else {
            let mut next = right;
            loop {
                match self.at(next).left(core) {
                    0 => break,
                    left => next = left,
                }
            }
            taken_red = self.is_red(core, next);
            moved = self.at(next).right(core);
            if next == right {
                below = next;
            } else {
                below = self.at(next).parent(core);
                self.replace(core, next, moved);
                self.at(next).set_child(core, true, right);
                self.at(right).set_parent(core, next);
            }
            self.replace(core, node, next);
            self.at(next).set_child(core, false, left);
            self.at(left).set_parent(core, next);
            let red = self.is_red(core, node);
            self.at(next).set_red(core, red);
        }
        if !taken_red {
            self.rebalance_black(core, moved, below);
        }
    }

    /// Restores the second rule. Ways through `node` (or a missing child), below `parent`, pass one black node too
    /// few.
    fn rebalance_black(&self, core: &M::Core, mut node: u64, mut parent: u64) {
        while parent != 0 && !self.is_red(core, node) {
            // If both children were missing, no way could be one short. So `is_right` cannot mistake the side.
            let right = self.is_right(core, parent, node);
            let mut sibling = self.at(parent).child(core, !right);
            if self.is_red(core, sibling) {
                self.at(sibling).set_red(core, false);
                self.at(parent).set_red(core, true);
                self.rotate(core, parent, right);
                sibling = self.at(parent).child(core, !right);
            }
            let near = self.at(sibling).child(core, right);
            let far = self.at(sibling).child(core, !right);
            if !self.is_red(core, near) && !self.is_red(core, far) {
                self.at(sibling).set_red(core, true);
                node = parent;
                parent = self.at(node).parent(core);
                continue;
            }
            if !self.is_red(core, far) {
                self.at(near).set_red(core, false);
                self.at(sibling).set_red(core, true);
                self.rotate(core, sibling, !right);
                sibling = near;
            }
            let red = self.is_red(core, parent);
            self.at(sibling).set_red(core, red);
            self.at(parent).set_red(core, false);
            self.at(self.at(sibling).child(core, !right)).set_red(core, false);
            self.rotate(core, parent, right);
            return;
        }
        if self.is_red(core, node) {
            self.at(node).set_red(core, false);
        }
    }
}
