//! The words of a record under multi-version timestamp ordering.

use super::{
    prewrite::Prewritten,
    range_times::Timed,
    version_chain::{Chain, Versioned},
};
use machine::{Word, Zeroed};

/// Timestamps of a record, under a latch. Only the chain means something in older versions.
#[repr(C)]
pub struct Times {
    latch: Word,
    /// Older versions, and when the newest was written.
    pub chain: Chain,
    /// The latest of any read of the newest version.
    pub rts: Word,
    /// Of the write that is announced and not decided; 0 if none.
    pub pending: Word,
}

// SAFETY: words.
unsafe impl Zeroed for Times {}

impl Prewritten for Times {
    fn latch_word(&self) -> &Word {
        &self.latch
    }

    fn pending(&self) -> &Word {
        &self.pending
    }
}

impl Timed for Times {
    fn wts(&self) -> &Word {
        &self.chain.wts
    }

    fn rts(&self) -> &Word {
        &self.rts
    }
}

impl Versioned for Times {
    #[inline(always)]
    fn chain(&self) -> &Chain {
        &self.chain
    }

    #[inline(always)]
    fn latch(&self) -> &Word {
        &self.latch
    }
}
