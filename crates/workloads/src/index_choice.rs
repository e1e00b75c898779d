//! Implements `--index`: the choice of the index by which the tables of a workload find their rows.

use crate::options::{OptionError, OptionKind, OptionValue};
use std::fmt;
use txn::{IndexKind, TableSchema};

/// A choice of index, for tables whose keys are known when they are created.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum IndexChoice {
    /// A chained hash index.
    #[default]
    Hash,
    /// A direct-addressed index of the keys `0..n`.
    Perfect,
    /// A B+tree.
    BTree,
    /// A red-black tree.
    RedBlack,
}

impl IndexChoice {
    /// All choices.
    pub const ALL: [IndexChoice; 4] =
        [IndexChoice::Hash, IndexChoice::Perfect, IndexChoice::BTree, IndexChoice::RedBlack];
    /// Words for the choices, in the same order.
    const NAMES: [&str; 4] = ["hash", "perfect", "btree", "rbtree"];
    /// The choices that support range scans.
    pub const ORDERED: [IndexChoice; 2] = [IndexChoice::BTree, IndexChoice::RedBlack];

    /// Returns the word used on the command line and in records.
    pub const fn name(self) -> &'static str {
        Self::NAMES[self as usize]
    }

    /// Returns `table`, whose keys are `0..keys`, with this index.
    pub fn of(self, table: TableSchema, keys: u64) -> TableSchema {
        table.indexed(match self {
            IndexChoice::Hash => IndexKind::Hash,
            IndexChoice::Perfect => IndexKind::Perfect { keys },
            IndexChoice::BTree => IndexKind::Ordered,
            IndexChoice::RedBlack => IndexKind::RedBlack,
        })
    }

    /// Returns the explorer's choice for `seed`: usually a hash index, and each of the others now and then.
    pub(crate) fn varied(seed: u64) -> IndexChoice {
        match (seed / 256) % 8 {
            3 => IndexChoice::Perfect,
            5 => IndexChoice::BTree,
            7 => IndexChoice::RedBlack,
            _ => IndexChoice::Hash,
        }
    }

    /// Checks that this choice is one of `allowed`.
    pub(crate) fn among(self, allowed: &[IndexChoice]) -> Result<(), OptionError> {
        if allowed.contains(&self) {
            return Ok(());
        }
        Err(OptionError { option: "index", given: self.to_string(), allowed: names(allowed) })
    }
}

fn names(choices: &[IndexChoice]) -> String {
    choices.iter().map(|choice| choice.name()).collect::<Vec<_>>().join(", ")
}

impl fmt::Display for IndexChoice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl OptionKind for IndexChoice {
    fn placeholder(&self) -> Option<&'static str> {
        Some("KIND")
    }

    fn value(&self) -> OptionValue {
        OptionValue::Name(self.name())
    }

    fn choices(&self) -> &'static [&'static str] {
        &Self::NAMES
    }

    fn set(&mut self, text: &str) -> Result<(), String> {
        let found = Self::ALL.into_iter().find(|choice| choice.name() == text);
        *self = found.ok_or_else(|| names(&Self::ALL))?;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn choices_are_read_as_they_are_written() {
        let mut read = IndexChoice::Hash;
        for choice in IndexChoice::ALL {
            read.set(&choice.to_string()).expect("a choice");
            assert_eq!(read, choice);
        }
        assert_eq!(read.set("tree"), Err("hash, perfect, btree, rbtree".into()));
        let error = IndexChoice::Hash.among(&IndexChoice::ORDERED).unwrap_err().to_string();
        assert_eq!(error, "index is hash; allowed: btree, rbtree");
    }
}
