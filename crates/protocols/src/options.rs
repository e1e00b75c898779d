//! The knobs of all protocols: their values, and their names on command lines and in records.

pub(crate) mod commit_locks;
pub mod duration;

use crate::{Isolation, TimestampAllocation};
use commit_locks::CommitLocks;
use std::fmt;

/// Values of all knobs of all protocols. A protocol uses the knobs that it lists in [`crate::Protocol::knobs`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProtocolOptions {
    /// Isolation level asked for; none for the protocol's own level, which is the strongest that it gives.
    pub isolation: Option<Isolation>,
    /// Source of timestamps.
    pub timestamps: TimestampAllocation,
    /// Handling of deadlocks under a protocol in which every conflict waits.
    pub deadlocks: Deadlocks,
    /// Length of a wait before the first search for a deadlock, and the time between searches, in nanoseconds.
    /// At least 100.
    pub deadlock_search_ns: u64,
    /// Longest wait for a lock, in nanoseconds; none for no limit.
    pub lock_timeout_ns: Option<u64>,
    /// Place of the waits-for graph.
    pub waits_for: WaitsForGraph,
    /// Behaviour of declared read-only transactions under a protocol whose other transactions lock.
    pub readers: Readers,
    /// Behaviour of an optimistic transaction at a record that another transaction has locked for its commit; none for
    /// the usual choice of its protocol.
    pub commit_locks: Option<CommitLocks>,
    /// Set if an optimistic transaction adds to a row when it installs its writes, without reading the row.
    pub commit_updates: bool,
    /// Temperature from which MOCC locks a record before it reads it, 0 to 64. A record's temperature is the
    /// logarithm to base 2 of the number of transactions that have failed on the record.
    pub hot_threshold: u64,
    /// Set if a MOCC attempt after a failure locks records from the start: those that the failed attempt has shown
    /// to be worth locking.
    pub retrospective_locks: bool,
    /// Place of the validation of an optimistic transaction that draws timestamps.
    pub validation: Validation,
    /// Set if an optimistic read locks the record while it copies it, and a commit locks all records that were read.
    pub read_locks: bool,
    /// Behaviour of writers that wait for a record under timestamp ordering.
    pub waiting_writers: WaitingWriters,
    /// The superseded versions that a multi-version protocol keeps until they are collected.
    pub kept_versions: KeptVersions,
    /// Place of the locks of records.
    pub locks: LockPlacement,
    /// Number of buckets of all lock tables together; none for the usual number.
    pub lock_buckets: Option<u64>,
    /// Form of a lock that no transaction waits for.
    pub lock_form: LockForm,
    /// Kind of the latches over lists of requests.
    pub latch: LatchKind,
    /// Time at which a record is locked for a write.
    pub write_locks: WriteLocks,
    /// Share of a transaction's accesses, in percent, after which its writes are no longer retired.
    pub retire_percent: u64,
    /// Set if CICADA installs its pending versions in the order of contention: the most recently written records
    /// first.
    pub contention_order: bool,
    /// Set if CICADA validates once before it installs pending versions.
    pub precheck: bool,
    /// Interval, in nanoseconds, at which the bound on back-offs is adjusted by its effect on throughput; none if
    /// the caller that retries decides how long to back off.
    pub contention_regulation_ns: Option<u64>,
    /// Number of partition locks, or of lock tables, where each partition has one; none for as many as the workload
    /// has partitions.
    pub partitions: Option<u64>,
    /// Behaviour of a transaction that is older than the owner of a partition.
    pub older_at_partition: OlderAtPartition,
    /// Set if planned locks are acquired in descending order of the records' names (ORDERED_2PL).
    pub plan_descends: bool,
    /// Set by architectures in which one core alone touches the metadata of a record
    /// ([`crate::mechanisms::physical`]).
    pub owned_metadata: bool,
    /// Set if ARIA may commit a transaction before others of its batch whose writes it has not read.
    pub reordering: bool,
}

impl Default for ProtocolOptions {
    fn default() -> Self {
        ProtocolOptions {
            isolation: None,
            timestamps: TimestampAllocation::default(),
            deadlocks: Deadlocks::Search,
            deadlock_search_ns: 1_000,
            lock_timeout_ns: Some(100_000),
            waits_for: WaitsForGraph::PerCore,
            readers: Readers::Locks,
            commit_locks: None,
            commit_updates: false,
            hot_threshold: 10,
            retrospective_locks: true,
            validation: Validation::Parallel,
            read_locks: false,
            waiting_writers: WaitingWriters::Race,
            kept_versions: KeptVersions::Needed,
            locks: LockPlacement::Record,
            lock_buckets: None,
            lock_form: LockForm::Counter,
            latch: LatchKind::Usual,
            write_locks: WriteLocks::Access,
            retire_percent: 85,
            contention_order: true,
            precheck: true,
            contention_regulation_ns: None,
            partitions: None,
            older_at_partition: OlderAtPartition::GoesFirst,
            plan_descends: false,
            owned_metadata: false,
            reordering: true,
        }
    }
}

impl ProtocolOptions {
    /// Returns false if `isolation` asks for a weaker level than serializability.
    pub fn asks_for_full_isolation(&self) -> bool {
        matches!(self.isolation, None | Some(Isolation::Serializable))
    }
}

/// Handling of deadlocks (Abyss 4.2).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Deadlocks {
    /// Deadlocks are searched for in a waits-for graph, and a victim aborts.
    Search,
    /// Deadlocks cannot occur: a transaction waits only for a lock whose key is beyond all keys that it has locked.
    KeyOrder,
}

/// Place of the waits-for graph (Abyss 4.2).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WaitsForGraph {
    /// Each session has a row. Rows are read and written without locks.
    PerCore,
    /// The graph is under one latch.
    Central,
}

/// Behaviour of declared read-only transactions under a protocol whose other transactions lock (Abyss 6.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Readers {
    /// They lock what they read, like all others.
    Locks,
    /// They read the versions that were the newest when they began, and lock nothing.
    Versions,
}

/// Behaviour of writers that wait for a record under timestamp ordering.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum WaitingWriters {
    /// Those that wait for a decision all try again after it.
    #[default]
    Race,
    /// Those that wait for a decision queue in the order of timestamps (the codes of 2014 and 2022).
    InTurn,
    /// As [`WaitingWriters::Race`], but a writer does not queue for a latch: it is refused if it finds the record latched.
    /// In a queue its timestamp ages, until it comes too late.
    NoQueue,
}

/// The superseded versions that a multi-version protocol keeps until they are collected.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KeptVersions {
    /// A version is kept only if a transaction may read it, where the writer knows this
    /// ([`crate::mechanisms::version_collector`]).
    Needed,
    /// Every version is kept (the papers' code).
    All,
}

/// Place of the validation of an optimistic transaction (Abyss 4.3).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Validation {
    /// In parallel with other transactions, while the records in its write set are latched.
    Parallel,
    /// Alone, in the one critical section of the database.
    Central,
}

/// Place of the locks of records (Abyss 3.1, 4.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LockPlacement {
    /// In the records.
    Record,
    /// In a table for each partition.
    Partition,
    /// In one table.
    Central,
}

/// Form of a lock that no transaction waits for. Locks in tables are always lists.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LockForm {
    /// One word, changed by atomic operations (VLL, Trireme 3.2).
    Counter,
    /// A list of requests under a latch (Gray and Reuter; the code of Abyss).
    List,
}

/// Kind of a latch over a list of requests (Full story 3.3.1, opt3).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LatchKind {
    /// A queue on machines that hand a latch on in the order of requests, and a mutex on others.
    Usual,
    /// One word. A session that finds the latch held spins for a while and then sleeps until it is released.
    Mutex,
    /// One word. A session that finds the latch held tries again after 1, 3, 7, 15, 15, ... PAUSE instructions.
    Spin,
    /// A queue in which each session waits at a line of its own (MCS).
    Queue,
    /// A queue as before. A session that waits looks after 1, 2, 4, 8 and 16 PAUSE instructions, and then after each call by which it
    /// yields its processor (Intel's Threading Building Blocks, in the code of 2022).
    Yielding,
    /// One word, which a session only reads while no other session wants it (hardware lock elision). Only
    /// for simulated machines, because today's processors no longer elide.
    Elided,
}

/// The names of the kinds of latches.
const LATCHES: [(&str, LatchKind); 6] = [
    ("usual", LatchKind::Usual),
    ("mutex", LatchKind::Mutex),
    ("spin", LatchKind::Spin),
    ("queue", LatchKind::Queue),
    ("yielding", LatchKind::Yielding),
    ("elided", LatchKind::Elided),
];

/// Time at which a record is locked for a write.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WriteLocks {
    /// The record is locked when the write is made.
    Access,
    /// The record is locked when the transaction commits. Until then it is locked only as it was read (PCC: Wang and Kimura,
    /// Trireme 5.1).
    Commit,
}

/// Behaviour of a transaction that is older than the owner of a partition that it asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OlderAtPartition {
    /// It goes before an owner that has not started, and waits for an owner that has.
    GoesFirst,
    /// It aborts and retries with a new timestamp.
    Aborts,
}

/// Largest number of partition locks.
const MAX_PARTITIONS: u64 = 65_536;

/// Largest number of lock table buckets: 64 MiB of them.
const MAX_LOCK_BUCKETS: u64 = 1 << 20;

/// A named option among those in an `O`: of protocols, or of another part of the engine.
pub struct Knob<O: 'static = ProtocolOptions> {
    /// Name on the command line and in records.
    pub name: &'static str,
    /// The effect of the knob, in one line.
    pub summary: &'static str,
    /// Allowed values, as a phrase that continues "allowed: ".
    pub allowed: &'static str,
    /// Sets the option. Returns none if the value is not allowed.
    pub set: fn(&mut O, &str) -> Option<()>,
    /// Returns the value. None for a knob that only sets others.
    pub value: Option<fn(&O) -> String>,
}

impl Knob {
    /// Returns the knob of protocols called `name`.
    pub fn named(name: &str) -> Option<&'static Knob> {
        KNOBS.iter().find(|knob| knob.name == name)
    }
}

impl<O> Knob<O> {
    /// Returns the knob's value in `options`, spelled as [`Knob::set`] accepts it. None for a knob that only sets
    /// others.
    pub fn value(&self, options: &O) -> Option<String> {
        self.value.map(|value| value(options))
    }

    /// Sets the knob in `options`.
    pub fn set(&self, options: &mut O, value: &str) -> Result<(), KnobError> {
        (self.set)(options, value).ok_or_else(|| KnobError {
            name: self.name,
            given: value.to_owned(),
            allowed: self.allowed,
        })
    }
}

/// Error: a knob does not accept a value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KnobError {
    /// The knob.
    pub name: &'static str,
    /// The value that was given.
    pub given: String,
    /// The values that are allowed.
    pub allowed: &'static str,
}

impl fmt::Display for KnobError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} is {}; allowed: {}", self.name, self.given, self.allowed)
    }
}

impl std::error::Error for KnobError {}

/// All knobs that have no option of their own on the command line.
pub const KNOBS: &[Knob] = &[
    Knob {
        name: "deadlocks",
        summary: "search for deadlocks, or wait only in the order of keys and have none (Abyss 4.2)",
        allowed: "search, key-order",
        set: |options, value| {
            options.deadlocks = match value {
                "search" => Deadlocks::Search,
                "key-order" => Deadlocks::KeyOrder,
                _ => return None,
            };
            Some(())
        },
        value: Some(|options| match options.deadlocks {
            Deadlocks::Search => "search".to_owned(),
            Deadlocks::KeyOrder => "key-order".to_owned(),
        }),
    },
    Knob {
        name: "deadlock-search",
        summary: "how long a wait lasts before a search for deadlocks, and until the next one",
        allowed: "100ns to 1000s",
        set: |options, value| {
            options.deadlock_search_ns = duration::parse(value).filter(|ns| *ns >= 100)?;
            Some(())
        },
        value: Some(|options| duration::shown(options.deadlock_search_ns)),
    },
    Knob {
        name: "lock-timeout",
        summary: "the longest wait for a lock; 100us in Abyss 4.2, 1ms in the code of 2022",
        allowed: "off, or 0ns to 1000s",
        set: |options, value| {
            options.lock_timeout_ns = match value {
                "off" => None,
                limit => Some(duration::parse(limit)?),
            };
            Some(())
        },
        value: Some(|options| options.lock_timeout_ns.map_or("off".to_owned(), duration::shown)),
    },
    Knob {
        name: "waits-for",
        summary: "the waits-for graph in a row per core without latches, or under one latch (Abyss 4.2)",
        allowed: "per-core, central",
        set: |options, value| {
            options.waits_for = match value {
                "per-core" => WaitsForGraph::PerCore,
                "central" => WaitsForGraph::Central,
                _ => return None,
            };
            Some(())
        },
        value: Some(|options| match options.waits_for {
            WaitsForGraph::PerCore => "per-core".to_owned(),
            WaitsForGraph::Central => "central".to_owned(),
        }),
    },
    Knob {
        name: "readers",
        summary: "declared read-only transactions lock as others do, or read versions (Abyss 6.1)",
        allowed: "locks, versions",
        set: |options, value| {
            options.readers = match value {
                "locks" => Readers::Locks,
                "versions" => Readers::Versions,
                _ => return None,
            };
            Some(())
        },
        value: Some(|options| match options.readers {
            Readers::Locks => "locks".to_owned(),
            Readers::Versions => "versions".to_owned(),
        }),
    },
    Knob {
        name: "commit-locks",
        summary: "optimistic: wait for a record that another is committing, refuse (TicToc 5.1), or lock unsorted and refuse after N pauses; with 26 the code of 2022 waits (OCC), or unlocks all and begins again (SILO, TICTOC)",
        allowed: "usual, wait, refuse, bounded:N or retry:N with N from 1 to 100000",
        set: |options, value| {
            options.commit_locks = match value {
                "usual" => None,
                other => Some(CommitLocks::parse(other)?),
            };
            Some(())
        },
        value: Some(|options| {
            options.commit_locks.map_or("usual".to_owned(), |locks| locks.to_string())
        }),
    },
    Knob {
        name: "commit-updates",
        summary: "optimistic: an addition reads nothing, and is made when the write is installed (STOv2)",
        allowed: "off, on",
        set: |options, value| {
            options.commit_updates = switch(value)?;
            Some(())
        },
        value: Some(|options| switched(options.commit_updates)),
    },
    Knob {
        name: "hot-threshold",
        summary: "lock a record before reading it once 2^N transactions have failed on it; 0 always, 64 never",
        allowed: "0 to 64",
        set: |options, value| {
            options.hot_threshold = value.parse().ok().filter(|n| *n <= 64)?;
            Some(())
        },
        value: Some(|options| options.hot_threshold.to_string()),
    },
    Knob {
        name: "retrospective-locks",
        summary: "an attempt after a failure locks from the start what the one before could have used (MOCC)",
        allowed: "off, on",
        set: |options, value| {
            options.retrospective_locks = switch(value)?;
            Some(())
        },
        value: Some(|options| switched(options.retrospective_locks)),
    },
    Knob {
        name: "validation",
        summary: "record by record beside others, or in one critical section (Kung and Robinson; Abyss 4.3)",
        allowed: "parallel, central",
        set: |options, value| {
            options.validation = match value {
                "parallel" => Validation::Parallel,
                "central" => Validation::Central,
                _ => return None,
            };
            Some(())
        },
        value: Some(|options| match options.validation {
            Validation::Parallel => "parallel".to_owned(),
            Validation::Central => "central".to_owned(),
        }),
    },
    Knob {
        name: "read-locks",
        summary: "lock a record while it is copied and while its reader validates, or neither (the code of 2022: on)",
        allowed: "off, on",
        set: |options, value| {
            options.read_locks = switch(value)?;
            Some(())
        },
        value: Some(|options| switched(options.read_locks)),
    },
    Knob {
        name: "waiting-writers",
        summary: "writers that wait for a record race for it, take turns by timestamp (the codes of 2014 and 2022), or race and are refused where it is latched",
        allowed: "race, in-turn, no-queue",
        set: |options, value| {
            options.waiting_writers = match value {
                "race" => WaitingWriters::Race,
                "in-turn" => WaitingWriters::InTurn,
                "no-queue" => WaitingWriters::NoQueue,
                _ => return None,
            };
            Some(())
        },
        value: Some(|options| match options.waiting_writers {
            WaitingWriters::Race => "race".to_owned(),
            WaitingWriters::InTurn => "in-turn".to_owned(),
            WaitingWriters::NoQueue => "no-queue".to_owned(),
        }),
    },
    Knob {
        name: "keep-versions",
        summary: "keep, until it is collected, a superseded version that a transaction may read (with more than four sessions: any), or any (the papers' code)",
        allowed: "needed, all",
        set: |options, value| {
            options.kept_versions = match value {
                "needed" => KeptVersions::Needed,
                "all" => KeptVersions::All,
                _ => return None,
            };
            Some(())
        },
        value: Some(|options| match options.kept_versions {
            KeptVersions::Needed => "needed".to_owned(),
            KeptVersions::All => "all".to_owned(),
        }),
    },
    Knob {
        name: "locks",
        summary: "where locks are: in the records, in a table per partition, in one table (Abyss 4.1)",
        allowed: "record, partition, central",
        set: |options, value| {
            options.locks = match value {
                "record" => LockPlacement::Record,
                "partition" => LockPlacement::Partition,
                "central" => LockPlacement::Central,
                _ => return None,
            };
            Some(())
        },
        value: Some(|options| match options.locks {
            LockPlacement::Record => "record".to_owned(),
            LockPlacement::Partition => "partition".to_owned(),
            LockPlacement::Central => "central".to_owned(),
        }),
    },
    Knob {
        name: "lock-buckets",
        summary: "buckets of all lock tables together, each with a latch; usual are 16384",
        allowed: "usual, or 1 to 1048576",
        set: |options, value| {
            options.lock_buckets = match value {
                "usual" => None,
                number => Some(number.parse().ok().filter(|n| (1..=MAX_LOCK_BUCKETS).contains(n))?),
            };
            Some(())
        },
        value: Some(|options| match options.lock_buckets {
            None => "usual".to_owned(),
            Some(number) => number.to_string(),
        }),
    },
    Knob {
        name: "lock-form",
        summary: "a lock is a counter (Trireme 3.2), or a list under a latch as in lock tables",
        allowed: "counter, list",
        set: |options, value| {
            options.lock_form = match value {
                "counter" => LockForm::Counter,
                "list" => LockForm::List,
                _ => return None,
            };
            Some(())
        },
        value: Some(|options| match options.lock_form {
            LockForm::Counter => "counter".to_owned(),
            LockForm::List => "list".to_owned(),
        }),
    },
    Knob {
        name: "latch",
        summary: "latches over lists of requests and over timestamps of records: what suits the machine, a mutex, spinning, a queue, a queue that yields (Full story, opt3)",
        allowed: "usual, mutex, spin, queue, yielding, elided",
        set: |options, value| {
            let latch = LATCHES.iter().find(|(name, _)| *name == value)?;
            options.latch = latch.1;
            Some(())
        },
        value: Some(|options| {
            let latch = LATCHES.iter().find(|(_, latch)| *latch == options.latch);
            latch.expect("each kind has a name").0.to_owned()
        }),
    },
    Knob {
        name: "write-locks",
        summary: "writes are locked when they are made, or at commit (PCC, Trireme 5.1)",
        allowed: "access, commit",
        set: |options, value| {
            options.write_locks = match value {
                "access" => WriteLocks::Access,
                "commit" => WriteLocks::Commit,
                _ => return None,
            };
            Some(())
        },
        value: Some(|options| match options.write_locks {
            WriteLocks::Access => "access".to_owned(),
            WriteLocks::Commit => "commit".to_owned(),
        }),
    },
    Knob {
        name: "retire",
        summary: "percent of a transaction's accesses whose writes others see at once; the last ones are kept back",
        allowed: "0 to 100",
        set: |options, value| {
            options.retire_percent = value.parse().ok().filter(|percent| *percent <= 100)?;
            Some(())
        },
        value: Some(|options| options.retire_percent.to_string()),
    },
    Knob {
        name: "contention-order",
        summary: "versions become pending in the order of how lately their records were written (Cicada)",
        allowed: "off, on",
        set: |options, value| {
            options.contention_order = switch(value)?;
            Some(())
        },
        value: Some(|options| switched(options.contention_order)),
    },
    Knob {
        name: "precheck",
        summary: "what a glance can show is checked before versions become pending (Cicada)",
        allowed: "off, on",
        set: |options, value| {
            options.precheck = switch(value)?;
            Some(())
        },
        value: Some(|options| switched(options.precheck)),
    },
    Knob {
        name: "contention-regulation",
        summary: "how often the longest back-off is set anew by what it does to throughput; 5ms (Cicada)",
        allowed: "off, or 1us to 1000s",
        set: |options, value| {
            options.contention_regulation_ns = match value {
                "off" => None,
                interval => Some(duration::parse(interval).filter(|ns| *ns >= 1_000)?),
            };
            Some(())
        },
        value: Some(|options| {
            options.contention_regulation_ns.map_or("off".to_owned(), duration::shown)
        }),
    },
    Knob {
        name: "deadlock-preset",
        summary: "limits on waiting as published: abyss (no wait beyond 100us), 2022 (beyond 1ms)",
        allowed: "abyss, 2022",
        set: |options, value| {
            options.lock_timeout_ns = match value {
                "abyss" => Some(100_000),
                "2022" => Some(1_000_000),
                _ => return None,
            };
            options.deadlock_search_ns = 1_000;
            Some(())
        },
        value: None,
    },
    Knob {
        name: "partitions",
        summary: "number of partition locks or tables, as many as the workload has partitions or fewer",
        allowed: "workload, or 1 to 65536",
        set: |options, value| {
            options.partitions = match value {
                "workload" => None,
                number => Some(number.parse().ok().filter(|n| (1..=MAX_PARTITIONS).contains(n))?),
            };
            Some(())
        },
        value: Some(|options| match options.partitions {
            None => "workload".to_owned(),
            Some(number) => number.to_string(),
        }),
    },
    Knob {
        name: "older-at-partition",
        summary: "who is older than a partition's owner goes first (Abyss 2.2), or aborts (2022)",
        allowed: "goes-first, aborts",
        set: |options, value| {
            options.older_at_partition = match value {
                "goes-first" => OlderAtPartition::GoesFirst,
                "aborts" => OlderAtPartition::Aborts,
                _ => return None,
            };
            Some(())
        },
        value: Some(|options| match options.older_at_partition {
            OlderAtPartition::GoesFirst => "goes-first".to_owned(),
            OlderAtPartition::Aborts => "aborts".to_owned(),
        }),
    },
    Knob {
        name: "plan-order",
        summary: "order of the records' names in which planned locks are acquired",
        allowed: "ascending, descending",
        set: |options, value| {
            options.plan_descends = match value {
                "ascending" => false,
                "descending" => true,
                _ => return None,
            };
            Some(())
        },
        value: Some(|options| match options.plan_descends {
            false => "ascending".to_owned(),
            true => "descending".to_owned(),
        }),
    },
    Knob {
        name: "reordering",
        summary: "a transaction commits before others of its batch that overwrite what it read (Aria)",
        allowed: "off, on",
        set: |options, value| {
            options.reordering = switch(value)?;
            Some(())
        },
        value: Some(|options| switched(options.reordering)),
    },
];

/// Parses `off` or `on`.
fn switch(text: &str) -> Option<bool> {
    match text {
        "off" => Some(false),
        "on" => Some(true),
        _ => None,
    }
}

/// Formats a value as [`switch`] parses it.
fn switched(on: bool) -> String {
    if on { "on" } else { "off" }.to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn knobs_are_set_to_what_they_show() {
        for knob in KNOBS {
            let default = ProtocolOptions::default();
            if let Some(value) = knob.value(&default) {
                let mut options = default.clone();
                knob.set(&mut options, &value).unwrap();
                assert_eq!(options, default, "{}", knob.name);
            }
            let error = knob.set(&mut default.clone(), "nonsense").unwrap_err().to_string();
            assert!(error.starts_with(knob.name) && error.contains("is nonsense;"), "{error}");
        }
    }

    #[test]
    fn every_value_of_a_choice_is_one() {
        for (name, values) in [
            ("deadlocks", ["search", "key-order"]),
            ("waits-for", ["per-core", "central"]),
            ("readers", ["locks", "versions"]),
            ("commit-locks", ["wait", "refuse"]),
            ("commit-locks", ["refuse", "usual"]),
            ("retrospective-locks", ["off", "on"]),
            ("commit-updates", ["off", "on"]),
            ("hot-threshold", ["0", "12"]),
            ("validation", ["parallel", "central"]),
            ("locks", ["partition", "central"]),
            ("lock-buckets", ["usual", "7"]),
            ("lock-form", ["counter", "list"]),
            ("write-locks", ["access", "commit"]),
            ("retire", ["0", "100"]),
            ("contention-order", ["off", "on"]),
            ("precheck", ["off", "on"]),
            ("contention-regulation", ["off", "5ms"]),
            ("partitions", ["workload", "16"]),
            ("older-at-partition", ["goes-first", "aborts"]),
            ("plan-order", ["ascending", "descending"]),
            ("reordering", ["off", "on"]),
            ("deadlock-search", ["100ns", "7us"]),
            ("lock-timeout", ["off", "1ms"]),
        ] {
            let knob = Knob::named(name).expect("a knob");
            let mut options = ProtocolOptions::default();
            for value in values {
                knob.set(&mut options, value).unwrap();
                assert_eq!(knob.value(&options).as_deref(), Some(value));
            }
        }
    }

    #[test]
    fn presets_are_those_published() {
        let mut options = ProtocolOptions::default();
        let knob = Knob::named("deadlock-preset").expect("a knob");
        knob.set(&mut options, "2022").unwrap();
        assert_eq!((options.lock_timeout_ns, options.deadlock_search_ns), (Some(1_000_000), 1000));
        knob.set(&mut options, "abyss").unwrap();
        assert_eq!(options, ProtocolOptions::default());
    }
}
