//! How a database is opened.

use crate::Error;
use machine::available_memory;
use protocols::{Isolation, Knob, ProtocolOptions, TimestampAllocation, registry};
use std::time::Duration;

/// The most transactions at a time: a session's number has 12 bits in a timestamp.
const MAX_SESSIONS: usize = 4000;

/// How a database is opened: plain values, each with a default.
///
/// ```
/// use kilocore::{Database, Options};
/// let options = Options { protocol: "TICTOC".into(), ..Options::default() };
/// let db = Database::open(options)?;
/// # Ok::<(), kilocore::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Options {
    /// The concurrency-control protocol, as [`Database::protocols`](crate::Database::protocols) spells it.
    /// `"SILO"` by default; all are serializable, but `"NO_CC"`, which checks nothing, and `"SNAPSHOT"`, which
    /// gives snapshot isolation.
    pub protocol: String,
    /// The level of isolation: `"serializable"`, `"snapshot"` or `"read-committed"`, if the protocol can give it.
    /// None by default: the protocol's own, which is the strongest that it can give.
    pub isolation: Option<String>,
    /// Where protocols that need timestamps get them: `"mutex"`, `"atomic"` (default), `"batchN"` (N at a
    /// time), `"clock"`, or `"hardware"` (atomic where the machine has no such counter).
    pub timestamps: String,
    /// Further options of the protocol, by name and value, as `kilocore list` shows them: `("lock-timeout",
    /// "1ms")`. None by default. A name that the protocol does not know is refused.
    pub protocol_options: Vec<(String, String)>,
    /// Transactions at a time, 1 to 4000; 64 by default. Any number of threads may run transactions: when
    /// that many are running, further ones wait their turn.
    pub max_sessions: usize,
    /// Bytes that tables, indexes and locks may take. By default what the system has available when the
    /// database is opened. Beyond it, transactions fail with [`Error::OutOfMemory`].
    pub memory_limit_bytes: Option<u64>,
    /// Ask the system for huge pages, which make random accesses to large tables faster. Refused silently
    /// where there are none. True by default.
    pub huge_pages: bool,
    /// How often the epoch moves on: what has been deleted is used again two epochs later, and SILO takes
    /// the high part of its commit order from it. 40 ms by default.
    pub epoch_interval: Duration,
    /// Retries after which a transaction gives up with [`Error::TooManyRetries`]. None by default: it goes
    /// on until it commits.
    pub retry_limit: Option<u32>,
    /// The longest that one run of a closure may keep its transaction open. Beyond it each further access, and the
    /// commit, fail with [`Error::TransactionTooLong`], so that what it has locked comes free. None by default: no
    /// limit. A closure that neither accesses anything nor returns can't be stopped; who waits for its locks, waits.
    pub transaction_limit: Option<Duration>,
}

impl Default for Options {
    fn default() -> Self {
        Options {
            protocol: registry::DEFAULT.into(),
            isolation: None,
            timestamps: TimestampAllocation::default().to_string(),
            protocol_options: Vec::new(),
            max_sessions: 64,
            memory_limit_bytes: None,
            huge_pages: true,
            epoch_interval: Duration::from_millis(40),
            retry_limit: None,
            transaction_limit: None,
        }
    }
}

fn invalid(option: &'static str, given: impl ToString, allowed: impl ToString) -> Error {
    Error::InvalidOption { option, given: given.to_string(), allowed: allowed.to_string() }
}

impl Options {
    /// The protocol's knobs, if every option has an allowed value.
    pub(crate) fn check(&self) -> Result<ProtocolOptions, Error> {
        let timestamps = self.timestamps.parse().map_err(|_| {
            let allowed = "mutex, atomic, batchN (N from 1 to 65536), clock, hardware";
            invalid("timestamps", &self.timestamps, allowed)
        })?;
        if !(1..=MAX_SESSIONS).contains(&self.max_sessions) {
            let allowed = format!("1 to {MAX_SESSIONS}");
            return Err(invalid("max_sessions", self.max_sessions, allowed));
        }
        if self.epoch_interval < Duration::from_millis(1) {
            let given = format!("{:?}", self.epoch_interval);
            return Err(invalid("epoch_interval", given, "1 ms and more"));
        }
        if self.transaction_limit == Some(Duration::ZERO) {
            return Err(invalid("transaction_limit", "0 s", "more than 0 s, or none"));
        }
        if self.memory_limit_bytes == Some(0) {
            return Err(invalid("memory_limit_bytes", 0, "1 and more, or none"));
        }
        let mut options = ProtocolOptions { timestamps, ..ProtocolOptions::default() };
        let allowed = protocol_names();
        if !allowed.contains(&self.protocol.as_str()) {
            return Err(Error::UnknownProtocol { given: self.protocol.clone(), allowed });
        }
        options.isolation = self.level()?;
        let heeded = knobs_of(&self.protocol);
        for (name, value) in &self.protocol_options {
            let Some(knob) = Knob::named(name).filter(|knob| heeded.contains(&knob.name)) else {
                let (protocol, given) = (self.protocol.clone(), name.clone());
                return Err(Error::UnknownProtocolOption {
                    protocol,
                    given,
                    allowed: heeded.into(),
                });
            };
            let set = knob.set(&mut options, value);
            set.map_err(|error| invalid(error.name, error.given, error.allowed))?;
        }
        Ok(options)
    }

    /// The level of isolation asked for, if the protocol can give it.
    fn level(&self) -> Result<Option<Isolation>, Error> {
        let Some(given) = &self.isolation else { return Ok(None) };
        let names = protocol_names().into_iter().zip(registry::levels::<machine::Native>());
        let mut levels = names.filter(|(name, _)| *name == self.protocol).map(|(_, levels)| levels);
        let levels = levels.next().unwrap_or_default();
        let level = levels.iter().copied().find(|level| level.to_string() == *given);
        level.map(Some).ok_or_else(|| Error::UnsupportedIsolation {
            protocol: self.protocol.clone(),
            given: given.clone(),
            allowed: levels.iter().map(Isolation::to_string).collect(),
        })
    }

    /// Bytes that the arena may hand out.
    pub(crate) fn memory_bytes(&self) -> u64 {
        self.memory_limit_bytes.or_else(available_memory).unwrap_or(1 << 40)
    }
}

/// The names of all protocols.
pub(crate) fn protocol_names() -> Vec<&'static str> {
    let declarations = registry::declarations::<machine::Native>(&ProtocolOptions::default());
    declarations.iter().map(|declaration| declaration.name).collect()
}

/// The names of the options that `protocol` knows.
fn knobs_of(protocol: &str) -> &'static [&'static str] {
    let names = protocol_names().into_iter();
    let mut all = names.zip(registry::knobs::<machine::Native>());
    all.find(|(name, _)| *name == protocol).map_or(&[], |(_, knobs)| knobs)
}
