//! Tests that options of the engine change what a simulated run costs, in the direction of their mechanism.

use engine::{
    AccessOptions, Announcements, EngineOptions, IndexPointers, Start, StateLine, registry,
};
use kilocore_harness::run::{Plan, run};
use machine::{Body, Core, Machine, Word, cold::Arc};
use protocols::{Knob, LatchKind, ProtocolOptions, mechanisms::queue_latch::LatchNodes};
use simulator::{Homes, MachineDescription, Simulated, SimulatedOptions};
use txn::{ColumnSet, TableId};
use workloads::micro::key_value::{KeyValue, KeyValueOptions};
use workloads::tpcc_accesses::{TpccAccesses, TpccAccessesOptions};

/// Returns the commits of a short run with a warehouse for each of `cores` threads of the Superdome Flex, each at its
/// worker's socket.
fn commits(protocol: (&str, &str), access: AccessOptions, cores: usize) -> u64 {
    let mut protocol_options = ProtocolOptions::default();
    for pair in protocol.1.split_whitespace() {
        let (name, value) = pair.split_once('=').expect("NAME=VALUE");
        Knob::named(name).expect("an option").set(&mut protocol_options, value).expect("allowed");
    }
    let plan = Plan {
        protocol_options,
        access,
        warm_up_s: 0.000_2,
        seed: 7,
        epoch_interval_s: 0.000_01,
        ..Plan::new(protocol.0, cores, 0.001)
    };
    let whole = MachineDescription::load("superdome-flex").expect("a built-in machine");
    let used = Arc::new(whole.filled_by(cores as u64, 0));
    let sockets = used.sockets.as_ref().expect("sockets");
    let homes: Arc<[u16]> =
        (0..cores as u64).map(|thread| sockets.socket_of_thread(thread) as u16).collect();
    let make = |seed| {
        let options = SimulatedOptions {
            seed,
            homes: Homes::ByNode,
            sessions_at_home: true,
            partition_nodes: Some(homes.clone()),
            ..SimulatedOptions::default()
        };
        Simulated::new(used.clone(), options)
    };
    let options = TpccAccessesOptions {
        warehouses: cores as u64,
        full_schema: false,
        inserts: false,
        remote_lines: 0.0,
        remote_payments: 0.0,
        ..TpccAccessesOptions::default()
    };
    let workload = TpccAccesses::new(options).expect("good options");
    let repetitions = run(&make, &workload, &plan, &Word::new(0), &mut |_| {}).expect("can run");
    repetitions[0].total.commits()
}

#[test]
fn rows_that_are_not_prefetched_cost_more() {
    let with = |announcements| {
        let access = AccessOptions { announcements, ..AccessOptions::default() };
        commits(("SILO", ""), access, 8)
    };
    let (prefetched, ignored) = (with(Announcements::Prefetched), with(Announcements::Ignored));
    assert!(20 * ignored < 19 * prefetched, "{ignored} and {prefetched}");
}

/// Returns the cycles that the reads of two rows take, one after the other, under `protocol`, if the first one was announced.
fn cycles_of_reads_after_announcement(protocol: &str, access: AccessOptions) -> [u64; 2] {
    let description = Arc::new(MachineDescription::load("superdome-flex").expect("built-in"));
    let options = SimulatedOptions::default();
    let machine = Arc::new(Simulated::new(description, options).expect("memory"));
    let options = EngineOptions { access, ..EngineOptions::for_sessions(1) };
    let engine = registry::create(registry::DEFAULT, protocol, &machine, &options).expect("room");
    let options = KeyValueOptions { records: 64, ..KeyValueOptions::default() };
    engine.load(&KeyValue::new(options).expect("good options"), 1).expect("room");
    let took = [Word::new(0), Word::new(0)];
    let body: Body<'_, Simulated> = Box::new(|core| {
        let mut session = engine.session(core, 0);
        session.begin(Start::default());
        let (table, column) = (TableId(0), ColumnSet::one(0));
        session.prefetch(table, &[(1, column)]);
        for (key, took) in [1, 2].into_iter().zip(&took) {
            let begin = core.now();
            assert!(session.read(table, u64::into(key), column, &mut [0; 8]).expect("no conflict"));
            took.poke(core.now() - begin);
        }
    });
    machine.run(vec![body], vec![]).expect("can run");
    took.each_ref().map(Word::peek)
}

#[test]
fn a_read_finds_the_columns_that_were_announced_for_it() {
    let [announced, other] = cycles_of_reads_after_announcement("NO_CC", AccessOptions::default());
    // A miss of the memory takes 242 cycles. The other row has three: in the index, of its head, and of its columns.
    assert!(announced < 242 && 3 * announced < other, "{announced} and {other}");
}

#[test]
fn state_on_a_line_of_its_own_is_one_more_miss_and_not_announced() {
    let reads = |state| {
        let access = AccessOptions { state, ..AccessOptions::default() };
        cycles_of_reads_after_announcement("SILO", access)
    };
    let ([announced, other], [announced_own, other_own]) =
        (reads(StateLine::Front), reads(StateLine::Own));
    // A miss of the memory takes 242 cycles, less what lies beside other work.
    assert!(announced + 200 < announced_own, "{announced} and {announced_own}");
    assert!(other + 200 < other_own, "{other} and {other_own}");
}

#[test]
fn pointers_to_indexes_cost_more_if_they_are_shared() {
    let with = |pointers| {
        let access = AccessOptions { pointers, ..AccessOptions::default() };
        commits(("SILO", ""), access, 64)
    };
    let (private, shared) = (with(IndexPointers::Private), with(IndexPointers::Shared));
    let per_socket = with(IndexPointers::PerSocket);
    assert!(private > per_socket && private > shared, "{private}, {per_socket}, {shared}");
    // Under the narrow mix the pointers stay in the caches, so it hardly matters where they lie (4.3.2).
    assert!(per_socket.abs_diff(shared) < private / 100, "{per_socket} and {shared}");
}

/// Returns the cycles after which cores of two sockets have each been in 50 sections under one latch, in turns.
fn cycles_in_turns(kind: LatchKind) -> u64 {
    let description = Arc::new(MachineDescription::load("superdome-flex").expect("built-in"));
    let machine = Simulated::new(description, SimulatedOptions::default()).expect("memory");
    let nodes = LatchNodes::of_kind::<Simulated>(machine.arena(), 57, kind).expect("memory");
    let (line, word) = (<Simulated as Machine>::Line::default(), Word::new(0));
    let latest = Word::new(0);
    let bodies = (0..57).map(|at| -> Body<'_, Simulated> {
        let (line, word, latest) = (&line, &word, &latest);
        let latcher = nodes.latcher::<Simulated>(at);
        Box::new(move |core| {
            // The last core is on another socket. They are far apart in time, so they never meet.
            if at == 0 || at == 56 {
                core.compute(20_000 * (at as u64 / 56) + 1);
                for _ in 0..50 {
                    latcher.latch(core, line, word);
                    latcher.unlatch(core, line, word);
                    core.compute(40_000);
                }
                latest.poke(latest.peek().max(core.now()));
            }
        })
    });
    machine.run(bodies.collect(), vec![]).expect("can run");
    latest.peek()
}

#[test]
fn cores_that_take_turns_at_an_elided_latch_do_not_fetch_its_line_again() {
    let (elided, mutex) = (cycles_in_turns(LatchKind::Elided), cycles_in_turns(LatchKind::Mutex));
    // Each hand-over of a mutex's line between sockets takes more than 100 cycles.
    assert!(elided + 50 * 100 < mutex, "{elided} and {mutex}");
}

#[test]
fn an_elided_latch_saves_nothing_where_the_section_writes_to_its_line() {
    let with = |latch: &str| commits(("WAIT_DIE", latch), AccessOptions::default(), 8);
    let (elided, mutex) = (with("latch=elided"), with("latch=mutex"));
    assert!(elided > 0 && elided < mutex, "{elided} and {mutex}");
}
