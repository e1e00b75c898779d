//! Assigns dense numbers to the committed transactions of a history.
//!
//! Numbers run worker after worker, in the order in which each worker committed. Attempts are sparse, because
//! aborted attempts leave gaps. These numbers have no gaps.

use txn::{History, LoadedTable, Read, Scan, TableId, Transaction, TxnId, WorkerHistory, Write};

/// Begin and end time of a transaction.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Span {
    pub begin: u64,
    pub end: u64,
}

/// The transactions of a history by number.
pub(crate) struct Numbering<'a> {
    history: &'a History,
    /// First number of each worker. The last entry is the number of transactions.
    first: Vec<u32>,
    spans: Vec<Span>,
    /// Identities and numbers, sorted.
    ids: Vec<(TxnId, u32)>,
}

impl<'a> Numbering<'a> {
    pub fn of(history: &'a History) -> Numbering<'a> {
        assert!(history.len() < 1 << 30, "a history of 2^30 transactions or more");
        let mut first = Vec::with_capacity(history.workers.len() + 1);
        let mut spans = Vec::with_capacity(history.len());
        let mut ids = Vec::with_capacity(history.len());
        for worker in &history.workers {
            first.push(spans.len() as u32);
            for t in &worker.transactions {
                ids.push((t.id, spans.len() as u32));
                spans.push(Span { begin: t.begin, end: t.end });
            }
        }
        first.push(spans.len() as u32);
        ids.sort_unstable();
        Numbering { history, first, spans, ids }
    }

    pub fn len(&self) -> usize {
        self.spans.len()
    }

    /// Returns the begin and end of each transaction.
    pub fn spans(&self) -> &[Span] {
        &self.spans
    }

    /// Returns identities and numbers, sorted.
    pub fn ids(&self) -> &[(TxnId, u32)] {
        &self.ids
    }

    /// Returns the workers, each with the number of its first transaction.
    pub fn workers(&self) -> impl Iterator<Item = (u32, &'a WorkerHistory)> {
        self.first.iter().copied().zip(&self.history.workers)
    }

    /// Returns the number of a committed transaction. Returns `None` for the loader and for attempts that
    /// aborted.
    pub fn find(&self, id: TxnId) -> Option<u32> {
        let at = self.ids.binary_search_by_key(&id, |&(id, _)| id).ok()?;
        Some(self.ids[at].1)
    }

    fn locate(&self, number: u32) -> (&'a WorkerHistory, usize) {
        let worker = self.first.partition_point(|&first| first <= number) - 1;
        (&self.history.workers[worker], (number - self.first[worker]) as usize)
    }

    pub fn transaction(&self, number: u32) -> &'a Transaction {
        let (worker, index) = self.locate(number);
        &worker.transactions[index]
    }

    pub fn id(&self, number: u32) -> TxnId {
        self.transaction(number).id
    }

    pub fn reads(&self, number: u32) -> &'a [Read] {
        let (worker, index) = self.locate(number);
        worker.reads_of(index)
    }

    /// Returns the scans of a transaction, with the history of the worker that ran it.
    pub fn scans(&self, number: u32) -> (&'a WorkerHistory, &'a [Scan]) {
        let (worker, index) = self.locate(number);
        (worker, worker.scans_of(index))
    }

    /// Returns the rows of a table that existed before the run, if that is known.
    pub fn loaded(&self, table: TableId) -> Option<&'a LoadedTable> {
        self.history.loaded_of(table)
    }

    pub fn writes(&self, number: u32) -> &'a [Write] {
        let (worker, index) = self.locate(number);
        worker.writes_of(index)
    }
}
