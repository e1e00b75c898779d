//! Pointers to a table's index that lie in shared memory and are followed at each access.
//!
//! Source: The Full Story of 1000 Cores (Bang et al., 2022), section 4.3.2 (figure 21). Its program finds each index by a
//! pointer of the database. Under the full mix these pointers fall out of the caches, and are fetched again from the one
//! socket that has them. The build for Power9 (RI) has a copy for each socket. This engine's sessions have the pointers
//! in private memory, so nothing is followed by default.

use crate::access_options::IndexPointers;
use machine::{
    Arena, Category, Core, Machine, OutOfMemory, Place, Shared, Word, Zeroed, cold::Arc,
};

/// A pointer with a line of its own. Nothing writes to it after its table is made.
#[repr(C, align(64))]
struct Pointer<M: Machine> {
    line: M::Line,
    word: Word,
}

// SAFETY: a line and a word, valid as zeros.
unsafe impl<M: Machine> Zeroed for Pointer<M> {}

/// The copies of the pointer to a table's index: one in all, or one on each memory node.
pub(crate) struct PointerCopies<M: Machine> {
    arena: Arc<Arena>,
    copies: Vec<Shared<Pointer<M>>>,
}

impl<M: Machine> PointerCopies<M> {
    /// Makes the copies that `kind` asks for. Returns none if nothing is followed.
    pub fn of(arena: &Arc<Arena>, kind: IndexPointers) -> Result<Option<Self>, OutOfMemory> {
        let copies = match kind {
            IndexPointers::Private => return Ok(None),
            IndexPointers::Shared => 1,
            IndexPointers::PerSocket => arena.nodes(),
        };
        let copies: Result<Vec<_>, _> =
            (0..copies).map(|node| arena.place(Place::Node(node))).collect();
        Ok(Some(PointerCopies { arena: arena.clone(), copies: copies? }))
    }

    /// Follows the pointer: loads the copy of the core's node, or the first one if sessions have no node.
    pub fn follow(&self, core: &M::Core) {
        let node = match self.arena.beside(core.id()) {
            Place::Node(node) => usize::from(node),
            Place::Any => 0,
        };
        let pointer = &self.copies[node.min(self.copies.len() - 1)];
        let before = core.account(Category::Index);
        core.load_const(&pointer.line, &pointer.word);
        core.account(before);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use machine::{ArenaOptions, Native, NativeOptions};

    fn copies(kind: IndexPointers) -> Option<usize> {
        let options = ArenaOptions { nodes: 3, ..ArenaOptions::default() };
        let arena = Arc::new(Arena::new(&options).unwrap());
        PointerCopies::<Native>::of(&arena, kind).unwrap().map(|made| made.copies.len())
    }

    #[test]
    fn there_is_a_copy_for_each_node_only_if_asked_for() {
        assert_eq!(copies(IndexPointers::Private), None);
        assert_eq!(copies(IndexPointers::Shared), Some(1));
        assert_eq!(copies(IndexPointers::PerSocket), Some(3));
    }

    #[test]
    fn a_session_without_a_node_follows_the_first_copy() {
        let machine = Native::new(NativeOptions::default()).unwrap();
        let made = PointerCopies::<Native>::of(machine.arena(), IndexPointers::PerSocket);
        made.unwrap().expect("one for each node").follow(&machine.core(0));
    }
}
