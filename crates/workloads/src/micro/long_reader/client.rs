//! Draws and runs one worker's scans and updates.

use super::{AMOUNT, LEDGER, LEDGER_ROWS, LOADED, LongReaderOptions, ROWS, sum};
use crate::cell::add;
use crate::stream::Stream;
use crate::zipf::Zipf;
use txn::{Abort, Access, Client, Direction, Intent, KeyRange, Planned};

/// Names of the kinds of procedures, in the order of [`Client::kind`].
pub const KIND_NAMES: [&str; 3] = ["scan", "update", "report"];

/// Largest amount that an update moves.
const MOST_MOVED: u64 = 100;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Drawn {
    Scan(KeyRange, Direction),
    Update {
        from: u64,
        to: u64,
        amount: i64,
    },
    /// Records in the ledger what the previous read-only procedure saw.
    Report,
}

/// One worker's stream of procedures.
#[derive(Clone, Debug)]
pub struct LongReaderClient {
    options: LongReaderOptions,
    zipf: Zipf,
    stream: Stream,
    ledger_row: u64,
    /// Share of the procedures that are scans.
    scans: f64,
    drawn: Drawn,
    /// Set if the last attempt of a scan saw a sum that differs from the loaded sum.
    saw_wrong_sum: bool,
}

impl LongReaderClient {
    pub(super) fn of_worker(
        options: &LongReaderOptions,
        zipf: &Zipf,
        worker: usize,
        seed: u64,
    ) -> LongReaderClient {
        let scans = match options.long_readers {
            0 => options.long_share,
            readers if (worker as u64) < readers => 1.0,
            _ => 0.0,
        };
        LongReaderClient {
            options: options.clone(),
            zipf: zipf.clone(),
            stream: Stream::of_worker(seed, worker),
            ledger_row: worker as u64 % LEDGER_ROWS,
            scans,
            drawn: Drawn::Report,
            saw_wrong_sum: false,
        }
    }
}

impl Client for LongReaderClient {
    /// Draws the next procedure. Call it only after the previous procedure has committed or was given up, as
    /// a worker does.
    fn next(&mut self) {
        if std::mem::take(&mut self.saw_wrong_sum) {
            self.drawn = Drawn::Report;
            return;
        }
        let section = self.options.section(self.stream.below(self.options.sections));
        self.drawn = if self.stream.unit() < self.scans {
            let forward = self.stream.below(2) == 0;
            Drawn::Scan(section, if forward { Direction::Forward } else { Direction::Backward })
        } else {
            let rows = self.options.section_rows();
            let from = self.zipf.draw(&mut self.stream);
            let mut to = self.zipf.draw(&mut self.stream);
            if to == from {
                to = (to + 1) % rows;
            }
            let amount = 1 + self.stream.below(MOST_MOVED) as i64;
            Drawn::Update { from: section.first() + from, to: section.first() + to, amount }
        };
    }

    fn run<A: Access + ?Sized>(&mut self, access: &mut A) -> Result<(), Abort> {
        match self.drawn {
            Drawn::Scan(section, direction) => {
                self.saw_wrong_sum = false;
                let loaded = self.options.section_rows() as i64 * LOADED;
                self.saw_wrong_sum = sum(access, section, direction)? != loaded;
            }
            Drawn::Update { from, to, amount } => {
                add(access, ROWS, from, AMOUNT, -amount, Intent::Update)?;
                add(access, ROWS, to, AMOUNT, amount, Intent::Update)?;
            }
            Drawn::Report => {
                add(access, LEDGER, self.ledger_row, AMOUNT, 1, Intent::Update)?;
            }
        }
        Ok(())
    }

    fn plan(&self, out: &mut Vec<Planned>) {
        match self.drawn {
            Drawn::Update { from, to, .. } => {
                out.extend([from, to].map(|key| Planned::write(ROWS, key, AMOUNT)));
            }
            Drawn::Report => out.push(Planned::write(LEDGER, self.ledger_row, AMOUNT)),
            Drawn::Scan(..) => {}
        }
    }

    fn read_only(&self) -> bool {
        matches!(self.drawn, Drawn::Scan(..))
    }

    fn kind(&self) -> usize {
        match self.drawn {
            Drawn::Scan(..) => 0,
            Drawn::Update { .. } => 1,
            Drawn::Report => 2,
        }
    }
}
