//! The options that a database is opened with.

use crate::Error;
use machine::available_memory;
use protocols::{Isolation, Knob, ProtocolOptions, TimestampAllocation, registry};
use std::time::Duration;

/// Largest number of concurrent transactions: a session's number has 12 bits in a timestamp.
const MAX_SESSIONS: usize = 4000;

/// The options that a database is opened with. All are plain values with a default.
///
/// ```
/// use kilocore::{Database, Options, Protocol};
/// let options = Options { protocol: Protocol::TicToc.into(), ..Options::default() };
/// let db = Database::open(options)?;
/// # Ok::<(), kilocore::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Options {
    /// Concurrency-control protocol: a [`Protocol`](crate::Protocol), or its name as text, as
    /// [`Database::protocols`](crate::Database::protocols) lists them. The default is `"SILO"`. All protocols are serializable except `"NO_CC"`, which validates nothing, and
    /// `"SNAPSHOT"`, which gives snapshot isolation.
    pub protocol: String,
    /// Isolation level: `"serializable"`, `"snapshot"` or `"read-committed"`. The protocol must support it. The
    /// default, `None`, is the strongest level that the protocol supports.
    pub isolation: Option<String>,
    /// Source of timestamps, for protocols that need them: `"mutex"`, `"atomic"` (default), `"batchN"` (N
    /// timestamps at a time), `"clock"`, or `"hardware"`, which is the same as `"atomic"` on machines without a
    /// suitable counter.
    pub timestamps: String,
    /// Further options of the protocol, by name and value, as `kilocore list` shows them. Example:
    /// `("lock-timeout", "1ms")`. The default is empty. A name that the protocol does not know is refused with
    /// [`Error::UnknownProtocolOption`].
    pub protocol_options: Vec<(String, String)>,
    /// Largest number of concurrent transactions, 1 to 4000. The default is 64. Any number of threads can run
    /// transactions. A thread waits while that many transactions are running.
    pub max_sessions: usize,
    /// Limit of the memory for tables, indexes and locks, in bytes. The default, `None`, is the memory that the
    /// system has available when the database is opened. Beyond the limit, transactions fail with
    /// [`Error::OutOfMemory`].
    pub memory_limit_bytes: Option<u64>,
    /// Set if the database asks for huge pages. Huge pages make random accesses to large tables faster. If the
    /// system has none, the option has no effect. The default is true.
    pub huge_pages: bool,
    /// Interval at which the epoch advances, at least 1 ms. Memory of deleted rows is reused two epochs later.
    /// SILO takes the high part of its commit order from the epoch. The default is 40 ms.
    pub epoch_interval: Duration,
    /// Number of retries after which a transaction fails with [`Error::TooManyRetries`]. The default, `None`,
    /// retries until the transaction commits.
    pub retry_limit: Option<u32>,
    /// Longest time that one run of a closure can keep its transaction open. After that time every further
    /// access and the commit fail with [`Error::TransactionTooLong`], so that its locks are released. The
    /// default is one minute. `None` sets no limit.
    ///
    /// A limit of at least 50 epoch intervals is counted in these intervals, so it can be longer by a few percent.
    ///
    /// A closure that neither accesses the database nor returns cannot be stopped. Transactions that wait for
    /// its locks wait on.
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
            transaction_limit: Some(Duration::from_secs(60)),
        }
    }
}

fn invalid(option: &'static str, given: impl ToString, allowed: impl ToString) -> Error {
    Error::InvalidOption { option, given: given.to_string(), allowed: allowed.to_string() }
}

impl Options {
    /// Checks the value of every option and returns the options for the protocol.
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

    /// Returns the isolation level asked for. Fails if the protocol cannot give it.
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

    /// Returns the number of bytes that the arena can hand out.
    pub(crate) fn memory_bytes(&self) -> u64 {
        self.memory_limit_bytes.or_else(available_memory).unwrap_or(1 << 40)
    }
}

/// Returns the names of all protocols.
pub(crate) fn protocol_names() -> Vec<&'static str> {
    let declarations = registry::declarations::<machine::Native>(&ProtocolOptions::default());
    declarations.iter().map(|declaration| declaration.name).collect()
}

/// Returns the names of the options that `protocol` knows.
fn knobs_of(protocol: &str) -> &'static [&'static str] {
    let names = protocol_names().into_iter();
    let mut all = names.zip(registry::knobs::<machine::Native>());
    all.find(|(name, _)| *name == protocol).map_or(&[], |(_, knobs)| knobs)
}
