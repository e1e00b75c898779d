//! Draws and runs one worker's stream of the register's transactions.

use super::{
    ACCESS_BYTES, ACCESS_INFO, ACTIVE, BIT, DATA_A, FACILITIES, FORWARDED, FORWARDING_BYTES,
    FORWARDINGS, HOURS, LEDGER, LEDGER_ROWS, LOCATION, MOVED, NUMBERS, SUBSCRIBER_BYTES,
    SUBSCRIBERS, TIMES, TYPES, TatpOptions, population,
};
use crate::cell::{add, cell};
use crate::stream::Stream;
use std::ops::ControlFlow;
use txn::{Abort, Access, Client, ColumnSet, Direction, Intent, KeyRange, Planned};

/// Names of the kinds of procedures, in the order of [`Client::kind`].
pub const KIND_NAMES: [&str; 7] = [
    "get_subscriber_data",
    "get_new_destination",
    "get_access_data",
    "update_subscriber_data",
    "update_location",
    "insert_call_forwarding",
    "delete_call_forwarding",
];

/// All inputs that can be drawn for one transaction. Each transaction uses a part of them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Inputs {
    pub subscriber: u64,
    /// Type of the access information or of the facility, from 0.
    kind: u64,
    /// Starting time, in units of eight hours.
    start: u64,
    /// End of the hour for which a destination is requested, 1 to 24.
    hour: u8,
    /// Duration of an inserted forwarding in hours, 1 to 8.
    lasts: u8,
    /// Random bits for a bit, a byte, a location or a number.
    pub value: u64,
}

/// One worker's stream of procedures.
#[derive(Clone, Debug)]
pub struct TatpClient {
    subscribers: u64,
    /// The description's A. `None` for uniform draws.
    preferred: Option<u64>,
    shares: [f64; 7],
    partitions: u64,
    audit: bool,
    stream: Stream,
    ledger_row: u64,
    procedure: usize,
    pub(super) inputs: Inputs,
    found: [u64; 7],
    /// Set if the running attempt has found its rows.
    finding: bool,
    checksum: u64,
}

impl TatpClient {
    pub(super) fn of_worker(options: &TatpOptions, worker: usize, seed: u64) -> TatpClient {
        let preferred = match options.subscribers {
            0..=1_000_000 => 65_535,
            1_000_001..=10_000_000 => 1_048_575,
            _ => 2_097_151,
        };
        TatpClient {
            subscribers: options.subscribers,
            preferred: (!options.uniform).then_some(preferred),
            shares: options.shares(),
            partitions: options.partitions,
            audit: options.audit,
            stream: Stream::of_worker(seed, worker),
            ledger_row: worker as u64 % LEDGER_ROWS,
            procedure: 0,
            inputs: Inputs::default(),
            found: [0; 7],
            finding: false,
            checksum: 0,
        }
    }

    /// Returns the number of procedures of each kind that have found, inserted or deleted their rows. The
    /// drawn procedure does not count yet.
    pub fn found(&self) -> [u64; 7] {
        self.found
    }

    /// Returns a digest of everything read so far, including aborted attempts. It exists so that the compiler
    /// keeps the reads.
    pub fn checksum(&self) -> u64 {
        self.checksum
    }

    pub(super) fn fold(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.checksum = self.checksum.rotate_left(5) ^ u64::from(*byte);
        }
    }

    pub(super) fn facility(&self) -> u64 {
        self.inputs.subscriber * TYPES + self.inputs.kind
    }

    pub(super) fn forwarding(&self) -> u64 {
        self.facility() * TIMES + self.inputs.start
    }

    /// Returns the subscriber with the drawn number.
    fn by_number<A: Access + ?Sized>(&self, access: &mut A) -> Result<u64, Abort> {
        let number = self.inputs.subscriber + 1;
        let found = cell(access, NUMBERS, number, ColumnSet::one(0), Intent::Read)? as u64;
        // The result is used as a key. The assertion ensures that a wrong index is not mistaken for a missing
        // row.
        assert_eq!(found, self.inputs.subscriber, "number {number} is another subscriber's");
        Ok(found)
    }

    fn note<A: Access + ?Sized>(
        &self,
        access: &mut A,
        what: ColumnSet,
        by: i64,
    ) -> Result<(), Abort> {
        if self.audit {
            add(access, LEDGER, self.ledger_row, what, by, Intent::Update)?;
        }
        Ok(())
    }

    fn get_subscriber_data<A: Access + ?Sized>(&mut self, access: &mut A) -> Result<bool, Abort> {
        let mut row = [0; SUBSCRIBER_BYTES];
        let found = access.read(
            SUBSCRIBERS,
            self.inputs.subscriber.into(),
            ColumnSet::first(7),
            &mut row,
        )?;
        assert!(found, "a subscriber was loaded and never deleted, yet is not found");
        self.fold(&row);
        Ok(true)
    }

    fn get_new_destination<A: Access + ?Sized>(&mut self, access: &mut A) -> Result<bool, Abort> {
        let facility = self.facility();
        let mut active = [0];
        if !access.read(FACILITIES, facility.into(), ACTIVE, &mut active)? || active[0] == 0 {
            return Ok(false);
        }
        let number = self.find_forwarding(access)?;
        self.fold(&number.unwrap_or_default());
        Ok(number.is_some())
    }

    /// Returns the destination of the drawn hour, if there is one.
    pub(super) fn find_forwarding<A: Access + ?Sized>(
        &self,
        access: &mut A,
    ) -> Result<Option<[u8; 15]>, Abort> {
        let first = self.facility() * TIMES;
        let range = KeyRange::new(first, self.forwarding()).expect("time 0 is first");
        let (hour, mut number) = (self.inputs.hour, None);
        access.scan(
            FORWARDINGS,
            range.into(),
            Direction::Forward,
            ColumnSet::first(2),
            &mut |_, row| {
                if hour < row[0] {
                    number = <[u8; 15]>::try_from(&row[1..]).ok();
                }
                ControlFlow::Continue(())
            },
        )?;
        Ok(number)
    }

    fn get_access_data<A: Access + ?Sized>(&mut self, access: &mut A) -> Result<bool, Abort> {
        let mut row = [0; ACCESS_BYTES];
        let key = self.inputs.subscriber * TYPES + self.inputs.kind;
        let found = access.read(ACCESS_INFO, key.into(), ColumnSet::first(3), &mut row)?;
        self.fold(&row);
        Ok(found)
    }

    fn update_subscriber_data<A: Access + ?Sized>(&self, access: &mut A) -> Result<bool, Abort> {
        let bit = [self.inputs.value as u8 & 1];
        access.update(SUBSCRIBERS, self.inputs.subscriber.into(), BIT, &bit)?;
        access.update(FACILITIES, self.facility().into(), DATA_A, &[(self.inputs.value >> 8) as u8])
    }

    fn update_location<A: Access + ?Sized>(&self, access: &mut A) -> Result<bool, Abort> {
        let subscriber = self.by_number(access)?;
        let location = self.inputs.value >> 32;
        if self.audit {
            let before = cell(access, SUBSCRIBERS, subscriber, LOCATION, Intent::Update)?;
            self.note(access, MOVED, (location as i64).wrapping_sub(before))?;
        }
        access.update(SUBSCRIBERS, subscriber.into(), LOCATION, &location.to_le_bytes())
    }

    fn insert_call_forwarding<A: Access + ?Sized>(&self, access: &mut A) -> Result<bool, Abort> {
        let subscriber = self.by_number(access)?;
        let range = KeyRange::new(subscriber * TYPES, subscriber * TYPES + TYPES - 1);
        let range = range.expect("a subscriber has types");
        let (facility, mut exists) = (self.facility(), false);
        access.scan(
            FACILITIES,
            range.into(),
            Direction::Forward,
            ColumnSet::NONE,
            &mut |key, _| {
                exists |= key.number() == facility;
                ControlFlow::Continue(())
            },
        )?;
        if !exists {
            return Ok(false);
        }
        let mut row = [0; FORWARDING_BYTES];
        row[0] = (self.inputs.start * HOURS) as u8 + self.inputs.lasts;
        row[1..].copy_from_slice(&population::digits(self.inputs.value));
        let inserted = access.insert(FORWARDINGS, self.forwarding().into(), &row)?;
        if inserted {
            self.note(access, FORWARDED, 1)?;
        }
        Ok(inserted)
    }

    fn delete_call_forwarding<A: Access + ?Sized>(&self, access: &mut A) -> Result<bool, Abort> {
        self.by_number(access)?;
        let deleted = access.delete(FORWARDINGS, self.forwarding().into())?;
        if deleted {
            self.note(access, FORWARDED, -1)?;
        }
        Ok(deleted)
    }
}

impl Client for TatpClient {
    /// Draws the next procedure. Call it only after the previous procedure has committed or was given up, as
    /// a worker does.
    fn next(&mut self) {
        self.found[self.procedure] += u64::from(std::mem::take(&mut self.finding));
        let stream = &mut self.stream;
        self.procedure = stream.pick(&self.shares);
        let even = stream.below(self.subscribers) + 1;
        let number = match self.preferred {
            Some(preferred) => (stream.below(preferred + 1) | even) % self.subscribers + 1,
            None => even,
        };
        let (bits, value) = (stream.bits(), stream.bits());
        self.inputs = Inputs {
            subscriber: number - 1,
            kind: bits % TYPES,
            start: (bits >> 8) % TIMES,
            hour: ((bits >> 16) % 24) as u8 + 1,
            lasts: ((bits >> 32) % HOURS) as u8 + 1,
            value,
        };
    }

    fn run<A: Access + ?Sized>(&mut self, access: &mut A) -> Result<(), Abort> {
        self.finding = false;
        self.finding = match self.procedure {
            0 => self.get_subscriber_data(access),
            1 if access.splits() => self.get_new_destination_in_actions(access),
            1 => self.get_new_destination(access),
            2 => self.get_access_data(access),
            3 if access.splits() => self.update_subscriber_data_in_actions(access),
            3 => self.update_subscriber_data(access),
            4 => self.update_location(access),
            5 => self.insert_call_forwarding(access),
            _ => self.delete_call_forwarding(access),
        }?;
        Ok(())
    }

    fn partitions(&self, out: &mut Vec<u64>) {
        out.push(self.inputs.subscriber % self.partitions);
        // The ledger is in the first partition.
        if self.audit && self.procedure >= 4 {
            out.push(0);
        }
    }

    fn plan(&self, out: &mut Vec<Planned>) {
        let Inputs { subscriber, kind, .. } = self.inputs;
        let (facility, every) = (self.facility(), ColumnSet::EVERY);
        match self.procedure {
            0 => out.push(Planned::read(SUBSCRIBERS, subscriber, every)),
            1 => out.push(Planned::read(FACILITIES, facility, ACTIVE)),
            2 => out.push(Planned::read(ACCESS_INFO, subscriber * TYPES + kind, every)),
            3 => out.extend([
                Planned::write(SUBSCRIBERS, subscriber, BIT),
                Planned::write(FACILITIES, facility, DATA_A),
            ]),
            procedure => out.extend([
                Planned::read(NUMBERS, subscriber + 1, every),
                match procedure {
                    4 => Planned::write(SUBSCRIBERS, subscriber, LOCATION),
                    _ => Planned::whole(FORWARDINGS, self.forwarding()),
                },
            ]),
        }
        if self.audit && self.procedure >= 4 {
            let what = if self.procedure == 4 { MOVED } else { FORWARDED };
            out.push(Planned::write(LEDGER, self.ledger_row, what));
        }
    }

    fn read_only(&self) -> bool {
        self.procedure < 3
    }

    fn kind(&self) -> usize {
        self.procedure
    }
}
