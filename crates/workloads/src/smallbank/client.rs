//! Draws and runs one worker's stream of the bank's transactions.

use super::{
    ACCOUNTS, CHECKING, COLUMN, LEDGER, LEDGER_ROWS, NAME_BYTES, SAVINGS, SmallBankOptions,
};
use crate::cell::{cell, increase};
use crate::stream::Stream;
use txn::{Abort, Access, Client, Intent, Planned, TableId};

/// Names of the kinds of procedures, in the order of [`Client::kind`].
pub const KIND_NAMES: [&str; 6] = [
    "balance",
    "deposit_checking",
    "transact_savings",
    "amalgamate",
    "write_check",
    "send_payment",
];

/// Amount that DepositChecking adds, in cents.
pub(super) const DEPOSIT: i64 = 130;
/// Amount that TransactSavings adds or takes.
const SAVING: i64 = 2020;
/// Amount that WriteCheck takes.
const CHECK: i64 = 500;
/// Additional amount that WriteCheck takes if the balance is too low.
const PENALTY: i64 = 100;
/// Amount that SendPayment moves.
pub(super) const PAYMENT: i64 = 500;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Drawn {
    Balance,
    DepositChecking,
    /// Changes the savings by this amount.
    TransactSavings(i64),
    Amalgamate,
    WriteCheck,
    SendPayment,
}

/// One worker's stream of procedures.
#[derive(Clone, Debug)]
pub struct SmallBankClient {
    pub(super) options: SmallBankOptions,
    shares: [f64; 6],
    stream: Stream,
    pub(super) ledger_row: u64,
    pub(super) drawn: Drawn,
    pub(super) customers: [u64; 2],
    pub(super) checksum: u64,
}

impl SmallBankClient {
    pub(super) fn of_worker(
        options: &SmallBankOptions,
        worker: usize,
        seed: u64,
    ) -> SmallBankClient {
        SmallBankClient {
            options: options.clone(),
            shares: options.shares(),
            stream: Stream::of_worker(seed, worker),
            ledger_row: worker as u64 % LEDGER_ROWS,
            drawn: Drawn::Balance,
            customers: [0, 1],
            checksum: 0,
        }
    }

    /// Returns the two drawn customers. Most procedures use only the first.
    pub fn customers(&self) -> [u64; 2] {
        self.customers
    }

    /// Returns a digest of names and balances read so far, including aborted attempts. It exists so that the
    /// compiler keeps the reads.
    pub fn checksum(&self) -> u64 {
        self.checksum
    }

    pub(super) fn fold(&mut self, word: u64) {
        self.checksum = folded(self.checksum, word);
    }

    fn account<A: Access + ?Sized>(&mut self, access: &mut A, customer: u64) -> Result<(), Abort> {
        let mut name = [0; NAME_BYTES];
        read_name(access, customer, &mut name)?;
        self.checksum = fold_name(self.checksum, &name);
        Ok(())
    }

    /// Records the change of the bank's total money in the ledger, if there is an audit.
    fn note<A: Access + ?Sized>(&self, access: &mut A, amount: i64) -> Result<(), Abort> {
        if self.options.audit {
            increase(access, LEDGER, self.ledger_row, COLUMN, amount)?;
        }
        Ok(())
    }

    /// Returns true if the drawn procedure changes the bank's total money and there is an audit.
    fn notes_change(&self) -> bool {
        let changes = [Drawn::DepositChecking, Drawn::WriteCheck].contains(&self.drawn)
            || matches!(self.drawn, Drawn::TransactSavings(_));
        self.options.audit && changes
    }

    fn balance<A: Access + ?Sized>(&mut self, access: &mut A) -> Result<(), Abort> {
        let customer = self.customers[0];
        self.account(access, customer)?;
        let savings = cell(access, SAVINGS, customer, COLUMN, Intent::Read)?;
        let checking = cell(access, CHECKING, customer, COLUMN, Intent::Read)?;
        self.fold(savings.wrapping_add(checking) as u64);
        Ok(())
    }

    fn deposit_checking<A: Access + ?Sized>(&mut self, access: &mut A) -> Result<(), Abort> {
        let customer = self.customers[0];
        self.account(access, customer)?;
        increase(access, CHECKING, customer, COLUMN, DEPOSIT)?;
        self.note(access, DEPOSIT)
    }

    fn transact_savings<A: Access + ?Sized>(
        &mut self,
        access: &mut A,
        amount: i64,
    ) -> Result<(), Abort> {
        let customer = self.customers[0];
        self.account(access, customer)?;
        let left = for_update(access, SAVINGS, customer)?.wrapping_add(amount);
        if left < 0 {
            return Err(Abort::user());
        }
        set(access, SAVINGS, customer, left)?;
        self.note(access, amount)
    }

    fn amalgamate<A: Access + ?Sized>(&mut self, access: &mut A) -> Result<(), Abort> {
        let [from, to] = self.customers;
        self.account(access, from)?;
        self.account(access, to)?;
        let savings = for_update(access, SAVINGS, from)?;
        let checking = for_update(access, CHECKING, from)?;
        if access.adds_at_commit() {
            set(access, SAVINGS, from, 0)?;
            set(access, CHECKING, from, 0)?;
            return increase(access, CHECKING, to, COLUMN, savings.wrapping_add(checking));
        }
        let taker = for_update(access, CHECKING, to)?;
        set(access, SAVINGS, from, 0)?;
        set(access, CHECKING, from, 0)?;
        set(access, CHECKING, to, taker.wrapping_add(savings).wrapping_add(checking))
    }

    fn write_check<A: Access + ?Sized>(&mut self, access: &mut A) -> Result<(), Abort> {
        let customer = self.customers[0];
        self.account(access, customer)?;
        let savings = cell(access, SAVINGS, customer, COLUMN, Intent::Read)?;
        let checking = for_update(access, CHECKING, customer)?;
        let charge = covered_charge(savings, checking);
        set(access, CHECKING, customer, checking.wrapping_sub(charge))?;
        self.note(access, -charge)
    }

    fn send_payment<A: Access + ?Sized>(&mut self, access: &mut A) -> Result<(), Abort> {
        let [from, to] = self.customers;
        self.account(access, from)?;
        self.account(access, to)?;
        let sender = for_update(access, CHECKING, from)?;
        if sender < PAYMENT {
            return Err(Abort::user());
        }
        if access.adds_at_commit() {
            set(access, CHECKING, from, sender.wrapping_sub(PAYMENT))?;
            return increase(access, CHECKING, to, COLUMN, PAYMENT);
        }
        let taker = for_update(access, CHECKING, to)?;
        set(access, CHECKING, from, sender.wrapping_sub(PAYMENT))?;
        set(access, CHECKING, to, taker.wrapping_add(PAYMENT))
    }
}

fn folded(checksum: u64, word: u64) -> u64 {
    checksum.rotate_left(5) ^ word
}

/// Returns the checksum with a name that was read.
pub(super) fn fold_name(checksum: u64, name: &[u8; NAME_BYTES]) -> u64 {
    let (words, _) = name.as_chunks::<8>();
    words.iter().fold(checksum, |checksum, word| folded(checksum, u64::from_le_bytes(*word)))
}

/// Reads a customer's name.
pub(super) fn read_name<A: Access + ?Sized>(
    access: &mut A,
    customer: u64,
    name: &mut [u8; NAME_BYTES],
) -> Result<(), Abort> {
    let found = access.read(ACCOUNTS, customer.into(), COLUMN, name)?;
    assert!(found, "customer {customer} was loaded and never deleted, yet is not found");
    Ok(())
}

/// Returns the amount that a check takes, given the two balances.
pub(super) fn covered_charge(savings: i64, checking: i64) -> i64 {
    let covered = savings.wrapping_add(checking) >= CHECK;
    if covered { CHECK } else { CHECK + PENALTY }
}

pub(super) fn for_update<A: Access + ?Sized>(
    access: &mut A,
    table: TableId,
    customer: u64,
) -> Result<i64, Abort> {
    cell(access, table, customer, COLUMN, Intent::Update)
}

pub(super) fn set<A: Access + ?Sized>(
    access: &mut A,
    table: TableId,
    customer: u64,
    balance: i64,
) -> Result<(), Abort> {
    access.update(table, customer.into(), COLUMN, &balance.to_le_bytes())?;
    Ok(())
}

impl Client for SmallBankClient {
    fn next(&mut self) {
        let (options, stream) = (&self.options, &mut self.stream);
        self.drawn = match stream.pick(&self.shares) {
            0 => Drawn::Balance,
            1 => Drawn::DepositChecking,
            2 if stream.unit() < options.withdrawals => Drawn::TransactSavings(-SAVING),
            2 => Drawn::TransactSavings(SAVING),
            3 => Drawn::Amalgamate,
            4 => Drawn::WriteCheck,
            _ => Drawn::SendPayment,
        };
        let (first, count) = if options.hot_share == 0.0 {
            (0, options.accounts)
        } else if stream.unit() < options.hot_share {
            (0, options.hot_accounts)
        } else {
            (options.hot_accounts, options.accounts - options.hot_accounts)
        };
        let one = stream.below(count);
        let other = stream.below(count - 1);
        self.customers = [first + one, first + other + u64::from(other >= one)];
    }

    fn run<A: Access + ?Sized>(&mut self, access: &mut A) -> Result<(), Abort> {
        if access.splits() {
            return self.run_in_actions(access);
        }
        match self.drawn {
            Drawn::Balance => self.balance(access),
            Drawn::DepositChecking => self.deposit_checking(access),
            Drawn::TransactSavings(amount) => self.transact_savings(access, amount),
            Drawn::Amalgamate => self.amalgamate(access),
            Drawn::WriteCheck => self.write_check(access),
            Drawn::SendPayment => self.send_payment(access),
        }
    }

    fn partitions(&self, out: &mut Vec<u64>) {
        let [first, second] = self.customers;
        out.push(first % self.options.partitions);
        match self.drawn {
            Drawn::Balance => {}
            Drawn::Amalgamate | Drawn::SendPayment => out.push(second % self.options.partitions),
            Drawn::DepositChecking | Drawn::TransactSavings(_) | Drawn::WriteCheck => {}
        }
        if self.notes_change() {
            out.push(self.ledger_row % self.options.partitions);
        }
    }

    fn plan(&self, out: &mut Vec<Planned>) {
        let [customer, other] = self.customers;
        let read = |table, customer| Planned::read(table, customer, COLUMN);
        let write = |table, customer| Planned::write(table, customer, COLUMN);
        out.push(read(ACCOUNTS, customer));
        match self.drawn {
            Drawn::Balance => out.extend([read(SAVINGS, customer), read(CHECKING, customer)]),
            Drawn::DepositChecking => out.push(write(CHECKING, customer)),
            Drawn::TransactSavings(_) => out.push(write(SAVINGS, customer)),
            Drawn::Amalgamate => out.extend([
                read(ACCOUNTS, other),
                write(SAVINGS, customer),
                write(CHECKING, customer),
                write(CHECKING, other),
            ]),
            Drawn::WriteCheck => out.extend([read(SAVINGS, customer), write(CHECKING, customer)]),
            Drawn::SendPayment => out.extend([
                read(ACCOUNTS, other),
                write(CHECKING, customer),
                write(CHECKING, other),
            ]),
        }
        if self.notes_change() {
            out.push(write(LEDGER, self.ledger_row));
        }
    }

    fn read_only(&self) -> bool {
        self.drawn == Drawn::Balance
    }

    fn kind(&self) -> usize {
        match self.drawn {
            Drawn::Balance => 0,
            Drawn::DepositChecking => 1,
            Drawn::TransactSavings(_) => 2,
            Drawn::Amalgamate => 3,
            Drawn::WriteCheck => 4,
            Drawn::SendPayment => 5,
        }
    }
}
