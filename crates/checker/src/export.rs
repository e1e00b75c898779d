//! Histories in the formats of other checkers, so that small ones can be checked twice.
//!
//! - Elle (Kingsbury and Alvaro, "Elle: inferring isolation anomalies from experimental observations", VLDB 2020): EDN, one
//!   operation a line; as registers, where a read gives one version, or as lists, where it gives all versions up to that
//!   one, so that Elle knows the version order.
//! - dbcop (Biswas and Enea, "On the complexity of checking transactional consistency", OOPSLA 2019): JSON, sessions of
//!   transactions of reads and writes, as `dbcop verify` takes it.
//!
//! Each version that was written is a number, from 1 up in the order of the history; what was there before is
//! `nil`, an empty list, or `null`. A recorder does not keep how a transaction's reads and writes alternated, and
//! needs not: its reads, which are never of its own writes, stand first. Ranges are not known to those checkers:
//! a scan becomes reads of all keys in it that the history writes.
//!
//! **Elle's format**, held against its documentation. Its README (*Observed Histories*) asks for a list of operations in
//! real-time order, each a map with `:type` (here `:invoke` and `:ok`), `:process` and `:value`, where a process invokes
//! and completes in turn; Jepsen's histories, in which it keeps them, want `:index`, counted from 0 without a gap,
//! `:time` and `:f` as well. By the first lines of `elle.rw-register` a transaction is a vector of `[:r k v]` and `[:w k v]`,
//! writes are unique, and a key begins as `nil`; by those of `elle.list-append`, and by the example of
//! `jepsen.tests.cycle.append`, of `[:r k [v ...]]` and `[:append k v]`, where an invocation does not know yet what it reads:
//! `[:r k nil]`. Appends are unique, and a key begins as the empty list. The command `elle-cli` (ligurio/elle-cli) reads
//! such a file as it is: `--model list-append` or `--model rw-register`.
//!
//! **dbcop's format**, held against `docs/history-format.md` of its repository and against what its program parses
//! (`crates/testgen`, `History`; `crates/core`, `history/raw`): an object with `params`, `info`, `start`, `end` around the array
//! of sessions, `data`. A write's version is unique; `null` is what nobody has written. A transaction reads a
//! variable from one transaction only, and of its writes to a variable the last counts: so repeated reads of one version are
//! one read, and writes of one variable are the last of them. Two reads of two versions stay, and dbcop refuses
//! them. Sessions are ordered: what it calls serializable keeps each worker's own order, which is more than
//! serializability and less than strictness.

use std::collections::BTreeMap;
use std::fmt::{self, Write as _};
use std::str::FromStr;
use txn::{History, TableId, Version};

/// Versions in all lists together beyond which a history is not small.
const MOST_LISTED: u64 = 10_000_000;

/// The date of a history that has none.
const NO_DATE: &str = "1970-01-01T00:00:00Z";

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
    let event = |event: &Event| match *event {
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
    let mut most_events = 0;
    let mut session = |worker: usize| {
        let transactions = (0..history.workers[worker].transactions.len()).map(|index| {
            let events = merged(numbers.events(history, worker, index));
            most_events = most_events.max(events.len());
            let events: Vec<String> = events.iter().map(event).collect();
            format!("{{\"events\":[{}],\"committed\":true}}", events.join(","))
        });
        format!("[{}]", transactions.collect::<Vec<_>>().join(",\n"))
    };
    let sessions: Vec<String> = (0..history.workers.len()).map(&mut session).collect();
    let most = history.workers.iter().map(|worker| worker.transactions.len()).max().unwrap_or(0);
    // It wants to know when a history was recorded, and makes nothing of it: ticks of a machine are no date.
    format!(
        "{{\"params\":{{\"id\":0,\"n_node\":{},\"n_variable\":{},\"n_transaction\":{most},\
         \"n_event\":{most_events}}},\n\"info\":\"kilocore\",\"start\":\"{NO_DATE}\",\"end\":\"{NO_DATE}\",\n\
         \"data\":[{}]}}\n",
        history.workers.len(),
        numbers.records.len(),
        sessions.join(",\n")
    )
}

/// The same in which each read is there once, and of the writes of a record the last.
fn merged(events: Vec<Event>) -> Vec<Event> {
    let mut kept: Vec<Event> = Vec::with_capacity(events.len());
    for event in events {
        let same = kept.iter().position(|other| match (*other, event) {
            (Event::Read(record, version), Event::Read(again, seen)) => {
                (record, version) == (again, seen)
            }
            (Event::Write(record, _), Event::Write(again, _)) => record == again,
            _ => false,
        });
        match same {
            Some(at) => kept[at] = event,
            None => kept.push(event),
        }
    }
    kept
}
