//! Draws and runs one worker's shifts, sums, claims and turns.

use super::law::{first_rows, queue_is_right, rows};
use super::{CLAIMS, LEDGER, QUEUE, RangesOptions, VALUE, WEIGHTS, number_at};
use crate::stream::Stream;
use std::collections::BTreeMap;
use txn::{Abort, Access, Client, Direction, KeyRange, Planned};

/// Largest weight that a shift moves. It is more than the loaded weight of a row, so that rows are emptied.
const WEIGHT_MOVED: u64 = 4;

/// Names of the kinds of procedures, in the order of [`Client::kind`].
pub const KIND_NAMES: [&str; 5] = ["shift", "sum", "claim", "turn", "report"];

/// A drawn procedure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Drawn {
    Shift {
        range: KeyRange,
        direction: Direction,
        /// Number that selects the giving row among the rows found.
        from: u64,
        /// Key of the row that receives the weight.
        to: u64,
        /// Weight to move, limited by the weight of the giving row.
        amount: i64,
    },
    Sum {
        /// Key at which the second scan stops and a third scan continues.
        middle: u64,
    },
    Claim {
        range: KeyRange,
        direction: Direction,
        key: u64,
    },
    Push,
    Pop,
    /// Records in the ledger what the previous read-only procedure saw.
    Report,
}

/// One worker's stream of procedures.
#[derive(Clone, Debug)]
pub struct RangesClient {
    options: RangesOptions,
    stream: Stream,
    worker: usize,
    drawn: Drawn,
    /// Set if the last attempt of a sum saw a total that differs from the loaded total.
    saw_broken_sum: bool,
}

impl RangesClient {
    pub(super) fn new(options: RangesOptions, worker: usize, seed: u64) -> RangesClient {
        let stream = Stream::of_worker(seed, worker);
        RangesClient { options, stream, worker, drawn: Drawn::Push, saw_broken_sum: false }
    }

    fn shift<A: Access + ?Sized>(
        &self,
        access: &mut A,
        (range, direction): (KeyRange, Direction),
        from: u64,
        to: u64,
        amount: i64,
    ) -> Result<bool, Abort> {
        let found = rows(access, WEIGHTS, range, direction)?;
        if found.is_empty() {
            // The range is empty, so the transaction ends with this observation.
            return Ok(true);
        }
        let (from, weight) = found[(from % found.len() as u64) as usize];
        let mut expected: BTreeMap<u64, i64> = found.into_iter().collect();
        let amount = amount.min(weight);
        let mut right = give(access, &mut expected, from, weight.wrapping_sub(amount))?;
        let taker = match range.contains(to) {
            true => expected.get(&to).copied(),
            // The receiving row was not scanned, so it is looked up by its key.
            false => {
                let mut bytes = [0; 8];
                let there = access.read_for_update(WEIGHTS, to.into(), VALUE, &mut bytes)?;
                there.then(|| i64::from_le_bytes(bytes))
            }
        };
        right &= match taker {
            Some(weight) => give(access, &mut expected, to, weight.wrapping_add(amount))?,
            None => {
                expected.insert(to, amount);
                access.insert(WEIGHTS, to.into(), &amount.to_le_bytes())?
            }
        };
        expected.retain(|key, _| range.contains(*key));
        let other = match direction {
            Direction::Forward => Direction::Backward,
            Direction::Backward => Direction::Forward,
        };
        let mut after = rows(access, WEIGHTS, range, other)?;
        if other == Direction::Backward {
            after.reverse();
        }
        Ok(right && after.into_iter().eq(expected))
    }

    /// Returns whether all weights add up to the loaded total, in either direction and in parts.
    fn sum<A: Access + ?Sized>(&self, access: &mut A, middle: u64) -> Result<bool, Abort> {
        let sum = |rows: Vec<(u64, i64)>| rows.iter().map(|(_, weight)| weight).sum::<i64>();
        let whole = sum(rows(access, WEIGHTS, KeyRange::ALL, Direction::Forward)?);
        let lower = KeyRange::new(0, middle).expect("nothing is less than 0");
        let upper = KeyRange::new(middle + 1, u64::MAX).expect("nothing is greater");
        let upper = sum(rows(access, WEIGHTS, upper, Direction::Backward)?);
        let lower = sum(rows(access, WEIGHTS, lower, Direction::Backward)?);
        Ok(whole == self.options.total() && lower.wrapping_add(upper) == whole)
    }

    fn claim<A: Access + ?Sized>(
        &self,
        access: &mut A,
        (range, direction): (KeyRange, Direction),
        key: u64,
    ) -> Result<bool, Abort> {
        let found = rows(access, CLAIMS, range, direction)?;
        match found[..] {
            [] => access.insert(CLAIMS, key.into(), &(self.worker as i64).to_le_bytes()),
            [(taken, _)] => access.delete(CLAIMS, taken.into()),
            _ => Ok(false),
        }
    }

    fn push<A: Access + ?Sized>(&self, access: &mut A) -> Result<bool, Abort> {
        let last = first_rows(access, QUEUE, KeyRange::ALL, Direction::Backward, 1)?;
        let Some((last, _)) = last.first() else { return Ok(false) };
        let inserted =
            access.insert(QUEUE, (last + 1).into(), &number_at(last + 1).to_le_bytes())?;
        Ok(inserted
            && queue_is_right(&first_rows(access, QUEUE, KeyRange::ALL, Direction::Forward, 2)?))
    }

    fn pop<A: Access + ?Sized>(&self, access: &mut A) -> Result<bool, Abort> {
        let first = first_rows(access, QUEUE, KeyRange::ALL, Direction::Forward, 2)?;
        let right = queue_is_right(&first);
        if first.len() < 2 {
            return Ok(right);
        }
        Ok(access.delete(QUEUE, first[0].0.into())? && right)
    }

    /// Records a broken law in this worker's row of the ledger.
    fn note<A: Access + ?Sized>(&self, access: &mut A) -> Result<(), Abort> {
        // A report concerns the sum before it.
        let law = if self.drawn == Drawn::Report { 1 } else { self.kind() };
        LEDGER.count(access, self.worker, law)
    }

    fn draw_range(&mut self, span: u64, keys: u64) -> KeyRange {
        let first = self.stream.below(keys - span + 1);
        KeyRange::new(first, first + span - 1).expect("a span has at least one key")
    }

    fn draw_direction(&mut self) -> Direction {
        if self.stream.below(2) == 0 { Direction::Forward } else { Direction::Backward }
    }
}

/// Stores `weight` in a row that was found, or deletes the row if the weight is 0. Returns false if the row
/// was absent.
fn give<A: Access + ?Sized>(
    access: &mut A,
    expected: &mut BTreeMap<u64, i64>,
    key: u64,
    weight: i64,
) -> Result<bool, Abort> {
    if weight == 0 {
        expected.remove(&key);
        return access.delete(WEIGHTS, key.into());
    }
    expected.insert(key, weight);
    access.update(WEIGHTS, key.into(), VALUE, &weight.to_le_bytes())
}

impl Client for RangesClient {
    /// Draws the next procedure. Call it only after the previous procedure has committed or was given up, as
    /// a worker does.
    fn next(&mut self) {
        if std::mem::take(&mut self.saw_broken_sum) {
            self.drawn = Drawn::Report;
            return;
        }
        let (keys, span) = (self.options.keys, self.options.span);
        let (sums, claims, turns) = (self.options.sums, self.options.claims, self.options.turns);
        let dice = self.stream.unit();
        self.drawn = if dice < sums {
            Drawn::Sum { middle: self.stream.below(keys) }
        } else if dice < sums + claims {
            let width = self.options.width;
            let first = self.stream.below(self.options.slots) * width;
            let range = KeyRange::new(first, first + width - 1).expect("a slot has a key");
            let direction = self.draw_direction();
            Drawn::Claim { range, direction, key: first + self.stream.below(width) }
        } else if dice < sums + claims + turns {
            if self.stream.below(2) == 0 { Drawn::Push } else { Drawn::Pop }
        } else {
            let range = self.draw_range(span, keys);
            Drawn::Shift {
                range,
                direction: self.draw_direction(),
                from: self.stream.below(span),
                to: match self.stream.below(2) {
                    0 => range.first() + self.stream.below(span),
                    _ => self.stream.below(keys),
                },
                amount: 1 + self.stream.below(WEIGHT_MOVED) as i64,
            }
        };
    }

    fn run<A: Access + ?Sized>(&mut self, access: &mut A) -> Result<(), Abort> {
        let right = match self.drawn {
            Drawn::Shift { range, direction, from, to, amount } => {
                self.shift(access, (range, direction), from, to, amount)?
            }
            Drawn::Sum { middle } => {
                self.saw_broken_sum = false;
                self.saw_broken_sum = !self.sum(access, middle)?;
                true
            }
            Drawn::Claim { range, direction, key } => {
                self.claim(access, (range, direction), key)?
            }
            Drawn::Push => self.push(access)?,
            Drawn::Pop => self.pop(access)?,
            Drawn::Report => false,
        };
        if right { Ok(()) } else { self.note(access) }
    }

    /// Plans the rows whose keys are drawn. The others are those that scans find.
    fn plan(&self, out: &mut Vec<Planned>) {
        match self.drawn {
            Drawn::Shift { to, .. } => out.push(Planned::whole(WEIGHTS, to)),
            Drawn::Claim { key, .. } => out.push(Planned::whole(CLAIMS, key)),
            Drawn::Report => out.push(LEDGER.plan(self.worker)),
            Drawn::Sum { .. } | Drawn::Push | Drawn::Pop => {}
        }
    }

    fn read_only(&self) -> bool {
        matches!(self.drawn, Drawn::Sum { .. })
    }

    fn kind(&self) -> usize {
        match self.drawn {
            Drawn::Shift { .. } => 0,
            Drawn::Sum { .. } => 1,
            Drawn::Claim { .. } => 2,
            Drawn::Push | Drawn::Pop => 3,
            Drawn::Report => 4,
        }
    }
}
