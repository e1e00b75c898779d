//! Schedules in which sessions read rows alone, outside of attempts (`Session::read_alone`), while others write them. Such reads
//! leave no history, so this test has a law of its own instead of the checker.
//!
//! Each writer adds one to both columns of both rows. So both columns of a row are always equal, and a reader that has found a number
//! in one row finds no smaller one in the other row afterwards.

use engine::{EngineOptions, Session, Start};
use kilocore_harness::engines::Engines;
use machine::{
    Body, Explored, ExploredOptions, Fault, Machine, Schedule,
    cold::{Arc, Mutex},
};
use protocols::{ProtocolOptions, faults, registry::declarations};
use txn::{Abort, Column, ColumnSet, ColumnType, Loader, TableId, TableSchema};

const TABLE: TableId = TableId(0);
const BOTH: ColumnSet = ColumnSet::first(2);
const READERS: usize = 2;
const WRITERS: usize = 2;
const WRITES: usize = 6;
const READS: usize = 24;

/// Two rows of two columns.
struct Rows {
    ordered: bool,
}

impl engine::Dataset for Rows {
    fn schema(&self) -> txn::Schema {
        let columns = ["first", "second"].map(|name| Column::new(name, ColumnType::U64)).to_vec();
        let table = TableSchema::new("rows", columns);
        txn::Schema { tables: vec![if self.ordered { table.ordered() } else { table }] }
    }

    fn rows(&self, _: TableId) -> u64 {
        2
    }

    fn load(&self, loader: &mut dyn Loader) {
        (0..2u64).for_each(|key| loader.load(TABLE, key.into(), &[0; 16]));
    }
}

fn add_to_both(session: &mut dyn Session) -> Result<(), Abort> {
    for key in 0..2 {
        let mut row = [0; 16];
        session.read_for_update(TABLE, key.into(), BOTH, &mut row)?;
        let next = (number(&row[..8]) + 1).to_le_bytes();
        session.update(TABLE, key.into(), BOTH, &[next, next].concat())?;
    }
    Ok(())
}

fn number(bytes: &[u8]) -> u64 {
    u64::from_le_bytes(bytes.try_into().expect("eight bytes"))
}

/// Counts of what the readers of one schedule or more have found.
#[derive(Debug, Default)]
struct Seen {
    reads: usize,
    /// Reads that an attempt would have to repeat.
    refused: usize,
    torn: usize,
    backward: usize,
    last: u64,
}

impl Seen {
    fn and(self, other: Seen) -> Seen {
        Seen {
            reads: self.reads + other.reads,
            refused: self.refused + other.refused,
            torn: self.torn + other.torn,
            backward: self.backward + other.backward,
            last: self.last.max(other.last),
        }
    }
}

/// Returns what the readers of one schedule have found.
fn run(protocol: &str, seed: u64, fault: Option<Fault>) -> Seen {
    let schedule =
        if seed.is_multiple_of(2) { Schedule::Random } else { Schedule::Pct { depth: 3 } };
    let options = ExploredOptions { seed, schedule, fault, ..ExploredOptions::default() };
    let machine = Arc::new(Explored::new(options).unwrap());
    let options = EngineOptions {
        epoch_interval_ticks: 50,
        ..EngineOptions::for_sessions(READERS + WRITERS)
    };
    let engine = Explored::engine("shared_everything", protocol, &machine, &options).unwrap();
    engine.load(&Rows { ordered: seed % 4 < 2 }, 1).unwrap();
    let seen = Mutex::new(Seen::default());
    let writes = |session| -> Body<'_, Explored> {
        let engine = &engine;
        Box::new(move |core| {
            let mut session = engine.session(core, session);
            for _ in 0..WRITES {
                session.begin(Start::default());
                // A transaction that another one is in the way of is left out.
                match add_to_both(&mut *session) {
                    Ok(()) => _ = session.commit(),
                    Err(_) => session.rollback(),
                }
            }
        })
    };
    let reads = |session| -> Body<'_, Explored> {
        let (engine, seen) = (&engine, &seen);
        Box::new(move |core| {
            let mut session = engine.session(core, session);
            let (mut own, mut row) = (Seen::default(), [0; 16]);
            for at in 0..READS {
                if !session.read_alone(TABLE, at as u64 % 2, BOTH, &mut row) {
                    own.refused += 1;
                    continue;
                }
                let (first, second) = (number(&row[..8]), number(&row[8..]));
                own.reads += 1;
                own.torn += usize::from(first != second);
                own.backward += usize::from(first < own.last);
                own.last = first;
            }
            let mut all = seen.lock();
            *all = std::mem::take(&mut *all).and(own);
        })
    };
    let bodies = (0..WRITERS).map(writes).chain((WRITERS..WRITERS + READERS).map(reads)).collect();
    machine.run(bodies, engine.services()).unwrap_or_else(|error| panic!("seed {seed}: {error}"));
    seen.into_inner()
}

/// Returns what the readers of `schedules` schedules have found together.
fn runs(protocol: &str, schedules: u64, fault: Option<Fault>) -> Seen {
    (0..schedules).fold(Seen::default(), |all, seed| all.and(run(protocol, seed, fault)))
}

#[test]
fn rows_read_alone_are_whole_and_never_go_back() {
    let alone: Vec<&str> = declarations::<Explored>(&ProtocolOptions::default())
        .iter()
        .map(|declared| declared.name)
        .filter(|protocol| {
            let seen = runs(protocol, 4, None);
            assert!(seen.reads == 0 || seen.refused == 0, "{protocol}: {seen:?}");
            seen.reads > 0
        })
        .collect();
    assert_eq!(alone, ["OCC", "SILO", "TICTOC", "MOCC"], "who reads alone");
    for protocol in alone {
        let seen = runs(protocol, 2000, None);
        assert_eq!((seen.refused, seen.torn, seen.backward), (0, 0, 0), "{protocol}: {seen:?}");
        assert!(seen.last as usize > WRITES, "both writers commit: {protocol}: {seen:?}");
    }
}

#[test]
fn rows_that_are_written_unlocked_or_in_part_are_noticed() {
    assert!(runs("SILO", 200, Some(faults::BYPASSING_WRITES)).torn > 0);
    assert!(runs("SILO", 200, Some(faults::WRITE_LEFT_OUT)).backward > 0);
}
