//! Draws and runs one worker's stream of account updates.

use super::{ACCOUNTS, BALANCE, BRANCHES, HISTORY, MOST_AMOUNT, TELLERS};
use super::{TELLERS_OF_BRANCH, TpcbOptions, law};
use crate::cell::{add, increase};
use crate::stream::Stream;
use txn::{Abort, Access, Client, Intent, Planned};

/// One worker's stream of account updates.
#[derive(Clone, Debug)]
pub struct TpcbClient {
    options: TpcbOptions,
    stream: Stream,
    worker: u64,
    /// Number of account updates drawn so far.
    drawn: u64,
    /// Number of account updates drawn so far at the tellers of each branch.
    of_branches: Vec<u64>,
    teller: u64,
    account: u64,
    amount: i64,
    checksum: u64,
}

impl TpcbClient {
    pub(super) fn of_worker(options: &TpcbOptions, worker: usize, seed: u64) -> TpcbClient {
        TpcbClient {
            options: options.clone(),
            stream: Stream::of_worker(seed, worker),
            worker: worker as u64,
            drawn: 0,
            of_branches: vec![0; options.branches as usize],
            teller: 0,
            account: 0,
            amount: 0,
            checksum: 0,
        }
    }

    /// Returns the key of the drawn teller.
    pub fn teller(&self) -> u64 {
        self.teller
    }

    /// Returns the key of the drawn account.
    pub fn account(&self) -> u64 {
        self.account
    }

    /// Returns the key of the row of the history that the drawn update inserts.
    fn history(&self) -> u64 {
        let branch = self.teller / TELLERS_OF_BRANCH;
        let number = self.of_branches[branch as usize] - 1;
        law::history_key(self.worker, (branch, self.options.branches), number)
    }

    /// Returns the drawn amount.
    pub fn amount(&self) -> i64 {
        self.amount
    }

    /// Returns a digest of the accounts' balances, which are the results of the transactions, including
    /// aborted attempts.
    pub fn checksum(&self) -> u64 {
        self.checksum
    }
}

impl Client for TpcbClient {
    fn next(&mut self) {
        let (options, stream) = (&self.options, &mut self.stream);
        self.drawn += 1;
        self.teller = stream.below(options.branches * TELLERS_OF_BRANCH);
        let home = self.teller / TELLERS_OF_BRANCH;
        self.of_branches[home as usize] += 1;
        let remote = stream.unit() < options.remote && options.branches > 1;
        let branch = if remote {
            let other = stream.below(options.branches - 1);
            other + u64::from(other >= home)
        } else {
            home
        };
        self.account = branch * options.accounts + stream.below(options.accounts);
        self.amount = stream.below(2 * MOST_AMOUNT as u64 + 1) as i64 - MOST_AMOUNT;
    }

    fn run<A: Access + ?Sized>(&mut self, access: &mut A) -> Result<(), Abort> {
        let branch = self.teller / TELLERS_OF_BRANCH;
        let amount = self.amount;
        let before = add(access, ACCOUNTS, self.account, BALANCE, amount, Intent::Update)?;
        self.checksum = self.checksum.rotate_left(5) ^ before.wrapping_add(amount) as u64;
        let mut row = [0; 42];
        let words = [self.teller, branch, self.account, amount as u64, self.drawn];
        for (place, word) in row.as_chunks_mut::<8>().0.iter_mut().zip(words) {
            *place = word.to_le_bytes();
        }
        let key = self.history();
        let inserted = access.insert(HISTORY, key.into(), &row)?;
        assert!(inserted, "row {key} of the history is there before its transaction");
        increase(access, TELLERS, self.teller, BALANCE, amount)?;
        increase(access, BRANCHES, branch, BALANCE, amount)?;
        Ok(())
    }

    fn partitions(&self, out: &mut Vec<u64>) {
        out.push(self.teller / TELLERS_OF_BRANCH);
        out.push(self.account / self.options.accounts);
    }

    fn plan(&self, out: &mut Vec<Planned>) {
        out.extend([
            Planned::write(ACCOUNTS, self.account, BALANCE),
            Planned::whole(HISTORY, self.history()),
            Planned::write(TELLERS, self.teller, BALANCE),
            Planned::write(BRANCHES, self.teller / TELLERS_OF_BRANCH, BALANCE),
        ]);
    }
}
