//! Histories in the formats of other checkers, so that small ones can be checked twice.
//!
//! - Elle (Kingsbury and Alvaro, "Elle: inferring isolation anomalies from experimental observations", VLDB 2020): EDN, one
//!   operation a line, each transaction with its invocation and its completion; as registers, where a read gives
//!   one version, or as lists, where it gives all versions up to that one, so that Elle knows the version order.
//! - dbcop (Biswas and Enea, OOPSLA 2019): JSON, sessions of transactions of reads and writes.
//!
//! Each version that was written is a number, from 1 up in the order of the history; what was there before is
//! `nil`, an empty list, or `null`. A recorder does not keep how a transaction's reads and writes alternated, and
//! needs not: its reads, which are never of its own writes, stand first. Ranges are not known to those checkers:
//! a scan becomes reads of all keys in it that the history writes.

use std::collections::BTreeMap;
use std::fmt::{self, Write as _};
use std::str::FromStr;
use txn::{History, TableId, Version};

/// Versions in all lists together beyond which a history is not small.
const MOST_LISTED: u64 = 10_000_000;

/// A format of histories.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// Elle's list-append.
    ElleAppend,
    /// Elle's rw-register.
    ElleRegister,
    /// dbcop's JSON.
    Dbcop,
}

impl Format {
    /// All of them.
    pub const ALL: [Format; 3] = [Format::ElleAppend, Format::ElleRegister, Format::Dbcop];

    /// Its name on the command line.
    pub const fn name(self) -> &'static str {
        match self {
            Format::ElleAppend => "elle-append",
            Format::ElleRegister => "elle-register",
            Format::Dbcop => "dbcop",
        }
    }
}

impl FromStr for Format {
    type Err = String;

    fn from_str(text: &str) -> Result<Format, String> {
        Format::ALL.into_iter().find(|format| format.name() == text).ok_or_else(|| {
            format!("unknown format {text:?}; allowed are elle-append, elle-register, dbcop")
        })
    }
}

/// A history that has no such form.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ExportError {
    /// The version order is not one: two writes follow one version, or one follows what nobody left.
    BrokenOrder {
        /// The table.
        table: TableId,
        /// The record.
        key: u64,
    },
    /// Lists of versions would become too long.
    TooLong,
}

impl fmt::Display for ExportError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ExportError::BrokenOrder { table, key } => write!(
                f,
                "table {} key {key}: the version order forks or is broken, and lists cannot say that",
                table.0
            ),
            ExportError::TooLong => {
                write!(
                    f,
                    "more than {MOST_LISTED} versions in lists: only small histories have that form"
                )
            }
        }
    }
}

impl std::error::Error for ExportError {}

type Record = (TableId, u64);

/// One access, by the numbers of versions: 0 for what was there before.
#[derive(Clone, Copy)]
enum Event {
    Read(Record, u64),
    Write(Record, u64),
}

/// The history as `format` has it.
pub fn export(history: &History, format: Format) -> Result<String, ExportError> {
    let numbers = Numbers::of(history);
    match format {
        Format::ElleAppend => elle(history, &numbers, Some(&numbers.orders(history)?)),
        Format::ElleRegister => elle(history, &numbers, None),
        Format::Dbcop => Ok(dbcop(history, &numbers)),
    }
}

/// The numbers of written versions, and of records.
struct Numbers {
    versions: BTreeMap<(Record, Version), u64>,
    records: BTreeMap<Record, u64>,
}

impl Numbers {
    fn of(history: &History) -> Numbers {
        let mut numbers = Numbers { versions: BTreeMap::new(), records: BTreeMap::new() };
        for worker in &history.workers {
            for w in &worker.writes {
                let next = numbers.versions.len() as u64 + 1;
                numbers.versions.entry(((w.table, w.key), w.version)).or_insert(next);
                numbers.number((w.table, w.key));
            }
            for r in &worker.reads {
                numbers.number((r.table, r.key));
            }
        }
        // A version that no committed transaction wrote gets a number as well: to see that nobody has written it
        // is the other checker's business.
        for worker in &history.workers {
            for r in worker.reads.iter().filter(|r| r.version != Version::INITIAL) {
                let next = numbers.versions.len() as u64 + 1;
                numbers.versions.entry(((r.table, r.key), r.version)).or_insert(next);
            }
        }
        numbers
    }

    fn number(&mut self, record: Record) {
        let next = self.records.len() as u64;
        self.records.entry(record).or_insert(next);
    }

    fn version(&self, record: Record, version: Version) -> u64 {
        self.versions.get(&(record, version)).copied().unwrap_or(0)
    }

    /// What transaction number `index` of `worker` did: reads of others, then writes.
    fn events(&self, history: &History, worker: usize, index: usize) -> Vec<Event> {
        let worker = &history.workers[worker];
        let id = worker.transactions[index].id;
        let mut events = Vec::new();
        for r in worker.reads_of(index).iter().filter(|r| r.version.writer() != id) {
            let record = (r.table, r.key);
            events.push(Event::Read(record, self.version(record, r.version)));
        }
        for scan in worker.scans_of(index) {
            let (first, last) = (scan.range.first(), scan.range.last());
            let listed = worker.reads_in(scan);
            for (&record, _) in self.records.range((scan.table, first)..=(scan.table, last)) {
                if !listed.iter().any(|r| (r.table, r.key) == record) {
                    events.push(Event::Read(record, 0));
                }
            }
        }
        for w in worker.writes_of(index) {
            let record = (w.table, w.key);
            events.push(Event::Write(record, self.version(record, w.version)));
        }
        events
    }

    /// Each record's versions in their order.
    fn orders(&self, history: &History) -> Result<BTreeMap<Record, Vec<u64>>, ExportError> {
        let mut next: BTreeMap<(Record, u64), u64> = BTreeMap::new();
        let mut written: BTreeMap<Record, usize> = BTreeMap::new();
        for w in history.workers.iter().flat_map(|worker| &worker.writes) {
            let record = (w.table, w.key);
            let (from, to) = (self.version(record, w.overwritten), self.version(record, w.version));
            if next.insert((record, from), to).is_some() {
                return Err(ExportError::BrokenOrder { table: w.table, key: w.key });
            }
            *written.entry(record).or_default() += 1;
        }
        let mut orders = BTreeMap::new();
        for (record, count) in written {
            let mut order = Vec::with_capacity(count);
            let mut at = 0;
            while let Some(&version) = next.get(&(record, at)).filter(|_| order.len() <= count) {
                order.push(version);
                at = version;
            }
            if order.len() != count {
                return Err(ExportError::BrokenOrder { table: record.0, key: record.1 });
            }
            orders.insert(record, order);
        }
        Ok(orders)
    }
}

/// Operations in the order of time, where times are equal invocations first: those transactions overlap.
fn elle(
    history: &History,
    numbers: &Numbers,
    orders: Option<&BTreeMap<Record, Vec<u64>>>,
) -> Result<String, ExportError> {
    let mut text = String::new();
    // For each worker its next transaction, and whether that has been invoked.
    let mut next = vec![(0usize, false); history.workers.len()];
    let mut listed = 0u64;
    for index in 0.. {
        let heads = next.iter().enumerate().filter_map(|(worker, &(at, invoked))| {
            let t = history.workers[worker].transactions.get(at)?;
            Some((if invoked { t.end } else { t.begin }, invoked, worker))
        });
        let Some((time, completes, worker)) = heads.min() else { break };
        let at = next[worker].0;
        next[worker] = if completes { (at + 1, false) } else { (at, true) };
        let kind = if completes { "ok" } else { "invoke" };
        let _ = write!(
            text,
            "{{:index {index}, :time {time}, :type :{kind}, :process {worker}, :f :txn, :value ["
        );
        for (number, event) in numbers.events(history, worker, at).into_iter().enumerate() {
            let space = if number == 0 { "" } else { " " };
            let (Event::Read(record, version) | Event::Write(record, version)) = event;
            let (table, key) = (record.0.0, record.1);
            let _ = match (event, orders) {
                (Event::Write(..), None) => {
                    write!(text, "{space}[:w \"{table}/{key}\" {version}]")
                }
                (Event::Write(..), Some(_)) => {
                    write!(text, "{space}[:append \"{table}/{key}\" {version}]")
                }
                (Event::Read(..), _) if !completes => {
                    write!(text, "{space}[:r \"{table}/{key}\" nil]")
                }
                (Event::Read(..), None) if version == 0 => {
                    write!(text, "{space}[:r \"{table}/{key}\" nil]")
                }
                (Event::Read(..), None) => write!(text, "{space}[:r \"{table}/{key}\" {version}]"),
                (Event::Read(..), Some(orders)) => {
                    let order = orders.get(&record).map_or(&[][..], Vec::as_slice);
                    let seen = match order.iter().position(|&other| other == version) {
                        Some(last) => order[..=last].to_vec(),
                        None if version == 0 => Vec::new(),
                        None => vec![version],
                    };
                    listed += seen.len() as u64;
                    let seen: Vec<String> = seen.iter().map(u64::to_string).collect();
                    write!(text, "{space}[:r \"{table}/{key}\" [{}]]", seen.join(" "))
                }
            };
            if listed > MOST_LISTED {
                return Err(ExportError::TooLong);
            }
        }
        text.push_str("]}\n");
    }
    Ok(text)
}

fn dbcop(history: &History, numbers: &Numbers) -> String {
    let event = |event: Event| match event {
        Event::Read(record, 0) => {
            format!("{{\"Read\":{{\"variable\":{},\"version\":null}}}}", numbers.records[&record])
        }
        Event::Read(record, version) => {
            let variable = numbers.records[&record];
            format!("{{\"Read\":{{\"variable\":{variable},\"version\":{version}}}}}")
        }
        Event::Write(record, version) => {
            let variable = numbers.records[&record];
            format!("{{\"Write\":{{\"variable\":{variable},\"version\":{version}}}}}")
        }
    };
    let session = |worker: usize| {
        let transactions = (0..history.workers[worker].transactions.len()).map(|index| {
            let events = numbers.events(history, worker, index).into_iter();
            let events: Vec<String> = events.map(event).collect();
            format!("{{\"events\":[{}],\"committed\":true}}", events.join(","))
        });
        format!("[{}]", transactions.collect::<Vec<_>>().join(",\n"))
    };
    let sessions: Vec<String> = (0..history.workers.len()).map(session).collect();
    format!("[{}]\n", sessions.join(",\n"))
}
