//! Tests exported histories by reading them back. EDN is read by a small reader below, JSON by serde_json.

use crate::script::{Script, by};
use kilocore_checker::export::{ExportError, Format, export};
use std::collections::BTreeMap;
use txn::{TxnId, Version, WriteKind};

const INITIAL: Version = Version::INITIAL;
const X: u64 = 1;
const Y: u64 = 2;

/// The subset of EDN that operations use.
#[derive(Clone, Debug, PartialEq)]
enum Edn {
    Nil,
    Number(u64),
    Text(String),
    Keyword(String),
    Vector(Vec<Edn>),
    Map(BTreeMap<String, Edn>),
}

struct Reader<'t>(std::iter::Peekable<std::str::Chars<'t>>);

impl Reader<'_> {
    fn skip(&mut self) {
        while self.0.next_if(|c| c.is_whitespace() || *c == ',').is_some() {}
    }

    fn word(&mut self) -> String {
        let mut word = String::new();
        while let Some(c) = self.0.next_if(|c| c.is_alphanumeric() || "-_:".contains(*c)) {
            word.push(c);
        }
        word
    }

    fn value(&mut self) -> Edn {
        self.skip();
        match *self.0.peek().expect("a value") {
            '[' => Edn::Vector(self.items(']')),
            '{' => {
                let items = self.items('}');
                let pairs = items.chunks(2).map(|pair| match &pair[0] {
                    Edn::Keyword(name) => (name.clone(), pair[1].clone()),
                    other => panic!("{other:?} as a key"),
                });
                Edn::Map(pairs.collect())
            }
            '"' => {
                self.0.next();
                let mut text = String::new();
                while let Some(c) = self.0.next_if(|c| *c != '"') {
                    text.push(c);
                }
                assert_eq!(self.0.next(), Some('"'));
                Edn::Text(text)
            }
            _ => {
                let word = self.word();
                match word.strip_prefix(':') {
                    Some(name) => Edn::Keyword(name.to_owned()),
                    None if word == "nil" => Edn::Nil,
                    None => Edn::Number(word.parse().expect("a number")),
                }
            }
        }
    }

    fn items(&mut self, end: char) -> Vec<Edn> {
        self.0.next();
        let mut items = Vec::new();
        loop {
            self.skip();
            if self.0.next_if_eq(&end).is_some() {
                return items;
            }
            items.push(self.value());
        }
    }
}

/// Returns the operations: process, whether completed, time, and the transaction.
fn operations(text: &str) -> Vec<(u64, bool, u64, Vec<Edn>)> {
    let operation = |(index, line): (usize, &str)| {
        let Edn::Map(map) = Reader(line.chars().peekable()).value() else { panic!("{line}") };
        assert_eq!(map["index"], Edn::Number(index as u64));
        assert_eq!(map["f"], Edn::Keyword("txn".into()));
        let completed = map["type"] == Edn::Keyword("ok".into());
        assert!(completed || map["type"] == Edn::Keyword("invoke".into()));
        let (Edn::Number(process), Edn::Number(time), Edn::Vector(value)) =
            (&map["process"], &map["time"], &map["value"])
        else {
            panic!("{line}")
        };
        (*process, completed, *time, value.clone())
    };
    text.lines().enumerate().map(operation).collect()
}

fn access(f: &str, key: &str, value: Edn) -> Edn {
    Edn::Vector(vec![Edn::Keyword(f.into()), Edn::Text(key.into()), value])
}

fn numbers(numbers: &[u64]) -> Edn {
    Edn::Vector(numbers.iter().map(|&n| Edn::Number(n)).collect())
}

/// Two transactions write x in turn. A third reads the first one's version of x, and reads y, which was never
/// written.
fn sample() -> Script {
    let mut script = Script::default();
    let first = TxnId::new(0, 1);
    script.txn(0, 1, 10, 20).read(X, INITIAL).write(X, INITIAL);
    script.txn(1, 1, 20, 30).read(X, by(first)).write(X, by(first));
    script.txn(0, 2, 20, 40).read(X, by(first)).read_absent(Y, INITIAL);
    script
}

#[test]
fn registers_read_back() {
    let text = export(&sample().history(), Format::ElleRegister).unwrap();
    let operations = operations(&text);
    let order: Vec<_> =
        operations.iter().map(|(p, completed, time, _)| (*p, *completed, *time)).collect();
    // The first transaction ends at 20 and the second begins at 20, so they overlap. A process does one
    // transaction at a time.
    let expected = [
        (0, false, 10),
        (1, false, 20),
        (0, true, 20),
        (0, false, 20),
        (1, true, 30),
        (0, true, 40),
    ];
    assert_eq!(order, expected);
    let x = "0/1";
    assert_eq!(operations[0].3, [access("r", x, Edn::Nil), access("w", x, Edn::Number(1))]);
    assert_eq!(operations[4].3, [access("r", x, Edn::Number(1)), access("w", x, Edn::Number(2))]);
    assert_eq!(operations[5].3, [access("r", x, Edn::Number(1)), access("r", "0/2", Edn::Nil)]);
    // An invocation does not contain the values that it will read.
    assert_eq!(operations[3].3, [access("r", x, Edn::Nil), access("r", "0/2", Edn::Nil)]);
}

#[test]
fn lists_read_back() {
    let text = export(&sample().history(), Format::ElleAppend).unwrap();
    let operations = operations(&text);
    let x = "0/1";
    assert_eq!(
        operations[2].3,
        [access("r", x, numbers(&[])), access("append", x, Edn::Number(1))]
    );
    assert_eq!(
        operations[4].3,
        [access("r", x, numbers(&[1])), access("append", x, Edn::Number(2))]
    );
    assert_eq!(operations[5].3, [access("r", x, numbers(&[1])), access("r", "0/2", numbers(&[]))]);
}

/// A history as dbcop's program reads it: all fields are required, and no others are known.
#[derive(serde::Deserialize)]
#[serde(deny_unknown_fields)]
struct DbcopHistory {
    params: DbcopParams,
    info: String,
    start: String,
    end: String,
    data: Vec<Vec<DbcopTransaction>>,
}

#[derive(Debug, PartialEq, serde::Deserialize)]
#[serde(deny_unknown_fields)]
struct DbcopParams {
    id: u64,
    n_node: u64,
    n_variable: u64,
    n_transaction: u64,
    n_event: u64,
}

#[derive(Debug, PartialEq, serde::Deserialize)]
#[serde(deny_unknown_fields)]
struct DbcopTransaction {
    events: Vec<DbcopEvent>,
    committed: bool,
}

#[derive(Debug, PartialEq, serde::Deserialize)]
enum DbcopEvent {
    Read { variable: u64, version: Option<u64> },
    Write { variable: u64, version: u64 },
}

fn committed(events: Vec<DbcopEvent>) -> DbcopTransaction {
    DbcopTransaction { events, committed: true }
}

#[test]
fn sessions_read_back_as_a_file_of_dbcop() {
    use DbcopEvent::{Read, Write};
    let text = export(&sample().history(), Format::Dbcop).unwrap();
    let history: DbcopHistory = serde_json::from_str(&text).unwrap();
    let sizes = DbcopParams { id: 0, n_node: 2, n_variable: 2, n_transaction: 2, n_event: 2 };
    assert_eq!(history.params, sizes);
    assert_eq!((history.info.as_str(), history.start), ("kilocore", history.end));
    let first = vec![
        committed(vec![Read { variable: 0, version: None }, Write { variable: 0, version: 1 }]),
        committed(vec![
            Read { variable: 0, version: Some(1) },
            Read { variable: 1, version: None },
        ]),
    ];
    let second = vec![committed(vec![
        Read { variable: 0, version: Some(1) },
        Write { variable: 0, version: 2 },
    ])];
    assert_eq!(history.data, [first, second]);
}

#[test]
fn dbcop_is_told_of_each_access_once() {
    use DbcopEvent::{Read, Write};
    let mut script = Script::default();
    let first = TxnId::new(0, 1);
    script.txn(0, 1, 10, 20).write(X, INITIAL);
    // A version that is read twice is one read. Reads of two different versions stay two reads, which dbcop
    // rejects itself.
    let again = script.txn(1, 1, 10, 30).read(X, INITIAL).read(X, INITIAL).read(X, by(first));
    again.scan(1, 9, &[(X, INITIAL, true)]);
    let text = export(&script.history(), Format::Dbcop).unwrap();
    let history: DbcopHistory = serde_json::from_str(&text).unwrap();
    let reads = vec![Read { variable: 0, version: None }, Read { variable: 0, version: Some(1) }];
    assert_eq!(history.data[1], [committed(reads)]);
    assert_eq!(history.data[0], [committed(vec![Write { variable: 0, version: 1 }])]);
    assert_eq!(history.params.n_event, 2);
}

#[test]
fn of_several_writes_dbcop_is_told_of_the_last() {
    let mut script = Script::default();
    let id = TxnId::new(0, 1);
    let twice = script.txn(0, 1, 10, 20).write(X, INITIAL);
    twice.write_nth(X, 2, Version::new(id, 1), WriteKind::Update);
    let text = export(&script.history(), Format::Dbcop).unwrap();
    let history: DbcopHistory = serde_json::from_str(&text).unwrap();
    let last = DbcopEvent::Write { variable: 0, version: 2 };
    assert_eq!(history.data[0], [committed(vec![last])]);
}

#[test]
fn a_scan_reads_what_it_does_not_list() {
    let mut script = Script::default();
    script.txn(0, 1, 10, 20).scan(1, 9, &[(X, INITIAL, true)]);
    script.txn(1, 1, 10, 20).insert(7, INITIAL).insert(12, INITIAL);
    let text = export(&script.history(), Format::ElleRegister).unwrap();
    let operations = operations(&text);
    let scan = operations.iter().find(|(process, completed, ..)| *process == 0 && *completed);
    let read = |key| access("r", key, Edn::Nil);
    assert_eq!(scan.expect("it completed").3, [read("0/1"), read("0/7")]);
}

#[test]
fn lists_cannot_fork_and_registers_can() {
    let mut script = Script::default();
    script.txn(0, 1, 10, 20).write(X, INITIAL);
    script.txn(1, 1, 10, 20).write(X, INITIAL);
    let history = script.history();
    let error = export(&history, Format::ElleAppend).unwrap_err();
    assert!(matches!(error, ExportError::BrokenOrder { key: X, .. }), "{error}");
    assert!(export(&history, Format::ElleRegister).is_ok());
}

#[test]
fn formats_are_called_by_their_names() {
    for format in Format::ALL {
        assert_eq!(format.name().parse(), Ok(format));
    }
    assert!("edn".parse::<Format>().unwrap_err().contains("elle-append, elle-register, dbcop"));
}
