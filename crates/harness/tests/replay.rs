//! Tests the commit hook under every protocol: replaying a log in its order must give the final state.

use engine::{CommitSink, EngineOptions, SinkError, Start, Ticket, registry};
use kilocore_harness::{
    engines::Engines,
    explore::{
        Exploration,
        replay::{Replays, replay},
    },
    memory_log::MemoryLog,
};
use machine::{Explored, ExploredOptions, Fault, Native, NativeOptions, cold::Arc};
use protocols::{Isolation, ProtocolOptions, faults, registry::declarations};
use txn::{Column, ColumnSet, ColumnType, TableId, TableSchema, Workload, WriteKind};
use workloads::{
    micro::{counters::Counters, ranges::Ranges, rooms::Rooms},
    smallbank::SmallBank,
};

fn exploration(architecture: &str, protocol: &str, schedules: u64) -> Exploration {
    let (architecture, protocol) = (architecture.into(), protocol.into());
    Exploration { architecture, protocol, schedules, ..Exploration::default() }
}

fn replayed<W: Workload>(
    make: &dyn Fn(u64) -> W,
    exploration: &Exploration,
    fault: Option<Fault>,
) -> Replays {
    replay(make, exploration, fault).expect("can run")
}

/// Checks that no schedule shows an error and that commits were replayed.
fn passes<W: Workload>(make: &dyn Fn(u64) -> W, exploration: &Exploration) {
    let replays = replayed(make, exploration, None);
    let Exploration { architecture, protocol, .. } = exploration;
    assert!(replays.finding.is_none(), "{architecture} {protocol}: {replays:?}");
    assert!(replays.commits > exploration.schedules, "{protocol}: {replays:?}");
}

/// Returns the protocols that promise an isolation level and satisfy `fits`.
fn protocols(fits: impl Fn(&protocols::Declaration) -> bool) -> impl Iterator<Item = &'static str> {
    let declared = declarations::<Explored>(&ProtocolOptions::default());
    let isolating = declared.into_iter().filter(|d| d.isolation != Isolation::None);
    isolating.filter(move |d| fits(d)).map(|d| d.name)
}

fn every_protocol<W: Workload>(make: &dyn Fn(u64) -> W, schedules: u64) {
    for protocol in protocols(|_| true) {
        passes(make, &exploration(registry::DEFAULT, protocol, schedules));
    }
}

#[test]
fn counters() {
    every_protocol(&Counters::varied, 300);
}

#[test]
fn counters_rolled_back() {
    every_protocol(&Counters::varied_rolled_back, 200);
}

#[test]
fn counters_spelled() {
    every_protocol(&Counters::varied_spelled, 200);
}

#[test]
fn ranges() {
    every_protocol(&Ranges::varied, 300);
}

#[test]
fn ranges_spelled() {
    every_protocol(&Ranges::varied_spelled, 200);
}

#[test]
fn rooms() {
    every_protocol(&Rooms::varied, 300);
}

#[test]
fn smallbank() {
    every_protocol(&SmallBank::varied, 300);
}

#[test]
fn several_sites() {
    for protocol in protocols(|declaration| declaration.one_site.is_none()) {
        passes(&Counters::varied, &exploration("several_sites", protocol, 200));
        passes(&SmallBank::varied, &exploration("several_sites", protocol, 200));
    }
}

/// A log of transactions that nothing but the latches of their partitions isolates.
#[test]
fn partitioned_serial() {
    let serial = |schedules| exploration("partitioned_serial", "NO_CC", schedules);
    passes(&Counters::varied, &serial(300));
    passes(&SmallBank::varied, &serial(300));
    passes(&Ranges::varied, &serial(200));
}

/// Tests forms of protocols that write, or keep their writes, in a different way.
#[test]
fn forms() {
    type Form = (&'static str, fn(&mut ProtocolOptions));
    let set: [Form; 4] = [
        ("SILO", |options| options.commit_updates = true),
        ("TICTOC", |options| options.commit_updates = true),
        ("DL_DETECT", |options| options.readers = protocols::Readers::Versions),
        ("HEKATON", |options| options.isolation = Some(Isolation::ReadCommitted)),
    ];
    for (protocol, set) in set {
        let mut asked = exploration(registry::DEFAULT, protocol, 300);
        set(&mut asked.protocol_options);
        passes(&Counters::varied, &asked);
        passes(&SmallBank::varied, &asked);
    }
}

/// Plants a known bug under every protocol. The replay must find it.
#[test]
fn numbers_that_are_drawn_too_late_are_noticed() {
    for protocol in protocols(|_| true) {
        let asked = exploration(registry::DEFAULT, protocol, 20_000);
        let fault = Some(faults::NUMBERED_AFTER_RELEASE);
        let replays = replayed(&Counters::varied, &asked, fault);
        assert!(replays.finding.is_some(), "{protocol}: {replays:?}");
    }
}

fn options() -> EngineOptions {
    EngineOptions { epoch_interval_ticks: 1_000_000, ..EngineOptions::for_sessions(2) }
}

#[test]
fn without_isolation_there_is_no_order() {
    let machine = Arc::new(Explored::new(ExploredOptions::default()).unwrap());
    let engine = Explored::engine(registry::DEFAULT, "NO_CC", &machine, &options()).unwrap();
    let refused = engine.log_to(Arc::new(MemoryLog::default()));
    assert_eq!(refused, Err(SinkError::NoOrder { protocol: "NO_CC" }));
}

/// A commit is installed before the log acknowledges it.
#[test]
fn a_ticket_is_acknowledged_when_the_log_is_synchronised() {
    const TABLE: TableId = TableId(0);
    const START: Start<'_> =
        Start { attempt: 0, age: None, read_only: false, partitions: &[], plan: &[] };
    let machine = Arc::new(Native::new(NativeOptions::default()).unwrap());
    let engine = Native::engine(registry::DEFAULT, "SILO", &machine, &options()).unwrap();
    let columns = ["a", "b"].map(|name| Column::new(name, ColumnType::U64)).to_vec();
    engine.create_table(TABLE, &[TableSchema::new("t", columns)], 8).unwrap();
    assert_eq!(engine.tables()[0].1.name, "t");
    let log = Arc::new(MemoryLog::default());
    engine.log_to(log.clone()).unwrap();
    assert_eq!(engine.log_to(log.clone()), Err(SinkError::Attached));
    let cores = [machine.core(0), machine.core(1)];
    let [mut one, mut other] = [0, 1].map(|session| engine.session(&cores[session], session));
    one.begin(START);
    one.insert(TABLE, 7u64.into(), &[1; 16]).unwrap();
    one.commit().unwrap();
    assert_eq!(one.take_ticket(), Some(Ticket(1)));
    assert_eq!(one.take_ticket(), None);
    one.begin(START);
    one.update(TABLE, 7u64.into(), ColumnSet::one(1), &[2; 8]).unwrap();
    one.rollback();
    assert_eq!(one.take_ticket(), None);
    one.begin(START);
    one.update(TABLE, 7u64.into(), ColumnSet::one(1), &[3; 8]).unwrap();
    one.commit().unwrap();
    // Other sessions see the write before it is durable.
    let mut row = [0; 8];
    other.begin(START);
    assert!(
        other
            .read_with(TABLE, 7u64.into(), ColumnSet::one(1), txn::Intent::Read, &mut row)
            .unwrap()
    );
    other.commit().unwrap();
    assert_eq!((row, other.take_ticket()), ([3; 8], Some(Ticket(2))));
    assert_eq!(log.acknowledged(), Ticket(0));
    log.synchronise();
    assert!(log.acknowledged() >= one.take_ticket().unwrap());
    let update = &log.commits()[&Ticket(2)].writes[0];
    assert_eq!((update.kind, update.columns), (WriteKind::Update, ColumnSet::one(1)));
    assert_eq!((&*update.before, &*update.after), (&[1; 8][..], &[3; 8][..]));
}
