//! The bank's transactions in actions, for sessions that run actions at the same time ([`txn::Action`]).
//!
//! Each action accesses one row. So the actions of a stage are independent wherever the rows of the two customers and of the
//! three tables belong.

use super::client::{
    DEPOSIT, Drawn, PAYMENT, SmallBankClient, covered_charge, fold_name, for_update, read_name, set,
};
use super::{ACCOUNTS, CHECKING, COLUMN, LEDGER, NAME_BYTES, SAVINGS};
use crate::cell::{cell, increase};
use txn::{Abort, Access, Action, ActionBody, Intent, TableId};

/// Bytes of a balance that an action is given or gives back.
const BALANCE: usize = 8;

impl SmallBankClient {
    /// Runs the drawn procedure in actions.
    pub(super) fn run_in_actions<A: Access + ?Sized>(
        &mut self,
        access: &mut A,
    ) -> Result<(), Abort> {
        match self.drawn {
            Drawn::Balance => self.balance_in_actions(access),
            Drawn::DepositChecking => self.deposit_in_actions(access),
            Drawn::TransactSavings(amount) => self.savings_in_actions(access, amount),
            Drawn::Amalgamate => self.amalgamate_in_actions(access),
            Drawn::WriteCheck => self.write_check_in_actions(access),
            Drawn::SendPayment => self.send_payment_in_actions(access),
        }
    }

    fn balance_in_actions<A: Access + ?Sized>(&mut self, access: &mut A) -> Result<(), Abort> {
        let (savings, checking) = self.customer_in_actions(access, Intent::Read)?;
        self.fold(savings.wrapping_add(checking) as u64);
        Ok(())
    }

    /// Reads a customer's name and balances. Returns the savings and what is in checking, which is read with `intent`.
    fn customer_in_actions<A: Access + ?Sized>(
        &mut self,
        access: &mut A,
        intent: Intent,
    ) -> Result<(i64, i64), Abort> {
        let customer = self.customers[0];
        let (mut name, mut savings, mut checking) = ([0; NAME_BYTES], 0, 0);
        access.run_actions(&mut [
            Action::new((ACCOUNTS, customer), NAME_BYTES, &mut |access| {
                read_name(access, customer, &mut name)
            }),
            Action::new((SAVINGS, customer), BALANCE, &mut |access| {
                savings = cell(access, SAVINGS, customer, COLUMN, Intent::Read)?;
                Ok(())
            }),
            Action::new((CHECKING, customer), BALANCE, &mut |access| {
                checking = cell(access, CHECKING, customer, COLUMN, intent)?;
                Ok(())
            }),
        ])?;
        self.checksum = fold_name(self.checksum, &name);
        Ok((savings, checking))
    }

    fn deposit_in_actions<A: Access + ?Sized>(&mut self, access: &mut A) -> Result<(), Abort> {
        let customer = self.customers[0];
        self.change_in_actions(access, (CHECKING, DEPOSIT), &mut |access| {
            increase(access, CHECKING, customer, COLUMN, DEPOSIT)
        })
    }

    fn savings_in_actions<A: Access + ?Sized>(
        &mut self,
        access: &mut A,
        amount: i64,
    ) -> Result<(), Abort> {
        let customer = self.customers[0];
        self.change_in_actions(access, (SAVINGS, amount), &mut |access| {
            let left = for_update(access, SAVINGS, customer)?.wrapping_add(amount);
            if left < 0 {
                return Err(Abort::user());
            }
            set(access, SAVINGS, customer, left)
        })
    }

    /// Reads the customer's name, makes a `change` of `amount` to the row of the customer in `table`, and notes it in the ledger
    /// if there is an audit.
    fn change_in_actions<A: Access + ?Sized>(
        &mut self,
        access: &mut A,
        (table, amount): (TableId, i64),
        change: &mut ActionBody<'_>,
    ) -> Result<(), Abort> {
        let (customer, row) = (self.customers[0], self.ledger_row);
        let mut name = [0; NAME_BYTES];
        let count = if self.options.audit { 3 } else { 2 };
        access.run_actions(
            &mut [
                Action::new((ACCOUNTS, customer), NAME_BYTES, &mut |access| {
                    read_name(access, customer, &mut name)
                }),
                Action::new((table, customer), BALANCE, change),
                Action::new((LEDGER, row), BALANCE, &mut |access| {
                    increase(access, LEDGER, row, COLUMN, amount)
                }),
            ][..count],
        )?;
        self.checksum = fold_name(self.checksum, &name);
        Ok(())
    }

    fn amalgamate_in_actions<A: Access + ?Sized>(&mut self, access: &mut A) -> Result<(), Abort> {
        let [from, to] = self.customers;
        let (mut giver, mut taker) = ([0; NAME_BYTES], [0; NAME_BYTES]);
        let (mut savings, mut checking) = (0, 0);
        access.run_actions(&mut [
            Action::new((ACCOUNTS, from), NAME_BYTES, &mut |access| {
                read_name(access, from, &mut giver)
            }),
            Action::new((ACCOUNTS, to), NAME_BYTES, &mut |access| {
                read_name(access, to, &mut taker)
            }),
            Action::new((SAVINGS, from), BALANCE, &mut |access| {
                savings = for_update(access, SAVINGS, from)?;
                set(access, SAVINGS, from, 0)
            }),
            Action::new((CHECKING, from), BALANCE, &mut |access| {
                checking = for_update(access, CHECKING, from)?;
                set(access, CHECKING, from, 0)
            }),
        ])?;
        let all = savings.wrapping_add(checking);
        access.run_actions(&mut [Action::new((CHECKING, to), BALANCE, &mut |access| {
            increase(access, CHECKING, to, COLUMN, all)
        })])?;
        self.checksum = fold_name(fold_name(self.checksum, &giver), &taker);
        Ok(())
    }

    fn write_check_in_actions<A: Access + ?Sized>(&mut self, access: &mut A) -> Result<(), Abort> {
        let (customer, row) = (self.customers[0], self.ledger_row);
        let (savings, checking) = self.customer_in_actions(access, Intent::Update)?;
        let charge = covered_charge(savings, checking);
        let count = if self.options.audit { 2 } else { 1 };
        access.run_actions(
            &mut [
                Action::new((CHECKING, customer), BALANCE, &mut |access| {
                    set(access, CHECKING, customer, checking.wrapping_sub(charge))
                }),
                Action::new((LEDGER, row), BALANCE, &mut |access| {
                    increase(access, LEDGER, row, COLUMN, -charge)
                }),
            ][..count],
        )?;
        Ok(())
    }

    fn send_payment_in_actions<A: Access + ?Sized>(&mut self, access: &mut A) -> Result<(), Abort> {
        let [from, to] = self.customers;
        let (mut giver, mut taker) = ([0; NAME_BYTES], [0; NAME_BYTES]);
        access.run_actions(&mut [
            Action::new((ACCOUNTS, from), NAME_BYTES, &mut |access| {
                read_name(access, from, &mut giver)
            }),
            Action::new((ACCOUNTS, to), NAME_BYTES, &mut |access| {
                read_name(access, to, &mut taker)
            }),
            Action::new((CHECKING, from), BALANCE, &mut |access| {
                let sender = for_update(access, CHECKING, from)?;
                if sender < PAYMENT {
                    return Err(Abort::user());
                }
                set(access, CHECKING, from, sender.wrapping_sub(PAYMENT))
            }),
            Action::new((CHECKING, to), BALANCE, &mut |access| {
                increase(access, CHECKING, to, COLUMN, PAYMENT)
            }),
        ])?;
        self.checksum = fold_name(fold_name(self.checksum, &giver), &taker);
        Ok(())
    }
}
