//! Draws and runs one worker's increments, transfers, sums and moves.

use super::{ADDED, BALANCE, BROKEN, COUNT, CountersOptions, LEDGER_ROWS, PAIR_TOTAL, TOKEN, TWIN};
use crate::cell::{add, cell, increase};
use crate::distinct::KeyDraw;
use crate::stream::Stream;
use txn::{Abort, Access, Client, ColumnSet, Intent, Planned, TableId};

/// Names of the kinds of procedures, in the order of [`Client::kind`].
pub const KIND_NAMES: [&str; 5] = ["increment", "transfer", "sum", "move", "report"];

/// A drawn procedure. Its keys are in the client.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Drawn {
    Increment,
    Transfer {
        amount: i64,
    },
    Sum,
    Move {
        /// Set if the row is deleted and inserted again at the same key.
        in_place: bool,
    },
    /// Records in the ledger what the previous read-only procedure saw.
    Report,
}

/// One worker's stream of procedures.
#[derive(Clone, Debug)]
pub struct CountersClient {
    options: CountersOptions,
    each: KeyDraw,
    places: KeyDraw,
    pairs: KeyDraw,
    stream: Stream,
    ledger_row: u64,
    drawn: Drawn,
    rolls_back: bool,
    keys: Vec<u64>,
    /// Set if the last attempt of a sum saw a pair without its total.
    saw_broken_pair: bool,
}

impl CountersClient {
    pub(super) fn new(
        options: CountersOptions,
        each: KeyDraw,
        places: KeyDraw,
        pairs: KeyDraw,
        worker: usize,
        seed: u64,
    ) -> CountersClient {
        CountersClient {
            options,
            each,
            places,
            pairs,
            stream: Stream::of_worker(seed, worker),
            ledger_row: worker as u64 % LEDGER_ROWS,
            drawn: Drawn::Sum,
            rolls_back: false,
            keys: Vec::new(),
            saw_broken_pair: false,
        }
    }

    /// Returns the counters, pairs or places of the drawn procedure, in access order.
    pub fn keys(&self) -> &[u64] {
        &self.keys
    }

    fn intent(&self) -> Intent {
        if self.options.lock_upgrade { Intent::Read } else { Intent::Update }
    }

    /// Returns the rollback, if the procedure has drawn one. The procedures call it when they have made some
    /// of their writes, but not all.
    fn change_of_mind(&self) -> Result<(), Abort> {
        if self.rolls_back { Err(Abort::user()) } else { Ok(()) }
    }

    fn increment<A: Access + ?Sized>(&self, access: &mut A) -> Result<(), Abort> {
        for (at, &counter) in self.keys.iter().enumerate() {
            let place = self.options.place(counter);
            // Where additions and updates are different operations, an increment uses both.
            self.bump(access, place, COUNT, 1, at % 2 == 1 || !access.adds_at_commit())?;
        }
        self.change_of_mind()?;
        if self.options.only_increments() {
            return Ok(());
        }
        self.note(access, ADDED, self.keys.len() as i64)
    }

    fn transfer<A: Access + ?Sized>(&self, access: &mut A, amount: i64) -> Result<(), Abort> {
        let left = self.options.place(self.keys[0] * 2);
        let right = self.options.place(self.keys[0] * 2 + 1);
        // Half of the transfers go the other way, so that locks are acquired in both orders.
        let (from, to) = if amount > 0 { (left, right) } else { (right, left) };
        let amount = amount.abs();
        if access.adds_at_commit() {
            return self.transfer_by_additions(access, (from, to), amount);
        }
        let turned = self.options.key_order && to < from;
        let (first, second) = if turned { (to, from) } else { (from, to) };
        let first = cell(access, first.0, first.1, BALANCE, self.intent())?;
        let second = cell(access, second.0, second.1, BALANCE, self.intent())?;
        let (given, taken) = if turned { (second, first) } else { (first, second) };
        access.update(from.0, from.1.into(), BALANCE, &given.wrapping_sub(amount).to_le_bytes())?;
        self.change_of_mind()?;
        access.update(to.0, to.1.into(), BALANCE, &taken.wrapping_add(amount).to_le_bytes())?;
        if given.wrapping_add(taken) != PAIR_TOTAL {
            self.note(access, BROKEN, 1)?;
        }
        Ok(())
    }

    /// Returns whether a pair had a wrong total.
    fn sum<A: Access + ?Sized>(&self, access: &mut A) -> Result<bool, Abort> {
        let mut broken = false;
        for &pair in &self.keys {
            let (left, right) = (self.options.place(pair * 2), self.options.place(pair * 2 + 1));
            let left = cell(access, left.0, left.1, BALANCE, Intent::Read)?;
            let right = cell(access, right.0, right.1, BALANCE, Intent::Read)?;
            broken |= left.wrapping_add(right) != PAIR_TOTAL;
        }
        Ok(broken)
    }

    fn carry<A: Access + ?Sized>(&self, access: &mut A, in_place: bool) -> Result<(), Abort> {
        let table = self.options.token_table();
        let (mut a, mut b) = ([0; 8], [0; 8]);
        let at_a = access.read_with(table, self.keys[0].into(), TOKEN, self.intent(), &mut a)?;
        let at_b = access.read_with(table, self.keys[1].into(), TOKEN, self.intent(), &mut b)?;
        let split = self.options.split_columns;
        let (from, to, token) = match (at_a, at_b) {
            (true, false) => (self.keys[0], self.keys[1], a),
            (false, true) => (self.keys[1], self.keys[0], b),
            // There is no token to move, or no free place. The transaction ends after its reads, which
            // include absences.
            _ => return Ok(()),
        };
        let to = if in_place { from } else { to };
        let mut seen = [0; 8];
        // A transaction sees its own writes, and no other write can come between: a row is gone after its
        // delete, and present after its insert.
        let (adds, one, less) = (access.adds_at_commit(), 1i64, -1i64);
        let mut right = !adds || access.add(table, from.into(), TOKEN, &one.to_le_bytes())?;
        right &= access.delete(table, from.into())?;
        self.change_of_mind()?;
        right &= !access.read(table, from.into(), TOKEN, &mut seen)?;
        if split {
            right &= !access.read(table, from.into(), TWIN, &mut seen)?;
        }
        if adds {
            right &= !access.add(table, from.into(), TOKEN, &one.to_le_bytes())?;
        }
        let mut row = [0; 16];
        row[..8].copy_from_slice(&token);
        row[8..].copy_from_slice(&token);
        right &= access.insert(table, to.into(), &row[..self.options.token_words() * 8])?;
        if adds {
            right &= access.add(table, to.into(), TOKEN, &one.to_le_bytes())?;
            right &= access.add(table, to.into(), TOKEN, &less.to_le_bytes())?;
        }
        right &= access.read(table, to.into(), TOKEN, &mut seen)? && seen == token;
        if split {
            let mut both = [0; 16];
            right &= access.read(table, to.into(), TOKEN.with(TWIN), &mut both)? && both == row;
        }
        if !right {
            self.note(access, BROKEN, 1)?;
        }
        Ok(())
    }

    /// Adds `amount` to an integer of a row. If the option `lock_upgrade` and `plainly` are set, the integer
    /// is first read with [`Intent::Read`], so that a locking protocol has to upgrade its lock.
    fn bump<A: Access + ?Sized>(
        &self,
        access: &mut A,
        (table, key): (TableId, u64),
        column: ColumnSet,
        amount: i64,
        plainly: bool,
    ) -> Result<(), Abort> {
        if self.options.lock_upgrade && plainly {
            add(access, table, key, column, amount, Intent::Read)?;
            return Ok(());
        }
        increase(access, table, key, column, amount)
    }

    /// Runs a transfer where additions read nothing. Its variants combine additions, updates and reads of one
    /// row in different orders.
    fn transfer_by_additions<A: Access + ?Sized>(
        &self,
        access: &mut A,
        (from, to): ((TableId, u64), (TableId, u64)),
        amount: i64,
    ) -> Result<(), Abort> {
        let seen = |access: &mut A, (table, key)| cell(access, table, key, BALANCE, self.intent());
        let add = |access: &mut A, (table, key): (TableId, u64), amount| {
            increase(access, table, key, BALANCE, amount)
        };
        let set = |access: &mut A, (table, key): (TableId, u64), balance: i64| {
            access.update(table, key.into(), BALANCE, &balance.to_le_bytes())
        };
        let total = match amount % 4 {
            0 => {
                add(access, from, -amount)?;
                self.change_of_mind()?;
                add(access, to, amount)?;
                PAIR_TOTAL
            }
            1 => {
                add(access, from, -amount)?;
                self.change_of_mind()?;
                add(access, to, amount)?;
                seen(access, from)?.wrapping_add(seen(access, to)?)
            }
            2 => {
                let given = seen(access, from)?;
                add(access, from, 1)?;
                set(access, from, given.wrapping_sub(amount))?;
                self.change_of_mind()?;
                let taken = seen(access, to)?;
                set(access, to, taken)?;
                add(access, to, amount)?;
                seen(access, from)?.wrapping_add(seen(access, to)?)
            }
            _ => {
                add(access, from, amount)?;
                let given = seen(access, from)?.wrapping_sub(amount);
                add(access, to, amount + 1)?;
                add(access, to, -1)?;
                self.change_of_mind()?;
                set(access, from, given)?;
                add(access, from, -amount)?;
                given.wrapping_sub(amount).wrapping_add(seen(access, to)?)
            }
        };
        if total != PAIR_TOTAL { self.note(access, BROKEN, 1) } else { Ok(()) }
    }

    /// Adds `amount` to a column of this worker's row of the ledger.
    fn note<A: Access + ?Sized>(
        &self,
        access: &mut A,
        column: ColumnSet,
        amount: i64,
    ) -> Result<(), Abort> {
        self.bump(access, (self.options.ledger(), self.ledger_row), column, amount, true)
    }
}

impl Client for CountersClient {
    /// Draws the next procedure. Call it only after the previous procedure has committed or was given up, as
    /// a worker does.
    fn next(&mut self) {
        self.rolls_back = false;
        if std::mem::take(&mut self.saw_broken_pair) {
            self.drawn = Drawn::Report;
            return;
        }
        let (options, stream) = (&self.options, &mut self.stream);
        match stream.pick(&options.shares()) {
            0 => {
                self.each.fill(&mut self.keys, options.accesses as usize, stream);
                if options.key_order {
                    self.keys.sort_unstable_by_key(|counter| options.place(*counter));
                }
                self.drawn = Drawn::Increment;
            }
            1 => {
                self.pairs.fill(&mut self.keys, 1, stream);
                let amount = 1 + stream.below(9) as i64;
                let amount = if stream.below(2) == 0 { amount } else { -amount };
                self.drawn = Drawn::Transfer { amount };
            }
            2 => {
                let pairs = (options.accesses / 2).clamp(1, options.counters / 2);
                self.pairs.fill(&mut self.keys, pairs as usize, stream);
                if options.key_order {
                    self.keys.sort_unstable();
                }
                self.drawn = Drawn::Sum;
            }
            _ => {
                self.places.fill(&mut self.keys, 2, stream);
                if options.key_order {
                    self.keys.sort_unstable();
                }
                self.drawn = Drawn::Move { in_place: stream.below(4) == 0 };
            }
        }
        if options.rollbacks > 0.0 && self.drawn != Drawn::Sum {
            self.rolls_back = stream.unit() < options.rollbacks;
        }
    }

    fn run<A: Access + ?Sized>(&mut self, access: &mut A) -> Result<(), Abort> {
        match self.drawn {
            Drawn::Increment => self.increment(access),
            Drawn::Transfer { amount } => self.transfer(access, amount),
            Drawn::Sum => {
                self.saw_broken_pair = false;
                self.saw_broken_pair = self.sum(access)?;
                Ok(())
            }
            Drawn::Move { in_place } => self.carry(access, in_place),
            Drawn::Report => self.note(access, BROKEN, 1),
        }
    }

    fn partitions(&self, out: &mut Vec<u64>) {
        let partitioning = self.options.partitioning();
        let counter = |counter: u64| partitioning.of(self.options.place(counter).1);
        match self.drawn {
            Drawn::Increment => out.extend(self.keys.iter().flat_map(|key| counter(*key))),
            Drawn::Transfer { .. } | Drawn::Sum => {
                out.extend(self.keys.iter().flat_map(|pair| counter(pair * 2)));
                out.extend(self.keys.iter().flat_map(|pair| counter(pair * 2 + 1)));
            }
            Drawn::Move { .. } => {
                out.extend(self.keys.iter().flat_map(|key| partitioning.of(*key)))
            }
            // A report declares no partitions, so it is given all of them.
            Drawn::Report => return,
        }
        if self.drawn != Drawn::Sum {
            out.extend(partitioning.of(self.ledger_row));
        }
    }

    fn plan(&self, out: &mut Vec<Planned>) {
        // Where locks are upgraded, every other increment is planned as a read only, and the others as both.
        let balance = |out: &mut Vec<Planned>, counter, intent| {
            let (table, key) = self.options.place(counter);
            out.push(Planned { table, key, columns: BALANCE, intent });
        };
        match self.drawn {
            Drawn::Increment => {
                for (at, counter) in self.keys.iter().enumerate() {
                    let (table, key) = self.options.place(*counter);
                    if self.options.lock_upgrade {
                        out.push(Planned::read(table, key, COUNT));
                    }
                    if !self.options.lock_upgrade || at % 2 == 0 {
                        out.push(Planned::write(table, key, COUNT));
                    }
                }
            }
            Drawn::Transfer { .. } => {
                balance(out, self.keys[0] * 2, self.intent());
                balance(out, self.keys[0] * 2 + 1, self.intent());
            }
            Drawn::Sum => {
                for pair in &self.keys {
                    balance(out, pair * 2, Intent::Read);
                    balance(out, pair * 2 + 1, Intent::Read);
                }
            }
            Drawn::Move { .. } => {
                let table = self.options.token_table();
                out.extend(self.keys.iter().map(|key| Planned::whole(table, *key)));
            }
            Drawn::Report => {}
        }
        let adds = self.drawn == Drawn::Increment && !self.options.only_increments();
        if adds || self.drawn == Drawn::Report {
            let column = if adds { ADDED } else { BROKEN };
            out.push(Planned::write(self.options.ledger(), self.ledger_row, column));
        }
    }

    fn read_only(&self) -> bool {
        self.drawn == Drawn::Sum
    }

    fn kind(&self) -> usize {
        match self.drawn {
            Drawn::Increment => 0,
            Drawn::Transfer { .. } => 1,
            Drawn::Sum => 2,
            Drawn::Move { .. } => 3,
            Drawn::Report => 4,
        }
    }
}
