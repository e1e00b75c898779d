//! Writes histories in the formats of other checkers, so that small histories can be checked twice.
//!
//! - Elle (Kingsbury and Alvaro, "Elle: inferring isolation anomalies from experimental observations", VLDB
//!   2020): EDN, one operation per line. Records are either registers, where a read returns one version, or
//!   lists, where a read returns all versions up to that version. Lists tell Elle the version order.
//! - dbcop (Biswas and Enea, "On the complexity of checking transactional consistency", OOPSLA 2019): JSON,
//!   sessions of transactions of reads and writes, as accepted by `dbcop verify`.
//!
//! Each written version becomes a number, counted from 1 in the order of the history. The initial version is
//! `nil`, an empty list, or `null`. A recorder does not keep the order between a transaction's reads and its
//! writes. That order isn't needed: the recorded reads are never reads of the transaction's own writes, so
//! they come first. Those checkers do not know ranges: a scan becomes reads of all keys in its range that the
//! history writes.
//!
//! **Elle's format** was checked against its documentation. Its README (*Observed Histories*) asks for a list
//! of operations in real-time order. Each operation is a map with `:type` (here `:invoke` and `:ok`),
//! `:process` and `:value`, and each process invokes and completes in turn. Jepsen's histories, which contain
//! these operations, also need `:index` (counted from 0 without a gap), `:time` and `:f`. According to the
//! first lines of `elle.rw-register`, a transaction is a vector of `[:r k v]` and `[:w k v]`, writes are
//! unique, and a key begins as `nil`. According to the first lines of `elle.list-append` and the example of
//! `jepsen.tests.cycle.append`, a transaction is a vector of `[:r k [v ...]]` and `[:append k v]`. An
//! invocation does not know yet what it reads: `[:r k nil]`. Appends are unique, and a key begins as the
//! empty list. The command `elle-cli` (ligurio/elle-cli) reads such a file without changes: `--model
//! list-append` or `--model rw-register`.
//!
//! **dbcop's format** was checked against `docs/history-format.md` of its repository and against what its
//! program parses (`crates/testgen`, `History`; `crates/core`, `history/raw`). It is an object with `params`,
//! `info`, `start`, `end` and the array of sessions, `data`. A write's version is unique. `null` is the
//! version that was never written. A transaction reads a variable from only one transaction, and only its
//! last write to a variable counts. Therefore repeated reads of one version become one read, and several
//! writes of one variable become the last of them. Two reads of two versions stay, and dbcop rejects them.
//! Sessions are ordered: the level that dbcop calls serializable keeps each worker's own order. That is
//! stronger than serializability and weaker than strictness.

use std::collections::BTreeMap;
use std::fmt::{self, Write as _};
use std::str::FromStr;
use txn::{History, TableId, Version};

/// Total number of versions in all lists up to which a history counts as small.
const MOST_LISTED: u64 = 10_000_000;

/// Date of a history that has none.
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
    /// All formats.
    pub const ALL: [Format; 3] = [Format::ElleAppend, Format::ElleRegister, Format::Dbcop];

    /// Returns the format's name on the command line.
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

/// Reason why a history cannot be written in a format.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ExportError {
    /// The version order is broken: two writes follow one version, or a write follows a version that no
    /// transaction left.
    BrokenOrder {
        /// Table of the record.
        table: TableId,
        /// Key of the record.
        key: u64,
    },
    /// The lists of versions would become too long.
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

/// One access, by version number. The initial version is 0.
#[derive(Clone, Copy)]
enum Event {
    Read(Record, u64),
    Write(Record, u64),
}

/// Returns the history in `format`.
pub fn export(history: &History, format: Format) -> Result<String, ExportError> {
    let numbers = Numbers::of(history);
    match format {
        Format::ElleAppend => elle(history, &numbers, Some(&numbers.orders(history)?)),
        Format::ElleRegister => elle(history, &numbers, None),
        Format::Dbcop => Ok(dbcop(history, &numbers)),
    }
}

/// Numbers of the written versions, and of the records.
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
        // A version that no committed transaction wrote gets a number as well. The other checker has to
        // detect that it was never written.
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

    /// Returns the accesses of transaction number `index` of `worker`: reads of other transactions' versions,
    /// then writes.
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

    /// Returns each record's versions in version order.
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

/// Writes operations in time order. At equal times invocations come first, because those transactions
/// overlap.
fn elle(
    history: &History,
    numbers: &Numbers,
    orders: Option<&BTreeMap<Record, Vec<u64>>>,
) -> Result<String, ExportError> {
    let mut text = String::new();
    // Next transaction of each worker, and whether it has been invoked.
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
    // dbcop requires the time of the recording and ignores it. A machine's ticks are no date, so `NO_DATE` is
    // written.
    format!(
        "{{\"params\":{{\"id\":0,\"n_node\":{},\"n_variable\":{},\"n_transaction\":{most},\
         \"n_event\":{most_events}}},\n\"info\":\"kilocore\",\"start\":\"{NO_DATE}\",\"end\":\"{NO_DATE}\",\n\
         \"data\":[{}]}}\n",
        history.workers.len(),
        numbers.records.len(),
        sessions.join(",\n")
    )
}

/// Returns the events with repeated reads removed. Of several writes of a record only the last is kept.
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
