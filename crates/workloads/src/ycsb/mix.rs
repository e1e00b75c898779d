//! Draws the action of a transaction on each of its keys.

use super::YcsbOptions;
use crate::stream::Stream;
use crate::zipf::Zipf;

/// The action on one key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Action {
    Read,
    Update,
    Insert,
    /// Visits this many rows, starting at the key.
    Scan(u32),
}

/// Restriction of the worker, or of one of its transactions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Bound {
    Free,
    /// Updates and inserts become reads.
    Reads,
    /// Reads and scans become updates.
    Writes,
}

/// Draws the actions of a transaction.
#[derive(Clone, Debug)]
pub(super) struct Mix {
    scan_ratio: f64,
    insert_ratio: f64,
    /// Threshold that is compared with 32 random bits. With a ratio of 1 the comparison always holds, with 0
    /// never.
    reads_below: u64,
    scan_lengths: Zipf,
    read_only_share: f64,
    worker: Bound,
    transaction: Bound,
}

impl Mix {
    pub(super) fn new(options: &YcsbOptions, worker: usize) -> Mix {
        let worker = match options.reader_workers {
            0 => Bound::Free,
            readers if (worker as u64) < readers => Bound::Reads,
            _ => Bound::Writes,
        };
        Mix {
            scan_ratio: options.scan_ratio,
            insert_ratio: options.insert_ratio,
            reads_below: (options.read_ratio * (1u64 << 32) as f64) as u64,
            scan_lengths: Zipf::new(options.scan_length, options.scan_theta),
            read_only_share: options.read_only_share,
            worker,
            transaction: worker,
        }
    }

    /// Begins a new transaction.
    #[inline]
    pub(super) fn begin(&mut self, stream: &mut Stream) {
        if self.read_only_share > 0.0 {
            let reads = stream.unit() < self.read_only_share;
            self.transaction = if reads { Bound::Reads } else { self.worker };
        }
    }

    /// Returns true if the transaction is restricted to reads.
    pub(super) fn reads_only(&self) -> bool {
        self.transaction == Bound::Reads
    }

    /// Draws the action on the next key. It uses 32 random `bits` if they are sufficient.
    #[inline]
    pub(super) fn action(&self, bits: u64, stream: &mut Stream) -> Action {
        let drawn = if self.scan_ratio + self.insert_ratio > 0.0 {
            self.any(bits, stream)
        } else {
            self.single(bits)
        };
        match (self.transaction, drawn) {
            (Bound::Reads, Action::Update | Action::Insert) => Action::Read,
            (Bound::Writes, Action::Read | Action::Scan(_)) => Action::Update,
            (_, drawn) => drawn,
        }
    }

    /// Draws a read or an update.
    #[inline]
    pub(super) fn single(&self, bits: u64) -> Action {
        if bits < self.reads_below { Action::Read } else { Action::Update }
    }

    fn any(&self, bits: u64, stream: &mut Stream) -> Action {
        let dice = stream.unit();
        if dice < self.scan_ratio {
            return Action::Scan(self.scan_lengths.draw(stream) as u32 + 1);
        }
        // Rounding can make the sum of the two ratios slightly less than the intended 1.
        if dice < self.scan_ratio + self.insert_ratio + 1e-9 * self.insert_ratio {
            return Action::Insert;
        }
        self.single(bits)
    }
}
