//! The words of a record under multi-version timestamp ordering.

use super::{
    prewrite::Prewritten,
    range_times::Timed,
    version_chain::{Chain, Versioned},
};
use machine::{Word, Zeroed};

/// Timestamps of a record, under a latch. In older versions only the chain is used.
#[repr(C)]
pub struct Times {
    latch: Word,
    /// Older versions, and the timestamp at which the newest was written.
    pub chain: Chain,
    /// Latest timestamp of any read of the newest version.
    pub rts: Word,
    /// Timestamp of the write that is announced and not decided; 0 if there is none.
    pub pending: Word,
    /// First node of the queue for that decision; 0 if there is none.
    queue: Word,
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

    fn queue(&self) -> &Word {
        &self.queue
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
