//! `--index`: how the tables of a workload find their rows.

use crate::options::{OptionError, OptionValue};
use std::{fmt, str::FromStr};
use txn::{IndexKind, TableSchema};

/// A choice of index, for tables whose keys are known when they are made.
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
    /// Every choice.
    pub const ALL: [IndexChoice; 4] =
        [IndexChoice::Hash, IndexChoice::Perfect, IndexChoice::BTree, IndexChoice::RedBlack];
    /// Those with which ranges can be scanned.
    pub const ORDERED: [IndexChoice; 2] = [IndexChoice::BTree, IndexChoice::RedBlack];

    /// The word on the command line and in records.
    pub const fn name(self) -> &'static str {
        match self {
            IndexChoice::Hash => "hash",
            IndexChoice::Perfect => "perfect",
            IndexChoice::BTree => "btree",
            IndexChoice::RedBlack => "rbtree",
        }
    }

    /// `table`, whose keys are `0..keys`, with this index.
    pub fn of(self, table: TableSchema, keys: u64) -> TableSchema {
        table.indexed(match self {
            IndexChoice::Hash => IndexKind::Hash,
            IndexChoice::Perfect => IndexKind::Perfect { keys },
            IndexChoice::BTree => IndexKind::Ordered,
            IndexChoice::RedBlack => IndexKind::RedBlack,
        })
    }

    /// How a record lists it.
    pub(crate) fn listed(self) -> (&'static str, OptionValue) {
        ("index", OptionValue::Name(self.name()))
    }

    /// It is one of `allowed`.
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

impl FromStr for IndexChoice {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let found = Self::ALL.into_iter().find(|choice| choice.name() == text);
        found.ok_or_else(|| format!("allowed: {}", names(&Self::ALL)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn choices_print_as_they_parse() {
        for choice in IndexChoice::ALL {
            assert_eq!(choice.to_string().parse(), Ok(choice));
        }
        let error = "tree".parse::<IndexChoice>().unwrap_err();
        assert_eq!(error, "allowed: hash, perfect, btree, rbtree");
        let error = IndexChoice::Hash.among(&IndexChoice::ORDERED).unwrap_err().to_string();
        assert_eq!(error, "index is hash; allowed: btree, rbtree");
    }
}
